"""Element-wise operations where definitions matter: ties, zeros, infinities, overflow; and their derivatives there."""

from __future__ import annotations

import numpy as np
import pytest

import jax
from jax import lax
from jax._base.config import enable_x64

INF, NAN = np.inf, np.nan


@pytest.fixture(autouse=True)
def _wide():
    with enable_x64(True):
        yield


def slope(fun, args, position):
    def of_one(x):
        return fun(*args[:position], x, *args[position + 1:])

    return complex(np.asarray(jax.jvp(of_one, (args[position],), (type(args[position])(1),))[1]))


@pytest.mark.parametrize(("fn", "args", "position", "expected"), [
    (lax.max, (1.0, 1.0), 0, 0.5), (lax.max, (2.0, 1.0), 0, 1.0), (lax.max, (2.0, 1.0), 1, 0.0),
    (lax.max, (0.0, -0.0), 1, 0.5), (lax.max, (NAN, 1.0), 0, 0.0), (lax.max, (INF, INF), 0, 0.5),
    (lax.min, (1.0, 1.0), 1, 0.5), (lax.min, (2.0, 1.0), 1, 1.0),
    (lax.max, (1 + 1j, 1 + 1j), 0, 0.5), (lax.max, (1 + 1j, 1 + 2j), 0, 0.0),
    (lax.abs, (0.0,), 0, 1.0), (lax.abs, (-0.0,), 0, 1.0), (lax.abs, (-3.0,), 0, -1.0), (lax.abs, (0j,), 0, 0.0),
    (lax.abs, (3 + 4j,), 0, 0.6),
    (lax.sign, (0.0,), 0, 0.0), (lax.sign, (0j,), 0, 0.0), (lax.sign, (3 + 4j,), 0, 0.128 - 0.096j),
    (lax.sqrt, (0.0,), 0, INF), (lax.cbrt, (0.0,), 0, INF), (lax.rsqrt, (0.0,), 0, -INF),
    (lax.pow, (0.0, 0.0), 0, 0.0), (lax.pow, (0.0, 0.0), 1, 0.0), (lax.pow, (0.0, 1.0), 0, 1.0),
    (lax.pow, (0.0, 2.0), 0, 0.0), (lax.pow, (0.0, 2.0), 1, 0.0), (lax.pow, (0.0, 0.5), 0, INF),
    (lax.pow, (-1.0, 2.0), 0, -2.0), (lax.pow, (-1.0, 2.0), 1, NAN), (lax.pow, (2.0, 0.0), 0, 0.0),
    (lax.pow, (0j, 1 + 0j), 0, 1.0), (lax.pow, (0j, 1 + 0j), 1, 0.0),
    (lambda x: lax.pow(x, 0), (0.0,), 0, 0.0), (lambda x: lax.pow(x, 1), (0.0,), 0, 1.0),
    (lambda x: lax.integer_pow(x, 0), (0.0,), 0, 0.0), (lambda x: lax.integer_pow(x, 1), (0.0,), 0, 1.0),
    (lambda x: lax.integer_pow(x, 2), (0.0,), 0, 0.0),
    (lax.clamp, (0.0, 0.5, 1.0), 1, 1.0), (lax.clamp, (0.0, 0.0, 1.0), 1, 0.0), (lax.clamp, (0.0, 1.0, 1.0), 1, 0.0),
    (lax.clamp, (0.0, -1.0, 1.0), 0, 1.0), (lax.clamp, (0.0, 2.0, 1.0), 2, 1.0), (lax.clamp, (1.0, 0.5, 0.0), 2, 1.0),
    (lax.clamp, (1.0, 0.5, 0.0), 0, 0.0),
    (lax.rem, (5.0, 3.0), 0, 1.0), (lax.rem, (-5.0, 3.0), 1, 1.0), (lax.atan2, (0.0, -1.0), 0, -1.0),
    (lax.log1p, (-1.0,), 0, INF), (lax.asin, (1.0,), 0, INF), (lax.acosh, (1.0,), 0, INF), (lax.atanh, (1.0,), 0, INF),
    (lax.floor, (1.5,), 0, 0.0), (lax.round, (1.5,), 0, 0.0), (lax.nextafter, (1.0, 2.0), 0, 1.0),
    (lax.bessel_i0e, (0.0,), 0, 0.0), (lax.bessel_i1e, (0.0,), 0, 0.5), (lax.erf_inv, (1.0,), 0, INF),
])
def test_derivatives(fn, args, position, expected):
    np.testing.assert_allclose(slope(fn, args, position), expected, rtol=1e-12)


def test_derivative_of_tanh_keeps_its_digits_far_out():
    np.testing.assert_allclose(jax.grad(lax.tanh)(15.0), 1 / np.cosh(15.0) ** 2, rtol=1e-3)


def test_complex_cotangents():
    """The cotangent of z is df/dx - i df/dy."""
    np.testing.assert_allclose(jax.grad(lax.abs)(3 + 4j), 0.6 - 0.8j)
    np.testing.assert_allclose(jax.vjp(lax.imag, 1 + 2j)[1](1.0)[0], -1j)
    np.testing.assert_allclose(jax.vjp(lax.real, 1 + 2j)[1](1.0)[0], 1)
    np.testing.assert_allclose(jax.vjp(lax.conj, 1 + 2j)[1](1 + 1j)[0], 1 - 1j)
    np.testing.assert_allclose(jax.vjp(lax.complex, 1.0, 2.0)[1](1 + 2j), [1, -2])
    np.testing.assert_allclose(jax.grad(lax.exp, holomorphic=True)(1 + 2j), np.exp(1 + 2j))


def test_integer_division():
    i32 = np.int32
    assert int(lax.div(i32(7), i32(-2))) == -3
    assert int(lax.div(i32(7), i32(0))) == -1
    assert int(lax.div(i32(-(2**31)), i32(-1))) == -(2**31)
    assert int(lax.div(np.uint8(7), np.uint8(0))) == 255
    assert int(lax.rem(i32(7), i32(0))) == 7
    assert int(lax.rem(i32(-7), i32(3))) == -1


def test_shifts_out_of_range():
    i32 = np.int32
    assert int(lax.shift_left(i32(1), i32(40))) == 0
    assert int(lax.shift_left(i32(1), i32(-1))) == 0
    assert int(lax.shift_right_arithmetic(i32(-8), i32(40))) == -1
    assert int(lax.shift_right_logical(i32(-8), i32(40))) == 0


def test_select_n_out_of_range_takes_the_nearest():
    assert float(lax.select_n(np.int32(-5), 1.0, 2.0, 3.0)) == 1.0
    assert float(lax.select_n(np.int32(7), 1.0, 2.0, 3.0)) == 3.0


def test_nan_and_zero():
    assert np.isnan(lax.max(NAN, 1.0)) and np.isnan(lax.min(1.0, NAN)) and np.isnan(lax.sign(NAN))
    assert np.signbit(lax.sign(-0.0)) and np.signbit(lax.neg(0.0))
    assert not lax.eq(NAN, NAN) and lax.ne(NAN, NAN)


def test_total_order():
    f = np.float64
    assert lax.lt_to_p.bind(f(-0.0), f(0.0)) and not lax.lt(f(-0.0), f(0.0))
    assert lax.eq_to_p.bind(f(NAN), f(NAN))
    assert lax.lt_to_p.bind(f(INF), f(NAN)) and lax.le_to_p.bind(np.int32(2), np.int32(2))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_base_two_is_exact(dtype):
    top = np.finfo(dtype).maxexp
    n = np.arange(2 - top, top).astype(dtype)
    powers = np.ldexp(np.ones((), dtype), n.astype(int))
    np.testing.assert_array_equal(lax.exp2(n), powers)
    np.testing.assert_array_equal(lax.log2(powers), n)
    np.testing.assert_array_equal(lax.exp2(np.array([INF, -INF, NAN, 5000.0, -5000.0], dtype)), [INF, 0, NAN, INF, 0])
    np.testing.assert_array_equal(lax.log2(np.array([INF, 0.0, -1.0, NAN], dtype)), [INF, -INF, NAN, NAN])


def test_complex_extrema_compare_real_parts_first():
    a, b = np.array([1 + 5j, 2 + 0j, 1 + 1j]), np.array([2 - 1j, 1 + 9j, 1 + 2j])
    np.testing.assert_array_equal(lax.max(a, b), [2 - 1j, 2, 1 + 2j])
    np.testing.assert_array_equal(lax.min(a, b), [1 + 5j, 1 + 9j, 1 + 1j])


def test_mulhi_of_wide_integers():
    for x, y in ((2**62, 2**62 + 5), (-(2**62), 12345678901234567), (-1, 1)):
        assert int(lax.mulhi(np.int64(x), np.int64(y))) == (x * y) >> 64
    assert int(lax.mulhi(np.uint64(2**63), np.uint64(2**63 + 7))) == (2**63 * (2**63 + 7)) >> 64
    assert int(lax.mulhi(np.uint8(200), np.uint8(200))) == 156


def test_rounding_to_fewer_bits():
    x = np.array([1.0 + 2.0**-9, 1e30, 1e-30], np.float32)
    np.testing.assert_array_equal(lax.reduce_precision(x, 5, 10), [1.0 + 2.0**-9, INF, 0.0])
    _, t = jax.jvp(lambda v: lax.reduce_precision(v, 8, 3), (np.float32(1.0),), (np.float32(1.03),))
    assert float(t) == 1.0


@pytest.mark.parametrize(("a", "b"), [(np.float32(1.5), np.float32(NAN)), (np.float32(NAN), np.float32(1.5))])
def test_nextafter_of_nan(a, b):
    assert np.isnan(lax.nextafter(a, b))


def test_creation():
    np.testing.assert_array_equal(lax.broadcasted_iota(np.int8, (2, 3), 1), [[0, 1, 2]] * 2)
    np.testing.assert_array_equal(lax.iota(np.complex64, 3), [0, 1, 2])
    np.testing.assert_array_equal(lax.full((2, 2), 7, np.uint8), np.full((2, 2), 7))
    np.testing.assert_array_equal(lax.full((2,), True), [True, True])
    np.testing.assert_array_equal(lax.full_like(np.ones((2, 3)), 4.0, shape=(1,)), [4.0])
    np.testing.assert_array_equal(lax.zeros_like_array(np.ones(3)), np.zeros(3))
    assert lax.empty((2, 3), np.float32).shape == (2, 3)
    assert lax.full((), 3).shape == ()
    assert lax.dtype(2.0) == np.float64
