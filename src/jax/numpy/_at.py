"""``x[index]`` and ``x.at[index]``: the ways from an index to a program.

On concrete arrays indexing is one compiled call. The program is found from the plan of the index
(:mod:`jax.numpy._index_plan`); places are operands of it, so ``x[0]`` and ``x[1]`` run the same one. While a program is
staged places are part of it, as static slices where possible.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from jax import dtypes
from jax._api.jit import answered_early, jit
from jax._api.sharding_constraints import laid_out
from jax._base._jaxlib import xla
from jax._base.config import numpy_rank_promotion
from jax._base.source import filter_traceback
from jax._ground.structural import broadcast_in_dim_p, convert_element_type_p
from jax._language.avals import typeof
from jax._language.refs import AbstractRef, operations
from jax._language.trace import current_trace
from jax._runtime.host_parts import part
from jax._runtime.transfer import to_device
from jax.lax import GatherScatterMode, convert_element_type, div, full_like, select
from jax.numpy._creation import asarray
from jax.numpy._index_plan import ALL, INSIDE, NEW, SLICE, WINDOW, Plan, has_arrays, parse
from jax.numpy._index_run import DEFAULT, Options, _combine_of, get, update
from jax.numpy._promotion import _user_level as user_level
from jax.numpy._promotion import (
    as_dtype,
    broadcast_to,
    check_arraylike,
    promote_dtypes_inexact,
    promote_shapes,
    unwrap,
)
from jax.numpy._ufuncs_arithmetic import power

_Array = xla.Array
_ArrayImpl = xla.ArrayImpl
_get_trace = current_trace.get
_FAR = 2**30


# --- compiled calls -------------------------------------------------------------------------------------------------

def compiled_call(*static_argnums: int, early: Callable[..., Any] | None = None) -> Callable[[Any], Any]:
    """Decorator for functions that are one compiled call; arguments at ``static_argnums`` are part of the program.

    ``early`` answers the first calls in its place, or returns None.
    """
    if early is not None:
        return lambda fun: answered_early(fun, static_argnums, early)
    return lambda fun: jit(fun, static_argnums=static_argnums, inline=True).in_cpp


def _row_on_host(x: Any, i: Any) -> Any:
    shape = x.shape
    return part(x, "row", (i,)) if type(i) is int and shape and -shape[0] <= i < shape[0] else None


def _rows_on_host(size: int, x: Any, start: Any) -> Any:
    return part(x, size, (slice(start, start + size),)) if type(start) is int else None


def _elements_on_host(plan: Plan, options: Options, x: Any, *operands: Any) -> Any:
    index: list[Any] = []
    places = iter(operands)
    for entry in plan:
        if entry == ALL:
            index.append(slice(None))
        elif entry == NEW:
            index.append(None)
        elif entry == INSIDE:
            index.append(next(places))
        elif entry[0] == WINDOW:
            start = next(places)
            index.append(slice(start, start + entry[1]))
        elif entry[0] == SLICE and entry[3] > 0:
            _, start, size, step = entry
            index.append(slice(start, start + size * step, step))
        else:
            return None
    return part(x, plan, tuple(index)) if all([type(i) is int for i in operands]) else None


@compiled_call(early=_row_on_host)
def _row(x: Any, i: Any) -> Any:
    """``x[i]`` for a Python number."""
    shape = x.shape
    if not shape:
        raise IndexError("Too many indices: the array has 0 dimensions, and 1 of them was indexed")
    if shape[0] == 0:
        raise IndexError("index is out of bounds for axis 0, which has size 0")
    return get(x, ("scalar", *("all",) * (len(shape) - 1)), (i,))


@compiled_call(0, early=_rows_on_host)
def _rows(size: int, x: Any, start: Any) -> Any:
    return get(x, (("window", size), *("all",) * (len(x.shape) - 1)), (start,))


@compiled_call(0, 1, early=_elements_on_host)
def _elements(plan: Plan, options: Options, x: Any, *operands: Any) -> Any:
    return get(x, plan, operands, options)


@compiled_call(0)
def _set_row(rank: int, x: Any, i: Any, values: Any) -> Any:
    """``x.at[i].set(values)`` for a number within bounds."""
    return _updated(("inside", *("all",) * (rank - 1)), "set", DEFAULT, x, values, i)


@compiled_call(0, 1, 2)
def _updated_elements(plan: Plan, op: str, options: Options, x: Any, values: Any, *operands: Any) -> Any:
    return _updated(plan, op, options, x, values, *operands)


@compiled_call(0)
def _updated_where(op: str, x: Any, mask: Any, value: Any) -> Any:
    return _update_where(op, x, mask, value)


# --- taking ---------------------------------------------------------------------------------------------------------

def getitem(x: Any, index: Any) -> Any:
    """``x[index]``."""
    try:
        trace = _get_trace()
        if trace.staged:
            aval = typeof(x)
            if type(aval) is AbstractRef:
                return operations["get"](x, index)
            plan, operands = parse(index, aval.shape, True)
            return get(x, plan, operands)
        if type(x) is not _ArrayImpl and type(typeof(x)) is AbstractRef:
            return operations["get"](x, index)
        t = type(index)
        if t is int:
            if -_FAR < index < _FAR:
                return _row(x, index)
        elif t is slice:
            step = index.step
            shape = x.shape
            if (step is None or step == 1) and shape:
                n = shape[0]
                start, stop, _ = _indices(index, n)
                size = stop - start
                if size == n:
                    return x
                if size > 0:
                    return _rows(size, x, start)
        elif type(x) is _ArrayImpl and _is_mask(index):
            return _compressed(x, index)
        return elements(x, index)
    except Exception as error:
        filter_traceback(error)
        raise


def _indices(s: slice, n: int) -> tuple[int, int, int]:
    try:
        return s.indices(n)
    except TypeError:
        parse(s, (n,), False)  # has the message about traced bounds
        raise


def elements(x: Any, index: Any, options: Options = DEFAULT) -> Any:
    """The elements of ``x`` at ``index``, with options."""
    if _get_trace().staged:
        plan, operands = parse(index, typeof(x).shape, True, options.wrap)
        return get(x, plan, operands, options)
    plan, operands = parse(index, typeof(x).shape, False, options.wrap)
    if not operands and plan == ("all",) * len(plan):
        return x
    return _elements(plan, options, x, *_on_device(operands))


def _on_device(operands: list[Any]) -> list[Any]:
    """NumPy's integers as arrays on a device: the compiled call path would check them in Python."""
    return [to_device(_narrow(i)) if isinstance(i, np.ndarray) else i for i in operands]


def _narrow(i: np.ndarray) -> np.ndarray:
    if i.dtype.itemsize <= 4:
        return i
    if i.size and (int(i.max()) > 2**31 - 1 or int(i.min()) < -2**31):
        # Further out than any axis is long.
        i = i.clip(-2**31 + 1, 2**31 - 1)
    return i.astype(np.int32)


def _is_mask(index: Any) -> bool:
    return isinstance(index, (_ArrayImpl, np.ndarray)) and index.dtype == np.bool_ and index.ndim > 0


def _compressed(x: Any, mask: Any) -> Any:
    """``x[mask]``: on the host, where it is the same memory; one program per number of elements would be costly."""
    plan, operands = parse(mask, x.shape, False)  # checks the shapes
    if not x.is_fully_addressable or next(iter(x.devices())).platform != "cpu" or \
            not isinstance(x.dtype, np.dtype):
        return _elements(plan, DEFAULT, x, *_on_device(operands))
    value = np.asarray(x)[np.asarray(mask)]
    aval = typeof(x)
    return to_device(value, aval.update(shape=value.shape), x.sharding if x.committed else None)


# --- updating -------------------------------------------------------------------------------------------------------

def _updated(plan: Plan, op: str, options: Options, x: Any, values: Any, *operands: Any) -> Any:
    aval = typeof(x)
    if op == "divide" or op == "power":
        return _typed_as(aval, _combined(plan, op, options, x, values, *operands), op == "divide")
    dtype = aval.dtype if op == "set" else _joint_dtype(aval.dtype, values)
    if dtype != aval.dtype:
        # Values are not rounded before they are combined: integers plus 1.5, twice, are three more.
        x = convert_element_type(x, dtype)
    return _typed_as(aval, update(x, plan, operands, as_dtype(values, dtype, False), op, options))


def _typed_as(aval: Any, out: Any, inexact: bool = False) -> Any:
    """``out`` with the type of the array that was updated; with ``inexact`` integers may become floats."""
    have = typeof(out)
    if have.dtype == aval.dtype and have.weak_type == aval.weak_type:
        return out
    if inexact and not dtypes.issubdtype(aval.dtype, np.inexact):
        return out
    return convert_element_type_p.bind(out, new_dtype=aval.dtype, weak_type=aval.weak_type, sharding=None)


def _combined(plan: Plan, op: str, options: Options, x: Any, values: Any, *operands: Any) -> Any:
    """Operations that have no scatter of their own; the result has the dtype of the operation."""
    combine: Callable[[Any, Any], Any] = power if op == "power" else _divide
    if not has_arrays(plan):
        part = combine(get(x, plan, operands, options), values)
        return update(convert_element_type(x, typeof(part).dtype), plan, operands, part, "set", options)
    # An element that is named several times is combined with each of the values: with their product.
    product_dtype = _joint_dtype(typeof(x).dtype, values)
    ones = full_like(x, 1, product_dtype)
    return combine(x, update(ones, plan, operands, as_dtype(values, product_dtype, False), "multiply", options))


def _divide(x: Any, y: Any) -> Any:
    return div(*promote_shapes("x.at[...].divide", *promote_dtypes_inexact(x, y)))


def _update_where(op: str, x: Any, mask: Any, value: Any) -> Any:
    """The update with a scalar of the elements where ``mask``, of the leading axes of ``x``, is true."""
    aval = typeof(x)
    dtype = aval.dtype if op == "set" else _joint_dtype(aval.dtype, value)
    if dtype != aval.dtype:
        x = convert_element_type(x, dtype)
    value = broadcast_to(as_dtype(value, dtype, False), aval.shape)
    combine = _combine_of(op, dtype, None)
    new = value if combine is None else combine(x, value)
    if mask.shape != aval.shape:
        mask = broadcast_in_dim_p.bind(mask, shape=aval.shape, broadcast_dimensions=tuple(range(mask.ndim)),
                                       sharding=None)
    return _typed_as(aval, select(mask, new, x))


_ONE_PASS = frozenset(("set", "add", "subtract", "multiply", "min", "max"))
_SCALARS = frozenset((bool, int, float, complex))


def updated(x: Any, index: Any, values: Any, op: str, options: Options = DEFAULT) -> Any:
    """``x`` with the elements at ``index`` combined with ``values``."""
    t = type(values)
    if t is list or t is tuple:
        values = asarray(values)
    elif t not in _SCALARS:
        values = unwrap(values)
        check_arraylike(f"x.at[...].{op}", values)
    if op != "divide" and op != "power":
        _check_cast(x.dtype, values)
    if _get_trace().staged or numpy_rank_promotion.value == "warn":
        if op in _ONE_PASS and isinstance(index, np.ndarray) and _scalar_under_mask(x, index, values):
            return _update_where(op, x, index, values)
        plan, operands = parse(index, typeof(x).shape, True, options.wrap)
        return _updated(plan, op, options, x, values, *operands)
    if type(index) is int and options is DEFAULT and op == "set":
        shape = x.shape
        if shape and 0 <= index < shape[0]:
            return _set_row(len(shape), x, index, values)
    elif op in _ONE_PASS and _is_mask(index) and _scalar_under_mask(x, index, values):
        return _updated_where(op, x, index, values)
    plan, operands = parse(index, typeof(x).shape, False, options.wrap)
    return _updated_elements(plan, op, options, x, values, *_on_device(operands))


def _scalar_under_mask(x: Any, mask: Any, values: Any) -> bool:
    k = mask.ndim
    return (mask.dtype == np.bool_ and k > 0 and typeof(x).shape[:k] == mask.shape and typeof(values).shape == ()
            and isinstance(typeof(x).dtype, np.dtype))


_joint_dtypes: dict[tuple[Any, Any], Any] = {}


def _joint_dtype(dtype: Any, values: Any) -> Any:
    """The dtype that holds elements of ``dtype`` and ``values``."""
    t = type(values)
    key = (dtype, t if t in _SCALARS else dtypes.entry_of(values))
    joint = _joint_dtypes.get(key)
    if joint is None:
        joint = _joint_dtypes[key] = dtypes.promote_entries(((dtype, False), dtypes.entry_of(values)))[0]
    return joint


def _check_cast(dtype: Any, values: Any) -> None:
    """Warns when values lose something in the conversion to ``dtype``."""
    if _joint_dtype(dtype, values) != dtype:
        warnings.warn(
            f"x.at[...] with x of dtype {dtype}: the values of dtype {dtypes.entry_of(values)[0]} cannot be converted "
            "safely and lose information. This will be an error one day; convert them with .astype(...) to say that it "
            "is intended.", FutureWarning, stacklevel=user_level())


# --- x.at -----------------------------------------------------------------------------------------------------------

class IndexUpdater:
    """``x.at``: indexed, it names elements of which an updated copy of ``x`` is made.

    See :class:`IndexedElements` for what can be done with them.
    """

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> IndexedElements:
        return IndexedElements(self.array, index)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.array!r})"


def _updater(op: str, doc: str) -> Callable[..., Any]:
    def method(self: Any, values: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False,
               mode: Any = None, out_sharding: Any = None, wrap_negative_indices: bool = True) -> Any:
        try:
            out = updated(self.array, self.index, values, op, options_of(
                mode, None, wrap_negative_indices, unique_indices, indices_are_sorted))
            return out if out_sharding is None else laid_out(out, out_sharding, f"x.at[...].{op}")
        except Exception as error:
            filter_traceback(error)
            raise
    method.__name__ = op
    method.__qualname__ = f"IndexedElements.{op}"
    method.__doc__ = doc
    return method


class IndexedElements:
    """``x.at[index]``: elements of ``x``.

    The methods return a new array; ``x`` stays. Under ``jax.jit`` the compiler updates in place where ``x`` is not needed
    any more. Values broadcast to the shape of ``x[index]``; an element named several times is updated several times, in
    an undefined order (so with ``set`` one of its values wins).

    All methods take:
      indices_are_sorted: a promise that the places increase.
      unique_indices: a promise that no element is named twice.
      mode: what happens to places out of bounds. ``"drop"`` or ``"fill"`` (the default of updates): they are left out.
        ``"clip"``: they are moved to the nearest place. ``"promise_in_bounds"``: the caller promises that there are
        none. ``get`` takes the nearest elements by default; with ``"fill"`` it returns ``fill_value``.
      wrap_negative_indices: whether negative places count from the end.

    >>> import jax.numpy as jnp
    >>> jnp.arange(4).at[1:3].set(7)
    Array([0, 7, 7, 3], dtype=int32)
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.array!r}, {self.index!r})"

    set = _updater("set", "``x`` with the elements replaced by ``values``, as ``x[index] = values`` in NumPy.")
    add = _updater("add", "``x`` with ``values`` added to the elements, once for each time that an element is named.")
    subtract = _updater("subtract", "``x`` with ``values`` subtracted from the elements.")
    multiply = _updater("multiply", "``x`` with the elements multiplied with ``values``.")
    mul = multiply
    divide = _updater("divide", "``x`` with the elements divided by ``values``; integers become floats, in all of ``x``.")
    power = _updater("power", "``x`` with the elements raised to the powers ``values``, in the dtype of ``x``.")
    min = _updater("min", "``x`` with each element replaced by the smaller one of itself and ``values``.")
    max = _updater("max", "``x`` with each element replaced by the larger one of itself and ``values``.")

    def get(self, *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None,
            fill_value: Any = None, out_sharding: Any = None, wrap_negative_indices: bool = True) -> Any:
        """``x[index]``, with a say about places out of bounds.

        ``fill_value`` is what ``mode="fill"`` returns for them: by default NaN, or the smallest (unsigned: the largest)
        integer, or True.
        """
        out = elements(self.array, self.index, options_of(
            mode, fill_value, wrap_negative_indices, unique_indices, indices_are_sorted))
        return laid_out(out, out_sharding, "x.at[...].get")

    def apply(self, func: Callable[[Any], Any], *, indices_are_sorted: bool = False, unique_indices: bool = False,
              mode: Any = None, wrap_negative_indices: bool = True) -> Any:
        """``x`` with the element-wise function ``func`` applied to the elements, as ``func.at`` does in NumPy."""
        x = self.array
        o = options_of(mode, None, wrap_negative_indices, unique_indices, indices_are_sorted)
        plan, operands = parse(self.index, typeof(x).shape, True, o.wrap)
        return update(x, plan, operands, None, "apply", o, func)


def options_of(mode: Any, fill_value: Any, wrap: bool, unique: bool, sorted_: bool) -> Options:
    """The options of one call, in canonical and hashable form."""
    if mode is None and fill_value is None and wrap and not unique and not sorted_:
        return DEFAULT
    if mode is not None:
        mode = GatherScatterMode.from_any(mode)
    if fill_value is not None:
        fill_value = _hashable_scalar(fill_value)
    return Options(mode, fill_value, bool(wrap), bool(unique), bool(sorted_))


def _hashable_scalar(value: Any) -> Any:
    if isinstance(value, (_Array, np.ndarray)):
        if value.ndim:
            raise ValueError(f"fill_value must be a scalar, got shape {value.shape}")
        value = np.asarray(value)[()]
    if isinstance(value, (float, np.floating)) and value != value:
        return np.nan
    return value
