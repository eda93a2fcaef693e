"""Covariances and correlations."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._ground.families import category
from jax._ground.structural import convert
from jax._language import dims
from jax._language.avals import typeof
from jax.numpy._joining import concatenate
from jax.numpy._promotion import as_dtype, check_arraylike, check_arraylike_or_none, promote_dtypes_inexact, shape_of, unwrap
from jax.numpy._reductions import sum as _sum
from jax.numpy._statistics import average
from jax.numpy._ufuncs_elementary import sqrt
from jax.numpy._ufuncs_floating import clip, conjugate, imag, real


def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None, fweights: Any = None,
        aweights: Any = None, *, dtype: Any = None) -> Any:
    """The covariances of variables.

    Args:
      m: observations of shape ``(variables, observations)``, or of one variable.
      y: more variables, of the same form.
      rowvar: whether rows are variables; else columns are.
      bias: divide by the number of observations instead of that minus one.
      ddof: what is subtracted from the number of observations in the divisor, in place of ``bias``.
      fweights: how often each observation was made, integers.
      aweights: the weight of each observation.
      dtype: dtype of the computation and the result.

    Returns:
      A matrix of shape ``(variables, variables)``, 0-d for one variable.

    Raises:
      ValueError, TypeError: for arguments that do not fit.
    """
    if ddof is not None and not isinstance(ddof, int):
        try:
            ddof = operator.index(ddof)
        except TypeError:
            raise ValueError(f"cov: ddof must be an integer, got {ddof!r}") from None
    dtype = None if dtype is None else dtypes.requested_dtype(dtype, "cov")
    return _cov(m, y, fweights, aweights, rowvar=bool(rowvar), ddof=(0 if bias else 1) if ddof is None else ddof,
                dtype=dtype)


@functools.partial(composite, static_argnames=("rowvar", "ddof", "dtype"))
def _cov(m: Any, y: Any, fweights: Any, aweights: Any, rowvar: bool, ddof: int, dtype: Any) -> Any:
    check_arraylike("cov", m)
    check_arraylike_or_none("cov", m, y, fweights, aweights)
    given = [unwrap(v) for v in (m, y) if v is not None]
    given = promote_dtypes_inexact(*given)
    if dtype is not None:
        given = [convert(v, dtype) for v in given]
    x = concatenate([_variables(v, rowvar, i) for i, v in enumerate(given)]) if len(given) > 1 else \
        _variables(given[0], rowvar, 0)
    n = shape_of(x)[1]
    weights = _weights(fweights, aweights, n, typeof(x).dtype)
    if weights is None:
        mean = average(x, axis=1)
        divisor = np.nan if dims.is_zero(n) else n - ddof  # the mean of nothing is not a number
        scaled = x - lax.expand_dims(mean, (1,))
        weighted = scaled
    else:
        mean = average(x, axis=1, weights=weights)
        total = _sum(weights)
        divisor = total - ddof if aweights is None or ddof == 0 else \
            total - ddof * _sum(weights * as_dtype(unwrap(aweights), typeof(weights).dtype, False)) / total
        scaled = x - lax.expand_dims(mean, (1,))
        weighted = scaled * lax.expand_dims(weights, (0,))
    product = lax.dot_general(weighted, conjugate(scaled), (((1,), (1,)), ((), ())))
    out = product / as_dtype(divisor, typeof(product).dtype, False)
    return lax.reshape(out, ()) if shape_of(out) == (1, 1) else out


def _variables(v: Any, rowvar: bool, position: int) -> Any:
    rank = len(shape_of(v))
    if rank > 2:
        raise ValueError(f"cov: {'m' if position == 0 else 'y'} has more than 2 dimensions: shape {shape_of(v)}")
    if rank < 2:
        return lax.reshape(v, (1, dims.size_of(shape_of(v))))
    return lax.transpose(v, (1, 0)) if not rowvar and shape_of(v)[0] != 1 else v


def _weights(fweights: Any, aweights: Any, n: Any, dtype: Any) -> Any:
    out = None
    real_dtype = np.zeros((), dtype).real.dtype if category(dtype) == "complex" else dtype
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        if w is None:
            continue
        w = unwrap(w)
        if len(shape_of(w)) != 1:
            raise ValueError(f"cov: {name} must be a vector, got shape {shape_of(w)}")
        if shape_of(w)[0] != n:
            raise ValueError(f"cov: {name} has {shape_of(w)[0]} elements for {n} observations")
        if name == "fweights" and category(typeof(w).dtype) not in ("signed", "unsigned"):
            raise TypeError(f"cov: fweights count observations, so they must be integers, got {typeof(w).dtype}")
        w = as_dtype(w, real_dtype, False)
        out = w if out is None else out * w
    return out


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """The correlation coefficients of variables: covariances divided by standard deviations.

    Arguments and errors as for :func:`cov`.
    """
    return _corrcoef(x, y, rowvar=bool(rowvar), dtype=None if dtype is None else dtypes.requested_dtype(dtype, "corrcoef"))


@functools.partial(composite, static_argnames=("rowvar", "dtype"))
def _corrcoef(x: Any, y: Any, rowvar: bool, dtype: Any) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if not shape_of(c):
        return c / c
    n = shape_of(c)[0]
    deviations = sqrt(real(lax.slice_in_dim(lax.reshape(c, (n * n,)), 0, None, n + 1)))
    deviations = as_dtype(deviations, typeof(c).dtype, False)
    c = c / lax.expand_dims(deviations, (1,)) / lax.expand_dims(deviations, (0,))
    if category(typeof(c).dtype) == "complex":
        return lax.complex(clip(real(c), -1, 1), clip(imag(c), -1, 1))
    return clip(c, -1, 1)
