"""Vectorisation: a trace whose values carry the position of a mapped axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._base import config
from jax._ground.structural import broadcast_to_axis, move_axis
from jax._language import rules
from jax._language.avals import ShapedArray, typeof
from jax._language.axes import extend_axis_env
from jax._language.effects import writes
from jax._language.refs import AbstractRef, Ref, use
from jax._language.trace import Trace, Tracer, check_leaks, current_trace, run_in, run_rule
from jax._transforms.jvp import no_rule_message

not_mapped = None


class AxisData:
    """The mapped axis: its name (``None`` if anonymous) and size, and later its place on a mesh."""

    __slots__ = ("name", "size", "spmd_name", "explicit_mesh_axis")

    def __init__(self, name: Any, size: Any, spmd_name: Any = None, explicit_mesh_axis: Any = None) -> None:
        self.name = name
        self.size = size
        self.spmd_name = spmd_name
        self.explicit_mesh_axis = explicit_mesh_axis

    def __hash__(self) -> int:
        return hash((self.name, self.size, self.spmd_name))

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, AxisData) and self.name == other.name and self.size == other.size
                and self.spmd_name == other.spmd_name)


class BatchTracer(Tracer):
    """One example's view of a value with a mapped axis at ``batch_dim``."""

    __slots__ = ("val", "batch_dim", "aval")

    def __init__(self, trace: BatchTrace, val: Any, batch_dim: int) -> None:
        self._trace = trace
        self.val = val
        self.batch_dim = batch_dim
        aval = typeof(val)
        shape = aval.shape
        if type(aval) is AbstractRef:
            self.aval: Any = aval.update(shape=shape[:batch_dim] + shape[batch_dim + 1:])
            return
        shape = shape[:batch_dim] + shape[batch_dim + 1:]
        vma = aval.vma
        self.aval = ShapedArray(shape, aval.dtype, aval.weak_type, vma=vma) if vma else \
            ShapedArray(shape, aval.dtype, aval.weak_type)

    def _origin_msg(self) -> str:
        return self.val._origin_msg() if isinstance(self.val, Tracer) else \
            "It is one example of a batch under jax.vmap, so it has no single value."


class BatchTrace(Trace):
    """Applies batching rules; operations on values without the axis go to the parent unchanged."""

    __slots__ = ("parent", "axis", "finished")

    def __init__(self, parent: Trace, axis: AxisData) -> None:
        self.parent = parent
        self.staged = parent.staged
        self.axis = axis
        self.finished = False

    def is_finished(self) -> bool:
        return self.finished

    def split(self, args: Sequence[Any]) -> tuple[list[Any], list[Any], bool]:
        vals: list[Any] = []
        dims: list[Any] = []
        active = False
        for x in args:
            if type(x) is BatchTracer and x._trace is self:
                vals.append(x.val)
                dims.append(x.batch_dim)
                active = True
            else:
                vals.append(x)
                dims.append(not_mapped)
        return vals, dims, active

    def wrap(self, val: Any, dim: Any) -> Any:
        return val if dim is not_mapped else BatchTracer(self, val, dim)

    def process(self, prim: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        vals, dims, active = self.split(args)
        if not active and not self._concerns(prim, params):
            if use.begun and prim.abstract_cache is None:
                self._check_writes(prim, vals, params)
            return run_rule(self.parent, prim.bind, tuple(vals), params)
        fancy = rules.fancy_primitive_batchers.get(prim)
        if fancy is not None:
            out, out_dims = run_rule(self.parent, fancy, (self.axis, vals, dims), params)
        else:
            rule = rules.primitive_batchers.get(prim)
            if rule is None:
                raise NotImplementedError(no_rule_message("vmap", "batching", prim))
            out, out_dims = run_rule(self.parent, rule, (vals, dims), params)
        if prim.multiple_results:
            return [self.wrap(v, d) for v, d in zip(out, out_dims, strict=True)]
        return self.wrap(out, out_dims)

    def process_ref(self, prim: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if not prim.makes:
            vals, dims, active = self.split(args)
            if not active and prim.writes:
                raise unmapped_write(prim, vals[0])
            return self.process(prim, args, params)
        # Each example has its own reference, whatever is first in it.
        vals, dims, _ = self.split(args)
        ref = run_rule(self.parent, rules.fancy_primitive_batchers[prim], (self.axis, vals, dims), params)
        return BatchTracer(self, ref, 0)

    def _check_writes(self, prim: Any, vals: Sequence[Any], params: dict[str, Any]) -> None:
        """Raises if a program that does not differ from example to example changes a reference."""
        if any([isinstance(x, Ref) for x in vals]):
            _, effects = prim.abstract_eval(*map(typeof, vals), **params)
            for i in writes(effects):
                raise unmapped_write(prim, vals[i])

    def _concerns(self, prim: Any, params: dict[str, Any]) -> bool:
        """Whether a primitive mentions this trace's axis by name (collectives, jaxprs that contain them)."""
        name = self.axis.name
        if name is None or prim not in rules.fancy_primitive_batchers:
            return False
        return name in named_axes_of(params)

    def custom_jvp(self, prim: Any, fun: Any, jvp: Any, args: Any, params: dict[str, Any]) -> Any:
        vals, dims, active = self.split(args)
        if not active:
            return run_in(self.parent, prim.bind, fun, jvp, *vals, **params)
        out_dims: list[Any] = []
        batched_fun = _batch_flat(fun, self.axis, dims, out_dims)
        batched_jvp = _batch_custom_jvp(jvp, self.axis, dims, out_dims)
        outs = run_in(self.parent, prim.bind, batched_fun, batched_jvp, *vals, **params)
        return [self.wrap(v, d) for v, d in zip(outs, out_dims, strict=True)]

    def custom_vjp(self, prim: Any, fun: Any, fwd: Any, bwd: Any, args: Any, params: dict[str, Any]) -> Any:
        vals, dims, active = self.split(args)
        if not active:
            return run_in(self.parent, prim.bind, fun, fwd, bwd, *vals, **params)
        return prim.batch(self, fun, fwd, bwd, vals, dims, params)


def unmapped_write(prim: Any, ref: Any) -> ValueError:
    """The error for a change, under ``vmap``, of a reference that all examples share."""
    return ValueError(
        f"vmap: {prim} changes a reference of type {typeof(ref).str_short()} that is the same for all examples, so that "
        "they would all write to one place. Pass the reference to the mapped function with an axis in in_axes, make it "
        "inside, or return the values and write them outside.")


def named_axes_of(params: dict[str, Any]) -> set[Any]:
    """The axis names in the parameters of a collective, or used by the jaxprs an equation holds."""
    out: set[Any] = set()
    for key in ("axes", "axis_name"):
        names = params.get(key)
        if names is not None:
            out.update(names if isinstance(names, (tuple, list, set, frozenset)) else (names,))
    for v in params.values():
        for item in v if isinstance(v, tuple) else (v,):
            effects = getattr(item, "effects", None)
            if effects:
                out.update(e.name for e in effects if hasattr(e, "name"))
    return out


def batch_flat(fun: Callable[..., Sequence[Any]], axis: AxisData, args: Sequence[Any], dims: Sequence[Any],
               ) -> tuple[list[Any], list[Any]]:
    """Runs ``fun`` with the axis mapped; returns outputs and where the axis is in each."""
    out_dims: list[Any] = []
    outs = _batch_flat(fun, axis, dims, out_dims)(*args)
    return outs, out_dims


def _batch_flat(fun: Any, axis: AxisData, dims: Sequence[Any], out_dims: list[Any]) -> Callable[..., list[Any]]:
    def batched(*args: Any) -> list[Any]:
        trace = BatchTrace(current_trace.get(), axis)
        tracers = [trace.wrap(x, d) for x, d in zip(args, dims, strict=True)]
        try:
            with extend_axis_env(axis.name, axis.size):
                results = run_in(trace, fun, *tracers)
        finally:
            trace.finished = True
        vals, found, _ = trace.split(results)
        out_dims[:] = found
        if config.check_tracer_leaks.value:
            tracers = results = None  # type: ignore[assignment]
            check_leaks(trace, "a function under vmap")
        return vals
    return batched


def _batch_custom_jvp(jvp: Any, axis: AxisData, dims: Sequence[Any], out_dims: list[Any]) -> Callable[..., Any]:
    """The batched form of a custom jvp rule, its outputs and tangents batched alike."""
    from jax._language.zeros import Zero  # keeps the module's imports to what every vmap needs

    def batched(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        zero = [type(t) is Zero for t in tangents]
        tangent_dims = [None if z else d for d, z in zip(dims, zero, strict=True)]
        found: list[Any] = []
        out_zero: list[bool] = []

        def fun(*flat: Any) -> list[Any]:
            n = len(primals)
            ts = [Zero.from_primal_value(p) if z else t
                  for p, t, z in zip(flat[:n], flat[n:], zero, strict=True)]
            outs, out_ts = jvp(list(flat[:n]), ts)
            out_zero[:] = [type(t) is Zero for t in out_ts]
            return [*outs, *(o if type(t) is Zero else t for o, t in zip(outs, out_ts, strict=True))]

        flat_tangents = [0.0 if z else t for t, z in zip(tangents, zero, strict=True)]
        outs = _batch_flat(fun, axis, [*dims, *tangent_dims], found)(*primals, *flat_tangents)
        n = len(outs) // 2
        primals_out, tangents_out = [], []
        final = []
        for p, pd, t, td, z in zip(outs[:n], found[:n], outs[n:], found[n:], out_zero, strict=True):
            dim = pd if pd is not None else (None if z else td)
            p = match_axis(axis.size, pd, dim, p)
            primals_out.append(p)
            tangents_out.append(Zero.from_primal_value(p) if z else match_axis(axis.size, td, dim, t))
            final.append(dim)
        out_dims[:] = final
        return primals_out, tangents_out
    return batched


def match_axis(size: Any, src: Any, dst: Any, x: Any) -> Any:
    """Moves the mapped axis of ``x`` from ``src`` to ``dst``, broadcasting where it has none."""
    if src == dst:
        return x
    if dst is not_mapped:
        raise ValueError("a value with a mapped axis cannot be returned without it")
    if src is not_mapped:
        return broadcast_to_axis(x, size, dst)
    return move_axis(x, src, dst)


def bdim_at_front(x: Any, dim: Any, size: Any) -> Any:
    return match_axis(size, dim, 0, x)


# --- values of other libraries' types -------------------------------------------------------------------------------

class Vmappable:
    """How values of a registered type are split along an axis and put together again."""

    __slots__ = ("to_elt", "from_elt", "axis_size_type", "spec_type", "make_iota")

    def __init__(self, to_elt: Any, from_elt: Any, spec_type: Any = None, axis_size_type: Any = None,
                 make_iota: Any = None) -> None:
        self.to_elt = to_elt
        self.from_elt = from_elt
        self.spec_type = spec_type
        self.axis_size_type = axis_size_type
        self.make_iota = make_iota


# How values of other classes than arrays are mapped, by class.
vmappables: dict[type, Vmappable] = {}


def to_elt(trace: BatchTrace, get_idx: Callable[[], Any], x: Any, spec: Any) -> Any:
    """One example's view of ``x`` along ``spec``: an axis of an array, or what the registered type of ``x`` takes."""
    kind = vmappables.get(type(x))
    if kind is not None and not (spec is None or isinstance(spec, int)):
        return kind.to_elt(lambda part, part_spec: to_elt(trace, get_idx, part, part_spec), get_idx, x, spec)
    if spec is None:
        return x
    ndim = typeof(x).ndim
    return trace.wrap(x, spec % ndim)


def from_elt(trace: BatchTrace, axis_size: Any, x: Any, spec: Any) -> Any:
    """The values of all examples from one example's view, along ``spec``; the inverse of :func:`to_elt`."""
    kind = vmappables.get(type(x))
    if kind is not None and not (spec is None or isinstance(spec, int)):
        return kind.from_elt(lambda size, part, part_spec: from_elt(trace, size, part, part_spec), axis_size, x, spec)
    (value,), (dim,), _ = trace.split([x])
    if spec is None:
        return match_axis(axis_size, dim, None, value)
    return match_axis(axis_size, dim, spec % (typeof(value).ndim + (dim is None)), value)
