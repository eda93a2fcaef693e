"""What every function of arrays does first: operands are checked, given one dtype, and given shapes that broadcast."""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._base._jaxlib import xla
from jax._base.config import numpy_rank_promotion
from jax._ground.families import category, constant
from jax._ground.structural import broadcast_in_dim_p, convert_element_type_p
from jax._language import dims
from jax._language.avals import host_constant, not_an_array_message, typeof

Array = xla.Array
_PYTHON_SCALARS = (bool, int, float, complex)
_ARRAY_TYPES = (Array, np.ndarray, np.generic, bool, int, float, complex)
_known_types: set[type] = {xla.ArrayImpl, np.ndarray, *_PYTHON_SCALARS}
_FLOAT32 = np.dtype(np.float32)


# --- operands -------------------------------------------------------------------------------------------------------

def is_arraylike(x: Any) -> bool:
    """Whether ``x`` can be an operand: an array, tracer, NumPy or Python scalar, or an object that converts itself."""
    t = type(x)
    if t in _known_types:
        return True
    if isinstance(x, _ARRAY_TYPES):
        if len(_known_types) < 256:
            _known_types.add(t)
        return True
    return hasattr(t, "__jax_array__")


def check_arraylike(name: str, *args: Any) -> None:
    """Raises unless all ``args`` can be operands of the function ``name``; the message has the remedy.

    Raises:
      TypeError: for lists, tuples, None, strings and other objects.
    """
    for i, x in enumerate(args):
        if type(x) not in _known_types and not is_arraylike(x):
            raise TypeError(f"{name} requires array or scalar arguments; at position {i}, {_refusal(x)}")


def _refusal(x: Any) -> str:
    if isinstance(x, list | tuple):
        return (f"it got a {type(x).__name__}. Make one array of it: jnp.array(x) for numbers, jnp.stack(x) for a "
                "sequence of arrays.")
    return not_an_array_message(x)


def check_arraylike_or_none(name: str, *args: Any) -> None:
    """:func:`check_arraylike` for optional operands."""
    check_arraylike(name, *[x for x in args if x is not None])


def refuse_out(name: str, out: Any) -> None:
    """Raises when ``out=`` was given: arrays are immutable."""
    if out is not None:
        raise NotImplementedError(f"jnp.{name}: arrays cannot be written into, so out= is not supported; "
                                  f"use the returned array, as in x = jnp.{name}(...).")


def unwrap(x: Any) -> Any:
    """An object with ``__jax_array__`` as the array that it stands for; anything else as it is."""
    if type(x) not in _known_types and not isinstance(x, _ARRAY_TYPES):
        convert = getattr(x, "__jax_array__", None)
        if convert is not None:
            return convert()
    return x


def shape_of(x: Any) -> tuple[Any, ...]:
    """The shape of an operand."""
    return typeof(x).shape  # type: ignore[no-any-return]


# --- dtypes ---------------------------------------------------------------------------------------------------------

def as_dtype(x: Any, dtype: Any, weak: bool) -> Any:
    """``x`` as an operand of ``dtype``; ``weak`` if all operands that it meets are.

    A Python scalar stays one where its own dtype is the right one: it is a literal in programs and needs no transfer.
    Values are converted as arrays are: integers that do not fit wrap around.
    """
    have = getattr(x, "aval", None)
    if have is None:
        t = type(x)
        if t in _PYTHON_SCALARS:
            return _scalar_as(x, t, dtype, weak)
        have = typeof(x)
    if (have.dtype is dtype or have.dtype == dtype) and (have.weak_type or not weak):
        return x
    if not weak and isinstance(x, np.generic | np.ndarray) and not x.shape and isinstance(dtype, np.dtype):
        return host_constant(np.asarray(x, have.dtype), dtype)
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak, sharding=None)


def _scalar_as(x: Any, t: type, dtype: Any, weak: bool) -> Any:
    natural = dtypes.scalar_dtype(t)
    if dtype == natural and (weak or t is not bool):
        if t is int:
            dtypes.scalar_to_numpy(x, dtype)  # raises when it does not fit
        return x
    if t is not bool or weak:
        if t is not complex and t is not float and dtype == dtypes.scalar_dtype(float):
            return float(x)
        if dtype == dtypes.scalar_dtype(complex):
            return complex(x)
        if t is bool and dtype == dtypes.scalar_dtype(int):
            return int(x)
    if weak:
        return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=True, sharding=None)
    if t is int and isinstance(dtype, np.dtype) and dtype.kind in "iu":
        return _wrapped(x, dtype)
    return host_constant(x, dtype) if isinstance(dtype, np.dtype) else x


def _wrapped(x: int, dtype: np.dtype) -> np.ndarray:
    bounds = np.iinfo(dtype)
    if bounds.min <= x <= bounds.max:
        return host_constant(x, dtype)
    return np.asarray(dtypes.scalar_to_numpy(x)).astype(dtype)


def kind_of(x: Any) -> str:
    """``bool``, ``signed``, ``unsigned``, ``floating`` or ``complex``: what the elements of an operand are."""
    return category(typeof(x).dtype)


def const(x: Any, value: Any) -> Any:
    """The rank-0 constant ``value`` in the dtype of ``x``, as weakly typed as that is."""
    aval = typeof(x)
    if aval.weak_type:
        return as_dtype(value, aval.dtype, True)
    return constant(aval.dtype, value)


def _common(args: Sequence[Any]) -> tuple[Sequence[Any], Any, bool]:
    """The operands as arrays or scalars, their common dtype and whether it is weak."""
    entries = []
    for x in args:
        aval = getattr(x, "aval", None)
        if aval is None:
            args = [unwrap(x) for x in args]
            entries = [dtypes.entry_of(x) for x in args]
            break
        entries.append((aval.dtype, aval.weak_type))
    return args, *dtypes.promote_entries(tuple(entries))


def promote_dtypes(*args: Any) -> list[Any]:
    """The operands in their common dtype."""
    args, dtype, weak = _common(args)
    return [as_dtype(x, dtype, weak) for x in args]


def promote_dtypes_inexact(*args: Any) -> list[Any]:
    """The operands in their common dtype, or in the default float where that is an integer or boolean one."""
    args, dtype, weak = _common(args)
    dtype = dtypes.to_inexact_dtype(dtype)
    return [as_dtype(x, dtype, weak) for x in args]


def promote_dtypes_numeric(*args: Any) -> list[Any]:
    """The operands in their common dtype, or in the default integer where all are booleans."""
    args, dtype, weak = _common(args)
    if dtype == np.bool_:
        dtype = dtypes.scalar_dtype(int)
    return [as_dtype(x, dtype, weak) for x in args]


def promote_dtypes_complex(*args: Any) -> list[Any]:
    """The operands in the complex dtype that holds them all."""
    args, dtype, weak = _common(args)
    dtype = dtypes.to_complex_dtype(dtype)
    return [as_dtype(x, dtype, weak) for x in args]


# --- shapes ---------------------------------------------------------------------------------------------------------

def promote_shapes(name: str, *args: Any) -> Sequence[Any]:
    """The operands with equal ranks (0-d ones aside), as element-wise primitives take them.

    Raises:
      ValueError: when shapes do not broadcast, or ranks differ under ``jax_numpy_rank_promotion='raise'``.
    """
    if len(args) == 1:
        return args
    shapes = [typeof(x).shape for x in args]
    first = shapes[0]
    rank = len(first)
    same = True
    for s in shapes:
        if len(s) != rank:
            if s and rank:
                same = False
            rank = max(rank, len(s))
    if same:
        return args
    check_rank_promotion(name, shapes)
    broadcast_shapes(name, shapes)
    return [x if not s or len(s) == rank else raise_rank(x, s, rank) for x, s in zip(args, shapes, strict=True)]


def raise_rank(x: Any, shape: tuple[Any, ...], rank: int) -> Any:
    """``x`` with leading axes of size 1."""
    missing = rank - len(shape)
    return broadcast_in_dim_p.bind(x, shape=(1,) * missing + tuple(shape),
                                   broadcast_dimensions=tuple(range(missing, rank)), sharding=None)


def broadcast_shapes(name: str, shapes: Sequence[Any]) -> tuple[Any, ...]:
    """The shape to which operands of the function ``name`` broadcast.

    Raises:
      ValueError: naming the function and the shapes, when there is none.
    """
    out = dims.broadcast_shapes(shapes)
    if out is None:
        listed = ", ".join(map(str, shapes))
        raise ValueError(f"{name}: incompatible shapes for broadcasting: {listed}. Counted from the last axis, sizes "
                         "must be equal or 1.")
    return out


def check_rank_promotion(name: str, shapes: Sequence[Any]) -> None:
    """Does what ``jax_numpy_rank_promotion`` asks for when operands other than 0-d ones differ in rank.

    Raises:
      ValueError: under ``'raise'``.
    """
    mode = numpy_rank_promotion.value
    if mode == "allow":
        return
    ranks = {len(s) for s in shapes if len(s)}
    if len(ranks) < 2:
        return
    rank = max(ranks)
    listed = " and ".join(map(str, shapes))
    low = next(s for s in shapes if 0 < len(s) < rank)
    how = (f"Give them equal ranks, for example by reshaping the operand of shape {low} to "
           f"{(1,) * (rank - len(low)) + tuple(low)} with x.reshape(...) or x[{'None, ' * (rank - len(low))}...]")
    if mode == "raise":
        raise ValueError(f"{name}: operands of shapes {listed} differ in rank, and jax_numpy_rank_promotion='raise' "
                         f"forbids to broadcast them together. {how}.")
    warnings.warn(f"{name}: operands of shapes {listed} differ in rank and are broadcast together. {how}; or set "
                  "jax_numpy_rank_promotion to 'allow'.", stacklevel=_user_level())


def _user_level() -> int:
    """The ``stacklevel`` at which a warning names the user's line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "jax":
        frame, level = frame.f_back, level + 1
    return level


def broadcast_to(x: Any, shape: tuple[Any, ...]) -> Any:
    """``x`` broadcast to ``shape`` (which it fits) under NumPy's rule, for library code: never a rank promotion."""
    have = typeof(x).shape
    if have == shape and isinstance(x, Array):
        return x
    missing = len(shape) - len(have)
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=tuple(range(missing, len(shape))),
                                   sharding=None)


def broadcast_args(name: str, *args: Any) -> list[Any]:
    """The operands broadcast to one shape, under the rule of rank promotion."""
    shapes = [typeof(x).shape for x in args]
    check_rank_promotion(name, shapes)
    shape = broadcast_shapes(name, shapes)
    return [broadcast_to(x, shape) for x in args]


# --- both -----------------------------------------------------------------------------------------------------------

def promote_args(name: str, *args: Any) -> Sequence[Any]:
    """Operands of the function ``name``, checked, in one dtype and with equal ranks."""
    check_arraylike(name, *args)
    try:
        return promote_shapes(name, *promote_dtypes(*args))
    except ValueError:
        _refuse_extended(name, args)
        raise


def promote_args_inexact(name: str, *args: Any) -> Sequence[Any]:
    """Like :func:`promote_args`, in a floating or complex dtype."""
    check_arraylike(name, *args)
    try:
        return promote_shapes(name, *promote_dtypes_inexact(*args))
    except ValueError:
        _refuse_extended(name, args)
        raise


def promote_args_numeric(name: str, *args: Any) -> Sequence[Any]:
    """Like :func:`promote_args`, with booleans as integers."""
    check_arraylike(name, *args)
    try:
        return promote_shapes(name, *promote_dtypes_numeric(*args))
    except ValueError:
        _refuse_extended(name, args)
        raise


def _refuse_extended(name: str, args: Sequence[Any]) -> None:
    """Raises a TypeError that names the function if one of its operands is an array of keys or of another such type."""
    listed = [typeof(unwrap(x)).dtype for x in args]
    if any(isinstance(d, dtypes.ExtendedDType) for d in listed):
        keys = any(dtypes.issubdtype(d, dtypes.prng_key) for d in listed)
        how = " Random numbers come from keys by jax.random.uniform(key, ...) and kin, new keys by " \
              "jax.random.split(key) and jax.random.fold_in(key, data)." if keys else ""
        raise TypeError(f"{name} does not take operands of dtypes {', '.join(map(str, listed))}.{how}") from None


# --- arguments that are not arrays ----------------------------------------------------------------------------------

def static_axis(axis: Any) -> Any:
    """``axis=`` as a hashable value: None, an int or a tuple of ints."""
    if axis is None or type(axis) is int:
        return axis
    if type(axis) is tuple:
        for a in axis:
            if type(a) is not int:
                break
        else:
            return axis
    if isinstance(axis, (tuple, list, range)):
        return tuple([_axis_number(a) for a in axis])
    return _axis_number(axis)


def _axis_number(a: Any) -> int:
    try:
        return operator.index(a)
    except TypeError:
        raise TypeError(f"axis must be an integer or a tuple of integers, got {a!r} of type {type(a).__name__}; it is "
                        "part of the program, so it cannot be traced") from None
