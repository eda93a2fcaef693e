"""Polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._ground.families import constant
from jax._ground.structural import convert
from jax._language import dims
from jax._language.avals import typeof
from jax._language.trace import Tracer
from jax.numpy._convolution import convolve
from jax.numpy._creation import asarray
from jax.numpy._insertion import trim_zeros
from jax.numpy._joining import concatenate
from jax.numpy._promotion import (
    broadcast_to,
    check_arraylike,
    promote_dtypes,
    promote_dtypes_inexact,
    shape_of,
    unwrap,
)

_UNROLLED = 16  # Horner's scheme for up to so many coefficients is written out


def _vectors(name: str, *args: Any, inexact: bool = False) -> list[Any]:
    """Operands as vectors of one dtype."""
    check_arraylike(name, *args)
    out = (promote_dtypes_inexact if inexact else promote_dtypes)(*map(unwrap, args))
    for p in out:
        if len(shape_of(p)) > 1:
            raise ValueError(f"{name}: coefficients must be a vector, got shape {shape_of(p)}")
    return [lax.reshape(p, (1,)) if not shape_of(p) else p for p in out]


def _without_leading_zeros(name: str, p: Any) -> Any:
    if isinstance(p, Tracer):
        raise ValueError(f"{name}: leading zeros of a traced array are not known, and the shape of the result depends on "
                         "them; leave out trim_leading_zeros, or call the function outside of jit")
    trimmed = trim_zeros(p, "f")
    return trimmed if shape_of(trimmed)[0] else p[-1:]


# --- values and roots -----------------------------------------------------------------------------------------------

def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """The value ``p[0] x**(n-1) + ... + p[n-1]`` at each ``x``.

    Args:
      p: coefficients along the first axis; its other axes are broadcast with ``x``.
      x: an array.
      unroll: how many steps of Horner's scheme are written out in one iteration of a loop.
    """
    return _polyval(p, x, unroll=operator.index(unroll))


@functools.partial(composite, static_argnames=("unroll",))
def _polyval(p: Any, x: Any, unroll: int) -> Any:
    check_arraylike("polyval", p, x)
    p, x = promote_dtypes_inexact(unwrap(p), unwrap(x))
    if not shape_of(p):
        raise ValueError("polyval: coefficients must be an array of rank 1 at least, got a scalar")
    n, rest = shape_of(p)[0], shape_of(p)[1:]
    shape = dims.broadcast_shapes([rest, shape_of(x)])
    if shape is None:
        raise ValueError(f"polyval: coefficients of shape {shape_of(p)} and points of shape {shape_of(x)} do not fit")
    x = broadcast_to(x, shape)

    def step(total: Any, c: Any) -> tuple[Any, None]:
        return lax.add(lax.mul(total, x), broadcast_to(c, shape)), None

    total = lax.full(shape, 0, typeof(x).dtype)
    if not dims.is_static(n) or n > max(_UNROLLED, unroll):
        return lax.scan(step, total, p, unroll=unroll)[0]
    for i in range(n):
        c = lax.index_in_dim(p, i, keepdims=False)
        total = step(total, c)[0] if i else broadcast_to(c, shape)
    return total


def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """The roots of a polynomial, as eigenvalues of its companion matrix.

    Args:
      p: coefficients.
      strip_zeros: take leading zeros away, whose number must then be known: not under ``jit``. Without it there are
        always ``len(p) - 1`` results, of which the last ones are NaN for leading zeros.

    Returns:
      Complex numbers.

    Raises:
      ConcretizationTypeError: with ``strip_zeros`` when ``p`` is traced.
    """
    (p,) = _vectors("roots", p, inexact=True)
    if not strip_zeros:
        return _roots_with_zeros(p)
    if isinstance(p, Tracer) and p._concrete() is None:
        from jax.errors import ConcretizationTypeError  # only when something is wrong
        raise ConcretizationTypeError(p, "jnp.roots with strip_zeros=True has a result whose shape depends on the values; "
                                         "under a transformation use strip_zeros=False")
    used = np.nonzero(np.asarray(p))[0]
    if not len(used):
        return asarray(np.zeros(0), dtypes.to_complex_dtype(typeof(p).dtype))
    zeros = shape_of(p)[0] - 1 - int(used[-1])
    found = _companion_roots(p[int(used[0]):int(used[-1]) + 1])
    return concatenate([found, lax.full((zeros,), 0, typeof(found).dtype)]) if zeros else found


@composite
def _companion_roots(p: Any) -> Any:
    """The roots of a polynomial whose first coefficient is not zero."""
    n = shape_of(p)[0] - 1
    wide = dtypes.to_complex_dtype(typeof(p).dtype)
    if n < 1:
        return lax.full((0,), 0, wide)
    from jax.lax.linalg import eig  # linear algebra is loaded by those who use it
    first = lax.neg(lax.div(p[1:], broadcast_to(p[:1], (n,))))
    below = np.eye(n - 1, n).astype(typeof(p).dtype)
    companion = lax.concatenate([lax.expand_dims(first, (0,)), below], 0) if n > 1 else lax.expand_dims(first, (0,))
    return eig(companion, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


@composite
def _roots_with_zeros(p: Any) -> Any:
    n = shape_of(p)[0]
    wide = dtypes.to_complex_dtype(typeof(p).dtype)
    if n < 2:
        return lax.full((0,), 0, wide)
    dtype = typeof(p).dtype
    seen = lax.cummax(convert(lax.ne(p, lax.full_like(p, 0)), np.dtype(np.int32)))
    leading = lax.sub(constant(np.dtype(np.int32), n), lax.reduce_sum(seen, (0,)))
    leading = lax.min(leading, constant(np.dtype(np.int32), n - 1))
    moved = lax.dynamic_slice(lax.concatenate([p, lax.full((n,), 0, dtype)], 0), (leading,), (n,))
    found = _companion_roots(moved)
    # Coefficients that came in behind added roots at zero: as many as are to be NaN.
    order = lax.sort_key_val(convert(lax.ne(lax.abs(found), lax.full(shape_of(found), 0, lax.abs(found).dtype)),
                                     np.dtype(np.int32)), found)[1]
    found = lax.rev(order, (0,))
    index = lax.iota(np.int32, n - 1)
    keep = lax.lt(index, broadcast_to(lax.sub(constant(np.dtype(np.int32), n - 1), leading), (n - 1,)))
    return lax.select(keep, found, lax.full((n - 1,), complex(np.nan, np.nan), wide))


def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial with these roots and a leading 1; of a square matrix, the characteristic one.

    Raises:
      ValueError: for arrays that are neither vectors nor square matrices.
    """
    check_arraylike("poly", seq_of_zeros)
    return _poly(unwrap(seq_of_zeros))


@composite
def _poly(zeros: Any) -> Any:
    (zeros,) = promote_dtypes_inexact(zeros)
    shape = shape_of(zeros)
    if len(shape) == 2 and shape[0] == shape[1]:
        from jax.lax.linalg import eig  # as above
        zeros = eig(zeros, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]
    elif len(shape) != 1:
        raise ValueError(f"poly: a vector of roots or a square matrix is needed, got shape {shape}")
    out = lax.full((1,), 1, typeof(zeros).dtype)
    for i in range(shape_of(zeros)[0]):
        shifted = lax.pad(out, constant(typeof(out).dtype, 0), [(0, 1, 0)])
        root = lax.slice_in_dim(zeros, i, i + 1)
        # Padded after the product: the leading 1 stays one when a root is not finite.
        moved = lax.pad(lax.mul(out, broadcast_to(root, shape_of(out))), constant(typeof(out).dtype, 0), [(1, 0, 0)])
        out = lax.sub(shifted, moved)
    return out


# --- arithmetic -----------------------------------------------------------------------------------------------------

def _aligned(a: Any, b: Any) -> tuple[Any, Any]:
    n = max(shape_of(a)[0], shape_of(b)[0])
    a, b = (lax.pad(p, constant(typeof(p).dtype, 0), [(n - shape_of(p)[0], 0, 0)]) for p in (a, b))
    return a, b


@composite
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials."""
    a, b = _aligned(*_vectors("polyadd", a1, a2))
    return a + b


@composite
def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials."""
    a, b = _aligned(*_vectors("polysub", a1, a2))
    return a - b


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """The product of two polynomials.

    Args:
      a1, a2: coefficients.
      trim_leading_zeros: take leading zeros of both away before, as NumPy does; not under ``jit``.
    """
    a, b = _vectors("polymul", a1, a2, inexact=True)
    if trim_leading_zeros:
        a, b = (_without_leading_zeros("polymul", p) for p in (a, b))
    if not shape_of(a)[0] or not shape_of(b)[0]:
        return lax.full((1,), 0, typeof(a).dtype)
    return convolve(a, b, "full")


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """Quotient and remainder of two polynomials.

    Args:
      u: coefficients of the dividend.
      v: those of the divisor; the first one must not be zero.
      trim_leading_zeros: take leading zeros of the remainder away, as NumPy does; not under ``jit``.

    Returns:
      ``(quotient, remainder)``.
    """
    quotient, rest = _polydiv(u, v)
    return quotient, _without_leading_zeros("polydiv", rest) if trim_leading_zeros else rest


@composite
def _polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    u, v = _vectors("polydiv", u, v, inexact=True)
    m, n = shape_of(u)[0], shape_of(v)[0]
    dtype = typeof(u).dtype
    if m < n:
        return lax.full((1,), 0, dtype), u
    out = []
    for k in range(m - n + 1):
        d = lax.div(lax.slice_in_dim(u, k, k + 1), lax.slice_in_dim(v, 0, 1))
        out.append(d)
        shifted = lax.pad(v, constant(dtype, 0), [(k, m - n - k, 0)])
        u = lax.sub(u, lax.mul(shifted, broadcast_to(d, (m,))))
    return lax.concatenate(out, 0), u


# --- derivatives and integrals --------------------------------------------------------------------------------------

def polyder(p: Any, m: int = 1) -> Any:
    """The ``m``-th derivative.

    Raises:
      ValueError: when ``m`` is negative.
    """
    m = operator.index(m)
    if m < 0:
        raise ValueError(f"polyder: m must not be negative, got {m}")
    return _polyder(p, m=m)


@functools.partial(composite, static_argnames=("m",))
def _polyder(p: Any, m: int) -> Any:
    (p,) = _vectors("polyder", p, inexact=True)
    if m == 0:
        return p
    n = shape_of(p)[0]
    power = np.arange(n - 1, m - 1, -1)
    factor = np.prod([power - k for k in range(m)], axis=0)
    return lax.mul(lax.slice_in_dim(p, 0, max(n - m, 0)), factor.astype(typeof(p).dtype))


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The ``m``-th integral.

    Args:
      p: coefficients.
      m: how often to integrate.
      k: the constants, in the order of integrations; one for all, or None for zeros.

    Raises:
      ValueError: when ``m`` is negative, or there are not as many constants.
    """
    m = operator.index(m)
    if m < 0:
        raise ValueError(f"polyint: m must not be negative, got {m}")
    return _polyint(p, 0 if k is None else k, m=m)


@functools.partial(composite, static_argnames=("m",))
def _polyint(p: Any, k: Any, m: int) -> Any:
    check_arraylike("polyint", p, k)
    p, k = promote_dtypes_inexact(unwrap(p), unwrap(k))
    (p,) = _vectors("polyint", p)
    k = lax.reshape(k, (dims.size_of(shape_of(k)),))
    if shape_of(k)[0] not in (1, m):
        raise ValueError(f"polyint: {m} integrations need {m} constants or one, got k of shape {shape_of(k)}")
    if m == 0:
        return p
    k = broadcast_to(k, (m,))
    grid = np.arange(shape_of(p)[0] + m - 1, -1, -1)[None] - np.arange(m)[:, None]
    factor = np.prod(np.where(grid > 0, grid, 1), axis=0).astype(typeof(p).dtype)
    return lax.div(lax.concatenate([p, k], 0), factor)
