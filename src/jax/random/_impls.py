"""Generators of random bits: Threefry, and XLA's own generator.

An implementation works on raw keys: uint32 arrays whose last axis is one key. Threefry-2x32 is the counter-based block
cipher of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), with 20 rounds.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import lax
from jax._api.vmap import vmap
from jax._base import config
from jax._ground.families import batch_elementwise, broadcast_shapes_of, zero_derivative
from jax._language import rules
from jax._language.avals import ShapedArray, host_constant, typeof
from jax._language.primitive import Primitive
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import cache_lowering, lower_fun

UINT32 = np.dtype("uint32")
_PARITY = np.uint32(0x1BD11BDA)
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


@dataclasses.dataclass(frozen=True, eq=False)
class PRNGImpl:
    """A generator: the shape of its keys and its functions on raw keys (one key each; they are mapped over arrays).

    Generators compare by identity, which keeps the caches that have one in their keys fast.

    Attributes:
      key_shape: shape of one raw key.
      seed: the key of an integer.
      split: ``(key, shape) -> keys``.
      random_bits: ``(key, bit_width, shape) -> bits``.
      fold_in: ``(key, uint32) -> key``.
      name: how users ask for it.
      tag: how printed programs show it.
      seed_words: the key of a known seed, given as its two 32-bit words, without a device.
    """

    key_shape: tuple[int, ...]
    seed: Callable[[Any], Any]
    split: Callable[[Any, tuple[int, ...]], Any]
    random_bits: Callable[[Any, int, tuple[int, ...]], Any]
    fold_in: Callable[[Any, Any], Any]
    name: str
    tag: str
    seed_words: Callable[[int, int], np.ndarray] | None = None

    def __str__(self) -> str:
        return self.tag

    def __repr__(self) -> str:
        return f"PRNGImpl({self.name!r})"

    def __reduce__(self) -> Any:
        return _by_name, (self.name,)


def _by_name(name: str) -> PRNGImpl:
    return implementations[name]


# --- the block cipher -----------------------------------------------------------------------------------------------

threefry2x32_p = Primitive("threefry2x32", multiple_results=True)


def threefry2x32(k1: Any, k2: Any, x1: Any, x2: Any) -> tuple[Any, Any]:
    """Enciphers pairs of counters under a key, element by element; all uint32."""
    a, b = threefry2x32_p.bind(k1, k2, x1, x2)
    return a, b


def _abstract(*avals: Any) -> list[Any]:
    for a in avals:
        if a.dtype != UINT32:
            raise TypeError(f"threefry2x32 works on uint32, got {a.str_short()}")
    out = ShapedArray(broadcast_shapes_of("threefry2x32", avals), UINT32)
    return [out, out]


def _rounds(k1: Any, k2: Any, x1: Any, x2: Any) -> list[Any]:
    keys = (k1, k2, lax.bitwise_xor(lax.bitwise_xor(k1, k2), _PARITY))
    a, b = lax.add(x1, keys[0]), lax.add(x2, keys[1])
    for block in range(5):
        for bits in _ROTATIONS[block % 2]:
            a = lax.add(a, b)
            b = lax.bitwise_or(lax.shift_left(b, np.uint32(bits)), lax.shift_right_logical(b, np.uint32(32 - bits)))
            b = lax.bitwise_xor(a, b)
        a = lax.add(a, keys[(block + 1) % 3])
        b = lax.add(b, lax.add(keys[(block + 2) % 3], np.uint32(block + 1)))
    return [a, b]


def _broadcasting_rounds(k1: Any, k2: Any, x1: Any, x2: Any) -> list[Any]:
    a, b = _rounds(k1, k2, x1, x2)
    shape = broadcast_shapes_of("threefry2x32", [typeof(v) for v in (k1, k2, x1, x2)])
    return [x if typeof(x).shape == shape else lax.broadcast_in_dim(
        x, shape, tuple(range(len(shape))) if typeof(x).shape else ()) for x in (a, b)]


def _batch(args: Any, dims: Any) -> Any:
    outs, d = batch_elementwise(threefry2x32_p, args, dims, {})
    return outs, [d, d]


threefry2x32_p.def_abstract_eval(_abstract)
register_lowering(threefry2x32_p, cache_lowering(lower_fun(_broadcasting_rounds)))
zero_derivative(threefry2x32_p)
rules.primitive_batchers[threefry2x32_p] = _batch


def _as_key(pair: Sequence[Any]) -> Any:
    if pair[0].size > 256:
        pair = lax.optimization_barrier(list(pair))  # else the cipher runs once for each word of a key
    return lax.concatenate([lax.expand_dims(x, (x.ndim,)) for x in pair], pair[0].ndim)


def _words(key: Any) -> tuple[Any, Any]:
    return lax.index_in_dim(key, 0, -1, keepdims=False), lax.index_in_dim(key, 1, -1, keepdims=False)


# --- threefry -------------------------------------------------------------------------------------------------------

def threefry_seed(seed: Any) -> Any:
    """The key of an integer: its high and low 32 bits."""
    dtype = typeof(seed).dtype
    if dtype.itemsize > 4:
        high = lax.convert_element_type(lax.shift_right_logical(seed, np.array(32, dtype)), UINT32)
    else:
        high = lax.full_like(seed, 0, dtype=UINT32)
    mask = host_constant(np.array(0xFFFFFFFF, np.uint64).astype(dtype), dtype)
    low = lax.convert_element_type(lax.bitwise_and(seed, mask), UINT32)
    return _as_key((high, low))


def _counters(shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The position of every element as a 64-bit number in two uint32 arrays."""
    total = math.prod(shape)
    if total < 2**32:
        low = lax.reshape(lax.iota(UINT32, total), shape)
        return lax.full(shape, 0, UINT32), low
    high, low = lax.full(shape, 0, UINT32), lax.full(shape, 0, UINT32)
    stride = 1
    for axis in reversed(range(len(shape))):
        index = lax.broadcasted_iota(UINT32, shape, axis)
        part_high, part_low = _multiply_wide(index, stride)
        new_low = lax.add(low, part_low)
        carry = lax.convert_element_type(lax.lt(new_low, low), UINT32)
        high, low = lax.add(lax.add(high, part_high), carry), new_low
        stride *= shape[axis]
    return high, low


def _multiply_wide(x: Any, factor: int) -> tuple[Any, Any]:
    """``x * factor`` as 64 bits in two uint32 arrays."""
    f_high, f_low = np.uint32((factor >> 32) & 0xFFFFFFFF), np.uint32(factor & 0xFFFFFFFF)
    high = lax.add(lax.mulhi(x, lax.full_like(x, f_low)), lax.mul(x, f_high))
    return high, lax.mul(x, f_low)


def threefry_split(key: Any, shape: tuple[int, ...]) -> Any:
    if not config.threefry_partitionable.value:
        return lax.reshape(_threefry_block(key, math.prod(shape) * 2), (*shape, 2))
    k1, k2 = _words(key)
    high, low = _counters(shape)
    return _as_key(threefry2x32(k1, k2, high, low))


def _threefry_block(key: Any, count: int) -> Any:
    """``count`` words from consecutive counters."""
    return cipher_counters(*_words(key), lax.iota(UINT32, count))


def cipher_counters(k1: Any, k2: Any, counters: Any) -> Any:
    """Enciphers an array of counters, its two halves (the second padded with a zero) together."""
    shape = typeof(counters).shape
    count = math.prod(shape)
    half = (count + 1) // 2
    flat = lax.reshape(counters, (count,))
    if count % 2:
        flat = lax.concatenate([flat, np.zeros(1, UINT32)], 0)
    pair = threefry2x32(k1, k2, *(lax.slice_in_dim(flat, i * half, (i + 1) * half) for i in range(2)))
    return lax.reshape(lax.slice_in_dim(lax.concatenate(list(pair), 0), 0, count), shape)


def threefry_fold_in(key: Any, data: Any) -> Any:
    k1, k2 = _words(key)
    word = threefry_seed(lax.convert_element_type(data, UINT32))
    return _as_key(threefry2x32(k1, k2, *_words(word)))


def threefry_random_bits(key: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    if bit_width not in (8, 16, 32, 64):
        raise TypeError(f"random bits come in widths of 8, 16, 32 and 64, got {bit_width}")
    if not config.threefry_partitionable.value:
        return _threefry_bits_sequential(key, bit_width, shape)
    k1, k2 = _words(key)
    high, low = threefry2x32(k1, k2, *_counters(shape))
    if bit_width == 64:
        wide = np.dtype("uint64")
        a, b = (lax.convert_element_type(x, wide) for x in (high, low))
        return lax.bitwise_or(lax.shift_left(a, np.array(32, wide)), b)
    mixed = lax.bitwise_xor(high, low)
    if bit_width == 32:
        return mixed
    return lax.convert_element_type(mixed, np.dtype(f"uint{bit_width}"))


def _threefry_bits_sequential(key: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Streams of ``jax_threefry_partitionable=False``: one run of counters for the whole array."""
    total = math.prod(shape)
    words = -(-total * bit_width // 32)
    block = _threefry_block(key, words)
    dtype = np.dtype(f"uint{bit_width}")
    if bit_width == 64:
        halves = (lax.slice_in_dim(block, i * total, (i + 1) * total) for i in range(2))
        a, b = (lax.convert_element_type(x, dtype) for x in halves)
        return lax.reshape(lax.bitwise_or(lax.shift_left(a, np.array(32, dtype)), b), shape)
    if bit_width < 32:
        per_word = 32 // bit_width
        shifts = lax.mul(lax.broadcasted_iota(UINT32, (per_word, 1), 0), np.uint32(bit_width))
        parts = lax.shift_right_logical(lax.broadcast_in_dim(block, (per_word, words), (1,)),
                                        lax.broadcast_in_dim(shifts, (per_word, words), (0, 1)))
        parts = lax.bitwise_and(parts, np.uint32((1 << bit_width) - 1))
        block = lax.convert_element_type(lax.reshape(lax.transpose(parts, (1, 0)), (per_word * words,)), dtype)
        block = lax.slice_in_dim(block, 0, total)
    return lax.reshape(block, shape)


threefry = PRNGImpl((2,), threefry_seed, threefry_split, threefry_random_bits, threefry_fold_in, "threefry2x32", "fry",
                    lambda high, low: np.array([high, low], np.uint32))


# --- XLA's generator ------------------------------------------------------------------------------------------------

def _rbg_seed(seed: Any) -> Any:
    half = threefry_seed(seed)
    return lax.concatenate([half, half], 0)


def _rbg_seed_words(high: int, low: int) -> np.ndarray:
    return np.array([high, low, high, low], np.uint32)


def _mapped(fun: Callable[..., Any], x: Any) -> Any:
    return vmap(fun)(x)


def _rbg_split(key: Any, shape: tuple[int, ...]) -> Any:
    halves = lax.reshape(key, (2, 2))
    split = _mapped(lambda half: threefry_split(half, shape), halves)  # (2, *shape, 2)
    return lax.concatenate([lax.index_in_dim(split, i, 0, keepdims=False) for i in range(2)], len(shape))


def _rbg_fold_in(key: Any, data: Any) -> Any:
    halves = _mapped(lambda half: threefry_fold_in(half, data), lax.reshape(key, (2, 2)))
    return lax.reshape(halves, (4,))


def _rbg_bits(key: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    if bit_width not in (8, 16, 32, 64):
        raise TypeError(f"random bits come in widths of 8, 16, 32 and 64, got {bit_width}")
    _, bits = lax.rng_bit_generator(key, shape, dtype=np.dtype(f"uint{bit_width}"))
    return bits


def _unsafe_split(key: Any, shape: tuple[int, ...]) -> Any:
    bits = _rbg_bits(key, 32, (math.prod(shape) * 10, 4))
    return lax.reshape(lax.slice_in_dim(bits, 0, bits.shape[0], 10), (*shape, 4))


def _unsafe_fold_in(key: Any, data: Any) -> Any:
    _, random = lax.rng_bit_generator(_rbg_seed(data), (10, 4), dtype=UINT32)
    return lax.bitwise_xor(key, lax.index_in_dim(random, 9, 0, keepdims=False))


rbg = PRNGImpl((4,), _rbg_seed, _rbg_split, _rbg_bits, _rbg_fold_in, "rbg", "rbg", _rbg_seed_words)
unsafe_rbg = PRNGImpl((4,), _rbg_seed, _unsafe_split, _rbg_bits, _unsafe_fold_in, "unsafe_rbg", "urbg",
                      _rbg_seed_words)

implementations: dict[str, PRNGImpl] = {impl.name: impl for impl in (threefry, rbg, unsafe_rbg)}


def register_implementation(impl: PRNGImpl) -> None:
    """Makes a generator known by its name, for ``jax.random.key(seed, impl=name)``."""
    implementations[impl.name] = impl
