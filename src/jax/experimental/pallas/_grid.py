"""The grid that a kernel is traced in: ``program_id`` and ``num_programs``."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from jax._base.source import api_boundary
from jax._language.axes import extend_axis_env


class _Grid(NamedTuple):
    """Sizes, the indices of the program under way, and what makes references that are scratch memory of the kernel."""

    sizes: tuple[int, ...]
    indices: tuple[Any, ...]
    new_scratch: Callable[[Any], Any] | None


def called(function: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any], how: Callable[[], str]) -> Any:
    """What a user's function returns; where it does not take these arguments, the error says ``how`` it is called."""
    try:
        return function(*args, **named)
    except TypeError as error:
        try:
            inspect.signature(function).bind(*args, **named)
        except TypeError:
            raise TypeError(f"{how()}: {error}") from None
        except ValueError:  # no signature
            pass
        raise


class _Marker:
    """Tells one traced kernel from another in the keys of caches: functions traced in it may use its indices."""

    def __repr__(self) -> str:
        return "the grid of a kernel"


_current: ContextVar[_Grid | None] = ContextVar("jax_pallas_grid", default=None)


@contextmanager
def inside_grid(sizes: tuple[int, ...], indices: Sequence[Any], new_scratch: Any = None) -> Iterator[None]:
    """The body is part of a program at ``indices`` (values of the trace under way) of a grid."""
    token = _current.set(_Grid(sizes, tuple(indices), new_scratch))
    try:
        with extend_axis_env(_Marker(), 1):
            yield
    finally:
        _current.reset(token)


def new_scratch(api: str, aval: Any) -> Any:
    """A reference to scratch memory that all programs of the kernel under way share."""
    grid = _current.get()
    if grid is None or grid.new_scratch is None:
        raise ValueError(f"pl.{api} has a meaning only in kernels of pl.pallas_call; it was called outside of them")
    return grid.new_scratch(aval)


def _axis(api: str, axis: Any) -> tuple[_Grid, int]:
    grid = _current.get()
    if grid is None:
        raise ValueError(f"pl.{api} has a meaning only in kernels and index maps of pl.pallas_call; it was called outside "
                         "of them")
    try:
        i = operator.index(axis)
    except TypeError:
        raise TypeError(f"pl.{api} takes an axis of the grid, an integer known while tracing, got {axis!r}") from None
    if not -len(grid.sizes) <= i < len(grid.sizes):
        raise ValueError(f"pl.{api}: axis {i} is out of bounds for the grid {grid.sizes}")
    return grid, i


@api_boundary
def program_id(axis: int) -> Any:
    """The index of the program under way along an axis of the grid, an int32 scalar.

    Raises:
      ValueError: outside of kernels and index maps, or the grid has no such axis.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> def kernel(out):
    ...     out[0] = 10 * pl.program_id(0)
    >>> pl.pallas_call(kernel, jax.ShapeDtypeStruct((3,), jnp.int32), grid=3,
    ...                out_specs=pl.BlockSpec((1,), lambda i: i), interpret=True)()
    Array([ 0, 10, 20], dtype=int32)
    """
    grid, i = _axis("program_id", axis)
    return grid.indices[i]


@api_boundary
def num_programs(axis: int) -> int:
    """The size of the grid along an axis.

    Raises:
      ValueError: outside of kernels and index maps, or the grid has no such axis.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> def kernel(out):
    ...     out[0] = pl.num_programs(0)
    >>> pl.pallas_call(kernel, jax.ShapeDtypeStruct((1,), jnp.int32), grid=3, interpret=True)()
    Array([3], dtype=int32)
    """
    grid, i = _axis("num_programs", axis)
    return grid.sizes[i]


__all__ = ["called", "inside_grid", "new_scratch", "num_programs", "program_id"]
