"""Two arrays laid out in the same way over devices."""

from __future__ import annotations

from typing import Any

from jax._base import _jaxlib
from jax._base.source import api_boundary
from jax._ground.structural import instantiate_zeros
from jax._language import rules
from jax._language.avals import typeof
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering.rules import register_lowering
from jax._lowering.shardings import is_spread
from jax._lowering.types import i64_attr
from jax._transforms.batch import AxisData, match_axis
from jax.tree_util import tree_flatten, tree_unflatten


@api_boundary
def shard_alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Two trees of arrays, leaf by leaf laid out alike over devices; which layout that is, the compiler decides.

    Args:
      x, y: trees of one structure, with arrays of equal shapes.

    Returns:
      ``(x, y)``. Their cotangents are laid out alike, too. In programs for one device nothing happens.

    Raises:
      ValueError: structures or shapes differ.

    >>> import jax.numpy as jnp
    >>> from jax.experimental.shard_alike import shard_alike
    >>> a, b = shard_alike(jnp.ones(2), jnp.zeros(2))
    >>> b.tolist()
    [0.0, 0.0]
    """
    xs, tree = tree_flatten(x)
    ys, other = tree_flatten(y)
    if tree != other:
        raise ValueError(f"shard_alike: x and y must be trees of one structure, got {tree} and {other}")
    pairs = []
    for a, b in zip(xs, ys, strict=True):
        if typeof(a).shape != typeof(b).shape:
            raise ValueError(f"shard_alike: arrays must have equal shapes, got {typeof(a).str_short()} and "
                             f"{typeof(b).str_short()}")
        pairs.append(shard_alike_p.bind(a, b))
    return tree_unflatten(tree, [p[0] for p in pairs]), tree_unflatten(tree, [p[1] for p in pairs])


shard_alike_p = Primitive("shard_alike", multiple_results=True)
shard_alike_p.def_impl(lambda x, y: [x, y])
shard_alike_p.def_abstract_eval(lambda x, y: [x, y])


def _lower(ctx: Any, x: Any, y: Any) -> list[Any]:
    mod = ctx.module_context
    if is_spread(mod):
        group = mod.functions["sharding groups"] = mod.functions.get("sharding groups", -1) + 1
        for value in (x, y):
            _jaxlib.ir.Operation.create("sdy.sharding_group", (), (value,), {"group_id": i64_attr(group)})
    return [x, y]


def _jvp(primals: Any, tangents: Any) -> Any:
    outs = shard_alike_p.bind(*primals)
    if any(type(t) is Zero for t in tangents):
        return outs, list(tangents)
    return outs, shard_alike_p.bind(*tangents)


def _transpose(cts: Any, x: Any, y: Any) -> list[Any]:
    if all(type(c) is Zero for c in cts):
        return list(cts)
    return list(shard_alike_p.bind(*map(instantiate_zeros, cts)))


def _batch(axis: AxisData, args: Any, dims: Any) -> Any:
    at = next(d for d in dims if d is not None)
    return shard_alike_p.bind(*[match_axis(axis.size, d, at, x) for x, d in zip(args, dims, strict=True)]), [at, at]


register_lowering(shard_alike_p, _lower, cacheable=False)
rules.primitive_jvps[shard_alike_p] = _jvp
rules.primitive_transposes[shard_alike_p] = _transpose
rules.fancy_primitive_batchers[shard_alike_p] = _batch
