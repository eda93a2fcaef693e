"""What an exported program may contain: custom calls whose meaning will not change, or that the user answers for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._base import _jaxlib


class DisabledSafetyCheck:
    """A safety check of :func:`jax.export.export` that is not to be made.

    >>> from jax import export
    >>> export.DisabledSafetyCheck.custom_call("my_target")
    custom_call:my_target
    """

    __slots__ = ("_impl",)

    def __init__(self, _impl: str) -> None:
        self._impl = _impl

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """Allows calls on other platforms than the program was exported for. It must mean the same there."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """Allows custom calls of ``target_name``, which the calling process has to know, with the same meaning."""
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """The target for a check of custom calls, else None."""
        kind, _, target = self._impl.partition(":")
        return target if kind == "custom_call" else None

    def __repr__(self) -> str:
        return self._impl

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DisabledSafetyCheck) and other._impl == self._impl

    def __hash__(self) -> int:
        return hash(self._impl)


# Targets that XLA itself defines, or jaxlib's kernels, whose call interface is versioned by their names.
_STABLE_NAMES = frozenset((
    "ApproxTopK", "AllocateBuffer", "Eigh", "LuDecomposition", "ProductOfElementaryHouseholderReflectors", "Qr", "Sharding",
    "SPMDFullToShardShape", "SPMDShardToFullShape", "TopK", "X64Combine", "annotate_device_placement",
    "cu_threefry2x32_ffi", "hip_threefry2x32_ffi", "shape_assertion", "tpu_custom_call",
    "tridiagonal_solve_perturbed_ffi",
))
_STABLE_PREFIXES = ("lapack_", "cusolver_", "hipsolver_", "cublas_", "hipblas_", "mhlo.", "chlo.", "stablehlo.")
_CALLBACKS = ("python_cpu_callback", "python_gpu_callback")


def check_custom_calls(module: Any, name: str, disabled: Sequence[DisabledSafetyCheck]) -> None:
    """Refuses custom calls that another process may not know or may understand otherwise.

    Raises:
      NotImplementedError: a callback to Python, which means something in this process only.
      ValueError: a target without a promise of compatibility that ``disabled`` does not name.
    """
    allowed = {c.is_custom_call() for c in disabled}
    found = custom_call_targets(module)
    for target, place in found.items():
        if any(c in target for c in _CALLBACKS):
            raise NotImplementedError(
                f"export of {name}: it calls back into Python ({target}, at {place}), and functions of this process cannot "
                "be part of an exported program. Leave out jax.debug.print, jax.pure_callback, jax.experimental.io_callback "
                "and kin.")
    unknown = {t: p for t, p in found.items()
               if t not in allowed and t not in _STABLE_NAMES and not t.startswith(_STABLE_PREFIXES)}
    if unknown:
        listed = "\n".join(f"  {target}, at {place}" for target, place in unknown.items())
        raise ValueError(
            f"export of {name}: it has custom calls without a promise of compatibility:\n{listed}\nIf whoever calls the "
            "program has these targets, with the same meaning, say so: export(..., disabled_checks=["
            f"DisabledSafetyCheck.custom_call({next(iter(unknown))!r})]).")


def custom_call_targets(module: Any) -> dict[str, str]:
    """The targets of all custom calls of a module, each with the place of one of them."""
    found: dict[str, str] = {}

    def look(operation: Any) -> Any:
        if operation.name == "stablehlo.custom_call":
            target = _jaxlib.ir.StringAttr(operation.attributes["call_target_name"]).value
            if target not in found:
                found[target] = str(operation.location)
        return _jaxlib.ir.WalkResult.ADVANCE

    module.operation.walk(look)
    return found
