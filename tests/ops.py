"""Records of operations: what a test has to know to check one in every way that `tests.harness` can.

    Op("atan2", lax.atan2, (real(), real()), FLOATS, np.arctan2)

Each room keeps its records in a file of its own (`tests/ops_<room>.py`) and parametrizes the checks over them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

Sample = Callable[[np.random.Generator, np.dtype], np.ndarray]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS: tuple[Any, ...] = ("float32", "float64", BFLOAT16)
COMPLEXES = ("complex64", "complex128")
SIGNED = ("int32", "int8")
UNSIGNED = ("uint32", "uint8")
INTEGERS = SIGNED + UNSIGNED
BOOLS = ("bool",)


@dataclasses.dataclass(frozen=True)
class Op:
    """One operation.

    Attributes:
      name: shown in test ids.
      fn: a function of the sampled arrays (and nothing else) to an array or a pytree of arrays.
      args: one sampler per argument: ``(rng, dtype) -> array``. The samplers below make most of them; one that ignores
        ``dtype`` gives an argument of fixed dtype, such as indices.
      dtypes: what is given to the samplers, one test each.
      reference: the same function in NumPy, SciPy or mpmath. It receives the arguments with floats widened to float64
        and complex numbers to complex128. None where the only reference is another check.
      grad: positions of the arguments to differentiate with respect to; None: all floating and complex ones.
      grad_dtypes: dtypes in which derivatives are checked, a subset of ``float64`` and ``complex128``; None: those of
        these in ``dtypes``.
      tol: multiplies the default tolerances of values (see ``harness.tolerance``); or a mapping from dtype to the
        relative tolerance itself.
      grad_tol: relative tolerance of derivatives against finite differences.
      order: how often the operation is differentiated.
      vmap: whether to check it under vmap.
    """

    name: str
    fn: Callable[..., Any]
    args: Sequence[Sample]
    dtypes: Sequence[Any] = FLOATS
    reference: Callable[..., Any] | None = None
    grad: Sequence[int] | None = None
    grad_dtypes: Sequence[Any] | None = None
    tol: float | Mapping[str, float] = 1.0
    grad_tol: float = 1e-6
    order: int = 2
    vmap: bool = True

    def sample(self, dtype: Any, seed: int = 0) -> tuple[np.ndarray, ...]:
        """Arguments. The same seed gives the same ones."""
        rng = np.random.default_rng(seed)
        return tuple(make(rng, np.dtype(dtype)) for make in self.args)

    @property
    def derivative_dtypes(self) -> list[Any]:
        if self.grad_dtypes is not None:
            return list(self.grad_dtypes)
        if self.grad is not None and not self.grad:
            return []
        return [d for d in self.dtypes if np.dtype(d) in (np.float64, np.complex128)]


def cases(ops: Sequence[Op]) -> list[Any]:
    """pytest parameters ``(op, dtype)`` for all dtypes of all ``ops``."""
    import pytest

    return [pytest.param(op, np.dtype(d), id=f"{op.name}-{np.dtype(d)}") for op in ops for d in op.dtypes]


def derivative_cases(ops: Sequence[Op]) -> list[Any]:
    """pytest parameters ``(op, dtype)`` for the derivatives of all ``ops`` that have one."""
    import pytest

    return [pytest.param(op, np.dtype(d), id=f"{op.name}-{np.dtype(d)}") for op in ops for d in op.derivative_dtypes]


# --- samplers ---------------------------------------------------------------------------------------------------


def number(low: float = -2.0, high: float = 2.0, shape: tuple[int, ...] = (2, 3)) -> Sample:
    """Numbers of the tested dtype, uniform between ``low`` and ``high`` (both parts of complex ones)."""

    def make(rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
        if dtype == np.bool_:
            return rng.integers(0, 2, shape).astype(bool)
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            return rng.integers(max(info.min, int(low)), min(info.max, int(high)), shape, endpoint=True).astype(dtype)
        values = rng.uniform(low, high, shape)
        if dtype.kind == "c":
            values = values + 1j * rng.uniform(low, high, shape)
        return np.asarray(values).astype(dtype)

    return make


def real(low: float = -2.0, high: float = 2.0, shape: tuple[int, ...] = (2, 3)) -> Sample:
    """Like :func:`number`; for arguments that stay real where the tested dtype is complex."""
    make = number(low, high, shape)
    return lambda rng, dtype: make(rng, np.zeros((), dtype).real.dtype if dtype.kind == "c" else dtype)


def fixed(dtype: Any, low: float = -2.0, high: float = 2.0, shape: tuple[int, ...] = (2, 3)) -> Sample:
    """Numbers of one dtype, whichever is tested: indices, predicates, integer exponents."""
    make = number(low, high, shape)
    return lambda rng, _: make(rng, np.dtype(dtype))


def exactly(value: Any, dtype: Any = None) -> Sample:
    """The given values, in the tested dtype or in ``dtype``."""
    return lambda rng, tested: np.asarray(value).astype(tested if dtype is None else dtype)
