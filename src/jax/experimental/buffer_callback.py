"""Python functions that read and write the buffers of a compiled program in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._api.common import check_callable
from jax._base import _jaxlib, host_calls
from jax._base.source import api_boundary
from jax._callbacks.function import as_operand, result_types
from jax._callbacks.pure import METHODS, batch_foreign_call
from jax._dispatch.eager import apply_primitive
from jax._language import rules
from jax._language.effects import Effect, control_flow_allowed_effects, lowerable_effects, remat_allowed_effects
from jax._language.primitive import Primitive
from jax._lowering.hlo import custom_call
from jax._lowering.rules import register_lowering
from jax._lowering.shardings import is_spread
from jax._lowering.types import ir_type
from jax._transforms.batch import AxisData
from jax.dtypes import ExtendedDType
from jax.tree_util import tree_flatten, tree_unflatten

Buffer = _jaxlib.xla.ffi.Buffer
ExecutionContext = _jaxlib.xla.ffi.ExecutionContext
ExecutionStage = _jaxlib.xla.ffi.ExecutionStage

_TARGETS = {"cpu": "xla_buffer_python_cpu_callback", "cuda": "xla_buffer_python_gpu_callback",
            "rocm": "xla_buffer_python_gpu_callback"}


class BufferCallbackEffect(Effect):
    """A call of a function that does something besides computing its results."""

    def __str__(self) -> str:
        return "BufferCallback"


effect = BufferCallbackEffect()


@api_boundary
def buffer_callback(callback: Callable[..., None], result_shape_dtypes: Any, *, has_side_effect: bool = False,
                    vmap_method: str | None = None, input_output_aliases: dict[int, int] | None = None,
                    command_buffer_compatible: bool = False) -> Callable[..., Any]:
    """A function that calls a Python function on the memory of a compiled program, where no copies are made.

    Args:
      callback: called as ``callback(context, out, *args, **kwargs)`` with :class:`Buffer` in place of arrays. It writes its
        results into those of ``out``, which is a tree like ``result_shape_dtypes``, and returns nothing. ``context.stage``
        is the stage of execution and ``context.stream`` on GPUs the address of the stream on which the work must be put.
        Buffers are valid during the call only. On CPUs ``numpy.asarray(buffer)`` is a view of it; on GPUs it has
        ``__cuda_array_interface__`` and ``__dlpack__``.
      result_shape_dtypes: a tree of :class:`jax.ShapeDtypeStruct`, or of arrays, for the results.
      has_side_effect: whether the call stays although its results are not read.
      vmap_method: what :func:`jax.vmap` does, as for :func:`jax.pure_callback`.
      input_output_aliases: for positions of arguments, among the leaves of all, those of the results that have the same
        memory when the call begins; they must have equal types.
      command_buffer_compatible: whether on a GPU the call may be recorded once, and what it puts on the stream be repeated.

    Returns:
      A function of trees of arrays.

    Raises:
      ValueError: an unknown ``vmap_method``, or aliases that do not fit; under differentiation (``jax.custom_jvp`` gives the
        function a derivative).
      NotImplementedError: arrays of keys; programs over several devices outside of ``jax.shard_map``; platforms whose
        programs cannot call Python.
      Exception: what ``callback`` raises, as an error that is a ``jax.errors.JaxRuntimeError``, too.

    >>> import jax, jax.numpy as jnp, numpy as np
    >>> from jax.experimental.buffer_callback import buffer_callback
    >>> def double(context, out, x):
    ...     np.multiply(np.asarray(x), 2, out=np.asarray(out))
    >>> buffer_callback(double, jax.ShapeDtypeStruct((2,), jnp.float32))(jnp.ones(2)).tolist()
    [2.0, 2.0]
    """
    check_callable(callback, "buffer_callback")
    if vmap_method is not None and vmap_method not in METHODS:
        raise ValueError(f"buffer_callback: vmap_method must be one of {', '.join(map(repr, METHODS))} or None, got "
                         f"{vmap_method!r}")
    avals, out_tree = result_types("buffer_callback", result_shape_dtypes)
    aliases = tuple(sorted((input_output_aliases or {}).items()))

    @api_boundary
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree_flatten((args, kwargs))
        outs = buffer_callback_p.bind(
            *map(as_operand, leaves), callback=_OnBuffers(callback, in_tree, out_tree), result_avals=avals,
            has_side_effect=has_side_effect, vmap_method=vmap_method, input_output_aliases=aliases,
            command_buffer_compatible=command_buffer_compatible)
        return tree_unflatten(out_tree, outs)
    return call


class _OnBuffers:
    """A user's function as the runtime calls it; equal to others of the same, so that programs are found in caches."""

    __slots__ = ("callback", "in_tree", "out_tree")

    def __init__(self, callback: Callable[..., None], in_tree: Any, out_tree: Any) -> None:
        self.callback = callback
        self.in_tree = in_tree
        self.out_tree = out_tree

    def __call__(self, context: Any, *buffers: Any) -> None:
        n = self.in_tree.num_leaves
        args, kwargs = tree_unflatten(self.in_tree, buffers[:n])
        try:
            with host_calls.running():
                self.callback(context, tree_unflatten(self.out_tree, buffers[n:]), *args, **kwargs)
        except BaseException as error:  # kept for whoever waits for the program
            raise host_calls.keep(error, repr(self)) from None

    def _key(self) -> tuple[Any, ...]:
        return id(self.callback), self.in_tree, self.out_tree

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _OnBuffers) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return host_calls.describe(self.callback)


buffer_callback_p = Primitive("buffer_callback", multiple_results=True)
buffer_callback_p.abstract_cache = None  # its parameters hold functions, which it would keep alive


def _abstract(*avals: Any, callback: Any, result_avals: Any, has_side_effect: bool, input_output_aliases: Any,
              **params: Any) -> Any:
    for a in (*avals, *result_avals):
        if isinstance(a.dtype, ExtendedDType):
            raise NotImplementedError(f"buffer_callback: {callback} is given or returns {a.str_short()}; pass the arrays "
                                      "that carry keys, jax.random.key_data(key)")
    for i, j in input_output_aliases:
        if not (0 <= i < len(avals) and 0 <= j < len(result_avals)):
            raise ValueError(f"buffer_callback: input_output_aliases has {i}: {j}, and {callback} has {len(avals)} "
                             f"arguments and {len(result_avals)} results")
        if (avals[i].shape, avals[i].dtype) != (result_avals[j].shape, result_avals[j].dtype):
            raise ValueError(f"buffer_callback: input_output_aliases gives argument {i} of {callback}, of type "
                             f"{avals[i].str_short()}, the memory of result {j}, of type {result_avals[j].str_short()}; "
                             "they must be equal")
    return list(result_avals), {effect} if has_side_effect else set()


def _lower(ctx: Any, *operands: Any, callback: Any, result_avals: Any, has_side_effect: bool, vmap_method: Any,
           input_output_aliases: Any, command_buffer_compatible: bool) -> Sequence[Any]:
    target = _TARGETS.get(ctx.platform)
    if target is None:
        raise NotImplementedError(f"buffer_callback: programs for {ctx.platform} cannot call Python on their buffers; known "
                                  f"are {', '.join(_TARGETS)}")
    module = ctx.module_context
    if is_spread(module) and ctx.scope.manual is None:
        raise NotImplementedError(f"buffer_callback: {callback} is called in a program over several devices; call it in "
                                  "jax.shard_map, for the part of each device")
    if command_buffer_compatible and target.endswith("gpu_callback"):
        target = target.replace("callback", "callback_cmd_buffer")
    index = len(module.host_callbacks)
    module.add_host_callback(callback)
    module.add_keepalive(callback)
    ir = _jaxlib.ir
    config = {"index": ir.IntegerAttr.get(ir.IntegerType.get_unsigned(64), index)}
    extra = {}
    if input_output_aliases:
        several = len(result_avals) > 1
        extra["output_operand_aliases"] = ir.ArrayAttr.get([ir.Attribute.parse(
            f"#stablehlo.output_operand_alias<output_tuple_indices = [{j if several else ''}], operand_index = {i}, "
            "operand_tuple_indices = []>") for i, j in input_output_aliases])
    return custom_call(target, list(operands), [ir_type(a) for a in ctx.avals_out], backend_config=config,
                       has_side_effect=has_side_effect, operand_layouts=[_row_major(a) for a in ctx.avals_in],
                       result_layouts=[_row_major(a) for a in ctx.avals_out], extra=extra or None)


def _row_major(aval: Any) -> tuple[int, ...]:
    return tuple(reversed(range(len(aval.shape))))


def _jvp(primals: Any, tangents: Any, *, callback: Any, **params: Any) -> Any:
    raise ValueError(f"buffer_callback cannot be differentiated, as nothing is known of the derivative of {callback}. Wrap "
                     "the function that calls it in jax.custom_jvp or jax.custom_vjp.")


def _batch(axis: AxisData, args: Any, dims: Any, **params: Any) -> Any:
    return batch_foreign_call(buffer_callback_p, "buffer_callback", params["callback"], axis.size, args, dims, params)


buffer_callback_p.def_effectful_abstract_eval(_abstract)
buffer_callback_p.def_impl(lambda *args, **params: apply_primitive(buffer_callback_p, *args, **params))
register_lowering(buffer_callback_p, _lower, cacheable=False)
rules.primitive_jvps[buffer_callback_p] = _jvp
rules.fancy_primitive_batchers[buffer_callback_p] = _batch
for _allowed in (lowerable_effects, control_flow_allowed_effects, remat_allowed_effects):
    _allowed.add_type(BufferCallbackEffect)

__all__ = ["Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback"]
