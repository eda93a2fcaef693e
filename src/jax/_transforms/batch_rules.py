"""Batching rules of common kinds of primitives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._language import rules
from jax._language.avals import typeof
from jax._transforms.batch import match_axis


def defvectorized(prim: Any) -> None:
    """The primitive acts on each element of its one operand: the axis stays where it is."""
    def rule(args: Sequence[Any], dims: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        return prim.bind(args[0], **params), ([dims[0]] if prim.multiple_results else dims[0])
    rules.primitive_batchers[prim] = rule


def defbroadcasting(prim: Any) -> None:
    """The primitive acts on corresponding elements of operands of equal shape (0-d ones are allowed)."""
    rules.primitive_batchers[prim] = lambda args, dims, **params: broadcast_batcher(prim, args, dims, **params)


def broadcast_batcher(prim: Any, args: Sequence[Any], dims: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """Aligns the operands of an n-ary element-wise primitive and applies it."""
    shapes = {(typeof(x).shape, d) for x, d in zip(args, dims, strict=True) if typeof(x).ndim}
    if len(shapes) == 1 and all(d is not None or typeof(x).ndim == 0 for x, d in zip(args, dims, strict=True)):
        _, dim = next(iter(shapes))
        if all(typeof(x).ndim for x in args):
            out = prim.bind(*args, **params)
            return (out, [dim] * len(out)) if prim.multiple_results else (out, dim)
    size = next(typeof(x).shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
    dim = next(d for d in dims if d is not None)
    ranks = [typeof(x).ndim - (d is not None) for x, d in zip(args, dims, strict=True)]
    rank = max(ranks)
    if any(r < rank for r in ranks):  # 0-d operands among others (select_n, clamp): broadcast them fully
        shape = next(_example_shape(x, d) for x, d, r in zip(args, dims, ranks, strict=True) if r == rank)
        args, dims = _expand_scalars(args, dims, ranks, rank, shape, size)
        dim = 0
    args = [match_axis(size, d, dim, x) for x, d in zip(args, dims, strict=True)]
    out = prim.bind(*args, **params)
    return (out, [dim] * len(out)) if prim.multiple_results else (out, dim)


def _example_shape(x: Any, d: Any) -> tuple[int, ...]:
    shape = typeof(x).shape
    return shape if d is None else shape[:d] + shape[d + 1:]


def _expand_scalars(args: Any, dims: Any, ranks: Any, rank: int, shape: Any, size: Any) -> tuple[list[Any], list[Any]]:
    from jax._ground.structural import broadcast_in_dim  # only mixed ranks need it
    new_args, new_dims = [], []
    for x, d, r in zip(args, dims, ranks, strict=True):
        if r < rank and d is not None:
            x, d = broadcast_in_dim(x, (size, *shape), (0,)), 0
        elif r < rank:
            x = broadcast_in_dim(x, shape, ())
        new_args.append(x)
        new_dims.append(d)
    return new_args, new_dims
