"""``xla_computation``: a function's program as an object of XLA's, from before the stages of ``jit``."""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from jax._api.common import check_callable, flatten_axes
from jax._api.staged import make_jaxpr
from jax._base import _jaxlib, config
from jax._base.source import api_boundary
from jax._language.effects import NamedAxisEffect
from jax._language.jaxpr import ClosedJaxpr
from jax._lowering.module import LoweredModule, lower_jaxpr_to_module
from jax._runtime import backend as backends
from jax.sharding import AbstractMesh
from jax.tree_util import tree_flatten, tree_structure

_MANY = 100  # arguments; some platforms cannot take more one by one


def xla_computation(fun: Callable[..., Any], static_argnums: int | Sequence[int] = (),
                    axis_env: Sequence[tuple[Any, int]] | None = None, in_parts: Any = None, out_parts: Any = None,
                    backend: str | None = None, tuple_args: bool | None = False,
                    instantiate_const_outputs: bool | None = None, return_shape: bool = False,
                    donate_argnums: int | Sequence[int] = ()) -> Callable[..., Any]:
    """A function that returns the XLA computation of ``fun`` at its arguments' types (deprecated).

    Args:
      fun: a function of trees of arrays.
      static_argnums: positions of arguments passed to ``fun`` as they are.
      axis_env: named axes and their sizes that collectives in ``fun`` refer to; the computation is for as many replicas
        as the product of the sizes.
      in_parts: how arguments are partitioned over devices: one entry per positional argument, or trees of entries. An
        entry is ``None`` (every device has all of it) or the number of parts along each dimension, such as ``(2, 1)``.
      out_parts: likewise for the result, a tree of entries that matches the start of its structure.
      backend: the platform for which operations are chosen, the default one if ``None``.
      tuple_args: make the computation take one tuple; ``None`` does so for more than 100 arguments.
      instantiate_const_outputs: has no effect: all outputs are computed.
      return_shape: return also the output as a tree of :class:`jax.ShapeDtypeStruct`.
      donate_argnums: positions of arguments whose memory outputs may take over.

    Returns:
      A function with the arguments of ``fun``. Its result has ``as_hlo_text()``, ``as_hlo_dot_graph()``,
      ``as_serialized_hlo_module_proto()``, ``name()`` and ``program_shape()``. The outputs are one tuple.

    Raises:
      ValueError: ``in_parts`` or ``out_parts`` that do not fit, static arguments that are donated.

    In its place, ``jax.jit(fun).lower(*args).compiler_ir("hlo")`` gives such an object.

    >>> import jax, warnings
    >>> warnings.simplefilter("ignore", DeprecationWarning)
    >>> "cosine" in jax.xla_computation(jax.numpy.cos)(1.0).as_hlo_text()
    True
    """
    warnings.warn("jax.xla_computation is deprecated; jax.jit(fun).lower(*args).compiler_ir('hlo') gives the computation",
                  DeprecationWarning, stacklevel=2)
    check_callable(fun, "xla_computation")
    static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    given = (donate_argnums,) if isinstance(donate_argnums, int) else tuple(donate_argnums)
    if set(static) & set(given):
        raise ValueError(f"xla_computation: static arguments cannot be donated: {sorted(set(static) & set(given))}")
    traced = make_jaxpr(fun, static, axis_env, return_shape=True)
    name = f"xla_computation_{getattr(fun, '__name__', 'unnamed')}"

    @functools.wraps(fun)
    @api_boundary
    def computation_maker(*args: Any, **kwargs: Any) -> Any:
        closed, shape = traced(*args, **kwargs)
        n = len(args)
        at = {i % n for i in static} if n else set()
        dynamic = [x for i, x in enumerate(args) if i not in at]
        taken = {i % n for i in given} if n else set()
        donated = [i in taken for i, x in enumerate(args) if i not in at for _ in range(tree_structure(x).num_leaves)]
        donated += [False] * (len(closed.in_avals) - len(donated))
        parts = _Parts(in_parts, out_parts, tuple(dynamic), kwargs, shape)
        lowered = _lower(closed, name, axis_env or (), backend, donated, parts)
        as_tuple = len(closed.in_avals) > _MANY if tuple_args is None else bool(tuple_args)
        made = _jaxlib.mlir_io.mlir_module_to_xla_computation(
            lowered.as_bytecode(), use_tuple_args=as_tuple, return_tuple=True)
        lowered.release()
        return (made, shape) if return_shape else made

    try:
        computation_maker.__signature__ = inspect.signature(fun)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        pass
    return computation_maker


def _lower(closed: ClosedJaxpr, name: str, axis_env: Sequence[tuple[Any, int]], backend: str | None,
           donated: Sequence[bool], parts: _Parts) -> LoweredModule:
    platform = backends.lowering_platform() if backend is None else backends.canonical_platform(backend)
    mesh = None
    if axis_env:
        mesh = AbstractMesh(tuple(size for _, size in axis_env), tuple(axis for axis, _ in axis_env))
        effects = frozenset(e for e in closed.effects if not isinstance(e, NamedAxisEffect))
        closed = ClosedJaxpr(closed.jaxpr.replace(effects=effects), closed.consts)
    # Arrays that the function closes over have to be part of the computation: nobody would pass them.
    with config.embedded_constants_max_bytes(1 << 62):
        lowered = lower_jaxpr_to_module(
            closed, name, (platform,), donated=donated, keep_unused=True, arg_attrs=parts.argument_attributes(), mesh=mesh,
            num_replicas=math.prod(size for _, size in axis_env), num_partitions=parts.count)
    module = lowered.module
    with module.context:
        ir = _jaxlib.ir
        module.operation.attributes["sym_name"] = ir.StringAttr.get(name)
        if mesh is not None:
            _between_replicas(module)
        parts.mark_results(module)
    return lowered


def _between_replicas(module: Any) -> None:
    """Collectives are written between partitions; here they are between replicas of the program."""
    ir = _jaxlib.ir
    found = []

    def visit(operation: Any) -> Any:
        if operation.name == "stablehlo.partition_id":
            found.append(operation)
        for attribute in ("channel_handle", "use_global_device_ids"):
            if attribute in operation.attributes:
                del operation.attributes[attribute]
        return ir.WalkResult.ADVANCE
    module.operation.walk(visit)
    for operation in found:
        with ir.InsertionPoint(operation), ir.Location.unknown():
            new = ir.Operation.create("stablehlo.replica_id", [operation.results[0].type])
        operation.results[0].replace_all_uses_with(new.results[0])
        operation.erase()


class _Parts:
    """Over how many devices values are partitioned (``in_parts``, ``out_parts``)."""

    def __init__(self, in_parts: Any, out_parts: Any, args: tuple[Any, ...], kwargs: Any, shape: Any) -> None:
        self._ins = _spread("in_parts", in_parts, args, tupled=True)
        self._ins += [None] * len(tree_flatten(kwargs)[0])
        self._outs = _spread("out_parts", out_parts, shape)
        counts = {math.prod(p) for p in (*self._ins, *self._outs) if p is not None}
        if len(counts) > 1:
            raise ValueError("xla_computation: in_parts and out_parts are for different numbers of devices: "
                             f"{sorted(counts)}")
        self.count = counts.pop() if counts else 1
        self._given = in_parts is not None or out_parts is not None

    def argument_attributes(self) -> list[dict[str, str]] | None:
        if not self._given:
            return None
        return [{"mhlo.sharding": f'"{self._text(p)}"'} for p in self._ins]

    def mark_results(self, module: Any) -> None:
        if not self._given:
            return
        ir = _jaxlib.ir
        main = next(op for op in module.body.operations if ir.StringAttr(op.attributes["sym_name"]).value == "main")
        main.attributes["res_attrs"] = ir.ArrayAttr.get([
            ir.DictAttr.get({"mhlo.sharding": ir.StringAttr.get(self._text(p))}) for p in self._outs])

    def _text(self, part: tuple[int, ...] | None) -> str:
        if part is None:
            return "{replicated}"
        return f"{{devices=[{','.join(map(str, part))}]<=[{self.count}]}}"


def _spread(name: str, parts: Any, values: Any, tupled: bool = False) -> list[Any]:
    """One entry for each leaf of ``values``, checked against its shape."""
    leaves, tree = tree_flatten(values)
    if parts is None:
        return [None] * len(leaves)
    hidden = _hide(parts, isinstance(parts, tuple) and tupled and not _is_entry(parts))
    found = [p.value if isinstance(p, _Entry) else None for p in flatten_axes(
        f"xla_computation: {name}", tree, hidden, tupled_args=tupled, leaf="a tuple of numbers of parts")]
    for part, leaf in zip(found, leaves, strict=True):
        dims = getattr(leaf, "shape", ())
        if part is not None and (len(part) != len(dims) or any(d % p for d, p in zip(dims, part, strict=True))):
            raise ValueError(f"xla_computation: {name} has {part} for an array of shape {tuple(dims)}: it takes one number "
                             "of parts for each dimension, which divides it")
    return found


class _Entry:
    """An entry of ``in_parts`` that is no tree."""

    def __init__(self, value: tuple[int, ...]) -> None:
        self.value = value


def _is_entry(x: Any) -> bool:
    return isinstance(x, tuple) and len(x) > 0 and all(isinstance(n, int) and not isinstance(n, bool) for n in x)


def _hide(parts: Any, top: bool) -> Any:
    if not top and _is_entry(parts):
        return _Entry(tuple(parts))
    if isinstance(parts, (tuple, list)) and type(parts) in (tuple, list):
        return type(parts)(_hide(p, False) for p in parts)
    if isinstance(parts, dict):
        return {k: _hide(p, False) for k, p in parts.items()}
    return parts


__all__ = ["xla_computation"]
