"""``jax.scipy.fft``: discrete cosine transforms of types 1 to 4.

They are made of Fourier transforms (J. Makhoul, "A fast cosine transform in one and two dimensions", 1980). Integers and
half-precision floats are transformed in the default float; of complex arrays real and imaginary parts are transformed
apart. Deviation: the norm is chosen by ``norm`` alone (SciPy also has ``orthogonalize=``, ``overwrite_x=``, ``workers=``).
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
from jax.numpy._promotion import check_arraylike, unwrap

_NORMS = (None, "backward", "ortho", "forward")
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def dct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:  # noqa: A002
    """The discrete cosine transform along one axis.

    Args:
      x: an array.
      type: 1 to 4. The second is ``y[k] = 2 sum_j x[j] cos(pi k (2 j + 1) / (2 n))``.
      n: the length; ``x`` is cut or filled up with zeros at its end.
      axis: the axis.
      norm: None or ``"backward"``: as above; ``"forward"``: divided by ``2 n`` (``2 (n - 1)`` for type 1);
        ``"ortho"``: the orthogonal transform.

    Raises:
      ValueError: for other types and norms, and for empty axes.

    >>> import jax.numpy as jnp
    >>> dct(jnp.ones(2)).tolist()
    [4.0, 0.0]
    """
    return _checked("dct", x, type, None if n is None else (n,), (axis,), norm)


def idct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:  # noqa: A002
    """The inverse of :func:`dct` with the same ``type`` and ``norm``; arguments and errors as there."""
    return _checked("idct", x, type, None if n is None else (n,), (axis,), norm)


def dctn(x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,  # noqa: A002
         norm: str | None = None) -> Any:
    """The discrete cosine transform along several axes.

    Args:
      x: an array.
      type, norm: as for :func:`dct`.
      s: the lengths along ``axes``.
      axes: the axes; by default all, or as many of the last ones as ``s`` has lengths.
    """
    return _checked("dctn", x, type, s, axes, norm)


def idctn(x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,  # noqa: A002
          norm: str | None = None) -> Any:
    """The inverse of :func:`dctn` with the same ``type`` and ``norm``; arguments and errors as there."""
    return _checked("idctn", x, type, s, axes, norm)


def _checked(name: str, x: Any, kind: Any, s: Any, axes: Any, norm: Any) -> Any:
    name = f"scipy.fft.{name}"
    check_arraylike(name, x)
    if kind not in _INVERSE:
        raise ValueError(f"{name}: type must be 1, 2, 3 or 4, got {kind!r}")
    if norm not in _NORMS:
        raise ValueError(f"{name}: norm must be None, 'backward', 'ortho' or 'forward', got {norm!r}")
    shape = np.shape(x)
    lengths = None if s is None else [operator.index(v) for v in (s if isinstance(s, Sequence) else (s,))]
    if axes is None:
        axes = range(len(shape)) if lengths is None else range(len(shape) - len(lengths), len(shape))
    where = [operator.index(d) for d in (axes if isinstance(axes, Sequence | range) else (axes,))]
    if any(not -len(shape) <= d < len(shape) for d in where):
        raise ValueError(f"{name}: axes {tuple(where)} are out of bounds for an array of shape {shape}")
    where = [d % len(shape) for d in where]
    if len(set(where)) < len(where):
        raise ValueError(f"{name}: axes {tuple(where)} name an axis twice")
    if lengths is None:
        lengths = [shape[d] for d in where]
    if len(lengths) != len(where):
        raise ValueError(f"{name}: {len(lengths)} lengths for {len(where)} axes")
    least = 2 if kind == 1 else 1
    if any(n < least for n in lengths):
        raise ValueError(f"{name}: lengths of at least {least} are needed for type {kind}, got {tuple(lengths)} for an "
                         f"array of shape {shape}")
    return _run(x, inverse="idct" in name, kind=int(kind), lengths=tuple(lengths), axes=tuple(where), norm=norm)


@functools.partial(composite, static_argnames=("inverse", "kind", "lengths", "axes", "norm"))
def _run(x: Any, inverse: bool, kind: int, lengths: tuple[int, ...], axes: tuple[int, ...], norm: str | None) -> Any:
    x = jnp.asarray(unwrap(x))
    dtype = dtypes.to_inexact_dtype(x.dtype)
    x = x.astype(dtype if dtype.itemsize >= 4 else dtypes.scalar_dtype(float))
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        parts = [_run(v, inverse=inverse, kind=kind, lengths=lengths, axes=axes, norm=norm) for v in (x.real, x.imag)]
        return lax.complex(*parts)
    for n, axis in zip(lengths, axes, strict=True):
        x = _along_last(jnp.moveaxis(x, axis, -1), n, _INVERSE[kind] if inverse else kind, norm, inverse)
        x = jnp.moveaxis(x, -1, axis)
    return x


def _along_last(x: Any, n: int, kind: int, norm: str | None, inverse: bool) -> Any:
    have = x.shape[-1]
    x = x[..., :n] if have >= n else jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, n - have)])
    size = 2 * (n - 1) if kind == 1 else 2 * n
    if norm == "ortho":
        before, after = _orthogonal(kind, n, x.dtype)
        return _TYPES[kind](x * _row(x, before)) * _row(x, after)
    out = _TYPES[kind](x)
    scaled = norm == "forward" if not inverse else norm != "forward"
    return out / np.asarray(size, x.dtype) if scaled else out


def _orthogonal(kind: int, n: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Factors before and after a transform that make it orthogonal."""
    before, after = np.ones(n), np.full(n, 1 / math.sqrt(2 * (n - 1) if kind == 1 else 2 * n))
    if kind == 1:
        before[[0, -1]] *= math.sqrt(2)
        after[[0, -1]] /= math.sqrt(2)
    elif kind == 2:
        after[0] /= math.sqrt(2)
    elif kind == 3:
        before[0] *= math.sqrt(2)
    return before.astype(dtype), after.astype(dtype)


def _row(x: Any, factors: np.ndarray) -> np.ndarray:
    """Factors along the last axis, in the rank of ``x``."""
    return factors.reshape((1,) * (x.ndim - 1) + (-1,))


def _phases(angles: np.ndarray, dtype: Any) -> np.ndarray:
    return np.exp(1j * angles).astype(dtypes.to_complex_dtype(dtype))


def _first(x: Any) -> Any:
    """By the transform of the even extension."""
    return jnp.fft.rfft(jnp.concatenate([x, x[..., -2:0:-1]], axis=-1)).real


def _second(x: Any) -> Any:
    n = x.shape[-1]
    folded = jnp.concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], axis=-1)
    turn = _phases(-math.pi * np.arange(n) / (2 * n), x.dtype)
    return 2 * (jnp.fft.fft(folded) * _row(x, turn)).real


def _third(x: Any) -> Any:
    """``2 n`` times the inverse of the second."""
    n = x.shape[-1]
    mirrored = jnp.concatenate([jnp.zeros_like(x[..., :1]), x[..., :0:-1]], axis=-1)
    turn = _phases(math.pi * np.arange(n) / (2 * n), x.dtype)
    folded = jnp.fft.ifft(lax.complex(x, -mirrored) * _row(x, turn)).real * n
    half = (n + 1) // 2
    order = np.empty(n, int)
    order[::2], order[1::2] = np.arange(half), np.arange(n - 1, half - 1, -1)
    return folded[..., order]


def _fourth(x: Any) -> Any:
    n = x.shape[-1]
    k = np.arange(n)
    turned = x * _row(x, _phases(-math.pi * k / (2 * n), x.dtype))
    full = jnp.fft.fft(turned, n=2 * n)[..., :n]
    return 2 * (full * _row(x, _phases(-math.pi * (2 * k + 1) / (4 * n), x.dtype))).real


_TYPES = {1: _first, 2: _second, 3: _third, 4: _fourth}
