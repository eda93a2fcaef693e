"""The gamma distribution and those made of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.sharding_constraints import laid_out
from jax._ground.structural import broadcast_to_axis, move_axis
from jax._language import rules
from jax._language.avals import typeof
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import cache_lowering, lower_fun
from jax.numpy._promotion import as_dtype
from jax.random._arrays import KeyDType
from jax.random._calls import (
    as_sizes,
    batch_shape,
    float_dtype,
    operand,
    result_shape,
    sampler,
    spread,
    sum_last,
)
from jax.random._impls import threefry
from jax.random._primitives import random_split
from jax.random._uniform import _normal, _rademacher, _uniform, take

# --- the primitive --------------------------------------------------------------------------------------------------

random_gamma_p = Primitive("random_gamma")


def random_gamma(keys: Any, alpha: Any, log_space: bool) -> Any:
    """A gamma variable for each element of ``alpha``, whose leading axes are those of ``keys``; or its logarithm."""
    return random_gamma_p.bind(keys, alpha, log_space=log_space)


def _abstract(keys: Any, alpha: Any, *, log_space: bool) -> Any:
    if not isinstance(keys.dtype, KeyDType):
        raise TypeError(f"random_gamma takes typed keys, got {keys.str_short()}")
    if alpha.shape[:keys.ndim] != keys.shape:
        raise TypeError(f"random_gamma: the leading axes of alpha must be those of the keys, got {keys.str_short()} and "
                        f"{alpha.str_short()}")
    return alpha.strip_weak_type()


def _sample(keys: Any, alpha: Any, *, log_space: bool) -> Any:
    """Every element has a key of its own, so that rejections of one do not show in another."""
    shape, count = typeof(alpha).shape, math.prod(typeof(alpha).shape[keys.ndim:])
    own = lax.reshape(random_split(keys, (count,)), (math.prod(shape),))
    flat = lax.reshape(alpha, (math.prod(shape),))
    if keys.dtype._impl is threefry:
        return lax.reshape(_marsaglia_tsang(own, flat, log_space), shape)
    # Mapped over keys, XLA's generator draws from the first one only, and that one waits once it is accepted.
    one_by_one = lax.map(lambda x: _marsaglia_tsang(*(lax.expand_dims(v, (0,)) for v in x), log_space), (own, flat))
    return lax.reshape(one_by_one, shape)


def _marsaglia_tsang(keys: Any, alpha: Any, log_space: bool) -> Any:
    """Marsaglia and Tsang, "A simple method for generating gamma variables" (2000), for vectors.

    For ``alpha`` below 1 a variable of ``alpha + 1`` is multiplied by ``u**(1/alpha)``.
    """
    dtype = alpha.dtype
    one, third = np.asarray(1, dtype), np.asarray(1 / 3, dtype)
    large = lax.ge(alpha, one)
    d = lax.sub(lax.select_n(large, lax.add(alpha, one), alpha), third)
    c = lax.div(third, lax.sqrt(d))
    pair = random_split(keys, (2,))
    v = _accepted_cube(_column(pair, 0), c, d)
    boost_keys = _column(pair, 1)
    if not log_space:
        u = lax.sub(one, _uniform_each(boost_keys, dtype))
        boost = lax.select_n(large, lax.pow(u, lax.div(one, alpha)), lax.full_like(u, 1))
        return lax.mul(lax.mul(d, v), boost)
    log_u = lax.log1p(lax.neg(_uniform_each(boost_keys, dtype)))
    none = lax.bitwise_or(large, lax.eq(log_u, np.asarray(0, dtype)))
    boost = lax.select_n(none, lax.mul(log_u, lax.div(one, alpha)), lax.full_like(log_u, 0))
    return lax.add(lax.add(lax.log(d), lax.log(v)), boost)


def _accepted_cube(keys: Any, c: Any, d: Any) -> Any:
    """``(1 + c*x)**3`` for normal ``x`` that are accepted."""
    dtype = c.dtype
    one, half, squeeze = np.asarray(1, dtype), np.asarray(0.5, dtype), np.asarray(0.0331, dtype)

    def rejected(x2: Any, v: Any, u: Any) -> Any:
        surely = lax.ge(u, lax.sub(one, lax.mul(squeeze, lax.mul(x2, x2))))
        bound = lax.add(lax.mul(x2, half), lax.mul(d, lax.add(lax.sub(one, v), lax.log(v))))
        return lax.bitwise_and(surely, lax.ge(lax.log(u), bound))

    def attempt(carry: Any) -> Any:
        keys, *before = carry
        again = rejected(*before)
        three = random_split(keys, (3,))
        x, v = _positive_linear(_column(three, 1), c)
        new = (lax.mul(x, x), lax.mul(lax.mul(v, v), v), _uniform_each(_column(three, 2), dtype))
        return (lax.select_n(again, keys, _column(three, 0)),
                *(lax.select_n(again, old, n) for old, n in zip(before, new, strict=True)))

    start = (keys, *(lax.full_like(c, x) for x in (0, 1, 2)))
    return lax.while_loop(lambda carry: _any(rejected(*carry[1:])), attempt, start)[2]


def _positive_linear(keys: Any, c: Any) -> tuple[Any, Any]:
    """Normal ``x`` and ``v = 1 + c*x``, drawn until ``v`` is positive."""
    one, zero = np.asarray(1, c.dtype), np.asarray(0, c.dtype)

    def attempt(carry: Any) -> Any:
        keys, *before = carry
        again = lax.le(before[1], zero)
        pair = random_split(keys, (2,))
        x = _normal_each(_column(pair, 1), c.dtype)
        new = (_column(pair, 0), x, lax.add(one, lax.mul(x, c)))
        return tuple(lax.select_n(again, old, n) for old, n in zip((keys, *before), new, strict=True))

    start = (keys, lax.full_like(c, 0), lax.full_like(c, -1))
    return lax.while_loop(lambda carry: _any(lax.le(carry[2], zero)), attempt, start)[1:]


def _any(mask: Any) -> Any:
    return lax.reduce_or(mask, (0,))


def _column(keys: Any, i: int) -> Any:
    return lax.index_in_dim(keys, i, 1, keepdims=False)


def _uniform_each(keys: Any, dtype: Any) -> Any:
    """A number in [0, 1) for each key."""
    return _uniform(keys, shape=(), dtype=dtype)


def _normal_each(keys: Any, dtype: Any) -> Any:
    return _normal(keys, shape=(), dtype=dtype)


def _jvp(primals: Any, tangents: Any, *, log_space: bool) -> Any:
    keys, alpha = primals
    out = random_gamma(keys, alpha, log_space)
    t = tangents[1]
    if type(t) is Zero:
        return out, Zero.from_primal_value(out)
    sample = out
    if log_space:  # keep away from 0, at which the derivative of the logarithm is not defined
        sample = lax.exp(out)
        tiny = np.asarray(dtypes.finfo(sample.dtype).tiny, sample.dtype)
        sample = lax.select_n(lax.eq(sample, np.asarray(0, sample.dtype)), sample, lax.full_like(sample, tiny))
    slope = lax.random_gamma_grad(alpha, sample)
    return out, lax.mul(t, lax.div(slope, sample) if log_space else slope)


def _batch(args: Any, dims: Any, *, log_space: bool) -> Any:
    (keys, alpha), (dk, da) = args, dims
    if dk is None:  # one key for all examples: each draws the same numbers
        size = typeof(alpha).shape[da]
        keys, dk = broadcast_to_axis(keys, size, 0), 0
    keys = move_axis(keys, dk, 0)
    alpha = broadcast_to_axis(alpha, typeof(keys).shape[0], 0) if da is None else move_axis(alpha, da, 0)
    return random_gamma(keys, alpha, log_space), 0


random_gamma_p.def_abstract_eval(_abstract)
register_lowering(random_gamma_p, cache_lowering(lower_fun(_sample, multiple_results=False)))
rules.primitive_jvps[random_gamma_p] = _jvp
rules.primitive_batchers[random_gamma_p] = _batch


# --- the gamma distribution -----------------------------------------------------------------------------------------

def check_method(api: str, method: str) -> str:
    if method not in ("exact", "approximate"):
        raise ValueError(f"jax.random.{api}: method must be 'exact' or 'approximate', got {method!r}")
    return method


def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact",
          out_sharding: Any = None) -> Any:
    """Numbers of the gamma distribution: density proportional to ``x**(a - 1) * exp(-x)`` for ``x >= 0``.

    Differentiable in ``a``, by implicit reparameterisation (Figurnov, Mohamed and Mnih, 2018).

    Args:
      key: one key.
      a: the positive shape parameter.
      shape: of the result, to which ``a`` broadcasts; by default that of ``a``.
      dtype: a float dtype, by default the default float.
      method: ``"exact"`` rejects (Marsaglia and Tsang, 2000); ``"approximate"`` transforms normal numbers by an
        approximate quantile function (Goldstein, 1973) without loops, and is differentiable like any other program.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.

    Raises:
      ValueError: an unknown ``method``, or ``a`` does not broadcast to ``shape``.

    For small ``a`` results may underflow to 0; :func:`loggamma` does not.
    """
    if out_sharding is not None:
        return laid_out(gamma(key, a, shape, dtype, method=method), out_sharding, "jax.random.gamma")
    return _gamma.run(key, a, shape=result_shape("gamma", shape, a=a), dtype=float_dtype("gamma", dtype),
                      log_space=False, method=check_method("gamma", method))


def loggamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact",
             out_sharding: Any = None) -> Any:
    """Logarithms of gamma variables, accurate where the variables themselves underflow. See :func:`gamma`."""
    if out_sharding is not None:
        return laid_out(loggamma(key, a, shape, dtype, method=method), out_sharding, "jax.random.loggamma")
    return _gamma.run(key, a, shape=result_shape("loggamma", shape, a=a), dtype=float_dtype("loggamma", dtype),
                      log_space=True, method=check_method("loggamma", method))


@sampler
def _gamma(key: Any, a: Any, *, shape: tuple[Any, ...], dtype: Any, log_space: bool, method: str) -> Any:
    a = spread(as_dtype(a, dtype, False), shape)
    if method == "exact":
        return random_gamma(key, a, log_space)
    log = _by_quantiles(key, a, shape, dtype)
    return log if log_space else lax.exp(log)


# Goldstein, Algorithm 451: chi-square quantiles, Communications of the ACM 16 (1973). Coefficients of powers of z
# from the sixth down; each is a polynomial in w, given from its highest power down.
_GOLDSTEIN = (
    (0.001565326, -0.001450117, 9.780499e-05),
    (0.001060438, 0.00253001, -0.0008426812),
    (-0.006950356, 0.005169654, 0.00312558),
    (-0.01323293, -0.01153761, -0.008553069),
    (0.02277679, 0.01128186, 0.0001348028),
    (-0.008986007, 0.02607083, 0.4713941),
    (-0.01513904, -0.2237368, 1.0),
)


def _by_quantiles(key: Any, a: Any, shape: tuple[Any, ...], dtype: Any) -> Any:
    """Logarithms of approximate gamma variables.

    A variable of ``a + 4`` is half a chi-square quantile at a random place, and is led back to ``a`` by uniform numbers.
    """
    def number(x: float) -> Any:
        return np.asarray(x, dtype)

    keys = random_split(key, (2,))
    large = lax.add(a, number(4))
    degrees = lax.mul(number(2), large)
    w = lax.div(number(1), degrees)
    z = lax.mul(_normal(take(keys, 0), shape=shape, dtype=dtype), lax.rsqrt(degrees))
    total: Any = None
    for c2, c1, c0 in _GOLDSTEIN:
        term = lax.add(number(c0), lax.mul(w, lax.add(number(c1), lax.mul(w, number(c2)))))
        total = term if total is None else lax.add(lax.mul(total, z), term)
    cubed = lax.mul(number(3), lax.log(lax.max(total, np.asarray(dtypes.finfo(dtype).tiny, dtype))))
    steps = lax.broadcasted_iota(dtype, (4, *(1,) * len(shape)), 0)
    draws = lax.log1p(lax.neg(_uniform(take(keys, 1), shape=(4, *shape), dtype=dtype)))
    back = lax.div(draws, lax.add(lax.expand_dims(a, (0,)), steps))
    return lax.add(lax.add(lax.log(large), cubed), lax.reduce_sum(back, (0,)))


# --- distributions made of gamma variables --------------------------------------------------------------------------

def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact",
         out_sharding: Any = None) -> Any:
    """Numbers of the beta distribution: density proportional to ``x**(a - 1) * (1 - x)**(b - 1)`` in (0, 1).

    Args:
      key: one key.
      a, b: the positive parameters.
      shape: of the result, to which they broadcast; by default what they broadcast to.
      dtype: a float dtype, by default the default float.
      method: see :func:`gamma`.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(beta(key, a, b, shape, dtype, method=method), out_sharding, "jax.random.beta")
    return _beta.run(key, a, b, shape=result_shape("beta", shape, a=a, b=b), dtype=float_dtype("beta", dtype),
                     method=check_method("beta", method))


@sampler
def _beta(key: Any, a: Any, b: Any, *, shape: tuple[Any, ...], dtype: Any, method: str) -> Any:
    keys = random_split(key, (2,))
    x, y = (_gamma(take(keys, i), p, shape=shape, dtype=dtype, log_space=True, method=method)
            for i, p in enumerate((a, b)))
    top = lax.max(x, y)  # the quotient does not change, and cannot be 0/0
    x, y = lax.exp(lax.sub(x, top)), lax.exp(lax.sub(y, top))
    return lax.div(x, lax.add(x, y))


def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Vectors of the Dirichlet distribution: positive numbers that sum to 1.

    Args:
      key: one key.
      alpha: array whose last axis holds the positive concentrations.
      shape: of the result without its last axis, to which the other axes of ``alpha`` broadcast; by default these.
      dtype: a float dtype, by default the default float.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.

    Raises:
      ValueError: ``alpha`` is a scalar, or does not broadcast.
    """
    if out_sharding is not None:
        return laid_out(dirichlet(key, alpha, shape, dtype), out_sharding, "jax.random.dirichlet")
    own = typeof(alpha).shape
    if not own:
        raise ValueError("jax.random.dirichlet: alpha must have at least one axis, that of the concentrations, got a "
                         "scalar")
    shape = batch_shape("dirichlet", shape, {"alpha": own[:-1]})
    return _dirichlet.run(key, alpha, shape=(*shape, own[-1]), dtype=float_dtype("dirichlet", dtype))


@sampler
def _dirichlet(key: Any, alpha: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    logs = _gamma(key, alpha, shape=shape, dtype=dtype, log_space=True, method="exact")
    last = (len(shape) - 1,)
    top = lax.stop_gradient(lax.reduce_max(logs, last))
    weights = lax.exp(lax.sub(logs, lax.expand_dims(top, last)))
    return lax.div(weights, lax.expand_dims(sum_last(weights), last))


def chisquare(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact",
              out_sharding: Any = None) -> Any:
    """Numbers of the chi-square distribution: sums of ``df`` squares of standard normal numbers.

    Args:
      key: one key.
      df: degrees of freedom, positive.
      shape: of the result, to which ``df`` broadcasts; by default that of ``df``.
      dtype: a float dtype, by default the default float.
      method: see :func:`gamma`.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(chisquare(key, df, shape, dtype, method=method), out_sharding, "jax.random.chisquare")
    return _chisquare.run(key, df, shape=result_shape("chisquare", shape, df=df), dtype=float_dtype("chisquare", dtype),
                          method=check_method("chisquare", method))


@sampler
def _chisquare(key: Any, df: Any, *, shape: tuple[Any, ...], dtype: Any, method: str) -> Any:
    two = np.asarray(2, dtype)
    half = lax.div(as_dtype(df, dtype, False), two)
    logs = _gamma(key, half, shape=shape, dtype=dtype, log_space=True, method=method)
    return lax.mul(lax.exp(logs), two)


def f(key: Any, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of Fisher's F distribution: quotients of chi-square variables, each divided by its degrees of freedom.

    Args:
      key: one key.
      dfnum, dfden: degrees of freedom of numerator and denominator.
      shape: of the result, to which they broadcast; by default what they broadcast to.
      dtype: a float dtype, by default the default float.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(f(key, dfnum, dfden, shape, dtype), out_sharding, "jax.random.f")
    return _f.run(key, dfnum, dfden, shape=result_shape("f", shape, dfnum=dfnum, dfden=dfden),
                  dtype=float_dtype("f", dtype))


@sampler
def _f(key: Any, dfnum: Any, dfden: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    keys = random_split(key, (2,))
    above, below = (lax.div(_chisquare(take(keys, i), df, shape=shape, dtype=dtype, method="exact"),
                            operand(df, dtype, shape)) for i, df in ((1, dfnum), (0, dfden)))
    return lax.div(above, below)


def t(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of Student's t distribution with ``df`` degrees of freedom.

    Args:
      key: one key.
      df: degrees of freedom, positive.
      shape: of the result, to which ``df`` broadcasts; by default that of ``df``.
      dtype: a float dtype, by default the default float.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(t(key, df, shape, dtype), out_sharding, "jax.random.t")
    return _t.run(key, df, shape=result_shape("t", shape, df=df), dtype=float_dtype("t", dtype))


@sampler
def _t(key: Any, df: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    keys = random_split(key, (2,))
    half = lax.div(operand(df, dtype, shape), np.asarray(2, dtype))
    g = _gamma(take(keys, 1), half, shape=shape, dtype=dtype, log_space=False, method="exact")
    return lax.mul(_normal(take(keys, 0), shape=shape, dtype=dtype), lax.sqrt(lax.div(half, g)))


def generalized_normal(key: Any, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers with density proportional to ``exp(-|x|**p)``.

    Args:
      key: one key.
      p: the positive exponent, which broadcasts to ``shape``.
      shape: of the result.
      dtype: a float dtype, by default the default float.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(generalized_normal(key, p, shape, dtype), out_sharding, "jax.random.generalized_normal")
    return _generalized_normal.run(key, p, shape=result_shape("generalized_normal", shape, p=p),
                                   dtype=float_dtype("generalized_normal", dtype))


@sampler
def _generalized_normal(key: Any, p: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    keys = random_split(key, (2,))
    inverse = lax.div(np.asarray(1, dtype), operand(p, dtype, shape))
    g = _gamma(take(keys, 0), inverse, shape=shape, dtype=dtype, log_space=False, method="exact")
    return lax.mul(_rademacher(take(keys, 1), shape=shape, dtype=dtype), lax.pow(g, inverse))


def ball(key: Any, d: int, p: Any = 2, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Points uniform in the unit ball of the p-norm in ``d`` dimensions (Barthe et al., 2005).

    Args:
      key: one key.
      d: the dimension, a positive integer.
      p: the exponent of the norm, a number.
      shape: of the batch; the result has shape ``(*shape, d)``.
      dtype: a float dtype, by default the default float.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(ball(key, d, p, shape, dtype), out_sharding, "jax.random.ball")
    return _ball.run(key, p, shape=(*as_sizes(shape), *as_sizes(d)), dtype=float_dtype("ball", dtype))


@sampler
def _ball(key: Any, p: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    keys = random_split(key, (2,))
    p = as_dtype(p, dtype, False)
    g = _generalized_normal(take(keys, 0), p, shape=shape, dtype=dtype)
    e = lax.neg(lax.log1p(lax.neg(_uniform(take(keys, 1), shape=shape[:-1], dtype=dtype))))
    last = (len(shape) - 1,)
    total = lax.add(sum_last(lax.pow(lax.abs(g), p)), e)
    return lax.div(g, lax.expand_dims(lax.pow(total, lax.div(np.asarray(1, dtype), p)), last))


__all__ = ["ball", "beta", "chisquare", "dirichlet", "f", "gamma", "generalized_normal", "loggamma", "random_gamma_p",
           "t"]
