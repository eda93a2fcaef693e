"""Collectives: communication along a named axis.

The axis is bound by ``jax.vmap(..., axis_name=...)``, ``pmap`` or ``shard_map``. Under ``vmap`` a collective becomes an
array operation along the mapped axis; over mesh axes it is communication between devices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._ground.structural import broadcast_to_axis, deflinear, move_axis, sum_axes
from jax._language import manual, rules
from jax._language.avals import ShapedArray, typeof
from jax._language.axes import axis_size as _axis_size
from jax._language.effects import NamedAxisEffect
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering.rules import register_lowering
from jax._transforms.batch import AxisData, match_axis
from jax.lax._arithmetic import div, mul
from jax.lax._collective_lowering import (
    lower_all_gather,
    lower_all_to_all,
    lower_axis_index,
    lower_pmax,
    lower_pmin,
    lower_ppermute,
    lower_psum,
    lower_reduce_scatter,
)
from jax.lax._comparison import eq
from jax.lax._conversion import convert_element_type
from jax.lax._gather import GatherScatterMode
from jax.lax._reduce import reduce_max_p, reduce_min_p
from jax.lax._shape import reshape
from jax.tree_util import tree_leaves, tree_map

AxisName = Any


def _names(axis_name: AxisName) -> tuple[Any, ...]:
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def _no_groups(groups: Any, api: Any) -> None:
    if groups is not None:
        raise NotImplementedError(f"{api}: axis_index_groups is not supported under vmap; split the axis with a reshape "
                                  "and nested vmaps instead")


def _groups(groups: Any, names: tuple[Any, ...], api: str, same_size: bool = True) -> Any:
    """``axis_index_groups`` as tuples: every position along the axes in one group.

    Raises:
      ValueError: an axis is a position, positions are missing or occur twice, or the groups have several sizes.
    """
    if groups is None:
        return None
    if any(isinstance(a, int) for a in names):
        raise ValueError(f"{api}: axis_index_groups divides named axes and can't be used with array axes, got {names}")
    groups = tuple(tuple(int(i) for i in g) for g in groups)
    n = _axis_size(names)
    if sorted(i for g in groups for i in g) != list(range(n)) or not all(groups):
        raise ValueError(f"{api}: axis_index_groups must cover all indices exactly once: range({n}), got {groups}")
    if same_size and len({len(g) for g in groups}) > 1:
        raise ValueError(f"{api}: axis_index_groups must all have the same size, got {groups}")
    return groups


def _members(names: Any, groups: Any) -> int:
    """How many positions take part in one exchange."""
    return _axis_size(names) if groups is None else len(groups[0])


def _collective(name: str, abstract: Callable[..., Any], batch: Callable[..., Any], lower: Callable[..., Any],
                same: bool = False) -> Primitive:
    """A primitive over named axes: its types, what it is when its axis is the mapped one, and between devices.

    With ``same``, all devices along the axes get the same result.
    """
    prim = Primitive(name)

    def varies(ins: Any, params: dict[str, Any], outs: Any) -> list[frozenset[Any]]:
        axes = frozenset().union(*ins)
        named = frozenset(_names(params.get("axes", params.get("axis_name")))) & manual.typed_axes()
        alike = same and params.get("axis_index_groups") is None  # groups have results of their own
        return [axes - named if alike else axes | named] * len(outs)

    def typed(*avals: Any, **params: Any) -> Any:
        names = params.get("axes", params.get("axis_name"))
        effects = frozenset(NamedAxisEffect(n) for n in _names(names) if not isinstance(n, int))
        return abstract(*avals, **params), effects
    prim.def_effectful_abstract_eval(typed)
    register_lowering(prim, lower, cacheable=False)
    manual.varying_rules[prim] = varies
    rules.fancy_primitive_batchers[prim] = batch
    return prim


def _pass_batch(prim: Primitive, axis: AxisData, args: Any, dims: Any, params: dict[str, Any]) -> Any:
    """Another axis is mapped: the collective acts on the batch as on one example, with the axis in front."""
    (x,), (d,) = args, dims
    return prim.bind(x, **params), d


# --- psum, pmax, pmin -----------------------------------------------------------------------------------------------

def _reduction(name: str, over_axes: Callable[[Any, tuple[int, ...]], Any], unmapped: Callable[[Any, Any], Any],
               lower: Callable[..., Any]) -> Primitive:
    def abstract(x: Any, *, axes: Any, axis_index_groups: Any) -> Any:
        positional = [a for a in axes if isinstance(a, int)]
        return x.update(shape=tuple(n for i, n in enumerate(x.shape) if i not in positional))

    def batch(axis: AxisData, args: Any, dims: Any, *, axes: Any, axis_index_groups: Any) -> Any:
        (x,), (d,) = args, dims
        positional = tuple(a for a in axes if isinstance(a, int))
        named = tuple(a for a in axes if not isinstance(a, int))
        rest = tuple(a for a in named if a != axis.name)
        if len(rest) == len(named):  # not this axis
            shifted = tuple(a + (d is not None and a >= d) for a in positional)
            out = prim.bind(x, axes=(*rest, *shifted), axis_index_groups=axis_index_groups)
            return out, None if d is None else d - sum(a < d for a in shifted)
        _no_groups(axis_index_groups, name)
        if d is None:
            x = unmapped(x, axis.size)
            x = over_axes(x, positional) if positional else x
        else:
            x = over_axes(x, tuple(sorted((d, *(a + (a >= d) for a in positional)))))
        return (prim.bind(x, axes=rest, axis_index_groups=axis_index_groups) if rest else x), None
    def typed(args: Any, params: dict[str, Any]) -> Any:
        """Over mesh axes along which the operand is the same everywhere there is nothing to communicate."""
        if params["axis_index_groups"] is not None:
            return None
        x, axes = args[0], params["axes"]
        known = manual.typed_axes() - manual.vma_of(typeof(x))
        local = tuple(a for a in axes if a in known)
        if not local:
            return None
        x = unmapped(x, _axis_size(local))
        rest = tuple(a for a in axes if a not in known)
        return prim.bind(x, **dict(params, axes=rest)) if rest else x
    prim = _collective(name, abstract, batch, lower, same=True)
    manual.typed_forms[prim] = typed
    return prim


psum_p = _reduction("psum", sum_axes, lambda x, n: mul(x, _like(x, n)), lower_psum)
pmax_p = _reduction("pmax", lambda x, axes: reduce_max_p.bind(x, axes=axes), lambda x, n: x, lower_pmax)
pmin_p = _reduction("pmin", lambda x, axes: reduce_min_p.bind(x, axes=axes), lambda x, n: x, lower_pmin)
manual.casts["sum"] = lambda x, axes: psum_p.bind(x, axes=axes, axis_index_groups=None)
deflinear(psum_p, lambda ct, x, axes, axis_index_groups: [_psum_transpose(ct, x, axes, axis_index_groups)])


def _extremum_jvp(prim: Primitive) -> Callable[..., Any]:
    """The tangent of the elements that attain the extremum, shared equally among ties."""
    def jvp(primals: Any, tangents: Any, *, axes: Any, axis_index_groups: Any) -> Any:
        (x,), (t,) = primals, tangents
        out = prim.bind(x, axes=axes, axis_index_groups=axis_index_groups)
        if type(t) is Zero:
            return out, Zero.from_primal_value(out)
        if any(isinstance(a, int) for a in axes):
            raise NotImplementedError(f"the derivative of {prim} over array axes is not defined; use jnp.{prim.name[1:]} "
                                      "for them first")
        hit = convert_element_type(eq(x, out), typeof(t).dtype)
        share = psum_p.bind(hit, axes=axes, axis_index_groups=axis_index_groups)
        return out, div(psum_p.bind(mul(t, hit), axes=axes, axis_index_groups=axis_index_groups), share)
    return jvp


for _p in (pmax_p, pmin_p):
    rules.primitive_jvps[_p] = _extremum_jvp(_p)


def _like(x: Any, n: int) -> Any:
    return np.array(n, typeof(x).dtype)


def _psum_transpose(ct: Any, x: Any, axes: Any, groups: Any) -> Any:
    named = tuple(a for a in axes if not isinstance(a, int))
    for a in sorted(a for a in axes if isinstance(a, int)):
        ct = broadcast_to_axis(ct, x.aval.shape[a], a)
    # Over mesh axes with types, the cotangent of what is the same everywhere has been added up already.
    # Within groups the sum is not the same everywhere.
    typed = manual.typed_axes() if groups is None else frozenset()
    named = tuple(a for a in named if a not in typed)
    return psum_p.bind(ct, axes=named, axis_index_groups=groups) if named else ct


def psum(x: Any, axis_name: AxisName, *, axis_index_groups: Any = None) -> Any:
    """The sum of a tree of arrays over a named axis (or several). Python numbers are multiplied by the axis's size.

    ``axis_index_groups`` holds lists of positions along the axis: the sum is over each list's positions. It is taken
    where axes are devices, not under :func:`vmap`.

    Raises:
      NameError: the axis is not bound here.
      ValueError: the groups don't cover the axis.
    """
    names = _names(axis_name)
    named = tuple(a for a in names if not isinstance(a, int))
    groups = _groups(axis_index_groups, names, "psum", same_size=False)
    size = _members(named, groups)
    leaves = tree_leaves(x)
    even = groups is None or len({len(g) for g in groups}) == 1
    constants = leaves and all(type(leaf) in (int, float, complex, bool) for leaf in leaves)
    if even and constants and len(named) == len(names):
        return tree_map(lambda leaf: leaf * size, x)
    return tree_map(lambda leaf: psum_p.bind(_number(leaf), axes=names, axis_index_groups=groups), x)


def _number(x: Any) -> Any:
    """Booleans are counted as integers."""
    aval = typeof(x)
    if aval.dtype == np.bool_:
        return convert_element_type(x, np.dtype("int32"))
    return x


def pmean(x: Any, axis_name: AxisName, *, axis_index_groups: Any = None) -> Any:
    """The mean of a tree of arrays over a named axis (or several)."""
    named = tuple(a for a in _names(axis_name) if not isinstance(a, int))
    n = _members(named, _groups(axis_index_groups, _names(axis_name), "pmean"))

    def mean(leaf: Any) -> Any:
        if type(leaf) in (int, float, complex):
            return leaf
        total = psum(leaf, axis_name, axis_index_groups=axis_index_groups)
        dtype = typeof(total).dtype
        if np.issubdtype(dtype, np.integer):
                total = convert_element_type(total, np.dtype("float32"))
        return div(total, _like(total, n))
    return tree_map(mean, x)


def pmax(x: Any, axis_name: AxisName, *, axis_index_groups: Any = None) -> Any:
    """The maximum of a tree of arrays over a named axis (or several)."""
    return _extremum(pmax_p, x, axis_name, axis_index_groups)


def pmin(x: Any, axis_name: AxisName, *, axis_index_groups: Any = None) -> Any:
    """The minimum of a tree of arrays over a named axis (or several)."""
    return _extremum(pmin_p, x, axis_name, axis_index_groups)


def _extremum(prim: Primitive, x: Any, axis_name: AxisName, groups: Any) -> Any:
    names = _names(axis_name)
    _axis_size(tuple(a for a in names if not isinstance(a, int)))
    groups = _groups(groups, names, prim.name, same_size=False)
    return tree_map(lambda leaf: prim.bind(leaf, axes=names, axis_index_groups=groups), x)


# --- axis_index, axis_size ------------------------------------------------------------------------------------------

def _index_batch(axis: AxisData, args: Any, dims: Any, *, axis_name: Any) -> Any:
    from jax.lax._creation import iota  # keeps creation out of what other collectives need
    return iota(np.dtype("int32"), axis.size), 0


axis_index_p = _collective("axis_index", lambda *, axis_name: ShapedArray((), np.dtype("int32")), _index_batch,
                           lower_axis_index)


def axis_index(axis_name: AxisName) -> Any:
    """The position along a named axis, an int32; for several axes, the position in row-major order."""
    names = _names(axis_name)
    _axis_size(names)
    total = axis_index_p.bind(axis_name=names[0])
    for name in names[1:]:
        total = total * _axis_size(name) + axis_index_p.bind(axis_name=name)
    return total


def axis_size(axis_name: AxisName) -> int:
    """The size of a named axis, or the product of the sizes of several: a Python int."""
    return _axis_size(axis_name)


# --- all_gather -----------------------------------------------------------------------------------------------------

def _gather_abstract(x: Any, *, all_gather_dimension: int, axis_name: Any, axis_index_groups: Any, axis_size: int,
                     tiled: bool) -> Any:
    shape = list(x.shape)
    if tiled:
        shape[all_gather_dimension] *= axis_size
    else:
        shape.insert(all_gather_dimension, axis_size)
    return x.update(shape=tuple(shape))


def _gather_batch(axis: AxisData, args: Any, dims: Any, *, all_gather_dimension: int, axis_name: Any,
                  axis_index_groups: Any, axis_size: int, tiled: bool) -> Any:
    (x,), (d,) = args, dims
    at = all_gather_dimension
    if axis.name not in axis_name:
        x = move_axis(x, d, 0)
        return all_gather_p.bind(x, all_gather_dimension=at + 1, axis_name=axis_name, axis_size=axis_size,
                                 axis_index_groups=axis_index_groups, tiled=tiled), 0
    _no_groups(axis_index_groups, "all_gather")
    if len(axis_name) > 1:
        raise NotImplementedError("all_gather over several axes under vmap: gather over one axis after another")
    x = match_axis(axis.size, d, at, x)
    if tiled:
        shape = typeof(x).shape
        x = reshape(x, (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2:]))
    return x, None


all_gather_p: Primitive = _collective("all_gather", _gather_abstract, _gather_batch, lower_all_gather)
deflinear(all_gather_p, lambda ct, x, *, all_gather_dimension, axis_name, axis_index_groups, axis_size, tiled: [
    reduce_scatter_p.bind(ct, axis_name=axis_name, scatter_dimension=all_gather_dimension,
                          axis_index_groups=axis_index_groups, axis_size=axis_size, tiled=tiled)])


def all_gather(x: Any, axis_name: AxisName, *, axis_index_groups: Any = None, axis: int = 0, tiled: bool = False,
               to: Any = None) -> Any:
    """All values along a named axis, stacked at a new ``axis`` (or with ``tiled`` joined along it)."""
    if to is not None:
        raise NotImplementedError("all_gather: the option to needs a mesh; leave it out")
    names = _names(axis_name)
    groups = _groups(axis_index_groups, names, "all_gather")
    n = _members(names, groups)

    def gather(leaf: Any) -> Any:
        ndim = typeof(leaf).ndim
        at = axis % (ndim + (not tiled)) if ndim + (not tiled) else axis
        return all_gather_p.bind(leaf, all_gather_dimension=at, axis_name=names, axis_index_groups=groups, axis_size=n,
                                 tiled=tiled)
    return tree_map(gather, x)


# --- psum_scatter ---------------------------------------------------------------------------------------------------

def _scatter_abstract(x: Any, *, axis_name: Any, scatter_dimension: int, axis_index_groups: Any, axis_size: int,
                      tiled: bool) -> Any:
    shape = list(x.shape)
    if tiled:
        if shape[scatter_dimension] % axis_size:
            raise ValueError(f"psum_scatter: axis {scatter_dimension} of {x.shape} is not a multiple of the size "
                             f"{axis_size} of the named axis")
        shape[scatter_dimension] //= axis_size
    else:
        if shape[scatter_dimension] != axis_size:
            raise ValueError(f"psum_scatter: axis {scatter_dimension} of {x.shape} must have the size {axis_size} of the "
                             "named axis, or use tiled=True")
        del shape[scatter_dimension]
    return x.update(shape=tuple(shape))


def _scatter_batch(axis: AxisData, args: Any, dims: Any, *, axis_name: Any, scatter_dimension: int,
                   axis_index_groups: Any, axis_size: int, tiled: bool) -> Any:
    (x,), (d,) = args, dims
    at = scatter_dimension
    if axis.name not in axis_name:
        x = move_axis(x, d, 0)
        return reduce_scatter_p.bind(x, axis_name=axis_name, scatter_dimension=at + 1, axis_size=axis_size,
                                     axis_index_groups=axis_index_groups, tiled=tiled), 0
    _no_groups(axis_index_groups, "psum_scatter")
    x = mul(x, _like(x, axis.size)) if d is None else sum_axes(x, (d,))
    if tiled:
        shape = typeof(x).shape
        x = reshape(x, (*shape[:at], axis_size, shape[at] // axis_size, *shape[at + 1:]))
    return x, at


reduce_scatter_p: Primitive = _collective("reduce_scatter", _scatter_abstract, _scatter_batch, lower_reduce_scatter)
deflinear(reduce_scatter_p, lambda ct, x, *, axis_name, scatter_dimension, axis_index_groups, axis_size, tiled: [
    all_gather_p.bind(ct, all_gather_dimension=scatter_dimension, axis_name=axis_name,
                      axis_index_groups=axis_index_groups, axis_size=axis_size, tiled=tiled)])


def psum_scatter(x: Any, axis_name: AxisName, *, scatter_dimension: int = 0, axis_index_groups: Any = None,
                 tiled: bool = False) -> Any:
    """The sum over a named axis, of which each position keeps its slice along ``scatter_dimension``."""
    names = _names(axis_name)
    groups = _groups(axis_index_groups, names, "psum_scatter")
    n = _members(names, groups)
    return tree_map(lambda leaf: reduce_scatter_p.bind(
        leaf, axis_name=names, scatter_dimension=scatter_dimension % typeof(leaf).ndim, axis_index_groups=groups,
        axis_size=n, tiled=tiled), x)


# --- ppermute and kin -----------------------------------------------------------------------------------------------

def _permute_batch(axis: AxisData, args: Any, dims: Any, *, axis_name: Any, perm: Any) -> Any:
    (x,), (d,) = args, dims
    if axis.name not in axis_name:
        return ppermute_p.bind(x, axis_name=axis_name, perm=perm), d
    source = np.full(axis.size, -1)
    for src, dst in perm:
        source[dst] = src
    x = match_axis(axis.size, d, 0, x)
    from jax.lax._gather import GatherDimensionNumbers, gather  # gathers are heavy and only permutations need them
    shape = typeof(x).shape
    numbers = GatherDimensionNumbers(offset_dims=tuple(range(1, len(shape))), collapsed_slice_dims=(0,),
                                     start_index_map=(0,))
    # Positions nothing is sent to receive zeros: their index is out of bounds.
    index = np.where(source < 0, axis.size, source).astype(np.int32)[:, None]
    return gather(x, index, numbers, (1, *shape[1:]), mode=GatherScatterMode.FILL_OR_DROP, fill_value=0), 0


ppermute_p = _collective("ppermute", lambda x, *, axis_name, perm: x, _permute_batch, lower_ppermute)
deflinear(ppermute_p, lambda ct, x, *, axis_name, perm: [
    ppermute_p.bind(ct, axis_name=axis_name, perm=tuple((dst, src) for src, dst in perm))])


def ppermute(x: Any, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> Any:
    """Sends values along a named axis: ``perm`` holds pairs ``(source, destination)``.

    Positions that are no destination receive zeros.

    Raises:
      ValueError: a source or a destination occurs twice, or is out of range.
    """
    n, pairs = _axis_size(axis_name), tuple((int(a), int(b)) for a, b in perm)
    for ends, what in (([a for a, _ in pairs], "source"), ([b for _, b in pairs], "destination")):
        if len(set(ends)) != len(ends):
            raise ValueError(f"ppermute: a {what} occurs twice in {list(pairs)}")
        if any(not 0 <= e < n for e in ends):
            raise ValueError(f"ppermute: a {what} in {list(pairs)} is outside of the axis, which has size {n}")
    names = _names(axis_name)
    return tree_map(lambda leaf: ppermute_p.bind(leaf, axis_name=names, perm=pairs), x)


def pshuffle(x: Any, axis_name: AxisName, perm: Sequence[int]) -> Any:
    """Reorders values along a named axis: position ``i`` receives the value of position ``perm[i]``."""
    n = _axis_size(axis_name)
    if sorted(perm) != list(range(n)):
        raise ValueError(f"pshuffle: perm must rearrange range({n}), got {list(perm)}")
    return ppermute(x, axis_name, [(src, dst) for dst, src in enumerate(perm)])


def pbroadcast(x: Any, axis_name: AxisName, source: int) -> Any:
    """The value of position ``source``, at all positions of a named axis."""
    def send(leaf: Any) -> Any:
        gathered = all_gather(leaf, axis_name)
        from jax.lax._slice import index_in_dim  # only broadcasts take a slice
        return index_in_dim(gathered, source, 0, keepdims=False)
    return tree_map(send, x)


# --- all_to_all -----------------------------------------------------------------------------------------------------

def _check_split(shape: Any, split_axis: int, n: int, tiled: bool) -> None:
    if tiled and shape[split_axis] % n:
        raise ValueError(f"all_to_all: axis {split_axis} of {shape} is not a multiple of the size {n} of the named axis")
    if not tiled and shape[split_axis] != n:
        raise ValueError(f"all_to_all: axis {split_axis} of {shape} must have the size {n} of the named axis, or use "
                         "tiled=True")


def _to_all_abstract(x: Any, *, split_axis: int, concat_axis: int, axis_name: Any, axis_index_groups: Any,
                     tiled: bool) -> Any:
    n = _members(axis_name, axis_index_groups)
    shape = list(x.shape)
    _check_split(x.shape, split_axis, n, tiled)
    if tiled:
        shape[split_axis] //= n
        shape[concat_axis] *= n
    else:
        del shape[split_axis]
        shape.insert(concat_axis, n)
    return x.update(shape=tuple(shape))


def _to_all_batch(axis: AxisData, args: Any, dims: Any, *, split_axis: int, concat_axis: int, axis_name: Any,
                  axis_index_groups: Any, tiled: bool) -> Any:
    (x,), (d,) = args, dims
    if axis.name not in axis_name:
        x = move_axis(x, d, 0)
        return all_to_all_p.bind(x, split_axis=split_axis + 1, concat_axis=concat_axis + 1, axis_name=axis_name,
                                 axis_index_groups=axis_index_groups, tiled=tiled), 0
    _no_groups(axis_index_groups, "all_to_all")
    x = match_axis(axis.size, d, 0, x)
    n, shape = axis.size, typeof(x).shape
    if not tiled:
        x = move_axis(x, split_axis + 1, 0)  # the destinations in front, then the sources
        x = move_axis(x, 1, concat_axis + 1)
        return x, 0
    s = split_axis + 1
    x = reshape(x, (*shape[:s], n, shape[s] // n, *shape[s + 1:]))
    x = move_axis(x, s, 0)  # destinations, sources, ...
    x = move_axis(x, 1, concat_axis + 1)
    shape = typeof(x).shape
    c = concat_axis + 1
    return reshape(x, (*shape[:c], shape[c] * shape[c + 1], *shape[c + 2:])), 0


all_to_all_p = _collective("all_to_all", _to_all_abstract, _to_all_batch, lower_all_to_all)
all_to_all_p.abstract_cache = None  # the type depends on the size of the named axis
deflinear(all_to_all_p, lambda ct, x, *, split_axis, concat_axis, axis_name, axis_index_groups, tiled: [
    all_to_all_p.bind(ct, split_axis=concat_axis, concat_axis=split_axis, axis_name=axis_name,
                      axis_index_groups=axis_index_groups, tiled=tiled)])


def all_to_all(x: Any, axis_name: AxisName, split_axis: int, concat_axis: int, *, axis_index_groups: Any = None,
               tiled: bool = False) -> Any:
    """Splits ``split_axis`` over a named axis and joins what arrives along ``concat_axis``."""
    names = _names(axis_name)
    groups = _groups(axis_index_groups, names, "all_to_all")
    n = _members(names, groups)

    def exchange(leaf: Any) -> Any:
        shape = typeof(leaf).shape
        ndim = len(shape)
        if not (-ndim <= split_axis < ndim and -ndim <= concat_axis < ndim):
            raise ValueError(f"all_to_all: split_axis={split_axis} and concat_axis={concat_axis} must name axes of an array "
                             f"of shape {shape}")
        _check_split(shape, split_axis % ndim, n, tiled)  # under vmap no abstract evaluation sees the shape of an example
        return all_to_all_p.bind(leaf, split_axis=split_axis % ndim, concat_axis=concat_axis % ndim, axis_name=names,
                                 axis_index_groups=groups, tiled=tiled)
    return tree_map(exchange, x)


def pswapaxes(x: Any, axis_name: AxisName, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Exchanges a named axis with the array axis ``axis``, which must have its size."""
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


# --- varying types --------------------------------------------------------------------------------------------------

def _vary_batch(axis: AxisData, args: Any, dims: Any, *, axes: Any) -> Any:
    return pvary_p.bind(args[0], axes=axes), dims[0]


pvary_p = Primitive("pvary")
pvary_p.def_abstract_eval(lambda x, *, axes: x)
register_lowering(pvary_p, lambda ctx, x, *, axes: [x])
deflinear(pvary_p, lambda ct, x, *, axes: [ct])  # the sum over the axes follows from the operand's type
rules.fancy_primitive_batchers[pvary_p] = _vary_batch
manual.varying_rules[pvary_p] = lambda ins, params, outs: [ins[0] | frozenset(params["axes"])]
manual.casts["vary"] = lambda x, axes: pvary_p.bind(x, axes=axes)


def pvary(x: Any, axis_name: AxisName) -> Any:
    """Marks values as varying along mesh axes, in the body of ``shard_map``.

    Types there say which values are the same on all devices; operations on values of both kinds need no mark. Under ``vmap``
    there are no such types, and values stay as they are.

    >>> import jax
    >>> jax.vmap(lambda x: jax.lax.pvary(x, "i"), axis_name="i")(jax.numpy.arange(2)).tolist()
    [0, 1]
    """
    names = _names(axis_name)
    _axis_size(names)
    typed = manual.typed_axes()

    def mark(leaf: Any) -> Any:
        axes = tuple(a for a in names if a in typed and a not in manual.vma_of(typeof(leaf)))
        return pvary_p.bind(leaf, axes=axes) if axes else leaf
    return tree_map(mark, x)


def pcast(x: Any, axis_name: AxisName, *, to: str) -> Any:
    """Changes how values are said to vary along a named axis: ``to`` is ``"varying"``, ``"unreduced"`` or ``"reduced"``.

    Raises:
      NotImplementedError: for anything but ``"varying"``.
    """
    if to != "varying":
        raise NotImplementedError(f"pcast: to={to!r} over mesh axes is not supported; 'varying' is. A pending sum "
                                  "is taken with jax.lax.psum where it arises")
    return pvary(x, axis_name)


__all__ = ["all_gather", "all_gather_p", "all_to_all", "all_to_all_p", "axis_index", "axis_index_p", "axis_size",
           "pbroadcast", "pcast", "pmax", "pmax_p", "pmean", "pmin", "pmin_p",
           "ppermute", "ppermute_p", "pshuffle", "psum", "psum_p", "psum_scatter", "pswapaxes", "pvary", "pvary_p",
           "reduce_scatter_p"]
