"""Every factorisation and Fourier transform: values, derivatives, vmap."""

from __future__ import annotations

import pytest

import jax
from jax._base.config import enable_x64
from tests import harness
from tests.ops import cases, derivative_cases
from tests.ops_linalg import FACTORS, NUMPY, TRANSFORMS, compiled

EVERY = compiled([*FACTORS, *TRANSFORMS, *NUMPY])


@pytest.mark.parametrize(("op", "dtype"), cases(EVERY))
def test_values(op, dtype):
    harness.check_values(op, dtype)


@pytest.mark.parametrize(("op", "dtype"), derivative_cases(EVERY))
def test_jvp(op, dtype):
    harness.check_jvp(op, dtype)


@pytest.mark.parametrize("op", [op for op in EVERY if op.derivative_dtypes], ids=lambda op: op.name)
def test_vjp(op):
    harness.check_vjp(op, op.derivative_dtypes[-1])


@pytest.mark.parametrize("op", [op for op in EVERY if op.order > 1 and op.derivative_dtypes], ids=lambda op: op.name)
def test_second_derivative(op):
    """Forward over reverse, compiled: one by one these have hundreds of operations."""
    with enable_x64(True):
        fun, active = harness.active_function(op, op.sample("float64"))
        cotangents = harness.directions(jax.jit(fun)(*active), 4)
        tangents = harness.directions(active, 1)
        gradient = jax.jit(lambda *xs: list(jax.vjp(fun, *xs)[1](cotangents)))
        _, got = jax.jit(lambda xs, ts: jax.jvp(gradient, tuple(xs), tuple(ts)))(tuple(active), tuple(tangents))
        want = harness.numerical_jvp(gradient, active, tangents)
        harness.assert_close(got, want, 1e-5, op.name)


@pytest.mark.parametrize("op", [op for op in EVERY if op.vmap], ids=lambda op: op.name)
def test_vmap(op):
    harness.check_vmap(op, op.dtypes[0])
