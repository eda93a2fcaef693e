"""The primitives on typed keys: making them, deriving new ones, and drawing bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.vmap import vmap
from jax._ground.families import batch_elementwise, broadcast_shapes_of, zero_derivative
from jax._language import rules
from jax._language.avals import ShapedArray
from jax._language.primitive import Primitive
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import cache_lowering, lower_fun
from jax.random._arrays import KeyDType, dtype_of, random_unwrap, random_wrap
from jax.random._impls import UINT32, PRNGImpl, threefry


def _keys(what: str, aval: Any) -> PRNGImpl:
    if not isinstance(aval.dtype, KeyDType):
        raise TypeError(f"{what} takes typed keys, got {aval.str_short()}; jax.random.wrap_key_data makes them of raw "
                        "words")
    return aval.dtype._impl


def map_over_keys(fun: Callable[[Any], Any], raw: Any, impl: PRNGImpl) -> Any:
    """``fun`` of one raw key, mapped over an array of them."""
    shape = raw.shape[:raw.ndim - len(impl.key_shape)]
    if not shape:
        return fun(raw)
    if len(shape) == 1:
        return vmap(fun)(raw)
    out = vmap(fun)(lax.reshape(raw, (math.prod(shape), *impl.key_shape)))
    return lax.reshape(out, (*shape, *out.shape[1:]))


def _finished(raw: Any, impl: PRNGImpl) -> Any:
    """Typed keys of raw ones that are computed once, not anew for each number drawn from them."""
    return random_wrap(lax.optimization_barrier(raw), impl)


# --- seeds ----------------------------------------------------------------------------------------------------------

random_seed_p = Primitive("random_seed")


def random_seed(seeds: Any, impl: PRNGImpl) -> Any:
    """Typed keys of integers, one for each."""
    return random_seed_p.bind(seeds, impl=impl)


def _seed_abstract(seeds: Any, *, impl: PRNGImpl) -> Any:
    if not dtypes.issubdtype(seeds.dtype, np.integer):
        raise TypeError(f"seeds are integers, got {seeds.str_short()}")
    return ShapedArray(seeds.shape, dtype_of(impl))


def _seed(seeds: Any, *, impl: PRNGImpl) -> Any:
    if not seeds.shape:
        return _finished(impl.seed(seeds), impl)
    keys = vmap(impl.seed)(lax.reshape(seeds, (math.prod(seeds.shape),)))
    return _finished(lax.reshape(keys, (*seeds.shape, *impl.key_shape)), impl)


random_seed_p.def_abstract_eval(_seed_abstract)
register_lowering(random_seed_p, cache_lowering(lower_fun(_seed, multiple_results=False)))
zero_derivative(random_seed_p)
rules.primitive_batchers[random_seed_p] = lambda args, dims, impl: (random_seed(args[0], impl), dims[0])


# --- split ----------------------------------------------------------------------------------------------------------

random_split_p = Primitive("random_split")


def random_split(keys: Any, shape: tuple[int, ...]) -> Any:
    """``shape`` new keys of each key; their axes come last."""
    return random_split_p.bind(keys, shape=shape)


def _split_abstract(keys: Any, *, shape: tuple[int, ...]) -> Any:
    _keys("random_split", keys)
    return ShapedArray((*keys.shape, *shape), keys.dtype)


def _split(keys: Any, *, shape: tuple[int, ...]) -> Any:
    impl = keys.dtype._impl
    return _finished(map_over_keys(lambda key: impl.split(key, shape), random_unwrap(keys), impl), impl)


random_split_p.def_abstract_eval(_split_abstract)
register_lowering(random_split_p, cache_lowering(lower_fun(_split, multiple_results=False)))
zero_derivative(random_split_p)
rules.primitive_batchers[random_split_p] = lambda args, dims, shape: (random_split(args[0], shape), dims[0])


# --- fold_in --------------------------------------------------------------------------------------------------------

random_fold_in_p = Primitive("random_fold_in")


def random_fold_in(keys: Any, data: Any) -> Any:
    """A new key of each key and each uint32 of ``data``, which broadcast against each other."""
    return random_fold_in_p.bind(keys, data)


def _fold_in_abstract(keys: Any, data: Any) -> Any:
    _keys("random_fold_in", keys)
    if data.dtype != UINT32:
        raise TypeError(f"random_fold_in takes uint32 data, got {data.str_short()}")
    return ShapedArray(broadcast_shapes_of("random_fold_in", (keys, data)), keys.dtype)


def _fold_in(keys: Any, data: Any) -> Any:
    impl = keys.dtype._impl
    shape = broadcast_shapes_of("random_fold_in", (keys.aval, data.aval))
    raw = random_unwrap(keys)
    if not shape:
        return _finished(impl.fold_in(raw, data), impl)
    # What is the same for all stays so: unsafe_rbg mapped over equal data would make different numbers of them.
    in_axes = (0 if keys.shape else None, 0 if data.shape else None)
    size = math.prod(shape)
    if keys.shape:
        n = len(impl.key_shape)
        raw = lax.broadcast_in_dim(raw, (*shape, *impl.key_shape), tuple(range(len(shape) + n)))
        raw = lax.reshape(raw, (size, *impl.key_shape))
    if data.shape:
        data = lax.reshape(lax.broadcast_in_dim(data, shape, tuple(range(len(shape)))), (size,))
    folded = vmap(impl.fold_in, in_axes)(raw, data)
    return _finished(lax.reshape(folded, (*shape, *impl.key_shape)), impl)


random_fold_in_p.def_abstract_eval(_fold_in_abstract)
register_lowering(random_fold_in_p, cache_lowering(lower_fun(_fold_in, multiple_results=False)))
zero_derivative(random_fold_in_p)
rules.primitive_batchers[random_fold_in_p] = lambda args, dims: batch_elementwise(random_fold_in_p, args, dims, {})


# --- bits -----------------------------------------------------------------------------------------------------------

random_bits_p = Primitive("random_bits")


def random_bits(keys: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Uniform unsigned integers of ``bit_width`` bits: an array of ``shape`` for each key, whose axes come first."""
    return random_bits_p.bind(keys, bit_width=bit_width, shape=shape)


def _bits_abstract(keys: Any, *, bit_width: int, shape: tuple[int, ...]) -> Any:
    _keys("random_bits", keys)
    if bit_width not in (8, 16, 32, 64):
        raise TypeError(f"random bits come in widths of 8, 16, 32 and 64, got {bit_width}")
    return ShapedArray((*keys.shape, *shape), np.dtype(f"uint{bit_width}"))


def _bits(keys: Any, *, bit_width: int, shape: tuple[int, ...]) -> Any:
    impl = keys.dtype._impl
    return map_over_keys(lambda key: impl.random_bits(key, bit_width, shape), random_unwrap(keys), impl)


random_bits_p.def_abstract_eval(_bits_abstract)
register_lowering(random_bits_p, cache_lowering(lower_fun(_bits, multiple_results=False)))
zero_derivative(random_bits_p)
rules.primitive_batchers[random_bits_p] = \
    lambda args, dims, bit_width, shape: (random_bits(args[0], bit_width, shape), dims[0])


# --- clone ----------------------------------------------------------------------------------------------------------

random_clone_p = Primitive("random_clone")
random_clone_p.def_abstract_eval(lambda keys: keys)
register_lowering(random_clone_p, lambda ctx, keys: [keys])
zero_derivative(random_clone_p)
rules.primitive_batchers[random_clone_p] = lambda args, dims: (random_clone_p.bind(args[0]), dims[0])


# --- consumption ----------------------------------------------------------------------------------------------------

# Stands in, under jax_debug_key_reuse, for a function of this package that is applied to traced keys as a compiled call
# on their words: the key it gives has been consumed by that function.
random_consume_p = Primitive("random_consume")
random_consume_p.def_abstract_eval(lambda keys, *, api: keys)
register_lowering(random_consume_p, lambda ctx, keys, api: [keys])
zero_derivative(random_consume_p)
rules.primitive_batchers[random_consume_p] = lambda args, dims, api: (random_consume_p.bind(args[0], api=api), dims[0])


# --- loops ----------------------------------------------------------------------------------------------------------

random_unmapped_p = Primitive("random_unmapped")


def for_loop(key: Any) -> Any:
    """The key of a loop that draws until all samples are accepted; it may be mapped only for threefry keys.

    XLA's generator, mapped over keys, draws everything from the first of them. In a mapped loop that key would wait once
    its own samples are accepted, the others would be given the same numbers again and again, and the loop never end.
    """
    return key if key.dtype._impl is threefry else random_unmapped_p.bind(key)


def _refuse_mapping(args: Any, dims: Any) -> Any:
    name = args[0].dtype._impl.name
    raise NotImplementedError(
        f"this sampler cannot be mapped with jax.vmap for keys of the generator {name!r}, which are not independent when "
        "mapped. Use jax.lax.map, give a shape to one call, or take keys of the default generator.")


random_unmapped_p.def_abstract_eval(lambda keys: keys)
register_lowering(random_unmapped_p, lambda ctx, keys: [keys])
zero_derivative(random_unmapped_p)
rules.primitive_batchers[random_unmapped_p] = _refuse_mapping
