"""Typed keys: their dtype, concrete arrays of them, and the way between typed and raw keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._base._jaxlib import Array
from jax._base.config import debug_key_reuse
from jax._ground.families import zero_derivative
from jax._ground.structural import move_axis
from jax._language import rules
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._lowering.rules import register_lowering
from jax._runtime import transfer
from jax._runtime.array import Shard
from jax.random._identity import fresh
from jax.random._impls import UINT32, PRNGImpl, implementations

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
        return self._impl.key_shape, UINT32

    def wrap(self, physical: Any) -> Any:
        return KeyArray(self._impl, physical)

    def unwrap(self, value: Any) -> Any:
        return value._base_array

    def zeros(self, shape: tuple[int, ...]) -> Any:
        return random_wrap(lax.full((*shape, *self._impl.key_shape), 0, UINT32), self._impl)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyDType) and self._impl == other._impl

    def __hash__(self) -> int:
        return hash((KeyDType, self._impl))

    def __reduce__(self) -> Any:
        return _unpickle_dtype, (self._impl.name,)


_dtypes: dict[PRNGImpl, KeyDType] = {}


def dtype_of(impl: PRNGImpl) -> KeyDType:
    found = _dtypes.get(impl)
    if found is None:
        found = _dtypes[impl] = KeyDType(impl)
    return found


def is_key_dtype(dtype: Any) -> bool:
    return isinstance(dtype, KeyDType)


# --- the array ------------------------------------------------------------------------------------------------------

class KeyShard(Shard):
    """A piece of an array of keys: that of their raw words, without the axis of these."""

    __slots__ = ("_ndim",)

    def __init__(self, device: Any, sharding: Any, words_shape: tuple[int, ...], data: Any, ndim: int) -> None:
        super().__init__(device, sharding, words_shape, data)
        self._ndim = ndim

    @property
    def index(self) -> tuple[slice, ...]:
        return super().index[:self._ndim]


class KeyArray(Array):
    """A concrete array of typed keys."""

    __slots__ = ("_impl", "_base_array", "aval", "_identities", "__weakref__")

    def __init__(self, impl: PRNGImpl, base: Any, identities: Any = None) -> None:
        self._impl = impl
        self._base_array = base
        self._identities = identities  # which keys these are, under jax_debug_key_reuse
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

    def identities(self) -> Any:
        """Which keys these are, under ``jax_debug_key_reuse``."""
        if self._identities is None:
            self._identities = fresh(self.shape)
        return self._identities

    def _followed(self) -> Any:
        return self.identities() if debug_key_reuse.value else None

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
        if debug_key_reuse.value:
            return (self[i] for i in range(self.shape[0]))
        return (KeyArray(self._impl, x) for x in self._base_array)

    def __repr__(self) -> str:
        return f"Array({self.shape}, dtype={self.dtype}) overlaying:\n{self._base_array}"

    __str__ = __repr__

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("typed keys are no numbers and have no NumPy form; jax.random.key_data gives their raw words")

    def __hash__(self) -> int:
        raise TypeError("typed keys are arrays and therefore not hashable; jax.random.key_data gives their raw words")

    def __bool__(self) -> bool:
        raise TypeError("typed keys have no truth value; compare them with ==, or see jax.random.key_data")

    def item(self, *args: int) -> Any:
        raise TypeError("typed keys have no Python form; jax.random.key_data gives their raw words")

    tolist = item

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
        return KeyArray(self._impl, self._base_array.copy(), self._followed())

    def __copy__(self) -> Any:
        return KeyArray(self._impl, self._base_array, self._followed())

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce__(self) -> Any:
        return _unpickle, (self._impl.name, np.asarray(self._base_array))

    def addressable_data(self, index: int) -> Any:
        return KeyArray(self._impl, self._base_array.addressable_data(index))

    def _shards(self, shards: list[Shard]) -> list[Shard]:
        return [KeyShard(s.device, s._sharding, s._shape, None if s.data is None else KeyArray(self._impl, s.data),
                         len(self.shape)) for s in shards]

    addressable_shards = property(lambda self: self._shards(self._base_array.addressable_shards))
    global_shards = property(lambda self: self._shards(self._base_array.global_shards))

    def on_device_size_in_bytes(self) -> int:
        return self._base_array.on_device_size_in_bytes()

    def unsafe_buffer_pointer(self) -> int:
        return self._base_array.unsafe_buffer_pointer()


def _unpickle(name: str, data: Any) -> KeyArray:
    return KeyArray(implementations[name], transfer.to_device(data))


def _unpickle_dtype(name: str) -> KeyDType:
    return dtype_of(implementations[name])


def _put(x: KeyArray, aval: Any, sharding: Any, committed: bool) -> Any:
    return KeyArray(x._impl, transfer.to_device(x._base_array, None, sharding, committed=committed), x._followed())


transfer.put_handlers[KeyArray] = _put


# --- between typed and raw keys -------------------------------------------------------------------------------------

random_wrap_p = Primitive("random_wrap")
random_unwrap_p = Primitive("random_unwrap")


def _wrap_abstract(base: Any, *, impl: PRNGImpl) -> Any:
    n = len(impl.key_shape)
    if base.dtype != UINT32 or base.shape[len(base.shape) - n:] != impl.key_shape:
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
        base, d = move_axis(base, d, 0), 0
    return random_wrap_p.bind(base, impl=impl), d
