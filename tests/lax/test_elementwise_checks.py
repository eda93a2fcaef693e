"""Every element-wise operation: values, derivatives, vmap."""

from __future__ import annotations

import numpy as np
import pytest

import jax.numpy as jnp
from jax import lax
from tests import harness
from tests.ops import cases, derivative_cases
from tests.ops_elementwise import ELEMENTWISE


@pytest.mark.parametrize(("op", "dtype"), cases(ELEMENTWISE))
def test_values(op, dtype):
    harness.check_values(op, dtype)


@pytest.mark.parametrize(("op", "dtype"), derivative_cases(ELEMENTWISE))
def test_jvp(op, dtype):
    harness.check_jvp(op, dtype)


@pytest.mark.parametrize(("op", "dtype"), derivative_cases(ELEMENTWISE))
def test_vjp(op, dtype):
    harness.check_vjp(op, dtype)


@pytest.mark.parametrize("op", [op for op in ELEMENTWISE if op.order > 1 and op.derivative_dtypes],
                         ids=lambda op: op.name)
def test_second_derivative(op):
    harness.check_second(op, op.derivative_dtypes[-1])


@pytest.mark.parametrize("op", [op for op in ELEMENTWISE if op.vmap], ids=lambda op: op.name)
def test_vmap(op):
    harness.check_vmap(op, op.dtypes[0])


@pytest.mark.quick
def test_integers_that_are_part_of_the_program_must_be_integers():
    x = jnp.array([3.0])
    with pytest.raises(TypeError, match="integer_pow: y must be a Python integer, got 2.5"):
        lax.integer_pow(x, 2.5)
    with pytest.raises(TypeError, match="reduce_precision: .* must be Python integers, got 5.5 and 2"):
        lax.reduce_precision(x, 5.5, 2)
    assert lax.integer_pow(x, np.int64(2))[0] == 9
