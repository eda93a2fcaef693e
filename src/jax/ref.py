"""Mutable arrays: references to arrays that can be read and changed in place.

:func:`new_ref` makes a :class:`Ref`. ``ref[...]`` reads it, ``ref[index] = value`` and ``ref[index] += value`` change it,
with NumPy's indices; ``ref.at[index]`` is a view of a part. In compiled functions references are arguments that are also
results, whose memory is reused.

- A function under ``jit``, ``scan``, ``while_loop``, ``cond``, ``checkpoint`` or ``vmap`` may read and change references
  that it is given or closes over. It may not return them, and must not get one of them twice.
- A function that only uses references that it makes itself is a pure function for all transformations.
- Under ``grad`` and ``jvp`` references from outside are plumbing: what is read from them is constant, and values that are
  being differentiated cannot be written to them, unless the reference is a differentiated argument of ``jvp`` or ``vjp``
  (see ``with_refs`` of what :func:`jax.vjp` returns).
- Under ``vmap`` only references that are mapped, or made inside, can be changed.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jax import dtypes, lax
from jax._api.indexing import Slice
from jax._api.jit import jit
from jax._base._jaxlib import xla
from jax._base.source import api_boundary
from jax._ground.references import (
    addupdate_p,
    empty_ref_p,
    free_ref_p,
    freeze_p,
    get_p,
    new_ref_p,
    swap_p,
)
from jax._ground.structural import convert_element_type_p
from jax._language.avals import typeof
from jax._language.jaxpr import DropVar
from jax._language.primitive import abstract_eval
from jax._language.refs import AbstractRef as AbstractRef
from jax._language.refs import Ref as Ref
from jax._language.refs import operations, root
from jax._language.staging import StagedTracer, StagingTrace
from jax._language.trace import bottom, current_trace
from jax._runtime.transfer import to_device, with_aval
from jax.numpy._at import _on_device
from jax.numpy._at import getitem as _array_getitem
from jax.numpy._at import updated as _array_updated
from jax.numpy._index_plan import ALL, ARRAY, AT, FLAG, INSIDE, NEW, SCALAR, SLICE, WINDOW, Plan, parse
from jax.numpy._index_run import get as _elements
from jax.numpy._index_run import update as _with_elements
from jax.numpy._index_windows import in_two_steps
from jax.numpy._promotion import as_dtype, broadcast_to
from jax.tree_util import register_pytree_node

_ArrayImpl = xla.ArrayImpl
_get_trace = current_trace.get


# --- making references -----------------------------------------------------------------------------------------------

@api_boundary
def new_ref(init_val: Any, *, memory_space: Any = None, kind: Any = None, pin: bool = False) -> Any:
    """A reference to a new array with the value of ``init_val``.

    Args:
      init_val: an array or scalar; it does not change with the reference.
      memory_space: must be ``None`` outside of kernels: the array lives in the device's memory.
      kind: a label that becomes part of the reference's type.
      pin: must be False.

    Returns:
      A :class:`Ref` of the shape and dtype of ``init_val``; the dtype is never weak.

    Raises:
      TypeError: ``init_val`` is not an array or scalar.

    >>> import jax, jax.numpy as jnp
    >>> ref = jax.new_ref(jnp.arange(3))
    >>> ref[0] = 7
    >>> ref[...]
    Array([7, 1, 2], dtype=int32)
    """
    _check_placement("new_ref", memory_space, pin)
    if isinstance(init_val, Ref):
        raise TypeError(f"new_ref takes an array, and {init_val!r} is a reference already; for another one with its value "
                        "write jax.new_ref(ref[...])")
    try:
        typeof(init_val)
    except TypeError as error:
        raise TypeError(f"new_ref: {error}") from None
    convert = getattr(init_val, "__jax_array__", None)
    if convert is not None and not isinstance(init_val, xla.Array):
        init_val = convert()
    return new_ref_p.bind(init_val, memory_space=memory_space, kind=kind)


@api_boundary
def empty_ref(ty: Any, memory_space: Any = None, pin: bool = False) -> Any:
    """A reference to a new array whose elements are not specified.

    Args:
      ty: the type of the array: a ``jax.ShapeDtypeStruct``, ``jax.typeof(x)``, or anything with a shape and a dtype.
      memory_space, pin: as for :func:`new_ref`.

    >>> import jax, jax.numpy as jnp
    >>> jax.empty_ref(jax.ShapeDtypeStruct((2, 3), jnp.float32)).shape
    (2, 3)
    """
    _check_placement("empty_ref", memory_space, pin)
    aval = ty if hasattr(ty, "strip_weak_type") else typeof(ty)
    if isinstance(aval, AbstractRef):
        aval = aval.inner_aval
    return empty_ref_p.bind(ty=aval.strip_weak_type(), memory_space=memory_space, kind=None)


def _check_placement(api: str, memory_space: Any, pin: bool) -> None:
    if memory_space is not None:
        raise NotImplementedError(f"{api}: memory spaces are for references in kernels; leave memory_space out, and move "
                                  "the initial value with jax.device_put")
    if pin:
        raise NotImplementedError(f"{api}: pinned references are not supported; leave pin out")


# --- giving them up --------------------------------------------------------------------------------------------------

# The references of programs under construction that have been given up, with the reason.
_gone: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


@api_boundary
def freeze(ref: Any) -> Any:
    """The array of ``ref``, which cannot be used any more afterwards.

    Where ``ref[...]`` may have to copy, the array that this returns is the one that the reference had.

    Raises:
      ValueError: in a traced function, for a reference that was not made there.

    >>> import jax
    >>> ref = jax.new_ref(1.)
    >>> ref[...] = 2.
    >>> float(jax.freeze(ref))
    2.0
    """
    variable = _may_give_up("freeze", ref)
    out = freeze_p.bind(ref)
    if variable is not None:
        _gone[variable] = "was frozen"
    return out


@api_boundary
def free_ref(ref: Any) -> None:
    """Gives up a reference: it cannot be used any more, and its memory may be reused.

    Raises:
      ValueError: in a traced function, for a reference that was not made there.
    """
    variable = _may_give_up("free_ref", ref)
    free_ref_p.bind(ref)
    if variable is not None:
        _gone[variable] = "was freed"


def _may_give_up(api: str, ref: Any) -> Any:
    """The variable of a reference in a program, after checking that it was made in the function under way."""
    _usable(api, ref)
    if isinstance(ref, RefView):
        raise TypeError(f"{api} takes a whole reference, got {ref!r}")
    base, trace = root(ref), _get_trace()
    maker = getattr(base, "_trace", None)
    while trace is not None and not isinstance(trace, StagingTrace):
        if maker is not None and getattr(trace, "tangents", None) is maker:  # in a derivative rule of the user's
            return base.variable
        trace = trace.parent
    if trace is None:
        return None
    if not (type(base) is StagedTracer and maker is trace and base.variable not in trace.invars):
        raise ValueError(f"{api}: the reference of type {ref.aval.str_short()} was not made in "
                         f"{trace.debug_info.source_text()}, which is being traced, but passed to it or closed over. Read "
                         f"its array with ref[...], and call {api} where the reference was made.")
    return base.variable


def _usable(api: str, ref: Any) -> None:
    if not isinstance(ref, (Ref, RefView)):
        raise TypeError(f"{api} takes a reference (jax.new_ref), got {ref!r} of type {type(ref).__name__}")
    if _gone:
        variable = getattr(root(ref.ref if isinstance(ref, RefView) else ref), "variable", None)
        how = _gone.get(variable) if variable is not None else None
        if how:
            raise ValueError(f"{api}: the reference of type {ref.aval.str_short()} {how}, and cannot be used any more")


# --- views -----------------------------------------------------------------------------------------------------------

class Indexed(NamedTuple):
    """The elements at an index, as a view (see ``_ground.references``)."""

    plan: Plan

    @property
    def num_operands(self) -> int:
        return sum([_has_operand(e) for e in self.plan])

    def read(self, x: Any, operands: Sequence[Any]) -> Any:
        return _elements(x, self.plan, operands)

    def write(self, x: Any, operands: Sequence[Any], values: Any, op: str) -> Any:
        return _with_elements(x, self.plan, operands, values, op)

    def text(self, operands: Sequence[str]) -> str:
        rest = iter(operands)
        return f"[{', '.join([_entry_text(e, next(rest) if _has_operand(e) else '') for e in self.plan])}]"


def _kind(entry: Any) -> str:
    return entry if type(entry) is str else entry[0]


def _has_operand(entry: Any) -> bool:
    return _kind(entry) in (INSIDE, SCALAR, ARRAY, WINDOW)


def _entry_text(entry: Any, operand: str) -> str:
    kind = _kind(entry)
    if kind == SLICE:
        _, start, size, step = entry
        stop = start + size * step
        return f"{start or ''}:{stop if stop >= 0 else ''}{f':{step}' if step != 1 else ''}"
    if kind == WINDOW:
        return f"{operand}:{operand}+{entry[1]}"
    if kind in (AT, FLAG):
        return str(entry[1])
    return {NEW: "None", ALL: ":"}.get(kind, operand)


class _Rearranged(NamedTuple):
    """The whole array in another shape, order of axes or dtype."""

    how: str
    target: Any
    source: Any

    num_operands = 0

    def read(self, x: Any, operands: Sequence[Any]) -> Any:
        return _rearrange(self.how, x, self.target)

    def write(self, x: Any, operands: Sequence[Any], values: Any, op: str) -> Any:
        if op == "add":
            values = lax.add(self.read(x, operands), values)
        return _rearrange(self.how, values, self.source)

    def text(self, operands: Sequence[str]) -> str:
        return f".{self.how}({self.target})"


def _rearrange(how: str, x: Any, target: Any) -> Any:
    if how == "reshape":
        return lax.reshape(x, target)
    if how == "transpose":
        return lax.transpose(x, target)
    return lax.bitcast_convert_type(x, target)


class RefView:
    """A part of the array of a reference: what ``ref.at[index]`` is.

    It is read and written like a reference, and ``view.at[index]`` is a part of the part. ``T``, ``transpose``,
    ``reshape`` and ``bitcast`` show the array in another form. Views are trees with the reference (and index arrays) as
    leaves, so that they can be passed to transformed functions.
    """

    __slots__ = ("ref", "views", "operands", "aval")
    is_reference = True

    def __init__(self, ref: Any, views: tuple[Any, ...], operands: tuple[Any, ...]) -> None:
        self.ref = ref
        self.views = views
        self.operands = operands
        part, _ = abstract_eval(get_p, tuple([ref.aval, *map(typeof, operands)]), {"views": views})
        self.aval = ref.aval.update(inner_aval=part)

    shape = property(lambda self: self.aval.shape, doc="The shape of the part.")
    dtype = property(lambda self: self.aval.dtype, doc="Its dtype.")
    ndim = property(lambda self: self.aval.ndim, doc="Its number of axes.")
    size = property(lambda self: self.aval.size, doc="Its number of elements.")
    at = property(lambda self: _Viewer(self), doc="``view.at[index]`` is a part of the part.")
    T = property(lambda self: self.transpose(), doc="A view with the axes reversed.")

    def __len__(self) -> int:
        return len(self.aval)

    def __getitem__(self, index: Any) -> Any:
        return _getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        _setitem(self, index, value)

    def get(self, idx: Any = ...) -> Any:
        """``view[idx]``."""
        return _getitem(self, idx)

    def set(self, value: Any, idx: Any = ...) -> None:
        """``view[idx] = value``."""
        _setitem(self, idx, value)

    def swap(self, value: Any, idx: Any = ...) -> Any:
        """Writes ``value`` and returns what was there."""
        return swap(self, idx, value)

    def addupdate(self, x: Any, idx: Any = ...) -> None:
        """Adds ``x`` to what is there."""
        addupdate(self, idx, x)

    def _then(self, view: Any) -> RefView:
        return RefView(self.ref, (*self.views, view), self.operands)

    def reshape(self, *shape: Any) -> RefView:
        """A view of the elements in another shape."""
        new = np.empty(self.shape, bool).reshape(*shape).shape
        return self._then(_Rearranged("reshape", new, self.shape))

    def transpose(self, *axes: Any) -> RefView:
        """A view with the axes in another order, by default reversed."""
        order = axes[0] if len(axes) == 1 and not hasattr(axes[0], "__index__") else axes or range(self.ndim)[::-1]
        return self._then(_Rearranged("transpose", tuple(order), tuple(int(i) for i in np.argsort(order))))

    def bitcast(self, dtype: Any) -> RefView:
        """A view of the bits as elements of another dtype of the same size."""
        dtype = dtypes.requested_dtype(dtype, "bitcast")
        if dtype.itemsize != self.dtype.itemsize:
            raise ValueError(f"bitcast: {self.dtype} and {dtype} have elements of different sizes")
        return self._then(_Rearranged("bitcast", dtype, self.dtype))

    def __repr__(self) -> str:
        return f"RefView(ref={self.ref!r}, part={self.aval.str_short()})"


register_pytree_node(RefView, lambda v: ((v.ref, *v.operands), v.views), lambda views, xs: _rebuilt(views, xs))


def _rebuilt(views: Any, children: Any) -> Any:
    ref, *operands = children
    if not isinstance(ref, Ref):  # a tree of something else
        new = object.__new__(RefView)
        new.ref, new.views, new.operands, new.aval = ref, views, tuple(operands), None
        return new
    return RefView(ref, views, tuple(operands))


class _Viewer:
    """``ref.at``, to be indexed."""

    __slots__ = ("ref",)

    def __init__(self, ref: Any) -> None:
        self.ref = ref

    def __getitem__(self, index: Any) -> RefView:
        ref, views, operands = _target("ref.at", self.ref, index)
        return RefView(ref, views, operands)

    def __repr__(self) -> str:
        return f"{self.ref!r}.at"


# --- reading and writing ---------------------------------------------------------------------------------------------

@api_boundary
def get(ref: Any, idx: Any = None) -> Any:
    """``ref[idx]``; without ``idx`` all of the array.

    >>> import jax, jax.numpy as jnp
    >>> jax.ref.get(jax.new_ref(jnp.arange(4)), slice(1, 3))
    Array([1, 2], dtype=int32)
    """
    return _getitem(ref, ... if idx is None else idx)


@api_boundary
def set(ref: Any, idx: Any, value: Any) -> None:
    """``ref[idx] = value``; all of the array if ``idx`` is ``None``."""
    _setitem(ref, ... if idx is None else idx, value)


@api_boundary
def swap(ref: Any, idx: Any, value: Any, _function_name: str = "swap") -> Any:
    """Writes ``value`` at ``idx`` (``None`` for all of the array) and returns what was there.

    ``value`` broadcasts to the shape of ``ref[idx]``. Its dtype must be that of the reference, or one that can be converted
    to it without loss in kind, as Python numbers can be.

    >>> import jax, jax.numpy as jnp
    >>> ref = jax.new_ref(jnp.arange(3))
    >>> int(jax.ref.swap(ref, 0, 5)), ref[...].tolist()
    (0, [5, 1, 2])
    """
    idx = ... if idx is None else idx
    _usable(_function_name, ref)
    if type(ref) is Ref and _get_trace() is bottom:
        old = _getitem(ref, idx)
        _setitem(ref, idx, value)
        return old
    return _bind_write(swap_p, _function_name, ref, idx, value)


@api_boundary
def addupdate(ref: Any, idx: Any, x: Any) -> None:
    """Adds ``x`` to the elements at ``idx`` (``None`` for all of them), once for each time that an element is named.

    In contrast, ``ref[idx] += x`` reads, adds and writes, so that an element named twice gets one of the sums.

    >>> import jax, jax.numpy as jnp
    >>> ref = jax.new_ref(jnp.zeros(2))
    >>> jax.ref.addupdate(ref, jnp.array([0, 0]), 1.)
    >>> ref[...].tolist()
    [2.0, 0.0]
    """
    idx = ... if idx is None else idx
    _usable("addupdate", ref)
    if type(ref) is Ref and _get_trace() is bottom:
        _write_eagerly("addupdate", ref, idx, x, "add")
    else:
        _bind_write(addupdate_p, "addupdate", ref, idx, x)


@api_boundary
def _getitem(ref: Any, index: Any) -> Any:
    if type(ref) is Ref and _get_trace() is bottom:
        if index is Ellipsis or (type(index) is tuple and not index):
            return ref.read()
        array = ref.peek()
        if type(index) is int:
            _check_place(index, array.shape)
        elif type(index) is not slice:
            windows, index = in_two_steps(index, array.shape)
            if windows is not None:
                array = _array_getitem(array, windows)
            _check_places(*parse(index, array.shape, True))
        out = _array_getitem(array, index)
        return ref.read() if out is array else out
    _usable("get", ref)
    base, views, operands = _target("get", ref, index)
    return get_p.bind(base, *operands, views=views)


@api_boundary
def _setitem(ref: Any, index: Any, value: Any) -> None:
    if type(ref) is Ref and _get_trace() is bottom:
        _write_eagerly("set", ref, index, value, "set")
        return
    _usable("set", ref)
    old = _bind_write(swap_p, "set", ref, index, value)
    if type(old) is StagedTracer:  # nobody will ask for what was there
        eqn = old._trace.eqns[-1]
        if eqn.primitive is swap_p and eqn.outvars[0] is old.variable:
            eqn.outvars = [DropVar(old.aval)]


def _target(api: str, ref: Any, index: Any) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """The reference, views and operands that an index into a reference or view stands for."""
    if isinstance(ref, RefView):
        base, views, operands = ref.ref, ref.views, ref.operands
    else:
        base, views, operands = ref, (), ()
    if index is Ellipsis or (type(index) is tuple and not index):
        return base, views, operands
    shape = ref.aval.shape
    windows, index = in_two_steps(index, shape)
    if windows is not None:
        plan, more = parse(windows, shape, True)
        views, operands = (*views, Indexed(plan)), (*operands, *more)
        shape = tuple([w.size if type(w) is Slice else n for w, n in zip(windows, shape, strict=True)])
    plan, more = parse(index, shape, True)
    if plan == (ALL,) * len(plan):
        return base, views, operands
    _check_places(plan, more)
    return base, (*views, Indexed(plan)), (*operands, *more)


def _check_place(i: int, shape: tuple[Any, ...]) -> None:
    if shape and not -shape[0] <= i < shape[0]:
        raise IndexError(f"index {i} is out of bounds for axis 0 of a reference of shape {shape}")


def _check_places(plan: Plan, operands: Sequence[Any]) -> None:
    """Raises for known places that are out of bounds: these are the Python numbers left among the operands."""
    rest = iter(operands)
    axis = -1
    for entry in plan:
        axis += _kind(entry) not in (NEW, FLAG)
        if _has_operand(entry):
            i = next(rest)
            if type(i) is int and entry == SCALAR:
                raise IndexError(f"index {i} is out of bounds for axis {axis} of a reference")


def _bind_write(prim: Any, api: str, ref: Any, index: Any, value: Any) -> Any:
    _usable(api, ref)
    base, views, operands = _target(api, ref, index)
    if views:
        part, _ = abstract_eval(get_p, (base.aval, *map(typeof, operands)), {"views": views})
    else:
        part = base.aval.inner_aval
    return prim.bind(base, _values(api, base.aval, part, value), *operands, views=views)


def _values(api: str, ref_aval: Any, part: Any, value: Any) -> Any:
    """``value`` with the shape and dtype of the part that it is written to."""
    if isinstance(value, (list, tuple)):
        value = np.asarray(value)
    try:
        aval = typeof(value)
    except TypeError as error:
        raise TypeError(f"{api} of a reference of type {ref_aval.str_short()}: {error}") from None
    if isinstance(aval, AbstractRef):
        raise TypeError(f"{api} of a reference of type {ref_aval.str_short()}: the value is a reference; read its array "
                        "first: ref[...]")
    if aval is part:
        return value
    _check_dtype(api, ref_aval, aval)
    if aval.shape != part.shape and (len(aval.shape) > len(part.shape) or
                                     any([m not in (1, n) for m, n in zip(aval.shape[::-1], part.shape[::-1],
                                                                          strict=False)])):
        raise ValueError(f"{api}: a value of type {aval.str_short()} cannot be broadcast to the part of type "
                         f"{part.str_short()} of a reference of type {ref_aval.str_short()}")
    if isinstance(value, (bool, int, float, complex)):
        value = np.asarray(value, part.dtype)
    elif aval.dtype != part.dtype or aval.weak_type:
        value = convert_element_type_p.bind(value, new_dtype=part.dtype, weak_type=False, sharding=None)
    return value if aval.shape == part.shape and isinstance(value, xla.Array) else broadcast_to(value, part.shape)


def _check_dtype(api: str, ref_aval: Any, aval: Any) -> None:
    dtype = ref_aval.dtype
    if aval.dtype != dtype and (not isinstance(dtype, np.dtype) or not isinstance(aval.dtype, np.dtype) or
                                dtypes.promote_entries(((dtype, False), (aval.dtype, aval.weak_type)))[0] != dtype):
        raise ValueError(f"{api}: a value of dtype {aval.dtype} cannot be written to a reference of type "
                         f"{ref_aval.str_short()}; convert it with .astype({dtype})")


# --- at once ---------------------------------------------------------------------------------------------------------

def _write_in_place(plan: Plan, op: str, x: Any, values: Any, *operands: Any) -> Any:
    return _with_elements(x, plan, operands, as_dtype(values, x.dtype, False), op)


# The memory of the array is reused.
_in_place = jit(_write_in_place, static_argnums=(0, 1), donate_argnums=(2,)).in_cpp


def _write_eagerly(api: str, ref: Any, index: Any, value: Any, op: str) -> None:
    array = ref.peek()
    whole = index is Ellipsis or (type(index) is tuple and not index)
    if whole and op == "set":
        if type(value) is not _ArrayImpl or value.aval is not ref.aval.inner_aval:
            value = _values(api, ref.aval, ref.aval.inner_aval, value)
            if not isinstance(value, xla.Array):
                value = to_device(value, ref.aval.inner_aval)
            elif type(value) is _ArrayImpl and value.aval is not ref.aval.inner_aval:
                value = with_aval(value, ref.aval.inner_aval)
        if type(value) is _ArrayImpl and value.sharding != array.sharding:
            value = to_device(value, None, array.sharding, committed=array.committed)
        ref.store(value, lent=True)
        return
    if type(value) is not _ArrayImpl or value.dtype != array.dtype:
        if isinstance(value, (list, tuple)):
            value = np.asarray(value)
        try:
            _check_dtype(api, ref.aval, typeof(value))
        except TypeError as error:
            raise TypeError(f"{api} of a reference of type {ref.aval.str_short()}: {error}") from None
    if type(index) is int:
        _check_place(index, array.shape)
    elif not whole and type(index) is not slice:
        if in_two_steps(index, array.shape)[0] is not None:
            _bind_write(swap_p if op == "set" else addupdate_p, api, ref, index, value)
            return
        _check_places(*parse(index, array.shape, True))
    try:
        if ref.is_lent or not isinstance(array, _ArrayImpl):
            ref.store(_array_updated(array, index, value, op))
        else:
            plan, operands = parse(index, array.shape, False)
            ref.store(_in_place(plan, op, array, value, *_on_device(operands)))
    except ValueError as error:
        raise ValueError(f"{api} of a reference of type {ref.aval.str_short()}: {error}") from None


operations.update({"get": _getitem, "set": _setitem, "swap": swap, "addupdate": addupdate, "at": _Viewer})

__all__ = ["AbstractRef", "Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref", "set", "swap"]
