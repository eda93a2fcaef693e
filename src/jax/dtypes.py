"""Element types: reading what names one, canonical widths, categories and promotion.

An element type is a NumPy dtype (``ml_dtypes`` supplies the narrow floats and integers) or an
:class:`ExtendedDType`, whose arrays have a structured element, such as a typed PRNG key, and which brings its
own rules. While 64-bit types are off (``jax_enable_x64``) the *canonical* form of a 64-bit dtype is the
32-bit one.

Promotion is the least upper bound in a partial order over dtypes and *weak* types. A weak type is what a
Python scalar has: it takes the dtype of the array it meets, within its kind. The orders are in
``_dtype_tables``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from typing import Any

import ml_dtypes
import numpy as np
from ml_dtypes import finfo, iinfo

from jax import _dtype_tables as tables
from jax._base import _jaxlib, caching
from jax._base.config import enable_x64, explicit_x64_dtypes, numpy_dtype_promotion
from jax._dtype_tables import DType, ExtendedDType, extended, float0, prng_key, python_scalar_dtypes
from jax._dtype_tables import numpy_scalar_types as numpy_scalar_types

__all__ = [
    "TypePromotionError", "bfloat16", "canonicalize_dtype", "extended", "finfo", "float0", "iinfo",
    "issubdtype", "itemsize_bits", "prng_key", "result_type", "scalar_type_of",
]  # fmt: skip

bfloat16: type[Any] = ml_dtypes.bfloat16


Entry = tuple[Any, bool]  # (dtype, weak)


class TypePromotionError(ValueError):
    """The dtypes of the operands have no common type to which values are converted implicitly."""


# --- reading a dtype ----------------------------------------------------------------------------------------

_spec_cache: dict[Any, Any] = {}
caching.register_cache(_spec_cache.clear, name="dtypes.as_dtype")


def as_dtype(spec: Any) -> DType:
    """The dtype that ``spec`` (a dtype, scalar type, class with a ``dtype`` attribute, or name) stands for.

    Nothing is narrowed: ``as_dtype(int)`` is ``int64``. ``None`` means ``float``, as in NumPy.

    Raises:
      TypeError: when ``spec`` names no dtype.
    """
    try:
        return _spec_cache[spec]
    except (KeyError, TypeError):
        pass
    found = _read_spec(spec)
    if isinstance(spec, (str, type, np.dtype)):
        _spec_cache[spec] = found
    return found


def _read_spec(spec: Any) -> DType:
    if isinstance(spec, ExtendedDType):
        return spec
    if isinstance(spec, type):
        if issubclass(spec, extended):
            raise TypeError(f"{spec.__name__} is a category, not a dtype; take the dtype of an array.")
        own = getattr(spec, "dtype", None)
        if isinstance(own, (np.dtype, ExtendedDType)):
            return own
    elif isinstance(spec, (np.ndarray, _jaxlib.Array)):
        raise TypeError("an array was given where a dtype is needed; use dtype=x.dtype instead of dtype=x.")
    d = np.dtype(spec)
    return tables.SUPPORTED.get(d, d)  # equal dtypes (long long and long) become one object


def dtype(x: Any) -> DType:
    """The dtype of a value (array, tracer, NumPy or Python scalar), or the one that a specification means.

    Host values and Python scalar types are typed as they would be on a device, canonically; names and dtypes
    are taken as they are.

    Raises:
      TypeError: when ``x`` has no dtype.
    """
    if isinstance(x, (np.dtype, ExtendedDType)):
        return x
    if isinstance(x, (str, type)):
        return scalar_dtype(x) if x in python_scalar_dtypes else as_dtype(x)
    if x is None:
        raise TypeError("None has no dtype; pass an array, a scalar, or a dtype.")
    return entry_of(x)[0]


def is_supported(dtype: Any) -> bool:
    """Whether arrays of this dtype can exist on a device (``float0`` counts)."""
    return isinstance(dtype, ExtendedDType) or dtype in tables.SUPPORTED


def _shorten(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "..."


# --- canonical widths ---------------------------------------------------------------------------------------

_canonical_off: dict[Any, Any] = {d: tables.NARROWED.get(d, d) for d in tables.SUPPORTED}
_canonical_on: dict[Any, Any] = dict(tables.SUPPORTED)


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> DType:
    """The dtype of arrays asked for with ``dtype``: 64-bit types are narrowed while they are off.

    Args:
      dtype: anything that names a dtype.
      allow_extended_dtype: return an extended dtype unchanged instead of refusing it.

    Raises:
      TypeError: when ``dtype`` names no dtype.
      ValueError: for an extended dtype that is not allowed.
    """
    table = _canonical_on if enable_x64.value else _canonical_off
    try:
        return table[dtype]
    except (KeyError, TypeError):
        pass
    if isinstance(dtype, ExtendedDType) or (isinstance(dtype, type) and issubclass(dtype, extended)):
        if allow_extended_dtype:
            return dtype
        raise ValueError(f"canonicalize_dtype: {dtype} is an extended dtype, which has no NumPy counterpart; "
                         "pass allow_extended_dtype=True to get it back unchanged.")
    d = as_dtype(dtype)
    d = d if table is _canonical_on else tables.NARROWED.get(d, d)
    if isinstance(dtype, (str, type)):
        table[dtype] = d
    return d


def is_narrowed(dtype: Any) -> bool:
    """Whether ``dtype`` is a 64-bit one while 64-bit types are off."""
    return dtype in tables.NARROWED and not enable_x64.value


def scalar_dtype(scalar_type: type) -> np.dtype:
    """Canonical dtype of the Python scalar type ``bool``, ``int``, ``float`` or ``complex``."""
    d = python_scalar_dtypes[scalar_type]
    return d if enable_x64.value else tables.NARROWED.get(d, d)


def requested_dtype(spec: Any, where: str = "") -> DType:
    """The dtype that arrays get when a user asks the function ``where`` for ``spec``.

    ``float``, ``int`` and ``complex`` ask for the default width and are narrowed silently. Any other 64-bit
    request while 64-bit types are off is answered as ``jax_explicit_x64_dtypes`` says: narrowed with a
    UserWarning (the default), an error, or granted.

    Raises:
      TypeError: when ``spec`` names no dtype, or one whose arrays cannot be on a device.
      ValueError: under ``jax_explicit_x64_dtypes=error``.
    """
    d = as_dtype(spec)
    if isinstance(d, ExtendedDType):
        return d
    at = f" in {where}" if where else ""
    if d not in tables.SUPPORTED:
        raise TypeError(f"dtype {d}{at} has no counterpart on devices; {_WHAT_ARRAYS_HOLD}.")
    if enable_x64.value or d not in tables.NARROWED:
        return d
    if spec is None or (isinstance(spec, type) and spec in python_scalar_dtypes):
        return tables.NARROWED[d]
    return _answer_wide_request(d, at)


_WHAT_ARRAYS_HOLD = "arrays hold booleans, integers, floats and complex numbers in native byte order"


def _answer_wide_request(d: np.dtype, at: str) -> np.dtype:
    mode = explicit_x64_dtypes.value.name
    if mode == "ALLOW":
        return d
    how = "Set jax_enable_x64 to True (or JAX_ENABLE_X64=1 in the environment) to have 64-bit types"
    if mode == "ERROR":
        raise ValueError(f"Explicitly requested dtype {d}{at} is not available: 64-bit types are off. {how}, "
                         "or jax_explicit_x64_dtypes to 'allow' to have those you name.")
    if _has_operand_of(d):
        return d
    narrow = tables.NARROWED[d]
    warnings.warn(f"Explicitly requested dtype {d}{at} is not available, and will be truncated to dtype "
                  f"{narrow}. {how}.", stacklevel=_level_of_user_frame())
    return narrow


def _has_operand_of(d: np.dtype) -> bool:
    """Whether a function of ours, on the way from the user's line to the request, works on an array of dtype ``d``.

    Such arrays were made while 64-bit types were on. What library functions ask for then is the dtype of their operand,
    which users did not name, and results must not be narrower than the operand.
    """
    frame: Any = sys._getframe(3)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "jax":
        for value in frame.f_locals.values():
            for x in value if type(value) in (tuple, list) else (value,):
                if isinstance(x, _jaxlib.Array) and x.dtype == d:
                    return True
        frame = frame.f_back
    return False


def _level_of_user_frame() -> int:
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "jax":
        frame, level = frame.f_back, level + 1
    return level


# --- questions about a dtype --------------------------------------------------------------------------------


def issubdtype(a: Any, b: Any) -> bool:
    """Whether dtype (or category) ``a`` is ``b`` or belongs to the category ``b``.

    Like :func:`numpy.issubdtype`, and it knows the narrow floats and integers (``bfloat16`` is a
    ``numpy.floating``, ``int4`` a ``numpy.signedinteger``) and the categories ``jax.dtypes.extended`` and
    ``jax.dtypes.prng_key``.

    Raises:
      TypeError: when one of them is neither.
    """
    try:
        return _is_subdtype[a, b]
    except (KeyError, TypeError):
        pass
    answer = _issubdtype(a, b)
    if isinstance(a, (type, np.dtype)) and isinstance(b, (type, np.dtype)):
        _is_subdtype[a, b] = answer
    return answer


_is_subdtype: dict[tuple[Any, Any], bool] = {}
caching.register_cache(_is_subdtype.clear, name="dtypes.issubdtype")


def _issubdtype(a: Any, b: Any) -> bool:
    if isinstance(b, ExtendedDType):
        return isinstance(a, ExtendedDType) and a == b
    if isinstance(a, ExtendedDType) and isinstance(b, np.dtype):
        return False
    cls, base = _scalar_class(a), _scalar_class(b)
    return issubclass(cls, base) or issubclass(tables.ML_CATEGORY.get(cls, cls), base)


def _scalar_class(d: Any) -> type:
    if isinstance(d, type) and issubclass(d, np.generic):
        return d
    return as_dtype(d).type


_KINDS: dict[str, type] = {
    "bool": np.bool_,
    "signed integer": np.signedinteger,
    "unsigned integer": np.unsignedinteger,
    "integral": np.integer,
    "real floating": np.floating,
    "complex floating": np.complexfloating,
    "numeric": np.number,
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether ``dtype`` is of a kind, as the array API standard defines it.

    Args:
      dtype: a dtype or what names one.
      kind: ``'bool'``, ``'signed integer'``, ``'unsigned integer'``, ``'integral'``, ``'real floating'``,
        ``'complex floating'``, ``'numeric'``, a dtype, or a tuple of these (any of them).

    Raises:
      ValueError: for an unknown kind.
      TypeError: when ``kind`` is neither text, dtype nor tuple, or ``dtype`` names no dtype.
    """
    d = as_dtype(dtype)
    return any([_is_of_kind(d, k) for k in (kind if isinstance(kind, tuple) else (kind,))])


def _is_of_kind(d: DType, kind: Any) -> bool:
    if isinstance(kind, str) and kind in _KINDS:
        return issubdtype(d, _KINDS[kind])
    try:
        if isinstance(kind, (str, type, np.dtype, ExtendedDType)):
            return d == as_dtype(kind)
    except TypeError:
        if isinstance(kind, str):
            known = ", ".join(map(repr, _KINDS))
            raise ValueError(f"kind={kind!r} is not known; use one of {known}, or a dtype.") from None
    raise TypeError(f"kind must be a kind's name, a dtype, or a tuple of these; got {kind!r}.")


def itemsize_bits(dtype: Any) -> int:
    """Bits of one element as devices store it: 4 for ``int4``, 8 for ``bool``, 64 for ``complex64``.

    Raises:
      ValueError: for ``None`` and for dtypes that are not numeric or boolean.
    """
    if dtype is None:
        raise ValueError("itemsize_bits: a dtype is needed; got None.")
    d = as_dtype(dtype)
    if d not in tables.KIND:
        raise ValueError(f"itemsize_bits: elements of dtype {d} have no size in bits.")
    if d.type in tables.ML_CATEGORY:
        return iinfo(d).bits if tables.KIND[d] is int else finfo(d).bits
    return d.itemsize * 8


def scalar_type_of(x: Any) -> type:
    """The Python scalar type (``bool``, ``int``, ``float`` or ``complex``) of the elements of ``x``.

    Raises:
      TypeError: when ``x`` is neither array, scalar nor dtype, or its elements are not numbers.
    """
    return _kind_of(dtype(x))


def _kind_of(d: DType) -> type:
    try:
        return tables.KIND[d]
    except KeyError:
        raise TypeError(f"no Python scalar type stands for elements of dtype {d}.") from None


def is_python_scalar(x: Any) -> bool:
    """Whether ``x`` is a bool, int, float or complex of Python's own (``numpy.float64(1)`` is not)."""
    return isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic)


def is_weakly_typed(x: Any) -> bool:
    """Whether ``x`` takes the dtype of what it meets: Python numbers, and arrays computed from them alone."""
    weak = getattr(x, "weak_type", None)
    if weak is None:
        return is_python_scalar(x) and not isinstance(x, bool)
    return bool(weak)


_tangents: dict[Any, Any] = {
    d: d if tables.KIND.get(d) in (float, complex) else float0 for d in tables.SUPPORTED}


def tangent_dtype(dtype: Any) -> DType:
    """Dtype of tangents of values of ``dtype``: the same for floats and complex numbers, else ``float0``."""
    try:
        return _tangents[dtype]
    except KeyError:
        return dtype.tangent_dtype if isinstance(dtype, ExtendedDType) else float0


def to_inexact_dtype(dtype: Any) -> DType:
    """The dtype in which functions such as ``sin`` or ``mean`` compute: 64-bit integers become floats of the
    default width, narrower ones and booleans float32; floats and complex numbers stay."""
    d = as_dtype(dtype)
    if tables.KIND.get(d) not in (int, bool):
        return d
    return scalar_dtype(float) if d.itemsize == 8 else np.dtype(np.float32)


def to_complex_dtype(dtype: Any) -> DType:
    """The complex dtype whose parts can hold ``dtype``: ``complex128`` for 64-bit floats, ``complex64`` for
    narrower ones; integers and booleans count as :func:`to_inexact_dtype` says."""
    d = to_inexact_dtype(dtype)
    if tables.KIND.get(d) is not float:
        return d
    return np.dtype("complex128" if d == np.float64 else "complex64")


def to_real_dtype(dtype: Any) -> DType:
    """The dtype of the real and imaginary parts of ``dtype``; anything that is not complex stays."""
    d = as_dtype(dtype)
    if tables.KIND.get(d) is complex:
        return np.dtype("float64" if d == np.complex128 else "float32")
    return d


def supports_inf(dtype: Any) -> bool:
    """Whether the format has an infinity; several of the narrow floats have none."""
    d: Any = as_dtype(dtype)
    if tables.KIND.get(d) is not float:
        return tables.KIND.get(d) is complex
    with np.errstate(all="ignore"):
        return bool(np.isinf(np.float32(np.inf).astype(d).astype(np.float32)))


def short_name(dtype: Any) -> str:
    """Name for jaxprs and messages: ``f32``, ``i8``, ``bf16``, ``c64``, ``u4``, ``bool``, ``key<fry>``."""
    try:
        return tables.SHORT_NAMES[dtype]
    except (KeyError, TypeError):
        return dtype.short_name() if isinstance(dtype, ExtendedDType) else str(dtype)


# --- promotion ----------------------------------------------------------------------------------------------

_promoted: dict[tuple[Any, ...], Entry] = {}
caching.register_cache(_promoted.clear, name="dtypes.promote_entries")


def promote_entries(entries: tuple[Entry, ...]) -> Entry:
    """Common (dtype, weak) of operands given as ``(dtype, weak)``: what an operation converts them to.

    Operands that are all weak keep their widths (a weak int8 and a weak float16 give a weak float16).

    Raises:
      TypePromotionError: when there is none.
      ValueError: when an extended dtype or ``float0`` meets another dtype.
    """
    first = entries[0]
    for entry in entries:
        if entry != first:
            break
    else:
        return first
    x64, mode = enable_x64.value, numpy_dtype_promotion.value
    key = (entries, x64, mode)
    found = _promoted.get(key)
    if found is None:
        if len(_promoted) > 8192:  # a bound, not a leak
            _promoted.clear()
        node, weak = _join(entries, mode == "strict")
        if isinstance(node, type):
            node = scalar_dtype(node)
        found = _promoted[key] = (node if x64 else _stay_narrow(node, entries), weak)
    return found


def _stay_narrow(node: Any, entries: Iterable[Entry]) -> Any:
    """While 64-bit types are off, uint32 with a signed type is int32, though their bound has 64 bits."""
    if node == np.int64 and not any(d in tables.NARROWED for d, _ in entries):
        return np.dtype("int32")
    return node


def _join(entries: Iterable[Entry], strict: bool) -> tuple[tables.Node, bool]:
    """Least upper bound of typed operands: a node, and whether what it stands for is weak."""
    entries = list(dict.fromkeys(entries))
    if any(d not in tables.KIND for d, _ in entries):
        return _join_apart(entries), False
    if not strict and all(weak for _, weak in entries):
        node = tables.STANDARD.join(d for d, _ in entries)
        weak = True
    else:
        order = tables.STRICT if strict else tables.STANDARD
        node = order.join(_weak_node(d) if weak else d for d, weak in entries)
        weak = isinstance(node, type)
    if node is None:
        raise TypePromotionError(_no_common_type(entries, strict))
    return node, weak and node != tables.BOOL


def _join_apart(entries: list[Entry]) -> Any:
    first = entries[0][0]
    if all(d == first for d, _ in entries):
        return first
    odd = next(d for d, _ in entries if d not in tables.KIND)
    hint = " float0 is the dtype of derivatives of integers, which are nothing to compute with." if odd == float0 else ""
    raise ValueError(f"dtype {odd} does not take part in type promotion, it only combines with itself; the "
                     f"operands have dtypes {', '.join(map(_describe, entries))}.{hint}")


def _weak_node(d: Any) -> tables.Node:
    return d if d == tables.BOOL else tables.KIND[d]


def _describe(entry: Entry) -> str:
    d, weak = entry
    return f"{tables.KIND[d].__name__} scalar" if weak and d in tables.KIND and d != tables.BOOL else str(d)


def _no_common_type(entries: list[Entry], strict: bool) -> str:
    names = ", ".join(map(_describe, entries))
    if strict:
        return (f"no implicit promotion between {names}: jax_numpy_dtype_promotion is 'strict', under which "
                "only Python scalars take the dtype of arrays. Convert the operands, for instance with "
                "x.astype(...), or use jax.numpy_dtype_promotion('standard').")
    narrow = [d for d, _ in entries if d.type in tables.ML_CATEGORY and itemsize_bits(d) <= 8]
    integers = any(tables.KIND[d] is int for d in narrow)
    bits = "/".join(str(b) for b in sorted({itemsize_bits(d) for d in narrow}))
    kind, wide = ("integers", "int32") if integers else ("floats", "float32")
    return (f"no implicit promotion between {names}: {bits}-bit {kind} are not promoted to other dtypes, so "
            f"that widening stays a visible choice. Convert explicitly, say with x.astype('{wide}').")


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The dtype that results when the arguments meet in an operation.

    Args:
      *args: arrays, tracers, scalars, dtypes or what names a dtype. Python scalars, and the types ``int``,
        ``float`` and ``complex``, count as weak.
      return_weak_type_flag: return ``(dtype, weak)``.

    Raises:
      ValueError: without arguments.
      TypeError: for an argument that has no dtype.
      TypePromotionError: when there is no common dtype.
    """
    if not args:
        raise ValueError("result_type: at least one array or dtype is required.")
    d, weak = promote_entries(tuple([entry_of(a) for a in args]))
    if weak:
        d, weak = default_of_kind(d), d != tables.BOOL
    return (d, weak) if return_weak_type_flag else d


def default_of_kind(d: Any) -> DType:
    """The dtype of the default width of the kind of ``d``: what a weakly typed result is stored in."""
    kind = tables.KIND.get(d)
    if kind is None:
        return d
    if d.kind == "u":
        return np.dtype("uint64" if enable_x64.value else "uint32")
    return scalar_dtype(kind)


def promote_types(a: Any, b: Any) -> DType:
    """The smallest dtype to which both convert implicitly; ``int``, ``float`` and ``complex`` count as weak.

    64-bit types stay what they are, even while they are off.

    Raises:
      TypePromotionError: when there is none.
    """
    weak = [isinstance(t, type) and t in (int, float, complex) for t in (a, b)]
    entries = list(zip(map(as_dtype, (a, b)), weak, strict=True))
    if entries[0][0] == entries[1][0]:
        return entries[0][0]
    node, _ = _join(entries, numpy_dtype_promotion.value == "strict")
    if isinstance(node, type):
        return python_scalar_dtypes[node]
    return node if enable_x64.value else _stay_narrow(node, entries)


def entry_of(x: Any) -> Entry:
    """``(dtype, weak)`` of an operand: an array, tracer, scalar, dtype or what names a dtype.

    Raises:
      TypeError: when ``x`` has no dtype, or one that devices do not have.
    """
    t = type(x)
    if t in python_scalar_dtypes:
        return scalar_dtype(t), t is not bool
    if isinstance(x, (np.ndarray, np.generic)):
        return _host_dtype(x), False
    if isinstance(x, _jaxlib.Array):
        return x.dtype, getattr(x, "weak_type", False)
    if x is None or isinstance(x, (type, str, np.dtype)):
        if isinstance(x, type) and x in python_scalar_dtypes:
            return scalar_dtype(x), x is not bool
        if isinstance(x, type) and isinstance(getattr(x, "dtype", None), np.dtype):
            return _host_dtype(x), False  # jnp.float64 and kin stand for what is as wide as is allowed
        return requested_dtype(x, "result_type"), False
    return _foreign_entry(x)


def _host_dtype(x: Any) -> DType:
    try:
        return (_canonical_on if enable_x64.value else _canonical_off)[x.dtype]
    except KeyError:
        raise TypeError(f"{_shorten(x)} of dtype {x.dtype} is not a valid JAX array type: "
                        f"{_WHAT_ARRAYS_HOLD}.") from None


def _foreign_entry(x: Any) -> Entry:
    own = getattr(x, "dtype", None)
    if isinstance(own, ExtendedDType):
        return own, False
    if isinstance(own, np.dtype):
        return _host_dtype(x), bool(getattr(x, "weak_type", False))
    if hasattr(x, "__jax_array__"):
        return entry_of(x.__jax_array__())
    for base in python_scalar_dtypes:
        if isinstance(x, base):
            return scalar_dtype(base), base is not bool
    raise TypeError(f"{_shorten(x)} of type {type(x).__name__} has no dtype; pass arrays, scalars or dtypes "
                    "(jnp.array makes an array of a list).")


# --- Python scalars -----------------------------------------------------------------------------------------

_int_bounds: dict[Any, tuple[int, int]] = {
    d: (int(iinfo(d).min), int(iinfo(d).max)) for d in (*tables.SIGNED, *tables.UNSIGNED)}


def scalar_to_numpy(x: Any, dtype: Any = None, *, name: str = "", where: str = "") -> np.ndarray:
    """A Python scalar as a NumPy array of rank 0.

    Args:
      x: bool, int, float or complex.
      dtype: the dtype wanted; by default the canonical one of its type.
      name: what the value is called in the error, for instance an argument's name.
      where: the function it was passed to.

    Raises:
      OverflowError: when an integer does not fit; it is never wrapped.
    """
    d = entry_of(x)[0] if dtype is None else dtype
    bounds = _int_bounds.get(d)
    if bounds is not None and isinstance(x, int) and not bounds[0] <= x <= bounds[1]:
        raise OverflowError(overflow_message(x, d, name, where))
    return np.array(x, d)


def overflow_message(x: int, d: Any, name: str = "", where: str = "") -> str:
    """Why the integer ``x`` cannot be a value of dtype ``d``, and the remedy."""
    low, high = _int_bounds[d]
    argument = f" for argument {name!r}" if name else ""
    place = f" of {where}" if where else ""
    message = f"the integer {x}{argument}{place} does not fit {d}, which holds {low} to {high}."
    if not enable_x64.value and d in tables.NARROWED.values():
        message += (" 64-bit types are off: to have them, set jax_enable_x64 to True (or JAX_ENABLE_X64=1 in "
                    "the environment); or pass a float.")
    return message
