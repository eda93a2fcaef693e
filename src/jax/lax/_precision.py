"""How precisely products are computed: precisions, dot algorithms and their names."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from jax._base import _jaxlib
from jax._base.config import default_matmul_precision
from jax._lowering import hlo
from jax._lowering.types import dtype_to_ir_type

_NAMES = {"default": 0, "bfloat16": 0, "fastest": 0, "high": 1, "bfloat16_3x": 1, "tensorfloat32": 1,
          "highest": 2, "float32": 2, None: 0}


class Precision(enum.Enum):
    """How much accuracy products of float32 values keep on hardware that multiplies narrower numbers.

    On CPUs all levels are full precision. ``DEFAULT`` (also ``"default"``, ``"bfloat16"``, ``"fastest"``) is the
    fastest mode, ``HIGH`` (``"high"``, ``"bfloat16_3x"``, ``"tensorfloat32"``) a middle one, ``HIGHEST``
    (``"highest"``, ``"float32"``) computes with all bits of the operands.
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: Any) -> Any:
        level = _NAMES.get(value) if value is None or isinstance(value, str) else None
        return None if level is None else cls(level)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Precision.{self.name}"


class DotAlgorithm(NamedTuple):
    """The internal types and steps of a matrix product, in full.

    Attributes:
      lhs_precision_type, rhs_precision_type: dtypes that the operands are rounded to.
      accumulation_type: dtype of the sums.
      lhs_component_count, rhs_component_count: into how many numbers each operand is split.
      num_primitive_operations: how many products of components are added up.
      allow_imprecise_accumulation: whether the hardware may accumulate in fewer bits.

    Whether a platform implements an algorithm is found out when the program is compiled; :class:`DotAlgorithmPreset`
    names common ones.
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


_FLOAT8 = (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz, ml_dtypes.float8_e4m3fnuz,
           ml_dtypes.float8_e4m3b11fnuz)
_F16, _BF16, _F32, _F64 = np.float16, ml_dtypes.bfloat16, np.float32, np.float64


class DotAlgorithmPreset(enum.Enum):
    """Named dot algorithms, ``<lhs>_<rhs>_<accumulation>``: a value of the ``precision`` argument of products.

    Operands are converted to the algorithm's input types where they have others. ``X3``, ``X6`` and ``X9`` emulate a
    wider product by that many narrow ones. CPUs implement ``F16_F16_F16``, ``BF16_BF16_F32`` (also ``X3``, ``X6``),
    ``F32_F32_F32`` and ``F64_F64_F64``.
    """

    DEFAULT = 1
    ANY_F8_ANY_F8_F32 = 2
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 3
    ANY_F8_ANY_F8_ANY = 4
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 5
    F16_F16_F16 = 6
    F16_F16_F32 = 7
    BF16_BF16_BF16 = 8
    BF16_BF16_F32 = 9
    BF16_BF16_F32_X3 = 10
    BF16_BF16_F32_X6 = 11
    BF16_BF16_F32_X9 = 12
    TF32_TF32_F32 = 13
    TF32_TF32_F32_X3 = 14
    F32_F32_F32 = 15
    F64_F64_F64 = 16

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    @property
    def supported_lhs_types(self) -> tuple[Any, ...] | None:
        """Dtypes that a left operand may have unconverted; ``None`` if any."""
        return _PRESETS[self].inputs

    @property
    def supported_rhs_types(self) -> tuple[Any, ...] | None:
        """Dtypes that a right operand may have unconverted; ``None`` if any."""
        return _PRESETS[self].inputs

    @property
    def accumulation_type(self) -> Any:
        """Dtype of the sums; ``None`` if the platform chooses."""
        return _PRESETS[self].accumulation

    def supported_output_types(self, lhs_dtype: Any, rhs_dtype: Any) -> tuple[Any, ...] | None:
        """Dtypes of results that need no conversion; ``None`` if any."""
        del lhs_dtype, rhs_dtype
        facts = _PRESETS[self]
        if facts.accumulation is None:
            return None
        return (_F32, _F16, _BF16, *_FLOAT8) if facts.internal is None else (facts.accumulation,)


class _Facts(NamedTuple):
    inputs: tuple[Any, ...] | None  # acceptable operand dtypes
    internal: Any  # the dtype operands are rounded to ("tf32" has no NumPy dtype); None for any float8
    accumulation: Any
    operations: int = 1
    imprecise: bool = False


_ONLY_F32 = (_F32,)
_PRESETS = {
    DotAlgorithmPreset.DEFAULT: _Facts(None, None, None),
    DotAlgorithmPreset.ANY_F8_ANY_F8_F32: _Facts(None, None, _F32),
    DotAlgorithmPreset.ANY_F8_ANY_F8_F32_FAST_ACCUM: _Facts(None, None, _F32, 1, True),
    DotAlgorithmPreset.ANY_F8_ANY_F8_ANY: _Facts(None, None, None),
    DotAlgorithmPreset.ANY_F8_ANY_F8_ANY_FAST_ACCUM: _Facts(None, None, None, 1, True),
    DotAlgorithmPreset.F16_F16_F16: _Facts((_F16,), _F16, _F16),
    DotAlgorithmPreset.F16_F16_F32: _Facts((_F16,), _F16, _F32),
    DotAlgorithmPreset.BF16_BF16_BF16: _Facts((_BF16, _F32), _BF16, _BF16),
    DotAlgorithmPreset.BF16_BF16_F32: _Facts((_BF16, _F32), _BF16, _F32),
    DotAlgorithmPreset.BF16_BF16_F32_X3: _Facts(_ONLY_F32, _BF16, _F32, 3),
    DotAlgorithmPreset.BF16_BF16_F32_X6: _Facts(_ONLY_F32, _BF16, _F32, 6),
    DotAlgorithmPreset.BF16_BF16_F32_X9: _Facts(_ONLY_F32, _BF16, _F32, 9),
    DotAlgorithmPreset.TF32_TF32_F32: _Facts(_ONLY_F32, "tf32", _F32),
    DotAlgorithmPreset.TF32_TF32_F32_X3: _Facts(_ONLY_F32, "tf32", _F32, 3),
    DotAlgorithmPreset.F32_F32_F32: _Facts(_ONLY_F32, _F32, _F32),
    DotAlgorithmPreset.F64_F64_F64: _Facts((_F64,), _F64, _F64),
}
_ON_CPU = frozenset({DotAlgorithmPreset.F16_F16_F16, DotAlgorithmPreset.BF16_BF16_F32,
                     DotAlgorithmPreset.BF16_BF16_F32_X3, DotAlgorithmPreset.BF16_BF16_F32_X6,
                     DotAlgorithmPreset.F32_F32_F32, DotAlgorithmPreset.F64_F64_F64})


# The forms in which products and convolutions take their ``precision``.
PrecisionLike = (Precision | str | tuple[Precision, Precision] | tuple[str, str] | DotAlgorithm | DotAlgorithmPreset
                 | None)

# --- the precision argument -----------------------------------------------------------------------------------------

def canonical_precision(precision: Any) -> Any:
    """The ``precision`` argument as a parameter: ``None``, a pair of :class:`Precision`, or a dot algorithm.

    ``None`` means the option ``jax_default_matmul_precision``.

    Raises:
      ValueError: for anything that names no precision.
    """
    if precision is None:
        precision = default_matmul_precision.value
        if precision is None:
            return None
    found = _read(precision)
    if found is None:
        raise ValueError(
            f"precision must be None, a lax.Precision or its name ({', '.join(repr(n) for n in _NAMES if n)}), a pair "
            "of either (left operand, right operand), a lax.DotAlgorithmPreset or its name, or a lax.DotAlgorithm; "
            f"got {precision!r}")
    return found


def _read(precision: Any) -> Any:
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return precision
    if isinstance(precision, Precision):
        return precision, precision
    if isinstance(precision, str):
        if precision in _NAMES:
            level = Precision(precision)
            return level, level
        return DotAlgorithmPreset.__members__.get(precision)
    if isinstance(precision, (tuple, list)) and len(precision) == 2:
        pair = [p if isinstance(p, Precision) else Precision(p) if p is None or p in _NAMES else None
                for p in precision]
        return None if None in pair else tuple(pair)
    return None


def reverse_precision(precision: Any) -> Any:
    """The precision of a product with its operands exchanged."""
    if type(precision) is tuple:
        return precision[::-1]
    if isinstance(precision, DotAlgorithm):
        return precision._replace(
            lhs_precision_type=precision.rhs_precision_type, rhs_precision_type=precision.lhs_precision_type,
            lhs_component_count=precision.rhs_component_count, rhs_component_count=precision.lhs_component_count)
    return precision


# --- lowering -------------------------------------------------------------------------------------------------------

def is_algorithm(precision: Any) -> bool:
    return isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)) and precision is not DotAlgorithmPreset.DEFAULT


def algorithm_dtypes(precision: Any, lhs: Any, rhs: Any, out: Any) -> tuple[Any, Any, Any]:
    """The dtypes to which an algorithm wants its operands converted, and the dtype of what it returns."""
    if isinstance(precision, DotAlgorithm):
        return lhs, rhs, out
    facts = _PRESETS[precision]
    if facts.inputs is not None:
        allowed = [np.dtype(d) for d in facts.inputs]
        lhs, rhs = (d if d in allowed else allowed[0] for d in (lhs, rhs))
    produced = precision.supported_output_types(lhs, rhs)
    if produced is not None and out not in [np.dtype(d) for d in produced]:
        out = np.dtype(produced[0])
    return lhs, rhs, out


def algorithm_attr(precision: Any, platforms: tuple[str, ...], lhs: Any, rhs: Any, out: Any) -> Any:
    """The MLIR attribute of a dot algorithm.

    Raises:
      ValueError: for a preset that the platform does not have.
    """
    if isinstance(precision, DotAlgorithm):
        lhs, rhs, out = (dtype_to_ir_type(np.dtype(d)) for d in precision[:3])
        return hlo.dot_algorithm(
            lhs, rhs, out, precision.lhs_component_count,
            precision.rhs_component_count, precision.num_primitive_operations, precision.allow_imprecise_accumulation)
    if "cpu" in platforms and precision not in _ON_CPU:
        names = ", ".join(sorted(p.name for p in _ON_CPU))
        raise ValueError(f"dot_general: the algorithm {precision} is not available on CPUs; available are {names}")
    facts = _PRESETS[precision]
    accumulation = dtype_to_ir_type(np.dtype(facts.accumulation or out))
    if facts.internal is None:
        left, right = dtype_to_ir_type(lhs), dtype_to_ir_type(rhs)
    else:
        left = right = (_jaxlib.ir.FloatTF32Type.get() if facts.internal == "tf32"
                        else dtype_to_ir_type(np.dtype(facts.internal)))
    return hlo.dot_algorithm(left, right, accumulation, 1, 1, facts.operations, facts.imprecise)
