"""Keys as users make and take them apart."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.jit import jit
from jax._base import config
from jax._base._jaxlib import Array
from jax._language.avals import typeof
from jax._language.trace import current_trace
from jax._runtime import transfer
from jax.lax._creation import as_shape
from jax.random._arrays import KeyArray, KeyDType, dtype_of, is_key_dtype, random_unwrap, random_wrap
from jax.random._identities import consume_now
from jax.random._impls import UINT32, PRNGImpl, implementations
from jax.random._primitives import random_clone_p, random_consume_p, random_fold_in, random_seed, random_split

_get_trace = current_trace.get

# --- generators -----------------------------------------------------------------------------------------------------

class PRNGSpec:
    """Names a generator; what :func:`key_impl` returns for generators that are not known by a name."""

    __slots__ = ("_impl",)

    def __init__(self, impl: PRNGImpl) -> None:
        self._impl = impl

    def __repr__(self) -> str:
        return f"PRNGSpec({self._impl.name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PRNGSpec) and self._impl is other._impl

    def __hash__(self) -> int:
        return hash((PRNGSpec, self._impl))


def resolve_impl(spec: Any) -> PRNGImpl:
    """The generator for a name, a key dtype, a generator, or ``None`` for the default one.

    Raises:
      ValueError: an unknown name; the message lists the known ones.
    """
    if spec is None:
        spec = config.default_prng_impl.value
    if isinstance(spec, str):
        found = implementations.get(spec)
        if found is None:
            raise ValueError(f"unknown random generator {spec!r}; there are {', '.join(sorted(implementations))}")
        return found
    if isinstance(spec, PRNGImpl):
        return spec
    if isinstance(spec, (KeyDType, PRNGSpec)):
        return spec._impl
    raise TypeError(f"a random generator is given by its name or a key dtype, got {spec!r} of type "
                    f"{type(spec).__name__}")


def _impl_of(api: str, impl: Any, dtype: Any) -> PRNGImpl:
    if impl is not None and dtype is not None:
        raise ValueError(f"jax.random.{api} takes impl or dtype, not both")
    if dtype is not None and not isinstance(dtype, KeyDType):
        raise TypeError(f"jax.random.{api}: dtype must be a key dtype, as jax.random.key_dtype gives, got {dtype!r}")
    return resolve_impl(impl if dtype is None else dtype)


# --- seeds ----------------------------------------------------------------------------------------------------------

def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """A typed key from an integer seed.

    Args:
      seed: an integer, or a 0-d integer array. Without ``jax_enable_x64`` its low 32 bits count.
      impl: the generator: ``"threefry2x32"`` (default), ``"rbg"`` or ``"unsafe_rbg"``.
      dtype: the key dtype, in place of ``impl``.

    Returns:
      An array of shape ``()`` of dtype ``key<...>``.

    Raises:
      TypeError: the seed is not one integer.
      OverflowError: it does not fit in 64 bits.

    >>> import jax
    >>> jax.random.key(0).shape
    ()
    """
    found = _impl_of("key", impl, dtype)
    words = _known_words("key", seed, found)
    return KeyArray(found, transfer.to_device(words)) if words is not None else random_seed(_offset(seed), found)


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:  # noqa: N802 (the API's name)
    """A raw key from an integer seed: a uint32 array of shape ``(2,)`` for the default generator.

    New programs use :func:`key`, whose keys have a dtype of their own. Under ``jax_enable_custom_prng`` both are the
    same.
    """
    found = resolve_impl(impl)
    if config.enable_custom_prng.value:
        return key(seed, impl=found)
    words = _known_words("PRNGKey", seed, found)
    return transfer.to_device(words) if words is not None else random_unwrap(random_seed(_offset(seed), found))


def _known_words(api: str, seed: Any, impl: PRNGImpl) -> np.ndarray | None:
    """The raw key of a seed, if it is known now and the generator can tell it without a device."""
    kind = type(seed)
    if kind is int:
        wide = config.enable_x64.value
    else:
        dtype = _check_seed(api, seed)
        if not isinstance(seed, (int, np.generic, np.ndarray)):
            return None
        wide = config.enable_x64.value and dtype.itemsize > 4
        seed = int(seed)
    if impl.seed_words is None:
        return None
    if not -2**63 <= seed < 2**64:
        raise OverflowError(f"jax.random.{api}: the seed {seed} does not fit in 64 bits")
    seed += config.random_seed_offset.value
    return impl.seed_words((seed >> 32) & 0xFFFFFFFF if wide else 0, seed & 0xFFFFFFFF)


def _check_seed(api: str, seed: Any) -> Any:
    if not isinstance(seed, (int, np.generic)) and not hasattr(seed, "dtype"):
        raise TypeError(f"jax.random.{api}: a seed is an integer, got {seed!r} of type {type(seed).__name__}")
    aval = typeof(seed)
    if is_key_dtype(aval.dtype):
        raise TypeError(f"jax.random.{api}: a seed is an integer, got a key; new keys of a key come from "
                        "jax.random.split")
    if aval.shape:
        raise TypeError(f"jax.random.{api}: a seed is one integer, got an array of shape {aval.shape}; many keys come "
                        "from jax.random.split of one, or from jax.vmap(jax.random.key)")
    if not dtypes.issubdtype(aval.dtype, np.integer) and aval.dtype != np.bool_:
        raise TypeError(f"jax.random.{api}: a seed is an integer, got {aval.str_short()}")
    return aval.dtype


def _offset(seed: Any) -> Any:
    """A seed as an integer array, shifted by ``jax_random_seed_offset``."""
    dtype = typeof(seed).dtype
    if isinstance(seed, int):
        seed = dtypes.scalar_to_numpy(int(seed))
    elif dtype == np.bool_:
        seed = lax.convert_element_type(seed, dtypes.canonicalize_dtype(int))
    shift = config.random_seed_offset.value
    return lax.add(seed, np.asarray(shift).astype(typeof(seed).dtype)) if shift else seed


# --- keys as arguments ----------------------------------------------------------------------------------------------

def typed_key(key: Any, api: str) -> tuple[Any, bool]:
    """An argument that should be one key, as a typed key, and whether it was typed.

    Raises:
      TypeError: it is no key.
      ValueError: it is an array of keys.
    """
    keys, typed = typed_keys(key, api)
    shape = keys.aval.shape
    if shape:
        raise ValueError(f"jax.random.{api} takes one key, got an array of keys of shape {shape}. Map over it with "
                         f"jax.vmap, or take one of them, as in keys[0].")
    return keys, typed


def typed_keys(keys: Any, api: str) -> tuple[Any, bool]:
    """Like :func:`typed_key`, for any number of keys."""
    dtype = getattr(keys, "dtype", None)
    if isinstance(dtype, KeyDType):
        return keys, True
    impl = resolve_impl(None)
    n = len(impl.key_shape)
    if dtype != UINT32 or not isinstance(keys, (Array, np.ndarray)) or keys.shape[keys.ndim - n:] != impl.key_shape:
        raise TypeError(f"jax.random.{api} takes a key made by jax.random.key (or a raw one of "
                        f"jax.random.PRNGKey: uint32{list(impl.key_shape)}), got {_describe(keys)}")
    mode = config.legacy_prng_key.value
    if mode != "allow":
        _refuse_raw(api, mode)
    return random_wrap(keys, impl), False


def consumed(keys: Any, api: str) -> Any:
    """A typed key that ``api`` is about to use up, outside of programs (``jax_debug_key_reuse``).

    Raises:
      KeyReuseError: the key has been used up before.
    """
    if type(keys) is KeyArray:
        consume_now(keys, api)
        return keys
    return random_consume_p.bind(keys, api=api)




def _describe(x: Any) -> str:
    try:
        return typeof(x).str_short() if hasattr(x, "shape") else f"{x!r} of type {type(x).__name__}"
    except TypeError:
        return f"a value of type {type(x).__name__}"


def _refuse_raw(api: str, mode: Any) -> None:
    """What ``jax_legacy_prng_key`` says about raw keys."""
    text = f"jax.random.{api} got a raw key, and jax_legacy_prng_key={mode}; make typed keys with jax.random.key"
    if mode == "error":
        raise ValueError(text)
    if mode == "warn":
        warnings.warn(text, UserWarning, stacklevel=5)


# --- new keys -------------------------------------------------------------------------------------------------------

def _eager(fun: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function of a typed key as one compiled call on its words: ``(raw, *args, impl=, **settings) -> raw``."""
    def on_words(raw: Any, *args: Any, impl: PRNGImpl, setting: Any) -> Any:
        return random_unwrap(fun(random_wrap(raw, impl), *args, *setting))

    on_words.__name__ = on_words.__qualname__ = name
    return jit(on_words, static_argnames=("impl", "setting")).in_cpp


_split_words = _eager(random_split, "split")
_fold_words = _eager(lambda key, data: random_fold_in(key, lax.convert_element_type(data, UINT32)), "fold_in")


def split(key: Any, num: int | Sequence[int] = 2) -> Any:
    """New independent keys from a key, which must not be used again.

    Args:
      key: one key.
      num: how many, or the shape of the result.

    Returns:
      An array of keys of the kind of ``key``, of shape ``(num,)`` or ``num``.

    Raises:
      TypeError: ``key`` is no key, or ``num`` no size.
      ValueError: ``key`` is an array of keys.

    >>> import jax
    >>> a, b = jax.random.split(jax.random.key(0))
    """
    shape = as_shape(num if isinstance(num, (tuple, list)) else (num,))
    keys, typed = typed_key(key, "split")
    if config.debug_key_reuse.value and not _get_trace().staged:
        keys = consumed(keys, "split")
    if type(keys) is KeyArray and not _get_trace().staged:
        impl = keys._impl
        new = _split_words(keys._base_array, impl=impl, setting=(shape,))
        return KeyArray(impl, new) if typed and isinstance(new, Array) else random_wrap(new, impl) if typed else new
    new = random_split(keys, shape)
    return new if typed else random_unwrap(new)


def fold_in(key: Any, data: Any) -> Any:
    """A new key from a key and an integer, such as the number of a step.

    Args:
      key: one key.
      data: an integer or 0-d integer array, taken modulo 2**32.

    Raises:
      TypeError: ``key`` is no key, or ``data`` not one integer.
      ValueError: ``key`` is an array of keys.
    """
    keys, typed = typed_key(key, "fold_in")
    if type(data) is int:
        data &= 0xFFFFFFFF
        # A Python integer is the cheapest argument of a compiled call, but has to fit in 32 bits with a sign.
        word = data if data < 2**31 and type(keys) is KeyArray and not _get_trace().staged else np.uint32(data)
    else:
        aval = typeof(data)
        if aval.shape:
            raise TypeError(f"jax.random.fold_in takes one integer, got an array of shape {aval.shape}; map over it "
                            "with jax.vmap")
        if not dtypes.issubdtype(aval.dtype, np.integer):
            raise TypeError(f"jax.random.fold_in takes an integer, got {aval.str_short()}")
        word = data if aval.dtype == UINT32 else lax.convert_element_type(data, UINT32)
    if type(keys) is KeyArray and not _get_trace().staged:
        impl = keys._impl
        new = _fold_words(keys._base_array, word, impl=impl, setting=())
        return random_wrap(new, impl) if typed else new
    new = random_fold_in(keys, word)
    return new if typed else random_unwrap(new)


def clone(key: Any) -> Any:
    """The same key, to be used again on purpose."""
    keys, typed = typed_keys(key, "clone")
    new = random_clone_p.bind(keys)
    return new if typed else random_unwrap(new)


# --- raw words ------------------------------------------------------------------------------------------------------

def key_data(keys: Any) -> Any:
    """The raw words of keys: a uint32 array with the words of each key in its last axis."""
    if type(keys) is KeyArray:
        return keys._base_array
    keys, typed = typed_keys(keys, "key_data")
    return random_unwrap(keys)


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Typed keys from raw words, the inverse of :func:`key_data`.

    Raises:
      TypeError: the words are no uint32 array with the generator's key shape at its end.
    """
    found = _impl_of("wrap_key_data", impl, dtype)
    if not isinstance(key_bits_array, (Array, np.ndarray)):
        raise TypeError(f"jax.random.wrap_key_data takes a uint32 array, got {_describe(key_bits_array)}")
    return random_wrap(key_bits_array, found)


def key_impl(keys: Any) -> Any:
    """The generator of keys, to pass as ``impl``: its name."""
    impl = typed_keys(keys, "key_impl")[0].dtype._impl
    return impl.name if implementations.get(impl.name) is impl else PRNGSpec(impl)


def key_dtype(impl_spec: Any = None) -> KeyDType:
    """The dtype of typed keys of a generator, by default of the default one."""
    return dtype_of(resolve_impl(impl_spec))
