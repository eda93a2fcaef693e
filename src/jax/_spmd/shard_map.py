"""``shard_map``: a function of parts, applied to all parts of whole arrays at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from jax._api.common import Described, FlatFun, check_callable, flatten_axes
from jax._api.traced_calls import abstract_leaf, explain_bad_argument
from jax._base.caching import trace_context, weak_cache
from jax._base.source import api_boundary
from jax._language import manual
from jax._language.avals import typeof
from jax._language.axes import axis_env
from jax._language.jaxpr import ClosedJaxpr, DebugInfo
from jax._language.manual import Manual, vma_of
from jax._language.staging import trace_to_jaxpr
from jax._spmd import rules as _rules  # noqa: F401  (transformations)
from jax._spmd import specs
from jax._spmd import varying as _varying  # noqa: F401  (types)
from jax._spmd.primitive import shard_map_p
from jax.sharding import AbstractMesh, Infer, Mesh, NamedSharding, PartitionSpec, get_abstract_mesh, get_mesh
from jax.tree_util import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten


def shard_map(f: Callable[..., Any] | None = None, /, *, out_specs: Any, in_specs: Any = Infer, mesh: Any = None,
              axis_names: Collection[Any] = frozenset(), check_vma: bool = True) -> Any:
    """Maps a function of parts over the devices of a mesh.

    Each device calls ``f`` on its part of the arguments; collectives (:func:`jax.lax.psum` ...) over the mesh axes exchange
    values between devices; the parts of the results are put together.

    Args:
      f: a function of trees of arrays, the parts; without it, a decorator.
      out_specs: a :class:`jax.sharding.PartitionSpec` for all results, or a tree of them, a prefix of the result. A
        dimension is put together along the mesh axes that its entry names. Over an axis that a spec does not name, all
        devices must have the same result.
      in_specs: likewise for the tuple of arguments: a dimension is cut along the axes that its entry names, and over others
        all devices get the same. ``Infer`` takes the layouts of the arguments, which must then be arrays on ``mesh``.
      mesh: the devices, by default the current mesh (:func:`jax.set_mesh`).
      axis_names: the mesh axes that ``f`` handles; all by default. The others are left to the compiler.
      check_vma: follow in the types of the body over which axes values vary. That catches results said to be the same
        everywhere that are not, and makes derivatives inside of ``f`` right: the gradient of a value that is the same on all
        devices is the sum over devices. Without it, sums and their transposes are the caller's business.

    Returns:
      The function of whole arrays. Called outside of ``jit``, it is compiled as a whole.

    Raises:
      ValueError: axes that the mesh does not have, sizes that they do not divide, specs with too many entries, results that
        may differ over axes that their spec does not name, no mesh.
      TypeError: specs that are no PartitionSpec; keyword arguments.

    >>> import jax, jax.numpy as jnp
    >>> mesh = jax.make_mesh((1,), ("i",))
    >>> total = jax.shard_map(lambda x: jax.lax.psum(x.sum(), "i"), mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P())
    >>> float(total(jnp.arange(4.0)))
    6.0
    """
    if f is None:
        return functools.partial(shard_map, out_specs=out_specs, in_specs=in_specs, mesh=mesh, axis_names=axis_names,
                                 check_vma=check_vma)
    check_callable(f, "shard_map")
    name = getattr(f, "__name__", type(f).__name__)
    if mesh is not None and not isinstance(mesh, (Mesh, AbstractMesh)):
        raise TypeError(f"shard_map of {name}: mesh must be a jax.sharding.Mesh, got {mesh!r} of type {type(mesh).__name__}")
    _check_specs(name, "in_specs", in_specs)
    _check_specs(name, "out_specs", out_specs)
    out_leaves, out_structure = tree_flatten(out_specs, is_leaf=lambda s: s is None)
    names = frozenset(axis_names)

    @functools.wraps(f)
    @api_boundary
    def mapped(*args: Any) -> Any:
        over, axes = _mesh_and_axes(name, mesh, names)
        leaves, tree = tree_flatten(args)
        avals = tuple([abstract_leaf(x, False) for x in leaves])
        if None in avals:
            explain_bad_argument(f, leaves, tree_flatten((args, {}))[1], False)
        flat_in = _in_specs(name, in_specs, tree, leaves, over, axes)
        _check_arguments(f, name, tree, avals, flat_in, over, axes)
        task = _Task(over, axes, bool(check_vma), tuple(flat_in), tuple(out_leaves), out_structure, name)
        outs, out_tree = _applied(f, tree, avals, leaves, task)
        return tree_unflatten(out_tree, outs)
    return mapped


def apply_to_parts(part: Any, mesh: Any, flat_in: Sequence[Any], leaves: Sequence[Any], name: str) -> tuple[list[Any], Any]:
    """The results, flat, and their structure, of a function of parts that sets ``part.out_specs`` when it is called."""
    over, axes = _mesh_and_axes(name, mesh, frozenset())
    tree = tree_flatten(tuple(leaves))[1]
    avals = tuple([typeof(x) for x in leaves])
    task = _Task(over, axes, False, tuple(flat_in), (), None, name)
    return _applied(part, tree, avals, leaves, task)


def _applied(f: Any, tree: Any, avals: tuple[Any, ...], leaves: Sequence[Any], task: _Task) -> tuple[list[Any], Any]:
    traced: Any = _trace(f, tree, avals, axis_env.get(), task)
    closed, consts, out_tree, flat_out = traced
    outs = shard_map_p.bind(
        *consts, *leaves, jaxpr=closed, mesh=task.mesh, in_specs=(*(PartitionSpec() for _ in consts), *task.in_specs),
        out_specs=flat_out, axes=task.axes, typed=task.typed, name=task.name)
    return outs, out_tree


class _Task(NamedTuple):
    """What, beside types, a traced body depends on."""

    mesh: Any
    axes: frozenset[Any]
    typed: bool
    in_specs: tuple[Any, ...]
    out_specs: tuple[Any, ...]
    out_structure: Any
    name: str


@weak_cache(context=trace_context)
def _trace(f: Any, in_tree: Any, avals: tuple[Any, ...], env: Any, task: _Task) -> tuple[ClosedJaxpr, list[Any], Any, Any]:
    """The program for one part, what it closes over (its first arguments), the structure and the specs of its results."""
    arguments = tree_flatten(((tree_unflatten(in_tree, [0] * in_tree.num_leaves),), {}))[1]
    flat = FlatFun(lambda *args: f(*args[0]), in_tree=arguments)
    parts = [specs.local(a, s, task.mesh, task.typed) for a, s in zip(avals, task.in_specs, strict=True)]
    described = Described(f)
    outer = manual.current()
    with manual.entered(Manual(task.mesh, task.axes if outer is None else task.axes | outer.axes, task.typed)):
        jaxpr, consts = trace_to_jaxpr(flat, parts, DebugInfo("shard_map", described.source,
                                                              lambda: described.arg_names(arguments)))
    count = len(consts)
    jaxpr = jaxpr.replace(constvars=(), invars=[*jaxpr.constvars, *jaxpr.invars], effects=jaxpr.effects,
                          debug_info=jaxpr.debug_info._replace(arg_names=None) if count else jaxpr.debug_info)
    closed = ClosedJaxpr(jaxpr, ())
    flat_out = f.out_specs if task.out_structure is None else \
        _spread("out_specs", task.name, flat.out_tree, tree_unflatten(task.out_structure, task.out_specs))
    _check_results(task, flat.out_tree, closed.out_avals, flat_out)
    return closed, consts, flat.out_tree, tuple(flat_out)


# --- meshes and specs -----------------------------------------------------------------------------------------------

def _mesh_and_axes(name: str, mesh: Any, names: frozenset[Any]) -> tuple[Any, frozenset[Any]]:
    outer = manual.current()
    if mesh is None:
        mesh = outer.mesh if outer is not None else get_mesh()
        if mesh.empty:
            mesh = get_abstract_mesh()
        if mesh.empty:
            raise ValueError(f"shard_map of {name}: no mesh is given and none is current. Pass mesh=, or set one with "
                             "jax.set_mesh(mesh).")
    if outer is not None:
        if outer.mesh.shape_tuple != mesh.shape_tuple:
            raise ValueError(f"shard_map of {name}: inside of another shard_map, over {outer.mesh}, the mesh must be the "
                             f"same; got {mesh}")
        mesh = outer.mesh
    taken = frozenset() if outer is None else outer.axes
    axes = names or frozenset(mesh.axis_names) - taken
    unknown = axes - frozenset(mesh.axis_names)
    if unknown:
        raise ValueError(f"shard_map of {name}: axis_names has {sorted(map(str, unknown))}, and the mesh has the axes "
                         f"{mesh.axis_names}")
    if axes & taken:
        raise ValueError(f"shard_map of {name}: the axes {sorted(map(str, axes & taken))} are those of an enclosing "
                         "shard_map")
    return mesh, axes


def _check_specs(name: str, what: str, given: Any) -> None:
    if given is Infer and what == "in_specs":
        return
    for path, s in tree_flatten_with_path(given, is_leaf=lambda s: s is None)[0]:
        if s is not None and not isinstance(s, PartitionSpec):
            raise TypeError(f"shard_map of {name}: {what}{keystr(path)} must be a jax.sharding.PartitionSpec, got {s!r} of "
                            f"type {type(s).__name__}")


def _spread(what: str, name: str, tree: Any, given: Any) -> list[Any]:
    try:
        found = flatten_axes(what, tree, given, tupled_args=what == "in_specs")
    except ValueError:
        hint = " in_specs has one entry for each argument." if what == "in_specs" else ""
        raise ValueError(f"shard_map of {name}: {what} must be a PartitionSpec or a tree of them, a prefix of {tree}; got "
                         f"{given!r}.{hint}") from None
    return [PartitionSpec() if s is None else s for s in found]


def _in_specs(name: str, given: Any, tree: Any, leaves: Sequence[Any], mesh: Any, axes: frozenset[Any]) -> list[Any]:
    if given is Infer:
        return [_layout(name, x, mesh, axes) for x in leaves]
    return _spread("in_specs", name, tree, tuple(given) if isinstance(given, list) else given)


def _layout(name: str, x: Any, mesh: Any, axes: frozenset[Any]) -> PartitionSpec:
    sharding = getattr(x, "sharding", None)
    if not isinstance(sharding, NamedSharding) or sharding.mesh.shape_tuple != mesh.shape_tuple:
        raise ValueError(f"shard_map of {name}: in_specs are to be inferred, and an argument ({typeof(x).str_short()}) "
                         f"is no array laid out over {mesh}. Pass in_specs; traced values do not carry their layout here.")
    entries = [tuple(a for a in specs.axes_of(e) if a in axes) or None for e in sharding.spec.partitions]
    return PartitionSpec(*entries)


def _check_axes(name: str, what: str, spec: Any, axes: frozenset[Any], mesh: Any) -> None:
    unknown = specs.named(spec) - axes
    if unknown:
        raise ValueError(f"shard_map of {name}: {what} is {spec}, whose axes {sorted(map(str, unknown))} are none of those "
                         f"that the function handles, {sorted(map(str, axes))} (the mesh has {mesh.axis_names})")


def _check_arguments(f: Any, name: str, tree: Any, avals: Sequence[Any], flat: Sequence[Any], mesh: Any,
                     axes: frozenset[Any]) -> None:
    for i, (aval, spec) in enumerate(zip(avals, flat, strict=True)):
        def what(i: int = i) -> str:
            full = tree_flatten(((tree_unflatten(tree, [0] * tree.num_leaves)), {}))[1]
            return f"in_specs for the argument {Described(f).arg_names(full)[i]}"
        if specs.named(spec) - axes:
            _check_axes(name, what(), spec, axes, mesh)
        if len(spec.partitions) > len(aval.shape):
            raise ValueError(f"shard_map of {name}: {what()} is {spec}, with {len(spec.partitions)} entries, and the "
                             f"argument is {aval.str_short()}; a spec has at most one entry for each dimension")
        for d, n in enumerate(specs.counts(spec, mesh)):
            if aval.shape[d] % n:
                raise ValueError(f"shard_map of {name}: {what()} is {spec}, which cuts dimension {d} of {aval.str_short()} "
                                 f"into {n} parts, and its size {aval.shape[d]} is not a multiple of {n}. Pad the array, or "
                                 "cut another dimension.")


def _check_results(task: _Task, out_tree: Any, avals: Sequence[Any], flat: Sequence[Any]) -> None:
    paths = [p for p, _ in tree_flatten_with_path(tree_unflatten(out_tree, list(range(out_tree.num_leaves))))[0]]
    for path, aval, spec in zip(paths, avals, flat, strict=True):
        what = f"out_specs for the result{keystr(path)}"
        _check_axes(task.name, what, spec, task.axes, task.mesh)
        if len(spec.partitions) > len(aval.shape):
            raise ValueError(f"shard_map of {task.name}: {what} is {spec}, with {len(spec.partitions)} entries, and the "
                             f"function returned {aval.str_short()}; a spec has at most one entry for each dimension. A "
                             "result without dimensions that differs from device to device can be returned as x[None].")
        differs = (vma_of(aval) & task.axes) - specs.named(spec) if task.typed else ()
        if differs:
            raise ValueError(
                f"shard_map of {task.name}: {what} is {spec}, so that all devices along {sorted(map(str, differs))} must "
                f"have the same result, and this one ({aval.str_short()}) may differ there. Name the axis in the spec, "
                "reduce over it (jax.lax.psum, pmean, pmax ...), or pass check_vma=False if you know that it does not "
                "differ.")


# --- one axis -------------------------------------------------------------------------------------------------------

def smap(f: Callable[..., Any] | None = None, /, *, out_axes: Any, axis_name: Any, in_axes: Any = Infer) -> Any:
    """:func:`shard_map` over one axis of the current mesh, with axes as for ``vmap`` in place of specs.

    Args:
      f: a function of parts; without it, a decorator.
      out_axes: an axis along which the parts of the results are put together, ``None`` where all devices have the same, or a
        tree of these.
      axis_name: the mesh axis.
      in_axes: likewise for the tuple of arguments; ``Infer`` takes the layouts of the arguments.

    Raises:
      ValueError: no mesh is current, or what :func:`shard_map` raises.
      TypeError: an axis that is neither an integer nor None.

    >>> import jax, jax.numpy as jnp
    >>> with jax.set_mesh(jax.make_mesh((1,), ("i",))):
    ...     jax.smap(lambda x: x * 2, in_axes=0, out_axes=0, axis_name="i")(jnp.arange(2)).tolist()
    [0, 2]
    """
    if f is None:
        return functools.partial(smap, out_axes=out_axes, axis_name=axis_name, in_axes=in_axes)
    check_callable(f, "smap")
    if isinstance(axis_name, (tuple, list)):
        raise TypeError(f"smap is over one mesh axis, got axis_name={axis_name!r}; jax.shard_map takes several")

    def spec(axis: Any) -> Any:
        if axis is None:
            return PartitionSpec()
        if not hasattr(axis, "__index__") or axis < 0:
            raise TypeError(f"smap: axes are non-negative integers or None, got {axis!r}")
        return PartitionSpec(*(None,) * axis.__index__(), axis_name)

    def as_specs(axes: Any) -> Any:
        leaves, tree = tree_flatten(axes, is_leaf=lambda a: a is None)
        return tree_unflatten(tree, list(map(spec, leaves)))
    return shard_map(f, in_specs=Infer if in_axes is Infer else as_specs(in_axes), out_specs=as_specs(out_axes),
                     axis_names={axis_name})


__all__ = ["shard_map", "smap"]
