"""Promotion of dtypes as functions and operators show it. Truth: the recorded tables in ``tests/data``."""

from __future__ import annotations

import json
import operator
import warnings

import ml_dtypes
import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import dtypes
from jax._base.config import enable_x64, numpy_dtype_promotion
from jax._language.avals import ShapedArray
from jax._language.jaxpr import DebugInfo
from jax._language.staging import trace_to_jaxpr
from tests.test_dtypes import DATA, FACTS, GOLDEN

WEAK = {"b*": bool, "i*": int, "f*": float, "c*": complex}


def _aval(name: str) -> ShapedArray:
    if name in WEAK:
        kind = WEAK[name]
        return ShapedArray((), dtypes.scalar_dtype(kind), kind is not bool)
    return ShapedArray((), np.dtype(getattr(ml_dtypes, name, name)))


def _staged(function, a, b) -> str:
    """The type of ``function(a, b)`` for tracers of these types."""
    try:
        jaxpr, _ = trace_to_jaxpr(lambda x, y: [function(x, y)], (_aval(a), _aval(b)), DebugInfo("test", "test"))
    except dtypes.TypePromotionError:
        return "TypePromotionError"
    (out,) = [v.aval for v in jaxpr.outvars]
    return f"{out.dtype}{'*' if out.weak_type else ''}"


def _expected(entry) -> str:
    name, weak = entry
    return "TypePromotionError" if name.startswith("Type") else name + ("*" if weak else "")


@pytest.mark.parametrize("function", [jnp.maximum, operator.mul], ids=["function", "operator"])
@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_golden_table_through_operations(mode, function):
    wrong = {}
    with enable_x64(GOLDEN["x64"]), numpy_dtype_promotion(mode):
        for pair, entry in GOLDEN["table"][mode].items():
            got = _staged(function, *pair.split(","))
            if got != _expected(entry):
                wrong[pair] = (got, _expected(entry))
    assert not wrong


@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_narrow_table_through_operations(mode):
    wrong = {}
    with enable_x64(False), numpy_dtype_promotion(mode), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for pair, expected in FACTS[f"result_type x64=off {mode}"].items():
            if any("64" in name and not name.startswith("complex64") or name == "complex128" for name in pair.split(",")):
                continue  # no tracer has these
            got = _staged(jnp.maximum, *pair.split(","))
            if got != (expected if not expected.startswith("Type") else "TypePromotionError"):
                wrong[pair] = (got, expected)
    assert not wrong


@pytest.mark.parametrize("x64", [False, True])
def test_eager_and_staged_agree(x64):
    values = [True, 2, 2.5, 1j, np.float32(3), np.int8(3), np.bool_(True), np.ones(2, np.int16), np.float16(1)]
    with enable_x64(x64):
        values += [jnp.ones(2, "bfloat16"), jnp.ones(2, "uint8"), jnp.asarray(1), jnp.asarray(1.0), jnp.ones(2)]
        for x in values:
            for y in values:
                eager = jnp.add(x, y)
                inside = jax.jit(lambda x=x, y=y: jnp.add(x, y))()
                mixed = jax.jit(lambda x, y=y: jnp.add(x, y))(x)
                for other in (inside, mixed):
                    assert (eager.dtype, eager.weak_type) == (other.dtype, other.weak_type), (x, y)
                    np.testing.assert_array_equal(eager, other)


@pytest.mark.quick
def test_python_scalars_are_literals():
    x = jnp.ones(3)
    for value, dtype in ((1, "float32"), (1.5, "float32"), (2, "int32"), (2, "bfloat16")):
        (eqn,) = jax.make_jaxpr(lambda x, value=value: x * value)(x.astype(dtype)).eqns
        assert eqn.invars[1].val == value and eqn.invars[1].aval.dtype == jnp.dtype(dtype)


def test_weak_types_survive_functions():
    for f in (jnp.sin, jnp.hypot, jnp.deg2rad, jnp.clip, jnp.trunc, jnp.nan_to_num, jnp.floor_divide, jnp.fmod):
        args = (1.0, 2.0) if f in (jnp.hypot, jnp.floor_divide, jnp.fmod) else (1.0,)
        if f is not jnp.nan_to_num:
            assert f(*args).weak_type, f
        assert not f(*[jnp.float32(a) for a in args]).weak_type, f


def test_python_integers_wrap_in_narrow_dtypes_and_overflow_in_the_default():
    narrow = jnp.arange(3, dtype="int8")
    assert (narrow + 1000).tolist() == jax.jit(lambda x: x + 1000)(narrow).tolist() == [-24, -23, -22]
    for compute in (lambda: jnp.arange(3) + 2**40, lambda: jnp.add(2**40, 1),
                    lambda: jax.jit(lambda x: x + 2**40)(jnp.arange(3))):
        with pytest.raises(OverflowError, match="jax_enable_x64"):
            compute()


def test_division_of_integers_is_floating():
    x = jnp.arange(3)
    assert (x / 2).dtype == np.float32 and (x // 2).dtype == np.int32 and jnp.true_divide(True, 2).dtype == np.float32
    with enable_x64(True):
        assert (jnp.arange(3) / 2).dtype == np.float64 and (jnp.arange(3, dtype="int8") / 2).dtype == np.float32


def test_queries():
    assert jnp.result_type(jnp.bfloat16, 1.0) == jnp.bfloat16 and jnp.promote_types("int8", "uint8") == np.int16
    assert jnp.issubdtype(jnp.bfloat16, jnp.floating) and jnp.isdtype(jnp.float32, "real floating")
    assert jnp.can_cast("int32", "int64") and not jnp.can_cast("int64", "int32")
    assert jnp.iscomplexobj(1j) and jnp.isrealobj(jnp.ones(2)) and not jnp.iscomplexobj([1.0])
    assert jnp.isscalar(1) and jnp.isscalar(jnp.float32(1)) and not jnp.isscalar(jnp.ones(1)) and not jnp.isscalar([1])


@pytest.mark.quick
def test_scalar_types():
    assert jnp.float32 == np.float32 and hash(jnp.float32) == hash(np.float32) and np.dtype(jnp.int8) == np.int8
    assert jnp.float32 != jnp.float16 and jnp.dtype("float32") == jnp.float32 and {jnp.float32: 1}[jnp.float32] == 1
    assert jnp.float32(3).dtype == np.float32 and jnp.int32([1, 2]).tolist() == [1, 2]
    assert np.zeros(2, jnp.uint8).dtype == np.uint8 and jnp.bfloat16.dtype == ml_dtypes.bfloat16
    assert repr(jnp.float32) == "<class 'jax.numpy.float32'>" and jnp.finfo(jnp.bfloat16).bits == 16
    assert isinstance(np.float32(1), jnp.float32) and jnp.bool_ is jnp.bool


def test_data_is_recorded_for_both_modes():
    assert json.loads((DATA / "promotion.json").read_text())["table"].keys() == {"standard", "strict"}
