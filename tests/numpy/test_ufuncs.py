"""Element-wise functions: values against NumPy, derivatives, mapping, and the methods of ufuncs."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._base.config import enable_x64
from tests import harness
from tests.ops import cases, derivative_cases
from tests.ops_numpy import COMPOSITE, SINGLE


@pytest.mark.parametrize("op, dtype", cases(SINGLE + COMPOSITE))
def test_values(op, dtype):
    harness.check_values(op, dtype)


@pytest.mark.parametrize("op, dtype", derivative_cases(COMPOSITE))
def test_derivatives(op, dtype):
    harness.check_jvp(op, dtype)
    harness.check_vjp(op, dtype)


@pytest.mark.parametrize("op, dtype", [pytest.param(op, np.dtype(op.dtypes[0]), id=op.name) for op in COMPOSITE])
def test_vmap(op, dtype):
    harness.check_vmap(op, dtype)


# --- special values ---------------------------------------------------------------------------------------------

SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, 2.5, 3.5, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3e38, 1e-38], np.float32)


@pytest.mark.parametrize("name", [
    "signbit", "isnan", "isinf", "isfinite", "isposinf", "isneginf", "rint", "trunc", "floor", "ceil", "sign", "absolute",
    "modf", "spacing", "nan_to_num", "square"])
def test_special_values_of_one_operand(name):
    values = SPECIAL if name == "signbit" else SPECIAL[:9]  # XLA's arithmetic takes subnormal numbers for zeros
    with np.errstate(all="ignore"):
        want = getattr(np, name)(values)
    harness.assert_close(getattr(jnp, name)(values), want, 1e-6, name)


@pytest.mark.parametrize("name", [
    "maximum", "minimum", "fmax", "fmin", "copysign", "hypot", "logaddexp", "logaddexp2", "heaviside", "floor_divide",
    "remainder", "fmod", "nextafter", "equal", "less"])
def test_special_values_of_two_operands(name):
    x, y = SPECIAL[:9, None], SPECIAL[None, :9]
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x, y)
    harness.assert_close(getattr(jnp, name)(x, y), want, 2e-6, name)


def test_signs_of_zeros():
    assert np.signbit(jnp.modf(-3.0)[0]) and np.signbit(jnp.copysign(0.0, -1.0)) and np.signbit(jnp.trunc(-0.5))
    assert np.signbit(-jnp.float32(0)) and np.signbit(jnp.array([0.0]) * -1.0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_frexp_and_ldexp_are_inverse(dtype):
    with enable_x64(dtype == "float64"):
        info = jnp.finfo(dtype)
        values = np.array([0, 1, -1.5, 1e-3, 1000, float(info.max), float(info.smallest_normal), np.inf, -np.inf])
        x = jnp.array(values, dtype)
        m, e = jnp.frexp(x)
        assert m.dtype == x.dtype and e.dtype == np.int32
        finite = np.isfinite(values) & (values != 0)
        assert np.all((np.abs(np.asarray(m, float)) >= 0.5)[finite] & (np.abs(np.asarray(m, float)) < 1)[finite])
        assert np.array_equal(jnp.ldexp(m, e), x)


def test_spacing_of_small_numbers():
    values = np.array([1e-38, -1.5e-38, 2.4e-38, 1e-42, 0.0], np.float32)
    assert jnp.spacing(values).tolist() == np.spacing(values).tolist()
    assert jnp.spacing(jnp.array([1, -2], "bfloat16")).tolist() == [2.0**-7, -(2.0**-6)]


def test_bits_of_booleans():
    assert jnp.left_shift(True, jnp.array([1, 3])).tolist() == [2, 8] and int(jnp.right_shift(True, True)) == 0
    assert int(jnp.bitwise_count(True)) == 1 and int(jnp.gcd(6, -4)) == 2


def test_complex_numbers_where_they_have_no_meaning():
    for f in (jnp.fabs, jnp.hypot, jnp.copysign, jnp.heaviside, jnp.frexp, jnp.modf, jnp.signbit, jnp.spacing, jnp.i0,
              jnp.isposinf, jnp.floor_divide, jnp.remainder, jnp.floor, jnp.trunc):
        with pytest.raises(TypeError):
            f(*[jnp.ones(2) * 1j] * (2 if f in (jnp.hypot, jnp.copysign, jnp.heaviside, jnp.floor_divide,
                                                jnp.remainder) else 1))
    with pytest.raises(ValueError, match="jnp.real"):
        jnp.clip(1j, 0, 1)


def test_ldexp_far_out_of_range():
    assert float(jnp.ldexp(1.0, 1000)) == np.inf and float(jnp.ldexp(1.0, -1000)) == 0
    assert float(jnp.ldexp(jnp.float32(2.0**-120), 240)) == 2.0**120


def test_integer_division_by_zero_is_defined():
    x = jnp.array([5, -5, 0])
    assert jnp.remainder(x, 0).tolist() == [0, 0, 0] and jnp.fmod(x, 0).tolist() == [0, 0, 0]
    assert jnp.gcd(0, 0) == 0 and jnp.lcm(0, 3) == 0 and jnp.gcd(-4, 6) == 2


def test_logaddexp_derivative_at_infinities():
    grad = jax.grad(jnp.logaddexp, (0, 1))
    assert [float(g) for g in grad(-np.inf, 1.0)] == [0.0, 1.0]
    assert not any(np.isnan(g) for g in grad(np.inf, np.inf))


# --- ufuncs -----------------------------------------------------------------------------------------------------

UFUNCS = {"add": (2, 0), "subtract": (2, None), "multiply": (2, 1), "negative": (1, None), "maximum": (2, None),
          "minimum": (2, None), "logical_and": (2, True), "logical_or": (2, False), "logical_xor": (2, False),
          "bitwise_and": (2, -1), "bitwise_or": (2, 0), "bitwise_xor": (2, 0), "logaddexp": (2, -np.inf),
          "logaddexp2": (2, -np.inf)}
BINARY = [name for name, (nin, _) in UFUNCS.items() if nin == 2]


@pytest.mark.parametrize("name", UFUNCS)
def test_attributes(name):
    f = getattr(jnp, name)
    assert isinstance(f, jnp.ufunc) and (f.nin, f.identity, f.nout) == (*UFUNCS[name], 1)
    assert f.__name__ == name and repr(f) == f"<jnp.ufunc '{name}'>" and f == f and hash(f) == hash(f) and f.__doc__


def _data(name, shape=(4, 3)):
    values = np.random.default_rng(1).integers(-4, 5, shape)
    return values.astype(np.int32 if name.startswith("bitwise") else bool if name.startswith("logical") else np.float32)


@pytest.mark.parametrize("name", BINARY)
def test_reduce_accumulate_and_outer(name):
    f, numpy = getattr(jnp, name), getattr(np, name)
    x = _data(name)
    for got, want in [(f.reduce(x), numpy.reduce(x)), (f.reduce(x, axis=-1, keepdims=True),
                                                       numpy.reduce(x, axis=-1, keepdims=True)),
                      (f.accumulate(x, axis=1), numpy.accumulate(x, axis=1)), (f.outer(x, x[0]), numpy.outer(x, x[0]))]:
        harness.assert_close(got, want, 1e-5, name)
    if f.identity is not None:
        harness.assert_close(f.reduce(x, axis=None), numpy.reduce(x, axis=None), 1e-5, name)
        mask = np.arange(12).reshape(4, 3) % 2 == 0
        harness.assert_close(f.reduce(x, where=mask), numpy.reduce(x, where=mask), 1e-5, name)


@pytest.mark.parametrize("name", BINARY)
def test_at_and_reduceat(name):
    f, numpy = getattr(jnp, name), getattr(np, name)
    x = _data(name)
    index, values = np.array([0, 2, 0]), _data(name, (3, 3))
    want = x.copy()
    numpy.at(want, index, values)
    harness.assert_close(f.at(x, index, values, inplace=False), want, 1e-5, name)
    where = np.array([0, 2, 1, 3])
    harness.assert_close(f.reduceat(x, where), numpy.reduceat(x, where), 1e-5, name)


def test_negative_at():
    assert jnp.negative.at(jnp.arange(3), jnp.array([1]), inplace=False).tolist() == [0, -1, 2]


def test_frompyfunc():
    f = jnp.frompyfunc(lambda x, y: x * 10 + y, 2, 1, identity=0)
    assert isinstance(f, jnp.ufunc) and f(jnp.arange(3), 1).tolist() == [1, 11, 21]
    assert f.reduce(jnp.arange(1, 5)).tolist() == 1234
    assert f.accumulate(jnp.arange(1, 5)).tolist() == [1, 12, 123, 1234]
    assert f.at(jnp.arange(3), jnp.array([1, 1]), 5, inplace=False).tolist() == [0, 155, 2]
    two = jnp.frompyfunc(lambda x: (x, -x), 1, 2)
    assert [v.tolist() for v in two(jnp.arange(2))] == [[0, 1], [0, -1]]


def test_ufunc_errors():
    x = jnp.arange(3.0)
    with pytest.raises(NotImplementedError, match="inplace=False"):
        jnp.add.at(x, 0, 1.0)
    with pytest.raises(NotImplementedError, match="out="):
        jnp.add(x, x, out=x)
    with pytest.raises(NotImplementedError, match="jnp.where"):
        jnp.add(x, x, where=x > 0)
    with pytest.raises(TypeError, match="2 array arguments, got 1"):
        jnp.add(x)
    with pytest.raises(ValueError, match="needs a function of 2 arguments"):
        jnp.negative.reduce(x)
    with pytest.raises(ValueError, match="nothing to reduce"):
        jnp.subtract.reduce(jnp.zeros((0, 2)))
    with pytest.raises(ValueError, match="initial= must be given"):
        jnp.maximum.reduce(x, where=x > 0)


# --- programs ---------------------------------------------------------------------------------------------------

SIMPLE = [(jnp.add, 2), (jnp.multiply, 2), (jnp.true_divide, 2), (jnp.sin, 1), (jnp.exp, 1), (jnp.maximum, 2),
          (jnp.less, 2), (jnp.negative, 1), (jnp.sqrt, 1), (jnp.arctan2, 2), (jnp.floor, 1)]


@pytest.mark.quick
@pytest.mark.parametrize("f, nin", SIMPLE, ids=lambda v: getattr(v, "__name__", ""))
def test_one_primitive_stays_one_equation(f, nin):
    x = jnp.ones((2, 3))
    assert len(jax.make_jaxpr(f)(*(x,) * nin).eqns) == 1
    if nin == 2:
        (eqn,) = jax.make_jaxpr(lambda x: f(x, 2))(x).eqns
        assert eqn.invars[1].val == 2.0


def test_composites_are_inlined():
    x = jnp.ones((2, 3))
    for f in (jnp.hypot, jnp.logaddexp2, jnp.remainder):
        names = {eqn.primitive.name for eqn in jax.make_jaxpr(f)(x, x).eqns}
        assert "jit" not in names
