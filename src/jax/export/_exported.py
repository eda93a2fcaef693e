"""What :func:`jax.export.export` gives: a program with all that is needed to call it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import _tree_compare
from jax._base import _jaxlib
from jax._base.source import api_boundary
from jax._language.avals import typeof
from jax.custom_derivatives import custom_vjp
from jax.dtypes import float0
from jax.export._calls import call_exported_p
from jax.export._checks import DisabledSafetyCheck
from jax.export._format import serialize
from jax.export._modules import read_module
from jax.tree_util import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten

# Versions of how programs are called: which arguments ``main`` takes and in which order.
minimum_supported_calling_convention_version = 9
maximum_supported_calling_convention_version = 10

_FIELDS = ("fun_name", "in_tree", "in_avals", "out_tree", "out_avals", "_in_named_shardings", "_out_named_shardings",
           "in_shardings_hlo", "out_shardings_hlo", "nr_devices", "platforms", "ordered_effects", "unordered_effects",
           "disabled_safety_checks", "mlir_module_serialized", "calling_convention_version", "module_kept_var_idx",
           "uses_global_constants", "_get_vjp")


class Exported:
    """A function lowered to StableHLO, with the types that it takes and returns. Made by :func:`jax.export.export`.

    Attributes:
      fun_name: of the function.
      in_tree: structure of ``(args, kwargs)``.
      in_avals: the types of their leaves.
      out_tree, out_avals: likewise for the result.
      in_shardings_hlo, out_shardings_hlo: for each leaf how it is split over devices, None where that is open.
      nr_devices: for how many devices the program is.
      platforms: for which platforms.
      ordered_effects, unordered_effects: what it does besides computing; nothing in this version.
      disabled_safety_checks: the checks that were left out.
      mlir_module_serialized: the program, as a portable artifact of StableHLO.
      calling_convention_version: how its ``main`` is called.
      module_kept_var_idx: positions of the leaves that ``main`` takes; it does not read the others.
      uses_global_constants: whether ``main`` takes the number of the platform before these leaves, as it does where the
        program is not the same on all platforms.

    Deviations: programs are for one device, and shapes are fixed.
    """

    __slots__ = (*_FIELDS, "_callable", "__weakref__")
    fun_name: str
    in_tree: Any
    in_avals: tuple[Any, ...]
    out_tree: Any
    out_avals: tuple[Any, ...]
    platforms: tuple[str, ...]
    nr_devices: int
    disabled_safety_checks: tuple[DisabledSafetyCheck, ...]
    mlir_module_serialized: bytes
    calling_convention_version: int
    module_kept_var_idx: tuple[int, ...]
    _get_vjp: Callable[[Exported], Exported] | None

    def __init__(self, fun_name: str, in_tree: Any, in_avals: Sequence[Any], out_tree: Any, out_avals: Sequence[Any],
                 _in_named_shardings: Sequence[Any], _out_named_shardings: Sequence[Any], in_shardings_hlo: Sequence[Any],
                 out_shardings_hlo: Sequence[Any], nr_devices: int, platforms: Sequence[str], ordered_effects: Sequence[Any],
                 unordered_effects: Sequence[Any], disabled_safety_checks: Sequence[DisabledSafetyCheck],
                 mlir_module_serialized: bytes, calling_convention_version: int, module_kept_var_idx: Sequence[int],
                 uses_global_constants: bool, _get_vjp: Callable[[Exported], Exported] | None) -> None:
        given = locals()
        for field in _FIELDS:
            value = given[field]
            object.__setattr__(self, field, tuple(value) if type(value) is list else value)
        object.__setattr__(self, "_callable", None)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"an Exported cannot be changed; got a new value of {name}")

    def __repr__(self) -> str:
        ins, outs = (", ".join(a.str_short() for a in avals) for avals in (self.in_avals, self.out_avals))
        return f"Exported({self.fun_name}: ({ins}) -> ({outs}), for {', '.join(self.platforms)})"

    def __copy__(self) -> Exported:
        return self

    def __deepcopy__(self, memo: Any) -> Exported:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(f"the exported function {self.fun_name} cannot be pickled, as it is open how many derivatives are "
                        "wanted; use exported.serialize(vjp_order=...) and jax.export.deserialize")

    def mlir_module(self) -> str:
        """The program as text, in StableHLO."""
        return read_module(self.mlir_module_serialized, _jaxlib.new_mlir_context()).operation.get_asm(enable_debug_info=True)

    def in_shardings_jax(self, mesh: Any) -> tuple[Any, ...]:
        """How the leaves of the arguments are to be laid out over ``mesh``; None where that is open."""
        return (None,) * len(self.in_avals)

    def out_shardings_jax(self, mesh: Any) -> tuple[Any, ...]:
        """How the leaves of the result are laid out over ``mesh``; None where that is open."""
        return (None,) * len(self.out_avals)

    def has_vjp(self) -> bool:
        """Whether there is a derivative: yes for what was exported here, else as :meth:`serialize` was told."""
        return self._get_vjp is not None

    def vjp(self) -> Exported:
        """The exported derivative in reverse mode.

        It takes the leaves of the arguments, then a cotangent for each leaf of the result, and returns a cotangent for each
        leaf of the arguments.

        Raises:
          ValueError: it was not serialised.
        """
        if self._get_vjp is None:
            raise ValueError(f"the exported function {self.fun_name} has no derivative. It was serialised without; use "
                             "exported.serialize(vjp_order=1), or more for higher derivatives.")
        return self._get_vjp(self)

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """Bytes from which :func:`jax.export.deserialize` makes this object again.

        Args:
          vjp_order: how many times it shall be possible to differentiate that.

        Raises:
          ValueError: a container class of arguments or results is not registered for serialisation, or ``vjp_order`` is
            negative.
        """
        return serialize(self, vjp_order)

    @api_boundary
    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function, with arguments of the structure, shapes and dtypes that it was exported for.

        It can be part of jitted functions, and be differentiated in reverse mode as often as there are derivatives.

        Raises:
          ValueError: the arguments are others than it was exported for, or the platform is.
        """
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self.in_tree:
            raise self._other_structure(args, kwargs)
        for i, (x, want) in enumerate(zip(leaves, self.in_avals, strict=True)):
            self._check(i, x, want)
        return tree_unflatten(self.out_tree, self._flat_function()(*leaves))

    def _other_structure(self, args: Any, kwargs: Any) -> ValueError:
        dummies = tree_unflatten(self.in_tree, [0] * self.in_tree.num_leaves)
        found = list(_tree_compare.differences(dummies, (args, kwargs), prefix=False))
        lines = [f"  {_path_text(d.path)}: exported for {d.left.removesuffix(' (int)')}, called with {d.right}"
                 f"{f' ({d.detail})' if d.detail else ''}" for d in found[:5]]
        listed = "\n".join(lines) or f"  exported for {self.in_tree}"
        return ValueError(f"the exported function {self.fun_name} was called with arguments of another structure than "
                          f"it was exported for:\n{listed}")

    def _check(self, i: int, x: Any, want: Any) -> None:
        try:
            got = typeof(x)
        except TypeError as error:
            raise TypeError(f"the exported function {self.fun_name}: the argument {self._argument(i)}: {error}") from None
        if got.shape != want.shape or got.dtype != want.dtype:
            raise ValueError(f"the exported function {self.fun_name}: the argument {self._argument(i)} has to be "
                             f"{want.str_short()}, as it was exported for, and is {got.str_short()}. Convert it, or export "
                             "the function for this type.")

    def _argument(self, i: int) -> str:
        numbered = tree_unflatten(self.in_tree, list(range(self.in_tree.num_leaves)))
        return _path_text(tree_flatten_with_path(numbered)[0][i][0])

    def _flat_function(self) -> Any:
        """The function of leaves, with its derivative."""
        if self._callable is None:
            object.__setattr__(self, "_callable", _flat_function(self))
        return self._callable


def _path_text(path: Any) -> str:
    return ("args" if path and getattr(path[0], "idx", 0) == 0 else "kwargs") + keystr(path[1:])


def _flat_function(exported: Exported) -> Any:
    def run(*leaves: Any) -> list[Any]:
        outs = iter(call_exported_p.bind(*[leaves[i] for i in exported.module_kept_var_idx], exported=exported))
        return [np.zeros(a.shape, float0) if a.dtype == float0 else next(outs) for a in exported.out_avals]

    def forward(*leaves: Any) -> Any:
        return function(*leaves), leaves  # not the bare program, which has no derivative of its own

    def backward(leaves: Any, cotangents: Any) -> tuple[Any, ...]:
        return tuple(exported.vjp()._flat_function()(*leaves, *cotangents))

    for f in (run, forward, backward):
        f.__name__ = f.__qualname__ = exported.fun_name
    function = custom_vjp(run)
    function.defvjp(forward, backward)
    return function


__all__ = ["Exported", "maximum_supported_calling_convention_version", "minimum_supported_calling_convention_version"]
