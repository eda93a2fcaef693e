"""Picking among things: categorical variables, permutations, samples of an array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax import numpy as jnp
from jax._api.sharding_constraints import laid_out
from jax._language.avals import typeof
from jax._language.dims import canonical_axis
from jax.lax._sort import take_along
from jax.random._arrays import is_key_dtype
from jax.random._calls import as_sizes, sampler, spread
from jax.random._continuous import _gumbel, gumbel_mode
from jax.random._primitives import random_bits, random_split
from jax.random._uniform import _randint, _uniform, take

# --- categorical ----------------------------------------------------------------------------------------------------


def categorical(key: Any, logits: Any, axis: int = -1, shape: Any = None, replace: bool = True,
                mode: str | None = None, *, out_sharding: Any = None) -> Any:
    """Indices along ``axis`` drawn with probabilities ``softmax(logits, axis)``, by the Gumbel-max trick.

    Args:
      key: one key.
      logits: logarithms of weights, which need not be normalised.
      axis: the axis of the categories.
      shape: of the result. By default that of ``logits`` without ``axis``, which otherwise must broadcast to it.
      replace: whether draws (along the leading axes that ``shape`` has in addition) are independent; if not, no category
        is drawn twice, by taking the largest perturbed logits (Kool et al., 2019).
      mode: of the Gumbel noise, see :func:`gumbel`.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.

    Raises:
      ValueError: shapes do not fit, or there are fewer categories than draws without replacement.

    >>> import jax, jax.numpy as jnp
    >>> int(jax.random.categorical(jax.random.key(0), jnp.array([-jnp.inf, 0.0])))
    1
    """
    if out_sharding is not None:
        return laid_out(categorical(key, logits, axis, shape, replace, mode), out_sharding, "jax.random.categorical")
    aval = typeof(logits)
    axis = canonical_axis(axis, len(aval.shape), "jax.random.categorical")
    if not dtypes.issubdtype(aval.dtype, np.floating):
        raise ValueError(f"jax.random.categorical: logits must be floating, got dtype {aval.dtype}")
    if not aval.shape[axis]:
        raise ValueError(f"jax.random.categorical: there are no categories: axis {axis} of logits of shape "
                         f"{aval.shape} is empty")
    batch = (*aval.shape[:axis], *aval.shape[axis + 1:])
    shape = batch if shape is None else as_sizes(shape)
    extra = shape[:max(0, len(shape) - len(batch))]
    if len(shape) < len(batch) or any(n != m and n != 1 for n, m in
                                      zip(batch, shape[len(extra):], strict=True)):
        raise ValueError(f"jax.random.categorical: shape {shape} does not fit logits of shape {aval.shape}, whose axes "
                         f"besides axis {axis} must broadcast to its last ones")
    if not replace:
        if math.prod(extra) > aval.shape[axis]:
            raise ValueError(f"jax.random.categorical: {math.prod(extra)} draws without replacement exceed the number "
                             f"of categories, {aval.shape[axis]}")
        if batch != shape[len(extra):]:
            raise ValueError("jax.random.categorical: without replacement the last axes of shape must be those of "
                             f"logits, {batch}, got {shape}")
    return _categorical.run(key, logits, axis=axis, shape=shape, replace=bool(replace),
                        mode=gumbel_mode("categorical", mode))


@sampler
def _categorical(key: Any, logits: Any, *, axis: int, shape: tuple[Any, ...], replace: bool, mode: str) -> Any:
    aval = typeof(logits)
    extra = shape[:len(shape) - len(aval.shape) + 1]
    categories = aval.shape[axis]
    if not replace:
        noisy = lax.add(logits, _gumbel(key, shape=aval.shape, dtype=aval.dtype, mode=mode))
        chosen = lax.top_k(lax.transpose(noisy, (*(i for i in range(noisy.ndim) if i != axis), axis)),
                           math.prod(extra))[1]
        last = chosen.ndim - 1
        return lax.reshape(lax.transpose(chosen, (last, *range(last))), shape)
    inner = list(shape[len(extra):])
    inner.insert(axis, categories)
    noise = _gumbel(key, shape=(*extra, *inner), dtype=aval.dtype, mode=mode)
    return lax.argmax(lax.add(noise, spread(logits, typeof(noise).shape)), axis + len(extra), dtypes.scalar_dtype(int))


# --- permutations ---------------------------------------------------------------------------------------------------

def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None) -> Any:
    """A random permutation of an array along ``axis``, or of ``range(x)``.

    Args:
      key: one key.
      x: an array, or an integer.
      axis: the axis that is permuted.
      independent: permute each vector along ``axis`` by itself rather than all alike.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.

    Raises:
      TypeError: ``x`` is neither.
      ValueError: ``axis`` is out of range.

    >>> import jax
    >>> sorted(jax.random.permutation(jax.random.key(0), 4).tolist())
    [0, 1, 2, 3]
    """
    if out_sharding is not None:
        return laid_out(permutation(key, x, axis, independent), out_sharding, "jax.random.permutation")
    aval = typeof(x)
    if not aval.shape:
        if not dtypes.issubdtype(aval.dtype, np.integer):
            raise TypeError(f"jax.random.permutation takes an array, or an integer n for a permutation of range(n), got "
                            f"{aval.str_short()}")
        canonical_axis(axis, 1, "jax.random.permutation")
        return _permuted_range.run(key, size=max(int(x), 0), draws=None)
    axis = canonical_axis(axis, len(aval.shape), "jax.random.permutation")
    return _permutation.run(key, x, axis=axis, independent=bool(independent))


@sampler
def _permuted_range(key: Any, *, size: int, draws: int | None) -> Any:
    out = _shuffle(key, lax.iota(dtypes.scalar_dtype(int), size), 0)
    return out if draws is None else lax.slice_in_dim(out, 0, draws)


@sampler
def _permutation(key: Any, x: Any, *, axis: int, independent: bool) -> Any:
    plain = not is_key_dtype(typeof(x).dtype)
    if plain and (independent or x.ndim == 1):
        return _shuffle(key, x, axis)
    if independent and x.ndim > 1:
        raise NotImplementedError("jax.random.permutation: keys are not permuted independently; permute their key_data")
    return jnp.take(x, _permuted_range(key, size=x.shape[axis], draws=None), axis, mode="clip")


def _shuffle(key: Any, x: Any, axis: int) -> Any:
    """Sorts by random words, as often as needed to make equal words unlikely to matter."""
    size = math.prod(x.shape)
    rounds = math.ceil(3 * math.log(max(1, size)) / math.log(2**32 - 1))
    for i in range(rounds):
        keys = random_split(key, (2,))
        key = take(keys, 0)
        words = random_bits(take(keys, 1), 32, x.shape)
        if i == 0:
            x = lax.sort((words, x), axis, num_keys=1)[1]
        else:  # sorts that do not wait for each other
            x = take_along(x, lax.sort((words, lax.broadcasted_iota(np.int32, x.shape, axis)), axis, num_keys=1)[1], axis)
    return x


# --- samples --------------------------------------------------------------------------------------------------------

def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0,
           mode: str | None = None) -> Any:
    """Elements of an array, or of ``range(a)``, picked at random.

    Args:
      key: one key.
      a: an array, or an integer.
      shape: how many to pick; takes the place of ``axis`` in the result.
      replace: whether an element may be picked twice.
      p: the probabilities of the elements, a vector that sums to 1; by default they are equal.
      axis: the axis of ``a`` to pick along.
      mode: of the Gumbel noise that picks without replacement with probabilities ``p``; see :func:`gumbel`.

    Raises:
      TypeError: ``a`` is no array or number.
      ValueError: nothing to pick from, too few elements to pick without replacement, or ``p`` of another size.

    >>> import jax
    >>> jax.random.choice(jax.random.key(0), 5, (2, 3)).shape
    (2, 3)
    """
    shape = as_sizes(shape)
    aval = typeof(a)
    axis = canonical_axis(axis, max(len(aval.shape), 1), "jax.random.choice")
    size = aval.shape[axis] if aval.shape else int(a)
    draws = math.prod(shape)
    if size < 1 and draws:
        raise ValueError(f"jax.random.choice: there is nothing to pick from: axis {axis} of a has size {size}"
                         if aval.shape else f"jax.random.choice: a must be positive, got {size}")
    if not replace and draws > size:
        raise ValueError(f"jax.random.choice: {draws} elements cannot be picked out of {size} without replacement")
    if p is None:
        if not replace and len(aval.shape) == 1 and dtypes.issubdtype(aval.dtype, np.number):
            return lax.reshape(lax.slice_in_dim(_permutation.run(key, a, axis=0, independent=False), 0, draws), shape)
        picked = _range_choice.run(key, size=size, shape=shape, replace=bool(replace))
    else:
        picked = _weighted(key, a, p, size, shape, replace, mode)
    return picked if not aval.shape else jnp.take(a, picked, axis, mode="clip")


@sampler
def _range_choice(key: Any, *, size: int, shape: tuple[Any, ...], replace: bool) -> Any:
    if replace:
        if not math.prod(shape):
            return lax.full(shape, 0, dtypes.scalar_dtype(int))
        return _randint(key, 0, size, shape=shape, dtype=dtypes.scalar_dtype(int))
    return lax.reshape(_permuted_range(key, size=size, draws=math.prod(shape)), shape)


def _weighted(key: Any, a: Any, p: Any, size: int, shape: tuple[Any, ...], replace: bool, mode: str | None) -> Any:
    aval = typeof(p)
    if aval.shape != (size,):
        raise ValueError(f"jax.random.choice: p must be a vector with one probability for each of {size} elements, got "
                         f"shape {aval.shape}")
    return _weighted_choice.run(key, p, shape=shape, replace=bool(replace), mode=gumbel_mode("choice", mode))


@sampler
def _weighted_choice(key: Any, p: Any, *, shape: tuple[Any, ...], replace: bool, mode: str) -> Any:
    dtype = dtypes.to_inexact_dtype(typeof(p).dtype)
    p = lax.convert_element_type(p, dtype)
    index = dtypes.scalar_dtype(int)
    if replace:
        total = lax.cumsum(p, 0)
        u = lax.sub(np.asarray(1, dtype), _uniform(key, shape=shape, dtype=dtype))
        return lax.convert_element_type(jnp.searchsorted(total, lax.mul(take(total, -1), u)), index)
    noisy = lax.add(_gumbel(key, shape=typeof(p).shape, dtype=dtype, mode=mode), lax.log(p))
    return lax.convert_element_type(lax.reshape(lax.top_k(noisy, math.prod(shape))[1], shape), index)


__all__ = ["categorical", "choice", "permutation"]
