"""Abstract values: what is known about an array while a program is traced.

A :class:`ShapedArray` is interned: two abstract values with equal fields are the same object, so the caches that
every ``bind`` consults compare and hash them by identity.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._base import _jaxlib, config


class AbstractValue:
    """Base class of abstract values. Libraries subclass it for types of their own."""

    __slots__: tuple[str, ...] = ()
    weak_type = False

    def to_tangent_aval(self) -> AbstractValue:
        """The type of tangents of values of this type."""
        raise NotImplementedError(f"{type(self).__name__} has no tangent type")

    def to_cotangent_aval(self) -> AbstractValue:
        """The type of cotangents."""
        return self.to_tangent_aval()

    def strip_weak_type(self) -> AbstractValue:
        """The type without weakness."""
        return self

    def str_short(self, short_dtypes: bool = True) -> str:
        """The type in short, as jaxprs print it."""
        return repr(self)

    def update(self, **kwargs: Any) -> AbstractValue:
        """The type with other fields, by name."""
        raise NotImplementedError(type(self))


class AbstractToken(AbstractValue):
    """The type of the tokens that put effects in order."""

    __slots__ = ()

    def str_short(self, short_dtypes: bool = True) -> str:
        """The type in short, as jaxprs print it."""
        return "Tok"

    def to_tangent_aval(self) -> AbstractValue:
        return self

    def __repr__(self) -> str:
        return "Tok"


abstract_token = AbstractToken()
_NO_AXES: frozenset[Any] = frozenset()
_interned: dict[tuple[Any, ...], ShapedArray] = {}


class ShapedArray(AbstractValue):
    """Shape, dtype and weak-type flag of an array.

    ``sharding``, ``vma`` (the mesh axes over which the value varies) and ``memory_space`` are absent by default.
    """

    __slots__ = ("shape", "dtype", "weak_type", "sharding", "vma", "memory_space", "_hash", "__weakref__")
    shape: tuple[Any, ...]
    dtype: Any
    weak_type: bool
    sharding: Any
    vma: frozenset[Any]
    memory_space: Any
    _hash: int

    def __new__(cls, shape: Any, dtype: Any, weak_type: bool = False, *, sharding: Any = None,
                vma: frozenset[Any] = _NO_AXES, memory_space: Any = None, **kwargs: Any) -> ShapedArray:
        key = (cls, shape, dtype, weak_type, sharding, vma, memory_space)
        try:
            return _interned[key]
        except (KeyError, TypeError):
            pass
        return _intern(cls, shape, dtype, weak_type, sharding, vma, memory_space)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, ShapedArray) and self._key() == other._key()

    def _key(self) -> tuple[Any, ...]:
        return (type(self), self.shape, self.dtype, self.weak_type, self.sharding, self.vma, self.memory_space)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"abstract values are immutable; use .update({name}=...)")

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        n = 1
        for d in self.shape:
            n *= d
        return n

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def update(self, shape: Any = None, dtype: Any = None, weak_type: bool | None = None, **kwargs: Any) -> ShapedArray:
        """The type with other fields, by name."""
        return type(self)(
            self.shape if shape is None else shape, self.dtype if dtype is None else dtype,
            self.weak_type if weak_type is None else weak_type,
            sharding=kwargs.pop("sharding", self.sharding), vma=kwargs.pop("vma", self.vma),
            memory_space=kwargs.pop("memory_space", self.memory_space), **kwargs)

    def strip_weak_type(self) -> ShapedArray:
        """The type, not weak."""
        return self.update(weak_type=False) if self.weak_type else self

    def to_tangent_aval(self) -> ShapedArray:
        dtype = dtypes.tangent_dtype(self.dtype)
        if dtype is self.dtype:
            return self.strip_weak_type()
        return ShapedArray(self.shape, dtype, sharding=self.sharding, vma=self.vma)

    def str_short(self, short_dtypes: bool = True) -> str:
        """The type in short, such as ``f32[2,3]``."""
        name = dtypes.short_name(self.dtype) if short_dtypes else str(self.dtype)
        return f"{name}[{','.join(map(str, self.shape))}]"

    def __str__(self) -> str:
        return ("~" if self.weak_type else "") + self.str_short(short_dtypes=False)

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.dtype}[{','.join(map(str, self.shape))}]{weak})"

    def __reduce__(self) -> Any:
        return _rebuild, (self.shape, self.dtype, self.weak_type)


def _rebuild(shape: Any, dtype: Any, weak_type: bool) -> ShapedArray:
    return ShapedArray(shape, dtype, weak_type)


def _canonical_dim(d: Any) -> Any:
    if type(d) is int:
        return d
    try:
        return d.__index__()
    except Exception:
        # Symbolic dimensions (a dimension that stays a name in an exported program) keep themselves.
        if getattr(d, "_is_symbolic_dimension", False):
            return d
        raise TypeError(f"shapes must be tuples of integers; got the dimension {d!r} of type {type(d).__name__}") from None


def _intern(cls: type, shape: Any, dtype: Any, weak_type: Any, sharding: Any, vma: Any, memory_space: Any) -> Any:
    shape = tuple(_canonical_dim(d) for d in shape)
    if not isinstance(dtype, (np.dtype, dtypes.ExtendedDType)):
        dtype = dtypes.as_dtype(dtype)
    weak_type = bool(weak_type)
    key = (cls, shape, dtype, weak_type, sharding, vma, memory_space)
    found = _interned.get(key)
    if found is not None:
        return found
    new: Any = object.__new__(cls)
    put = object.__setattr__
    put(new, "shape", shape)
    put(new, "dtype", dtype)
    put(new, "weak_type", weak_type)
    put(new, "sharding", sharding)
    put(new, "vma", vma)
    put(new, "memory_space", memory_space)
    put(new, "_hash", hash(key))
    if len(_interned) > 65536:  # a bound, not a leak: programs with ever new shapes start afresh
        _interned.clear()
    return _interned.setdefault(key, new)


def physical_aval(aval: Any) -> Any:
    """The plain array type by which values of an extended dtype (PRNG keys) are represented."""
    dtype = getattr(aval, "dtype", None)
    if isinstance(dtype, dtypes.ExtendedDType):
        inner = dtype.physical_element_aval()
        return ShapedArray((*aval.shape, *inner[0]), inner[1])
    return aval


# --- the abstract value of a Python object -------------------------------------------------------------------------

aval_makers: dict[type, Callable[[Any], Any]] = {}
_scalar_avals: dict[tuple[type, bool], ShapedArray] = {}


def register_aval(typ: type, make: Callable[[Any], Any]) -> None:
    """Says how values of ``typ`` are seen by the tracer. ``jax.core.pytype_aval_mappings`` is this table."""
    aval_makers[typ] = make


def typeof(x: Any) -> Any:
    """The abstract value of ``x``: a tracer, an array, a NumPy array or scalar, or a Python scalar.

    Raises:
      TypeError: for anything else, naming the remedy.
    """
    aval = getattr(x, "aval", None)
    if aval is not None and isinstance(x, _jaxlib.xla.Array):
        return aval
    make = aval_makers.get(type(x))
    if make is not None:
        return make(x)
    return _slow_typeof(x)


def _slow_typeof(x: Any) -> Any:
    if type(x).__module__.startswith("numpy.ma"):
        raise ValueError("a masked array would lose its mask: pass x.filled(...), or x.data and x.mask")
    for cls in type(x).__mro__[1:]:
        make = aval_makers.get(cls)
        if make is not None:
            return make(x)
    convert = getattr(x, "__jax_array__", None)
    if convert is not None:
        return typeof(convert())
    raise TypeError(not_an_array_message(x))


def not_an_array_message(x: Any) -> str:
    """Why ``x`` cannot be an operand and what to do about it."""
    kind = f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")
    if getattr(type(x), "is_reference", False):
        return f"an array is needed here, and a reference of type {x.aval.str_short()} was given; read its array: ref[...]"
    if isinstance(x, (list, tuple)):
        return (f"an array or scalar is needed here, and a Python {kind} was given: {_shorten(x)}. "
                "Make one array of it with jnp.array(...) (or jnp.stack(...) for a sequence of arrays).")
    if isinstance(x, np.ndarray):
        return f"NumPy arrays of dtype {x.dtype} have no counterpart on devices; convert it with .astype(...) first."
    if x is None:
        return "an array or scalar is needed here, and None was given. Check for a missing argument or return value."
    return f"{_shorten(x)} of type {kind} is not a valid JAX array type; pass an array or a Python scalar."


def _shorten(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 80 else text[:77] + "..."


def _ndarray_aval(x: Any) -> ShapedArray:
    dtype = x.dtype
    if dtype.kind in "OSUMmT" or not dtype.isnative or (dtype.kind == "V" and not dtypes.is_supported(dtype)):
        raise TypeError(not_an_array_message(np.asarray(x)))
    return ShapedArray(x.shape, dtypes.canonicalize_dtype(dtype), False)


# --- 64-bit constants while 64-bit types are off ------------------------------------------------------------------

class WideConstant(np.ndarray):
    """A NumPy array of a 64-bit dtype that stands as it is, also while 64-bit types are off.

    Users' NumPy values are narrowed then. Constants that go with arrays which were made while 64-bit types were on are
    not, else an operation would see two dtypes.
    """


def host_constant(value: Any, dtype: Any) -> np.ndarray:
    """``value`` as a NumPy array that is of ``dtype`` wherever it is an operand."""
    made = np.asarray(value, dtype)
    return made.view(WideConstant) if dtypes.is_narrowed(made.dtype) else made


def follow_wide_operands(args: Sequence[Any]) -> list[Any] | None:
    """The operands of an operation with host values in the dtype of the 64-bit arrays that they meet.

    None where nothing has to be done: 64-bit types are on, or there are no such arrays, or of several dtypes, or no host
    values beside them. NumPy values follow if they have that dtype, Python numbers if it can hold their kind.
    """
    if config.enable_x64.value:
        return None
    wide = {x.aval.dtype for x in args if isinstance(x, _jaxlib.xla.Array) and dtypes.is_narrowed(x.aval.dtype)}
    if len(wide) != 1:
        return None
    dtype = wide.pop()
    out = [host_constant(x, dtype) if _follows(x, dtype) else x for x in args]
    return None if all(map(operator.is_, out, args)) else out


def _follows(x: Any, dtype: Any) -> bool:
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype == dtype and not isinstance(x, WideConstant)
    return type(x) in _SCALARS and type(x) is not bool and np.can_cast(dtypes.scalar_dtype(type(x)), dtype, "same_kind")


_SCALARS = (bool, int, float, complex)


def _scalar_aval(x: Any) -> ShapedArray:
    cls = type(x)
    if cls not in _SCALARS:  # members of enumerations, and other subclasses
        cls = next(base for base in _SCALARS if isinstance(x, base))
    return ShapedArray((), dtypes.scalar_dtype(cls), cls is not bool)


aval_makers[np.ndarray] = _ndarray_aval
aval_makers[WideConstant] = lambda x: ShapedArray(x.shape, x.dtype, False)
for _t in dtypes.numpy_scalar_types:
    aval_makers[_t] = _ndarray_aval
for _t in _SCALARS:
    aval_makers[_t] = _scalar_aval
