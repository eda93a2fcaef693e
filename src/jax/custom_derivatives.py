"""Functions with derivative rules of their own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._api.common import FlatFun, check_callable
from jax._api.custom_calls import custom_jvp_call_p, custom_vjp_call_p
from jax._api.linear_calls import linear_call as linear_call
from jax._api.reverse import vjp
from jax._api.traced_calls import hoist_tracers
from jax._base.source import api_boundary
from jax._ground.structural import convert, instantiate_zeros
from jax._language.avals import typeof
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr, DebugInfo
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import Tracer
from jax._language.zeros import SymbolicZero, Zero
from jax.tree_util import keystr, tree_flatten, tree_flatten_with_path, tree_leaves, tree_map, tree_unflatten

custom_jvp_call_jaxpr_p = custom_jvp_call_p
custom_vjp_call_jaxpr_p = custom_vjp_call_p
# What ``optimize_remat`` asks for is done by partial evaluation, on calls of this primitive as they are.
remat_opt_p = custom_vjp_call_p


class _Resolved:
    """How the arguments of a call are split in differentiable and other ones, and the values of these.

    It becomes part of the program that the call is traced into, and so must not hold the differentiable ones.
    """

    __slots__ = ("_count", "_fixed")

    def __init__(self, fixed: dict[int, Any], count: int) -> None:
        self._fixed = fixed
        self._count = count

    @property
    def nondiff(self) -> list[Any]:
        return list(self._fixed.values())

    def rebuild(self, *diff: Any) -> list[Any]:
        """All arguments, with ``diff`` in the places of the differentiable ones."""
        rest = iter(diff)
        return [self._fixed[i] if i in self._fixed else next(rest) for i in range(self._count)]


def _resolve(fun: Any, nums: Sequence[int], names: Sequence[str], args: Any, kwargs: Any) -> tuple[_Resolved, Any]:
    args = _resolve_kwargs(fun, args, kwargs)
    fixed = {i: args[i] for i in _nondiff_positions(fun, nums, names, len(args))}
    return _Resolved(fixed, len(args)), tuple(x for i, x in enumerate(args) if i not in fixed)


def _resolve_kwargs(fun: Any, args: Any, kwargs: Any) -> tuple[Any, ...]:
    """All arguments as positional ones, defaults included."""
    try:
        signature = inspect.signature(fun)
    except (TypeError, ValueError):
        if kwargs:
            raise TypeError(f"{_name(fun)} has no signature to resolve keyword arguments by; pass them by position") \
                from None
        return tuple(args)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(f"custom derivative rules take positional arguments only, and {_name(fun)} has the keyword-only "
                        f"arguments {sorted(bound.kwargs)}; make them positional, or close over them")
    return bound.args


def _nondiff_positions(fun: Any, nums: Sequence[int], names: Sequence[str], n: int) -> list[int]:
    out = [i % n if i < 0 else i for i in nums]
    if names:
        order = list(inspect.signature(fun).parameters)
        out.extend(order.index(name) for name in names)
    return sorted(set(out))


def _name(fun: Any) -> str:
    return getattr(fun, "__name__", None) or repr(fun)


class custom_jvp:
    """A function whose derivative is given by a rule in forward mode; reverse mode follows from it.

    Args:
      fun: a function of trees of arrays.
      nondiff_argnums: positions of arguments that are not differentiated and not arrays to the rule: they come first
        among its arguments.
      nondiff_argnames: names of such arguments.

    >>> import jax, jax.numpy as jnp
    >>> @jax.custom_jvp
    ... def f(x):
    ...     return jnp.log1p(jnp.exp(x))
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return f(x), t * (1 - 1 / (1 + jnp.exp(x)))
    >>> float(jax.grad(f)(100.0))
    1.0
    """

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (),
                 nondiff_argnames: Sequence[str] = ()) -> None:
        check_callable(fun, "custom_jvp")
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        self.nondiff_argnames = (nondiff_argnames,) if isinstance(nondiff_argnames, str) else tuple(nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Sets the rule ``jvp(*nondiff, primals, tangents) -> (output, output_tangent)``.

        With ``symbolic_zeros`` tangents known to be zero arrive as :class:`SymbolicZero` instead of arrays.
        """
        check_callable(jvp, "defjvp")
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Sets the rule as one function per argument: ``rule(tangent, output, *primals) -> tangent``, or ``None``."""
        if self.nondiff_argnums or self.nondiff_argnames:
            raise TypeError("defjvps does not combine with nondiff_argnums; use defjvp")
        for i, rule in enumerate(jvps):
            if rule is not None and not callable(rule):
                raise TypeError(f"defjvps of {_name(self.fun)}: the rule of argument {i} must be a function or None, got "
                                f"{rule!r} of type {type(rule).__name__}")

        def jvp(primals: Any, tangents: Any) -> Any:
            if len(jvps) != len(primals):
                raise TypeError(f"defjvps of {_name(self.fun)} was given {len(jvps)} rule(s), and the function is called "
                                f"with {len(primals)} argument(s); give one for each, None where the derivative is zero")
            out = self(*primals)
            parts = [rule(t, out, *primals) for t, rule in zip(tangents, jvps, strict=True) if rule is not None]
            if not parts:
                return out, tree_map(lambda x: instantiate_zeros(Zero.from_primal_value(x)), out)
            total = parts[0]
            for p in parts[1:]:
                total = tree_map(lambda a, b: a + b, total, p)
            return out, total
        self.defjvp(jvp)

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = _name(self.fun)
        if self.jvp is None:
            raise AttributeError(f"the custom_jvp function {name} has no rule yet; define it with {name}.defjvp")
        call, diff = _resolve(self.fun, self.nondiff_argnums, self.nondiff_argnames, args, kwargs)
        leaves, tree = tree_flatten((diff, {}))
        flat = FlatFun(lambda *diff: self.fun(*call.rebuild(*diff)), tree)
        rule = _JvpRule(self.jvp, call.nondiff, tree, flat, name, self.symbolic_zeros)
        outs = custom_jvp_call_p.bind(flat, rule, *leaves, name=name, symbolic_zeros=self.symbolic_zeros)
        return tree_unflatten(flat.out_tree, outs)


class _JvpRule:
    """A user's jvp rule as a function of leaves, its results checked."""

    __slots__ = ("jvp", "nondiff", "in_tree", "flat", "name", "symbolic_zeros")

    def __init__(self, jvp: Any, nondiff: Any, in_tree: Any, flat: FlatFun, name: str, symbolic_zeros: bool) -> None:
        self.jvp = jvp
        self.nondiff = nondiff
        self.in_tree = in_tree
        self.flat = flat
        self.name = name
        self.symbolic_zeros = symbolic_zeros

    @property
    def __name__(self) -> str:
        return _name(self.jvp)

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        if self.symbolic_zeros:
            tangents = [SymbolicZero(t.aval) if type(t) is Zero else t for t in tangents]
        p_args, _ = tree_unflatten(self.in_tree, primals)
        t_args, _ = tree_unflatten(self.in_tree, tangents)
        pair = self.jvp(*self.nondiff, p_args, t_args)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"the custom_jvp rule of {self.name} must return a pair (output, output_tangent), got "
                            f"{type(pair).__name__}")
        outs, out_tree = tree_flatten(pair[0])
        out_tangents, t_tree = tree_flatten(pair[1], is_leaf=_is_zero)
        if t_tree != out_tree:  # None may stand for a zero, unless it is part of the structure
            out_tangents, t_tree = tree_flatten(pair[1], is_leaf=lambda x: x is None or _is_zero(x))
        if t_tree != out_tree:
            raise TypeError(f"the custom_jvp rule of {self.name} returned an output of the structure {out_tree} with a "
                            f"tangent of the structure {t_tree}; they must be equal")
        expected = self.flat.out_tree
        if expected is not None and expected != out_tree:
            raise TypeError(f"the custom_jvp rule of {self.name} must return the output with the structure that the "
                            f"function has, {expected}, got {out_tree}")
        self.flat.out_tree = out_tree
        return outs, [self._tangent(o, t) for o, t in zip(outs, out_tangents, strict=True)]

    def _tangent(self, out: Any, tangent: Any) -> Any:
        want = typeof(out).to_tangent_aval()
        if tangent is None or type(tangent) in (Zero, SymbolicZero) or want.dtype == dtypes.float0:
            return Zero(want)
        got = typeof(tangent)
        if got.shape != want.shape or (got.dtype != want.dtype and not got.weak_type):
            raise TypeError(f"the custom_jvp rule of {self.name} returned an output of type {typeof(out).str_short()} with "
                            f"a tangent of type {got.str_short()}; the tangent must be of type {want.str_short()}")
        return convert(tangent, want.dtype) if got.dtype != want.dtype else tangent


def _is_zero(x: Any) -> bool:
    return type(x) in (SymbolicZero, Zero)


class CustomVJPPrimal:
    """What a forward rule with ``symbolic_zeros=True`` receives for each leaf: the value, and whether it matters."""

    __slots__ = ("value", "perturbed")

    def __init__(self, value: Any, perturbed: bool) -> None:
        self.value = value
        self.perturbed = perturbed

    def __repr__(self) -> str:
        return f"CustomVJPPrimal({self.value!r}, perturbed={self.perturbed})"


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The values in a tree of :class:`CustomVJPPrimal`."""
    return tree_map(lambda leaf: leaf.value if type(leaf) is CustomVJPPrimal else leaf, tree,
                    is_leaf=lambda x: type(x) is CustomVJPPrimal)


class custom_vjp:
    """A function whose derivative is given by a rule in reverse mode: a forward and a backward function.

    Args:
      fun: a function of trees of arrays.
      nondiff_argnums: positions of arguments that are not differentiated; the forward function takes them in place, the
        backward function first.
      nondiff_argnames: names of such arguments.

    Forward-mode differentiation of such a function raises ``TypeError``.

    >>> import jax, jax.numpy as jnp
    >>> @jax.custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1.0, 1.0),))
    >>> float(jax.grad(lambda x: clip_gradient(x) * 5.0)(2.0))
    1.0
    """

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (),
                 nondiff_argnames: Sequence[str] = ()) -> None:
        check_callable(fun, "custom_vjp")
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        self.nondiff_argnames = (nondiff_argnames,) if isinstance(nondiff_argnames, str) else tuple(nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False
        self.optimize_remat = False

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any], symbolic_zeros: bool = False,
               optimize_remat: bool = False) -> None:
        """Sets the rules.

        Args:
          fwd: takes the arguments of the function; returns ``(output, residuals)``.
          bwd: takes ``(*nondiff, residuals, output_cotangent)``; returns a tuple with one cotangent per differentiable
            argument (``None`` for zero).
          symbolic_zeros: ``fwd`` gets :class:`CustomVJPPrimal` leaves, ``bwd`` gets :class:`SymbolicZero` cotangents.
          optimize_remat: permits dropping residuals that a rematerialised program does not read. Partial evaluation
            here always does, so results and cost are the same either way.
        """
        check_callable(fwd, "defvjp")
        check_callable(bwd, "defvjp")
        self.fwd, self.bwd = fwd, bwd
        self.symbolic_zeros = symbolic_zeros
        self.optimize_remat = optimize_remat

    def defvjp_with_logs(self, fwd: Callable[..., Any], bwd: Callable[..., Any], **kwargs: Any) -> None:
        """Not supported: log values alongside cotangents by returning them from the function instead."""
        raise NotImplementedError("custom_vjp.defvjp_with_logs is not supported; return logged values from the "
                                  "function and use has_aux=True")

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = _name(self.fun)
        if self.fwd is None or self.bwd is None:
            raise AttributeError(f"the custom_vjp function {name} has no rules yet; define them with {name}.defvjp")
        call, diff = _resolve(self.fun, self.nondiff_argnums, self.nondiff_argnames, args, kwargs)
        for x in tree_leaves(call.nondiff):
            if isinstance(x, Tracer):
                raise _nondiff_tracer(x, name)
        leaves, tree = tree_flatten((diff, {}))
        flat = FlatFun(lambda *diff: self.fun(*call.rebuild(*diff)), tree)
        rules = _VjpRules(self, call, tree, flat, name)
        outs = custom_vjp_call_p.bind(flat, rules.forward, rules.backward, *leaves, name=name,
                                      symbolic_zeros=self.symbolic_zeros)
        return tree_unflatten(flat.out_tree, outs)


def _nondiff_tracer(x: Tracer, name: str) -> Exception:
    from jax import errors  # needed once something is wrong
    return errors.UnexpectedTracerError(
        f"a traced value of type {x.aval.str_short()} was passed to the custom_vjp function {name} for an argument in "
        "nondiff_argnums. These are for Python values such as functions and settings; pass arrays as differentiable "
        f"arguments and return None for their cotangents. {x._origin_msg()}")


class _VjpRules:
    """A user's forward and backward rules as functions of leaves, their results checked."""

    __slots__ = ("owner", "call", "in_tree", "flat", "name", "res_tree", "in_avals")

    def __init__(self, owner: custom_vjp, call: _Resolved, in_tree: Any, flat: FlatFun, name: str) -> None:
        self.owner = owner
        self.call = call
        self.in_tree = in_tree
        self.flat = flat
        self.name = name
        self.res_tree: Any = None
        self.in_avals: list[Any] = []

    def forward(self, perturbed: Sequence[bool], *leaves: Any) -> tuple[list[Any], list[Any]]:
        self.in_avals = [typeof(x) for x in leaves]
        if self.owner.symbolic_zeros:
            leaves = tuple(CustomVJPPrimal(x, p) for x, p in zip(leaves, perturbed, strict=True))
        args, _ = tree_unflatten(self.in_tree, leaves)
        pair = self.owner.fwd(*self.call.rebuild(*args))  # type: ignore[misc]
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"the forward rule of the custom_vjp function {self.name} must return a pair "
                            f"(output, residuals), got {type(pair).__name__}")
        outs, out_tree = tree_flatten(pair[0])
        expected = self.flat.out_tree
        if expected is not None and expected != out_tree:
            raise TypeError(f"the forward rule of the custom_vjp function {self.name} must return the output with the "
                            f"structure that the function has, {expected}, got {out_tree}")
        self.flat.out_tree = out_tree
        res, self.res_tree = tree_flatten(pair[1])
        return outs, res

    def backward(self, res: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        if self.owner.symbolic_zeros:
            cotangents = [SymbolicZero(c.aval) if type(c) is Zero else c for c in cotangents]
        cts = tree_unflatten(self.flat.out_tree, cotangents)
        found = self.owner.bwd(*self.call.nondiff, tree_unflatten(self.res_tree, res), cts)  # type: ignore[misc]
        return self._spread(found)

    def _spread(self, found: Any) -> list[Any]:
        """The cotangents that a backward rule returned, one per leaf of the arguments."""
        trees = self.in_tree.children()[0].children()
        if isinstance(found, list):
            found = tuple(found)
        if not isinstance(found, tuple) or len(found) != len(trees):
            got = f"a tuple of {len(found)}" if isinstance(found, tuple) else type(found).__name__
            raise TypeError(f"the backward rule of the custom_vjp function {self.name} must return a tuple with one "
                            f"cotangent for each of the {len(trees)} differentiable arguments, got {got}")
        out: list[Any] = []
        avals = iter(self.in_avals)
        for i, (ct, tree) in enumerate(zip(found, trees, strict=True)):
            own = [next(avals) for _ in range(tree.num_leaves)]
            out.extend(self._leaves_of(ct, tree, own, i))
        return out

    def _leaves_of(self, ct: Any, tree: Any, avals: list[Any], i: int) -> list[Any]:
        if ct is None:
            return [None] * len(avals)
        dummy = tree_unflatten(tree, list(range(len(avals))))
        out: list[Any] = [None] * len(avals)
        try:
            is_leaf = lambda x: x is None or type(x) in (SymbolicZero, Zero)  # noqa: E731
            leaves, ct_tree = tree_flatten(ct, is_leaf=is_leaf)
            if ct_tree != tree:
                leaves = _prefix_leaves(ct, tree)
        except ValueError:
            got = tree_flatten(ct)[1]
            raise TypeError(f"the backward rule of the custom_vjp function {self.name} must return cotangents with the "
                            f"structure of the arguments; for argument {i} that is {tree}, got {got}") from None
        paths = tree_flatten_with_path(dummy)[0]
        for k, (c, aval) in enumerate(zip(leaves, avals, strict=True)):
            out[k] = self._check(c, aval, f"argument {i}{keystr(paths[k][0])}")
        return out

    def _check(self, ct: Any, aval: Any, what: str) -> Any:
        want = aval.to_tangent_aval()
        if ct is None or type(ct) in (Zero, SymbolicZero) or want.dtype == dtypes.float0:
            return None
        got = typeof(ct)
        if got.shape != want.shape:
            raise ValueError(f"the backward rule of the custom_vjp function {self.name} returned a cotangent of shape "
                             f"{got.shape} for {what}, which has shape {want.shape}; they must be equal")
        if got.dtype != want.dtype:
            if not got.weak_type and not dtypes.issubdtype(got.dtype, np.inexact):
                raise ValueError(f"the backward rule of the custom_vjp function {self.name} returned a cotangent of "
                                 f"dtype {got.dtype} for {what}, which needs {want.dtype}")
            return convert(ct, want.dtype)
        return ct


def _prefix_leaves(ct: Any, tree: Any) -> list[Any]:
    """Leaves for ``tree`` from a tree in which ``None`` stands for whole subtrees.

    Raises:
      ValueError: the structures differ.
    """
    out: list[Any] = []

    def walk(c: Any, t: Any) -> None:
        if c is None or type(c) in (SymbolicZero, Zero):
            out.extend([None] * t.num_leaves)
            return
        parts, own = tree_flatten(c, is_leaf=lambda x: x is not c)
        if own.node_data() != t.node_data() or (own.node_data() is not None and len(parts) != len(t.children())):
            raise ValueError
        if own.node_data() is None:
            out.append(c)
            return
        for p, child in zip(parts, t.children(), strict=True):
            walk(p, child)
    walk(ct, tree)
    return out


# --- helpers for rules ----------------------------------------------------------------------------------------------

def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangent of a value, or a tree of those of a tree: arrays, or :class:`SymbolicZero`."""
    def zero_of(x: Any) -> Any:
        zero = Zero.from_primal_value(x)
        return SymbolicZero(zero.aval) if symbolic_zeros else instantiate_zeros(zero)
    return tree_map(zero_of, val)


def custom_gradient(fun: Callable[..., Any], with_logs: bool = False) -> Callable[..., Any]:
    """Gradients in the style of TensorFlow: ``fun(*args)`` returns ``(output, vjp_fun)``.

    ``vjp_fun`` takes the output's cotangent and returns the cotangents of the arguments (a tuple, or one value for one
    argument). The function that comes back returns ``output`` alone.
    """
    check_callable(fun, "custom_gradient")
    if with_logs:
        raise NotImplementedError("custom_gradient: with_logs is not supported; leave it out")

    @functools.wraps(fun)
    def wrapped(*args: Any) -> Any:
        def pair(xs: Any) -> Any:
            both = fun(*xs)
            if not (isinstance(both, (tuple, list)) and len(both) == 2 and callable(both[1])):
                raise TypeError(f"custom_gradient: {_name(fun)} must return a pair (output, function from the output's "
                                f"cotangent to those of the arguments), got {both!r}")
            return both

        @custom_vjp
        @functools.wraps(fun)
        def run(*xs: Any) -> Any:
            return pair(xs)[0]

        def fwd(*xs: Any) -> Any:
            out, rule = pair(xs)
            out_leaves, out_tree = tree_flatten(out)
            avals = [typeof(o).to_tangent_aval() for o in out_leaves]
            flat = FlatFun(lambda *cts: rule(tree_unflatten(out_tree, cts)), tree_flatten((tuple(avals), {}))[1])
            jaxpr, consts = trace_to_jaxpr(flat, avals, DebugInfo("custom_gradient", _name(rule)))
            memo["jaxpr"], memo["tree"] = jaxpr, flat.out_tree
            return out, consts

        def bwd(consts: Any, ct: Any) -> Any:
            outs = tree_unflatten(memo["tree"], eval_jaxpr(memo["jaxpr"], consts, *tree_leaves(ct)))
            if len(args) == 1 and not (isinstance(outs, (tuple, list)) and len(outs) == 1):
                return (outs,)
            return tuple(outs)
        memo: dict[str, Any] = {}
        run.defvjp(fwd, bwd)
        return run(*args)
    return wrapped


@api_boundary
def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """``fun`` with the arrays it closes over turned into arguments, for custom derivative rules.

    Args:
      fun: a function of trees of arrays.
      example_args: arguments of the types it will be called with.

    Returns:
      ``(converted, consts)``: ``converted(*args, *consts)`` equals ``fun(*args)``; ``consts`` are the traced
      floating-point values that ``fun`` closes over.
    """
    check_callable(fun, "closure_convert")
    leaves, tree = tree_flatten((example_args, {}))
    flat = FlatFun(fun, tree)
    jaxpr, consts = trace_to_jaxpr(flat, [typeof(x) for x in leaves], DebugInfo("closure_convert", _name(fun)))
    jaxpr, kept, hoisted = hoist_tracers(jaxpr, consts)
    closed, out_tree, n = ClosedJaxpr(jaxpr, kept), flat.out_tree, len(hoisted)

    def converted(*args_consts: Any) -> Any:
        args, values = (args_consts[:-n], args_consts[-n:]) if n else (args_consts, ())
        flat_args, got = tree_flatten((tuple(args), {}))
        if got != tree:
            raise TypeError(f"closure_convert: the converted function takes arguments of the structure {tree}, got {got}")
        return tree_unflatten(out_tree, eval_jaxpr(closed.jaxpr, closed.consts, *values, *flat_args))
    return converted, hoisted


__all__ = [
    "CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp", "custom_jvp_call_jaxpr_p",
    "custom_jvp_call_p", "custom_vjp", "custom_vjp_call_jaxpr_p", "custom_vjp_call_p",
    "custom_vjp_primal_tree_values", "linear_call", "remat_opt_p", "vjp", "zero_from_primal",
]
