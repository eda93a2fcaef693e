"""Functions that say themselves how they are split over devices."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from jax._api.common import FlatFun, check_callable, flatten_args
from jax._api.traced_calls import hoist_tracers
from jax._base import _jaxlib, config
from jax._base.source import api_boundary
from jax._dispatch.program import run_program
from jax._language import rules
from jax._language.avals import ShapedArray, typeof
from jax._language.axes import extend_axis_env
from jax._language.effects import NamedAxisEffect
from jax._language.jaxpr import ClosedJaxpr, DebugInfo
from jax._language.primitive import Primitive
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import bottom, run_in
from jax._lowering.module import lower_jaxpr_to_module
from jax._lowering.rules import register_lowering
from jax._lowering.shardings import is_spread
from jax._lowering.subprograms import call_jaxpr
from jax._lowering.types import ir_type, string_attr
from jax.experimental.custom_partitioning._notation import parse_rule
from jax.experimental.custom_partitioning._rules import SdyShardingRule
from jax.sharding import sharding_from_hlo
from jax.stages import ShapeDtypeStruct
from jax.tree_util import tree_flatten, tree_leaves, tree_unflatten

_TARGET = "FleetjaxCustomPartitioning"
_live: weakref.WeakValueDictionary[str, _Site] = weakref.WeakValueDictionary()


class custom_partitioning:
    """A function for several devices that says how its computation is split, with :meth:`def_partition`.

    Args:
      fun: a function of trees of arrays. On one device, and in :func:`jax.shard_map`, it is called as it is.
      static_argnums: positions of arguments that are no arrays; they must be hashable.

    It has no derivative and no batching rule: wrap the function that calls it in ``jax.custom_jvp``, ``jax.custom_vjp`` or
    ``jax.custom_batching.custom_vmap``.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental.custom_partitioning import custom_partitioning
    >>> @custom_partitioning
    ... def twice(x):
    ...     return 2 * x
    >>> def partition(mesh, arg_shapes, result_shape):
    ...     return mesh, lambda x: 2 * x, result_shape.sharding, (arg_shapes[0].sharding,)
    >>> twice.def_partition(partition, sharding_rule="... -> ...")
    >>> twice(jnp.arange(3)).tolist()
    [0, 2, 4]
    """

    def __init__(self, fun: Callable[..., Any], static_argnums: Sequence[int] = ()) -> None:
        check_callable(fun, "custom_partitioning")
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.static_argnums = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
        self.partition: Callable[..., Any] | None = None
        self.sharding_rule: Any = None

    def def_partition(self, partition: Callable[..., Any], infer_sharding_from_operands: Callable[..., Any] | None = None,
                      propagate_user_sharding: Callable[..., Any] | None = None, decode_shardings: bool = True,
                      sharding_rule: Any = None, *, reduction_factors: Sequence[str] = (),
                      need_replication_factors: Sequence[str] = (), permutation_factors: Sequence[str] = (),
                      **factor_sizes: int) -> None:
        """Says how the function is split.

        Args:
          partition: ``(*static, mesh, arg_shapes, result_shape) -> (mesh, lower_fn, result_shardings, arg_shardings)``. The
            shapes are trees of ``jax.ShapeDtypeStruct`` of whole arrays with the shardings that the compiler proposes; those
            that come back are what ``lower_fn``, a function of the parts on one device, takes and returns. It may use
            collectives over the axes of the mesh.
          infer_sharding_from_operands, propagate_user_sharding: for the partitioner GSPMD. Shardy, which is used here, asks
            ``sharding_rule``, and does not call them.
          decode_shardings: whether ``partition`` gets ``NamedSharding`` over the mesh of the program where possible; else
            ``GSPMDSharding``.
          sharding_rule: which dimensions belong together: text such as ``"i k, k j -> i j"``, an :class:`SdyShardingRule`,
            or a function ``(mesh, argument types, result types)`` that returns one of these.
          reduction_factors, need_replication_factors, permutation_factors, **factor_sizes: as for :class:`SdyShardingRule`,
            for rules in text.

        Raises:
          ValueError: the rule is wrong.
          TypeError: ``partition`` is no function.
        """
        check_callable(partition, "def_partition")
        special = {"reduction_factors": reduction_factors, "need_replication_factors": need_replication_factors,
                   "permutation_factors": permutation_factors}
        if isinstance(sharding_rule, str):
            sharding_rule = parse_rule(sharding_rule, special, factor_sizes)
        elif isinstance(sharding_rule, SdyShardingRule) and (any(special.values()) or factor_sizes):
            raise ValueError("def_partition: factors and sizes are part of an SdyShardingRule; give them there")
        elif sharding_rule is not None and not callable(sharding_rule) and not isinstance(sharding_rule, SdyShardingRule):
            raise ValueError(f"def_partition: sharding_rule is text, an SdyShardingRule or a function, got "
                             f"{sharding_rule!r}")
        elif callable(sharding_rule):
            sharding_rule = _Made(sharding_rule, special, factor_sizes)
        self.partition = partition
        self.sharding_rule = sharding_rule
        self.decode_shardings = decode_shardings

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = getattr(self.fun, "__name__", "function")
        if self.partition is None:
            raise TypeError(f"custom_partitioning: {name} does not say how it is split; call "
                            f"{name}.def_partition(...) first")
        if kwargs:
            args = inspect.signature(self.fun).bind(*args, **kwargs).args
        places = [i % len(args) for i in self.static_argnums]
        static = tuple(args[i] for i in places)

        def dynamic(*rest: Any) -> Any:
            given, fixed = iter(rest), dict(zip(places, static, strict=True))
            return self.fun(*[fixed[i] if i in fixed else next(given) for i in range(len(args))])
        leaves, tree = flatten_args(tuple(x for i, x in enumerate(args) if i not in places), {})
        flat = FlatFun(dynamic, tree)
        jaxpr, consts = trace_to_jaxpr(flat, [typeof(x) for x in leaves], DebugInfo("custom_partitioning", name))
        jaxpr, consts, hoisted = hoist_tracers(jaxpr, consts)
        if hoisted:
            raise ValueError(f"custom_partitioning: {name} closes over traced values; pass them as arguments")
        outs = custom_partitioning_p.bind(*leaves, call_jaxpr=ClosedJaxpr(jaxpr, consts), partition=self.partition,
                                          rule=self.sharding_rule, decode=self.decode_shardings, static=static, in_tree=tree,
                                          out_tree=flat.out_tree, name=name)
        return tree_unflatten(flat.out_tree, outs)


class _Made:
    """A function that makes a rule."""

    def __init__(self, make: Callable[..., Any], special: dict[str, Sequence[str]], sizes: dict[str, int]) -> None:
        self.make = make
        self.special = special
        self.sizes = sizes

    def __call__(self, mesh: Any, ins: Sequence[Any], outs: Sequence[Any]) -> SdyShardingRule:
        found = self.make(mesh, list(ins), list(outs))
        if isinstance(found, str):
            return parse_rule(found, self.special, self.sizes)
        if not isinstance(found, SdyShardingRule):
            raise ValueError(f"the function that makes a sharding rule returned {found!r}; it must return text or an "
                             "SdyShardingRule")
        return found


# --- the primitive --------------------------------------------------------------------------------------------------

custom_partitioning_p = Primitive("custom_partitioning", multiple_results=True)
custom_partitioning_p.abstract_cache = None


def _abstract(*avals: Any, call_jaxpr: ClosedJaxpr, **params: Any) -> Any:
    return call_jaxpr.out_avals, call_jaxpr.effects


def _impl(*args: Any, **params: Any) -> list[Any]:
    jaxpr, consts = trace_to_jaxpr(lambda *xs: custom_partitioning_p.bind(*xs, **params), [typeof(x) for x in args],
                                   DebugInfo("custom_partitioning", params["name"]))
    return run_program(args, jaxpr=ClosedJaxpr(jaxpr, consts), name=params["name"])


def _lower(ctx: Any, *values: Any, call_jaxpr: ClosedJaxpr, partition: Any, rule: Any, decode: bool, static: Any,
           in_tree: Any, out_tree: Any, name: str) -> Sequence[Any]:
    mod = ctx.module_context
    if not is_spread(mod) or ctx.scope.manual is not None:
        return lower_call(ctx, name, call_jaxpr, values)
    if rule is None:
        raise NotImplementedError(f"custom_partitioning: {name} has no sharding_rule, and the partitioner (Shardy) asks for "
                                  "nothing else; give one to def_partition, for example sharding_rule='i j -> i j'")
    if callable(rule):
        rule = rule(mod.spread.mesh, ctx.avals_in, ctx.avals_out)
    text = rule.attribute([a.shape for a in ctx.avals_in], [a.shape for a in ctx.avals_out])
    site = _Site(mod.spread, ctx.platform, partition, decode, static, in_tree, out_tree, name,
                 [ShapeDtypeStruct(a.shape, a.dtype) for a in ctx.avals_in],
                 [ShapeDtypeStruct(a.shape, a.dtype) for a in ctx.avals_out])
    key = str(id(site))
    _live[key] = site
    mod.add_keepalive(site)
    _register()
    ir = _jaxlib.ir
    attributes = {"call_target_name": string_attr(_TARGET), "backend_config": string_attr(key),
                  "api_version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 2),
                  "sdy.sharding_rule": ir.Attribute.parse(text)}
    return list(ir.Operation.create("stablehlo.custom_call", [ir_type(a) for a in ctx.avals_out], list(values),
                                    attributes).results)


lower_call = call_jaxpr


def _no_rule(what: str, remedy: str) -> Callable[..., Any]:
    def refuse(*args: Any, name: str, **params: Any) -> Any:
        raise NotImplementedError(f"custom_partitioning: {what} of {name} is not defined; wrap the function that calls it "
                                  f"in {remedy}")
    return refuse


custom_partitioning_p.def_effectful_abstract_eval(_abstract)
custom_partitioning_p.def_impl(_impl)
register_lowering(custom_partitioning_p, _lower, cacheable=False)
rules.primitive_jvps[custom_partitioning_p] = _no_rule("the derivative", "jax.custom_jvp or jax.custom_vjp")
rules.primitive_batchers[custom_partitioning_p] = _no_rule("vmap", "jax.custom_batching.custom_vmap")


# --- what the partitioner calls -------------------------------------------------------------------------------------

class _Site:
    """One call in one program, for the time that it is compiled and lives."""

    def __init__(self, spread: Any, platform: str, partition: Any, decode: bool, static: Any, in_tree: Any, out_tree: Any,
                 name: str, ins: list[Any], outs: list[Any]) -> None:
        self.spread, self.platform, self.partition, self.decode = spread, platform, partition, decode
        self.static, self.in_tree, self.out_tree, self.name = static, in_tree, out_tree, name
        self.ins, self.outs = ins, outs

    def _decoded(self, sharding: Any) -> Any:
        mesh = self.spread.mesh if self.decode else None
        return sharding_from_hlo(sharding, mesh, _jaxlib.xla.DeviceList(self.spread.devices))

    def split(self, in_shardings: Sequence[Any], out_sharding: Any) -> tuple[Any, list[Any], Any]:
        """The program for one device, and the shardings of its operands and result."""
        outs = list(out_sharding.tuple_elements()) if len(self.outs) > 1 else [out_sharding]
        args = [s.update(sharding=self._decoded(h)) for s, h in zip(self.ins, in_shardings, strict=True)]
        results = [s.update(sharding=self._decoded(h)) for s, h in zip(self.outs, outs, strict=True)]
        arguments, _ = tree_unflatten(self.in_tree, args)
        mesh, lower_fn, result_shardings, arg_shardings = self.partition(
            *self.static, self.spread.mesh, arguments, tree_unflatten(self.out_tree, results))
        given = self._leaves(arg_shardings, len(self.ins), "argument")
        wanted = self._leaves(result_shardings, len(self.outs), "result")
        program = self._program(mesh, lower_fn, given, wanted)
        shardings = [s._to_xla_hlo_sharding(len(x.shape)) for s, x in zip(given, self.ins, strict=True)]
        found = [s._to_xla_hlo_sharding(len(x.shape)) for s, x in zip(wanted, self.outs, strict=True)]
        return program, shardings, found

    def _leaves(self, shardings: Any, count: int, what: str) -> list[Any]:
        found = tree_leaves(shardings)
        if len(found) != count:
            raise ValueError(f"custom_partitioning: partition of {self.name} returned {len(found)} shardings for "
                             f"{count} {what}s")
        return found

    def _program(self, mesh: Any, lower_fn: Any, given: list[Any], wanted: list[Any]) -> Any:
        parts = [ShapedArray(s.shard_shape(x.shape), x.dtype) for s, x in zip(given, self.ins, strict=True)]
        expected = [s.shard_shape(x.shape) for s, x in zip(wanted, self.outs, strict=True)]

        def run(*leaves: Any) -> list[Any]:
            args, _ = tree_unflatten(self.in_tree, leaves)
            return tree_flatten(lower_fn(*args))[0]
        jaxpr, consts = _with_axes(mesh, lambda: trace_to_jaxpr(run, parts, DebugInfo("custom_partitioning", self.name)))
        found = [(tuple(v.aval.shape), v.aval.dtype) for v in jaxpr.outvars]
        types = [(tuple(s), x.dtype) for s, x in zip(expected, self.outs, strict=True)]
        if found != types:
            raise ValueError(f"custom_partitioning: lower_fn of {self.name} returned parts of types {_types(found)}, and by "
                             f"the shardings of the results they are {_types(types)}")
        jaxpr = jaxpr.replace(effects=frozenset(e for e in jaxpr.effects if not isinstance(e, NamedAxisEffect)))
        with config.embedded_constants_max_bytes(1 << 62):
            lowered = _with_axes(mesh, lambda: lower_jaxpr_to_module(
                ClosedJaxpr(jaxpr, consts), self.name, (self.platform,), keep_unused=True, mesh=mesh,
                num_partitions=len(self.spread.devices)))
        code = lowered.as_bytecode()
        lowered.release()
        return code


def _types(found: Sequence[Any]) -> str:
    return ", ".join(f"{dtype}{list(shape)}" for shape, dtype in found)


def _with_axes(mesh: Any, run: Callable[[], Any]) -> Any:
    """``run()`` where collectives know the axes of the mesh, and nothing of what is being traced elsewhere."""
    if mesh is None:
        return run_in(bottom, run)

    def bound(names: Sequence[Any]) -> Any:
        if not names:
            return run_in(bottom, run)
        with extend_axis_env(names[0], mesh.shape[names[0]]):
            return bound(names[1:])
    return bound(tuple(mesh.axis_names))


def _partition(arg_shapes: Any, arg_shardings: Any, result_shape: Any, result_sharding: Any, key: bytes) -> Any:
    code, ins, outs = _live[key.decode()].split(arg_shardings, result_sharding)
    return code, ins, outs[0] if len(outs) == 1 else _jaxlib.hlo.HloSharding.tuple_sharding(result_shape, outs)


def _infer(arg_shapes: Any, arg_shardings: Any, result_shape: Any, key: bytes) -> Any:
    raise NotImplementedError("custom_partitioning is for XLA's partitioner Shardy: set jax_use_shardy_partitioner")


@functools.cache
def _register() -> None:
    _jaxlib.xla.register_custom_call_partitioner(_TARGET, lambda sharding, shape, key: sharding, _partition, _infer, True)
