"""What the reverse-mode functions share: linearized programs as data, and pulling cotangents back through them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax import dtypes
from jax._ground.structural import instantiate_zeros, weak_as
from jax._language.avals import typeof
from jax._language.refs import is_ref_type
from jax._language.zeros import UndefinedPrimal, Zero
from jax._transforms.linearize import Linearized
from jax._transforms.transpose import backward_pass
from jax.tree_util import tree_flatten


class LinStatic:
    """The part of a :class:`Linearized` that is not data; compared by identity of its jaxpr."""

    __slots__ = ("lin", "in_tree", "out_tree")

    def __init__(self, lin: Linearized, in_tree: Any, out_tree: Any) -> None:
        self.lin = lin
        self.in_tree = in_tree
        self.out_tree = out_tree

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinStatic) and self.lin.jaxpr is other.lin.jaxpr and self.in_tree == other.in_tree

    def __hash__(self) -> int:
        return hash((id(self.lin.jaxpr), self.in_tree))


def differentiable(x: Any) -> bool:
    return typeof(x).to_tangent_aval().dtype != dtypes.float0


def pull_back(lin: Linearized, cotangents: Sequence[Any], primals: Sequence[Any],
              of_refs: Sequence[Any] = ()) -> list[Any]:
    """Cotangents of all inputs; those that nothing reaches are zeros.

    ``of_refs`` are the cotangents of the last values of references among the inputs; for them the results are those of
    the first values.
    """
    jaxpr = lin.jaxpr
    args = [UndefinedPrimal(v.aval) for v in jaxpr.invars]
    live = [*(c for c, nz in zip(cotangents, lin.out_nonzero, strict=True) if nz), *of_refs]
    found = iter(backward_pass(jaxpr, lin.consts, args, live) if jaxpr.invars else ())
    out = []
    for aval, active in zip(lin.in_avals, lin.in_nonzero, strict=True):
        ct = next(found) if active else Zero(aval)
        out.append(ct if is_ref_type(aval) and type(ct) is Zero else weak_as(instantiate_zeros(ct), aval))
    return out


def active_leaves(primals: Any, leaves: Any, in_nzs: Any) -> list[bool]:
    active = [differentiable(x) for x in leaves]
    if in_nzs is None:
        return active
    asked = []
    for p, nz in zip(primals, in_nzs, strict=True):
        asked.extend([bool(nz)] * len(tree_flatten(p)[0]))
    return [a and b for a, b in zip(active, asked, strict=True)]


def first_outputs(lin: Linearized, n: int) -> Linearized:
    """``lin`` without the tangents of auxiliary outputs."""
    if len(lin.out_avals) == n:
        return lin
    keep = sum(lin.out_nonzero[:n])
    outvars = lin.jaxpr.outvars
    outvars = [*outvars[:keep], *outvars[len(outvars) - len(lin.refs):]]
    jaxpr = lin.jaxpr.replace(outvars=outvars, effects=lin.jaxpr.effects)
    return Linearized(jaxpr, lin.consts, lin.in_avals, lin.in_nonzero, lin.out_avals[:n], lin.out_nonzero[:n], lin.refs)
