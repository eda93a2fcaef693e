"""Activations and normalisation: values, derivatives, vmap."""

from __future__ import annotations

import pytest

from tests import harness
from tests.ops import cases, derivative_cases
from tests.ops_nn import NN


@pytest.mark.parametrize(("op", "dtype"), cases(NN))
def test_values(op, dtype):
    harness.check_values(op, dtype)


@pytest.mark.parametrize(("op", "dtype"), derivative_cases(NN))
def test_jvp(op, dtype):
    harness.check_jvp(op, dtype)


@pytest.mark.parametrize(("op", "dtype"), derivative_cases(NN))
def test_vjp(op, dtype):
    harness.check_vjp(op, dtype)


@pytest.mark.parametrize("op", [op for op in NN if op.order > 1 and op.derivative_dtypes], ids=lambda op: op.name)
def test_second_derivative(op):
    harness.check_second(op, op.derivative_dtypes[-1])


@pytest.mark.parametrize("op", [op for op in NN if op.vmap], ids=lambda op: op.name)
def test_vmap(op):
    harness.check_vmap(op, op.dtypes[0])
