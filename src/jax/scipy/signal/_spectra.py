"""Spectra of segments: the short-time Fourier transform and averages over it (P. Welch, 1967)."""

from __future__ import annotations

import functools
import operator
import warnings
from typing import Any, NamedTuple

import numpy as np

from jax import dtypes
from jax import numpy as jnp
from jax._api.composite import composite
from jax.numpy._promotion import check_arraylike, promote_dtypes_inexact, unwrap
from jax.scipy.signal._trends import without_trend

_BOUNDARIES = ("even", "odd", "constant", "zeros", None)


class _Plan(NamedTuple):
    """How to cut data into segments and transform them."""
    nperseg: int
    step: int
    nfft: int
    onesided: bool
    detrend: Any  # "constant", "linear", None or a function


def _window(name: str, window: Any, nperseg: Any, length: int | None) -> tuple[np.ndarray | Any, int]:
    """The window and the length of a segment."""
    if isinstance(window, str | tuple):
        nperseg = 256 if nperseg is None else operator.index(nperseg)
        if nperseg < 1:
            raise ValueError(f"{name}: nperseg must be a positive integer, got {nperseg}")
        if length is not None and nperseg > length:
            warnings.warn(f"{name}: nperseg={nperseg} is greater than the length of the data, {length}; using that",
                          stacklevel=4)
            nperseg = length
        from scipy.signal import get_window  # heavy: loaded when a window is asked for by its name
        return get_window(window, nperseg), nperseg
    check_arraylike(name, window)
    window = jnp.asarray(unwrap(window))
    if window.ndim != 1:
        raise ValueError(f"{name}: window must be 1-D, got shape {window.shape}")
    if length is not None and window.shape[0] > length:
        raise ValueError(f"{name}: window is longer than the data: {window.shape[0]} and {length}")
    if nperseg is not None and operator.index(nperseg) != window.shape[0]:
        raise ValueError(f"{name}: value specified for nperseg is different from length of window: {nperseg} and "
                         f"{window.shape[0]}")
    return window, window.shape[0]


def _sizes(name: str, nperseg: int, noverlap: Any, nfft: Any) -> tuple[int, int]:
    """The step from one segment to the next, and the length of the transform."""
    noverlap = nperseg // 2 if noverlap is None else operator.index(noverlap)
    if not 0 <= noverlap < nperseg:
        raise ValueError(f"{name}: noverlap must be less than nperseg and not negative, got {noverlap} and {nperseg}.")
    nfft = nperseg if nfft is None else operator.index(nfft)
    if nfft < nperseg:
        raise ValueError(f"{name}: nfft must be greater than or equal to nperseg, got {nfft} and {nperseg}.")
    return nperseg - noverlap, nfft


def _trend(name: str, detrend: Any) -> Any:
    if detrend is False or detrend is None:
        return None
    if detrend in ("constant", "linear") or callable(detrend):
        return detrend
    raise ValueError(f"{name}: detrend must be 'constant', 'linear', False or a function, got {detrend!r}")


def _one_sided(name: str, asked: bool, dtype: Any) -> bool:
    if asked and jnp.issubdtype(dtype, jnp.complexfloating):
        warnings.warn(f"{name}: the data are complex, so the spectrum has two sides (return_onesided=False)", stacklevel=4)
        return False
    return bool(asked)


def _segments(x: Any, window: Any, plan: _Plan) -> Any:
    """The transforms of all segments, of shape ``(..., segments, frequencies)``."""
    count = (x.shape[-1] - plan.nperseg) // plan.step + 1
    index = np.arange(count)[:, None] * plan.step + np.arange(plan.nperseg)
    parts = x[..., index]
    if callable(plan.detrend):
        parts = plan.detrend(parts)
    elif plan.detrend is not None:
        parts = without_trend(parts, plan.detrend == "linear")
    parts = parts * window.reshape((1,) * (parts.ndim - 1) + (-1,))
    return jnp.fft.rfft(parts, n=plan.nfft) if plan.onesided else jnp.fft.fft(parts, n=plan.nfft)


def _frequencies(plan: _Plan, fs: Any, dtype: Any) -> Any:
    n, d = plan.nfft, 1 / plan.nfft
    steps = np.arange(n // 2 + 1) * d if plan.onesided else np.fft.fftfreq(n)
    return jnp.asarray(steps, dtype) * jnp.asarray(fs).astype(dtype)


def _real(dtype: Any) -> Any:
    return dtypes.to_real_dtype(dtype)


# --- averages -------------------------------------------------------------------------------------------------------


def csd(x: Any, y: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None, noverlap: int | None = None,
        nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density",
        axis: int = -1, average: str = "mean") -> tuple[Any, Any]:
    """The cross power spectral density of two signals, by Welch's method.

    Args:
      x, y: signals, broadcast but along ``axis``, where the shorter one is filled up with zeros; ``y=None`` stands for
        ``x``.
      fs: the sampling frequency.
      window: the window of a segment: a name or a tuple for ``scipy.signal.get_window``, or an array.
      nperseg: the length of a segment; 256 by default, or that of the window.
      noverlap: how many samples two segments share; half of them by default.
      nfft: the length of a segment with zeros added at its end.
      detrend: what to subtract from each segment: ``"constant"``, ``"linear"``, nothing (False), or a function of an
        array whose last axis holds the segment.
      return_onesided: for real signals, only frequencies that are not negative, and their power counted twice.
      scaling: ``"density"`` (power by frequency) or ``"spectrum"`` (power).
      axis: the axis along which samples follow each other.
      average: ``"mean"`` or ``"median"`` over segments.

    Returns:
      ``(frequencies, density)``, with the frequencies along ``axis``.

    Raises:
      ValueError: for lengths that do not fit together, unknown scalings, averages, windows.

    Warns when segments are shortened to the data, and when complex signals make the spectrum two-sided.

    >>> import jax.numpy as jnp
    >>> f, p = csd(jnp.ones(8), None, nperseg=4, detrend=False)
    >>> f.tolist()
    [0.0, 0.25, 0.5]
    """
    return _density("csd", x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)


def welch(x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None, noverlap: int | None = None,
          nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density",
          axis: int = -1, average: str = "mean") -> tuple[Any, Any]:
    """The power spectral density of a signal, by Welch's method. Arguments, results and errors as for :func:`csd`.

    >>> import jax.numpy as jnp
    >>> f, p = welch(jnp.ones(8), nperseg=4)
    >>> p.tolist()
    [0.0, 0.0, 0.0]
    """
    return _density("welch", x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)


def _density(name: str, x: Any, y: Any, fs: Any, window: Any, nperseg: Any, noverlap: Any, nfft: Any, detrend: Any,
             return_onesided: bool, scaling: str, axis: int, average: str) -> tuple[Any, Any]:
    name = f"scipy.signal.{name}"
    check_arraylike(name, x, fs)
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"{name}: Unknown scaling: {scaling!r}; there are 'density' and 'spectrum'")
    if average not in ("mean", "median"):
        raise ValueError(f"{name}: average must be 'mean' or 'median', got {average!r}")
    same = y is None or y is x
    if not same:
        check_arraylike(name, y)
    x, y = (jnp.asarray(v) for v in promote_dtypes_inexact(unwrap(x), unwrap(x if same else y)))
    axis = operator.index(axis)
    x, y = jnp.moveaxis(x, axis, -1), jnp.moveaxis(y, axis, -1)
    length = max(x.shape[-1], y.shape[-1])
    if not x.size or not y.size:
        shape = (*jnp.broadcast_shapes(x.shape[:-1], y.shape[:-1]), min(x.shape[-1], y.shape[-1]))
        empty = jnp.moveaxis(jnp.zeros(shape, _real(x.dtype)), -1, axis)
        return empty, empty
    values, nperseg = _window(name, window, nperseg, length)
    step, nfft = _sizes(name, nperseg, noverlap, nfft)
    plan = _Plan(nperseg, step, nfft, _one_sided(name, return_onesided, x.dtype), _trend(name, detrend))
    x, y = (jnp.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, length - v.shape[-1])]) for v in (x, y))
    power = _averaged(x, y, jnp.asarray(values).astype(_real(x.dtype)), jnp.asarray(fs).astype(_real(x.dtype)), plan=plan,
                      same=same, density=scaling == "density", median=average == "median")
    return _frequencies(plan, fs, _real(x.dtype)), jnp.moveaxis(power, -1, axis)


@functools.partial(composite, static_argnames=("plan", "same", "density", "median"))
def _averaged(x: Any, y: Any, window: Any, fs: Any, plan: _Plan, same: bool, density: bool, median: bool) -> Any:
    first = _segments(x, window, plan)
    if same:
        power = jnp.square(first.real) + jnp.square(first.imag)
    else:
        power = jnp.conj(first) * _segments(y, window, plan)
    power = power / (fs * jnp.sum(window * window) if density else jnp.square(jnp.sum(window)))
    if plan.onesided:
        twice = np.full(power.shape[-1], 2, window.dtype)
        twice[0] = 1
        if plan.nfft % 2 == 0:
            twice[-1] = 1
        power = power * twice.reshape((1,) * (power.ndim - 1) + (-1,))
    if not median:
        return jnp.mean(power, axis=-2)
    n = power.shape[-2]
    odd = np.arange(3, n + 1, 2)
    bias = 1 + np.sum(1 / odd - 1 / (odd - 1))  # of the median of n chi-squared values
    if same:
        return jnp.median(power, axis=-2) / bias
    return (jnp.median(power.real, axis=-2) + 1j * jnp.median(power.imag, axis=-2)) / bias


# --- short-time transforms ------------------------------------------------------------------------------------------


def stft(x: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int = 256, noverlap: int | None = None,
         nfft: int | None = None, detrend: Any = False, return_onesided: bool = True, boundary: str | None = "zeros",
         padded: bool = True, axis: int = -1) -> tuple[Any, Any, Any]:
    """The short-time Fourier transform.

    Args:
      x: a signal.
      fs, window, nperseg, noverlap, nfft, detrend, return_onesided, axis: as for :func:`csd`.
      boundary: how to extend the signal by half a segment at both ends, so that the first is centred on the first sample:
        ``"even"``, ``"odd"``, ``"constant"``, ``"zeros"``, or None for not at all.
      padded: whether zeros are added at the end, so that segments cover the signal.

    Returns:
      ``(frequencies, times, transform)``; in the transform frequencies lie along ``axis``, and times along a last axis.

    Raises, warns: as :func:`csd`.

    >>> import jax.numpy as jnp
    >>> f, t, z = stft(jnp.ones(16), nperseg=8)
    >>> z.shape
    (5, 5)
    """
    name = "scipy.signal.stft"
    check_arraylike(name, x, fs)
    if boundary not in _BOUNDARIES:
        raise ValueError(f"{name}: Unknown boundary option {boundary!r}, must be one of: {list(_BOUNDARIES)}")
    x = jnp.asarray(promote_dtypes_inexact(unwrap(x))[0])
    axis = operator.index(axis)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"{name}: axis {axis} is out of bounds for a signal of shape {x.shape}")
    axis %= x.ndim
    x = jnp.moveaxis(x, axis, -1)
    if not x.size:
        raise ValueError(f"{name}: the signal is empty, with shape {x.shape}")
    own = not isinstance(window, str | tuple)  # then the default is its length
    values, nperseg = _window(name, window, None if own and nperseg == 256 else nperseg, x.shape[-1])
    step, nfft = _sizes(name, nperseg, noverlap, nfft)
    plan = _Plan(nperseg, step, nfft, _one_sided(name, return_onesided, x.dtype), _trend(name, detrend))
    real = _real(x.dtype)
    out = _short_time(x, jnp.asarray(values).astype(real), plan=plan, boundary=boundary, padded=bool(padded))
    start = nperseg / 2 - (nperseg / 2 if boundary is not None else 0)
    times = jnp.asarray(start + step * np.arange(out.shape[-2]), real) / jnp.asarray(fs).astype(real)
    return _frequencies(plan, fs, real), times, jnp.moveaxis(out, -1, axis)


@functools.partial(composite, static_argnames=("plan", "boundary", "padded"))
def _short_time(x: Any, window: Any, plan: _Plan, boundary: str | None, padded: bool) -> Any:
    half = plan.nperseg // 2
    if boundary is not None and half:
        if boundary in ("even", "odd") and half >= x.shape[-1]:
            raise ValueError(f"scipy.signal.stft: for boundary={boundary!r} the signal must be longer than half a segment, "
                             f"{half}; it has {x.shape[-1]} samples")
        x = _extended(x, half, boundary)
    if padded:
        missing = (-(x.shape[-1] - plan.nperseg) % plan.step) % plan.nperseg
        x = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)])
    return _segments(x, window, plan) / jnp.sum(window)


def _extended(x: Any, n: int, boundary: str) -> Any:
    left, right = x[..., n:0:-1], x[..., -2:-(n + 2):-1]
    first, last = x[..., :1], x[..., -1:]
    if boundary == "odd":
        left, right = 2 * first - left, 2 * last - right
    elif boundary != "even":
        left, right = (jnp.repeat(v, n, axis=-1) for v in (first, last))
        if boundary == "zeros":
            left, right = jnp.zeros_like(left), jnp.zeros_like(right)
    return jnp.concatenate([left, x, right], axis=-1)


def istft(Zxx: Any, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None, noverlap: int | None = None,
          nfft: int | None = None, input_onesided: bool = True, boundary: bool = True, time_axis: int = -1,
          freq_axis: int = -2) -> tuple[Any, Any]:
    """The inverse of :func:`stft`: the signal whose segments are nearest to those given, by overlap and add.

    Args:
      Zxx: the transform, with at least two axes.
      fs, window, noverlap, nfft: as given to :func:`stft`.
      nperseg: the length of a segment; by default that of ``nfft`` or of the transform.
      input_onesided: whether frequencies that are negative are left out; then the signal is real.
      boundary: whether the signal had been extended at its ends; what was added is cut off.
      time_axis, freq_axis: where times and frequencies lie.

    Returns:
      ``(times, signal)``, with the samples where ``time_axis`` was.

    Raises:
      ValueError: for lengths that do not fit together, equal axes, unknown windows.

    Where windows leave a sample out, nothing is known of it, and the result is 0. (SciPy warns of it.)

    >>> import jax.numpy as jnp
    >>> _, x = istft(stft(jnp.arange(16.0), nperseg=8)[2])
    >>> [round(v, 3) for v in x[:3].tolist()]
    [0.0, 1.0, 2.0]
    """
    name = "scipy.signal.istft"
    check_arraylike(name, Zxx, fs)
    z = jnp.asarray(promote_dtypes_inexact(unwrap(Zxx))[0])
    z = z.astype(dtypes.to_complex_dtype(z.dtype))
    if z.ndim < 2:
        raise ValueError(f"{name}: Input stft must be at least 2d! got shape {z.shape}")
    time_axis, freq_axis = operator.index(time_axis) % z.ndim, operator.index(freq_axis) % z.ndim
    if time_axis == freq_axis:
        raise ValueError(f"{name}: Must specify differing time and frequency axes!")
    z = jnp.moveaxis(z, (time_axis, freq_axis), (-2, -1))
    implied = 2 * (z.shape[-1] - 1) if input_onesided else z.shape[-1]
    if nperseg is None:
        nperseg = implied if isinstance(window, str | tuple) else None
    values, nperseg = _window(name, window, nperseg, None)
    if nfft is None and input_onesided and nperseg == implied + 1:
        nfft = nperseg  # an odd length has as many frequencies as the even one below it
    step, nfft = _sizes(name, nperseg, noverlap, implied if nfft is None else nfft)
    real = _real(z.dtype)
    out = _overlap_add(z, jnp.asarray(values).astype(real), plan=_Plan(nperseg, step, nfft, bool(input_onesided), None),
                       trim=bool(boundary))
    times = jnp.arange(out.shape[-1], dtype=real) / jnp.asarray(fs).astype(real)
    place = time_axis - (freq_axis < time_axis)
    return times, jnp.moveaxis(out, -1, place)


@functools.partial(composite, static_argnames=("plan", "trim"))
def _overlap_add(z: Any, window: Any, plan: _Plan, trim: bool) -> Any:
    count, n = z.shape[-2], plan.nperseg
    parts = jnp.fft.irfft(z, n=plan.nfft) if plan.onesided else jnp.fft.ifft(z, n=plan.nfft)
    parts = parts[..., :n] * window.reshape((1,) * (parts.ndim - 1) + (-1,)) * jnp.sum(window)
    index = np.arange(count)[:, None] * plan.step + np.arange(n)
    length = n + (count - 1) * plan.step
    total = jnp.zeros((*parts.shape[:-2], length), parts.dtype).at[..., index].add(parts)
    weight = jnp.zeros(length, window.dtype).at[index].add(jnp.broadcast_to(window * window, index.shape))
    known = weight > 1e-10
    weight = jnp.where(known, weight, 1).reshape((1,) * (total.ndim - 1) + (-1,))
    out = total / weight  # where nothing is known, of 0
    half = n // 2
    return out[..., half:length - half] if trim else out
