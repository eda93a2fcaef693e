"""Keys: typed arrays of them, their dtype, and the functions that make new keys of old ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._api.vmap import vmap
from jax._base import config
from jax._base._jaxlib import Array
from jax._ground.families import zero_derivative
from jax._language import rules
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._language.trace import Tracer
from jax._lowering.rules import register_lowering
from jax._runtime import transfer
from jax.random._impls import PRNGImpl, implementations

# --- the dtype ------------------------------------------------------------------------------------------------------


class KeyDType(dtypes.ExtendedDType):
    """The dtype of typed keys: each element is carried by one raw key of the generator."""

    __slots__ = ("_impl", "name", "itemsize")
    type = dtypes.prng_key

    def __init__(self, impl: PRNGImpl) -> None:
        self._impl = impl
        self.name = f"key<{impl.tag}>"
        self.itemsize = 4 * int(np.prod(impl.key_shape))

    def physical_element_aval(self) -> tuple[tuple[int, ...], np.dtype]:
        return self._impl.key_shape, np.dtype("uint32")

    def wrap(self, physical: Any) -> Any:
        return KeyArray(self._impl, physical)

    def unwrap(self, value: Any) -> Any:
        return value._base_array

    def zeros(self, shape: tuple[int, ...]) -> Any:
        return random_wrap(lax.full((*shape, *self._impl.key_shape), 0, np.dtype("uint32")), self._impl)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyDType) and self._impl == other._impl

    def __hash__(self) -> int:
        return hash((KeyDType, self._impl))

    def __reduce__(self) -> Any:
        return key_dtype, (self._impl.name,)


_dtypes: dict[PRNGImpl, KeyDType] = {}


def dtype_of(impl: PRNGImpl) -> KeyDType:
    found = _dtypes.get(impl)
    if found is None:
        found = _dtypes[impl] = KeyDType(impl)
    return found


def is_key_dtype(dtype: Any) -> bool:
    return isinstance(dtype, KeyDType)


# --- the array ------------------------------------------------------------------------------------------------------

class KeyArray(Array):
    """A concrete array of typed keys."""

    __slots__ = ("_impl", "_base_array", "aval", "__weakref__")

    def __init__(self, impl: PRNGImpl, base: Any) -> None:
        self._impl = impl
        self._base_array = base
        n = len(impl.key_shape)
        self.aval = ShapedArray(base.shape[:base.ndim - n], dtype_of(impl))

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: len(self.aval.shape))
    size = property(lambda self: self.aval.size)
    itemsize = property(lambda self: self.aval.dtype.itemsize)
    nbytes = property(lambda self: self._base_array.nbytes)
    weak_type = property(lambda self: False)
    sharding = property(lambda self: self._base_array.sharding)
    committed = property(lambda self: self._base_array.committed)
    _committed = property(lambda self: self._base_array._committed)
    device = property(lambda self: self._base_array.device)
    is_fully_addressable = property(lambda self: self._base_array.is_fully_addressable)
    is_fully_replicated = property(lambda self: self._base_array.is_fully_replicated)

    def devices(self) -> Any:
        return self._base_array.devices()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a single key (an array of keys of shape ())")
        return self.shape[0]

    def __iter__(self) -> Any:
        if not self.shape:
            raise TypeError("iteration over a single key (an array of keys of shape ()); make several with "
                            "jax.random.split")
        return (KeyArray(self._impl, x) for x in self._base_array)

    def __repr__(self) -> str:
        return f"Array({self.shape}, dtype={self.dtype}) overlaying:\n{self._base_array}"

    __str__ = __repr__

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("typed keys are no numbers and have no NumPy form; jax.random.key_data gives their raw words")

    def __hash__(self) -> int:
        raise TypeError("typed keys are arrays and therefore not hashable; jax.random.key_data gives their raw words")

    def block_until_ready(self) -> Any:
        self._base_array.block_until_ready()
        return self

    def copy_to_host_async(self) -> None:
        self._base_array.copy_to_host_async()

    def is_deleted(self) -> bool:
        return self._base_array.is_deleted()

    def delete(self) -> None:
        self._base_array.delete()

    def copy(self) -> Any:
        return KeyArray(self._impl, self._base_array.copy())

    def __copy__(self) -> Any:
        return KeyArray(self._impl, self._base_array)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce__(self) -> Any:
        return _unpickle, (self._impl.name, np.asarray(self._base_array))

    def addressable_data(self, index: int) -> Any:
        return KeyArray(self._impl, self._base_array.addressable_data(index))


def _unpickle(name: str, data: Any) -> KeyArray:
    return KeyArray(implementations[name], transfer.to_device(data))


def _put(x: KeyArray, aval: Any, sharding: Any, committed: bool) -> Any:
    return KeyArray(x._impl, transfer.to_device(x._base_array, None, sharding, committed=committed))


transfer.put_handlers[KeyArray] = _put


# --- between typed and raw keys -------------------------------------------------------------------------------------

random_wrap_p = Primitive("random_wrap")
random_unwrap_p = Primitive("random_unwrap")


def _wrap_abstract(base: Any, *, impl: PRNGImpl) -> Any:
    n = len(impl.key_shape)
    if base.dtype != np.dtype("uint32") or base.shape[len(base.shape) - n:] != impl.key_shape:
        raise TypeError(f"raw keys of {impl.name} are uint32 arrays whose last axes are {impl.key_shape}, got "
                        f"{base.str_short()}")
    return ShapedArray(base.shape[:len(base.shape) - n], dtype_of(impl))


def _unwrap_abstract(keys: Any) -> Any:
    shape, dtype = keys.dtype.physical_element_aval()
    return ShapedArray((*keys.shape, *shape), dtype)


def random_wrap(base: Any, impl: PRNGImpl) -> Any:
    return random_wrap_p.bind(base, impl=impl)


def random_unwrap(keys: Any) -> Any:
    return random_unwrap_p.bind(keys)


def _wrap_impl(base: Any, *, impl: PRNGImpl) -> KeyArray:
    _wrap_abstract(typeof(base), impl=impl)
    return KeyArray(impl, base if isinstance(base, Array) else transfer.to_device(base))


random_wrap_p.def_abstract_eval(_wrap_abstract)
random_wrap_p.def_impl(_wrap_impl)
register_lowering(random_wrap_p, lambda ctx, base, impl: [base])
zero_derivative(random_wrap_p)
rules.primitive_batchers[random_wrap_p] = lambda args, dims, impl: _wrap_batch(args[0], dims[0], impl)
random_unwrap_p.def_abstract_eval(_unwrap_abstract)
random_unwrap_p.def_impl(lambda keys: keys._base_array)
register_lowering(random_unwrap_p, lambda ctx, keys: [keys])
zero_derivative(random_unwrap_p)
rules.primitive_batchers[random_unwrap_p] = lambda args, dims: (random_unwrap_p.bind(args[0]), dims[0])


def _wrap_batch(base: Any, d: int, impl: PRNGImpl) -> Any:
    ndim = typeof(base).ndim
    if d >= ndim - len(impl.key_shape):  # the words of a key must stay last
        from jax._ground.structural import move_axis  # a rare layout
        base, d = move_axis(base, d, 0), 0
    return random_wrap_p.bind(base, impl=impl), d


# --- public functions -----------------------------------------------------------------------------------------------

def resolve_impl(spec: Any) -> PRNGImpl:
    """The generator for a name, a key dtype, a generator, or ``None`` for the default one.

    Raises:
      ValueError: an unknown name; the message lists the known ones.
    """
    if spec is None:
        spec = config.default_prng_impl.value
    if isinstance(spec, PRNGImpl):
        return spec
    if isinstance(spec, KeyDType):
        return spec._impl
    if isinstance(spec, PRNGSpec):
        return spec._impl
    if isinstance(spec, str):
        found = implementations.get(spec)
        if found is None:
            raise ValueError(f"unknown random generator {spec!r}; there are {', '.join(sorted(implementations))}")
        return found
    raise TypeError(f"a random generator is given by its name or a key dtype, got {spec!r} of type {type(spec).__name__}")


class PRNGSpec:
    """Names a generator; what :func:`key_impl` returns for generators without a plain name."""

    __slots__ = ("_impl",)

    def __init__(self, impl: PRNGImpl) -> None:
        self._impl = impl

    def __repr__(self) -> str:
        return f"PRNGSpec({self._impl.name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PRNGSpec) and self._impl == other._impl

    def __hash__(self) -> int:
        return hash((PRNGSpec, self._impl))


def _seed_raw(seed: Any, impl: PRNGImpl) -> Any:
    if typeof(seed).shape:
        raise TypeError(f"a seed is one integer, got an array of shape {typeof(seed).shape}; make several keys with "
                        "jax.random.split or jax.vmap")
    dtype = typeof(seed).dtype
    if not dtypes.issubdtype(dtype, np.integer):
        raise TypeError(f"a seed is an integer, got {typeof(seed).str_short()}")
    if not isinstance(seed, Tracer):
        value = int(seed) + int(config.random_seed_offset.value)
        if not -2**63 <= value < 2**64:
            raise OverflowError(f"the seed {value} does not fit in 64 bits")
        # The words of the seed, as a 32-bit program would cut it unless 64-bit types are on.
        words = np.array([(value >> 32) & 0xFFFFFFFF if config.enable_x64.value else 0, value & 0xFFFFFFFF], np.uint32)
        return _seed_words(words, impl) if impl.name == "threefry2x32" else _seed_compiled(
            np.asarray(value & 0xFFFFFFFF, np.uint32), impl=impl)
    if config.random_seed_offset.value:
        seed = lax.add(seed, np.array(config.random_seed_offset.value, dtype))
    return impl.seed(seed)


def _seed_words(words: np.ndarray, impl: PRNGImpl) -> Any:
    return transfer.to_device(words)


@composite(static_argnames=("impl",))
def _seed_compiled(seed: Any, *, impl: PRNGImpl) -> Any:
    return impl.seed(seed)


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:  # noqa: N802 (the API's name)
    """A raw key from an integer seed: a uint32 array of shape ``(2,)`` for the default generator.

    New programs use :func:`key`, whose keys have a dtype of their own.
    """
    found = resolve_impl(impl)
    if config.enable_custom_prng.value:
        return random_wrap(_seed_raw(_as_seed(seed), found), found)
    return _seed_raw(_as_seed(seed), found)


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """A typed key from an integer seed.

    Args:
      seed: an integer, or a 0-d integer array.
      impl: the generator: ``"threefry2x32"`` (default), ``"rbg"`` or ``"unsafe_rbg"``.
      dtype: the key dtype, in place of ``impl``.

    Returns:
      An array of shape ``()`` of dtype ``key<...>``.

    >>> import jax
    >>> jax.random.key(0).shape
    ()
    """
    if impl is not None and dtype is not None:
        raise ValueError("jax.random.key takes impl or dtype, not both")
    found = resolve_impl(impl if dtype is None else dtype)
    return random_wrap(_seed_raw(_as_seed(seed), found), found)


def _as_seed(seed: Any) -> Any:
    if isinstance(seed, KeyArray) or is_key_dtype(getattr(seed, "dtype", None)):
        raise TypeError("a seed is an integer, got a key; make new keys of a key with jax.random.split")
    if isinstance(seed, bool) or not (isinstance(seed, int) or hasattr(seed, "dtype")):
        raise TypeError(f"a seed is an integer, got {seed!r} of type {type(seed).__name__}")
    return seed


def unpack(key: Any, api: str) -> tuple[Any, PRNGImpl, bool]:
    """The raw words of one key or an array of keys, its generator, and whether it was typed."""
    if type(key) is KeyArray:
        return key._base_array, key._impl, True
    dtype = getattr(key, "dtype", None)
    if isinstance(dtype, KeyDType):
        return random_unwrap(key), dtype._impl, True
    if dtype is None:
        raise TypeError(f"jax.random.{api} takes a key made by jax.random.key, got {key!r} of type "
                        f"{type(key).__name__}")
    impl = resolve_impl(None)
    if dtype != np.dtype("uint32") or not key.shape or key.shape[-1:] != impl.key_shape:
        raise TypeError(f"jax.random.{api} takes a typed key, or a raw uint32 key of shape {impl.key_shape}, got "
                        f"{dtype}[{','.join(map(str, key.shape))}]")
    if config.legacy_prng_key.value not in ("allow",) and str(config.legacy_prng_key.value).rsplit(".")[-1].lower() \
            not in ("allow",):
        _legacy(api)
    return key, impl, False


def _legacy(api: str) -> None:
    import warnings  # only under the option
    mode = str(getattr(config.legacy_prng_key.value, "value", config.legacy_prng_key.value)).lower()
    text = f"jax.random.{api} got a raw key; make typed keys with jax.random.key (jax_legacy_prng_key={mode})"
    if mode == "error":
        raise ValueError(text)
    if mode == "warn":
        warnings.warn(text, stacklevel=4)


def single(key: Any, api: str) -> tuple[Any, PRNGImpl, bool]:
    """:func:`unpack` for functions of exactly one key."""
    raw, impl, typed = unpack(key, api)
    if raw.ndim != len(impl.key_shape):
        shape = raw.shape[:raw.ndim - len(impl.key_shape)]
        raise ValueError(f"jax.random.{api} takes one key, got an array of keys of shape {shape}; map over it with "
                         "jax.vmap")
    return raw, impl, typed


@composite(static_argnames=("impl", "shape"))
def _split(raw: Any, *, impl: PRNGImpl, shape: tuple[int, ...]) -> Any:
    return impl.split(raw, shape)


@composite(static_argnames=("impl",))
def _fold_in(raw: Any, data: Any, *, impl: PRNGImpl) -> Any:
    return impl.fold_in(raw, data)


def split(key: Any, num: int | Sequence[int] = 2) -> Any:
    """New independent keys from a key, which must not be used again.

    Args:
      key: one key.
      num: how many, or the shape of the result.

    Returns:
      An array of keys of the kind of ``key``, of shape ``(num,)`` or ``num``.
    """
    raw, impl, typed = single(key, "split")
    shape = tuple(num) if isinstance(num, (tuple, list)) else (num,)
    shape = tuple(n.__index__() for n in shape)
    new = _split(raw, impl=impl, shape=shape)
    return random_wrap(new, impl) if typed else new


def fold_in(key: Any, data: Any) -> Any:
    """A new key from a key and an integer, such as a step number. ``data`` is taken modulo 2**32."""
    raw, impl, typed = single(key, "fold_in")
    if typeof(data).shape:
        raise TypeError(f"jax.random.fold_in takes one integer, got an array of shape {typeof(data).shape}; map over it "
                        "with jax.vmap")
    if not dtypes.issubdtype(typeof(data).dtype, np.integer):
        raise TypeError(f"jax.random.fold_in takes an integer, got {typeof(data).str_short()}")
    if isinstance(data, int):
        data = np.uint32(data & 0xFFFFFFFF)
    else:
        data = lax.convert_element_type(data, np.dtype("uint32"))
    new = _fold_in(raw, data, impl=impl)
    return random_wrap(new, impl) if typed else new


def key_data(keys: Any) -> Any:
    """The raw words of keys: a uint32 array with the words of each key in its last axis."""
    return unpack(keys, "key_data")[0]


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Typed keys from raw words, the inverse of :func:`key_data`."""
    if impl is not None and dtype is not None:
        raise ValueError("jax.random.wrap_key_data takes impl or dtype, not both")
    return random_wrap(key_bits_array, resolve_impl(impl if dtype is None else dtype))


def key_impl(keys: Any) -> Any:
    """The generator of keys, to pass as ``impl``: its name."""
    impl = unpack(keys, "key_impl")[1]
    return impl.name if implementations.get(impl.name) == impl else PRNGSpec(impl)


def key_dtype(impl_spec: Any = None) -> KeyDType:
    """The dtype of typed keys of a generator (the default one)."""
    return dtype_of(resolve_impl(impl_spec))


def clone(key: Any) -> Any:
    """The same key, to be used again on purpose: ``jax_debug_key_reuse`` does not count it."""
    raw, impl, typed = unpack(key, "clone")
    return random_wrap(raw, impl) if typed else raw


def map_over_keys(fun: Any, raw: Any, impl: PRNGImpl) -> Any:
    """``fun`` of one raw key, mapped over an array of them."""
    for _ in range(raw.ndim - len(impl.key_shape)):
        fun = vmap(fun)
    return fun(raw)
