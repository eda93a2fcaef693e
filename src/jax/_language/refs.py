"""Mutable arrays: the type of a reference, and the cell that holds its value outside of programs.

In a program a reference is a variable of type :class:`AbstractRef`, and equations that read, write or add to it carry
effects that name their operand (:mod:`jax._language.effects`). Outside, a reference is a :class:`Ref`: a cell with an
array, which programs read and replace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._base import config
from jax._language.avals import AbstractValue, register_aval
from jax._language.trace import Tracer

_interned: dict[Any, AbstractRef] = {}


class _Use:
    """Whether any reference has been made in this process: what concerns references is skipped until then."""

    __slots__ = ("begun",)

    def __init__(self) -> None:
        self.begun = False


use = _Use()


class AbstractRef(AbstractValue):
    """The type of a reference to a mutable array.

    Args:
      inner_aval: the type of the array.
      memory_space: where the array lives, for kernels; ``None`` for the device's memory.
      kind: a label that users of kernels give; part of the type.
    """

    __slots__ = ("inner_aval", "memory_space", "kind", "_hash", "__weakref__")
    inner_aval: Any
    memory_space: Any
    kind: Any
    _hash: int

    def __new__(cls, inner_aval: Any, memory_space: Any = None, kind: Any = None) -> AbstractRef:
        key = (inner_aval, memory_space, kind)
        found = _interned.get(key)
        if found is not None:
            return found
        if not isinstance(inner_aval, AbstractValue) or isinstance(inner_aval, AbstractRef):
            raise TypeError(f"a reference refers to an array, and its type is made of the array's; got {inner_aval!r}")
        new: Any = object.__new__(cls)
        put = object.__setattr__
        put(new, "inner_aval", inner_aval.strip_weak_type())
        put(new, "memory_space", memory_space)
        put(new, "kind", kind)
        put(new, "_hash", hash((AbstractRef, new.inner_aval, memory_space, kind)))
        use.begun = True
        return _interned.setdefault((new.inner_aval, memory_space, kind), new)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, AbstractRef) and self._key() == other._key())

    def _key(self) -> tuple[Any, ...]:
        return (self.inner_aval, self.memory_space, self.kind)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"abstract values are immutable; use .update({name}=...)")

    @property
    def shape(self) -> tuple[Any, ...]:
        """The array's shape."""
        return self.inner_aval.shape

    @property
    def dtype(self) -> Any:
        """The array's dtype."""
        return self.inner_aval.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.inner_aval.shape)

    @property
    def size(self) -> Any:
        """The number of elements."""
        return self.inner_aval.size

    @property
    def sharding(self) -> Any:
        """Where the array lives."""
        return self.inner_aval.sharding

    @property
    def vma(self) -> Any:
        """The mesh axes along which the array varies."""
        return self.inner_aval.vma

    def __len__(self) -> int:
        return len(self.inner_aval)

    def update(self, **fields: Any) -> AbstractRef:
        """A copy with other fields; those of the array's type may be given too."""
        own = {name: fields.pop(name, getattr(self, name)) for name in ("inner_aval", "memory_space", "kind")}
        if fields:
            own["inner_aval"] = own["inner_aval"].update(**fields)
        return AbstractRef(**own)

    def to_tangent_aval(self) -> AbstractRef:
        return AbstractRef(self.inner_aval.to_tangent_aval(), self.memory_space, self.kind)

    def to_cotangent_aval(self) -> AbstractRef:
        """The type of references that gather cotangents."""
        return AbstractRef(self.inner_aval.to_cotangent_aval(), self.memory_space, self.kind)

    def str_short(self, short_dtypes: bool = True) -> str:
        """The type in short, such as ``Ref{f32[3]}``."""
        where = f" in {self.memory_space}" if self.memory_space is not None else ""
        label = f" of kind {self.kind}" if self.kind is not None else ""
        return f"Ref{{{self.inner_aval.str_short(short_dtypes)}{where}{label}}}"

    def __repr__(self) -> str:
        return self.str_short(False)

    def __reduce__(self) -> Any:
        return AbstractRef, self._key()


def is_ref_type(aval: Any) -> bool:
    """Whether values of this type are references."""
    return type(aval) is AbstractRef


# What a reference can do, by name; the public module that defines the operations enters them.
operations: dict[str, Callable[..., Any]] = {}


class _RefType(type):
    """Makes traced references, and views of references, instances of :class:`Ref`."""

    def __instancecheck__(cls, x: Any) -> bool:
        if isinstance(x, Tracer):
            return type(x.aval) is AbstractRef
        return type.__instancecheck__(cls, x) or getattr(type(x), "is_reference", False)


class Ref(metaclass=_RefType):
    """A reference to an array that can be changed in place.

    ``ref[...]`` reads the array, ``ref[index]`` a part of it, and ``ref[index] = value`` writes there; indices are those
    of NumPy. :func:`jax.new_ref` makes references. Functions under ``jax.jit``, ``jax.lax.scan`` and other
    transformations may read and write references that they are given or close over, but not return them.

    >>> import jax, jax.numpy as jnp
    >>> ref = jax.new_ref(jnp.zeros(3))
    >>> ref[1] = 5.
    >>> ref[...] += 1.
    >>> ref
    Ref([1., 6., 1.], dtype=float32)
    """

    __slots__ = ("aval", "_value", "_lent", "_gone", "__weakref__")
    is_reference = True
    aval: AbstractRef

    def __init__(self, aval: AbstractRef, value: Any, lent: bool = True) -> None:
        self.aval = aval
        self._value = value
        self._lent = lent  # whether somebody else may hold the array, so that its memory must not be reused
        self._gone = ""

    # --- the cell, for those that run programs --------------------------------------------------------------------

    def read(self) -> Any:
        """The array, which the caller may keep."""
        self._lent = True
        return self.peek()

    def peek(self) -> Any:
        """The array, which the caller must not keep."""
        if self._value is None:
            raise ValueError(f"the reference of type {self.aval.str_short()} {self._gone}, and cannot be used any more")
        return self._value

    def own(self, copy: Callable[[Any], Any]) -> Any:
        """The array, whose memory the caller may take over; what others may hold is copied first."""
        value = self.peek()
        if self._lent:
            value = self._value = copy(value)
            self._lent = False
        return value

    @property
    def is_lent(self) -> bool:
        """Whether a program that is running has the array."""
        return self._lent

    def store(self, value: Any, lent: bool = False) -> None:
        """Replaces the array."""
        self._value = value
        self._lent = lent

    def give_up(self, how: str) -> Any:
        """The array; the reference is gone after this, and ``how`` says why."""
        value = self.peek()
        self._value = None
        self._gone = how
        return value

    # --- what arrays have -----------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The array's dtype."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    @property
    def sharding(self) -> Any:
        """Where the array lives."""
        return self.peek().sharding

    @property
    def committed(self) -> bool:
        """Whether operations must stay where the array lives."""
        return self.peek().committed

    @property
    def format(self) -> Any:
        """Layout and placement of the array."""
        return self.peek().format

    def unsafe_buffer_pointer(self) -> int:
        """The address of the array, which may change with every write."""
        return self.peek().unsafe_buffer_pointer()

    def block_until_ready(self) -> Ref:
        """Waits until the value has been computed."""
        self.peek().block_until_ready()
        return self

    def __len__(self) -> int:
        return len(self.aval)

    def __bool__(self) -> bool:
        raise TypeError("a reference has no truth value; read its array first: ref[...]")

    def __iter__(self) -> Any:
        raise TypeError("a reference cannot be iterated over; read its array first: ref[...]")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError("a reference is not an array; read its array first: ref[...]")

    def __repr__(self) -> str:
        if self._value is None:
            return f"Ref({self._gone}, type {self.aval.str_short()})"
        text = repr(self._value)
        return "Ref" + text[5:].replace("\n  ", "\n") if text.startswith("Array(") else f"Ref({text})"

    def __copy__(self) -> Ref:
        return Ref(self.aval, self.read())  # two references cannot share one array

    def __deepcopy__(self, memo: Any) -> Ref:
        return self.__copy__()

    def __reduce__(self) -> Any:
        return Ref, (self.aval, self.peek())

    def __getitem__(self, index: Any) -> Any:
        return operations["get"](self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        operations["set"](self, index, value)

    @property
    def at(self) -> Any:
        """``ref.at[index]`` is a view: a reference to a part of the array."""
        return operations["at"](self)

    def get(self, idx: Any = ...) -> Any:
        """``ref[idx]``."""
        return operations["get"](self, idx)

    def set(self, value: Any, idx: Any = ...) -> None:
        """``ref[idx] = value``."""
        operations["set"](self, idx, value)

    def swap(self, value: Any, idx: Any = ...) -> Any:
        """Writes ``value`` and returns what was there."""
        return operations["swap"](self, idx, value)

    def addupdate(self, x: Any, idx: Any = ...) -> None:
        """Adds ``x`` to what is there."""
        operations["addupdate"](self, idx, x)

    # --- views of all of it, in another form --------------------------------------------------------------------------

    @property
    def T(self) -> Any:
        """A view with the axes reversed."""
        return self.at[...].T

    def transpose(self, *axes: Any) -> Any:
        """A view with the axes in another order, by default reversed."""
        return self.at[...].transpose(*axes)

    def reshape(self, *shape: Any) -> Any:
        """A view of the elements in another shape."""
        return self.at[...].reshape(*shape)

    def bitcast(self, dtype: Any) -> Any:
        """A view of the bits as elements of another dtype of the same size."""
        return self.at[...].bitcast(dtype)


register_aval(Ref, lambda ref: ref.aval)


def _method_of_traced(name: str) -> property:
    method = Ref.__dict__[name]

    def get(self: Any) -> Any:
        if type(self.aval) is AbstractRef:
            return method.__get__(self)
        raise AttributeError(f"traced arrays have no attribute {name!r}")
    return property(get)


def _method_of_both(name: str) -> property:
    """What arrays have too."""
    method = Ref.__dict__[name]

    def get(self: Any) -> Any:
        if type(self.aval) is AbstractRef:
            return method.__get__(self)
        return getattr(super(Tracer, self), name)
    return property(get)


for _name in ("get", "set", "swap", "addupdate", "bitcast"):
    setattr(Tracer, _name, _method_of_traced(_name))
for _name in ("T", "transpose", "reshape"):
    setattr(Tracer, _name, _method_of_both(_name))


# --- whose reference --------------------------------------------------------------------------------------------------

def root(ref: Any) -> Any:
    """What a reference that transformations have wrapped stands for: a :class:`Ref`, or a tracer of a program."""
    while isinstance(ref, Tracer):
        inner = getattr(ref, "primal", None)
        if inner is None:
            inner = getattr(ref, "val", None)
        if inner is None:
            break
        ref = inner
    return ref


def identity(ref: Any) -> int:
    """Equal for two values exactly if they are the same reference."""
    base = root(ref)
    return id(getattr(base, "variable", base))


def refs_among(values: Sequence[Any]) -> list[tuple[int, Any]]:
    """The references among some values, with their positions."""
    return [(i, x) for i, x in enumerate(values)
            if type(x) is Ref or (isinstance(x, Tracer) and type(x.aval) is AbstractRef)]


def check_aliasing(values: Sequence[Any], num_closed: int, api: str, describe: Callable[[], str],
                   name: Callable[[int], str]) -> None:
    """Raises when a traced function gets one reference in two ways (unless ``jax_mutable_array_checks`` is off).

    Args:
      values: what the function closes over (``num_closed`` of them), and then its arguments.
      api: what traces the function.
      describe: the function, in words.
      name: how argument ``i`` is called.
    """
    if not config.mutable_array_checks.value:
        return
    seen: dict[int, int] = {}
    for i, x in refs_among(values):
        first = seen.setdefault(identity(x), i)
        if first == i:
            continue
        typ = x.aval.str_short()
        if i < num_closed:  # an outer trace may close over a reference both directly and through an inner one
            continue
        here = name(i - num_closed)
        if first < num_closed:
            raise ValueError(f"{api} of {describe()}: a reference of type {typ} is passed as the argument {here}, and "
                             "the function closes over it too. Inside they would be two references to one array; use "
                             "the argument alone, or close over it alone.")
        raise ValueError(f"{api} of {describe()}: one reference of type {typ} is passed twice, as the arguments "
                         f"{name(first - num_closed)} and {here}. Inside they would be two references to one array; "
                         "pass it once.")


def returned(function: str, traced_for: str, aval: Any, where: str, origin: str) -> ValueError:
    """The error for a function that returns a reference."""
    return ValueError(f"{function}, traced for {traced_for}, returned a reference of type {aval.str_short()}{where}. "
                      "References cannot leave the function that they are used in: return the array, ref[...] or "
                      f"jax.freeze(ref). {origin}".rstrip())


__all__ = ["AbstractRef", "Ref", "check_aliasing", "identity", "is_ref_type", "operations",
           "refs_among", "returned", "root", "use"]
