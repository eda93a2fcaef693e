"""Making arrays: of Python and NumPy values, of constants, and by counting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.jit import jit
from jax._api.placement import device_put
from jax._base._jaxlib import xla
from jax._ground.families import constant
from jax._ground.structural import broadcast_in_dim_p, convert_element_type_p
from jax._language.avals import ShapedArray, not_an_array_message, typeof
from jax._language.staging import StagingTrace
from jax._language.trace import Tracer, current_trace
from jax._runtime import dlpack
from jax._runtime.transfer import check_range, to_device
from jax._runtime.transfer import copy as copy_buffer
from jax.errors import ConcretizationTypeError
from jax.lax._creation import as_shape
from jax.lax._shape import copy_p
from jax.numpy._promotion import as_dtype, broadcast_to, check_arraylike

_Array = xla.Array
_get_trace = current_trace.get
_PYTHON_SCALARS = frozenset((bool, int, float, complex))
_BITS32 = frozenset((np.dtype(np.int32), np.dtype(np.uint32)))


# --- arrays of values -----------------------------------------------------------------------------------------------

def array(object: Any, dtype: Any = None, copy: bool = True, order: str | None = "K", ndmin: int = 0, *,  # noqa: A002
          device: Any = None, out_sharding: Any = None) -> Any:
    """An array of the value of ``object``.

    Args:
      object: an array, a scalar, nested sequences of them, or anything NumPy makes an array of.
      dtype: of the result. By default that of ``object``, where 64-bit types become 32-bit ones unless they are switched
        on; a Python number alone gives a weakly typed array.
      copy: whether the array is one of its own even if ``object`` is a ``jax.Array``.
      order: only ``"K"``; the layout in memory is the compiler's.
      ndmin: the least rank of the result; leading axes of size 1 are added.
      device: a device or sharding to put the result on.
      out_sharding: how the result is laid out on a mesh of explicit axes.

    Raises:
      TypeError: for values that are not numbers.
      ValueError: for None, and for sequences of unequal lengths.
      OverflowError: for integers that do not fit.

    >>> import jax.numpy as jnp
    >>> jnp.array([[1, 2], [3, 4]])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    if order is not None and order != "K":
        raise NotImplementedError(f"jnp.array: order={order!r} is not supported, only 'K': the layout in memory is chosen "
                                  "by the compiler")
    if dtype is not None:
        dtype = dtypes.requested_dtype(dtype, "array")
    out = _array_of(object, dtype, bool(copy))
    if ndmin > len(out.shape):
        out = lax.expand_dims(out, range(ndmin - len(out.shape)))
    return _placed(out, device, out_sharding)


def asarray(a: Any, dtype: Any = None, order: str | None = None, *, copy: bool | None = None, device: Any = None,
            out_sharding: Any = None) -> Any:
    """``a`` as an array; a ``jax.Array`` of the right dtype is returned as it is unless ``copy=True``.

    Arguments and errors as for :func:`array`.
    """
    if dtype is None and not copy and device is None and isinstance(a, _Array):
        return a
    return array(a, dtype, bool(copy), "K" if order is None else order, device=device, out_sharding=out_sharding)


def _placed(x: Any, device: Any, out_sharding: Any = None) -> Any:
    """``x`` on ``device``, if one is given and the value is known."""
    if device is None:
        device = out_sharding
    if device is None:
        return x
    return device_put(x, device)  # in programs a layout is a constraint, and a device makes no difference


def _array_of(x: Any, dtype: Any, copy: bool) -> Any:
    t = type(x)
    if t in _PYTHON_SCALARS:
        return _of_scalar(x, dtype)
    if isinstance(x, _Array):
        if dtype is not None and (x.dtype != dtype or typeof(x).weak_type):
            return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False, sharding=None)
        return _own(x) if copy else x
    if isinstance(x, (np.ndarray, np.generic)):
        return _of_numpy(x, dtype)
    if isinstance(x, (list, tuple)):
        return _of_sequence(x, dtype)
    if x is None:
        raise ValueError("None is not a valid value for jnp.array; check for a missing argument or return value")
    convert = getattr(x, "__jax_array__", None)
    if convert is not None:
        return _array_of(convert(), dtype, copy)
    if isinstance(x, (bool, int, float, complex)):
        return _of_scalar(x, dtype)
    return _of_numpy(_foreign(x), dtype)


def _own(x: Any) -> Any:
    if type(x) is xla.ArrayImpl and not _get_trace().staged:
        return copy_buffer(x)
    return copy_p.bind(x)


def _foreign(x: Any) -> np.ndarray:
    """The value of an object that is not one of ours."""
    if not isinstance(x, (str, bytes, set, dict)):
        try:
            value = np.asarray(x)
        except Exception as err:
            raise TypeError(not_an_array_message(x)) from err
        if value.dtype.kind not in "OSUMmT":
            return value
    raise TypeError(not_an_array_message(x))


def _of_scalar(x: Any, dtype: Any) -> Any:
    aval = typeof(x)
    if dtype is not None:
        aval = ShapedArray((), dtype)
    return host_constant(dtypes.scalar_to_numpy(x, aval.dtype, where="jnp.array"), aval)


def _of_numpy(x: Any, dtype: Any) -> Any:
    value = np.asarray(x)
    aval = typeof(value)
    if dtype is None:
        dtype = aval.dtype
        if dtype in _BITS32 and value.dtype.itemsize == 8:
            check_range(value, dtype, where="jnp.array")
    if isinstance(dtype, dtypes.ExtendedDType):
        raise TypeError(f"an array of dtype {dtype} cannot be made of numbers; for keys see jax.random.wrap_key_data")
    if value.dtype != dtype:
        value = value.astype(dtype)
    elif _get_trace().staged:
        value = value.copy()
    return host_constant(value, ShapedArray(value.shape, dtype))


def host_constant(value: np.ndarray, aval: Any) -> Any:
    """A NumPy array, which nobody else writes to, as an array: a constant of the program if one is being staged."""
    trace = _get_trace()
    if trace.staged:
        while trace is not None and not isinstance(trace, StagingTrace):
            trace = trace.parent
        if trace is not None:
            return trace.new_const(value, aval)
    return to_device(value, aval)


def _of_sequence(x: Any, dtype: Any) -> Any:
    types: set[type] = set()
    _collect_types(x, types)
    if types <= _PYTHON_SCALARS:
        value = _nested(x, dtype)
        if dtype is None:
            return _of_numpy(value, None)
        return host_constant(value, ShapedArray(value.shape, dtype))
    if type(None) in types:
        raise ValueError("None is not a valid value for jnp.array; check for a missing argument or return value")
    if dtype is None:
        entries: set[Any] = set()
        _collect_entries(x, entries)
        dtype = dtypes.promote_entries(tuple(entries))[0]
    trace_values = any([issubclass(t, _Array) or hasattr(t, "__jax_array__") for t in types])
    if trace_values and (_get_trace().staged or not _all_known(x)):
        return _stacked(x, dtype)
    value = np.array(_on_host(x) if trace_values else x, dtype=dtype)
    return host_constant(value, ShapedArray(value.shape, dtype))


def _collect_types(x: Any, types: set[type]) -> None:
    found = set(map(type, x))
    if found <= _PYTHON_SCALARS:
        types |= found
        return
    for e in x:
        if isinstance(e, (list, tuple)):
            _collect_types(e, types)
        else:
            types.add(type(e))


def _collect_entries(x: Any, entries: set[Any]) -> None:
    for e in x:
        if isinstance(e, (list, tuple)):
            _collect_entries(e, entries)
        else:
            try:
                entries.add(dtypes.entry_of(e))
            except TypeError:
                entries.add(dtypes.entry_of(_foreign(e)))


def _nested(x: Any, dtype: Any) -> np.ndarray:
    """Nested sequences of Python scalars as a NumPy array."""
    if isinstance(dtype, dtypes.ExtendedDType):
        raise TypeError(f"an array of dtype {dtype} cannot be made of numbers; for keys see jax.random.wrap_key_data")
    value = np.array(x, dtype=dtype)
    if value.dtype.kind == "O":
        raise OverflowError(f"an integer in the list given to jnp.array does not fit 64 bits: {max(map(abs, value.flat))}")
    return value


def _all_known(x: Any) -> bool:
    """Whether no element is traced (and none is of an extended dtype)."""
    for e in x:
        if isinstance(e, (list, tuple)):
            if not _all_known(e):
                return False
        elif isinstance(e, _Array):
            if isinstance(e, Tracer) or not isinstance(e.dtype, np.dtype) or not e.is_fully_addressable:
                return False
        elif hasattr(e, "__jax_array__"):
            return False
    return True


def _on_host(x: Any) -> Any:
    return [_on_host(e) if isinstance(e, (list, tuple)) else np.asarray(e) if isinstance(e, _Array) else e for e in x]


def _stacked(x: Any, dtype: Any) -> Any:
    parts = [_stacked(e, dtype) if isinstance(e, (list, tuple)) else _array_of(e, dtype, False) for e in x]
    if not parts:
        return zeros((0,), dtype)
    shapes = {p.shape for p in parts}
    if len(shapes) > 1:
        raise ValueError("jnp.array: the elements of a list must have one shape, got "
                         f"{', '.join(map(str, sorted(shapes)))}")
    return lax.stack(parts)


def copy(a: Any, order: str | None = None) -> Any:
    """A copy of ``a``, in memory of its own."""
    check_arraylike("copy", a)
    return array(a, copy=True, order="K" if order is None else order)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """The array of another library, handed over by the DLPack protocol; see :func:`jax.dlpack.from_dlpack`."""
    return dlpack.from_dlpack(x, device=device, copy=copy)


def _plain(dtype: Any) -> Any:
    return dtypes.as_dtype(dtype)


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Any:
    """The bytes of an object with the buffer protocol, read as elements of ``dtype``; see :func:`numpy.frombuffer`."""
    return asarray(np.frombuffer(buffer, _plain(dtype), count, offset))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Any:
    """The numbers in a text, separated by ``sep``; see :func:`numpy.fromstring`."""
    return asarray(np.fromstring(string, _plain(dtype), count, sep=sep))


def fromfile(*args: Any, **kwargs: Any) -> Any:
    """Not supported: what is in a file may change between tracing and running.

    Raises:
      NotImplementedError: always; use ``jnp.asarray(numpy.fromfile(...))``.
    """
    raise NotImplementedError("jnp.fromfile: a program that reads a file is not a function of its arguments. Use "
                              "jnp.asarray(np.fromfile(...)), outside of transformed functions.")


def fromiter(*args: Any, **kwargs: Any) -> Any:
    """Not supported: an iterator is used up by the first trace.

    Raises:
      NotImplementedError: always; use ``jnp.asarray(numpy.fromiter(...))``.
    """
    raise NotImplementedError("jnp.fromiter: consuming an iterator is a side effect, so it would not happen again when "
                              "the compiled function runs. Use jnp.asarray(np.fromiter(...)).")


def _compiled(*static_argnums: int) -> Callable[[Any], Any]:
    """Decorator for functions that are one compiled call; arguments at ``static_argnums`` are part of the program."""
    return lambda fun: jit(fun, static_argnums=static_argnums, inline=True).in_cpp


# --- constants ------------------------------------------------------------------------------------------------------

@_compiled(0, 1, 2)
def _constant(shape: Any, dtype: Any, value: Any) -> Any:
    return broadcast_in_dim_p.bind(constant(dtype, value), shape=shape, broadcast_dimensions=(), sharding=None)


def _uniform(name: str, shape: Any, dtype: Any, value: int, device: Any = None, out_sharding: Any = None) -> Any:
    """An array of zeros or ones."""
    shape = shape_argument(shape)
    dtype = dtypes.requested_dtype(dtype, name)
    if isinstance(dtype, dtypes.ExtendedDType):
        if value:
            raise TypeError(f"{name}: there are no numbers of dtype {dtype}")
        return _placed(dtype.zeros(shape), device, out_sharding)
    if _get_trace().staged:
        out = broadcast_in_dim_p.bind(_literal(dtype, value), shape=shape, broadcast_dimensions=(), sharding=None)
        return _placed(out, device, out_sharding)
    return _placed(_constant(shape, dtype, value), device, out_sharding)


def _literal(dtype: Any, value: int) -> Any:
    """A scalar for the program text."""
    return constant(dtype, value)


def shape_argument(shape: Any) -> tuple[Any, ...]:
    """``shape=`` as a tuple of sizes; a single number is a shape of one dimension."""
    t = type(shape)
    if t is tuple:
        for d in shape:
            if type(d) is not int or d < 0:
                break
        else:
            return shape
    elif t is int and shape >= 0:
        return (shape,)
    if isinstance(shape, (_Array, np.ndarray)) and shape.ndim == 1 and not isinstance(shape, Tracer):
        shape = np.asarray(shape).tolist()
    if getattr(shape, "_is_symbolic_dimension", False) or (
            not isinstance(shape, Sequence) and (hasattr(shape, "__index__") or not hasattr(shape, "__iter__"))):
        shape = (shape,)
    return as_shape(shape)


def zeros(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """An array of zeros.

    Args:
      shape: an integer or a sequence of integers.
      dtype: the default float if None.
      device: a device or sharding to put the result on.
      out_sharding: how the result is laid out on a mesh of explicit axes.

    >>> import jax.numpy as jnp
    >>> jnp.zeros((2, 3))
    Array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    return _uniform("zeros", shape, dtype, 0, device, out_sharding)


def ones(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """An array of ones. Arguments as for :func:`zeros`."""
    return _uniform("ones", shape, dtype, 1, device, out_sharding)


def empty(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """An array whose values do not matter; here they are zeros. Arguments as for :func:`zeros`."""
    return _uniform("empty", shape, dtype, 0, device, out_sharding)


@_compiled(0, 1)
def _filled(shape: Any, dtype: Any, value: Any) -> Any:
    if dtype is None:
        aval = typeof(value)
        value = convert_element_type_p.bind(value, new_dtype=aval.dtype, weak_type=aval.weak_type, sharding=None)
    else:
        value = _strong(value, dtype)
    return broadcast_to(value, shape)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """An array of ``shape`` with ``fill_value``, which is broadcast to it.

    Args:
      shape: an integer or a sequence of integers.
      fill_value: a scalar or an array.
      dtype: of the result; that of ``fill_value`` if None (weak for a Python number).
      device: a device or sharding to put the result on.
      out_sharding: how the result is laid out on a mesh of explicit axes.

    Raises:
      ValueError: when ``fill_value`` does not broadcast to ``shape``.
    """
    check_arraylike("full", fill_value)
    shape = shape_argument(shape)
    if dtype is not None:
        dtype = dtypes.requested_dtype(dtype, "full")
    return _placed(_full(shape, fill_value, dtype), device, out_sharding)


def _full(shape: tuple[Any, ...], fill_value: Any, dtype: Any) -> Any:
    have = typeof(fill_value).shape
    if have and not _fits(have, shape):
        raise ValueError(f"full: fill_value of shape {have} cannot be broadcast to the shape {shape}")
    if _get_trace().staged:
        if dtype is None:
            return broadcast_to(fill_value, shape)
        return broadcast_to(_strong(fill_value, dtype), shape)
    return _filled(shape, dtype, fill_value)


def _strong(x: Any, dtype: Any) -> Any:
    """``x`` in ``dtype``, not weakly typed."""
    x = as_dtype(x, dtype, False)
    return lax.convert_element_type(x, dtype) if typeof(x).weak_type else x


def _fits(have: tuple[Any, ...], shape: tuple[Any, ...]) -> bool:
    return len(have) <= len(shape) and all([h == s or h == 1 for h, s in zip(reversed(have), reversed(shape),
                                                                             strict=False)])


def _like(name: str, a: Any, dtype: Any, shape: Any) -> tuple[Any, Any]:
    """The shape and dtype for a result like ``a``; a weak dtype as None."""
    if isinstance(a, (_Array, np.ndarray)) or not (hasattr(a, "shape") and hasattr(a, "dtype")):
        check_arraylike(name, a)
        aval = typeof(a)
    else:
        aval = ShapedArray(tuple(a.shape), dtypes.canonicalize_dtype(a.dtype, allow_extended_dtype=True))
    shape = aval.shape if shape is None else shape_argument(shape)
    if dtype is None and not aval.weak_type:
        dtype = aval.dtype
    return shape, dtype


def zeros_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """Zeros of the shape and dtype of ``a``, where ``shape`` and ``dtype`` do not say otherwise."""
    return _uniform_like("zeros_like", a, dtype, shape, 0, device, out_sharding)


def ones_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """Ones of the shape and dtype of ``a``, where ``shape`` and ``dtype`` do not say otherwise."""
    return _uniform_like("ones_like", a, dtype, shape, 1, device, out_sharding)


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """An array like ``prototype`` whose values do not matter; here they are zeros."""
    return _uniform_like("empty_like", prototype, dtype, shape, 0, device, None)


def _beside(a: Any, shape: Any, device: Any, out_sharding: Any) -> Any:
    """Where an array like ``a`` goes: as it is told, else where ``a`` is tied to, if it has that shape."""
    if device is None and out_sharding is None and type(a) is xla.ArrayImpl and a._committed and shape == a.shape:
        return a._sharding
    return device


def _uniform_like(name: str, a: Any, dtype: Any, shape: Any, value: int, device: Any, out_sharding: Any) -> Any:
    found, d = _like(name, a, dtype, shape)
    device = _beside(a, found, device, out_sharding)
    if d is None:
        kind = dtypes.scalar_type_of(a)
        if typeof(a).dtype == dtypes.scalar_dtype(kind):
            return _placed(_full(found, kind(value), None), device, out_sharding)
        out = lax.full_like(a, value, shape=found)
        return _placed(out, device, out_sharding)
    return _uniform(name, found, d, value, device, out_sharding)


def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None, *, device: Any = None,
              out_sharding: Any = None) -> Any:
    """``fill_value``, broadcast, in the shape and dtype of ``a``, where ``shape`` and ``dtype`` do not say otherwise."""
    found, d = _like("full_like", a, dtype, shape)
    device = _beside(a, found, device, out_sharding)
    check_arraylike("full_like", fill_value)
    if isinstance(d, dtypes.ExtendedDType):
        return _placed(_full(found, fill_value, None), device, out_sharding)
    if typeof(fill_value).shape == () and d is None:
        return _placed(lax.full_like(a, fill_value, shape=found), device, out_sharding)
    if d is not None:
        d = dtypes.requested_dtype(d, "full_like")
    return _placed(_full(found, fill_value, d), device, out_sharding)


# --- counting -------------------------------------------------------------------------------------------------------

def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None, *, device: Any = None,
           out_sharding: Any = None) -> Any:
    """``start, start + step, ...`` up to, not including, ``stop``; with one argument that many numbers from 0.

    Arguments are known real scalars: the size of the result depends on them.

    Args:
      start, stop, step: as for :class:`range`; floats too.
      dtype: of the result; the common one of the arguments if None.
      device: a device or sharding to put the result on.
      out_sharding: how the result is laid out on a mesh of explicit axes.

    Raises:
      jax.errors.ConcretizationTypeError: for a traced argument.
      ValueError: for arguments that are not real scalars.
      ZeroDivisionError: for a step of 0.

    >>> import jax.numpy as jnp
    >>> jnp.arange(2, 8, 3)
    Array([2, 5], dtype=int32)
    """
    given = [("start", start)]
    if stop is None and step is None:
        given = [("stop", start)]
    given += [(name, v) for name, v in (("stop", stop), ("step", step)) if v is not None]
    values = [_known_scalar(v, name) for name, v in given]
    if dtype is None:
        dtype = dtypes.result_type(*[v for _, v in given])
    else:
        dtype = dtypes.requested_dtype(dtype, "arange")
    if step is not None and values[-1] == 0:
        raise ZeroDivisionError("jnp.arange: the step is 0")
    if stop is None and step is None:
        first, last, by = 0, values[0], 1
    elif stop is None:  # NumPy's reading of (n, None, step)
        first, last, by = 0, values[0], values[-1]
    else:
        first, last, by = values[0], values[1], values[2] if step is not None else 1
    return _placed(_counted(first, last, by, dtype, step is None), device, out_sharding)


def _known_scalar(x: Any, name: str) -> Any:
    if isinstance(x, Tracer):
        known = x._concrete()
        if known is None:
            raise ConcretizationTypeError(
                x, f"the argument {name!r} of jnp.arange decides about the size of the result, so it must be known while "
                   "tracing; derive it from a shape, make it a static argument, or mask an array of known size")
        x = known
    if getattr(x, "_is_symbolic_dimension", False):
        return x
    if np.ndim(x):
        raise ValueError(f"jnp.arange: arguments must be scalars, got {name}={x}")
    if not isinstance(x, (int, float)):
        value = np.asarray(x)
        if value.dtype == object or value.dtype.kind in "USc":
            error = ValueError if value.dtype.kind == "c" else TypeError
            raise error(f"jnp.arange: arguments must be real numbers, got {name}={x!r}")
        return value.item()
    return x


def _counted(first: Any, last: Any, by: Any, dtype: Any, plain: bool) -> Any:
    if getattr(last, "_is_symbolic_dimension", False) and plain and first == 0:
        return lax.iota(dtype, last)
    size = int(max(0, np.ceil((last - first) / by))) if not _integers(first, last, by) else len(range(first, last, by))
    if dtype == np.bool_:
        if size > 2:
            raise TypeError("jnp.arange: there are no more than two booleans; use an integer dtype")
        return host_constant(np.arange(first, last, by).astype(bool), ShapedArray((size,), dtype))
    if plain and first == 0:
        return lax.iota(dtype, size)
    return _progression(dtype, size, first, by) if _get_trace().staged else _compiled_progression(dtype, size, first, by)


def _integers(*values: Any) -> bool:
    return all([isinstance(v, int) for v in values])


def _progression(dtype: Any, size: int, first: Any, by: Any) -> Any:
    if dtypes.issubdtype(dtype, np.integer) or dtype == np.float64:
        count, wide = lax.iota(dtype, size), dtype
    else:  # narrow floats count exactly for a short while only
        wide = np.dtype(np.float64 if dtypes.scalar_dtype(float) == np.float64 else np.float32)
        wide = dtype if dtypes.issubdtype(dtype, np.complexfloating) else wide
        count = lax.iota(wide, size)
    out = count if by == 1 else lax.mul(count, _scalar_of(by, wide))
    return lax.convert_element_type(lax.add(out, _scalar_of(first, wide)), dtype)


def _scalar_of(value: Any, dtype: Any) -> Any:
    if isinstance(value, int) and dtypes.issubdtype(dtype, np.integer):
        return np.asarray(value % 2 ** (8 * dtype.itemsize), f"u{dtype.itemsize}").astype(dtype)
    return np.asarray(value).astype(dtype)


_compiled_progression = _compiled(0, 1, 2, 3)(_progression)
