"""``jvp``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._api.common import (
    FlatFun,
    FlatFunAux,
    check_callable,
    check_leaf_types,
)
from jax._base.source import api_boundary
from jax._ground.structural import instantiate_zeros, weak_as
from jax._language.avals import host_constant, typeof
from jax._language.refs import is_ref_type
from jax._language.zeros import Zero
from jax._transforms.jvp import jvp_flat
from jax.tree_util import tree_flatten, tree_unflatten


@api_boundary
def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """The value of ``fun`` at ``primals`` and its directional derivative along ``tangents``.

    Args:
      fun: a function of trees of arrays.
      primals: a tuple (or list) of arguments.
      tangents: a tuple of the same structure, with equal shapes and the tangent dtypes of the primals (``float0`` for
        integers).
      has_aux: whether ``fun`` returns ``(output, aux)``.

    Returns:
      ``(output, output_tangent)``, with ``aux`` as a third element if ``has_aux``.

    Raises:
      TypeError: structures or dtypes of primals and tangents do not match.
      ValueError: their shapes do not match.
    """
    check_callable(fun, "jvp")
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(f"jvp takes primals and tangents as tuples or lists, one entry per argument of the function; "
                        f"got {type(primals).__name__} and {type(tangents).__name__}")
    leaves, tree = tree_flatten((tuple(primals), {}))
    t_leaves, t_tree = tree_flatten((tuple(tangents), {}))
    if tree != t_tree:
        raise TypeError(f"jvp: primals and tangents must have the same tree structure, got {tree} and {t_tree}")
    check_leaf_types(leaves, tree, "primal ", "jvp")
    t_leaves = [_check_tangent(p, t) for p, t in zip(leaves, t_leaves, strict=True)]
    flat = (FlatFunAux if has_aux else FlatFun)(fun, tree)
    outs, out_tangents = jvp_flat(flat, leaves, t_leaves)
    n = flat.out_tree.num_leaves
    out_avals = check_leaf_types(outs[:n], flat.out_tree, "output ", "jvp")
    out_tangents = [weak_as(instantiate_zeros(t), a) for t, a in zip(out_tangents[:n], out_avals, strict=True)]
    result = tree_unflatten(flat.out_tree, outs[:n]), tree_unflatten(flat.out_tree, out_tangents)
    if has_aux:
        return (*result, tree_unflatten(flat.aux_tree, outs[n:]))  # type: ignore[attr-defined]
    return result


def _check_tangent(p: Any, t: Any) -> Any:
    want = typeof(p).to_tangent_aval()
    if type(t) is Zero:
        return t
    got = typeof(t)
    if is_ref_type(want) != is_ref_type(got):
        raise TypeError(f"jvp: the tangent of a reference is a reference to an array of tangents, and that of an array an "
                        f"array; a primal of type {typeof(p).str_short()} was given {got.str_short()}")
    if want.dtype == dtypes.float0 or got.dtype == dtypes.float0:
        if want.dtype != got.dtype:
            raise TypeError(f"jvp: the tangent of a primal of type {typeof(p).str_short()} must have dtype "
                            f"{want.dtype}, got {got.str_short()}. Tangents of integers are "
                            "numpy.zeros(shape, jax.dtypes.float0).")
        return Zero(want)
    if got.shape != want.shape:
        raise ValueError(f"jvp: a primal of shape {want.shape} was given a tangent of shape {got.shape}; they must be "
                         "equal")
    if got.dtype != want.dtype:
        # A Python number beside a 64-bit array that was made while 64-bit types were on is as wide as that.
        if type(t) in (float, complex) and dtypes.is_narrowed(want.dtype) and np.can_cast(got.dtype, want.dtype):
            return host_constant(t, want.dtype)
        raise TypeError(f"jvp: a primal of dtype {typeof(p).dtype} needs a tangent of dtype {want.dtype}, got {t!r} of "
                        f"dtype {got.dtype}; convert it, for example jnp.asarray(tangent, primal.dtype)")
    return t
