"""NaN and infinity checks."""

from __future__ import annotations

import numpy as np
import pytest

import jax
from jax._base.config import debug_infs, debug_nans
from tests.lowering.helpers import elementwise, mul_p

pytestmark = pytest.mark.quick

div_p = elementwise("test_div", "stablehlo.divide")
log_p = elementwise("test_log", "stablehlo.log")


def fun(x):
    y = log_p.bind(x)
    return mul_p.bind(y, y)


def test_eager_operations():
    with debug_nans(True):
        with pytest.raises(FloatingPointError, match="NaN in the result of test_log"):
            log_p.bind(np.float32(-1))
        assert np.isinf(log_p.bind(np.float32(0)))
    with debug_infs(True), pytest.raises(FloatingPointError, match="an infinity in the result of test_log"):
        log_p.bind(np.float32(0))


def test_compiled_functions_name_the_operation():
    jitted = jax.jit(fun)
    assert np.isnan(jitted(np.float32(-1)))
    with debug_nans(True):
        with pytest.raises(FloatingPointError, match="NaN in the result of test_log"):
            jitted(np.float32(-1))
        assert jitted(np.float32(1)).item() == 0
    assert np.isnan(jitted(np.float32(-1)))


def test_integers_and_narrow_floats():
    with debug_nans(True):
        assert mul_p.bind(np.int32(2), np.int32(3)).item() == 6
        with pytest.raises(FloatingPointError):
            log_p.bind(np.asarray(-1, jax.dtypes.bfloat16))
