"""Records of the special functions of jax.lax."""

from __future__ import annotations

import numpy as np
import scipy.special as sp

from jax import lax
from tests.ops import Op, exactly, number

F = ("float64", "float32")
shape_parameter = number(0.2, 30)


def _minus_quotient(a, x):
    """d x / d a at constant probability, by differences of the inverse."""
    p, h = sp.gammainc(a, x), 1e-5 * a
    q, lower = sp.gammaincc(a, x), p < 0.5
    at = [np.where(lower, sp.gammaincinv(a + k * h, p), sp.gammainccinv(a + k * h, q)) for k in (-2, -1, 1, 2)]
    return (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h)


SPECIAL = [
    Op("erf", lax.erf, (number(),), (*F, "bfloat16"), sp.erf, tol=4),
    Op("erfc", lax.erfc, (number(-1, 4),), F, sp.erfc, tol=10),
    Op("erf_inv", lax.erf_inv, (number(-0.9, 0.9),), F, sp.erfinv, tol=8),
    Op("lgamma", lax.lgamma, (number(0.3, 9),), (*F, "bfloat16"), sp.gammaln, tol=20),
    Op("lgamma-negative", lax.lgamma, (exactly([-0.5, -1.3, -4.7, 0.01]),), F, sp.gammaln, tol=20, grad_tol=1e-5),
    Op("digamma", lax.digamma, (number(0.3, 9),), F, sp.digamma, tol=20),
    Op("digamma-negative", lax.digamma, (exactly([-0.5, -1.3, -4.7, 0.1]),), F, sp.digamma, tol=40, grad_tol=1e-5),
    Op("polygamma", lax.polygamma, (exactly([[1.0], [2.0]]), number(0.5, 9)), F,
       lambda m, x: sp.polygamma(m.astype(int), x), grad=(1,), tol=20),
    Op("zeta", lax.zeta, (number(1.5, 5), number(0.5, 5)), F, sp.zeta, grad=(1,), tol=20),
    Op("bessel_i0e", lax.bessel_i0e, (number(-12, 12),), (*F, "bfloat16"), sp.i0e, tol=4),
    Op("bessel_i0e-far", lax.bessel_i0e, (exactly([0.0, 8.0, 8.1, 100.0, 1e6]),), F, sp.i0e, tol=4, vmap=False,
       grad=()),
    Op("bessel_i1e", lax.bessel_i1e, (number(-12, 12),), F, sp.i1e, tol=4),
    Op("igamma", lax.igamma, (shape_parameter, shape_parameter), F, sp.gammainc, tol=20, order=1),
    Op("igamma-x", lax.igamma, (shape_parameter, shape_parameter), ("float64", "bfloat16"), sp.gammainc, grad=(1,),
       tol=20, vmap=False),
    Op("igammac", lax.igammac, (shape_parameter, shape_parameter), F, sp.gammaincc, tol=20, order=1,
       vmap=False),
    Op("igamma-large", lax.igamma, (exactly([1e3, 1e4, 1e5]), exactly([1010.0, 9900.0, 1.003e5])), F, sp.gammainc,
       tol=200, grad=(), vmap=False),
    Op("random_gamma_grad", lax.random_gamma_grad, (shape_parameter, shape_parameter), ("float64",), _minus_quotient,
       tol={"float64": 1e-7}, order=1, vmap=False),
    Op("betainc", lax.betainc, (shape_parameter, shape_parameter, number(0.02, 0.98)), F, sp.betainc, tol=20, order=1,
       vmap=False),
    Op("betainc-x", lax.betainc, (shape_parameter, shape_parameter, number(0.02, 0.98)), ("float64", "bfloat16"),
       sp.betainc, grad=(2,), tol=20, order=1, vmap=False),
    Op("betainc-large", lax.betainc,
       (exactly([1e3, 1e4, 0.5]), exactly([1e3, 3.0, 1e4]), exactly([0.51, 0.9998, 1e-4])), F,
       sp.betainc, tol=200, grad=(), vmap=False),
]
