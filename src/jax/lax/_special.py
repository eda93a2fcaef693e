"""Error functions, gamma and its logarithmic derivatives, zeta and Bessel functions, element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jax._ground.families import FLOATING, defjvp, defjvp_out, like, nary, unary
from jax._language.avals import typeof
from jax._lowering.rules import fusible, run_weights
from jax.lax import _exponential, _power, _trigonometric
from jax.lax._arithmetic import add, div, mul, neg, sub
from jax.lax._comparison import eq, le
from jax.lax._composed import composed
from jax.lax._exponential import exp
from jax.lax._magnitude import abs, max, sign
from jax.lax._power import rsqrt
from jax.lax._select import where

# --- error functions ------------------------------------------------------------------------------------------------


def _erf_slope(x: Any) -> Any:
    return mul(like(x, 2 / math.sqrt(math.pi)), exp(neg(mul(x, x))))


def _erf_inv_slope(out: Any) -> Any:
    return mul(like(out, math.sqrt(math.pi) / 2), exp(mul(out, out)))


erf_p = unary("erf", FLOATING, "chlo.erf", jvp=lambda t, x: mul(t, _erf_slope(x)))
erfc_p = unary("erfc", FLOATING, "chlo.erfc", jvp=lambda t, x: mul(t, neg(_erf_slope(x))))
erf_inv_p = unary("erf_inv", FLOATING, "chlo.erf_inv", jvp_out=lambda t, out, x: mul(t, _erf_inv_slope(out)))


def erf(x: Any) -> Any:
    """The error function of each element of a floating array."""
    return erf_p.bind(x)


def erfc(x: Any) -> Any:
    """``1 - erf(x)`` for each element, accurate where it is small."""
    return erfc_p.bind(x)


def erf_inv(x: Any) -> Any:
    """The inverse of :func:`erf`: infinite at 1 and -1, NaN beyond."""
    return erf_inv_p.bind(x)


# --- gamma and its logarithmic derivatives --------------------------------------------------------------------------

lgamma_p = unary("lgamma", FLOATING, "chlo.lgamma", jvp=lambda t, x: mul(t, digamma(x)))
digamma_p = unary("digamma", FLOATING, "chlo.digamma", jvp=lambda t, x: mul(t, polygamma(like(x, 1), x)))


def lgamma(x: Any) -> Any:
    """``log(abs(gamma(x)))`` for each element of a floating array."""
    return lgamma_p.bind(x)


def digamma(x: Any) -> Any:
    """The derivative of :func:`lgamma`; NaN at its poles, the integers that are not positive."""
    return digamma_p.bind(x)


def _no_order_derivative(t: Any, m: Any, x: Any) -> Any:
    raise ValueError("polygamma has no derivative with respect to its order m; apply lax.stop_gradient to m")


polygamma_p = nary("polygamma", FLOATING, "chlo.polygamma")
defjvp(polygamma_p, _no_order_derivative, lambda t, m, x: mul(t, polygamma(add(m, like(m, 1)), x)))


def polygamma(m: Any, x: Any) -> Any:
    """The ``m``-th derivative of :func:`digamma` at ``x``, element by element.

    Args:
      m: the order, whole numbers in the floating dtype of ``x``.
      x: floating. Operands have equal shapes (0-d ones and axes of size 1 are broadcast).

    Raises:
      ValueError: when differentiated with respect to ``m``.
    """
    return polygamma_p.bind(m, x)


# --- zeta -----------------------------------------------------------------------------------------------------------


def _no_exponent_derivative(t: Any, x: Any, q: Any) -> Any:
    raise NotImplementedError("zeta has no derivative with respect to its exponent x; apply lax.stop_gradient to x")


zeta_p = nary("zeta", FLOATING, "chlo.zeta")
defjvp(zeta_p, _no_exponent_derivative, lambda t, x, q: mul(t, mul(neg(x), zeta(add(x, like(x, 1)), q))))


def zeta(x: Any, q: Any) -> Any:
    """Hurwitz' zeta function, the sum of ``(q + k) ** -x`` over ``k = 0, 1, ...``, element by element.

    Differentiable with respect to ``q`` only.
    """
    return zeta_p.bind(x, q)


# --- modified Bessel functions of the first kind ---------------------------------------------------------------------

# Chebyshev coefficients of exp(-x) I0(x) on [0, 8] in x/4 - 1, and of sqrt(x) exp(-x) I0(x) beyond in 16/x - 1,
# computed with 40 digits from the integrals that define them (Clenshaw, "Chebyshev series for mathematical functions",
# 1962, describes the representation).
_I0E_SMALL = (
    0.67679527440947607, -0.3046826723431984, 0.17162090152220877, -0.094901097048047639, 0.049305284239670712,
    -0.023737414805899471, 0.010546460394594998, -0.0043243099950505759, 0.0016394756169413357,
    -0.00057637557453858236, 0.00018850288509584165, -5.754195010082104e-05, 1.6448448070728896e-05,
    -4.4167383584587505e-06, 1.1173875391201037e-06, -2.6707938539406119e-07, 6.0469950225419186e-08,
    -1.300025009986248e-08, 2.6598237246823866e-09, -5.1897956016352627e-10, 9.675809035373237e-11,
    -1.7268262914415559e-11, 2.9550526631296399e-12, -4.856446783111929e-13, 7.6761854986049361e-14,
    -1.1685332877993451e-14, 1.7153912855551331e-15, -2.4312798465479549e-16, 3.3307945188222384e-17,
    -4.4153416464793395e-18, 5.6691780069214962e-19,
)
_I0E_LARGE = (
    0.80449041101410879, 0.0033691164782556943, 6.8897583469168245e-05, 2.8913705208347567e-06,
    2.0489185894690638e-07, 2.266668990498178e-08, 3.3962320257083865e-09, 4.9406023882249701e-10,
    1.1889147107846439e-11, -3.1499165279632416e-11, -1.3215811840447713e-11, -1.7941785315068062e-12,
    7.180124451383666e-13, 3.8527783827421426e-13, 1.54008621752141e-14, -4.1505693472872222e-14,
    -9.5548466988283073e-15, 3.8116806693526224e-15, 1.7725601330565263e-15, -3.425485619677219e-16,
    -2.8276239805165836e-16, 3.4612228676974612e-17, 4.4656214202967598e-17, -4.8305044859441819e-18,
    -7.2331804878747538e-18, 9.9214754121736987e-19, 1.193650890845982e-18, -2.4887098371508075e-19,
)


def _chebyshev(x: Any, coefficients: tuple[float, ...], precision: float) -> Any:
    """Clenshaw's recurrence for the series whose first coefficient counts half; small coefficients are left out."""
    used = [c for c in coefficients if math.fabs(c) > precision]
    twice = mul(like(x, 2), x)
    b1, b2 = like(x, used[-1]), like(x, 0)
    for c in used[-2:0:-1]:
        b1, b2 = add(sub(mul(twice, b1), b2), like(x, c)), b1
    return add(sub(mul(x, b1), b2), like(x, used[0] / 2))


def _i0e(x: Any) -> Any:
    precision = float(np.finfo(typeof(x).dtype).eps) / 32
    x = abs(x)
    small = _chebyshev(sub(mul(like(x, 0.25), x), like(x, 1)), _I0E_SMALL, precision)
    far = max(x, like(x, 8))
    large = mul(_chebyshev(sub(div(like(x, 16), far), like(x, 1)), _I0E_LARGE, precision), rsqrt(far))
    return where(le(x, like(x, 8)), small, large)


bessel_i0e_p = composed("bessel_i0e", _i0e, 1)
defjvp_out(bessel_i0e_p, lambda t, out, x: mul(t, sub(bessel_i1e(x), mul(sign(x), out))))


def _i1e_slope(out: Any, x: Any) -> Any:
    zero = eq(x, like(x, 0))
    safe = where(zero, like(x, 1), x)
    slope = sub(bessel_i0e(x), mul(out, add(sign(x), div(like(x, 1), safe))))
    return where(zero, like(x, 0.5), slope)


bessel_i1e_p = unary("bessel_i1e", FLOATING, "chlo.bessel_i1e",
                     jvp_out=lambda t, out, x: mul(t, _i1e_slope(out, x)))


def bessel_i0e(x: Any) -> Any:
    """``exp(-abs(x)) * I0(x)`` for each element, with the modified Bessel function of the first kind of order 0."""
    return bessel_i0e_p.bind(x)


def bessel_i1e(x: Any) -> Any:
    """``exp(-abs(x)) * I1(x)`` for each element, with the modified Bessel function of the first kind of order 1."""
    return bessel_i1e_p.bind(x)


# --- what computing them again takes, in operations -----------------------------------------------------------------

fusible[erf_p] = 16
for _prim in (erfc_p, erf_inv_p, lgamma_p, digamma_p):
    fusible[_prim] = 40

_WEIGHTS = {
    10: (_exponential.exp_p, _exponential.exp2_p, _exponential.log_p, _exponential.log2_p),
    12: (_exponential.expm1_p, _exponential.log1p_p, _exponential.logistic_p, _trigonometric.sin_p, _trigonometric.cos_p,
         _trigonometric.tan_p, _trigonometric.tanh_p, _power.pow_p, _power.cbrt_p),
    16: (_trigonometric.asin_p, _trigonometric.acos_p, _trigonometric.atan_p, _trigonometric.atan2_p,
         _trigonometric.sinh_p, _trigonometric.cosh_p, _trigonometric.asinh_p, _trigonometric.acosh_p,
         _trigonometric.atanh_p),
}
run_weights.update({prim: weight for weight, prims in _WEIGHTS.items() for prim in prims})
