"""``in_shardings`` and ``out_shardings`` of ``jit``: calls whose arguments and results are laid out over devices."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from jax._api import cache_misses
from jax._api.common import Described, FlatFun, flatten_axes
from jax._api.sharding_constraints import check_shape, constrain, resolve
from jax._api.statics import Placed, Static, StaticFun
from jax._api.traced_calls import hoist_tracers, trace_cached
from jax._base import config
from jax._base._jaxlib import ArrayImpl, Device
from jax._base.caching import trace_context, weak_cache
from jax._dispatch import slow
from jax._dispatch.program import log_step
from jax._dispatch.spread import Placement, as_placement
from jax._language.axes import axis_env
from jax._language.jaxpr import ClosedJaxpr, DebugInfo
from jax._language.staging import trace_to_jaxpr
from jax._runtime.backend import device_sharding
from jax._runtime.layout import Format
from jax.sharding import PartitionSpec, SingleDeviceSharding
from jax.tree_util import tree_flatten, tree_unflatten


class ShardingOptions(Placed):
    """Trees of shardings as ``jit`` was given them: leaves (None where open) and structures."""

    __slots__ = ("ins", "in_tree", "outs", "out_tree")

    def __init__(self, ins: Sequence[Any], in_tree: Any, outs: Sequence[Any], out_tree: Any) -> None:
        self.ins = tuple(ins)
        self.in_tree = in_tree
        self.outs = tuple(outs)
        self.out_tree = out_tree

    def _key(self) -> tuple[Any, ...]:
        return self.ins, self.in_tree, self.outs, self.out_tree

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShardingOptions) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def trace(self, fun: Any, in_tree: Any, avals: Any, static: Any) -> tuple[Any, list[Any], Any, Any]:
        traced: Any = _trace_placed(fun, in_tree, avals, static, axis_env.get(), self)
        return traced

    def forget(self, fun: Any) -> None:
        _trace_placed.evict_weakref(fun)


class OneDevice(ShardingOptions):
    """Trees of shardings that all name one device: the call runs there, and its arguments are there or nowhere yet."""

    __slots__ = ("device",)

    def __init__(self, device: Any, *trees: Any) -> None:
        super().__init__(*trees)
        self.device = device

    def trace(self, fun: Any, in_tree: Any, avals: Any, static: Any) -> tuple[Any, list[Any], Any, Any]:
        names = Described(fun).arg_names(in_tree, {i for i, _ in static.args})
        argument_shardings(self, in_tree, avals, names)
        traced: Any = trace_cached(fun, in_tree, avals, static, axis_env.get(), False)
        jaxpr, consts, out_tree = traced
        flatten_axes("jit: out_shardings", out_tree, _resolved(self.outs, self.out_tree), leaf="a sharding")
        return jaxpr, consts, out_tree, self.device

    def admit(self, fun: Any, in_tree: Any, operands: list[Any]) -> None:
        for i, x in enumerate(operands):
            if isinstance(x, ArrayImpl) and x._committed and x.devices() != {self.device}:
                name = Described(fun).arg_names(in_tree)[i]
                raise ValueError(f"jit of {getattr(fun, '__name__', fun)}: its shardings say that it runs on {self.device}, "
                                 f"and the argument {name} ({x.aval.str_short()}) is committed to {x.sharding}. Move it "
                                 "with jax.device_put(x, device), or leave the shardings out to run where arguments are.")


def _is_none(x: Any) -> bool:
    return x is None


def sharding_options(in_shardings: Any, out_shardings: Any) -> ShardingOptions | None:
    """What is to be done about these trees of shardings at each call; None if they name no place.

    Raises:
      TypeError: what is no sharding.
      NotImplementedError: a format with a layout that is not row-major.
      ValueError: shardings that name several single devices.
    """
    ins, in_tree = tree_flatten(in_shardings, is_leaf=_is_none)
    outs, out_tree = tree_flatten(out_shardings, is_leaf=_is_none)
    ins, outs = ([s.placement("jit") if isinstance(s, Format) else s for s in given] for given in (ins, outs))
    if all(s is None or isinstance(s, (Device, SingleDeviceSharding)) for s in (*ins, *outs)):
        single = {s if isinstance(s, Device) else s._device for s in (*ins, *outs) if s is not None}
        if len(single) > 1:
            raise ValueError(f"jit: in_shardings and out_shardings name several devices: {sorted(map(str, single))}. One "
                             "program runs on one device, or on a mesh of them (NamedSharding).")
        return OneDevice(single.pop(), ins, in_tree, outs, out_tree) if single else None
    for s in (*ins, *outs):
        if not isinstance(s, (PartitionSpec, Device)):
            resolve(s, "jit")  # what is no sharding is refused at once
    return ShardingOptions(tuple(ins), in_tree, tuple(outs), out_tree)


def _resolved(leaves: Sequence[Any], tree: Any) -> Any:
    return tree_unflatten(tree, [device_sharding(s) if isinstance(s, Device) else resolve(s, "jit") for s in leaves])


class PlacedFun(FlatFun):
    """A function of leaves with arguments and results under shardings; ``out_shardings`` is one for each result."""

    __slots__ = ("options", "in_shardings", "out_shardings")

    def __init__(self, fun: Any, in_tree: Any, options: ShardingOptions, in_shardings: tuple[Any, ...]) -> None:
        super().__init__(fun, in_tree)
        self.options = options
        self.in_shardings = in_shardings
        self.out_shardings: tuple[Any, ...] = ()

    def __call__(self, *leaves: Any) -> list[Any]:
        outs = super().__call__(*constrain(leaves, self.in_shardings))
        wanted = flatten_axes("jit: out_shardings", self.out_tree, _resolved(self.options.outs, self.options.out_tree),
                              leaf="a sharding")
        self.out_shardings = tuple(wanted)
        return constrain(outs, self.out_shardings)


@weak_cache(context=trace_context, explain=cache_misses.explain)
def _trace_placed(fun: Any, in_tree: Any, avals: tuple[Any, ...], static: Static, env: Any, options: ShardingOptions,
                  ) -> tuple[ClosedJaxpr, list[Any], Any, Placement]:
    if config.no_tracing.value:
        cache_misses.refuse(_trace_placed, fun, in_tree, avals, static, env, options)
    begin = time.perf_counter()
    described, taken = Described(fun), {i for i, _ in static.args}
    names = described.arg_names(in_tree, taken)
    ins = argument_shardings(options, in_tree, avals, names)
    target = StaticFun(fun, static) if static.args or static.kwargs else fun
    flat = PlacedFun(target, in_tree, options, ins)
    info = DebugInfo("jit", described.source, lambda: described.arg_names(in_tree, taken))
    jaxpr, consts, tracers = hoist_tracers(*trace_to_jaxpr(flat, avals, info))
    place = placement_of(ins, flat.out_shardings, len(tracers))
    closed = ClosedJaxpr(jaxpr, consts)
    seconds = time.perf_counter() - begin
    log_step("traced %s in %.4f s", cache_misses.CallText(fun, in_tree, avals, static), seconds)
    slow.traced(closed, seconds)
    return closed, tracers, flat.out_tree, place


def argument_shardings(options: ShardingOptions, in_tree: Any, avals: Sequence[Any], names: Sequence[str],
                       ) -> tuple[Any, ...]:
    """One sharding, or None, for each leaf of the arguments.

    Raises:
      ValueError: a sharding that does not fit its argument; keyword arguments together with ``in_shardings``.
    """
    args_tree, kwargs_tree = in_tree.children()
    given = _resolved(options.ins, options.in_tree)
    if kwargs_tree.num_leaves and any(s is not None for s in options.ins):
        raise ValueError("jit: in_shardings are given by position, and this call has keyword arguments; pass all arguments "
                         "by position, or put arrays where they belong with jax.device_put instead of in_shardings")
    if isinstance(given, list):
        given = tuple(given)
    found = flatten_axes("jit: in_shardings", args_tree, given, tupled_args=True, leaf="a sharding")
    for s, aval, name in zip(found, avals, names, strict=False):
        if s is not None:
            check_shape(s, aval, f"jit: in_shardings for the argument {name}")
    return (*found, *(None,) * kwargs_tree.num_leaves)


def placement_of(ins: Sequence[Any], outs: Sequence[Any], extra: int) -> Placement:
    """The devices of a call; its first ``extra`` operands are values that the function closes over.

    Raises:
      ValueError: the shardings are over different devices.
    """
    found: Placement | None = None
    single = None
    for s in (*ins, *outs):
        if s is None:
            continue
        here = as_placement(s)
        if here is None:
            single = s
        elif found is not None and here.devices != found.devices:
            raise ValueError(f"jit: in_shardings and out_shardings are over different devices: {found.devices} and "
                             f"{here.devices}. One program runs on one set of devices, in one order.")
        found = found or here
    assert found is not None
    if single is not None and tuple(single._device_assignment) != found.devices:
        raise ValueError(f"jit: in_shardings and out_shardings are over different devices: {found.devices} and {single}. "
                         "One program runs on one set of devices.")
    return Placement(found.devices, found.mesh, (*(None,) * extra, *ins), tuple(outs))


__all__ = ["PlacedFun", "ShardingOptions", "argument_shardings", "placement_of", "sharding_options"]
