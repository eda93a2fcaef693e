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


def test_derivative_with_respect_to_an_order_is_refused():
    import jax

    with pytest.raises(ValueError, match="order m"):
        jax.grad(lax.polygamma)(1.0, 2.0)
    with pytest.raises(NotImplementedError, match="exponent x"):
        jax.grad(lax.zeta)(2.0, 2.0)
