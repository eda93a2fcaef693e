"""Matrices of a certain structure."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from jax import dtypes
from jax import numpy as jnp
from jax._api.composite import composite
from jax._language.avals import typeof
from jax.numpy._promotion import check_arraylike, promote_dtypes, promote_dtypes_inexact, unwrap


def _size(name: str, n: Any, least: int = 0) -> int:
    try:
        n = operator.index(n)
    except TypeError:
        raise TypeError(f"linalg.{name}: the size must be a Python integer, got {n!r}; it is a shape, so it cannot be "
                        "traced") from None
    if n < least:
        raise ValueError(f"linalg.{name}: the size must be at least {least}, got {n}")
    return n


def _float_constant(values: Any) -> Any:
    return jnp.asarray(np.asarray(values, float), dtypes.scalar_dtype(float))


def _vectors(name: str, *args: Any, least: int = 0) -> list[Any]:
    """Operands as arrays of rank 1 at least, in one dtype."""
    check_arraylike(f"linalg.{name}", *args)
    out = [jnp.atleast_1d(jnp.asarray(x)) for x in promote_dtypes(*map(unwrap, args))]
    for x in out:
        if x.shape[-1] < least:
            raise ValueError(f"linalg.{name}: vectors of at least {least} elements are needed, got shape {x.shape}")
    return out


# --- matrices made of vectors ---------------------------------------------------------------------------------------

@composite
def block_diag(*arrs: Any) -> Any:
    """Matrices (also vectors, as rows, and scalars) along the diagonal of a matrix that is zero elsewhere.

    Raises:
      ValueError: for arrays of higher rank.
    """
    if not arrs:
        arrs = (jnp.zeros((1, 0)),)
    check_arraylike("linalg.block_diag", *arrs)
    blocks = [jnp.atleast_2d(jnp.asarray(x)) for x in promote_dtypes(*map(unwrap, arrs))]
    for b in blocks:
        if b.ndim > 2:
            raise ValueError(f"linalg.block_diag: matrices are needed, got an array of shape {b.shape}")
    width = sum(b.shape[1] for b in blocks)
    rows, left = [], 0
    for b in blocks:
        rows.append(jnp.pad(b, ((0, 0), (left, width - left - b.shape[1]))))
        left += b.shape[1]
    return jnp.concatenate(rows)


def toeplitz(c: Any, r: Any = None) -> Any:
    """Toeplitz matrices, constant along diagonals, with first column ``c`` and first row ``r``.

    Args:
      c: vectors of shape ``(..., m)``.
      r: vectors ``(..., n)``, whose first element is not used; the conjugate of ``c`` by default.

    Returns:
      An array of shape ``(..., m, n)``; leading dimensions are broadcast.
    """
    return _toeplitz(c, r)


@composite
def _toeplitz(c: Any, r: Any) -> Any:
    if r is None:
        (c,) = _vectors("toeplitz", c)
        r = jnp.conj(c)
    else:
        c, r = _vectors("toeplitz", c, r)
    lead = np.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    c, r = jnp.broadcast_to(c, (*lead, c.shape[-1])), jnp.broadcast_to(r, (*lead, r.shape[-1]))
    m, n = c.shape[-1], r.shape[-1]
    if not m or not n:
        return jnp.zeros((*lead, m, n), typeof(c).dtype)
    values = jnp.concatenate([jnp.flip(c, -1), r[..., 1:]], -1)
    return values[..., (m - 1) - np.arange(m)[:, None] + np.arange(n)[None, :]]


def hankel(c: Any, r: Any = None) -> Any:
    """Hankel matrices, constant along antidiagonals, with first column ``c`` and last row ``r`` (zeros by default).

    Args:
      c: vectors of shape ``(..., m)``.
      r: vectors ``(..., n)``, whose first element is not used.
    """
    return _hankel(c, r)


@composite
def _hankel(c: Any, r: Any) -> Any:
    if r is None:
        (c,) = _vectors("hankel", c)
        r = jnp.zeros_like(c)
    else:
        c, r = _vectors("hankel", c, r)
    lead = np.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    c, r = jnp.broadcast_to(c, (*lead, c.shape[-1])), jnp.broadcast_to(r, (*lead, r.shape[-1]))
    m, n = c.shape[-1], r.shape[-1]
    values = jnp.concatenate([c, r[..., 1:]], -1)
    return values[..., np.arange(m)[:, None] + np.arange(n)[None, :]]


@composite
def circulant(c: Any) -> Any:
    """Circulant matrices, whose columns are ``c``, of shape ``(..., n)``, turned further and further."""
    (c,) = _vectors("circulant", c)
    n = c.shape[-1]
    return c[..., (np.arange(n)[:, None] - np.arange(n)[None, :]) % max(n, 1)]


@composite
def companion(a: Any) -> Any:
    """Companion matrices of polynomials with coefficients ``a``, of shape ``(..., n)``, highest power first.

    Returns:
      An array of shape ``(..., n - 1, n - 1)``.
    """
    (a,) = _vectors("companion", a, least=2)
    (a,) = promote_dtypes_inexact(a)
    n = a.shape[-1] - 1
    first = -a[..., 1:] / a[..., :1]
    below = jnp.broadcast_to(jnp.eye(n - 1, n, dtype=typeof(a).dtype), (*a.shape[:-1], n - 1, n))
    return jnp.concatenate([first[..., None, :], below], -2)


@composite
def leslie(f: Any, s: Any) -> Any:
    """Leslie matrices: ``f``, of shape ``(..., n)``, in the first row, ``s``, ``(..., n - 1)``, below the diagonal.

    Raises:
      ValueError: for other sizes.
    """
    f, s = _vectors("leslie", f, s)
    n = f.shape[-1]
    if s.shape[-1] != n - 1 or n < 2:
        raise ValueError(f"linalg.leslie: vectors of n and n - 1 elements are needed, got shapes {f.shape} and {s.shape}")
    lead = np.broadcast_shapes(f.shape[:-1], s.shape[:-1])
    f, s = jnp.broadcast_to(f, (*lead, n)), jnp.broadcast_to(s, (*lead, n - 1))
    below = s[..., :, None] * jnp.broadcast_to(jnp.eye(n - 1, n, dtype=typeof(s).dtype), (*lead, n - 1, n))
    return jnp.concatenate([f[..., None, :], below], -2)


@composite
def fiedler(a: Any) -> Any:
    """Fiedler matrices ``abs(a[i] - a[j])`` for vectors of shape ``(..., n)``."""
    (a,) = _vectors("fiedler", a)
    return jnp.abs(a[..., :, None] - a[..., None, :])


@composite
def fiedler_companion(a: Any) -> Any:
    """Pentadiagonal matrices with the characteristic polynomial ``a``, of shape ``(..., n)``, highest power first.

    M. Fiedler, "A note on companion matrices" (2003).
    """
    (a,) = _vectors("fiedler_companion", a)
    (a,) = promote_dtypes_inexact(a)
    n = a.shape[-1] - 1
    if n < 1:
        return jnp.zeros((*a.shape[:-1], 0, 0), typeof(a).dtype)
    a = a / a[..., :1]
    if n == 1:
        return -a[..., 1:, None]
    out = jnp.zeros((*a.shape[:-1], n, n), typeof(a).dtype)
    k = np.arange(0, n - 2, 2)
    out = out.at[..., k, k + 2].set(1)
    k = np.arange(1, n - 2, 2)
    out = out.at[..., k + 2, k].set(1)
    k = np.arange(0, n - 1, 2)
    out = out.at[..., k, k + 1].set(-a[..., 2::2][..., :len(k)])
    odd = np.arange(2, n, 2)
    out = out.at[..., odd, odd - 1].set(-a[..., 3::2][..., :len(odd)])
    return out.at[..., 0, 0].set(-a[..., 1]).at[..., 1, 0].set(1)


def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """The matrix whose product with a vector of ``n`` elements is the convolution of ``a``, ``(..., m)``, with it.

    Args:
      a: vectors.
      n: the size of the other operand, a Python integer.
      mode: ``"full"``, ``"same"`` or ``"valid"``, as for ``jnp.convolve``.

    Raises:
      ValueError: for another mode, empty vectors and sizes that are not positive.
    """
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"linalg.convolution_matrix: mode must be 'full', 'same' or 'valid', got {mode!r}")
    return _convolution_matrix(a, n=_size("convolution_matrix", n, 1), mode=mode)


@functools.partial(composite, static_argnames=("n", "mode"))
def _convolution_matrix(a: Any, n: int, mode: str) -> Any:
    (a,) = _vectors("convolution_matrix", a, least=1)
    m = a.shape[-1]
    index = np.arange(m + n - 1)[:, None] - np.arange(n)[None, :]
    full = jnp.where((index >= 0) & (index < m), a[..., np.clip(index, 0, m - 1)], jnp.zeros((), typeof(a).dtype))
    if mode == "full":
        return full
    size = max(m, n) if mode == "same" else max(m, n) - min(m, n) + 1
    start = (min(m, n) - 1) // 2 if mode == "same" else min(m, n) - 1
    return full[..., start:start + size, :]


# --- constants ------------------------------------------------------------------------------------------------------

def hilbert(n: int) -> Any:
    """The Hilbert matrix ``1 / (i + j + 1)`` of size ``n``."""
    n = _size("hilbert", n)
    return _float_constant(1 / (np.arange(n)[:, None] + np.arange(n)[None, :] + 1))


def invhilbert(n: int) -> Any:
    """The inverse of the Hilbert matrix of size ``n``, whose elements are integers."""
    n = _size("invhilbert", n)
    b = math.comb
    return _float_constant([[(-1) ** (i + j) * (i + j + 1) * b(n + i, n - j - 1) * b(n + j, n - i - 1) * b(i + j, i) ** 2
                             for j in range(n)] for i in range(n)] or np.zeros((0, 0)))


def pascal(n: int, kind: str | None = None) -> Any:
    """The Pascal matrix of size ``n``: binomial coefficients, in a ``"symmetric"`` (None), ``"lower"`` or ``"upper"``
    triangular matrix."""
    n = _size("pascal", n)
    if kind not in (None, "symmetric", "lower", "upper"):
        raise ValueError(f"linalg.pascal: kind must be 'symmetric', 'lower' or 'upper', got {kind!r}")
    lower = [[math.comb(i, j) for j in range(n)] for i in range(n)]
    if kind == "lower":
        return _float_constant(lower or np.zeros((0, 0)))
    if kind == "upper":
        return _float_constant(np.asarray(lower or np.zeros((0, 0)), float).T)
    return _float_constant([[math.comb(i + j, i) for j in range(n)] for i in range(n)] or np.zeros((0, 0)))


def invpascal(n: int, kind: str | None = None) -> Any:
    """The inverse of :func:`pascal`, whose elements are integers."""
    n = _size("invpascal", n)
    if kind not in (None, "symmetric", "lower", "upper"):
        raise ValueError(f"linalg.invpascal: kind must be 'symmetric', 'lower' or 'upper', got {kind!r}")
    lower = [[(-1) ** (i + j) * math.comb(i, j) for j in range(n)] for i in range(n)]
    if not n:
        return _float_constant(np.zeros((0, 0)))
    if kind == "lower":
        return _float_constant(lower)
    if kind == "upper":
        return _float_constant(np.asarray(lower, float).T)
    # The symmetric matrix is the product of the triangular ones.
    return _float_constant([[sum(lower[k][i] * lower[k][j] for k in range(n)) for j in range(n)] for i in range(n)])


def hadamard(n: int, dtype: Any = int) -> Any:
    """Sylvester's Hadamard matrix of size ``n``, a power of two.

    Raises:
      ValueError: for other sizes.
    """
    n = _size("hadamard", n, 1)
    if n & (n - 1):
        raise ValueError(f"linalg.hadamard: the size must be a power of two, got {n}")
    out = np.array([[1]])
    while len(out) < n:
        out = np.block([[out, out], [out, -out]])
    return jnp.asarray(out, dtypes.requested_dtype(dtype, "hadamard"))


def helmert(n: int, full: bool = False) -> Any:
    """The Helmert matrix of size ``n``, orthogonal rows; without the constant first one unless ``full``."""
    n = _size("helmert", n, 1)
    out = np.tril(np.ones((n, n)), -1) - np.diag(np.arange(n))
    out[0] = 1
    norms = np.arange(n) * np.arange(1, n + 1)
    norms[0] = n
    out = out / np.sqrt(norms)[:, None]
    return _float_constant(out if full else out[1:])


def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Any:
    """The matrix of the discrete Fourier transform of size ``n``.

    Args:
      n: the size.
      scale: None, ``"sqrtn"`` or ``"n"``: what it is divided by.
      dtype: a complex dtype; by default that of the default float.

    Raises:
      ValueError: for another ``scale``.
    """
    n = _size("dft", n)
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"linalg.dft: scale must be None, 'sqrtn' or 'n', got {scale!r}")
    out = np.exp(-2j * np.pi * ((np.arange(n)[:, None] * np.arange(n)[None, :]) % max(n, 1)) / max(n, 1))
    out = out / {None: 1, "sqrtn": math.sqrt(max(n, 1)), "n": max(n, 1)}[scale]
    return jnp.asarray(out, dtypes.scalar_dtype(complex) if dtype is None else dtypes.requested_dtype(dtype, "dft"))
