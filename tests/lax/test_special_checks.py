"""Every special function: values, derivatives, vmap; limits and arguments out of range."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp

from jax import lax
from jax._base.config import enable_x64
from tests import harness
from tests.ops import cases, derivative_cases
from tests.ops_special import SPECIAL

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(("op", "dtype"), cases(SPECIAL))
def test_values(op, dtype):
    harness.check_values(op, dtype)


@pytest.mark.parametrize(("op", "dtype"), derivative_cases(SPECIAL))
def test_jvp(op, dtype):
    harness.check_jvp(op, dtype)


@pytest.mark.parametrize(("op", "dtype"), derivative_cases([op for op in SPECIAL if op.name != "random_gamma_grad"]))
def test_vjp(op, dtype):
    harness.check_vjp(op, dtype)


@pytest.mark.parametrize(("op", "dtype"), derivative_cases([op for op in SPECIAL if op.order > 1]))
def test_second_derivative(op, dtype):
    harness.check_second(op, dtype)


@pytest.mark.parametrize("op", [op for op in SPECIAL if op.vmap], ids=lambda op: op.name)
def test_vmap(op):
    harness.check_vmap(op, op.dtypes[0])


@pytest.mark.parametrize(("fn", "reference"), [(lax.igamma, sp.gammainc), (lax.igammac, sp.gammaincc)])
def test_limits_of_incomplete_gamma(fn, reference):
    a = np.array([0.0, 1.0, 0.0, -1.0, 1.0, INF, 1.0, NAN, 1.0, INF, 1e-3, 1e6])
    x = np.array([1.0, 0.0, 0.0, 1.0, -1.0, 1.0, INF, 1.0, NAN, INF, 1e-5, 1e6])
    with enable_x64(True):
        np.testing.assert_allclose(fn(a, x), reference(a, x), rtol=1e-11)


def test_limits_of_incomplete_beta():
    points = [(0, 1, 0.5), (1, 0, 0.5), (0, 0, 0.5), (-1, 1, 0.5), (1, -1, 0.5), (1, 1, -0.1), (1, 1, 1.1), (2, 3, 0),
              (2, 3, 1), (NAN, 1, 0.5), (1, 1, NAN), (INF, 1, 0.5), (1, INF, 0.5), (0, 1, 0), (1, 0, 1)]
    a, b, x = np.array(points, float).T
    with enable_x64(True):
        np.testing.assert_allclose(lax.betainc(a, b, x), sp.betainc(a, b, x), rtol=1e-13)


def test_nan_of_what_seems_non_negative():
    import jax
    got = jax.jit(lambda x: [lax.igamma(1.0, abs(x)), lax.igammac(abs(x), 1.0), lax.betainc(abs(x), 1.0, 0.5),
                             lax.betainc(1.0, abs(x), 0.5), lax.betainc(1.0, 1.0, abs(x))])(np.float32(np.nan))
    assert np.isnan(got).all()


def test_slopes_at_integers():
    """There continued fractions end, their derivatives go on. Values from mpmath."""
    import jax
    a, x = np.array([(2.0, 2.5), (2, 3.5), (5, 9), (1, 2), (3, 3.25)]).T
    slopes = [-0.24878306814493012, -0.1499518468924485, -0.046122678499030345, -0.2208254262118595, -0.22524717470556893]
    b, c, y = np.array([(2.0, 1.0, 0.5), (1, 4, 0.3), (5, 2, 0.6), (1, 1, 0.4), (4, 4, 0.5)]).T
    by_b = [-0.17328679513998632, -0.29574893400727875, -0.08806140151213031, -0.366516292749662, -0.14865692361330599]
    by_c = [0.269860385419959, 0.08563765403968965, 0.17972242994255216, 0.30649537425959444, 0.14865692361330599]
    with enable_x64(True):
        np.testing.assert_allclose(lax.igamma_grad_a(a, x), slopes, rtol=1e-13)
        got = jax.vmap(jax.grad(lax.betainc, (0, 1)))(b, c, y)
        np.testing.assert_allclose(got, [by_b, by_c], rtol=1e-13)


def test_derivative_with_respect_to_an_order_is_refused():
    import jax

    with pytest.raises(ValueError, match="order m"):
        jax.grad(lax.polygamma)(1.0, 2.0)
    with pytest.raises(NotImplementedError, match="exponent x"):
        jax.grad(lax.zeta)(2.0, 2.0)
