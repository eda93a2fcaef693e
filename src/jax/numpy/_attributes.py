"""What an array is like, how it prints, and files of arrays."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from jax._base._jaxlib import xla
from jax._language import dims
from jax._language.dims import canonical_axes
from jax.dtypes import bfloat16
from jax.numpy._creation import asarray
from jax.numpy._promotion import check_arraylike, is_arraylike, shape_of
from jax.stages import ShapeDtypeStruct

_Array = xla.Array


def _sizes(name: str, a: Any) -> tuple[Any, ...]:
    if isinstance(a, ShapeDtypeStruct):
        return a.shape
    if not is_arraylike(a):
        warnings.warn(
            f"{name} was asked about a {type(a).__name__}, which is no array: it answers as NumPy does. That will become "
            "an error; pass an array, or ask NumPy.", DeprecationWarning, stacklevel=3)
        return np.shape(a)
    return shape_of(a)


def shape(a: Any) -> tuple[Any, ...]:
    """The size along each axis."""
    return _sizes("shape", a)


def ndim(a: Any) -> int:
    """The number of axes."""
    return len(_sizes("ndim", a))


def size(a: Any, axis: Any = None) -> int:
    """The number of elements, or the size along ``axis`` (an integer or several)."""
    sizes = _sizes("size", a)
    if axis is None:
        return dims.size_of(sizes)
    axes = canonical_axes(tuple(axis) if isinstance(axis, (tuple, list, range)) else (axis,), len(sizes), "size", "axis")
    return dims.size_of([sizes[i] for i in axes])


def iterable(y: Any) -> bool:
    """Whether ``y`` can be iterated over: arrays of rank 0 cannot."""
    try:
        iter(y)
    except TypeError:
        return False
    return True


# --- text -----------------------------------------------------------------------------------------------------------

def array_repr(arr: Any, max_line_width: int | None = None, precision: int | None = None,
               suppress_small: bool | None = None) -> str:
    """The text that ``repr`` gives, with a say about its form; see :func:`numpy.array_repr`."""
    check_arraylike("array_repr", arr)
    if max_line_width is None and precision is None and suppress_small is None:
        return repr(asarray(arr))
    text = np.array_repr(np.asarray(arr), max_line_width, precision, suppress_small)
    return "Array" + text.removeprefix("array")


def array_str(a: Any, max_line_width: int | None = None, precision: int | None = None,
              suppress_small: bool | None = None) -> str:
    """The text that ``str`` gives, with a say about its form; see :func:`numpy.array_str`."""
    check_arraylike("array_str", a)
    return np.array_str(np.asarray(a), max_line_width, precision, suppress_small)


get_printoptions = np.get_printoptions
set_printoptions = np.set_printoptions
printoptions = np.printoptions


# --- files ----------------------------------------------------------------------------------------------------------

save = np.save
savez = np.savez


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """The array in a ``.npy`` file, or the arrays in a ``.npz`` file as NumPy arrays; see :func:`numpy.load`."""
    out = np.load(file, *args, **kwargs)
    if isinstance(out, np.ndarray):
        return asarray(_with_name(out))
    return out


def _with_name(value: np.ndarray) -> np.ndarray:
    """Two bytes that NumPy's format knows no name for are bfloat16, as written by :func:`save`."""
    if value.dtype == np.dtype("V2"):
        return value.view(bfloat16)
    return value
