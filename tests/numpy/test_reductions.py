"""Reductions: values against NumPy, derivatives, mapping, dtypes, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._base.config import enable_x64
from tests import harness
from tests.ops import cases, derivative_cases
from tests.ops_numpy import REDUCTIONS

BFLOAT16 = jnp.bfloat16.dtype


@pytest.mark.parametrize("op, dtype", cases(REDUCTIONS))
def test_values(op, dtype):
    harness.check_values(op, dtype)


@pytest.mark.parametrize("op, dtype", derivative_cases(REDUCTIONS))
def test_derivatives(op, dtype):
    harness.check_jvp(op, dtype)
    harness.check_vjp(op, dtype)


@pytest.mark.parametrize("op, dtype", [pytest.param(op, np.dtype(op.dtypes[-1]), id=op.name)
                                       for op in REDUCTIONS if not op.name.endswith("True]")])
def test_vmap(op, dtype):
    harness.check_vmap(op, dtype)


# --- dtypes -----------------------------------------------------------------------------------------------------

@pytest.mark.quick
@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("name", ["sum", "prod"])
def test_narrow_integers_are_widened(name, x64):
    with enable_x64(x64):
        wide = {"bool": "int", "int8": "int", "int32": "int", "uint8": "uint", "uint32": "uint"}
        for dtype, kind in wide.items():
            out = getattr(jnp, name)(jnp.ones(3, dtype))
            assert out.dtype == f"{kind}{64 if x64 else 32}", dtype
        assert getattr(jnp, name)(jnp.ones(3, "int8"), promote_integers=False).dtype == np.int8
        assert jnp.cumsum(jnp.ones(3, "int8")).dtype == np.int8
        assert jnp.cumulative_sum(jnp.ones(3, "int8")).dtype == f"int{64 if x64 else 32}"


@pytest.mark.parametrize("dtype", [np.dtype("float16"), BFLOAT16])
def test_half_precision_accumulates_in_float32(dtype):
    x = jnp.full(5000, 1.0, dtype)
    assert float(jnp.sum(x)) == float(np.asarray(5000, dtype)) and jnp.sum(x).dtype == dtype
    assert float(jnp.mean(x)) == 1.0 and jnp.mean(x).dtype == dtype
    assert float(jnp.cumsum(x)[-1]) == float(np.asarray(5000, dtype))
    assert jnp.var(x).dtype == dtype and float(jnp.var(x)) == 0
    eqns = jax.make_jaxpr(jnp.sum)(x).eqns
    assert [e.primitive.name for e in eqns] == ["convert_element_type", "reduce_sum", "convert_element_type"]


def test_requested_dtypes():
    x = jnp.arange(4)
    assert jnp.sum(x, dtype="float16").dtype == np.float16 and jnp.mean(x, dtype="int32").dtype == np.int32
    assert jnp.sum(x > 0, dtype=bool).dtype == bool and jnp.cumsum(x, dtype=float).dtype == np.float32
    assert jnp.var(x).dtype == np.float32 and jnp.var(x * 1j).dtype == np.float32
    assert not jnp.sum(1.0).weak_type and not jnp.max(jnp.asarray(1)).weak_type


# --- arguments --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["sum", "max", "mean", "any", "argmax", "median", "cumsum"])
def test_axis_errors(name):
    x = jnp.ones((2, 3))
    with pytest.raises(ValueError, match=rf"{name}: axis 2 is out of bounds .*\(2, 3\)"):
        getattr(jnp, name)(x, axis=2)
    with pytest.raises(TypeError, match="axis must be"):
        getattr(jnp, name)(x, axis=0.5)
    with pytest.raises(TypeError, match=f"{name} requires array .* jnp.array"):
        getattr(jnp, name)([1, 2])


def test_duplicate_axes_and_no_axes():
    x = jnp.ones((2, 3))
    with pytest.raises(ValueError, match="sum: duplicate value"):
        jnp.sum(x, axis=(0, -2))
    assert jnp.sum(x, axis=()).shape == (2, 3) and jnp.sum(x, axis=[0, 1]).shape == ()
    assert jnp.sum(x, axis=np.int64(1)).shape == (2,)


def test_out_is_refused():
    x = jnp.ones(3)
    for name in ("sum", "mean", "max", "any", "argmax", "cumsum", "nansum", "var"):
        with pytest.raises(NotImplementedError, match=f"jnp.{name}.*out="):
            getattr(jnp, name)(x, out=x)


def test_reductions_of_nothing():
    x = jnp.zeros((0, 3))
    for name in ("max", "min", "nanmax"):
        with pytest.raises(ValueError, match="zero-size array to reduction operation m"):
            getattr(jnp, name)(x)
        assert getattr(jnp, name)(x, axis=1).shape == (0,)
        assert getattr(jnp, name)(x, initial=3.0).tolist() == 3.0
    with pytest.raises(ValueError, match="argmax of an empty sequence"):
        jnp.argmax(x)
    assert jnp.sum(x) == 0 and jnp.prod(x) == 1 and jnp.all(x) and not jnp.any(x)
    assert np.isnan(jnp.mean(x)) and np.isnan(jnp.median(x)) and np.isnan(jnp.quantile(x, 0.5))
    with pytest.raises(ValueError, match="max: .*initial="):
        jax.jit(lambda x: jnp.max(x, where=x > 0))(jnp.ones(3))


def test_where_and_initial_errors():
    x = jnp.ones((2, 3))
    with pytest.raises(ValueError, match="where= must be boolean"):
        jnp.sum(x, where=jnp.ones((2, 3)))
    with pytest.raises(ValueError, match="initial= must be a scalar"):
        jnp.sum(x, initial=jnp.ones(3))
    assert jnp.sum(x, where=False) == 0 and np.isnan(jnp.mean(x, where=False))
    assert jnp.sum(x, where=jnp.array([[True], [False]])).tolist() == 3


def test_variance_with_too_few_elements():
    x = jnp.arange(3.0)
    assert np.isnan(jnp.var(x, ddof=3)) and np.isnan(jnp.var(x, ddof=4)) and np.isnan(jnp.nanvar(x, ddof=3))
    assert float(jnp.var(x, correction=1)) == 1.0 and float(jnp.std(x, ddof=jnp.float32(1))) == 1.0
    with pytest.raises(ValueError, match="give one of them"):
        jnp.var(x, ddof=1, correction=1)
    with pytest.raises(ValueError, match="floating or complex"):
        jnp.std(x, dtype="int32")
    mean = jnp.full((2, 1), 1.0)
    got = jnp.var(jnp.ones((2, 3)) * 3, axis=1, mean=mean)
    assert got.tolist() == [4.0, 4.0]


def test_all_nan():
    x = jnp.full((2, 3), jnp.nan)
    for name in ("nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nanmedian"):
        assert np.all(np.isnan(getattr(jnp, name)(x, 0))), name
    assert jnp.nansum(x) == 0 and jnp.nanprod(x) == 1 and jnp.nanargmax(x) == -1
    assert jnp.nanargmin(x, 1).tolist() == [-1, -1]


def test_average():
    x = jnp.arange(6.0).reshape(2, 3)
    mean, total = jnp.average(x, axis=1, weights=jnp.arange(3.0), returned=True)
    np.testing.assert_allclose(mean, np.average(x, axis=1, weights=np.arange(3.0)), rtol=1e-6)
    assert total.tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="need an axis"):
        jnp.average(x, weights=jnp.ones(3))
    with pytest.raises(ValueError, match=r"weights of shape \(3,\)"):
        jnp.average(x, axis=0, weights=jnp.ones(3))
    weights = np.random.default_rng(0).random((3, 2)).astype(np.float32)
    np.testing.assert_allclose(jnp.average(x, axis=(1, 0), weights=weights),
                               np.average(np.asarray(x), axis=(1, 0), weights=weights), rtol=1e-6)


# --- quantiles --------------------------------------------------------------------------------------------------

METHODS = ["linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf",
           "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased"]


@pytest.mark.parametrize("method", METHODS)
def test_quantile_methods(method):
    rng = np.random.default_rng(0)
    q = np.array([0.0, 0.1, 0.25, 0.5, 0.61, 0.99, 1.0])
    with enable_x64(True):
        for n in (1, 2, 5, 8):
            x = rng.normal(size=(3, n))
            np.testing.assert_allclose(jnp.quantile(x, q, axis=1, method=method),
                                       np.quantile(x, q, axis=1, method=method), rtol=1e-12, err_msg=f"{n}")


def test_weighted_quantile():
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(4, 6)), rng.integers(0, 4, (4, 6)).astype(float)
    w[:, 0] += 1
    with enable_x64(True):
        got = jnp.quantile(x, np.array([0.2, 0.7]), axis=1, weights=w, method="inverted_cdf")
        np.testing.assert_allclose(got, np.quantile(x, [0.2, 0.7], axis=1, weights=w, method="inverted_cdf"))


def test_quantile_arguments():
    x = jnp.arange(4.0)
    with pytest.raises(ValueError, match="'hazen'"):
        jnp.quantile(x, 0.5, method="unknown")
    with pytest.raises(ValueError, match="one-dimensional"):
        jnp.quantile(x, jnp.zeros((2, 2)))
    with pytest.raises(ValueError, match="complex"):
        jnp.median(x * 1j)
    with pytest.raises(NotImplementedError, match="inverted_cdf"):
        jnp.quantile(x, 0.5, weights=x)
    with pytest.raises(ValueError, match="overwrite_input"):
        jnp.median(x, overwrite_input=True)
    assert jnp.quantile(jnp.ones((2, 3)), jnp.array([0.1, 0.2]), axis=1, keepdims=True).shape == (2, 2, 1)
    assert jnp.quantile(jnp.arange(3, dtype=jnp.bfloat16), 0.5).dtype == BFLOAT16
    assert np.isnan(jnp.quantile(jnp.array([1.0, np.nan]), 0.2)) and np.isnan(jnp.median(jnp.array([1.0, np.nan])))
    assert float(jnp.median(jnp.array([np.inf, np.inf]))) == np.inf


def test_cumulative_functions():
    x = jnp.arange(1, 5)
    assert jnp.cumulative_sum(x, include_initial=True).tolist() == [0, 1, 3, 6, 10]
    assert jnp.cumulative_prod(x, include_initial=True).tolist() == [1, 1, 2, 6, 24]
    assert jnp.cumsum(jnp.ones((2, 2))).tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="axis must be given"):
        jnp.cumulative_sum(jnp.ones((2, 2)))
    with pytest.raises(ValueError, match="at least one dimension"):
        jnp.cumulative_sum(jnp.float32(1))


# --- programs ---------------------------------------------------------------------------------------------------

@pytest.mark.quick
def test_one_primitive_stays_one_equation():
    x = jnp.ones((2, 3))
    for f in (jnp.sum, jnp.max, jnp.min, jnp.prod, lambda x: jnp.sum(x, axis=-1), lambda x: x.max(0)):
        assert len(jax.make_jaxpr(f)(x).eqns) == 1
    assert len(jax.make_jaxpr(jnp.mean)(x).eqns) == 2


@pytest.mark.quick
def test_histograms_and_covariances_of_nothing():
    for got, want in zip(jnp.histogram(jnp.zeros(0), 3), np.histogram(np.zeros(0), 3), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)
    assert jnp.isnan(jnp.cov(jnp.zeros(0))) and jnp.isnan(jnp.cov(jnp.zeros((2, 0)))).all()
    for function in (jnp.cov, jnp.corrcoef):
        with pytest.raises(TypeError, match="cov requires array or scalar arguments.*None"):
            function(None)


@pytest.mark.quick
def test_quantiles_of_no_rows():
    x = np.zeros((2, 0, 3))
    for name in ("nanmedian", "median"):
        assert getattr(jnp, name)(x, axis=0).shape == (0, 3)
    for name in ("quantile", "nanquantile"):
        assert getattr(jnp, name)(x, np.array([0.1, 0.2]), axis=0, keepdims=True).shape == (2, 1, 0, 3)


@pytest.mark.quick
def test_means_in_integers():
    x = np.array([[1, 2, 4], [-7, 0, 0]])
    for f in (jnp.mean, jnp.nanmean):
        got = f(x, axis=1, dtype=np.int8)
        assert got.dtype == np.int8 and got.tolist() == [2, -2]
    assert jnp.mean(jnp.full(300, 2.0), dtype=np.int8) == 2  # the count does not fit, which does not matter
    assert jnp.mean(x, axis=1, where=x > 0, dtype=np.int32)[0] == 2


@pytest.mark.quick
def test_cumulative_operations_take_a_scalar_for_a_vector():
    for name in ("cumsum", "cumprod", "nancumsum", "nancumprod"):
        for axis in (None, 0, -1):
            assert getattr(jnp, name)(2.5, axis=axis).tolist() == [2.5]
        with pytest.raises(ValueError, match="out of bounds"):
            getattr(jnp, name)(2.5, axis=1)
