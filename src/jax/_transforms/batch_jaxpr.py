"""Jaxprs with a mapped axis, and the types of their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._base.caching import weak_cache
from jax._language.avals import ShapedArray
from jax._language.axes import axis_env
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr
from jax._language.refs import AbstractRef
from jax._language.staging import trace_to_jaxpr
from jax._transforms.batch import AxisData, batch_flat, match_axis


def batch_jaxpr(closed: ClosedJaxpr, axis: AxisData, in_batched: Sequence[bool],
                instantiate: bool | Sequence[bool]) -> tuple[ClosedJaxpr, list[bool]]:
    """The jaxpr with the axis mapped at position 0 of the marked inputs; ``instantiate`` forces it on outputs.

    Returns it and which outputs carry the axis (at position 0).
    """
    force = (instantiate,) * len(closed.jaxpr.outvars) if isinstance(instantiate, bool) else tuple(instantiate)
    return _batch_jaxpr(closed, axis, tuple(0 if b else None for b in in_batched), force, axis_env.get())


def batch_jaxpr_axes(closed: ClosedJaxpr, axis: AxisData, in_dims: Sequence[Any],
                     instantiate: bool | Sequence[bool]) -> tuple[ClosedJaxpr, list[bool]]:
    """:func:`batch_jaxpr` with the mapped axis at any position of the inputs."""
    force = (instantiate,) * len(closed.jaxpr.outvars) if isinstance(instantiate, bool) else tuple(instantiate)
    return _batch_jaxpr(closed, axis, tuple(in_dims), force, axis_env.get())


@weak_cache
def _batch_jaxpr(closed: ClosedJaxpr, axis: AxisData, in_dims: tuple[Any, ...], force: tuple[bool, ...],
                 env: Any) -> tuple[ClosedJaxpr, list[bool]]:
    in_avals = [a if d is None else unmapped_aval(axis.size, d, a)
                for a, d in zip(closed.in_avals, in_dims, strict=True)]
    out_batched: list[bool] = []

    def fun(*args: Any) -> list[Any]:
        outs, dims = batch_flat(lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), axis, args, in_dims)
        dst = [0 if (d is not None or f) else None for d, f in zip(dims, force, strict=True)]
        out_batched.extend(d is not None for d in dst)
        return [match_axis(axis.size, d, t, x) for x, d, t in zip(outs, dims, dst, strict=True)]

    jaxpr, consts = trace_to_jaxpr(fun, in_avals, closed.jaxpr.debug_info._replace(arg_names=None))
    return ClosedJaxpr(jaxpr, consts), out_batched


def mapped_aval(size: Any, axis: int | None, aval: Any) -> Any:
    """``aval`` without its mapped axis."""
    if axis is None or not isinstance(aval, (ShapedArray, AbstractRef)):
        return aval
    if aval.shape[axis] != size:
        raise ValueError(f"the mapped axis {axis} of {aval.str_short()} does not have size {size}")
    return aval.update(shape=aval.shape[:axis] + aval.shape[axis + 1:])


def unmapped_aval(size: Any, axis: int | None, aval: Any) -> Any:
    """``aval`` with an axis of ``size`` inserted at ``axis``."""
    if axis is None or not isinstance(aval, (ShapedArray, AbstractRef)):
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))
