"""Compiled functions of other languages in programs, through XLA's foreign function interface."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jax._base import _jaxlib
from jax._base.source import api_boundary
from jax._callbacks.function import result_types
from jax._callbacks.pure import METHODS, batch_foreign_call
from jax._language import rules
from jax._language.avals import abstract_token as abstract_token
from jax._language.avals import physical_aval, typeof
from jax._language.effects import Effect, control_flow_allowed_effects, lowerable_effects, remat_allowed_effects
from jax._language.primitive import Primitive
from jax._lowering import hlo
from jax._lowering.attributes import ir_attribute
from jax._lowering.context import LoweringContext
from jax._lowering.rules import register_lowering
from jax._lowering.types import ir_type
from jax._transforms.batch import AxisData
from jax.tree_util import tree_unflatten

# --- registration ---------------------------------------------------------------------------------------------------

def register_ffi_target(name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: Any) -> None:
    """Makes a compiled function known to XLA.

    Args:
      name: by which programs call it.
      fn: a capsule with its address (see :func:`pycapsule`), or a dictionary of capsules for the stages
        ``"instantiate"``, ``"prepare"``, ``"initialize"`` and ``"execute"``.
      platform: ``"cpu"``, ``"CUDA"`` ...
      api_version: 1 for XLA's typed interface, 0 for the one without types.
      kwargs: traits, as XLA's client takes them.
    """
    _jaxlib.xla_client.register_custom_call_target(name, fn, platform, api_version, **kwargs)


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Says that a registered function works along leading axes independently, so that XLA may partition these."""
    _jaxlib.xla_client.register_custom_call_as_batch_partitionable(name)


def register_ffi_type(name: str, type_registration: Mapping[str, Any], platform: str = "cpu") -> None:
    """Registers a type of state that functions keep between calls: capsules with its id, and how it is destroyed."""
    _jaxlib.xla_client.register_custom_type(name, type_registration, platform=platform)


def register_ffi_type_id(name: str, obj: Any, platform: str = "cpu") -> None:
    """Registers a type of state by a capsule with its id alone."""
    register_ffi_type(name, {"type_id": obj}, platform)


def pycapsule(funcptr: Any) -> Any:
    """A capsule with the address of a function that ``ctypes`` has loaded."""
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(ctypes.cast(funcptr, ctypes.c_void_p), b"xla._CUSTOM_CALL_TARGET", None)


def include_dir() -> str:
    """The directory with XLA's header files for such functions."""
    return os.path.join(os.path.dirname(os.path.abspath(_jaxlib.xla.__file__)), "include")


# --- calls ----------------------------------------------------------------------------------------------------------

class FfiEffect(Effect):
    """A call that does something besides computing its results."""

    def __repr__(self) -> str:
        return "FFI"


_effect = FfiEffect()
for _allowed in (lowerable_effects, control_flow_allowed_effects, remat_allowed_effects):
    _allowed.add_type(FfiEffect)


@api_boundary
def ffi_call(target_name: str, result_shape_dtypes: Any, *, has_side_effect: bool = False, vmap_method: str | None = None,
             input_layouts: Sequence[Any] | None = None, output_layouts: Any = None,
             input_output_aliases: dict[int, int] | None = None, custom_call_api_version: int = 4,
             legacy_backend_config: str | None = None) -> Callable[..., Any]:
    """A function that calls a registered target.

    Args:
      target_name: as given to :func:`register_ffi_target`.
      result_shape_dtypes: one :class:`jax.ShapeDtypeStruct`, or a sequence of them.
      has_side_effect: call it although its results are not needed.
      vmap_method: what :func:`jax.vmap` does, as for :func:`jax.pure_callback`.
      input_layouts, output_layouts: for each array ``None`` (row-major), or its dimensions from the one with the largest
        stride to the one with the smallest.
      input_output_aliases: ``{argument: result}`` for results that take over the memory of an argument.
      custom_call_api_version: 4 for XLA's typed interface.
      legacy_backend_config: text for the target, with older interfaces.

    Returns:
      A function of arrays (positional) and attributes (keywords: Python and NumPy scalars, strings, NumPy arrays,
      dictionaries; the types of NumPy scalars are kept, ``int`` and ``float`` are 64 bits wide). It returns one array, or
      a sequence like ``result_shape_dtypes``.

    Raises:
      ValueError: an unknown ``vmap_method``, layouts or aliases that do not fit; the call is differentiated.
      JaxRuntimeError: the target is not registered.
    """
    if vmap_method is not None and vmap_method not in METHODS:
        raise ValueError(f"ffi_call: vmap_method must be one of {', '.join(map(repr, METHODS))} or None, "
                         f"got {vmap_method!r}")
    avals, out_tree = result_types("ffi_call", result_shape_dtypes)
    out_layouts = [output_layouts] if output_layouts is not None and not isinstance(result_shape_dtypes, (tuple, list)) \
        else output_layouts

    @api_boundary
    def call(*args: Any, **attributes: Any) -> Any:
        in_avals = [typeof(x) for x in args]
        outs = ffi_call_p.bind(
            *args, target_name=target_name, result_avals=avals, has_side_effect=bool(has_side_effect),
            vmap_method=vmap_method, attributes=tuple(sorted((k, _hashable(v)) for k, v in attributes.items())),
            input_layouts=_layouts("input", input_layouts, in_avals), output_layouts=_layouts("output", out_layouts, avals),
            input_output_aliases=tuple(sorted((input_output_aliases or {}).items())),
            custom_call_api_version=int(custom_call_api_version), legacy_backend_config=legacy_backend_config)
        return tree_unflatten(out_tree, outs)
    return call


class _ByContent:
    """A value that cannot be hashed, compared by what it says."""

    __slots__ = ("value", "_key")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key = (value.shape, value.dtype.str, value.tobytes()) if isinstance(value, np.ndarray) else repr(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByContent) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return repr(self.value)


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return _ByContent(value)
    return value


def _layouts(what: str, given: Sequence[Any] | None, avals: Sequence[Any]) -> tuple[tuple[int, ...], ...]:
    """Layouts from minor to major, as XLA has them."""
    orders: Sequence[Any] = [None] * len(avals) if given is None else list(given)
    if len(orders) != len(avals):
        raise ValueError(f"ffi_call: {what}_layouts has {len(orders)} entries for {len(avals)} arrays")
    out = []
    for order, aval in zip(orders, avals, strict=True):
        ndim = len(physical_aval(aval).shape)
        order = getattr(order, "major_to_minor", order)
        order = tuple(range(ndim)) if order is None else tuple(order)
        if sorted(order) != list(range(ndim)):
            raise ValueError(f"ffi_call: {what}_layouts: {order} is no order of the {ndim} dimensions of {aval.str_short()}")
        out.append(tuple(reversed(order)))
    return tuple(out)


ffi_call_p = Primitive("ffi_call", multiple_results=True)


def _abstract(*avals: Any, result_avals: Any, has_side_effect: bool, **params: Any) -> Any:
    return list(result_avals), {_effect} if has_side_effect else set()


def _lower(ctx: LoweringContext, *operands: Any, target_name: str, has_side_effect: bool, attributes: Any,
           input_layouts: Any, output_layouts: Any, input_output_aliases: Any, custom_call_api_version: int,
           legacy_backend_config: Any, **params: Any) -> Sequence[Any]:
    config: Any = legacy_backend_config or ""
    if custom_call_api_version == 4:
        config = {k: ir_attribute(v.value if isinstance(v, _ByContent) else v) for k, v in attributes}
    return hlo.custom_call(
        target_name, operands, [ir_type(a) for a in ctx.avals_out], backend_config=config, has_side_effect=has_side_effect,
        api_version=custom_call_api_version, operand_layouts=input_layouts, result_layouts=output_layouts,
        output_operand_aliases={out: operand for operand, out in input_output_aliases})


def _jvp(primals: Any, tangents: Any, *, target_name: str, **params: Any) -> Any:
    raise ValueError(f"the FFI call of {target_name} cannot be differentiated, as nothing is known of its derivative; wrap "
                     "the function that makes it in jax.custom_jvp or jax.custom_vjp")


def _batch(axis: AxisData, args: Any, dims: Any, **params: Any) -> Any:
    def with_layouts(params: dict[str, Any]) -> dict[str, Any]:
        plain = params["vmap_method"] == "legacy_vectorized"
        inputs = tuple([order if d is None and plain else _with_leading(order)
                        for order, d in zip(params["input_layouts"], dims, strict=True)])
        return dict(params, input_layouts=inputs, output_layouts=tuple(map(_with_leading, params["output_layouts"])))

    return batch_foreign_call(ffi_call_p, "an FFI call", params["target_name"], axis.size, args, dims, params, with_layouts)


def _with_leading(order: tuple[int, ...]) -> tuple[int, ...]:
    """A layout with one more dimension, the one with the largest stride."""
    return (*(i + 1 for i in order), 0)


ffi_call_p.def_effectful_abstract_eval(_abstract)
register_lowering(ffi_call_p, _lower)
rules.primitive_jvps[ffi_call_p] = _jvp
rules.fancy_primitive_batchers[ffi_call_p] = _batch


# --- lowering rules -------------------------------------------------------------------------------------------------

def build_ffi_lowering_function(call_target_name: str, *, operand_layouts: Sequence[Any] | None = None,
                                result_layouts: Sequence[Any] | None = None, backend_config: Any = None,
                                skip_ffi_layout_processing: bool = False, **lowering_args: Any) -> Callable[..., Any]:
    """A function ``(ctx, *operands, **attributes)`` that writes a call of a target; it returns MLIR values.

    Args:
      call_target_name: the target.
      operand_layouts, result_layouts: as for :func:`ffi_call`.
      backend_config: attributes in place of those of the call, or text with ``api_version`` below 4.
      skip_ffi_layout_processing: layouts are already from minor to major.
      lowering_args: ``result_types``, ``has_side_effect``, ``api_version``, ``operand_output_aliases``,
        ``extra_attributes``.
    """
    known = {"result_types", "has_side_effect", "api_version", "operand_output_aliases", "extra_attributes"}
    if unknown := set(lowering_args) - known:
        raise TypeError(f"ffi_lowering does not know the arguments {sorted(unknown)}")

    def lower(ctx: LoweringContext, *operands: Any, **attributes: Any) -> Any:
        version = lowering_args.get("api_version", 4)
        config = attributes if backend_config is None else backend_config
        if isinstance(config, Mapping):
            config = {k: ir_attribute(v) for k, v in config.items()}
        layouts = [(operand_layouts, ctx.avals_in, "operand"), (result_layouts, ctx.avals_out, "result")]
        orders = [given if skip_ffi_layout_processing and given is not None else _layouts(what, given, avals)
                  for given, avals, what in layouts]
        aliases = {out: operand for operand, out in (lowering_args.get("operand_output_aliases") or {}).items()}
        return hlo.custom_call(
            call_target_name, operands, lowering_args.get("result_types") or [ir_type(a) for a in ctx.avals_out],
            backend_config=config, has_side_effect=lowering_args.get("has_side_effect", False), api_version=version,
            operand_layouts=orders[0], result_layouts=orders[1], output_operand_aliases=aliases,
            extra=lowering_args.get("extra_attributes"))
    return lower


def ffi_lowering(call_target_name: str, *, operand_layouts: Sequence[Any] | None = None,
                 result_layouts: Sequence[Any] | None = None, backend_config: Any = None,
                 skip_ffi_layout_processing: bool = False, **lowering_args: Any) -> Callable[..., Any]:
    """A lowering rule for a primitive that is a call of a target; see :func:`build_ffi_lowering_function`.

    The parameters of the primitive are the attributes of the call.
    """
    return build_ffi_lowering_function(
        call_target_name, operand_layouts=operand_layouts, result_layouts=result_layouts, backend_config=backend_config,
        skip_ffi_layout_processing=skip_ffi_layout_processing, **lowering_args)


__all__ = ["abstract_token", "build_ffi_lowering_function", "ffi_call", "ffi_lowering", "include_dir", "pycapsule",
           "register_ffi_target", "register_ffi_target_as_batch_partitionable", "register_ffi_type",
           "register_ffi_type_id"]
