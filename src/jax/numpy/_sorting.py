"""Putting elements in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._base._jaxlib import xla
from jax._language.avals import typeof
from jax._language.dims import canonical_axis, canonical_dim
from jax.numpy._creation import asarray
from jax.numpy._promotion import as_dtype, check_arraylike, shape_of
from jax.numpy._shape import moveaxis, ravel

_Array = xla.Array


def _check_options(name: str, kind: Any, order: Any) -> None:
    if order is not None:
        raise NotImplementedError(f"{name}: order= is for arrays with fields, which do not exist here")
    if kind not in (None, "quicksort", "mergesort", "heapsort", "stable"):
        raise ValueError(f"{name}: kind must be None, 'quicksort', 'mergesort', 'heapsort' or 'stable', got {kind!r}")


def _along(name: str, a: Any, axis: Any) -> tuple[Any, int]:
    """The operand and the axis to sort; a raveled operand for ``axis=None``."""
    if axis is None:
        return ravel(a), 0
    rank = len(shape_of(a))
    if rank == 0:
        raise ValueError(f"{name}: an array without dimensions has no axis {axis}; axis=None is possible")
    return asarray(a), canonical_axis(axis, rank, name)


def sort(a: Any, axis: int | None = -1, *, kind: Any = None, order: Any = None, stable: bool = True,
         descending: bool = False) -> Any:
    """``a`` sorted along ``axis``, NaN last.

    Args:
      a: an array.
      axis: with None ``a`` is raveled first.
      kind, order: for compatibility; there is one algorithm.
      stable: whether equal elements keep their order.
      descending: the largest first (NaN, counted as the largest, before it).

    >>> import jax.numpy as jnp
    >>> jnp.sort(jnp.array([3, 1, 2]))
    Array([1, 2, 3], dtype=int32)
    """
    check_arraylike("sort", a)
    _check_options("sort", kind, order)
    a, axis = _along("sort", a, axis)
    return _sort(a, axis=axis, stable=bool(stable or kind in ("mergesort", "stable")), descending=bool(descending))


@composite(static_argnames=("axis", "stable", "descending"))
def _sort(a: Any, axis: int, stable: bool, descending: bool) -> Any:
    out = lax.sort(a, dimension=axis, is_stable=stable)
    return lax.rev(out, (axis,)) if descending else out


def argsort(a: Any, axis: int | None = -1, *, kind: Any = None, order: Any = None, stable: bool = True,
            descending: bool = False, dtype: Any = None) -> Any:
    """The indices that sort ``a`` along ``axis``.

    Args:
      a, axis, kind, order, descending: as for :func:`sort`.
      stable: whether the indices of equal elements increase.
      dtype: of the indices; the default integer if None.

    >>> import jax.numpy as jnp
    >>> jnp.argsort(jnp.array([3, 1, 2]))
    Array([1, 2, 0], dtype=int32)
    """
    check_arraylike("argsort", a)
    _check_options("argsort", kind, order)
    a, axis = _along("argsort", a, axis)
    n = a.shape[axis]
    wanted = dtypes.requested_dtype(int if dtype is None else dtype, "argsort")
    if dtype is None and wanted == np.int32 and type(n) is int and n > 2**31 - 1:
        raise ValueError(f"argsort: int32 cannot index an axis of size {n}; pass dtype or switch jax_enable_x64 on")
    return _argsort(a, axis=axis, stable=bool(stable or kind in ("mergesort", "stable")), descending=bool(descending),
                    dtype=wanted)


@composite(static_argnames=("axis", "stable", "descending", "dtype"))
def _argsort(a: Any, axis: int, stable: bool, descending: bool, dtype: Any) -> Any:
    shape = shape_of(a)
    narrow = type(shape[axis]) is not int or shape[axis] <= 2**31 - 1
    places = lax.broadcasted_iota(np.int32 if narrow else dtype, shape, axis)
    if not descending:
        out = lax.sort((a, places), dimension=axis, is_stable=stable, num_keys=1)[1]
    else:
        # Turned over before and after, equal elements keep their order.
        flipped = lax.rev(a, (axis,))
        out = lax.sort((flipped, lax.rev(places, (axis,))), dimension=axis, is_stable=stable, num_keys=1)[1]
        out = lax.rev(out, (axis,))
    return lax.convert_element_type(out, dtype)


def lexsort(keys: Any, axis: int = -1) -> Any:
    """The indices that sort by several keys, of which the last one counts most.

    Args:
      keys: a sequence of arrays of one shape, or an array of them.
      axis: the axis to sort along.

    Raises:
      TypeError: without keys.
      ValueError: when their shapes differ.
    """
    if isinstance(keys, (_Array, np.ndarray)):
        if not keys.ndim:
            raise TypeError("lexsort: a sequence of keys is needed, got an array without dimensions")
        keys = list(lax.unstack(asarray(keys)))
    else:
        keys = list(keys)
    if not keys:
        raise TypeError("lexsort: at least one key is needed")
    check_arraylike("lexsort", *keys)
    if len({shape_of(k) for k in keys}) > 1:
        raise ValueError(f"lexsort: all keys must have the same shape, got {[shape_of(k) for k in keys]}")
    if not shape_of(keys[0]):
        return asarray(np.zeros((), dtypes.scalar_dtype(int)))
    return _lexsort(keys, axis=canonical_axis(axis, len(shape_of(keys[0])), "lexsort"))


@composite(static_argnames=("axis",))
def _lexsort(keys: Sequence[Any], axis: int) -> Any:
    places = lax.broadcasted_iota(np.int32, shape_of(keys[0]), axis)
    found = lax.sort((*keys[::-1], places), dimension=axis, is_stable=True, num_keys=len(keys))
    return lax.convert_element_type(found[-1], dtypes.scalar_dtype(int))


def _position(name: str, kth: Any, n: Any) -> int:
    kth = canonical_dim(kth, f"{name}: kth")
    at = kth + n if kth < 0 else kth
    if not 0 <= at < n:
        raise ValueError(f"{name}: kth={kth} is out of bounds for an axis of size {n}")
    return at


def partition(a: Any, kth: int, axis: int = -1) -> Any:
    """``a`` ordered so far along ``axis`` that element ``kth`` is in its sorted place, with no larger ones before and no
    smaller ones after it. The order of the others is undefined.

    Raises:
      TypeError: for complex numbers.
      ValueError: when ``kth`` is out of bounds.
    """
    check_arraylike("partition", a)
    _refuse_complex("partition", a)
    a, axis = _along("partition", a, axis)
    return _partition(a, kth=_position("partition", kth, a.shape[axis]), axis=axis, places=False)


def argpartition(a: Any, kth: int, axis: int = -1) -> Any:
    """The indices that :func:`partition` ``a``."""
    check_arraylike("argpartition", a)
    _refuse_complex("argpartition", a)
    a, axis = _along("argpartition", a, axis)
    return _partition(a, kth=_position("argpartition", kth, a.shape[axis]), axis=axis, places=True)


def _refuse_complex(name: str, a: Any) -> None:
    if dtypes.issubdtype(typeof(a).dtype, np.complexfloating):
        raise NotImplementedError(f"{name}: complex numbers are not supported, see jnp.sort and jnp.argsort")


@composite(static_argnames=("kth", "axis", "places"))
def _partition(a: Any, kth: int, axis: int, places: bool) -> Any:
    # A full sort is a partition, and on CPUs the faster one.
    if not places:
        return lax.sort(a, dimension=axis, is_stable=False)
    iota = lax.broadcasted_iota(np.int32, shape_of(a), axis)
    found = lax.sort((a, iota), dimension=axis, is_stable=False, num_keys=1)[1]
    return lax.convert_element_type(found, dtypes.scalar_dtype(int))


def sort_complex(a: Any) -> Any:
    """``a`` sorted along the last axis, as complex numbers: by real and then by imaginary part."""
    check_arraylike("sort_complex", a)
    out = sort(a)
    return as_dtype(out, dtypes.to_complex_dtype(typeof(out).dtype), False)


def top_k(a: Any, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True) -> tuple[Any, Any]:  # noqa: A002
    """The ``k`` largest elements along ``axis`` and their indices.

    Args:
      a: an array.
      k: how many; at most the size of the axis.
      axis: an axis of ``a``.
      mode: ``"largest"`` or ``"smallest"``.
      sorted: kept for compatibility; the elements are always in order.

    Returns:
      ``(values, indices)``.

    Raises:
      ValueError: for another mode, or a ``k`` out of bounds.
    """
    check_arraylike("top_k", a)
    if mode not in ("largest", "smallest"):
        raise ValueError(f"top_k: mode must be 'largest' or 'smallest', got {mode!r}")
    a, axis = _along("top_k", a, axis)
    k = canonical_dim(k, "top_k: k")
    if not 0 <= k <= a.shape[axis]:
        raise ValueError(f"top_k: k={k} is out of bounds for an axis of size {a.shape[axis]}")
    values, places = _top_k(a, k=k, axis=axis, smallest=mode == "smallest")
    return values, places


@composite(static_argnames=("k", "axis", "smallest"))
def _top_k(a: Any, k: int, axis: int, smallest: bool) -> Any:
    if not smallest:
        values, places = lax.top_k(moveaxis(a, axis, -1), k)
        return moveaxis(values, -1, axis), moveaxis(places, -1, axis)
    iota = lax.broadcasted_iota(np.int32, shape_of(a), axis)
    values, places = lax.sort((a, iota), dimension=axis, is_stable=True, num_keys=1)
    return lax.slice_in_dim(values, 0, k, axis=axis), lax.slice_in_dim(places, 0, k, axis=axis)
