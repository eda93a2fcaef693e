"""What users say about a kernel: how arrays are cut into blocks, the grid, costs, settings of compilers."""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from jax.experimental.pallas._dims import BlockDim
from jax.experimental.pallas._mapping import BlockMapping, block_mapping

# --- pipelines -------------------------------------------------------------------------------------------------------

class RevisitMode(enum.Enum):
    """When a pipeline may come back to a block that it has left: right away, or at any time."""

    IMMEDIATE = "immediate"
    ANY = "any"


@dataclasses.dataclass(frozen=True)
class Buffered:
    """How a compiled pipeline keeps blocks in fast memory; interpreted kernels have no pipeline.

    Attributes:
      buffer_count: how many buffers a block has.
      use_lookahead: fetch the next block that differs, however far ahead it is.
      revisit: when blocks may come back.
      prefetched_count: how many buffers are filled before the kernel starts.
    """

    buffer_count: int
    use_lookahead: bool = False
    revisit: RevisitMode | None = None
    prefetched_count: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.buffer_count, int) or self.buffer_count < 1:
            raise ValueError(f"pl.Buffered: buffer_count must be a positive integer, got {self.buffer_count!r}")
        if not 0 <= self.prefetched_count <= self.buffer_count:
            raise ValueError(f"pl.Buffered: prefetched_count must be between 0 and buffer_count ({self.buffer_count}), got "
                             f"{self.prefetched_count!r}")


# --- blocks and grids -------------------------------------------------------------------------------------------------

@dataclasses.dataclass
class BlockSpec:
    """How an operand or a result of a kernel is cut into the blocks that its programs see.

    Args:
      block_shape: an integer, ``None`` or :class:`Squeezed`, :class:`Element`, :class:`BoundedSlice` or :class:`Indirect`
        for each axis of the array. Without it the block is the whole array.
      index_map: a function of the indices in the grid that returns which block a program sees: for each axis its number
        (elements come in at ``number * size``), or what the axis' entry in ``block_shape`` says. Without it that is the
        first block.
      pipeline_mode: for compilers, a :class:`Buffered`.
      memory_space: where the block is; interpreted kernels have one memory.

    Blocks may stick out of the array: elements outside are unspecified (NaN, the least integer or False in interpreted
    kernels), and what is written there is dropped.

    >>> from jax.experimental import pallas as pl
    >>> pl.BlockSpec((8, 128), lambda i, j: (i, j)).block_shape
    (8, 128)
    """

    block_shape: Sequence[BlockDim | int | None] | None = None
    index_map: Callable[..., Any] | None = None
    pipeline_mode: Buffered | None = dataclasses.field(default=None)
    _: dataclasses.KW_ONLY
    memory_space: Any = None

    def __post_init__(self) -> None:
        if self.index_map is not None and not callable(self.index_map):
            raise TypeError(f"pl.BlockSpec: index_map must be a function of the indices in the grid, got {self.index_map!r}."
                            " The order is BlockSpec(block_shape, index_map).")
        if callable(self.block_shape):
            raise TypeError("pl.BlockSpec: block_shape is a function; the order is BlockSpec(block_shape, index_map)")

    def replace(self, **changes: Any) -> BlockSpec:
        """A copy with other fields, by name."""
        return dataclasses.replace(self, **changes)

    def to_block_mapping(self, origin: str, array_aval: Any, *, grid: tuple[int, ...]) -> BlockMapping:
        """How an array of a type is cut by a grid: a ``BlockMapping`` with the traced index map.

        Args:
          origin: what messages call the array.
          array_aval: its type.
          grid: the sizes of the grid.
        """
        return block_mapping(self, origin, array_aval, grid)


class NoBlockSpec:
    """What stands for specs that are not given: whole arrays."""

    def __repr__(self) -> str:
        return "NoBlockSpec"


# What stands for specs that are not given: whole arrays.
no_block_spec = NoBlockSpec()


def _tupled(tree: Any) -> Any:
    return tuple(tree) if isinstance(tree, list) else tree


@dataclasses.dataclass(init=False)
class GridSpec:
    """A grid and the specs of operands, results and scratch memory, as :func:`pallas_call` takes them one by one.

    Args:
      grid: the sizes of the grid; an integer is a grid of one axis.
      in_specs: a tuple of trees of :class:`BlockSpec`, one for each operand.
      out_specs: a tree of them like the results.
      scratch_shapes: a tree of types of memory.

    >>> from jax.experimental import pallas as pl
    >>> pl.GridSpec(grid=4).grid
    (4,)
    """

    grid: tuple[int, ...]
    in_specs: Any
    out_specs: Any
    scratch_shapes: Any

    def __init__(self, grid: Any = (), in_specs: Any = no_block_spec, out_specs: Any = no_block_spec,
                 scratch_shapes: Any = ()) -> None:
        self.grid = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
        self.in_specs = _tupled(in_specs)
        self.out_specs = _tupled(out_specs)
        self.scratch_shapes = _tupled(scratch_shapes)


# --- for compilers ----------------------------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class CostEstimate:
    """What a call of a kernel costs; :func:`estimate_cost` finds it for functions of arrays.

    Attributes:
      flops: operations, other than transcendental ones.
      transcendentals: transcendental functions of numbers.
      bytes_accessed: bytes read and written.
      remote_bytes_transferred: bytes sent to other devices.

    >>> from jax.experimental import pallas as pl
    >>> pl.CostEstimate(flops=8, transcendentals=0, bytes_accessed=64).to_json()
    b'{"flops": 8, "transcendentals": 0, "bytes_accessed": 64, "remote_bytes_transferred": 0}'
    """

    flops: int
    transcendentals: int
    bytes_accessed: int
    remote_bytes_transferred: int = 0

    def to_json(self) -> bytes:
        """The estimate as a JSON object, in the form that compilers take."""
        return json.dumps(dataclasses.asdict(self)).encode("ascii")


@runtime_checkable
class CompilerParams(Protocol):
    """Settings for the compiler of one backend: any hashable object of a class that the backend defines.

    Interpreted kernels are not compiled by one, so they take no notice of these settings.
    """


__all__ = ["BlockSpec", "Buffered", "CompilerParams", "CostEstimate", "GridSpec", "NoBlockSpec", "RevisitMode",
           "no_block_spec"]
