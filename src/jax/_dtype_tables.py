"""Facts about dtypes that need neither configuration nor a device: which dtypes there are, their categories,
narrow forms and short names, and the partial orders of type promotion.

A node of an order is a dtype or, for a weak type (what a Python scalar has), the Python scalar type of its
kind. An order is written down as the nodes that lie directly above each node. All nodes above one, itself
included, make a bit mask; the least upper bound of some nodes is the node whose mask is the intersection of
theirs, if there is one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ml_dtypes
import numpy as np

Node = Any

float0: np.dtype = np.dtype([("float0", np.void, 0)])
"""Dtype of tangents of integers, booleans and keys: it holds no information and takes no memory."""


class extended(np.generic):  # noqa: N801 - a category, named like NumPy's
    """Category of the dtypes that are not NumPy's, for ``issubdtype(x.dtype, jax.dtypes.extended)``."""

    __module__ = "jax.dtypes"


class prng_key(extended):  # noqa: N801
    """Category of the dtypes of typed PRNG keys, for ``issubdtype(key.dtype, jax.dtypes.prng_key)``."""

    __module__ = "jax.dtypes"


class ExtendedDType:
    """Base class of dtypes that bring their own rules.

    An array of such a dtype is carried by a plain array, the *physical* one: each element becomes a block of
    :meth:`physical_element_aval`. Subclasses are immutable, compare by value and are hashable.
    """

    __slots__ = ("__weakref__",)
    name: str
    itemsize: int
    type: type[extended]
    # The plain dtype that ``convert_element_type`` turns values from and into, without changing what carries them.
    representation: np.dtype | None = None

    def physical_element_aval(self) -> tuple[tuple[int, ...], np.dtype]:
        """Shape and dtype of the block of physical elements that carries one element."""
        raise NotImplementedError(f"{type(self).__name__}.physical_element_aval")

    def wrap(self, physical: Any) -> Any:
        """The value carried by ``physical``, whose trailing dimensions are one element's block."""
        raise NotImplementedError(f"{type(self).__name__}.wrap")

    def unwrap(self, value: Any) -> Any:
        """The physical array that carries ``value``."""
        raise NotImplementedError(f"{type(self).__name__}.unwrap")

    @property
    def tangent_dtype(self) -> DType:
        """Dtype of tangents; ``float0`` says that values cannot be differentiated."""
        return float0

    def zeros(self, shape: tuple[int, ...]) -> Any:
        """A value of ``shape`` to fill holes with, for instance when an array is padded."""
        raise NotImplementedError(f"arrays of dtype {self.name} have no zero")

    def short_name(self) -> str:
        """How the dtype is printed in a jaxpr."""
        return self.name

    @property
    def dtype(self) -> ExtendedDType:
        return self

    def __repr__(self) -> str:
        return self.name


DType = np.dtype | ExtendedDType


def _from_ml_dtypes(names: str) -> dict[str, type]:
    return {name: getattr(ml_dtypes, name) for name in names.split() if hasattr(ml_dtypes, name)}


_NARROW_INTS = _from_ml_dtypes("int1 int2 int4 uint1 uint2 uint4")
_NARROW_FLOATS = _from_ml_dtypes(
    "float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn "
    "float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu"
)
ML_CATEGORY: dict[type, type] = {
    ml_dtypes.bfloat16: np.floating,
    **{t: np.floating for t in _NARROW_FLOATS.values()},
    **{t: np.unsignedinteger if name[0] == "u" else np.signedinteger for name, t in _NARROW_INTS.items()},
}
"""Where the scalar classes of ml_dtypes belong; NumPy has them directly below ``numpy.generic``."""

BOOL = np.dtype(bool)
SIGNED = [np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)] + [
    np.dtype(t) for name, t in _NARROW_INTS.items() if name[0] == "i"]
UNSIGNED = [np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)] + [
    np.dtype(t) for name, t in _NARROW_INTS.items() if name[0] == "u"]
FLOATING = [np.dtype("float16"), np.dtype("float32"), np.dtype("float64"), np.dtype(ml_dtypes.bfloat16)] + [
    np.dtype(t) for t in _NARROW_FLOATS.values()]
COMPLEX = [np.dtype("complex64"), np.dtype("complex128")]

NUMERIC: tuple[np.dtype, ...] = (BOOL, *SIGNED, *UNSIGNED, *FLOATING, *COMPLEX)
SUPPORTED: dict[Any, np.dtype] = {d: d for d in (*NUMERIC, float0)}
"""Every dtype that arrays can have (extended ones aside), mapped to the one object that stands for it."""

NARROWED: dict[Any, np.dtype] = {
    np.dtype("int64"): np.dtype("int32"),
    np.dtype("uint64"): np.dtype("uint32"),
    np.dtype("float64"): np.dtype("float32"),
    np.dtype("complex128"): np.dtype("complex64"),
}
"""What a 64-bit dtype becomes while 64-bit types are off."""

python_scalar_dtypes: dict[type, np.dtype] = {
    bool: BOOL, int: np.dtype("int64"), float: np.dtype("float64"), complex: np.dtype("complex128")}
"""What a Python scalar type means while 64-bit types are on."""

numpy_scalar_types: tuple[type, ...] = tuple(
    dict.fromkeys([*(d.type for d in NUMERIC), np.longlong, np.ulonglong]))
"""The scalar classes of NumPy and ml_dtypes whose instances are operands."""

KIND: dict[Any, type] = {
    d: kind
    for kind, members in ((bool, [BOOL]), (int, SIGNED + UNSIGNED), (float, FLOATING), (complex, COMPLEX))
    for d in members
}
"""The Python scalar type of a dtype's kind."""


def _abbreviate(name: str) -> str:
    for long, short in (("uint", "u"), ("int", "i"), ("bfloat", "bf"), ("float", "f"), ("complex", "c")):
        if name.startswith(long):
            return short + name.removeprefix(long)
    return name


SHORT_NAMES: dict[Any, str] = {float0: "float0", **{d: _abbreviate(d.name) for d in NUMERIC}}


# --- the orders ---------------------------------------------------------------------------------------------


class Order:
    """A partial order over dtypes and weak types, with its least upper bounds."""

    __slots__ = ("_node_of_mask", "_upper")

    def __init__(self, directly_above: dict[str, str]):
        above = {
            _node(low): [n for name in high.split() for n in _nodes(name)]
            for low, high in directly_above.items()}
        for d in NUMERIC:
            above.setdefault(d, [])
        bit = {node: 1 << i for i, node in enumerate(above)}
        self._upper: dict[Node, int] = {}

        def fill(node: Node) -> int:
            if node not in self._upper:
                mask = bit[node]
                for higher in above[node]:
                    mask |= fill(higher)
                self._upper[node] = mask
            return self._upper[node]

        self._node_of_mask = {fill(node): node for node in above}

    def join(self, nodes: Iterable[Node]) -> Node | None:
        """The least upper bound of ``nodes``, or None where there is none."""
        common = -1
        for node in nodes:
            common &= self._upper[node]
        return self._node_of_mask.get(common)


_WEAK = {"int*": int, "float*": float, "complex*": complex}


def _node(name: str) -> Node:
    return _WEAK[name] if name in _WEAK else np.dtype(name)


def _nodes(name: str) -> list[Node]:
    group = {"narrow-ints": _NARROW_INTS, "narrow-floats": _NARROW_FLOATS}.get(name)
    return [_node(name)] if group is None else [np.dtype(t) for t in group.values()]


STANDARD = Order({
    "bool": "int*",
    "int*": "uint8 int8 narrow-ints",
    "uint8": "uint16 int16",
    "uint16": "uint32 int32",
    "uint32": "uint64 int64",
    "uint64": "float*",
    "int8": "int16",
    "int16": "int32",
    "int32": "int64",
    "int64": "float*",
    "float*": "bfloat16 float16 complex* narrow-floats",
    "bfloat16": "float32",
    "float16": "float32",
    "float32": "float64 complex64",
    "float64": "complex128",
    "complex*": "complex64",
    "complex64": "complex128",
})
STRICT = Order({
    "int*": "uint8 uint16 uint32 uint64 int8 int16 int32 int64 narrow-ints float*",
    "float*": "bfloat16 float16 float32 float64 narrow-floats complex*",
    "complex*": "complex64 complex128",
})
