"""Rematerialisation: trading computation for memory in reverse-mode differentiation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jax._api.common import FlatFun, check_callable, check_leaf_types, debug_info, flatten_args
from jax._api.jit_primitive import transposed_jaxpr
from jax._api.statics import Options, Static, complete_names, merge_static, signature_of, split_static
from jax._api.traced_calls import hoist_tracers
from jax._base import source as source_info
from jax._base.caching import weak_cache
from jax._base.source import api_boundary
from jax._ground.structural import deflinear
from jax._language import rules
from jax._language.avals import typeof
from jax._language.axes import axis_env
from jax._language.jaxpr import ClosedJaxpr, JaxprEqn, Literal, Var, eval_jaxpr
from jax._language.primitive import Primitive
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import run_in
from jax._language.zeros import UndefinedPrimal, Zero
from jax._lowering import hlo
from jax._lowering.emit import emit_jaxpr
from jax._lowering.rules import register_lowering
from jax._transforms import partial
from jax._transforms.batch import AxisData, batch_jaxpr_axes
from jax._transforms.dce import dce_closed
from jax._transforms.jvp import jvp_jaxpr
from jax._transforms.linearize import SplitTrace, linearize_jaxpr, split_rules
from jax.tree_util import tree_flatten, tree_map, tree_unflatten


class Offloadable(NamedTuple):
    """A policy's answer: keep the value, in the memory ``dst`` until it is needed in ``src`` again."""

    src: str
    dst: str


class _Answer:
    __slots__ = ("name", "keep")

    def __init__(self, name: str, keep: bool) -> None:
        self.name = name
        self.keep = keep

    def __bool__(self) -> bool:
        return self.keep

    def __repr__(self) -> str:
        return self.name


Recompute = _Answer("Recompute", False)
Saveable = _Answer("Saveable", True)

# --- names for values ----------------------------------------------------------------------------------------------

name_p = Primitive("name")
name_p.def_abstract_eval(lambda x, name: x)
name_p.def_impl(lambda x, name: x)
register_lowering(name_p, lambda ctx, x, name: [x])
deflinear(name_p, lambda ct, x, name: [ct])
rules.primitive_jvps[name_p] = lambda primals, tangents, name: (name_p.bind(primals[0], name=name), tangents[0])
rules.primitive_batchers[name_p] = lambda args, dims, name: (name_p.bind(args[0], name=name), dims[0])


def checkpoint_name(x: Any, name: str) -> Any:
    """``x``, its arrays known to policies of :func:`checkpoint` as ``name``."""
    return tree_map(lambda leaf: name_p.bind(leaf, name=name), x)


def checkpoint_name_fwd(x: Any, name: str) -> Any:
    """:func:`checkpoint_name`, for use in forward rules of custom derivatives."""
    return checkpoint_name(x, name)


# --- policies -------------------------------------------------------------------------------------------------------

def everything_saveable(*_: Any, **__: Any) -> bool:
    """Keeps every value, as without rematerialisation."""
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """Keeps the arguments only and computes everything again: the default."""
    return False


def dots_saveable(prim: Any, *_: Any, **params: Any) -> bool:
    """Keeps the results of matrix products and convolutions."""
    return prim.name in ("dot_general", "conv_general_dilated", "ragged_dot_general")


def dots_with_no_batch_dims_saveable(prim: Any, *_: Any, **params: Any) -> bool:
    """Keeps the results of matrix products without batch dimensions (weights times activations)."""
    return prim.name == "dot_general" and not any(params["dimension_numbers"][1])


def save_only_these_names(*names_which_can_be_saved: str) -> Callable[..., bool]:
    """Keeps values named by :func:`checkpoint_name`, if among these."""
    names = frozenset(names_which_can_be_saved)
    return _named_policy(("only", names), lambda name: name in names)


def save_any_names_but_these(*names_not_to_save: str) -> Callable[..., bool]:
    """Keeps named values, except these."""
    names = frozenset(names_not_to_save)
    return _named_policy(("but", names), lambda name: name not in names)


@functools.lru_cache(maxsize=512)
def _memo_policy(key: Any) -> list[Any]:
    return []


def _named_policy(key: Any, accepts: Callable[[str], bool]) -> Callable[..., bool]:
    """One function object per meaning, so that caches keyed on policies hit."""
    memo = _memo_policy(key)
    if not memo:
        def policy(prim: Any, *_: Any, **params: Any) -> bool:
            return prim is name_p and accepts(params["name"])
        memo.append(policy)
    return memo[0]


def save_anything_except_these_names(*names_not_to_save: str) -> Callable[..., bool]:
    """Keeps every value, named or not, except those with these names."""
    names = frozenset(names_not_to_save)

    def policy(prim: Any, *_: Any, **params: Any) -> bool:
        return not (prim is name_p and params["name"] in names)
    memo = _memo_policy(("except", names))
    if not memo:
        memo.append(policy)
    return memo[0]


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Callable[..., Any]:
    """Moves the results of matrix products without batch dimensions to another memory and keeps them there."""
    def policy(prim: Any, *avals: Any, **params: Any) -> Any:
        if dots_with_no_batch_dims_saveable(prim, *avals, **params):
            return Offloadable(offload_src, offload_dst)
        return Recompute
    return policy


def save_and_offload_only_these_names(*, names_which_can_be_saved: Sequence[str],
                                      names_which_can_be_offloaded: Sequence[str], offload_src: str,
                                      offload_dst: str) -> Callable[..., Any]:
    """Keeps some named values in place and others in another memory."""
    saved, moved = frozenset(names_which_can_be_saved), frozenset(names_which_can_be_offloaded)
    both = saved & moved
    if both:
        raise ValueError(f"the names {sorted(both)} are both to be saved and to be offloaded; choose one")

    def policy(prim: Any, *_: Any, **params: Any) -> Any:
        if prim is name_p and params["name"] in saved:
            return Saveable
        if prim is name_p and params["name"] in moved:
            return Offloadable(offload_src, offload_dst)
        return Recompute
    return policy


def save_from_both_policies(policy_1: Callable[..., Any], policy_2: Callable[..., Any]) -> Callable[..., Any]:
    """Keeps what either policy keeps."""
    def policy(prim: Any, *args: Any, **params: Any) -> Any:
        return policy_1(prim, *args, **params) or policy_2(prim, *args, **params)
    return policy


class CheckpointPolicies:
    """The policies by name; ``jax.checkpoint_policies``."""

    everything_saveable = staticmethod(everything_saveable)
    nothing_saveable = staticmethod(nothing_saveable)
    dots_saveable = staticmethod(dots_saveable)
    checkpoint_dots = staticmethod(dots_saveable)
    dots_with_no_batch_dims_saveable = staticmethod(dots_with_no_batch_dims_saveable)
    checkpoint_dots_with_no_batch_dims = staticmethod(dots_with_no_batch_dims_saveable)
    offload_dot_with_no_batch_dims = staticmethod(offload_dot_with_no_batch_dims)
    save_only_these_names = staticmethod(save_only_these_names)
    save_any_names_but_these = staticmethod(save_any_names_but_these)
    save_anything_except_these_names = staticmethod(save_anything_except_these_names)
    save_and_offload_only_these_names = staticmethod(save_and_offload_only_these_names)
    save_from_both_policies = staticmethod(save_from_both_policies)


checkpoint_policies = CheckpointPolicies()


# --- checkpoint -----------------------------------------------------------------------------------------------------

def checkpoint(fun: Callable[..., Any] | None = None, *, prevent_cse: bool | Sequence[bool] = True,
               policy: Callable[..., Any] | None = None, static_argnums: int | Sequence[int] = (),
               static_argnames: str | Sequence[str] = (), concrete: bool = False) -> Callable[..., Any]:
    """``fun``, its intermediate values computed again in the backward pass instead of kept.

    Args:
      fun: a function of trees of arrays. Without it, ``checkpoint(**options)`` is a decorator.
      prevent_cse: keep XLA from merging the second computation with the first. Turn it off inside ``scan``, where that
        cannot happen. A sequence gives one flag per argument; any ``True`` among them counts.
      policy: which values to keep nevertheless, see ``jax.checkpoint_policies``; by default only the arguments.
      static_argnums: positions of arguments that are Python values.
      static_argnames: names of such arguments.
      concrete: must be ``False``; use ``static_argnums``.
    """
    if fun is None:
        return functools.partial(checkpoint, prevent_cse=prevent_cse, policy=policy, static_argnums=static_argnums,
                                 static_argnames=static_argnames, concrete=concrete)
    check_callable(fun, "checkpoint")
    if concrete:
        raise NotImplementedError("checkpoint: the option concrete is gone; mark such arguments with static_argnums")
    if policy is not None and not callable(policy):
        raise TypeError(f"checkpoint: policy must be a function, see jax.checkpoint_policies; got {policy!r}")
    fence = prevent_cse if isinstance(prevent_cse, bool) else any(prevent_cse)
    given_names = static_argnames if static_argnames != () else None
    nums, names = complete_names("static", signature_of(fun), static_argnums if static_argnums != () else None, given_names)
    options = Options(nums, names, (), (), False, False, None, ())

    @functools.wraps(fun)
    @api_boundary
    def rematerialized(*args: Any, **kwargs: Any) -> Any:
        static, dyn_args, dyn_kwargs = split_static(options, args, kwargs, fun, hashable=False)
        leaves, in_tree = flatten_args(dyn_args, dyn_kwargs)
        avals = tuple(check_leaf_types(leaves, in_tree, "argument ", "checkpoint"))
        trace = _trace if _is_hashable(static) else _trace_anew
        closed, consts, out_tree = trace(fun, in_tree, avals, static, axis_env.get())
        outs = remat_p.bind(*consts, *leaves, jaxpr=closed, prevent_cse=fence, differentiated=False, policy=policy)
        return tree_unflatten(out_tree, outs)
    return rematerialized


remat = checkpoint


def _is_hashable(static: Static) -> bool:
    try:
        hash(static)
    except TypeError:
        return False
    return True


def _trace_anew(fun: Any, in_tree: Any, avals: Any, static: Static, env: Any) -> tuple[ClosedJaxpr, list[Any], Any]:
    def merged(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = merge_static(static, args, kwargs)  # type: ignore[assignment]
        return fun(*args, **kwargs)
    flat = FlatFun(merged, in_tree)
    jaxpr, consts = trace_to_jaxpr(flat, avals, debug_info(fun, in_tree, "checkpoint"))
    jaxpr, kept, tracers = hoist_tracers(jaxpr, consts)
    return ClosedJaxpr(jaxpr, kept), tracers, flat.out_tree


_trace = weak_cache(_trace_anew)


remat_p = Primitive("checkpoint", multiple_results=True)
remat_p.abstract_cache = None


def _abstract(*avals: Any, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    return jaxpr.out_avals, jaxpr.effects


def _impl(*args: Any, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
    return eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)


def _lower(ctx: Any, *values: Any, jaxpr: ClosedJaxpr, prevent_cse: bool, differentiated: bool, policy: Any) -> Any:
    if differentiated and prevent_cse and values:
        values = tuple(hlo.optimization_barrier(values))
    return emit_jaxpr(ctx, jaxpr.jaxpr, jaxpr.consts, values)


def _jvp(primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    new, nonzero = jvp_jaxpr(jaxpr, [type(t) is not Zero for t in tangents], False)
    outs = remat_p.bind(*primals, *[t for t in tangents if type(t) is not Zero], jaxpr=new, **params)
    n = len(nonzero)
    rest = iter(outs[n:])
    return outs[:n], [next(rest) if nz else Zero(a.to_tangent_aval())
                      for nz, a in zip(nonzero, jaxpr.out_avals, strict=True)]


@weak_cache
def _split_jvp(jaxpr: ClosedJaxpr, nonzeros: tuple[bool, ...], policy: Any) -> tuple[Any, list[bool]]:
    """The primal program with residuals that ``policy`` keeps, and the tangent program that computes the rest again."""
    pushed, out_nonzero = jvp_jaxpr(jaxpr, nonzeros, False)
    n_out = len(out_nonzero)
    unknown = [False] * len(nonzeros) + [True] * sum(nonzeros)
    force = [False] * n_out + [True] * sum(out_nonzero)
    return partial.partial_eval_with_policy(pushed, unknown, force, policy or nothing_saveable), out_nonzero


def _linearize(trace: Any, primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, policy: Any, **params: Any) -> Any:
    nonzeros = tuple(type(t) is not Zero for t in tangents)
    parts, out_nonzero = _split_jvp(jaxpr, nonzeros, policy)
    known = run_in(trace.parent, eval_jaxpr, parts.known.jaxpr, parts.known.consts, *primals)
    n = len(out_nonzero)
    residuals = [primals[i] if i is not None else r
                 for r, i in zip(known[n:], parts.residual_in, strict=True)]
    given = [t for t in tangents if type(t) is not Zero]
    eqn_params = dict(params, jaxpr=parts.unknown, policy=policy, differentiated=True)
    found: Any = iter(trace.tangents.emit(remat_p, [*residuals, *given], eqn_params, parts.unknown.out_avals,
                                          parts.unknown.effects) if any(out_nonzero) else ())
    return known[:n], [next(found) if nz else Zero(a.to_tangent_aval())
                       for nz, a in zip(out_nonzero, jaxpr.out_avals, strict=True)]


def _split(trace: SplitTrace, args: Any, params: dict[str, Any]) -> list[Any]:
    unknown = [trace.is_tangent(x) for x in args]
    parts = partial.partial_eval_with_policy(params["jaxpr"], unknown, False, params["policy"] or nothing_saveable)
    known_args = [x for x, u in zip(args, unknown, strict=True) if not u]
    known = run_in(trace.parent, eval_jaxpr, parts.known.jaxpr, parts.known.consts, *known_args)
    num_known = len(known) - len(parts.residual_avals)
    residuals = [known_args[i] if i is not None else r
                 for r, i in zip(known[num_known:], parts.residual_in, strict=True)]
    outs = trace.tangents.process(remat_p, (*residuals, *[x for x, u in zip(args, unknown, strict=True) if u]),
                                  dict(params, jaxpr=parts.unknown, differentiated=True))
    a, b = iter(known[:num_known]), iter(outs)
    return [next(b) if u else next(a) for u in parts.out_unknown]


def _transpose(cts: Any, *args: Any, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
    linear = tuple(type(x) is UndefinedPrimal for x in args)
    nonzero = tuple(type(c) is not Zero for c in cts)
    new, out_zero = transposed_jaxpr(jaxpr, linear, nonzero)
    given = [x for x in args if type(x) is not UndefinedPrimal]
    found = iter(remat_p.bind(*given, *[c for c in cts if type(c) is not Zero], jaxpr=new, **params))
    kinds = iter(out_zero)
    return [None if type(x) is not UndefinedPrimal else
            Zero(x.aval.to_cotangent_aval()) if next(kinds) else next(found) for x in args]


def _batch(axis: AxisData, args: Any, dims: Any, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    new, batched = batch_jaxpr_axes(jaxpr, axis, dims, False)
    return remat_p.bind(*args, jaxpr=new, **params), [0 if b else None for b in batched]


def _partial(policy: Any, unknown: Sequence[bool], eqn: JaxprEqn) -> Any:
    params = eqn.params
    own = params["policy"] or nothing_saveable
    if not any(unknown):  # part of a program that an enclosing policy computes again
        return eqn, None, [False] * len(eqn.outvars), []
    parts = partial.partial_eval_with_policy(params["jaxpr"], unknown, False, own)
    residuals = [Var(a) for a in parts.residual_avals]
    known_ins = [v for v, u in zip(eqn.invars, unknown, strict=True) if not u]
    known_outs = [v for v, u in zip(eqn.outvars, parts.out_unknown, strict=True) if not u]
    passed = [known_ins[i] if i is not None else r for r, i in zip(residuals, parts.residual_in, strict=True)]
    known = eqn.replace(invars=known_ins, outvars=[*known_outs, *residuals], effects=parts.known.effects,
                        params=dict(params, jaxpr=parts.known))
    rest = eqn.replace(invars=[*passed, *[v for v, u in zip(eqn.invars, unknown, strict=True) if u]],
                       outvars=[v for v, u in zip(eqn.outvars, parts.out_unknown, strict=True) if u],
                       params=dict(params, jaxpr=parts.unknown, differentiated=True), effects=parts.unknown.effects)
    saved = [r for r, i in zip(residuals, parts.residual_in, strict=True) if i is None]
    if policy is partial.save_everything:
        saved = [*saved, *known_outs]
    return known, rest, parts.out_unknown, saved


def _dce(used_outputs: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    closed = eqn.params["jaxpr"]
    if not any(used_outputs) and not closed.effects:
        return [False] * len(eqn.invars), None
    new, used = dce_closed(closed, used_outputs)
    if new is closed:
        return used, eqn
    return used, eqn.replace(params=dict(eqn.params, jaxpr=new), effects=new.effects,
                             invars=[v for v, u in zip(eqn.invars, used, strict=True) if u],
                             outvars=[v for v, u in zip(eqn.outvars, used_outputs, strict=True) if u])


remat_p.def_effectful_abstract_eval(_abstract)
remat_p.def_impl(_impl)
register_lowering(remat_p, _lower, cacheable=False)
rules.primitive_jvps[remat_p] = _jvp
rules.primitive_linearizations[remat_p] = _linearize
split_rules[remat_p] = _split
rules.primitive_transposes[remat_p] = _transpose
rules.fancy_primitive_batchers[remat_p] = _batch
rules.partial_eval_rules[remat_p] = _partial
rules.dce_rules[remat_p] = _dce


# --- what is saved --------------------------------------------------------------------------------------------------

def saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[tuple[Any, str]]:
    """The values that differentiating ``f`` keeps for the backward pass: each one's type and where it comes from."""
    leaves, tree = tree_flatten((args, kwargs))
    flat = FlatFun(f, tree)
    info = debug_info(f, tree, "saved_residuals")
    jaxpr, consts = trace_to_jaxpr(flat, [typeof(x) for x in leaves], info)
    split = linearize_jaxpr(ClosedJaxpr(jaxpr, consts), [True] * len(leaves))
    primal = split.primal.jaxpr
    n_out = len(split.out_nonzero)
    pools = {"in": primal.invars, "out": primal.outvars[:n_out], "res": primal.outvars[n_out:]}
    made_by = {v: e for e in primal.eqns for v in e.outvars}
    position = {v: i for i, v in enumerate(primal.invars)}
    out = []
    for kind, i in split.res_from:
        v = pools[kind][i]
        if type(v) is Literal:
            out.append((v.aval, "a constant"))
        elif v in position:
            out.append((v.aval, f"from the argument {info.arg_name(position[v])}"))
        elif v in made_by:
            eqn = made_by[v]
            where = source_info.summarize(eqn.source_info.traceback)
            what = f"named {eqn.params['name']!r}" if eqn.primitive is name_p else f"output of {eqn.primitive}"
            out.append((v.aval, f"{what} from {where}"))
        else:
            out.append((v.aval, "a constant"))
    out.extend((typeof(c), "a constant") for c in split.tangent.consts)
    return out


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Prints the values that differentiating ``f`` at ``args`` keeps, one per line."""
    for aval, reason in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short()} {reason}")


__all__ = ["Offloadable", "Recompute", "Saveable", "checkpoint", "checkpoint_name", "checkpoint_name_fwd",
           "checkpoint_policies", "print_saved_residuals", "remat", "saved_residuals"]
