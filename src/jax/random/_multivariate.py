"""Random vectors and matrices that need a factorisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.sharding_constraints import laid_out
from jax._language.avals import typeof
from jax.lax import linalg
from jax.lax.linalg._matrices import diagonal
from jax.numpy._promotion import as_dtype
from jax.random._calls import as_sizes, batch_shape, inexact_dtype, sampler
from jax.random._uniform import _normal

# --- multivariate normal --------------------------------------------------------------------------------------------


def multivariate_normal(key: Any, mean: Any, cov: Any, shape: Any = None, dtype: Any = None,
                        method: str = "cholesky", *, out_sharding: Any = None) -> Any:
    """Vectors of the multivariate normal distribution.

    Args:
      key: one key.
      mean: array whose last axis, of size ``n``, holds the mean.
      cov: array whose last two axes, ``(n, n)``, hold the covariance matrix.
      shape: of the result without its last axis, to which the other axes of ``mean`` and ``cov`` broadcast; by default
        what they broadcast to.
      dtype: a float dtype, by default the one that ``mean`` and ``cov`` promote to.
      method: how to factorise the covariance: ``"cholesky"`` (fast; NaN unless positive definite), ``"eigh"`` or
        ``"svd"`` (singular matrices too).
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.

    Raises:
      ValueError: an unknown ``method``, or shapes that do not fit.
    """
    if out_sharding is not None:
        out = multivariate_normal(key, mean, cov, shape, dtype, method)
        return laid_out(out, out_sharding, "jax.random.multivariate_normal")
    if method not in ("cholesky", "eigh", "svd"):
        raise ValueError(f"jax.random.multivariate_normal: method must be 'cholesky', 'eigh' or 'svd', got {method!r}")
    m, c = typeof(mean), typeof(cov)
    if not m.shape:
        raise ValueError("jax.random.multivariate_normal: mean must have at least one axis, got a scalar")
    n = m.shape[-1]
    if c.shape[-2:] != (n, n):
        raise ValueError(f"jax.random.multivariate_normal: for a mean of size {n} the last axes of cov must be ({n}, {n}), "
                         f"got shape {c.shape}")
    if dtype is None:
        dtype = dtypes.to_inexact_dtype(dtypes.result_type(mean, cov))
    dtype = inexact_dtype("multivariate_normal", dtype)
    if not dtypes.issubdtype(dtype, np.floating):
        raise ValueError(f"jax.random.multivariate_normal: dtype must be a float dtype, got {dtype}")
    shape = batch_shape("multivariate_normal", shape, {"mean without its last axis": m.shape[:-1],
                                                       "cov without its last two axes": c.shape[:-2]})
    return _multivariate_normal.run(key, mean, cov, shape=(*shape, n), dtype=dtype, method=method)


@sampler
def _multivariate_normal(key: Any, mean: Any, cov: Any, *, shape: tuple[Any, ...], dtype: Any, method: str) -> Any:
    mean, cov = as_dtype(mean, dtype, False), as_dtype(cov, dtype, False)
    factor = _root_of(lax.convert_element_type(cov, dtype), method)
    z = _normal(key, shape=shape, dtype=dtype)
    batch = factor.ndim - 2
    if batch:
        factor = _stretched(factor, (*shape[:-1], *factor.shape[-2:]))
        axes = tuple(range(z.ndim - 1))
        turned = lax.dot_general(factor, z, (((factor.ndim - 1,), (z.ndim - 1,)), (axes, axes)),
                                 preferred_element_type=dtype)
    else:
        turned = lax.dot_general(z, factor, (((z.ndim - 1,), (1,)), ((), ())), preferred_element_type=dtype)
    return lax.add(_stretched(mean, shape), turned)


def _stretched(x: Any, shape: tuple[Any, ...]) -> Any:
    own = typeof(x).shape
    return x if own == shape else lax.broadcast_in_dim(x, shape, tuple(range(len(shape) - len(own), len(shape))))


def _root_of(cov: Any, method: str) -> Any:
    """A matrix whose product with its transpose is ``cov``."""
    if method == "cholesky":
        return linalg.cholesky(cov)
    if method == "svd":
        vectors, values, _ = linalg.svd(cov)
    else:
        vectors, values = linalg.eigh(cov)
    return lax.mul(vectors, lax.expand_dims(lax.sqrt(values), (values.ndim - 1,)))


# --- orthogonal matrices --------------------------------------------------------------------------------------------

def orthogonal(key: Any, n: int, shape: Any = (), dtype: Any = None, m: int | None = None, *,
               out_sharding: Any = None) -> Any:
    """Matrices uniform among the orthogonal (for complex ``dtype``, unitary) ones.

    Args:
      key: one key.
      n: the number of rows.
      shape: of the batch.
      dtype: a float or complex dtype, by default the default float.
      m: the number of columns, by default ``n``. If the two differ, the columns (or rows, if these are fewer) are
        orthonormal.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.

    Returns:
      An array of shape ``(*shape, n, m)``.
    """
    if out_sharding is not None:
        return laid_out(orthogonal(key, n, shape, dtype, m), out_sharding, "jax.random.orthogonal")
    (rows,) = as_sizes(n)
    columns = rows if m is None else as_sizes(m)[0]
    return _orthogonal.run(key, shape=as_sizes(shape), n=rows, m=columns, dtype=inexact_dtype("orthogonal", dtype))


@sampler
def _orthogonal(key: Any, *, shape: tuple[Any, ...], n: int, m: int, dtype: Any) -> Any:
    """By the QR factorisation of a normal matrix, made unique by positive diagonals (Mezzadri, 2007)."""
    tall = (max(n, m), min(n, m))
    z = _normal(key, shape=(*shape, *tall), dtype=dtype)
    q, r = linalg.qr(z, full_matrices=False)
    q = lax.mul(q, lax.expand_dims(lax.sign(diagonal(r)), (len(shape),)))
    return q if n >= m else lax.transpose(q, (*range(len(shape)), len(shape) + 1, len(shape)))


__all__ = ["multivariate_normal", "orthogonal"]
