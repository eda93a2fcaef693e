"""How a grid cuts arrays into blocks: specs checked against types, with index maps as programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._api.indexing import Slice
from jax._base import source as source_info
from jax._base._jaxlib import xla
from jax._language.avals import ShapedArray, typeof
from jax._language.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr, Literal, Var
from jax._language.refs import AbstractRef
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import Tracer
from jax.experimental.pallas import _dims as dims
from jax.experimental.pallas._bounds import Bounds, bounds_of
from jax.experimental.pallas._grid import called, inside_grid
from jax.experimental.pallas._slices import Part

INDEX = ShapedArray((), np.dtype(np.int32))  # the type of an index in the grid


@dataclasses.dataclass(frozen=True)
class BlockMapping:
    """How an array is cut into blocks.

    Attributes:
      block_shape: an entry of :mod:`._dims` for each axis.
      index_map_jaxpr: from the indices in the grid to where the block is: a number for each axis, two (start and size) for a
        :class:`BoundedSlice`, none for what is whole.
      array_aval: the type of the array.
      memory_space: where the block is.
      pipeline_mode: for compilers.
      origin: what messages call the array.
    """

    block_shape: tuple[dims.BlockDim, ...]
    index_map_jaxpr: ClosedJaxpr
    array_aval: ShapedArray
    memory_space: Any
    pipeline_mode: Any
    origin: str

    @property
    def ref_aval(self) -> AbstractRef:
        """The type of the kernel's reference to a block."""
        inner = ShapedArray(dims.ref_shape(self.block_shape), self.array_aval.dtype)
        return AbstractRef(inner, self.memory_space)

    def places(self, outs: Sequence[Any]) -> list[tuple[Any, Any]]:
        """For each axis where the block is and, for a bounded slice, its size."""
        rest = iter(outs)
        return [(next(rest), next(rest) if isinstance(d, dims.BoundedSlice) else None) for d in self.block_shape]

    def bounds(self, grid: tuple[int, ...]) -> list[Bounds]:
        """For each axis the least and greatest value that the index map returns; None if unknown."""
        return [place for place, _ in self.places(bounds_of(self.index_map_jaxpr, grid))]

    def __repr__(self) -> str:
        return f"BlockMapping(block_shape={self.block_shape})"


@dataclasses.dataclass(frozen=True)
class GridMapping:
    """The grid of a kernel and the blocks of its operands and results.

    Attributes:
      grid: its sizes.
      block_mappings: of the operands, and then of the results.
      num_inputs: how many operands there are.
      scratch_avals: types of references to scratch memory, which is the same for all programs.
      num_batched: how many leading axes of the grid come of ``vmap``.
    """

    grid: tuple[int, ...]
    block_mappings: tuple[BlockMapping, ...]
    num_inputs: int
    scratch_avals: tuple[AbstractRef, ...] = ()
    num_batched: int = 0

    @property
    def inputs(self) -> tuple[BlockMapping, ...]:
        return self.block_mappings[:self.num_inputs]

    @property
    def outputs(self) -> tuple[BlockMapping, ...]:
        return self.block_mappings[self.num_inputs:]

    def replace(self, **changes: Any) -> GridMapping:
        return dataclasses.replace(self, **changes)

    def __repr__(self) -> str:
        return f"GridMapping(grid={self.grid}, block_mappings={self.block_mappings})"


# --- from specs -------------------------------------------------------------------------------------------------------

def _block_dim(origin: str, d: Any, n: int) -> dims.BlockDim:
    """An entry of a block shape, checked against the size of the axis."""
    if d is None:
        return dims.squeezed
    if isinstance(d, (int, np.integer)) and not isinstance(d, bool):
        d = dims.Blocked(int(d))
    if isinstance(d, dims.Squeezed):
        return d
    if not isinstance(d, (dims.Blocked, dims.Element, dims.BoundedSlice, dims.Indirect)):
        raise TypeError(f"pallas_call: the block shape for {origin} has the entry {d!r} of type {type(d).__name__}. Use an "
                        "integer, None (pl.Squeezed), pl.Element, pl.BoundedSlice or pl.Indirect.")
    size = d.block_size
    if not isinstance(size, (int, np.integer)) or isinstance(size, bool):
        raise TypeError(f"pallas_call: sizes of blocks are integers known while tracing, and that for {origin} has {size!r}")
    if size < 0 or size == 0 and n != 0:
        raise ValueError(f"pallas_call: a block for {origin} cannot have {size} elements along an axis of size {n}")
    return d


def _whole(aval: ShapedArray) -> tuple[dims.BlockDim, ...]:
    return tuple([dims.Blocked(n) for n in aval.shape])


def block_mapping(spec: Any, origin: str, aval: ShapedArray, grid: tuple[int, ...]) -> BlockMapping:
    """The mapping of a ``BlockSpec`` (None: the whole array) for an array of a type.

    Raises:
      TypeError, ValueError: the spec does not fit the array or the grid.
    """
    shape = None if spec is None else spec.block_shape
    index_map = None if spec is None else spec.index_map
    if shape is None:
        block = _whole(aval)
    else:
        try:
            entries = tuple(shape)
        except TypeError:
            raise TypeError(f"pallas_call: the block shape for {origin} must be a tuple, got {shape!r}") from None
        if len(entries) != len(aval.shape):
            raise ValueError(f"pallas_call: the block shape {shape} for {origin} has {len(entries)} axes, and the array, of "
                             f"type {aval.str_short()}, has {len(aval.shape)}. Give one entry for each axis, None for those "
                             "that the kernel is not to see.")
        block = tuple([_block_dim(origin, d, n) for d, n in zip(entries, aval.shape, strict=True)])
    return BlockMapping(block, _index_program(index_map, block, origin, grid), aval,
                        getattr(spec, "memory_space", None), getattr(spec, "pipeline_mode", None), origin)


def _index_program(index_map: Callable[..., Any] | None, block: tuple[dims.BlockDim, ...], origin: str,
                   grid: tuple[int, ...]) -> ClosedJaxpr:
    if index_map is None:
        for d in block:
            if isinstance(d, (dims.BoundedSlice, dims.Indirect)):
                raise ValueError(f"pallas_call: the block shape for {origin} has {d}, which needs an index map")
        zero = Literal(np.int32(0), INDEX)
        return ClosedJaxpr(Jaxpr((), [Var(INDEX) for _ in grid], [zero] * len(block), ()), ())
    name = source_info.describe_function(index_map)

    def flat(*indices: Any) -> list[Any]:
        with inside_grid(grid, indices):
            found = called(index_map, indices, {}, lambda: (
                f"pallas_call: the index map {name} for {origin} is called with one index for each axis of the grid {grid}, "
                f"so {len(grid)}"))
        return _checked_places(found, block, origin, name)

    jaxpr, consts = trace_to_jaxpr(flat, [INDEX] * len(grid), DebugInfo(
        "pallas_call index_map", name, lambda: tuple([f"program_id({i})" for i in range(len(grid))])))
    return without_constants(jaxpr, consts, lambda types: (
        f"pallas_call: the index map {name} for {origin} closes over arrays: {types}. It is a function of the indices in "
        "the grid alone: compute with these, or pass a table to the kernel as an operand."))


def _checked_places(found: Any, block: tuple[dims.BlockDim, ...], origin: str, name: str) -> list[Any]:
    values = list(found) if isinstance(found, (tuple, list)) else [found]
    where = f"pallas_call: the index map {name} for {origin}"
    if len(values) != len(block):
        raise ValueError(f"{where} must return one value for each axis of the block shape {_short(block)}, so {len(block)}; "
                         f"it returned {len(values)}")
    out = []
    for i, (d, value) in enumerate(zip(block, values, strict=True)):
        if isinstance(d, dims.BoundedSlice):
            if not isinstance(value, (Part, Slice, slice)):
                raise TypeError(f"{where} must return pl.ds(start, size) for axis {i}, a {d}, got {value!r}")
            start, size = _start_and_size(value, where, i)
            out.extend([_integer(start, (), where, i), _integer(size, (), where, i)])
        elif isinstance(d, dims.Indirect):
            out.append(_integer(value, (d.block_size,), where, i))
        else:
            out.append(_integer(value, (), where, i))
    return out


def _start_and_size(value: Any, where: str, i: int) -> tuple[Any, Any]:
    if isinstance(value, slice):
        start, step = value.start or 0, value.step
        size = None if value.stop is None else value.stop - start
    else:
        start, size, step = value.start, value.size, value.stride
    if size is None or step not in (None, 1):
        raise ValueError(f"{where} must return pl.ds(start, size), with a size and without a stride, for axis {i}, got "
                         f"{value!r}")
    return start, size


def _integer(x: Any, shape: tuple[int, ...], where: str, i: int) -> Any:
    """An index as an int32 of a shape."""
    try:
        aval = typeof(x)
    except TypeError as error:
        raise TypeError(f"{where} must return integers, and for axis {i} it returned {x!r}: {error}") from None
    if aval.shape != shape or not dtypes.issubdtype(aval.dtype, np.integer):
        what = f"a vector of {shape[0]} integers" if shape else "an integer scalar"
        raise ValueError(f"{where} must return {what} for axis {i}, got a value of type {aval.str_short()}")
    if isinstance(x, xla.Array):
        return x.astype(np.int32)
    return np.asarray(x, np.int32)


def _short(block: tuple[dims.BlockDim, ...]) -> tuple[Any, ...]:
    return tuple([d.block_size if isinstance(d, dims.Blocked) else None if isinstance(d, dims.Squeezed) else d
                  for d in block])


def without_constants(jaxpr: Jaxpr, consts: Sequence[Any], message: Callable[[str], str]) -> ClosedJaxpr:
    """A program with its constants, which have to be known numbers, written into it.

    Raises:
      ValueError: with ``message`` of the types of others.
    """
    if not consts:
        return ClosedJaxpr(jaxpr, ())
    wrong = [typeof(c).str_short() for c in consts if isinstance(c, Tracer) or typeof(c).shape != ()
             or not isinstance(typeof(c).dtype, np.dtype)]
    if wrong:
        raise ValueError(message(", ".join(wrong)))
    known = {v: Literal(np.asarray(c), v.aval) for v, c in zip(jaxpr.constvars, consts, strict=True)}

    def put(v: Any) -> Any:
        return v if type(v) is Literal else known.get(v, v)

    eqns = [e.replace(invars=[put(v) for v in e.invars]) for e in jaxpr.eqns]
    return ClosedJaxpr(jaxpr.replace(constvars=(), eqns=eqns, outvars=[put(v) for v in jaxpr.outvars]), ())


__all__ = ["INDEX", "BlockMapping", "GridMapping", "block_mapping", "without_constants"]
