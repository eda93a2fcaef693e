"""Continuous distributions without parameters of shape: functions of uniform or normal numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.sharding_constraints import laid_out
from jax._base import config
from jax._language.avals import typeof
from jax.random._calls import as_sizes, float_dtype, operand, result_shape, sampler, sum_last
from jax.random._primitives import random_split
from jax.random._uniform import _normal, _rademacher, _uniform, _uniform_between, take


def _tiny(dtype: Any) -> Any:
    return np.asarray(dtypes.finfo(dtype).tiny, dtype)


def _number(x: float, dtype: Any) -> Any:
    return np.asarray(x, dtype)


# --- exponential and kin --------------------------------------------------------------------------------------------

def exponential(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the exponential distribution with rate 1: density ``exp(-x)`` for ``x >= 0``.

    Args:
      key: one key.
      shape: of the result.
      dtype: a float dtype, by default the default float.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(exponential(key, shape, dtype), out_sharding, "jax.random.exponential")
    return _exponential.run(key, shape=as_sizes(shape), dtype=float_dtype("exponential", dtype))


@sampler
def _exponential(key: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    return lax.neg(lax.log1p(lax.neg(_uniform(key, shape=shape, dtype=dtype))))


def gumbel(key: Any, shape: Any = (), dtype: Any = None, mode: str | None = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the standard Gumbel distribution: density ``exp(-x - exp(-x))``.

    Args:
      key: one key.
      shape: of the result.
      dtype: a float dtype, by default the default float.
      mode: ``"low"`` makes each from one random number, ``"high"`` from two, so that rare large values keep their
        probability; by default as ``jax_high_dynamic_range_gumbel`` says.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.

    Raises:
      ValueError: an unknown ``mode``.
    """
    if out_sharding is not None:
        return laid_out(gumbel(key, shape, dtype, mode), out_sharding, "jax.random.gumbel")
    return _gumbel.run(key, shape=as_sizes(shape), dtype=float_dtype("gumbel", dtype), mode=gumbel_mode("gumbel", mode))


def gumbel_mode(api: str, mode: str | None) -> str:
    if mode is None:
        return "high" if config.high_dynamic_range_gumbel.value else "low"
    if mode not in ("high", "low"):
        raise ValueError(f"jax.random.{api}: mode must be 'high', 'low' or None, got {mode!r}")
    return mode


@sampler
def _gumbel(key: Any, *, shape: tuple[Any, ...], dtype: Any, mode: str) -> Any:
    tiny = _tiny(dtype)
    if mode == "low":
        numbers = _uniform_between(key, tiny, _number(1, dtype), shape=shape, dtype=dtype)
        return lax.neg(lax.log(lax.neg(lax.log(numbers))))
    both = _uniform(key, shape=(2, *shape), dtype=dtype)
    coarse, fine = take(both, 0), take(both, 1)
    # Large values come from numbers near 0, which get the bits of both; near 1 they could not hold more.
    fine = lax.mul(_number(dtypes.finfo(dtype).eps, dtype), fine)
    numbers = lax.add(lax.add(coarse, fine), tiny)
    numbers = lax.select_n(lax.ge(coarse, _number(0.5, dtype)), numbers, coarse)
    return lax.neg(lax.log(lax.neg(lax.log1p(lax.neg(numbers)))))


def laplace(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the Laplace distribution: density ``exp(-|x|) / 2``.

    Args:
      key: one key.
      shape: of the result.
      dtype: a float dtype, by default the default float.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(laplace(key, shape, dtype), out_sharding, "jax.random.laplace")
    return _laplace.run(key, shape=as_sizes(shape), dtype=float_dtype("laplace", dtype))


@sampler
def _laplace(key: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    low = _number(-1 + dtypes.finfo(dtype).epsneg, dtype)
    u = _uniform_between(key, low, _number(1, dtype), shape=shape, dtype=dtype)
    return lax.mul(lax.sign(u), lax.log1p(lax.neg(lax.abs(u))))


def logistic(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the standard logistic distribution, whose distribution function is the sigmoid.

    Args:
      key: one key.
      shape: of the result.
      dtype: a float dtype, by default the default float.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(logistic(key, shape, dtype), out_sharding, "jax.random.logistic")
    return _logistic.run(key, shape=as_sizes(shape), dtype=float_dtype("logistic", dtype))


@sampler
def _logistic(key: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    u = _uniform_between(key, _tiny(dtype), _number(1, dtype), shape=shape, dtype=dtype)
    return lax.sub(lax.log(u), lax.log1p(lax.neg(u)))


def cauchy(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the standard Cauchy distribution: density ``1 / (pi * (1 + x**2))``.

    Args:
      key: one key.
      shape: of the result.
      dtype: a float dtype, by default the default float.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(cauchy(key, shape, dtype), out_sharding, "jax.random.cauchy")
    return _cauchy.run(key, shape=as_sizes(shape), dtype=float_dtype("cauchy", dtype))


@sampler
def _cauchy(key: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    u = _uniform_between(key, _number(dtypes.finfo(dtype).eps, dtype), _number(1, dtype), shape=shape, dtype=dtype)
    return lax.tan(lax.mul(_number(math.pi, dtype), lax.sub(u, _number(0.5, dtype))))


def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the Pareto distribution: density ``b / x**(b + 1)`` for ``x >= 1``.

    Args:
      key: one key.
      b: the positive shape parameter.
      shape: of the result, to which ``b`` broadcasts; by default that of ``b``.
      dtype: a float dtype, by default the default float.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(pareto(key, b, shape, dtype), out_sharding, "jax.random.pareto")
    return _pareto.run(key, b, shape=result_shape("pareto", shape, b=b), dtype=float_dtype("pareto", dtype))


@sampler
def _pareto(key: Any, b: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    return lax.exp(lax.div(_exponential(key, shape=shape, dtype=dtype), operand(b, dtype, shape)))


def weibull_min(key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Numbers of the Weibull distribution: density ``c/s * (x/s)**(c-1) * exp(-(x/s)**c)`` for ``x >= 0``.

    Args:
      key: one key.
      scale: the scale ``s``.
      concentration: the concentration ``c``.
      shape: of the underlying uniform numbers; the result has the shape that it and the parameters broadcast to.
      dtype: a float dtype, by default the default float.
    """
    return _weibull_min.run(key, scale, concentration, shape=as_sizes(shape), dtype=float_dtype("weibull_min", dtype))


@sampler
def _weibull_min(key: Any, scale: Any, concentration: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    out = np.broadcast_shapes(shape, typeof(scale).shape, typeof(concentration).shape)
    e = operand(_exponential(key, shape=shape, dtype=dtype), dtype, out)
    power = lax.pow(e, lax.div(_number(1, dtype), operand(concentration, dtype, out)))
    return lax.mul(power, operand(scale, dtype, out))


def rayleigh(key: Any, scale: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the Rayleigh distribution: density ``x/s**2 * exp(-x**2 / (2*s**2))`` for ``x >= 0``.

    Args:
      key: one key.
      scale: the scale ``s``.
      shape: of the result, to which ``scale`` broadcasts; by default that of ``scale``.
      dtype: a float dtype, by default the default float.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(rayleigh(key, scale, shape, dtype), out_sharding, "jax.random.rayleigh")
    return _rayleigh.run(key, scale, shape=result_shape("rayleigh", shape, scale=scale),
                     dtype=float_dtype("rayleigh", dtype))


@sampler
def _rayleigh(key: Any, scale: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    u = _uniform(key, shape=shape, dtype=dtype)
    return lax.mul(operand(scale, dtype, shape), lax.sqrt(lax.mul(lax.log(u), _number(-2, dtype))))


# --- functions of normal numbers ------------------------------------------------------------------------------------

def truncated_normal(key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None, *,
                     out_sharding: Any = None) -> Any:
    """Numbers of the standard normal distribution cut to the interval from ``lower`` to ``upper``.

    Args:
      key: one key.
      lower, upper: the bounds.
      shape: of the result, to which the bounds broadcast; by default what they broadcast to.
      dtype: a float dtype, by default the default float.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(truncated_normal(key, lower, upper, shape, dtype), out_sharding, "jax.random.truncated_normal")
    return _truncated_normal.run(key, lower, upper, shape=result_shape("truncated_normal", shape, lower=lower, upper=upper),
                             dtype=float_dtype("truncated_normal", dtype))


@sampler
def _truncated_normal(key: Any, lower: Any, upper: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    lower, upper = operand(lower, dtype, shape), operand(upper, dtype, shape)
    root = _number(math.sqrt(2), dtype)
    a, b = lax.erf(lax.div(lower, root)), lax.erf(lax.div(upper, root))
    numbers = lax.mul(root, lax.erf_inv(_uniform_between(key, a, b, shape=shape, dtype=dtype)))
    # By rounding a number could reach a bound, where densities of truncated distributions are zero.
    low = lax.nextafter(lax.stop_gradient(lower), _number(np.inf, dtype))
    high = lax.nextafter(lax.stop_gradient(upper), _number(-np.inf, dtype))
    return lax.min(high, lax.max(low, numbers))


def lognormal(key: Any, sigma: Any = 1.0, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers whose logarithm is normal with mean 0 and standard deviation ``sigma``.

    Args:
      key: one key.
      sigma: the standard deviation of the logarithm.
      shape: of the result, to which ``sigma`` broadcasts; by default that of ``sigma``.
      dtype: a float dtype, by default the default float.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(lognormal(key, sigma, shape, dtype), out_sharding, "jax.random.lognormal")
    return _lognormal.run(key, sigma, shape=result_shape("lognormal", shape, sigma=sigma),
                      dtype=float_dtype("lognormal", dtype))


@sampler
def _lognormal(key: Any, sigma: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    return lax.exp(lax.mul(_normal(key, shape=shape, dtype=dtype), operand(sigma, dtype, shape)))


def maxwell(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the Maxwell distribution: lengths of vectors of three standard normal numbers.

    Args:
      key: one key.
      shape: of the result.
      dtype: a float dtype, by default the default float.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(maxwell(key, shape, dtype), out_sharding, "jax.random.maxwell")
    return _maxwell.run(key, shape=as_sizes(shape), dtype=float_dtype("maxwell", dtype))


@sampler
def _maxwell(key: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    # Computed before the sum, as existing streams are: fused, the sums round differently.
    vectors = lax.optimization_barrier(_normal(key, shape=(*shape, 3), dtype=dtype))
    return lax.sqrt(sum_last(lax.mul(vectors, vectors)))


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Numbers of the Maxwell distribution times random signs, times ``scale`` plus ``loc``.

    Args:
      key: one key.
      loc, scale: location and scale.
      shape: of the samples for each pair of parameters: the result has this shape followed by what the parameters
        broadcast to.
      dtype: a float dtype, by default the default float.
    """
    inner = result_shape("double_sided_maxwell", None, loc=loc, scale=scale)
    return _double_sided_maxwell.run(key, loc, scale, shape=(*as_sizes(shape), *inner),
                                 dtype=float_dtype("double_sided_maxwell", dtype))


@sampler
def _double_sided_maxwell(key: Any, loc: Any, scale: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    keys = random_split(key, (2,))
    lengths = _maxwell(take(keys, 0), shape=shape, dtype=dtype)
    signed = lax.mul(_rademacher(take(keys, 1), shape=shape, dtype=dtype), lengths)
    return lax.add(lax.mul(signed, operand(scale, dtype, shape)), operand(loc, dtype, shape))


def wald(key: Any, mean: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the inverse Gaussian (Wald) distribution with scale 1, by Michael, Schucany and Haas (1976).

    Args:
      key: one key.
      mean: its positive mean.
      shape: of the result, to which ``mean`` broadcasts; by default that of ``mean``.
      dtype: a float dtype, by default the default float.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(wald(key, mean, shape, dtype), out_sharding, "jax.random.wald")
    return _wald.run(key, mean, shape=result_shape("wald", shape, mean=mean), dtype=float_dtype("wald", dtype))


@sampler
def _wald(key: Any, mean: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    keys = random_split(key, (2,))
    mean = operand(mean, dtype, shape)
    v = _normal(take(keys, 0), shape=shape, dtype=dtype)
    z = _uniform(take(keys, 1), shape=shape, dtype=dtype)
    y, mean2 = lax.integer_pow(v, 2), lax.integer_pow(mean, 2)
    y2 = lax.integer_pow(y, 2)
    root = lax.sqrt(lax.add(lax.mul(lax.mul(_number(4, dtype), mean), y), lax.mul(mean2, y2)))
    two = _number(2, dtype)
    x = lax.sub(lax.add(mean, lax.div(lax.mul(mean2, y), two)), lax.mul(lax.div(mean, two), root))
    other = lax.div(mean2, x)
    return lax.select_n(lax.le(z, lax.div(mean, lax.add(mean, x))), other, x)


# --- others ---------------------------------------------------------------------------------------------------------

def triangular(key: Any, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = None, *,
               out_sharding: Any = None) -> Any:
    """Numbers of the triangular distribution from ``left`` to ``right`` with its peak at ``mode``.

    Args:
      key: one key.
      left, mode, right: ends and peak, ``left <= mode <= right``.
      shape: of the result, to which they broadcast; by default what they broadcast to.
      dtype: a float dtype, by default the default float.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(triangular(key, left, mode, right, shape, dtype), out_sharding, "jax.random.triangular")
    return _triangular.run(key, left, mode, right,
                       shape=result_shape("triangular", shape, left=left, mode=mode, right=right),
                       dtype=float_dtype("triangular", dtype))


@sampler
def _triangular(key: Any, left: Any, mode: Any, right: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    left, mode, right = (operand(x, dtype, shape) for x in (left, mode, right))
    width, rise, fall = lax.sub(right, left), lax.sub(mode, left), lax.sub(right, mode)
    u = _uniform(key, shape=shape, dtype=dtype)
    below = lax.add(left, lax.sqrt(lax.mul(lax.mul(u, width), rise)))
    above = lax.sub(right, lax.sqrt(lax.mul(lax.mul(lax.sub(_number(1, dtype), u), width), fall)))
    return lax.select_n(lax.lt(u, lax.div(rise, width)), above, below)


__all__ = ["cauchy", "double_sided_maxwell", "exponential", "gumbel", "laplace", "logistic", "lognormal", "maxwell",
           "pareto", "rayleigh", "triangular", "truncated_normal", "wald", "weibull_min"]
