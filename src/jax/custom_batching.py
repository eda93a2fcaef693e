"""Functions with batching rules of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jax._api.common import FlatFun, check_callable, debug_info
from jax._api.jit_primitive import transposed_jaxpr
from jax._api.traced_calls import hoist_tracers
from jax._base.source import api_boundary, describe_function
from jax._dispatch.eager import operation
from jax._ground.structural import broadcast_to_axis, instantiate_zeros, move_axis, sum_axes
from jax._language import rules
from jax._language.avals import typeof
from jax._language.discharge import call_discharged
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr, JaxprEqn
from jax._language.primitive import Primitive
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import is_bottom, run_in
from jax._language.zeros import UndefinedPrimal, Zero
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import call_jaxpr
from jax._transforms.batch import AxisData
from jax._transforms.batch_jaxpr import unmapped_aval
from jax._transforms.dce import dce_closed
from jax._transforms.jvp import jvp_flat, jvp_jaxpr
from jax._transforms.partial import save_everything
from jax._transforms.transpose import backward_pass
from jax.lax._scan import map as lax_map
from jax.tree_util import tree_flatten, tree_leaves, tree_map, tree_structure, tree_unflatten

Flags = Sequence[bool]


class custom_vmap:
    """A function whose batched form is given by a rule.

    Args:
      fun: a function of trees of arrays.

    Derivatives are those of ``fun``, and those of the rule where it is batched.

    >>> import jax, jax.numpy as jnp
    >>> @jax.custom_batching.custom_vmap
    ... def matvec(matrix, x):
    ...     return matrix @ x
    >>> @matvec.def_vmap
    ... def rule(axis_size, in_batched, matrix, x):
    ...     matrix_batched, x_batched = in_batched
    ...     if matrix_batched:
    ...         return jax.vmap(matvec.fun, (0, 0 if x_batched else None))(matrix, x), True
    ...     return x @ matrix.T, x_batched
    >>> jax.vmap(matvec, (None, 0))(jnp.eye(2), jnp.ones((3, 2))).shape
    (3, 2)
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        check_callable(fun, "custom_vmap")
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.vmap_rule: Callable[..., Any] | None = None

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def def_vmap(self, vmap_rule: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the rule ``vmap_rule(axis_size, in_batched, *args) -> (out, out_batched)``; usable as a decorator.

        Batched leaves of ``args`` have the mapped axis in front; ``in_batched`` is a list with one entry per argument,
        a tree of booleans of its structure. ``out_batched`` is such a tree for the output; one boolean may stand for
        all of its leaves.
        """
        check_callable(vmap_rule, "def_vmap")
        self.vmap_rule = vmap_rule
        return vmap_rule

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if is_bottom():
            return self.fun(*args, **kwargs)
        names = _by_position(self.fun, args, kwargs)
        leaves, in_tree = tree_flatten((names, {}))
        flat = FlatFun(self.fun, in_tree)
        jaxpr, consts = trace_to_jaxpr(flat, [typeof(x) for x in leaves], debug_info(self.fun, in_tree, "custom_vmap"))
        jaxpr, consts, hoisted = hoist_tracers(jaxpr, consts)
        rule = _UserRule(self, len(hoisted), in_tree, flat.out_tree)
        outs = custom_vmap_call_p.bind(*hoisted, *leaves, call=ClosedJaxpr(jaxpr, consts), in_tree=in_tree,
                                       out_tree=flat.out_tree, rule=rule)
        return tree_unflatten(flat.out_tree, outs)


def _by_position(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments as positional ones, defaults included."""
    import inspect  # not needed at import
    try:
        bound = inspect.signature(fun).bind(*args, **kwargs)
    except ValueError:  # no signature
        if kwargs:
            raise TypeError(f"{describe_function(fun)} has no signature to resolve keyword arguments by; pass them by "
                            "position") from None
        return args
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(f"batching rules take positional arguments only, and {describe_function(fun)} has the keyword-only "
                        f"arguments {sorted(bound.kwargs)}")
    return bound.args


def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """``f``, batched by :func:`jax.vmap` as a loop over the examples (:func:`jax.lax.map`).

    >>> import jax, jax.numpy as jnp
    >>> f = jax.custom_batching.sequential_vmap(lambda x: x + 1)
    >>> jax.vmap(f)(jnp.arange(3)).tolist()
    [1, 2, 3]
    """
    check_callable(f, "sequential_vmap")
    one = custom_vmap(f)

    @one.def_vmap
    def rule(axis_size: int, in_batched: list[Any], *args: Any) -> Any:
        leaves, tree = tree_flatten(args)
        flags = tree_leaves(in_batched)
        mapped = [x for x, b in zip(leaves, flags, strict=True) if b]

        def row(xs: Any) -> Any:
            given = iter(xs)
            return one(*tree_unflatten(tree, [next(given) if b else x for x, b in zip(leaves, flags, strict=True)]))

        out = lax_map(row, mapped)
        return out, tree_map(lambda _: True, out)
    return one


# --- rules on leaves: (axis_size, in_batched, *args) -> (outs, out_batched) -----------------------------------------

class _UserRule:
    """The user's rule. Values that the function closes over come first among the arguments; the rule has its own."""

    __slots__ = ("owner", "num_hoisted", "in_tree", "out_tree")

    def __init__(self, owner: custom_vmap, num_hoisted: int, in_tree: Any, out_tree: Any) -> None:
        self.owner = owner
        self.num_hoisted = num_hoisted
        self.in_tree = in_tree
        self.out_tree = out_tree

    def __call__(self, axis_size: Any, in_batched: Flags, *flat: Any) -> tuple[list[Any], list[bool]]:
        fun, rule = self.owner.fun, self.owner.vmap_rule
        if rule is None:
            raise AttributeError(f"the custom_vmap function {describe_function(fun)} has no batching rule yet; define it "
                                 f"with {fun.__name__}.def_vmap")
        if any(in_batched[:self.num_hoisted]):
            raise NotImplementedError(f"the custom_vmap function {describe_function(fun)} closes over a value that is "
                                      "batched, which its rule cannot know of; pass it as an argument")
        args, _ = tree_unflatten(self.in_tree, flat[self.num_hoisted:])
        flags, _ = tree_unflatten(self.in_tree, in_batched[self.num_hoisted:])
        pair = rule(axis_size, list(flags), *args)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"the batching rule {describe_function(rule)} must return a pair (output, out_batched), got "
                            f"{type(pair).__name__}")
        outs, tree = tree_flatten(pair[0])
        if tree != self.out_tree:
            raise ValueError(f"the batching rule {describe_function(rule)} must return an output with the structure that "
                             f"the function has, {self.out_tree}; got {tree}")
        return outs, self._out_flags(rule, pair[1], tree)

    def _out_flags(self, rule: Any, spec: Any, tree: Any) -> list[bool]:
        if isinstance(spec, bool) and tree.num_leaves != 1:
            return [spec] * tree.num_leaves
        flags, got = tree_flatten(spec)
        if got != tree:
            raise ValueError(f"the batching rule {describe_function(rule)} must return out_batched with the structure of "
                             f"the output, {tree}, or one bool; got {tree_structure(spec)}")
        return [bool(b) for b in flags]


class _JvpRule:
    """The derivative of a rule, for arguments ``(*primals, *nonzero tangents)``."""

    __slots__ = ("rule", "call", "nonzeros", "out_nonzeros", "tangents_only")

    def __init__(self, rule: Any, call: ClosedJaxpr, nonzeros: Flags, out_nonzeros: Flags, tangents_only: bool) -> None:
        self.rule = rule
        self.call = call  # the function that is differentiated
        self.nonzeros = nonzeros
        self.out_nonzeros = out_nonzeros
        self.tangents_only = tangents_only

    def __call__(self, axis_size: Any, in_batched: Flags, *flat: Any) -> tuple[list[Any], list[bool]]:
        n = len(self.nonzeros)
        given = iter(zip(flat[n:], in_batched[n:], strict=True))
        primals, tangents, flags = [], [], []
        for x, b, nz in zip(flat[:n], in_batched[:n], self.nonzeros, strict=True):
            t, tb = next(given) if nz else (None, b)
            both = b or tb
            x = broadcast_to_axis(x, axis_size, 0) if both and not b else x
            primals.append(x)
            tangents.append(Zero.from_primal_value(x) if t is None else
                            broadcast_to_axis(t, axis_size, 0) if both and not tb else t)
            flags.append(both)
        out_batched: list[bool] = []

        def primal(*xs: Any) -> list[Any]:
            outs, found = self.rule(axis_size, flags, *xs)
            out_batched[:] = found
            return outs

        outs, out_tangents = jvp_flat(primal, primals, tangents)
        live = [instantiate_zeros(t) for t, nz in zip(out_tangents, self.out_nonzeros, strict=True) if nz]
        live_flags = [b for b, nz in zip(out_batched, self.out_nonzeros, strict=True) if nz]
        if self.tangents_only:
            return live, live_flags
        return [*outs, *live], [*out_batched, *live_flags]


class _TransposedRule:
    """The transpose of a rule, for arguments ``(*values of the other arguments, *nonzero cotangents)``."""

    __slots__ = ("rule", "linear", "nonzeros", "avals", "kept")

    def __init__(self, rule: Any, linear: Flags, nonzeros: Flags, avals: Sequence[Any], kept: Flags) -> None:
        self.rule = rule
        self.linear = linear
        self.nonzeros = nonzeros
        self.avals = avals
        self.kept = kept  # of the linear arguments, those whose cotangents are not zero

    def __call__(self, axis_size: Any, in_batched: Flags, *flat: Any) -> tuple[list[Any], list[bool]]:
        num_given = len(self.linear) - sum(self.linear)
        given = list(zip(flat[:num_given], in_batched[:num_given], strict=True))
        avals = [unmapped_aval(axis_size, 0, a) for a, lin in zip(self.avals, self.linear, strict=True) if lin]
        out_batched: list[bool] = []

        def forward(*xs: Any) -> list[Any]:
            mine, others = iter(xs), iter(given)
            pairs = [(next(mine), True) if lin else next(others) for lin in self.linear]
            outs, found = self.rule(axis_size, [b for _, b in pairs], *[x for x, _ in pairs])
            out_batched[:] = found
            return outs

        jaxpr, consts = trace_to_jaxpr(forward, avals)
        cts = iter(zip(flat[num_given:], in_batched[num_given:], strict=True))
        full = [_place(*next(cts), b, axis_size) if nz else Zero(v.aval.to_cotangent_aval())
                for v, nz, b in zip(jaxpr.outvars, self.nonzeros, out_batched, strict=True)]
        found = backward_pass(jaxpr, consts, [UndefinedPrimal(a) for a in avals], full)
        outs = [instantiate_zeros(c) for c, keep in zip(found, self.kept, strict=True) if keep]
        return outs, [True] * len(outs)


def _place(ct: Any, has: bool, wants: bool, size: Any) -> Any:
    if has == wants:
        return ct
    return broadcast_to_axis(ct, size, 0) if wants else sum_axes(ct, (0,))


# --- the primitive --------------------------------------------------------------------------------------------------

custom_vmap_call_p = Primitive("custom_vmap_call", multiple_results=True)
custom_vmap_call_p.abstract_cache = None


def _params(call: ClosedJaxpr, rule: Any) -> dict[str, Any]:
    """The parameters of an equation that takes and returns leaves."""
    return {"call": call, "in_tree": tree_structure(([0] * len(call.in_avals), {})),
            "out_tree": tree_structure([0] * len(call.out_avals)), "rule": rule}


def _impl(*args: Any, **params: Any) -> Any:
    return operation(custom_vmap_call_p, params)(*args)


def _lower(ctx: Any, *operands: Any, call: ClosedJaxpr, **params: Any) -> Any:
    return call_jaxpr(ctx, "custom_vmap", call, operands)


def _nonzero(tangents: Sequence[Any]) -> tuple[list[bool], list[Any]]:
    flags = [type(t) is not Zero for t in tangents]
    return flags, [t for t in tangents if type(t) is not Zero]


def _spread(found: Sequence[Any], flags: Flags, avals: Sequence[Any]) -> list[Any]:
    given = iter(found)
    return [next(given) if nz else Zero(a.to_tangent_aval()) for nz, a in zip(flags, avals, strict=True)]


def _jvp(primals: Any, tangents: Any, *, call: ClosedJaxpr, rule: Any, **params: Any) -> Any:
    nonzeros, given = _nonzero(tangents)
    new, out_nonzeros = jvp_jaxpr(call, nonzeros, False)
    outs = custom_vmap_call_p.bind(*primals, *given,
                                   **_params(new, _JvpRule(rule, call, nonzeros, out_nonzeros, False)))
    n = len(out_nonzeros)
    return outs[:n], _spread(outs[n:], out_nonzeros, call.out_avals)


def _linearize(trace: Any, primals: Any, tangents: Any, *, call: ClosedJaxpr, rule: Any, **params: Any) -> Any:
    """The tangent program computes from the primal arguments what it needs: the rule's intermediate values are not known
    before it is clear what is batched."""
    outs = run_in(trace.parent, custom_vmap_call_p.bind, *primals, call=call, rule=rule, **params)
    nonzeros, given = _nonzero(tangents)
    both, out_nonzeros = jvp_jaxpr(call, nonzeros, False)
    found: Sequence[Any] = ()
    if any(out_nonzeros):
        tangent = _tangent_params(both, _JvpRule(rule, call, nonzeros, out_nonzeros, True))
        found = trace.tangents.emit(custom_vmap_call_p, [*primals, *given], tangent, tangent["call"].out_avals,
                                    tangent["call"].effects)
    return outs, _spread(found, out_nonzeros, call.out_avals)


def _tangent_params(both: ClosedJaxpr, rule: _JvpRule) -> dict[str, Any]:
    """The parameters of the equation that computes tangents alone; ``both`` computes primal values before them."""
    used = [*[False] * len(rule.out_nonzeros), *[True] * sum(rule.out_nonzeros)]
    return _params(dce_closed(both, used, True)[0], rule)


def _partial(policy: Any, unknown: Flags, eqn: JaxprEqn) -> Any:
    """Of a derivative the primal values are known if the primal arguments are."""
    rule, outvars = eqn.params["rule"], eqn.outvars
    if not any(unknown):
        saved = policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params)
        return eqn, None, [False] * len(outvars), outvars if saved else []
    num_primals = len(getattr(rule, "nonzeros", ()))
    if not isinstance(rule, _JvpRule) or rule.tangents_only or any(unknown[:num_primals]):
        return None, eqn, [True] * len(outvars), []
    n = len(rule.out_nonzeros)
    known = eqn.replace(invars=eqn.invars[:num_primals], outvars=outvars[:n], params=_params(rule.call, rule.rule))
    tangent = _JvpRule(rule.rule, rule.call, rule.nonzeros, rule.out_nonzeros, True)
    rest = None if n == len(outvars) else \
        eqn.replace(outvars=outvars[n:], params=_tangent_params(eqn.params["call"], tangent))
    return known, rest, [*[False] * n, *[True] * (len(outvars) - n)], \
        outvars[:n] if policy is save_everything else []


def _transpose(cts: Any, *args: Any, call: ClosedJaxpr, rule: Any, **params: Any) -> list[Any]:
    linear = [type(x) is UndefinedPrimal for x in args]
    nonzeros, given = _nonzero(cts)
    values = [x for x in args if type(x) is not UndefinedPrimal]
    transposed, zero = transposed_jaxpr(call, tuple(linear), tuple(nonzeros))
    kept = [not z for z in zero]
    outs = iter(custom_vmap_call_p.bind(
        *values, *given, **_params(transposed, _TransposedRule(rule, linear, nonzeros, call.in_avals, kept))))
    flags = iter(kept)
    return [None if not lin else next(outs) if next(flags) else Zero(x.aval.to_cotangent_aval())
            for x, lin in zip(args, linear, strict=True)]


def _batch(axis: AxisData, args: Any, dims: Any, *, rule: Any, **params: Any) -> Any:
    fronted = [x if d is None else move_axis(x, d, 0) for x, d in zip(args, dims, strict=True)]
    outs, batched = rule(axis.size, [d is not None for d in dims], *fronted)
    return outs, [0 if b else None for b in batched]


def _dce(used_outputs: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    return [True] * len(eqn.invars), eqn


custom_vmap_call_p.def_impl(_impl)
custom_vmap_call_p.def_effectful_abstract_eval(lambda *avals, call, **params: (call.out_avals, call.effects))
rules.discharge_rules[custom_vmap_call_p] = lambda args, params: call_discharged(
    params["call"], args, lambda call, values: eval_jaxpr(call.jaxpr, call.consts, *values))
register_lowering(custom_vmap_call_p, _lower, cacheable=False)
rules.primitive_jvps[custom_vmap_call_p] = _jvp
rules.primitive_linearizations[custom_vmap_call_p] = _linearize
rules.primitive_transposes[custom_vmap_call_p] = _transpose
rules.fancy_primitive_batchers[custom_vmap_call_p] = _batch
rules.partial_eval_rules[custom_vmap_call_p] = _partial
rules.dce_rules[custom_vmap_call_p] = _dce

__all__ = ["custom_vmap", "custom_vmap_call_p", "sequential_vmap"]
