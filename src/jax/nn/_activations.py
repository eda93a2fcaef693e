"""Activation functions. All are element-wise, take floating-point arrays (integers are converted) and keep shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from jax import dtypes, lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax._language.avals import typeof
from jax.custom_derivatives import custom_jvp
from jax.numpy._promotion import check_arraylike, const, promote_args_inexact

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def identity(x: Any) -> Any:
    """``x`` as an array."""
    check_arraylike("identity", x)
    return jnp.asarray(x)


def _operand(name: str, x: Any) -> Any:
    """An array or scalar as it is, booleans as integers."""
    check_arraylike(name, x)
    return lax.convert_element_type(x, dtypes.scalar_dtype(int)) if typeof(x).dtype == np.bool_ else x


@custom_jvp
def _relu(x: Any) -> Any:
    return lax.max(x, const(x, 0))


@_relu.defjvp
def _relu_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _relu(x), lax.select_n(lax.gt(x, const(x, 0)), lax.full_like(t, 0), t)


@composite
def relu(x: Any) -> Any:
    """``max(x, 0)``, with derivative 0 at 0.

    >>> import jax, jax.numpy as jnp
    >>> jax.nn.relu(jnp.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return _relu(_operand("relu", x))


@custom_jvp
def _relu6(x: Any) -> Any:
    return lax.min(lax.max(x, const(x, 0)), const(x, 6))


@_relu6.defjvp
def _relu6_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    inside = lax.bitwise_and(lax.gt(x, const(x, 0)), lax.lt(x, const(x, 6)))
    return _relu6(x), lax.select_n(inside, lax.full_like(t, 0), t)


@composite
def relu6(x: Any) -> Any:
    """``min(max(x, 0), 6)``, with derivative 0 at both bends."""
    return _relu6(*promote_args_inexact("relu6", x))


@composite
def softplus(x: Any) -> Any:
    """``log(1 + exp(x))``, without overflow."""
    return jnp.logaddexp(x, 0)


@composite
def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""
    return lax.logistic(*promote_args_inexact("sigmoid", x))


@composite
def soft_sign(x: Any) -> Any:
    """``x / (1 + |x|)``."""
    (x,) = promote_args_inexact("soft_sign", x)
    return x / (jnp.abs(x) + 1)


@composite
def silu(x: Any) -> Any:
    """``x * sigmoid(x)``, also called swish."""
    (x,) = promote_args_inexact("silu", x)
    return x * lax.logistic(x)


swish = silu


@composite
def mish(x: Any) -> Any:
    """``x * tanh(softplus(x))``."""
    (x,) = promote_args_inexact("mish", x)
    return x * jnp.tanh(softplus(x))


@composite
def log_sigmoid(x: Any) -> Any:
    """``log(sigmoid(x))``, without underflow."""
    (x,) = promote_args_inexact("log_sigmoid", x)
    return -softplus(-x)


@composite
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """``x`` where positive, else ``alpha * (exp(x) - 1)``."""
    (x,) = promote_args_inexact("elu", x)
    positive = x > 0
    return jnp.where(positive, x, alpha * jnp.expm1(jnp.where(positive, jnp.zeros_like(x), x)))


@composite
def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Any:
    """``x`` where not negative, else ``negative_slope * x``."""
    (x,) = promote_args_inexact("leaky_relu", x)
    return jnp.where(x >= 0, x, negative_slope * x)


@composite
def hard_tanh(x: Any) -> Any:
    """``x`` cut to the range from -1 to 1, with derivative 1 within."""
    x = _operand("hard_tanh", x)
    one, minus_one = (jnp.full_like(x, i) for i in (1, -1))
    return lax.select_n(lax.gt(x, one), lax.select_n(lax.lt(x, minus_one), x, minus_one), one)


@composite
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """``max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)``."""
    (x,) = promote_args_inexact("celu", x)
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)


@composite
def selu(x: Any) -> Any:
    """The scaled :func:`elu` of self-normalising networks (Klambauer et al., 2017)."""
    return _SELU_SCALE * elu(x, _SELU_ALPHA)


@composite(static_argnames=("approximate",))
def gelu(x: Any, approximate: bool = True) -> Any:
    """``x`` times the standard normal distribution function of ``x`` (Hendrycks and Gimpel, 2016).

    With ``approximate``, by a tanh; else by the error function.
    """
    (x,) = promote_args_inexact("gelu", x)
    if approximate:
        scale = np.sqrt(2 / np.pi).astype(x.dtype)
        return x * (0.5 * (1.0 + jnp.tanh(scale * (x + 0.044715 * x ** 3))))
    half = np.sqrt(0.5).astype(x.dtype)
    return 0.5 * x * lax.erfc(-x * half)


@composite(static_argnames=("axis",))
def glu(x: Any, axis: int = -1) -> Any:
    """The first half of ``x`` along ``axis`` times the sigmoid of the second half.

    Raises:
      ValueError: the size of ``axis`` is odd.
    """
    (x,) = promote_args_inexact("glu", x)
    size = x.shape[axis]
    if size % 2:
        raise ValueError(f"glu: axis {axis} of an array of shape {x.shape} must have an even size")
    a, b = jnp.split(x, 2, axis)
    return a * sigmoid(b)


@composite
def squareplus(x: Any, b: Any = 4) -> Any:
    """``(x + sqrt(x**2 + b)) / 2``."""
    (x,) = promote_args_inexact("squareplus", x)
    return (x + jnp.sqrt(jnp.square(x) + b)) / 2


@composite
def sparse_plus(x: Any) -> Any:
    """0 below -1, ``x`` above 1, and the parabola ``(x + 1)**2 / 4`` between."""
    (x,) = promote_args_inexact("sparse_plus", x)
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


@composite
def sparse_sigmoid(x: Any) -> Any:
    """0 below -1, 1 above 1, and ``(x + 1) / 2`` between: the derivative of :func:`sparse_plus`."""
    (x,) = promote_args_inexact("sparse_sigmoid", x)
    return 0.5 * jnp.clip(x + 1.0, 0.0, 2.0)


@composite
def hard_sigmoid(x: Any) -> Any:
    """``relu6(x + 3) / 6``."""
    (x,) = promote_args_inexact("hard_sigmoid", x)
    return relu6(x + 3.0) / 6.0


@composite
def hard_silu(x: Any) -> Any:
    """``x * hard_sigmoid(x)``."""
    (x,) = promote_args_inexact("hard_silu", x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@composite
def log1mexp(x: Any) -> Any:
    """``log(1 - exp(-x))`` for positive ``x``, by the more accurate of two forms (Mächler, 2012)."""
    (x,) = promote_args_inexact("log1mexp", x)
    cut = np.log(2).astype(x.dtype)
    small = x < cut
    near = jnp.where(small, x, cut)
    far = jnp.where(small, cut, x)
    return jnp.where(small, jnp.log(-jnp.expm1(-near)), jnp.log1p(-jnp.exp(-far)))


def tanh(x: Any, /) -> Any:
    """The hyperbolic tangent."""
    return jnp.tanh(x)


__all__ = ["celu", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "identity",
           "leaky_relu", "log1mexp", "log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign",
           "softplus", "sparse_plus", "sparse_sigmoid", "squareplus", "swish", "tanh"]
