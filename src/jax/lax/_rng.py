"""The compiler's own random number generators."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._api.sharding_constraints import laid_out
from jax._ground.families import FLOAT, INTEGERS, category, check_category, zero_derivative
from jax._language import dims, rules
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._lowering import hlo
from jax._lowering.rules import register_lowering
from jax.lax._join import concatenate
from jax.lax._shape import expand_dims
from jax.lax._slice import index_in_dim, slice_in_dim

# --- rng_bit_generator ----------------------------------------------------------------------------------------------


class RandomAlgorithm(enum.IntEnum):
    """The algorithms of :func:`rng_bit_generator`; the platform chooses ``RNG_DEFAULT``."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


rng_bit_generator_p = Primitive("rng_bit_generator", multiple_results=True)


def rng_bit_generator(key: Any, shape: Sequence[int], dtype: Any = np.uint32,
                      algorithm: Any = RandomAlgorithm.RNG_DEFAULT, *, out_sharding: Any = None) -> tuple[Any, Any]:
    """Random bits, fast, not the same on all platforms and compiler versions. ``jax.random`` is for most uses.

    Args:
      key: the state of the generator, uint32 of shape (4,) or uint64 of shape (2,).
      shape: the shape of the result.
      dtype: an unsigned integer dtype.
      algorithm: see :class:`RandomAlgorithm`.

    Returns:
      The state after that, and the bits.

    Under ``jax.vmap`` over keys the first key alone makes the bits of all examples and moves on.

    Raises:
      TypeError: for another key or dtype.
    """
    state, bits = rng_bit_generator_p.bind(
        key, shape=dims.canonicalize_shape(shape, "rng_bit_generator: shape"),
        dtype=dtypes.requested_dtype(dtype, "rng_bit_generator"), algorithm=RandomAlgorithm(algorithm),
        out_sharding=None)
    return state, laid_out(bits, out_sharding, "rng_bit_generator")


def _bits_abstract(key: Any, *, shape: Any, dtype: Any, algorithm: Any, out_sharding: Any) -> Any:
    if (key.shape, key.dtype) not in (((4,), np.dtype(np.uint32)), ((2,), np.dtype(np.uint64))):
        raise TypeError(f"rng_bit_generator: the key must be uint32 of shape (4,) or uint64 of shape (2,), got "
                        f"{key.str_short()}")
    if category(dtype) != "unsigned":
        raise TypeError(f"rng_bit_generator: dtype must be an unsigned integer dtype, got {dtype}")
    return [key.strip_weak_type(), ShapedArray(shape, dtype)]


def _bits_lower(ctx: Any, key: Any, *, shape: Any, dtype: Any, algorithm: Any, out_sharding: Any) -> Any:
    (aval,), (_, out) = ctx.avals_in, ctx.avals_out
    words = ShapedArray((2,), np.dtype(np.uint64))
    pairs = ShapedArray((2, 2), np.dtype(np.uint32))
    narrow = aval.dtype.itemsize == 4
    if narrow:
        key = hlo.bitcast_convert(hlo.reshape(key, pairs), words)
    new, bits = hlo.rng_bit_generator(key, out, algorithm.name.removeprefix("RNG_"))
    if narrow:
        new = hlo.reshape(hlo.bitcast_convert(new, pairs), aval)
    return [new, bits]


def _bits_batch(args: Any, batch_dims: Any, *, shape: Any, **params: Any) -> Any:
    (keys,), (d,) = args, batch_dims
    size = typeof(keys).shape[d]
    first = index_in_dim(keys, 0, d, keepdims=False)
    new, bits = rng_bit_generator_p.bind(first, shape=(size, *shape), **params)
    rest = slice_in_dim(keys, 1, size, axis=d)
    return [concatenate([expand_dims(new, (d,)), rest], d), bits], [d, 0]


rng_bit_generator_p.def_abstract_eval(_bits_abstract)
register_lowering(rng_bit_generator_p, _bits_lower)
zero_derivative(rng_bit_generator_p)
rules.primitive_batchers[rng_bit_generator_p] = _bits_batch


# --- rng_uniform ----------------------------------------------------------------------------------------------------

rng_uniform_p = Primitive("rng_uniform")


def rng_uniform(a: Any, b: Any, shape: Sequence[int]) -> Any:
    """Numbers uniform in [a, b), from a generator with a hidden state: equal calls give different numbers.

    Args:
      a, b: scalars of one dtype, floating-point or integer.
      shape: the shape of the result.

    It has no derivatives. ``jax.random.uniform`` is for most uses.

    Raises:
      TypeError: for other dtypes.
      ValueError: when dtypes differ or ``a`` and ``b`` are not scalars.
    """
    return rng_uniform_p.bind(a, b, shape=dims.canonicalize_shape(shape, "rng_uniform: shape"))


def _uniform_abstract(a: Any, b: Any, *, shape: Any) -> Any:
    check_category("rng_uniform", frozenset({FLOAT}) | INTEGERS, a.dtype)
    if a.dtype != b.dtype:
        raise ValueError(f"rng_uniform: both bounds must have one dtype, got {a.dtype} and {b.dtype}")
    if a.shape != () or b.shape != ():
        raise ValueError(f"rng_uniform: the bounds must be scalars, got shapes {a.shape} and {b.shape}")
    return ShapedArray(shape, a.dtype, a.weak_type and b.weak_type)


def _uniform_lower(ctx: Any, a: Any, b: Any, *, shape: Any) -> Any:
    (out,) = ctx.avals_out
    return [hlo.rng_uniform(a, b, hlo.ir_constant(np.array(shape, np.int64)), out)]


def _uniform_batch(args: Any, batch_dims: Any, *, shape: Any) -> Any:
    raise NotImplementedError("rng_uniform: bounds that differ between the examples of a vmap are not supported; draw "
                              "from [0, 1) and scale")


rng_uniform_p.def_abstract_eval(_uniform_abstract)
register_lowering(rng_uniform_p, _uniform_lower)
rules.primitive_batchers[rng_uniform_p] = _uniform_batch

__all__ = ["RandomAlgorithm", "rng_bit_generator", "rng_bit_generator_p", "rng_uniform", "rng_uniform_p"]
