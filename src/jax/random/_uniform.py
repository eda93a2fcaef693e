"""Samplers that are a function of uniform bits: bits, uniform and normal numbers, integers, coin flips."""

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
    float_dtype,
    inexact_dtype,
    integer_dtype,
    operand,
    result_shape,
    sampler,
    spread,
)
from jax.random._primitives import random_bits, random_split

# --- bits -----------------------------------------------------------------------------------------------------------


def bits(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Uniform random bits as unsigned integers.

    Args:
      key: one key.
      shape: of the result.
      dtype: an unsigned integer dtype, by default the default unsigned one.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(bits(key, shape, dtype), out_sharding, "jax.random.bits")
    found = dtypes.canonicalize_dtype(np.uint64) if dtype is None else dtypes.requested_dtype(dtype, "bits")
    if not dtypes.issubdtype(found, np.unsignedinteger):
        raise ValueError(f"jax.random.bits: dtype must be an unsigned integer dtype, got {found}")
    return _bits.run(key, shape=as_sizes(shape), dtype=found)


@sampler
def _bits(key: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    return random_bits(key, dtypes.itemsize_bits(dtype), shape)


# --- uniform --------------------------------------------------------------------------------------------------------

def uniform(key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0, *,
            out_sharding: Any = None) -> Any:
    """Numbers uniform in ``[minval, maxval)``.

    Args:
      key: one key.
      shape: of the result.
      dtype: a float dtype, by default the default float.
      minval, maxval: the bounds, broadcast to ``shape``.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.

    Raises:
      ValueError: ``dtype`` is no float's, or the bounds do not broadcast to ``shape``.

    >>> import jax
    >>> jax.random.uniform(jax.random.key(0), (2,)).shape
    (2,)
    """
    if out_sharding is not None:
        return laid_out(uniform(key, shape, dtype, minval, maxval), out_sharding, "jax.random.uniform")
    dtype = float_dtype("uniform", dtype)
    shape = as_sizes(shape)
    if type(minval) is float and type(maxval) is float and minval == 0 and maxval == 1:
        return _uniform.run(key, shape=shape, dtype=dtype)
    result_shape("uniform", shape, minval=minval, maxval=maxval)
    return _uniform_between.run(key, minval, maxval, shape=shape, dtype=dtype)


@sampler
def _uniform(key: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    """Numbers in [0, 1): random mantissas make numbers in [1, 2), and 1 is subtracted."""
    width, mantissa = dtypes.itemsize_bits(dtype), dtypes.finfo(dtype).nmant
    drawn = 8 if mantissa < 8 else width  # 8 bits are enough for these
    words = random_bits(key, drawn, shape)
    container = np.dtype(f"uint{width}")
    if drawn < width:
        words = lax.convert_element_type(words, container)
    words = lax.shift_right_logical(words, np.asarray(drawn - mantissa, container))
    one = np.asarray(1, dtype)
    words = lax.bitwise_or(words, one.view(container))
    return lax.sub(lax.bitcast_convert_type(words, dtype), one)


@sampler
def _uniform_between(key: Any, minval: Any, maxval: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    low, high = operand(minval, dtype, shape), operand(maxval, dtype, shape)
    numbers = lax.add(lax.mul(_uniform(key, shape=shape, dtype=dtype), lax.sub(high, low)), low)
    return lax.max(low, numbers)  # rounding must not lead below the bound


# --- normal ---------------------------------------------------------------------------------------------------------

def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the standard normal distribution.

    Args:
      key: one key.
      shape: of the result.
      dtype: a float or complex dtype, by default the default float. Complex numbers have variance 1 in total: each
        part has variance 1/2.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.

    Raises:
      ValueError: ``dtype`` is neither.

    >>> import jax
    >>> jax.random.normal(jax.random.key(0), (2, 3)).dtype
    dtype('float32')
    """
    if out_sharding is not None:
        return laid_out(normal(key, shape, dtype), out_sharding, "jax.random.normal")
    return _normal.run(key, shape=as_sizes(shape), dtype=inexact_dtype("normal", dtype))


@sampler
def _normal(key: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    if dtypes.issubdtype(dtype, np.complexfloating):
        parts = random_split(key, (2,))
        real = dtypes.to_real_dtype(dtype)
        re, im = (lax.convert_element_type(_normal(take(parts, i), shape=shape, dtype=real), dtype) for i in range(2))
        return lax.div(lax.add(re, lax.mul(np.asarray(1j, dtype), im)), np.asarray(math.sqrt(2), dtype))
    low = np.nextafter(np.asarray(-1, dtype), np.asarray(0, dtype)) # the inverse error function is infinite at -1
    numbers = _uniform_between(key, np.asarray(low, dtype), np.asarray(1, dtype), shape=shape, dtype=dtype)
    return lax.mul(np.asarray(math.sqrt(2), dtype), lax.erf_inv(numbers))


def take(keys: Any, i: int) -> Any:
    """The key number ``i`` of the first axis."""
    return lax.index_in_dim(keys, i, 0, keepdims=False)


# --- integers -------------------------------------------------------------------------------------------------------

def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Integers uniform in ``[minval, maxval)``.

    Args:
      key: one key.
      shape: of the result.
      minval, maxval: the bounds, broadcast to ``shape``. Where they are equal or out of order the result is ``minval``.
      dtype: an integer dtype, by default the default integer. ``maxval`` may be one more than its largest value.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.

    The numbers are residues of random words, so they are biased unless ``maxval - minval`` is a power of two; the
    bias is small as long as that is small next to the largest value of ``dtype``.

    Raises:
      TypeError: ``dtype`` is no integer's.
      ValueError: the bounds do not broadcast to ``shape``.

    >>> import jax
    >>> bool((jax.random.randint(jax.random.key(0), (100,), 0, 3) < 3).all())
    True
    """
    if out_sharding is not None:
        return laid_out(randint(key, shape, minval, maxval, dtype), out_sharding, "jax.random.randint")
    dtype = dtypes.scalar_dtype(int) if dtype is None else dtypes.requested_dtype(dtype, "randint")
    if not dtypes.issubdtype(dtype, np.integer):
        raise TypeError(f"jax.random.randint draws integers, got dtype {dtype}; round or convert the result instead")
    shape = as_sizes(shape)
    result_shape("randint", shape, minval=minval, maxval=maxval)
    return _randint.run(key, _bound(minval), _bound(maxval), shape=shape, dtype=dtype)


def _bound(x: Any) -> Any:
    """A bound as an array that can hold it (one more than the largest int32 needs an int64 or uint32)."""
    if type(x) is int and not -2**31 <= x < 2**31 and not _fits_default(x):
        return np.uint32(x) if 0 <= x < 2**32 else x
    return x


def _fits_default(x: int) -> bool:
    info = np.iinfo(dtypes.scalar_dtype(int))
    return bool(info.min <= x <= info.max)


@sampler
def _randint(key: Any, minval: Any, maxval: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    info = dtypes.iinfo(dtype)
    if dtypes.itemsize_bits(dtype) < 32:
        wide = np.dtype(np.int32)  # has room for one more than the largest value
        low = _clipped(minval, wide, info.min, info.max)
        high = _clipped(maxval, wide, info.min, info.max + 1)
        return lax.convert_element_type(_randint(key, low, high, shape=shape, dtype=wide), dtype)
    low = operand(_clipped(minval, dtype, info.min, info.max), dtype, shape)
    high = operand(_clipped(maxval, dtype, info.min, info.max), dtype, shape)
    width = dtypes.itemsize_bits(dtype)
    unsigned = np.dtype(f"uint{width}")
    span = lax.convert_element_type(lax.sub(high, low), unsigned)
    one = np.asarray(1, unsigned)
    span = lax.select_n(lax.le(high, low), span, lax.full_like(span, one))
    beyond = _exceeds(maxval, info.max, shape)
    if beyond is not None:
        span = _where(lax.bitwise_and(beyond, lax.gt(high, low)), lax.add(span, one), span)
    parts = random_split(key, (2,))
    upper, lower = (random_bits(take(parts, i), width, shape) for i in range(2))
    offset = _residue(upper, lower, span)
    return lax.add(low, lax.convert_element_type(offset, dtype))


def _residue(upper: Any, lower: Any, span: Any) -> Any:
    """The number whose upper and lower half are two words, modulo ``span``.

    The factor of the upper half wraps around where ``span`` has more than half of the bits; existing streams depend on
    that.
    """
    dtype = span.dtype
    width = dtypes.itemsize_bits(dtype)
    factor = lax.rem(lax.full_like(span, 2 ** (width // 2)), span)
    factor = lax.rem(lax.mul(factor, factor), span)
    if width > 32:
        return lax.rem(lax.add(lax.mul(lax.rem(upper, span), factor), lax.rem(lower, span)), span)
    inverse = lax.div(lax.full_like(span, 2**32 - 1), span)
    # Small operands, which must not be computed anew for each number.
    span, factor, inverse = lax.optimization_barrier([span, factor, inverse])

    def rem(x: Any) -> Any:
        """``x % span`` without a division: the quotient by the inverse is at most 2 too small."""
        x = lax.sub(x, lax.mul(lax.mulhi(x, inverse), span))
        for _ in range(2):
            x = lax.min(x, lax.sub(x, span))  # wraps around to a large number where x < span
        return x

    return rem(lax.add(lax.mul(rem(upper), factor), rem(lower)))


def _clipped(x: Any, dtype: Any, low: int, high: int) -> Any:
    """``x`` in the range from ``low`` to ``high``, as an array of ``dtype``."""
    if type(x) is int:
        return np.asarray(min(max(x, low), high), dtype)
    own = typeof(x).dtype
    if not dtypes.issubdtype(own, np.integer):
        x = lax.convert_element_type(x, dtypes.scalar_dtype(int) if dtypes.itemsize_bits(dtype) <= 32 else dtype)
        own = typeof(x).dtype
    info = dtypes.iinfo(own)
    x = as_dtype(x, own, False)
    if info.min < low or info.max > high:
        x = lax.clamp(np.asarray(max(low, info.min), own), x, np.asarray(min(high, info.max), own))
    return as_dtype(x, dtype, False)


def _exceeds(x: Any, largest: int, shape: tuple[Any, ...]) -> Any:
    """Whether ``x`` is larger than ``largest``, or None if no value of its dtype is."""
    if type(x) is int:
        return np.asarray(True) if x > largest else None
    own = typeof(x).dtype
    if not dtypes.issubdtype(own, np.integer) or dtypes.iinfo(own).max <= largest:
        return None
    return lax.gt(operand(x, own, shape), np.asarray(largest, own))


def _where(condition: Any, x: Any, y: Any) -> Any:
    shape = np.broadcast_shapes(typeof(condition).shape, typeof(x).shape, typeof(y).shape)
    return lax.select_n(spread(condition, shape), spread(y, shape), spread(x, shape))


# --- coins ----------------------------------------------------------------------------------------------------------

def bernoulli(key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low", *, out_sharding: Any = None) -> Any:
    """Booleans that are true with probability ``p``.

    Args:
      key: one key.
      p: the probability, a float or an array of floats.
      shape: of the result, to which ``p`` broadcasts; by default that of ``p``.
      mode: ``"low"`` compares with one random number each; ``"high"`` with one of twice the precision, for small ``p``.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.

    Raises:
      TypeError: ``p`` is not floating.
      ValueError: an unknown ``mode``, or ``p`` does not broadcast to ``shape``.
    """
    if out_sharding is not None:
        return laid_out(bernoulli(key, p, shape, mode), out_sharding, "jax.random.bernoulli")
    if mode not in ("low", "high"):
        raise ValueError(f"jax.random.bernoulli: mode must be 'low' or 'high', got {mode!r}")
    dtype = typeof(p).dtype
    if not dtypes.issubdtype(dtype, np.floating):
        raise TypeError(f"jax.random.bernoulli: the probability p must be floating, got dtype {dtype}")
    return _bernoulli.run(key, p, shape=result_shape("bernoulli", shape, p=p), mode=mode)


@sampler
def _bernoulli(key: Any, p: Any, *, shape: tuple[Any, ...], mode: str) -> Any:
    dtype = typeof(p).dtype
    p = operand(p, dtype, shape)
    if mode == "low":
        return lax.lt(_uniform(key, shape=shape, dtype=dtype), p)
    both = _uniform(key, shape=(2, *shape), dtype=dtype)
    coarse, fine = take(both, 0), take(both, 1)
    fine = lax.mul(fine, np.asarray(2.0 ** -dtypes.finfo(dtype).nmant, dtype))
    return lax.lt(fine, lax.sub(p, coarse))


def rademacher(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Signs: -1 or 1 with equal probability.

    Args:
      key: one key.
      shape: of the result.
      dtype: any numeric dtype, by default the default integer.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.
    """
    if out_sharding is not None:
        return laid_out(rademacher(key, shape, dtype), out_sharding, "jax.random.rademacher")
    dtype = dtypes.scalar_dtype(int) if dtype is None else dtypes.requested_dtype(dtype, "rademacher")
    return _rademacher.run(key, shape=as_sizes(shape), dtype=dtype)


@sampler
def _rademacher(key: Any, *, shape: tuple[Any, ...], dtype: Any) -> Any:
    flips = _bernoulli(key, np.asarray(0.5, dtypes.scalar_dtype(float)), shape=shape, mode="low")
    if dtype == np.bool_:
        return flips
    flips = lax.convert_element_type(flips, dtype)
    return lax.sub(lax.mul(np.asarray(2, dtype), flips), np.asarray(1, dtype))


__all__ = ["bernoulli", "bits", "integer_dtype", "normal", "rademacher", "randint", "uniform"]
