"""Polynomials fitted to points."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from jax import lax
from jax._api.composite import composite
from jax._ground.families import category, constant
from jax._language.avals import typeof
from jax.numpy._contraction import dot_general
from jax.numpy._promotion import as_dtype, check_arraylike_or_none, promote_dtypes_inexact, shape_of, unwrap
from jax.numpy._reductions import sum as _sum


def polyfit(x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None,
            cov: bool | str = False) -> Any:
    """The polynomial of degree ``deg`` that fits points best, by least squares.

    Args:
      x: a vector.
      y: a vector, or several as columns.
      deg: the degree, a Python integer.
      rcond: singular values below this, relative to the largest, are left out; by default ``len(x)`` times the dtype's
        precision.
      full: return ``(p, residuals, rank, singular values, rcond)``.
      w: weights of the points, applied to residuals before they are squared.
      cov: return ``(p, covariances of the coefficients)``; ``"unscaled"`` without scaling by the residuals.

    Raises:
      ValueError, TypeError: for arguments that do not fit.
    """
    deg = operator.index(deg)
    if deg < 0:
        raise ValueError(f"polyfit: the degree must not be negative, got {deg}")
    return _polyfit(x, y, w, deg=deg, rcond=None if rcond is None else float(rcond), full=bool(full),
                    cov=cov if isinstance(cov, str) else bool(cov))


@functools.partial(composite, static_argnames=("deg", "rcond", "full", "cov"))
def _polyfit(x: Any, y: Any, w: Any, deg: int, rcond: Any, full: bool, cov: Any) -> Any:
    from jax.numpy.linalg._solving import inv, lstsq  # linear algebra is loaded by those who use it
    check_arraylike_or_none("polyfit", x, y, w)
    x, y = promote_dtypes_inexact(unwrap(x), unwrap(y))
    _check_points(shape_of(x), shape_of(y))
    dtype = typeof(x).dtype
    n = shape_of(x)[0]
    if rcond is None:
        rcond = n * float(np.finfo(dtype if category(dtype) != "complex" else np.zeros((), dtype).real.dtype).eps)
    powers = [lax.full((n,), 1, dtype)]
    for _ in range(deg):
        powers.append(lax.mul(powers[-1], x))
    lhs, rhs = lax.stack(powers[::-1], 1), y
    if w is not None:
        w = as_dtype(unwrap(w), dtype, False)
        if shape_of(w) != (n,):
            raise TypeError(f"polyfit: weights must be a vector of {n} elements, got shape {shape_of(w)}")
        lhs = lhs * lax.expand_dims(w, (1,))
        rhs = rhs * (lax.expand_dims(w, (1,)) if len(shape_of(rhs)) == 2 else w)
    scale = lax.sqrt(_sum(lax.square(lhs), 0))
    lhs = lhs / lax.expand_dims(scale, (0,))
    c, residuals, rank, s = lstsq(lhs, rhs, rcond)
    over = lax.expand_dims(scale, (1,)) if len(shape_of(c)) == 2 else scale
    c = c / over
    if full:
        return c, residuals, rank, s, constant(np.dtype(typeof(s).dtype), rcond)
    if not cov:
        return c
    gram = inv(dot_general(lhs, lhs, (((0,), (0,)), ((), ())), None, dtype))
    gram = gram / (lax.expand_dims(scale, (0,)) * lax.expand_dims(scale, (1,)))
    if cov != "unscaled":
        if n <= deg + 1:
            raise ValueError(f"polyfit: {n} points do not leave residuals to scale the covariances of {deg + 1} "
                             "coefficients with; use cov='unscaled'")
        residuals = residuals / as_dtype(n - deg - 1, typeof(residuals).dtype, False)
    if len(shape_of(y)) == 1:
        return c, gram if cov == "unscaled" else gram * lax.reshape(residuals, (1, 1))
    if cov == "unscaled":
        return c, lax.expand_dims(gram, (2,))
    return c, lax.expand_dims(gram, (2,)) * lax.expand_dims(residuals, (0, 1))


def _check_points(s: tuple[Any, ...], t: tuple[Any, ...]) -> None:
    if len(s) != 1 or len(t) not in (1, 2):
        raise TypeError(f"polyfit: x must be a vector and y a vector or a matrix of columns, got shapes {s} and {t}")
    if s[0] != t[0]:
        raise TypeError(f"polyfit: x has {s[0]} points and y has {t[0]}")
    if not s[0]:
        raise TypeError("polyfit: there are no points")
