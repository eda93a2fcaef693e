"""Convolution and correlation of arrays."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

from jax import lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax.numpy._promotion import check_arraylike, promote_dtypes_inexact, unwrap

_MODES = ("full", "same", "valid")
_BOUNDARIES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric", "pad": "constant", "circular": "wrap",
               "symmetric": "symmetric"}


def _prepared(name: str, in1: Any, in2: Any, mode: str, rank: int | None = None) -> tuple[Any, Any]:
    name = f"scipy.signal.{name}"
    check_arraylike(name, in1, in2)
    if mode not in _MODES:
        raise ValueError(f"{name}: mode must be one of {list(_MODES)}, got {mode!r}")
    a, b = (jnp.asarray(v) for v in promote_dtypes_inexact(unwrap(in1), unwrap(in2)))
    if rank is not None and (a.ndim, b.ndim) != (rank, rank):
        raise ValueError(f"{name}() only supports {rank}-dimensional inputs, got shapes {a.shape} and {b.shape}")
    if a.ndim != b.ndim:
        raise ValueError(f"{name}: in1 and in2 must have the same number of dimensions, got shapes {a.shape} and {b.shape}")
    if not a.size or not b.size:
        raise ValueError(f"{name}: zero-size arrays not supported in convolutions, got shapes {a.shape} and {b.shape}.")
    return a, b


def _larger_first(name: str, a: Any, b: Any, mode: str, axes: Sequence[int]) -> tuple[Any, Any]:
    """For mode ``"valid"``, in which the roles may be exchanged."""
    if mode != "valid" or all(a.shape[d] >= b.shape[d] for d in axes):
        return a, b
    if all(b.shape[d] >= a.shape[d] for d in axes):
        return b, a
    raise ValueError(f"scipy.signal.{name}: One input must be smaller than the other in every dimension, got shapes "
                     f"{a.shape} and {b.shape}")


@functools.partial(composite, static_argnames=("mode", "precision"))
def _direct(a: Any, b: Any, mode: str, precision: Any) -> Any:
    """``sum_k a[i - k] b[k]`` by a convolution with one channel. Where ``"same"`` has no exact middle, ``"later"`` takes the
    later one."""
    if not a.ndim:
        return a * b
    low = [{"full": n - 1, "same": n - 1 - (n - 1) // 2, "later": (n - 1) // 2, "valid": 0}[mode] for n in b.shape]
    high = [{"full": n - 1, "same": (n - 1) // 2, "later": n - 1 - (n - 1) // 2, "valid": 0}[mode] for n in b.shape]
    flipped = jnp.flip(b)
    return lax.conv_general_dilated(a[None, None], flipped[None, None], (1,) * a.ndim, list(zip(low, high, strict=True)),
                                    precision=precision)[0, 0]


def _by_method(name: str, a: Any, b: Any, mode: str, method: str, precision: Any) -> Any:
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"scipy.signal.{name}: Got method={method!r}; expected 'auto', 'fft', or 'direct'.")
    a, b = _larger_first(name, a, b, mode, range(a.ndim))
    if method == "fft":
        return _by_transform(a, b, mode=mode, axes=tuple(range(a.ndim)))
    return _direct(a, b, mode=mode, precision=precision)


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Any:
    """The convolution of two arrays of equal rank.

    Args:
      in1, in2: arrays. Integers are converted to floats (SciPy keeps them).
      mode: ``"full"``: wherever they overlap; ``"same"``: the middle of that, of the shape of ``in1``; ``"valid"``:
        where one lies within the other.
      method: ``"direct"``, ``"fft"`` or ``"auto"``, which is direct.
      precision: of products, see :class:`jax.lax.Precision`; for the direct method.

    Raises:
      ValueError: for empty arrays, different ranks, unknown modes and methods, and for ``"valid"`` where neither fits
        into the other.

    >>> import jax.numpy as jnp
    >>> convolve(jnp.array([1.0, 2.0]), jnp.array([1.0, 1.0, 1.0])).tolist()
    [1.0, 3.0, 3.0, 2.0]
    """
    a, b = _prepared("convolve", in1, in2, mode)
    return _by_method("convolve", a, b, mode, method, precision)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Any:
    """The cross-correlation of two arrays of equal rank: the convolution of ``in1`` with ``conj(in2)`` reversed.

    Arguments and errors as for :func:`convolve`.

    >>> import jax.numpy as jnp
    >>> correlate(jnp.array([0.0, 1.0, 0.0]), jnp.array([1.0, 2.0]), mode="valid").tolist()
    [2.0, 1.0]
    """
    a, b = _prepared("correlate", in1, in2, mode)
    return _by_method("correlate", a, jnp.flip(jnp.conj(b)), mode, method, precision)


def _plane(name: str, a: Any, b: Any, mode: str, boundary: str, fillvalue: Any, precision: Any) -> Any:
    if boundary not in _BOUNDARIES:
        raise ValueError(f"scipy.signal.{name}: boundary must be 'fill', 'wrap' or 'symm', got {boundary!r}")
    a, b = _larger_first(name, a, b, mode, (0, 1))
    if mode == "valid":
        return _direct(a, b, mode="valid", precision=precision)
    kind = _BOUNDARIES[boundary]
    check_arraylike(f"scipy.signal.{name}", fillvalue)
    if kind == "constant" and isinstance(fillvalue, int | float) and fillvalue == 0:
        return _direct(a, b, mode=mode, precision=precision)
    margins = [(n - 1, n - 1) for n in b.shape]
    values = {"constant_values": jnp.asarray(fillvalue).astype(a.dtype)} if kind == "constant" else {}
    out = _direct(jnp.pad(a, margins, kind, **values), b, mode="valid", precision=precision)
    return out if mode == "full" else _middle(out, a.shape, (0, 1), later=mode == "later")


def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0,
               precision: Any = None) -> Any:
    """The convolution of two arrays of rank 2.

    Args:
      in1, in2, mode, precision: as for :func:`convolve`.
      boundary: how ``in1`` goes on beyond its edges: ``"fill"`` (with ``fillvalue``), ``"wrap"`` or ``"symm"``.
      fillvalue: a scalar.

    Raises:
      ValueError: as for :func:`convolve`; and for other ranks and boundaries.

    >>> import jax.numpy as jnp
    >>> convolve2d(jnp.ones((2, 2)), jnp.ones((1, 2)), mode="valid").tolist()
    [[2.0], [2.0]]
    """
    a, b = _prepared("convolve2d", in1, in2, mode, 2)
    return _plane("convolve2d", a, b, mode, boundary, fillvalue, precision)


def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0,
                precision: Any = None) -> Any:
    """The cross-correlation of two arrays of rank 2. Arguments and errors as for :func:`convolve2d`.

    >>> import jax.numpy as jnp
    >>> correlate2d(jnp.array([[0.0, 1.0]]), jnp.array([[1.0, 2.0]]), mode="valid").tolist()
    [[2.0]]
    """
    a, b = _prepared("correlate2d", in1, in2, mode, 2)
    if mode == "valid" and all(m <= n for m, n in zip(a.shape, b.shape, strict=True)) and a.shape != b.shape:
        out = _plane("correlate2d", b, jnp.flip(jnp.conj(a)), mode, boundary, fillvalue, precision)
        return jnp.flip(jnp.conj(out))
    # the middle of a kernel of even size is counted from its other end than in a convolution, as in SciPy
    mode = "later" if mode == "same" else mode
    return _plane("correlate2d", a, jnp.flip(jnp.conj(b)), mode, boundary, fillvalue, precision)


# --- by Fourier transforms ------------------------------------------------------------------------------------------


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Sequence[int] | None = None) -> Any:
    """The convolution of two arrays of equal rank by fast Fourier transforms: for large arrays.

    Args:
      in1, in2, mode: as for :func:`convolve`.
      axes: the axes to convolve over, all by default; over the others the arrays are broadcast.

    Raises:
      ValueError: as for :func:`convolve`, and for axes that are out of bounds or named twice.

    >>> import jax.numpy as jnp
    >>> [round(v, 3) for v in fftconvolve(jnp.array([1.0, 2.0]), jnp.array([1.0, 1.0, 1.0])).tolist()]
    [1.0, 3.0, 3.0, 2.0]
    """
    a, b = _prepared("fftconvolve", in1, in2, mode)
    where = range(a.ndim) if axes is None else axes if isinstance(axes, Sequence) else (axes,)
    places = [operator.index(d) for d in where]
    if any(not -a.ndim <= d < a.ndim for d in places):
        raise ValueError(f"scipy.signal.fftconvolve: axes {tuple(places)} are out of bounds for arrays of rank {a.ndim}")
    places = sorted(d % a.ndim for d in places)
    if len(set(places)) < len(places):
        raise ValueError("scipy.signal.fftconvolve: all axes must be unique")
    others = [d for d in range(a.ndim) if d not in places]
    if any(a.shape[d] != b.shape[d] and 1 not in (a.shape[d], b.shape[d]) for d in others):
        raise ValueError(f"scipy.signal.fftconvolve: incompatible shapes {a.shape} and {b.shape} for axes {tuple(places)}")
    a, b = _larger_first("fftconvolve", a, b, mode, places)
    return _by_transform(a, b, mode=mode, axes=tuple(places))


@functools.partial(composite, static_argnames=("mode", "axes"))
def _by_transform(a: Any, b: Any, mode: str, axes: tuple[int, ...]) -> Any:
    dtype = a.dtype
    if not axes:
        return a * b
    full = [a.shape[d] + b.shape[d] - 1 for d in axes]
    lengths = [_fast_length(n) for n in full]
    if jnp.issubdtype(dtype, jnp.complexfloating):
        product = jnp.fft.fftn(a, lengths, axes) * jnp.fft.fftn(b, lengths, axes)
        out = jnp.fft.ifftn(product, lengths, axes)
    else:
        product = jnp.fft.rfftn(a, lengths, axes) * jnp.fft.rfftn(b, lengths, axes)
        out = jnp.fft.irfftn(product, lengths, axes)
    for d, n in zip(axes, full, strict=True):
        out = lax.slice_in_dim(out, 0, n, axis=d)
    out = out.astype(dtype)
    if mode == "same":
        return _middle(out, a.shape, axes)
    if mode == "valid":
        return _middle(out, [a.shape[d] - b.shape[d] + 1 if d in axes else 0 for d in range(a.ndim)], axes)
    return out


def _middle(x: Any, shape: Sequence[int], axes: Sequence[int], later: bool = False) -> Any:
    for d in axes:
        start = (x.shape[d] - shape[d] + later) // 2
        x = lax.slice_in_dim(x, start, start + shape[d], axis=d)
    return x


def _fast_length(n: int) -> int:
    """The least number from ``n`` on whose prime factors are 2, 3 and 5."""
    while True:
        rest = n
        for p in (2, 3, 5):
            while rest % p == 0:
                rest //= p
        if rest == 1:
            return n
        n += 1
