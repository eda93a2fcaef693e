"""Every reduction, cumulative operation, reduction over windows, sort: values, derivatives, vmap."""

from __future__ import annotations

import pytest

from tests import harness
from tests.ops import cases, derivative_cases
from tests.ops_reductions import OPS


@pytest.mark.parametrize(("op", "dtype"), cases(OPS))
def test_values(op, dtype):
    harness.check_values(op, dtype)


@pytest.mark.parametrize(("op", "dtype"), derivative_cases(OPS))
def test_jvp(op, dtype):
    harness.check_jvp(op, dtype)


@pytest.mark.parametrize(("op", "dtype"), derivative_cases(OPS))
def test_vjp(op, dtype):
    harness.check_vjp(op, dtype)


@pytest.mark.parametrize(("op", "dtype"), derivative_cases(OPS))
def test_second_derivative(op, dtype):
    harness.check_second(op, dtype)


@pytest.mark.parametrize("op", [op for op in OPS if op.vmap], ids=lambda op: op.name)
def test_vmap(op):
    harness.check_vmap(op, op.dtypes[0])
