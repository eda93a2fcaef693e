"""Values that a program keeps: lifted into it, kept although unused, marked as one known operation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from jax._api.common import FlatFun, check_callable, debug_info
from jax._api.jit_primitive import call_params, jit_p
from jax._api.traced_calls import hoist_tracers
from jax._base import _jaxlib
from jax._base.source import api_boundary
from jax._dispatch.eager import operation
from jax._ground.structural import deflinear
from jax._language import rules
from jax._language.avals import typeof
from jax._language.effects import (
    Effect,
    control_flow_allowed_effects,
    custom_derivatives_allowed_effects,
    lowerable_effects,
    remat_allowed_effects,
)
from jax._language.jaxpr import ClosedJaxpr
from jax._language.primitive import Primitive
from jax._language.staging import trace_to_jaxpr
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import build_function
from jax._lowering.types import flat_symbol, i32_attr, ir_type, string_attr
from jax._runtime.transfer import to_device
from jax._transforms.batch import AxisData
from jax._transforms.batch_jaxpr import batch_jaxpr_axes
from jax.lax._creation import as_shape
from jax.tree_util import tree_flatten, tree_map, tree_unflatten

# --- stage ----------------------------------------------------------------------------------------------------------

stage_p = Primitive("stage")
stage_p.def_abstract_eval(lambda x: x)
stage_p.def_impl(to_device)
register_lowering(stage_p, lambda ctx, x: [x])
deflinear(stage_p, lambda ct, x: [ct])
rules.primitive_batchers[stage_p] = lambda args, dims: (stage_p.bind(args[0]), dims[0])


@api_boundary
def stage(x: Any, /) -> Any:
    """``x`` as a value of the program that is being traced; as an array, where none is.

    Raises:
      TypeError: ``x`` is no array or number.

    >>> import jax
    >>> jax.lax.stage(1)
    Array(1, dtype=int32, weak_type=True)
    """
    typeof(x)  # refuses what is no array
    return stage_p.bind(x)


# --- dce_sink -------------------------------------------------------------------------------------------------------

class SinkEffect(Effect):
    """Somebody wants this value to be computed."""

    def __repr__(self) -> str:
        return "Sink"


_sink = SinkEffect()
for _allowed in (lowerable_effects, control_flow_allowed_effects, remat_allowed_effects, custom_derivatives_allowed_effects):
    _allowed.add_type(SinkEffect)
dce_sink_p = Primitive("dce_sink", multiple_results=True)
dce_sink_p.def_effectful_abstract_eval(lambda x: ([], {_sink}))
dce_sink_p.def_impl(lambda x: [])
register_lowering(dce_sink_p, lambda ctx, x: [])
rules.primitive_jvps[dce_sink_p] = lambda primals, tangents: (dce_sink_p.bind(*primals), [])
rules.primitive_batchers[dce_sink_p] = lambda args, dims: (dce_sink_p.bind(*args), [])


@api_boundary
def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Keeps what computes ``val``, a tree of arrays, in traced programs although nothing uses it.

    Args:
      val: a tree of arrays.
      prevent_mlir_dce: keep it in the compiled program too, which is not supported.

    Raises:
      NotImplementedError: ``prevent_mlir_dce=True``; a callback keeps values in the compiled program.

    >>> import jax
    >>> str(jax.make_jaxpr(lambda x: jax.lax.dce_sink(x * 2))(1.0)).count("mul")
    1
    """
    if prevent_mlir_dce:
        raise NotImplementedError("dce_sink: prevent_mlir_dce=True is not supported, as XLA has no operation that only "
                                  "keeps a value; return the value, or pass it to jax.debug.callback")
    tree_map(lambda x: dce_sink_p.bind(x), val)


# --- composite ------------------------------------------------------------------------------------------------------

composite_p = Primitive("composite", multiple_results=True)
composite_p.abstract_cache = None


def _attribute(name: str, key: str, value: Any) -> Any:
    ir = _jaxlib.ir
    if isinstance(value, (bool, np.bool_)):
        return ir.BoolAttr.get(bool(value))
    if isinstance(value, (int, np.integer)):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), int(value))
    if isinstance(value, (float, np.floating)):
        return ir.FloatAttr.get(ir.F32Type.get(), float(value))
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if isinstance(value, (tuple, list)):
        return ir.ArrayAttr.get([_attribute(name, key, v) for v in value])
    if isinstance(value, dict):
        return ir.DictAttr.get({str(k): _attribute(name, key, v) for k, v in value.items()})
    raise TypeError(f"composite {name!r}: the attribute {key} is {value!r} of type {type(value).__name__}; attributes are "
                    "numbers, strings, and tuples, lists and dicts of them")


def _lower_composite(ctx: Any, *values: Any, jaxpr: ClosedJaxpr, name: str, attributes: Any, version: int) -> Any:
    from jax._lowering.emit import emit_jaxpr  # composites are rare
    out_types = [ir_type(a) for a in ctx.avals_out]
    symbol = build_function(ctx.module_context, name, [v.type for v in values], out_types,
                            lambda args: emit_jaxpr(ctx, jaxpr.jaxpr, jaxpr.consts, args))
    attrs = {"name": string_attr(name), "decomposition": flat_symbol(symbol), "version": i32_attr(version),
             "composite_attributes": _jaxlib.ir.DictAttr.get({k: _attribute(name, k, _thawed(v)) for k, v in attributes})}
    return list(_jaxlib.ir.Operation.create("stablehlo.composite", out_types, list(values), attrs).results)


def _composite_jvp(primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, name: str, **params: Any) -> Any:
    """The derivative is that of the decomposition; it is no composite any more."""
    return rules.primitive_jvps[jit_p](primals, tangents, **call_params(jaxpr, name))


def _composite_batch(axis: AxisData, args: Any, dims: Any, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    new, batched = batch_jaxpr_axes(jaxpr, axis, dims, False)
    return composite_p.bind(*args, jaxpr=new, **params), [0 if b else None for b in batched]


composite_p.def_effectful_abstract_eval(lambda *avals, jaxpr, **params: (jaxpr.out_avals, jaxpr.effects))
composite_p.def_impl(lambda *args, **params: operation(composite_p, params)(*args))
register_lowering(composite_p, _lower_composite, cacheable=False)
rules.primitive_jvps[composite_p] = _composite_jvp
rules.primitive_linearizations[composite_p] = lambda trace, primals, tangents, *, jaxpr, name, **params: \
    rules.primitive_linearizations[jit_p](trace, primals, tangents, **call_params(jaxpr, name))
rules.primitive_transposes[composite_p] = lambda cts, *args, jaxpr, name, **params: \
    rules.primitive_transposes[jit_p](cts, *args, **call_params(jaxpr, name))
rules.fancy_primitive_batchers[composite_p] = _composite_batch


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """A function that compiled programs contain as one operation with a name, which a compiler may know.

    A compiler that does not know it uses the decomposition. Derivatives are those of the decomposition; under ``vmap`` the
    operation is that of the mapped decomposition.

    Args:
      decomposition: what the operation means, a function of trees of arrays. Keyword arguments are attributes of the
        operation: numbers, strings and trees of them; those that are None are left out.
      name: of the operation.
      version: of its meaning.

    Raises:
      TypeError: ``decomposition`` is no function, or an attribute of another type.

    >>> import jax
    >>> tangent = jax.lax.composite(lambda x: jax.lax.sin(x) / jax.lax.cos(x), name="my.tangent")
    >>> '"my.tangent"' in jax.jit(tangent).lower(1.0).as_text()
    True
    """
    check_callable(decomposition, "composite")

    @functools.wraps(decomposition)
    @api_boundary
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = tree_flatten((args, {}))
        flat = FlatFun(functools.partial(decomposition, **kwargs), tree)
        jaxpr, consts = trace_to_jaxpr(flat, [typeof(x) for x in leaves], debug_info(decomposition, tree, "composite"))
        jaxpr, consts, tracers = hoist_tracers(jaxpr, consts)
        attributes = tuple((k, _frozen(name, k, v)) for k, v in kwargs.items() if v is not None)
        outs = composite_p.bind(*tracers, *leaves, jaxpr=ClosedJaxpr(jaxpr, consts), name=name, attributes=attributes,
                                version=int(version))
        return tree_unflatten(flat.out_tree, outs)
    return wrapped


class _Frozen(tuple):
    """A tuple of pairs that stands for a dict."""

    __slots__ = ()


def _frozen(name: str, key: str, value: Any) -> Hashable:
    if isinstance(value, (bool, int, float, str, np.bool_, np.integer, np.floating)):
        return value
    if isinstance(value, (tuple, list)):
        return tuple(_frozen(name, key, v) for v in value)
    if isinstance(value, dict):
        return _Frozen((k, _frozen(name, key, v)) for k, v in value.items())
    raise TypeError(f"composite {name!r}: the attribute {key} is {value!r} of type {type(value).__name__}; attributes are "
                    "numbers, strings, and tuples, lists and dicts of them. Arrays are passed by position.")


def _thawed(value: Any) -> Any:
    return {k: _thawed(v) for k, v in value} if type(value) is _Frozen else value


# --- shapes ---------------------------------------------------------------------------------------------------------

def shape_as_value(shape: Any) -> Any:
    """A shape as an array of int32.

    >>> import jax
    >>> jax.lax.shape_as_value((2, 3)).tolist()
    [2, 3]
    """
    return to_device(np.array(as_shape(shape), np.int32).reshape(-1))


__all__ = ["composite", "dce_sink", "shape_as_value", "stage", "stage_p"]
