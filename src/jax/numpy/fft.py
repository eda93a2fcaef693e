"""``jax.numpy.fft``: discrete Fourier transforms.

Half-precision floats and integers are transformed in the default float. Every function can be differentiated.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax._base.source import make_boundaries
from jax._ground.families import category, constant
from jax._ground.structural import convert
from jax._language.avals import typeof
from jax.lax._fft import FftType
from jax.numpy._promotion import check_arraylike, promote_dtypes_inexact, unwrap

_NORMS = ("backward", "ortho", "forward")
_FFT, _IFFT, _RFFT, _IRFFT = FftType
_FORWARD = (_FFT, _RFFT)


# --- what the functions share ---------------------------------------------------------------------------------------

def _transform(name: str, kind: FftType, a: Any, s: Any, axes: Any, norm: str | None) -> Any:
    """The transform over ``axes`` (None: all, or as many as ``s`` has) with lengths ``s`` (None: those of ``a``)."""
    full = f"fft.{name}"
    check_arraylike(full, a)
    if norm is not None and norm not in _NORMS:
        raise ValueError(f"{full}: norm must be None, 'backward', 'ortho' or 'forward', got {norm!r}")
    rank = len(typeof(unwrap(a)).shape)
    if s is not None:
        s = tuple([None if n is None else operator.index(n) for n in s])
    if axes is None:
        axes = tuple(range(rank)) if s is None else tuple(range(rank - len(s), rank))
    axes = tuple([operator.index(d) for d in axes])
    if any(not -rank <= d < rank for d in axes):
        raise ValueError(f"{full}: axes {axes} are out of bounds for an array with {rank} dimensions")
    axes = tuple([d % rank for d in axes])
    if len(set(axes)) != len(axes):
        raise ValueError(f"{full}: axes {axes} name an axis twice")
    if s is not None and len(s) != len(axes):
        raise ValueError(f"{full}: s={s} has {len(s)} lengths for {len(axes)} axes")
    return _run(a, name=name, kind=kind, s=s, axes=axes, norm=norm)


@functools.partial(composite, static_argnames=("name", "kind", "s", "axes", "norm"))
def _run(a: Any, name: str, kind: FftType, s: Any, axes: tuple[int, ...], norm: str | None) -> Any:
    (a,) = promote_dtypes_inexact(unwrap(a))
    a = _wide(name, kind, a)
    if not axes:
        return a
    shape = typeof(a).shape
    lengths = [shape[d] if s is None or s[i] is None else s[i] for i, d in enumerate(axes)]
    if kind is _IRFFT and (s is None or s[-1] is None):
        lengths[-1] = max(2 * (shape[axes[-1]] - 1), 0)
    for n in lengths:
        if n < 1:
            raise ValueError(f"fft.{name}: lengths must be positive, got {tuple(lengths)} for an array of shape {shape} "
                             f"and axes {axes}")
    stored = [*lengths[:-1], lengths[-1] // 2 + 1] if kind is _IRFFT else lengths
    a = _resized(a, axes, stored)
    order = [*[d for d in range(len(shape)) if d not in axes], *axes]
    out = _over_trailing(kind, lax.transpose(a, order), tuple(lengths))
    if norm in ("ortho", "forward"):
        n = math.prod(lengths)
        factor = 1 / math.sqrt(n) if norm == "ortho" else 1 / n
        out = lax.mul(out, constant(typeof(out).dtype, factor if kind in _FORWARD else 1 / factor))
    return lax.transpose(out, [order.index(d) for d in range(len(shape))])


def _wide(name: str, kind: FftType, a: Any) -> Any:
    dtype = typeof(a).dtype
    is_complex = category(dtype) == "complex"
    if kind is _RFFT:
        if is_complex:
            raise ValueError(f"fft.{name}: the input must be real, got {dtype}; take the real part, or use fft.fft")
        return a if dtype == np.float64 else convert(a, np.dtype(np.float32))
    if is_complex:
        return a
    return convert(a, np.dtype(np.complex128 if dtype == np.float64 else np.complex64))


def _resized(a: Any, axes: Sequence[int], sizes: Sequence[int]) -> Any:
    """``a`` cut, or with zeros behind, to ``sizes`` along ``axes``."""
    have = typeof(a).shape
    change = [0] * len(have)
    for d, n in zip(axes, sizes, strict=True):
        change[d] = n - have[d]
    if not any(change):
        return a
    return lax.pad(a, constant(typeof(a).dtype, 0), [(0, c, 0) for c in change])


def _over_trailing(kind: FftType, x: Any, lengths: tuple[int, ...]) -> Any:
    """The transform over trailing axes, three of them at a time; the real axis is the last."""
    if len(lengths) <= 3:
        return lax.fft_p.bind(x, fft_type=kind, fft_lengths=lengths)
    outer, inner = lengths[:-3], lengths[-3:]
    if kind is _IRFFT:
        x = _over_front(_IFFT, x, outer)
        return lax.fft_p.bind(x, fft_type=kind, fft_lengths=inner)
    x = lax.fft_p.bind(x, fft_type=kind, fft_lengths=inner)
    return _over_front(_IFFT if kind is _IFFT else _FFT, x, outer)


def _over_front(kind: FftType, x: Any, lengths: tuple[int, ...]) -> Any:
    """The complex transform over the axes of ``lengths``, which are followed by three others."""
    rank = len(typeof(x).shape)
    first = rank - 3 - len(lengths)
    order = [*range(first), rank - 3, rank - 2, rank - 1, *range(first, rank - 3)]
    out = _over_trailing(kind, lax.transpose(x, order), lengths)
    return lax.transpose(out, [order.index(d) for d in range(rank)])


def _one_axis(name: str, kind: FftType, a: Any, n: Any, axis: Any, norm: str | None) -> Any:
    try:
        axis = operator.index(axis)
    except TypeError:
        raise ValueError(f"fft.{name} transforms one axis, got axis={axis!r}; use fft.{name}n for several") from None
    return _transform(name, kind, a, None if n is None else (n,), (axis,), norm)


def _two_axes(name: str, kind: FftType, a: Any, s: Any, axes: Any, norm: str | None) -> Any:
    if len(axes) != 2:
        raise ValueError(f"fft.{name} transforms two axes, got axes={axes}; use fft.{name[:-1]}n for others")
    return _transform(name, kind, a, s, axes, norm)


# --- complex transforms ---------------------------------------------------------------------------------------------

def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The discrete Fourier transform over ``axis``: ``sum_j a[j] exp(-2 pi i j k / n)``.

    Args:
      a: an array.
      n: the length; ``a`` is cut, or padded with zeros at the end. None: its size.
      axis: the axis to transform.
      norm: which transforms are divided by the length: ``"backward"`` (None): the inverse; ``"forward"``: this one;
        ``"ortho"``: both, by its square root.

    Returns:
      Complex numbers, as many as ``n`` along ``axis``.

    Raises:
      ValueError: for lengths, axes and norms that do not exist.
    """
    return _one_axis("fft", _FFT, a, n, axis, norm)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of :func:`fft`. Arguments and errors as there."""
    return _one_axis("ifft", _IFFT, a, n, axis, norm)


def fftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Any:
    """The discrete Fourier transform over several axes.

    Args:
      a: an array.
      s: the length for each axis; ``a`` is cut, or padded with zeros at the ends. None: its sizes.
      axes: the axes to transform; None: all, or the last ``len(s)``.
      norm: as for :func:`fft`.

    Raises:
      ValueError: for lengths, axes and norms that do not exist.
    """
    return _transform("fftn", _FFT, a, s, axes, norm)


def ifftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Any:
    """The inverse of :func:`fftn`. Arguments and errors as there."""
    return _transform("ifftn", _IFFT, a, s, axes, norm)


def fft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """:func:`fftn` over two axes."""
    return _two_axes("fft2", _FFT, a, s, axes, norm)


def ifft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """The inverse of :func:`fft2`."""
    return _two_axes("ifft2", _IFFT, a, s, axes, norm)


# --- transforms of real numbers -------------------------------------------------------------------------------------

def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The discrete Fourier transform of real numbers, without the half that is the conjugate of the other one.

    Arguments as for :func:`fft`.

    Returns:
      Complex numbers, ``n // 2 + 1`` along ``axis``.

    Raises:
      ValueError: for complex input, and for lengths, axes and norms that do not exist.
    """
    return _one_axis("rfft", _RFFT, a, n, axis, norm)


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of :func:`rfft`.

    Args:
      a: an array of ``n // 2 + 1`` numbers along ``axis``; it is cut, or padded with zeros at the end.
      n: the length of the result; by default ``2 * (size - 1)``, for an even one.
      axis, norm: as for :func:`fft`.

    Returns:
      Real numbers, as many as ``n`` along ``axis``.
    """
    return _one_axis("irfft", _IRFFT, a, n, axis, norm)


def rfftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Any:
    """:func:`rfft` over the last of several axes, :func:`fft` over the others. Arguments as for :func:`fftn`."""
    return _transform("rfftn", _RFFT, a, s, axes, norm)


def irfftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Any:
    """The inverse of :func:`rfftn`. ``s`` has the lengths of the result; by default the last is even."""
    return _transform("irfftn", _IRFFT, a, s, axes, norm)


def rfft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """:func:`rfftn` over two axes."""
    return _two_axes("rfft2", _RFFT, a, s, axes, norm)


def irfft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """The inverse of :func:`rfft2`."""
    return _two_axes("irfft2", _IRFFT, a, s, axes, norm)


_OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The discrete Fourier transform, which is real, of a signal whose second half is the conjugate of the first.

    Args:
      a: the first half of the signal, ``n // 2 + 1`` numbers along ``axis``.
      n: the length of the signal and the result; by default ``2 * (size - 1)``.
      axis, norm: as for :func:`fft`.
    """
    if norm not in _OPPOSITE:
        raise ValueError(f"fft.hfft: norm must be None, 'backward', 'ortho' or 'forward', got {norm!r}")
    check_arraylike("fft.hfft", a)
    return _one_axis("hfft", _IRFFT, jnp.conj(a), n, axis, _OPPOSITE[norm])


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of :func:`hfft`: the first half of the signal, ``n // 2 + 1`` numbers along ``axis``."""
    if norm not in _OPPOSITE:
        raise ValueError(f"fft.ihfft: norm must be None, 'backward', 'ortho' or 'forward', got {norm!r}")
    return jnp.conj(_one_axis("ihfft", _RFFT, a, n, axis, _OPPOSITE[norm]))


# --- frequencies and order ------------------------------------------------------------------------------------------

def _frequencies(name: str, n: Any, d: Any, dtype: Any, device: Any, count: Any) -> Any:
    try:
        n = operator.index(n)
    except TypeError:
        raise ValueError(f"fft.{name}: n must be a Python integer, got {n!r}") from None
    if n <= 0:
        raise ValueError(f"fft.{name}: n must be positive, got {n}")
    if np.ndim(d):
        raise ValueError(f"fft.{name}: d must be a scalar, got an array of shape {np.shape(d)}")
    dtype = dtypes.scalar_dtype(float) if dtype is None else dtypes.requested_dtype(dtype, name)
    out = jnp.asarray(count(n), dtype=dtype, device=device)
    return out / jnp.asarray(d * n, dtype)


def fftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies that the elements of ``fft`` belong to, in cycles per unit of ``d``.

    Args:
      n: the length.
      d: the distance of samples, a scalar.
      dtype: dtype of the result; by default the default float.
      device: a device or sharding for the result.

    Raises:
      ValueError: when ``n`` is not a positive integer, or ``d`` not a scalar.
    """
    return _frequencies("fftfreq", n, d, dtype, device,
                        lambda n: np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)]))


def rfftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies that the elements of ``rfft`` belong to. Arguments and errors as for :func:`fftfreq`."""
    return _frequencies("rfftfreq", n, d, dtype, device, lambda n: np.arange(n // 2 + 1))


def _all_axes(x: Any, axes: Any) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(np.ndim(x)))
    return tuple(map(operator.index, axes)) if isinstance(axes, Sequence) else (operator.index(axes),)


def fftshift(x: Any, axes: Any = None) -> Any:
    """``x`` with the element of frequency 0 moved to the middle, along ``axes`` (one, several, or None for all)."""
    check_arraylike("fft.fftshift", x)
    axes = _all_axes(x, axes)
    return jnp.roll(x, tuple([np.shape(x)[d] // 2 for d in axes]), axes)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """The inverse of :func:`fftshift`."""
    check_arraylike("fft.ifftshift", x)
    axes = _all_axes(x, axes)
    return jnp.roll(x, tuple([-(np.shape(x)[d] // 2) for d in axes]), axes)


make_boundaries(globals())
