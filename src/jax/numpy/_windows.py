"""Windows for the analysis of signals. Lengths are Python integers, so these are constants of a program."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jax import dtypes
from jax._language.avals import typeof
from jax._language.trace import Tracer
from jax.lax._special import bessel_i0e
from jax.numpy._creation import asarray
from jax.numpy._promotion import check_arraylike, promote_dtypes_inexact
from jax.numpy._ufuncs_elementary import exp, sqrt


def _length(name: str, M: Any) -> int:
    try:
        return operator.index(M)
    except TypeError:
        raise TypeError(f"{name}: the length M must be a Python integer, got {M!r}; it is a shape, so it cannot be "
                        "traced") from None


def _window(function: Callable[..., Any], M: Any, *args: Any) -> Any:
    return asarray(function(_length(function.__name__, M), *args), dtype=dtypes.scalar_dtype(float))


def bartlett(M: int) -> Any:
    """The triangular window of length ``M``, which is zero at both ends."""
    return _window(np.bartlett, M)


def blackman(M: int) -> Any:
    """The Blackman window of length ``M``: ``0.42 - 0.5 cos(2 pi n / (M - 1)) + 0.08 cos(4 pi n / (M - 1))``."""
    return _window(np.blackman, M)


def hamming(M: int) -> Any:
    """The Hamming window of length ``M``: ``0.54 - 0.46 cos(2 pi n / (M - 1))``."""
    return _window(np.hamming, M)


def hanning(M: int) -> Any:
    """The Hann window of length ``M``: ``0.5 - 0.5 cos(2 pi n / (M - 1))``."""
    return _window(np.hanning, M)


def kaiser(M: int, beta: Any) -> Any:
    """The Kaiser window of length ``M``, made of Bessel functions.

    Args:
      M: the length.
      beta: the shape, a scalar; 0 gives a rectangle. It can be traced.
    """
    M = _length("kaiser", M)
    if not isinstance(beta, Tracer):
        return _window(np.kaiser, M, float(beta))
    check_arraylike("kaiser", beta)
    (beta,) = promote_dtypes_inexact(beta)
    position = np.linspace(-1, 1, M) if M > 1 else np.zeros(M)
    dtype = typeof(beta).dtype
    argument = beta * sqrt(asarray(1 - position ** 2, dtype))
    return exp(argument - abs(beta)) * bessel_i0e(argument) / bessel_i0e(beta)
