"""Distributions of counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.sharding_constraints import laid_out
from jax._language.avals import typeof
from jax.numpy._promotion import as_dtype
from jax.random._calls import (
    as_sizes,
    batch_shape,
    float_dtype,
    integer_dtype,
    operand,
    result_shape,
    sampler,
    spread,
)
from jax.random._gamma import check_method
from jax.random._primitives import for_loop, random_split
from jax.random._uniform import _normal, _uniform, take


def _any(mask: Any) -> Any:
    return lax.reduce_or(mask, tuple(range(typeof(mask).ndim)))


# --- geometric ------------------------------------------------------------------------------------------------------

def geometric(key: Any, p: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """How many trials the first success takes: ``k >= 1`` with probability ``p * (1 - p)**(k - 1)``.

    Args:
      key: one key.
      p: the probability of success.
      shape: of the result, to which ``p`` broadcasts; by default that of ``p``.
      dtype: an integer dtype, by default the default integer.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(geometric(key, p, shape, dtype), out_sharding, "jax.random.geometric")
    return _geometric.run(key, p, shape=result_shape("geometric", shape, p=p), dtype=integer_dtype("geometric", dtype))


@sampler
def _geometric(key: Any, p: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    own = typeof(p).dtype
    real = own if dtypes.issubdtype(own, np.floating) else dtypes.scalar_dtype(float)
    u = _uniform(key, shape=shape, dtype=real)
    one, zero = np.asarray(1, real), np.asarray(0, real)
    u = lax.select_n(lax.eq(u, zero), u, lax.full_like(u, one))
    waited = lax.floor(lax.div(lax.log(u), lax.log1p(lax.neg(operand(p, real, shape)))))
    return lax.convert_element_type(lax.add(waited, one), dtype)


# --- poisson --------------------------------------------------------------------------------------------------------

def poisson(key: Any, lam: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact",
            out_sharding: Any = None) -> Any:
    """Counts of the Poisson distribution: ``k >= 0`` with probability ``lam**k * exp(-lam) / k!``.

    Args:
      key: one key.
      lam: the mean, not negative.
      shape: of the result, to which ``lam`` broadcasts; by default that of ``lam``.
      dtype: an integer dtype, by default the default integer.
      method: ``"exact"`` multiplies uniform numbers (Knuth) for means below 10 and rejects (Hörmann, 1993) above;
        ``"approximate"`` turns one normal number into each count, without loops (Peizer and Pratt, 1968).
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.

    Raises:
      ValueError: an unknown ``method``, no integer dtype, or ``lam`` does not broadcast to ``shape``.
    """
    if out_sharding is not None:
        return laid_out(poisson(key, lam, shape, dtype, method=method), out_sharding, "jax.random.poisson")
    return _poisson.run(key, lam, shape=result_shape("poisson", shape, lam=lam), dtype=integer_dtype("poisson", dtype),
                        method=check_method("poisson", method))


@sampler
def _poisson(key: Any, lam: Any, *, shape: tuple[Any, ...], dtype: Any, method: str) -> Any:
    lam = spread(as_dtype(lam, np.dtype(np.float32), False), shape)
    if method == "approximate":
        return lax.convert_element_type(_poisson_by_quantiles(key, lam), dtype)
    small = lax.bitwise_or(lax.ne(lam, lam), lax.lt(lam, np.float32(10)))
    few = _poisson_products(key, lax.select_n(small, lax.full_like(lam, 0), lam), dtype)
    many = _poisson_rejection(key, lax.select_n(small, lam, lax.full_like(lam, 1e5)))
    counts = lax.select_n(small, lax.convert_element_type(many, dtype), few)
    return lax.select_n(lax.eq(lam, np.float32(0)), counts, lax.full_like(counts, 0))


def _poisson_products(key: Any, lam: Any, dtype: Any) -> Any:
    """How many uniform numbers can be multiplied until the product is below ``exp(-lam)`` (in logarithms)."""
    goal = lax.neg(lam)

    def step(carry: Any) -> Any:
        count, key, log_product = carry
        keys = random_split(for_loop(key), (2,))
        count = lax.select_n(lax.gt(log_product, goal), count, lax.add(count, np.asarray(1, dtype)))
        u = _uniform(take(keys, 1), shape=lam.shape, dtype=lam.dtype)
        return count, take(keys, 0), lax.add(log_product, lax.log(u))

    start = (lax.full(lam.shape, 0, dtype), key, lax.full_like(lam, 0))
    counted = lax.while_loop(lambda carry: _any(lax.gt(carry[2], goal)), step, start)[0]
    return lax.sub(counted, np.asarray(1, dtype))


def _poisson_rejection(key: Any, lam: Any) -> Any:
    """Hörmann, "The transformed rejection method for generating Poisson random variables" (1993), algorithm PTRS."""
    def number(x: float) -> Any:
        return np.asarray(x, lam.dtype)

    log_lam = lax.log(lam)
    b = lax.add(number(0.931), lax.mul(number(2.53), lax.sqrt(lam)))
    a = lax.add(number(-0.059), lax.mul(number(0.02483), b))
    inverse_alpha = lax.add(number(1.1239), lax.div(number(1.1328), lax.sub(b, number(3.4))))
    v_r = lax.sub(number(0.9277), lax.div(number(3.6224), lax.sub(b, number(2))))

    def step(carry: Any) -> Any:
        found, done, key = carry
        keys = random_split(for_loop(key), (3,))
        u = lax.sub(_uniform(take(keys, 1), shape=lam.shape, dtype=lam.dtype), number(0.5))
        v = _uniform(take(keys, 2), shape=lam.shape, dtype=lam.dtype)
        us = lax.sub(number(0.5), lax.abs(u))
        k = lax.floor(lax.add(lax.add(lax.mul(lax.add(lax.div(lax.mul(number(2), a), us), b), u), lam), number(0.43)))
        s = lax.log(lax.div(lax.mul(v, inverse_alpha), lax.add(lax.div(a, lax.mul(us, us)), b)))
        density = lax.sub(lax.add(lax.neg(lam), lax.mul(k, log_lam)), lax.lgamma(lax.add(k, number(1))))
        surely = lax.bitwise_and(lax.ge(us, number(0.07)), lax.le(v, v_r))
        never = lax.bitwise_or(lax.lt(k, number(0)), lax.bitwise_and(lax.lt(us, number(0.013)), lax.gt(v, us)))
        accepted = lax.bitwise_or(surely, lax.bitwise_and(lax.bitwise_not(never), lax.le(s, density)))
        return lax.select_n(accepted, found, k), lax.bitwise_or(done, accepted), take(keys, 0)

    start = (lax.full_like(lam, -1), lax.full(lam.shape, False, np.dtype(bool)), key)
    return lax.while_loop(lambda carry: _any(lax.bitwise_not(carry[1])), step, start)[0]


def _poisson_by_quantiles(key: Any, lam: Any) -> Any:
    z = _normal(key, shape=lam.shape, dtype=lam.dtype)
    return lax.select_n(lax.lt(lam, np.float32(7)), _poisson_quantile_near(z, lam), _summed_quantile(z, lam))


def _summed_quantile(z: Any, lam: Any) -> Any:
    """The quantile of small means: the sum of the first probabilities, compared with that of the normal number."""
    root = np.float32(math.sqrt(0.5))
    x = lax.mul(z, root)
    far = lax.abs(x)
    tail = lax.erfc(far)
    two_phi = lax.select_n(lax.lt(far, root), lax.select_n(lax.gt(x, np.float32(0)), tail, lax.sub(np.float32(2), tail)),
                           lax.add(np.float32(1), lax.erf(x)))
    u = lax.mul(np.float32(0.5), two_phi)
    term = total = lax.exp(lax.neg(lam))
    count = lax.convert_element_type(lax.lt(total, u), lam.dtype)
    for k in range(1, 19):
        term = lax.mul(term, lax.div(lam, np.float32(k)))
        total = lax.add(total, term)
        count = lax.add(count, lax.convert_element_type(lax.lt(total, u), lam.dtype))
    return count


def _poisson_quantile_near(z: Any, lam: Any) -> Any:
    """The quantile of large means: a Cornish-Fisher guess, corrected where the normal approximation says so."""
    root = lax.sqrt(lam)
    z2 = lax.square(z)
    guess = lax.add(lax.sub(lax.add(lam, lax.mul(root, z)), np.float32(2 / 3)), lax.div(z2, np.float32(6)))
    guess = lax.add(guess, lax.div(lax.mul(z, lax.sub(np.float32(1), z2)), lax.mul(np.float32(72), root)))
    guess = lax.ceil(lax.add(guess, np.float32(0.6)))
    count = lax.add(guess, np.float32(1))
    for k in (guess, lax.sub(guess, np.float32(1))):
        count = lax.sub(count, lax.convert_element_type(lax.ge(_peizer_pratt(k, lam), z), lam.dtype))
    return lax.max(count, np.float32(0))


def _peizer_pratt(k: Any, lam: Any) -> Any:
    """The normal number below which a normal variable lies as often as the count does not exceed ``k``."""
    negative = lax.lt(k, np.float32(0))
    k = lax.max(k, np.float32(0))
    x = lax.div(lax.add(k, np.float32(0.5)), lam)
    v = lax.sub(x, np.float32(1))
    near = lax.lt(lax.abs(v), np.float32(0.25))
    series = lax.full_like(v, 0)
    for i in range(9, 0, -1):
        series = lax.mul(v, lax.add(np.float32((-1) ** i * 2 / ((i + 1) * (i + 2))), series))
    x = lax.select_n(near, x, lax.full_like(x, 2))
    w = lax.select_n(near, v, lax.full_like(v, 1))
    direct = lax.div(lax.add(lax.sub(np.float32(1), lax.square(x)), lax.mul(lax.mul(np.float32(2), x), lax.log(x))),
                     lax.square(w))
    g = lax.select_n(near, direct, series)
    shift = lax.add(lax.add(lax.sub(k, lam), np.float32(2 / 3)), lax.div(np.float32(0.02), lax.add(k, np.float32(1))))
    z = lax.mul(shift, lax.sqrt(lax.div(lax.add(np.float32(1), g), lam)))
    return lax.select_n(negative, z, lax.full_like(z, -np.inf))


# --- binomial -------------------------------------------------------------------------------------------------------

def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """How many of ``n`` trials succeed, each with probability ``p``.

    Args:
      key: one key.
      n: the number of trials, not negative.
      p: the probability of success.
      shape: of the result, to which they broadcast; by default what they broadcast to.
      dtype: a float dtype, by default the default float: counts are whole numbers of it, and NaN where ``n`` or ``p``
        is not in its range.

    Small counts are found by inversion, others by transformed rejection (Hörmann, 1993).
    """
    return _binomial.run(key, n, p, shape=result_shape("binomial", shape, n=n, p=p), dtype=float_dtype("binomial", dtype))


@sampler
def _binomial(key: Any, n: Any, p: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    n, p = (spread(as_dtype(x, dtype, False), shape) for x in (n, p))

    def number(x: float) -> Any:
        return np.asarray(x, dtype)

    below_half = lax.lt(p, number(0.5))
    q = lax.select_n(below_half, lax.sub(number(1), p), p)
    bad_n = lax.bitwise_or(lax.ne(n, n), lax.lt(n, number(0)))
    endless = lax.eq(lax.abs(n), number(np.inf))
    q_nan, q_negative = lax.ne(q, q), lax.lt(q, number(0))
    safe = lax.select_n(lax.bitwise_or(q_nan, q_negative), q, lax.full_like(q, 0.01))
    few = lax.bitwise_or(bad_n, lax.le(lax.mul(n, safe), number(10)))
    whole = lax.floor(n)
    counts = lax.select_n(
        few,
        _binomial_rejection(key, lax.select_n(few, whole, lax.full_like(n, 1e4)),
                            lax.select_n(few, safe, lax.full_like(n, 0.5))),
        _binomial_inversion(key, lax.select_n(few, lax.full_like(n, 0), whole), safe))
    invalid = lax.bitwise_or(lax.bitwise_or(q_negative, q_nan), bad_n)
    counts = lax.select_n(invalid, counts, lax.full_like(counts, np.nan))
    counts = lax.select_n(lax.bitwise_and(endless, lax.bitwise_not(invalid)), counts, lax.full_like(counts, np.inf))
    keep = lax.bitwise_or(lax.bitwise_or(below_half, bad_n), lax.bitwise_or(q_nan, endless))
    return lax.select_n(keep, lax.sub(whole, counts), counts)


def _binomial_inversion(key: Any, n: Any, p: Any) -> Any:
    """Counts the geometric waiting times that fit into ``n`` trials."""
    log_fail = lax.log1p(lax.neg(p))

    def step(carry: Any) -> Any:
        count, waited, key = carry
        keys = random_split(for_loop(key), (2,))
        count = lax.select_n(lax.le(waited, n), count, lax.add(count, np.asarray(1, n.dtype)))
        u = _uniform(take(keys, 0), shape=n.shape, dtype=n.dtype)
        return count, lax.add(waited, lax.ceil(lax.div(lax.log(u), log_fail))), take(keys, 1)

    start = (lax.full_like(n, 0), lax.full_like(n, 0), key)
    counted = lax.while_loop(lambda carry: _any(lax.le(carry[1], n)), step, start)[0]
    return lax.sub(counted, np.asarray(1, n.dtype))


# log(k!) minus Stirling's approximation of it, for k = 0, 1, ...
_STIRLING_TAILS = tuple(math.lgamma(k + 1) - (k + 0.5) * math.log(k + 1) + (k + 1) - 0.5 * math.log(2 * math.pi)
                        for k in range(10))


def _stirling_tail(k: Any) -> Any:
    """The error of Stirling's approximation of ``log(k!)``.

    Beyond the table it is the value at its end, not the series at ``k``: there the tails that are added and subtracted
    nearly cancel, and existing streams depend on it.
    """
    dtype = k.dtype
    held = lax.clamp(np.asarray(0, dtype), k, np.asarray(9, dtype))
    one = lax.add(held, np.asarray(1, dtype))
    square = lax.mul(one, one)
    series = lax.sub(np.asarray(1 / 360, dtype), lax.div(np.asarray(1 / 1260, dtype), square))
    series = lax.div(lax.sub(np.asarray(1 / 12, dtype), lax.div(series, square)), one)
    index = lax.convert_element_type(held, np.dtype(np.int32))
    exact = lax.full_like(k, _STIRLING_TAILS[9])
    for i in range(9):
        exact = lax.select_n(lax.eq(index, np.int32(i)), exact, lax.full_like(k, _STIRLING_TAILS[i]))
    return lax.select_n(lax.le(k, np.asarray(9, dtype)), series, exact)


def _binomial_rejection(key: Any, n: Any, p: Any) -> Any:
    """Hörmann, "The generation of binomial random variates" (1993), algorithm BTRS."""
    def number(x: float) -> Any:
        return np.asarray(x, n.dtype)

    fail = lax.sub(number(1), p)
    deviation = lax.sqrt(lax.mul(lax.mul(n, p), fail))
    b = lax.add(number(1.15), lax.mul(number(2.53), deviation))
    a = lax.add(lax.add(number(-0.0873), lax.mul(number(0.0248), b)), lax.mul(number(0.01), p))
    c = lax.add(lax.mul(n, p), number(0.5))
    v_r = lax.sub(number(0.92), lax.div(number(4.2), b))
    r = lax.div(p, fail)
    alpha = lax.mul(lax.add(number(2.83), lax.div(number(5.1), b)), deviation)
    m = lax.floor(lax.mul(lax.add(n, number(1)), p))
    n1 = lax.add(n, number(1))
    nm = lax.add(lax.sub(n, m), number(1))
    mode = lax.mul(lax.add(m, number(0.5)), lax.log(lax.div(lax.add(m, number(1)), lax.mul(r, nm))))
    tails = (_stirling_tail(m), _stirling_tail(lax.sub(n, m)))

    def step(carry: Any) -> Any:
        found, done, key = carry
        keys = random_split(for_loop(key), (3,))
        u = lax.sub(_uniform(take(keys, 1), shape=n.shape, dtype=n.dtype), number(0.5))
        v = _uniform(take(keys, 2), shape=n.shape, dtype=n.dtype)
        us = lax.sub(number(0.5), lax.abs(u))
        surely = lax.bitwise_and(lax.ge(us, number(0.07)), lax.le(v, v_r))
        k = lax.floor(lax.add(lax.mul(lax.add(lax.div(lax.mul(number(2), a), us), b), u), c))
        outside = lax.bitwise_or(lax.lt(k, number(0)), lax.gt(k, n))
        v = lax.log(lax.div(lax.mul(v, alpha), lax.add(lax.div(a, lax.mul(us, us)), b)))
        nk = lax.add(lax.sub(n, k), number(1))
        bound = lax.add(mode, lax.mul(n1, lax.log(lax.div(nm, nk))))
        bound = lax.add(bound, lax.mul(lax.add(k, number(0.5)),
                                       lax.log(lax.div(lax.mul(r, nk), lax.add(k, number(1))))))
        bound = lax.sub(lax.add(lax.add(bound, tails[0]), tails[1]), _stirling_tail(k))
        bound = lax.sub(bound, _stirling_tail(lax.sub(n, k)))
        accepted = lax.bitwise_or(surely, lax.bitwise_and(lax.bitwise_not(outside), lax.le(v, bound)))
        return lax.select_n(accepted, found, k), lax.bitwise_or(done, accepted), take(keys, 0)

    start = (lax.full_like(n, -1), lax.full(n.shape, False, np.dtype(bool)), key)
    return lax.while_loop(lambda carry: _any(lax.bitwise_not(carry[1])), step, start)[0]


def multinomial(key: Any, n: Any, p: Any, *, shape: Any = None, dtype: Any = None, unroll: int | bool = 1) -> Any:
    """How often each of several outcomes occurs in ``n`` trials.

    Args:
      key: one key.
      n: the number of trials.
      p: array whose last axis holds the probabilities of the outcomes.
      shape: of the result, last axis included, to which ``n`` (without it) and ``p`` broadcast.
      dtype: a float dtype, by default the default float.
      unroll: of the loop over outcomes, see :func:`jax.lax.scan`.

    Raises:
      ValueError: the parameters do not broadcast to ``shape``.
    """
    own = typeof(p).shape
    if not own:
        raise ValueError("jax.random.multinomial: p must have at least one axis, that of the outcomes, got a scalar")
    given = {"n": typeof(n).shape, "p without its last axis": own[:-1]}
    wanted = None if shape is None else as_sizes(shape)
    if wanted is not None and wanted[-1:] != own[-1:]:
        raise ValueError(f"jax.random.multinomial: the last axis of shape={wanted} must be that of p, which has shape "
                         f"{own}")
    shape = batch_shape("multinomial", None if wanted is None else wanted[:-1], given)
    return _multinomial.run(key, n, p, shape=(*shape, own[-1]), dtype=float_dtype("multinomial", dtype), unroll=unroll)


@sampler
def _multinomial(key: Any, n: Any, p: Any, *, shape: tuple[Any, ...], dtype: Any, unroll: int | bool) -> Any:
    """Each outcome's count is binomial, given the counts of those before it."""
    n = spread(as_dtype(n, dtype, False), shape[:-1])
    last = len(shape) - 1
    p = lax.transpose(spread(as_dtype(p, dtype, False), shape), (last, *range(last)))
    left = lax.cumsum(p, 0, reverse=True)
    left = lax.select_n(lax.eq(left, np.asarray(0, dtype)), left, lax.full_like(left, 1))

    def outcome(remaining: Any, x: Any) -> Any:
        share, key = x
        share = lax.min(np.asarray(1, dtype), lax.max(np.asarray(0, dtype), share))
        count = _binomial(key, remaining, share, shape=shape[:-1], dtype=dtype)
        return lax.sub(remaining, count), count

    counts = lax.scan(outcome, n, (lax.div(p, left), random_split(key, shape[-1:])), unroll=unroll)[1]
    return lax.transpose(counts, (*range(1, last + 1), 0))


__all__ = ["binomial", "geometric", "multinomial", "poisson"]
