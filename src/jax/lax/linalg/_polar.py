"""The polar decomposition by a dynamically weighted Halley iteration."""

from __future__ import annotations

from typing import Any

import numpy as np

from jax._ground.families import constant
from jax._ground.structural import convert
from jax._language.avals import typeof
from jax.lax._arithmetic import add, div, mul, sub
from jax.lax._bitwise import bitwise_and, bitwise_or
from jax.lax._comparison import eq, gt, lt
from jax.lax._cond import cond
from jax.lax._join import concatenate
from jax.lax._magnitude import abs, max
from jax.lax._power import cbrt, rsqrt, sqrt
from jax.lax._reduce import reduce_max, reduce_sum
from jax.lax._select import where
from jax.lax._slice import slice_in_dim
from jax.lax._while import while_loop
from jax.lax.linalg import _matrices as mat
from jax.lax.linalg._cholesky import cholesky
from jax.lax.linalg._qr import qr
from jax.lax.linalg._triangular import solve

_INT32 = np.dtype(np.int32)


def qdwh(x: Any, *, is_hermitian: bool = False, max_iterations: int | None = None, eps: float | None = None,
         dynamic_shape: tuple[Any, Any] | None = None) -> tuple[Any, Any, Any, Any]:
    """The polar decomposition ``x = u h``: orthonormal columns of ``u``, Hermitian positive semidefinite ``h``.

    Y. Nakatsukasa, Z. Bai and F. Gygi, "Optimizing Halley's iteration for computing the matrix polar decomposition"
    (2010).

    Args:
      x: a matrix of floats or complex numbers of shape ``(m, n)``, ``m >= n``.
      is_hermitian: whether ``x`` is Hermitian; ``u`` then is, too.
      max_iterations: the most iterations to make, 10 by default.
      eps: the precision to reach, by default that of the dtype.
      dynamic_shape: not supported.

    Returns:
      ``(u, h, iterations, converged)``.

    Raises:
      ValueError: for wide matrices and stacks.
      NotImplementedError: for ``dynamic_shape``.
    """
    aval = typeof(x)
    mat.check_matrix("qdwh", aval)
    if len(aval.shape) != 2 or aval.shape[0] < aval.shape[1]:
        raise ValueError(f"qdwh: one matrix of at least as many rows as columns is needed, got shape {aval.shape}")
    if dynamic_shape is not None:
        raise NotImplementedError("qdwh: dynamic_shape is not supported; slice x to its shape")
    real = mat.real_dtype(aval.dtype)
    eps = float(np.finfo(real).eps if eps is None else eps)
    limit = 10 if max_iterations is None else int(max_iterations)
    size = abs(x)
    scale = rsqrt(mul(reduce_max(reduce_sum(size, (0,)), (0,)), reduce_max(reduce_sum(size, (1,)), (0,))))
    scale = where(eq(reduce_max(size, (0, 1)), constant(real, 0)), constant(real, 1), scale)
    # The norm is at most 1 now. The smallest singular value is taken to be eps, which costs two iterations at most.
    u = mul(x, convert(scale, aval.dtype))

    def unfinished(state: Any) -> Any:
        k, _, low, step = state
        moving = bitwise_or(gt(step, constant(real, (4 * eps) ** (1 / 3))),
                            gt(abs(sub(low, constant(real, 1))), constant(real, 10 * eps)))
        return bitwise_and(lt(k, constant(_INT32, limit)), moving)

    def improve(state: Any) -> Any:
        k, u, low, _ = state
        a, b, c, low = _weights(low, real)
        new = _halley_step(u, a, b, c)
        if is_hermitian:
            new = mat.symmetrize(new)
        return add(k, constant(_INT32, 1)), new, low, _norm(sub(new, u))

    start = (constant(_INT32, 0), u, constant(real, eps), constant(real, np.inf))
    k, u, low, step = while_loop(unfinished, improve, start)
    # One Newton-Schulz step takes away what rounding left.
    gram = mat.mm(mat.h(u), u)
    half = constant(aval.dtype, 0.5)
    u = sub(mul(u, constant(aval.dtype, 1.5)), mul(mat.mm(u, gram), half))
    h = mat.symmetrize(mat.mm(mat.h(u), x))
    return u, h, k, lt(step, constant(real, (4 * eps) ** (1 / 3) * 10))


def _norm(x: Any) -> Any:
    size = abs(x)
    return sqrt(reduce_sum(mul(size, size), (0, 1)))


def _weights(low: Any, real: Any) -> tuple[Any, Any, Any, Any]:
    """The weights of the next step for singular values in ``[low, 1]``, and where the lowest of them goes."""
    def c(value: float) -> Any:
        return constant(real, value)

    square = mul(low, low)
    d = cbrt(div(mul(c(4), sub(c(1), square)), mul(square, square)))
    root = sqrt(add(c(1), d))
    inner = add(sub(c(8), mul(c(4), d)), div(mul(c(8), sub(c(2), square)), mul(square, root)))
    a = add(root, mul(c(0.5), sqrt(max(inner, c(0)))))
    b = mul(c(0.25), mul(sub(a, c(1)), sub(a, c(1))))
    weight = sub(add(a, b), c(1))
    low = mul(low, div(add(a, mul(b, square)), add(c(1), mul(weight, square))))
    return a, b, weight, where(gt(low, c(1)), c(1), low)


def _halley_step(u: Any, a: Any, b: Any, c: Any) -> Any:
    """``u (a + b u^H u) (1 + c u^H u)^-1``, through QR factors where ``c`` is large and a Cholesky factor else."""
    dtype = typeof(u).dtype
    m, n = typeof(u).shape
    ratio = div(b, c)
    rest = sub(a, ratio)

    def by_qr(_: Any) -> Any:
        stacked = concatenate([mul(u, convert(sqrt(c), dtype)), mat.eye_like(u, n)], 0)
        q, _ = qr(stacked, full_matrices=False)
        q1, q2 = slice_in_dim(q, 0, m), slice_in_dim(q, m, m + n)
        return mul(mat.mm(q1, mat.h(q2)), convert(div(rest, sqrt(c)), dtype))

    def by_cholesky(_: Any) -> Any:
        gram = add(mat.eye_like(u, n), mul(mat.mm(mat.h(u), u), convert(c, dtype)))
        factor = cholesky(gram, symmetrize_input=False)
        y = solve(factor, u, left=False, lower=True, transpose=True, conjugate=mat.is_complex(u))
        return mul(solve(factor, y, left=False, lower=True), convert(rest, dtype))

    part = cond(gt(c, constant(typeof(c).dtype, 100)), by_qr, by_cholesky, c)
    return add(mul(u, convert(ratio, dtype)), part)
