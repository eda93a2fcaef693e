"""A form of ``associative_scan`` for CPUs: a loop over chunks, each of which is scanned in logarithmic depth.

The scan in logarithmic depth is dozens of operations on arrays of all sizes, and a kernel for each. In chunks it is one
kernel, which a loop runs for one chunk after the other; the last prefix is carried along. That compiles three times faster
and runs as fast, where the combining function is one operation, and arrays are not so large that several threads would share
the work.

Programs hold the call of the scan in logarithmic depth, which is what transformations see. The other form is noted in
``cpu_forms``, where the lowering for CPUs finds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._api.jit_primitive import bind_jit, call_params
from jax._base import config
from jax._ground.structural import broadcast_in_dim, full, permute
from jax._language.avals import typeof
from jax._language.jaxpr import ClosedJaxpr
from jax._language.staging import StagingTrace, trace_to_jaxpr
from jax._language.trace import current_trace
from jax._lowering.passes.cones import ARITHMETIC_COST, groupable, is_movement, pieces_p, with_all_read
from jax._lowering.rules import cpu_forms, fusible, platform_rules
from jax.lax._control_common import Staged, stage
from jax.lax._join import concatenate
from jax.lax._scan import scan
from jax.lax._select import select_n
from jax.lax._shape import reshape
from jax.lax._slice import slice_in_dim
from jax.tree_util import tree_structure

Leaves = list[Any]
Combine = Callable[[Leaves, Leaves], Leaves]
Scan = Callable[[Combine, Leaves, int], Leaves]

CHUNK = 256  # elements
FEWEST_CHUNKS = 16
LARGEST = 1 << 18  # bytes of the array


def chunked_scan(whole: Scan, combine: Combine, leaves: Leaves, axis: int) -> Leaves | None:
    """``whole(combine, leaves, axis)`` as a call that has a form in chunks; None where that is of no use."""
    if not isinstance(current_trace.get(), StagingTrace) or not config.cpu_group_pieces.value:
        return None
    avals = [typeof(x) for x in leaves]
    size = _chunk_size(avals[0], axis) if len(avals) == 1 else None
    if size is None:
        return None
    count = len(leaves)

    def in_chunk(first: Any, carried: Leaves, chunk: Leaves) -> Any:
        inner = whole(combine, chunk, axis)
        shifted = combine([_widened(x, size, axis) for x in carried], inner)
        out = [select_n(first, b, a) for a, b in zip(inner, shifted, strict=True)]
        return [slice_in_dim(x, size - 1, size, 1, axis) for x in out], out

    flat = [0] * count
    small = [a.update(shape=_with_size(a.shape, axis, 1)) for a in avals]
    parts = [a.update(shape=_with_size(a.shape, axis, size)) for a in avals]
    body = stage("associative_scan", in_chunk, tree_structure((0, flat, flat)),
                 (typeof(np.bool_(True)), *small, *parts))
    if not _is_light(body.jaxpr, parts[0], size):
        return None
    log = stage("associative_scan", lambda leaves: whole(combine, leaves, axis), tree_structure((flat,)), tuple(avals))
    if len(log.consts) != len(body.consts) or any([a is not b for a, b in zip(log.consts, body.consts, strict=True)]):
        return None
    cpu_forms[log.jaxpr] = _form(body, [typeof(c) for c in log.consts], avals, axis, size)
    return bind_jit(*log.consts, *leaves, **call_params(log.jaxpr, "associative_scan"))


def _chunk_size(aval: Any, axis: int) -> int | None:
    """How many elements along the axis, the first of more than one, are scanned at once: some hundred numbers in all."""
    if not isinstance(aval.dtype, np.dtype) or not all([type(n) is int for n in aval.shape]):
        return None
    n, elements = aval.shape[axis], math.prod(aval.shape)
    if not elements or elements * aval.dtype.itemsize > LARGEST or math.prod(aval.shape[:axis]) > 1:
        return None
    size = CHUNK * n // elements
    return 1 << (size.bit_length() - 1) if size >= 32 and n >= size * FEWEST_CHUNKS else None


def _is_light(closed: ClosedJaxpr, part: Any, size: int) -> bool:
    """Whether ``part`` is combined by one operation, of which XLA does not think that several threads should do it."""
    if closed.consts or closed.effects:
        return False
    overrides = platform_rules(("cpu",))
    cost, operations = 30 * math.prod(part.shape) * part.dtype.itemsize, 0
    for eqn in closed.eqns:
        if not groupable(eqn, overrides):
            return False
        cost += 3 * fusible[eqn.primitive] * sum([math.prod(v.aval.shape) for v in eqn.outvars])
        operations += not is_movement(eqn)
    # Two for each halving, one for the prefix, one to choose.
    return cost <= ARITHMETIC_COST and operations <= 2 * size.bit_length() + 2


def _form(body: Staged, const_avals: Sequence[Any], avals: Sequence[Any], axis: int, size: int) -> ClosedJaxpr:
    """The program in chunks: from what the combining function closes over, and the arrays, to the prefixes."""
    inner = with_all_read(body.jaxpr.jaxpr)
    n, count = avals[0].shape[axis], len(avals)
    chunks = -(-n // size)

    def run(*args: Any) -> Leaves:
        consts, leaves = args[:len(const_avals)], args[len(const_avals):]

        def step(state: Any, chunk: Any) -> Any:
            first, *carried = state
            out = pieces_p.bind(*consts, first, *carried, *chunk, jaxpr=inner)
            return [full((), False, np.dtype(bool)), *out[:count]], out[count:2 * count]

        init = [full((), True, np.dtype(bool)), *[slice_in_dim(x, 0, 1, 1, axis) for x in leaves]]
        rows = scan(step, init, [_in_chunks(x, axis, chunks, size) for x in leaves])[1]
        return [_joined(x, axis, n) for x in rows]

    jaxpr, consts = trace_to_jaxpr(run, [*const_avals, *avals])
    return ClosedJaxpr(jaxpr, consts)


def _in_chunks(x: Any, axis: int, chunks: int, size: int) -> Any:
    """``x`` with a leading axis of chunks; the last is filled up with the first elements."""
    shape = typeof(x).shape
    missing = chunks * size - shape[axis]
    if missing:
        x = concatenate([x, slice_in_dim(x, 0, missing, 1, axis)], axis)
    x = reshape(x, (*shape[:axis], chunks, size, *shape[axis + 1:]))
    return permute(x, (axis, *range(axis), *range(axis + 1, len(shape) + 1))) if axis else x


def _joined(x: Any, axis: int, n: int) -> Any:
    """The first ``n`` elements along ``axis`` of an array with a leading axis of chunks."""
    if axis:
        x = permute(x, (*range(1, axis + 1), 0, *range(axis + 1, len(typeof(x).shape))))
    shape = typeof(x).shape
    x = reshape(x, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2:]))
    return slice_in_dim(x, 0, n, 1, axis)


def _widened(x: Any, size: int, axis: int) -> Any:
    """``x``, of size 1 along ``axis``, repeated."""
    shape = typeof(x).shape
    return broadcast_in_dim(x, _with_size(shape, axis, size), range(len(shape)))


def _with_size(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis + 1:])
