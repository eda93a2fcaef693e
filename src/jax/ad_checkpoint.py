"""Rematerialisation: trading computation for memory in reverse-mode differentiation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jax._api.checkpoint_policies import (
    Offloadable,
    Recompute,
    Saveable,
    checkpoint_name,
    checkpoint_name_fwd,
    checkpoint_policies,
    name_p,
)
from jax._api.common import FlatFun, arg_names, check_callable, check_leaf_types, debug_info, flatten_args
from jax._api.remat_primitive import remat_p
from jax._api.statics import Options, Static, complete_names, merge_static, signature_of, split_static
from jax._api.traced_calls import hoist_tracers
from jax._base import source as source_info
from jax._base.caching import weak_cache
from jax._base.source import api_boundary
from jax._language.avals import typeof
from jax._language.axes import axis_env
from jax._language.jaxpr import ClosedJaxpr, Literal
from jax._language.refs import check_aliasing, use
from jax._language.staging import trace_to_jaxpr
from jax._transforms.linearize_jaxpr import linearize_jaxpr
from jax.tree_util import tree_flatten, tree_unflatten


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
    given_nums = static_argnums if static_argnums != () else None
    nums, names = complete_names("static", signature_of(fun), given_nums, given_names, "checkpoint")
    options = Options(nums, names, (), (), False, False, None, ())

    @functools.wraps(fun)
    @api_boundary
    def rematerialized(*args: Any, **kwargs: Any) -> Any:
        static, dyn_args, dyn_kwargs = split_static(options, args, kwargs, fun, hashable=False)
        leaves, in_tree = flatten_args(dyn_args, dyn_kwargs)
        avals = tuple(check_leaf_types(leaves, in_tree, "argument ", "checkpoint"))
        trace = _trace if _is_hashable(static) else _trace_anew
        closed, consts, out_tree = trace(fun, in_tree, avals, static, axis_env.get())
        if use.begun:
            check_aliasing([*consts, *leaves], len(consts), "checkpoint", lambda: source_info.describe_function(fun),
                           lambda i: arg_names(fun, in_tree)[i])
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


# --- what is saved --------------------------------------------------------------------------------------------------

def saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[tuple[Any, str]]:
    """The values that differentiating ``f`` keeps for the backward pass: each one's type and where it comes from."""
    check_callable(f, "saved_residuals")
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
