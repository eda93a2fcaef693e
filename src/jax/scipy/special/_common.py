"""What special functions are made of: operands, series, derivatives given by a formula."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import numpy as jnp
from jax._ground.families import category
from jax._language.avals import typeof
from jax.custom_derivatives import custom_jvp
from jax.numpy._promotion import broadcast_args, promote_args_inexact

_FLOAT32 = np.dtype(np.float32)


def operands(name: str, *args: Any, real: bool = True) -> list[Any]:
    """Operands in one floating dtype, broadcast to one shape.

    Raises:
      TypeError: for complex numbers, where the function takes real ones.
    """
    out = list(promote_args_inexact(name, *args))
    if real and category(typeof(out[0]).dtype) == "complex":
        raise TypeError(f"scipy.special.{name}: real numbers are needed, got {typeof(out[0]).dtype}")
    if len(out) > 1:
        out = broadcast_args(name, *out)
    return [jnp.asarray(x) for x in out]


def in_float32(fun: Callable[..., Any], *args: Any) -> Any:
    """``fun(*args)``, computed in float32 for half-precision operands."""
    dtype = typeof(args[0]).dtype
    if dtype.itemsize >= 4:
        return fun(*args)
    return fun(*[x.astype(_FLOAT32) for x in args]).astype(dtype)


def like(x: Any, value: float) -> np.ndarray:
    """A scalar in the dtype of ``x``."""
    return np.asarray(value, typeof(x).dtype)


def horner(x: Any, coefficients: Sequence[float]) -> Any:
    """The polynomial with these coefficients, constant first."""
    out = jnp.full_like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        out = out * x + like(x, c)
    return out


def chebyshev(t: Any, coefficients: Sequence[float]) -> Any:
    """The Chebyshev series at ``t`` in [-1, 1], by Clenshaw's recurrence, as far as the dtype can tell."""
    eps = float(np.finfo(typeof(t).dtype).eps) / 64
    size = max(map(abs, coefficients))
    used = [c for c in coefficients if abs(c) > eps * size]
    b1 = b2 = jnp.zeros_like(t)
    for c in used[:0:-1]:
        b1, b2 = (t + t) * b1 - b2 + like(t, c), b1
    return t * b1 - b2 + like(t, used[0] / 2)


def with_slope(fun: Callable[..., Any], slope: Callable[..., Any]) -> Callable[..., Any]:
    """``fun`` of one array with the derivative ``slope(x, fun(x))``."""
    wrapped = custom_jvp(fun)

    @wrapped.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        out = wrapped(x)
        return out, t * slope(x, out)
    return wrapped
