"""The derivative of a jaxpr, split in a primal program with residuals and a tangent program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._base.caching import weak_cache
from jax._ground.structural import instantiate_zeros
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr, Jaxpr
from jax._language.staging import StagedTracer, trace_to_jaxpr
from jax._language.trace import current_trace
from jax._language.zeros import Zero
from jax._transforms.linearize import Linearized, linearize_flat


class LinearizedJaxpr:
    """A jaxpr split by :func:`linearize_jaxpr`.

    ``primal`` returns the outputs and then ``num_res`` residuals of its own; ``tangent`` (a closed jaxpr) takes
    residuals and then active input tangents. ``res_from`` says for each residual of ``tangent`` where it is found:
    ``("in", i)``, ``("out", i)`` or ``("res", i)``.
    """

    __slots__ = ("primal", "tangent", "res_from", "num_res", "out_nonzero", "out_avals")

    def __init__(self, primal: ClosedJaxpr, tangent: ClosedJaxpr, res_from: list[tuple[str, int]], num_res: int,
                 out_nonzero: list[bool], out_avals: list[Any]) -> None:
        self.primal = primal
        self.tangent = tangent
        self.res_from = res_from
        self.num_res = num_res
        self.out_nonzero = out_nonzero
        self.out_avals = out_avals

    def residuals(self, ins: Sequence[Any], outs_and_res: Sequence[Any]) -> list[Any]:
        n_out = len(self.out_nonzero)
        where = {"in": ins, "out": outs_and_res[:n_out], "res": outs_and_res[n_out:]}
        return [where[kind][i] for kind, i in self.res_from]


def linearize_jaxpr(closed: ClosedJaxpr, nonzeros: Sequence[bool],
                    instantiate: bool | Sequence[bool] = False) -> LinearizedJaxpr:
    """Splits the derivative of a jaxpr into a primal program with residuals and a tangent program."""
    force = (instantiate,) * len(closed.jaxpr.outvars) if isinstance(instantiate, bool) else tuple(instantiate)
    return _linearize_jaxpr(closed, tuple(nonzeros), force)


@weak_cache
def _linearize_jaxpr(closed: ClosedJaxpr, nonzeros: tuple[bool, ...], force: tuple[bool, ...]) -> LinearizedJaxpr:
    info = closed.jaxpr.debug_info
    kept: dict[str, Any] = {}

    def primal_fun(*args: Any) -> list[Any]:
        outs, lin = linearize_flat(lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), args, info, nonzeros)
        lin = _instantiate_outputs(lin, force)
        parent = current_trace.get()
        constvars: list[Any] = []
        res: list[Any] = []
        res_from: list[tuple[str, int]] = []
        own_vars: list[Any] = []
        own_consts: list[Any] = []
        where: dict[int, tuple[str, int]] = {}
        for i, x in enumerate(args):
            where.setdefault(id(x), ("in", i))
        for i, x in enumerate(outs):
            where.setdefault(id(x), ("out", i))
        for v, c in zip(lin.jaxpr.constvars, lin.consts, strict=True):
            if not (type(c) is StagedTracer and c._trace is parent):
                own_vars.append(v)
                own_consts.append(c)
                continue
            constvars.append(v)
            place = where.get(id(c))
            if place is None:
                place = where[id(c)] = ("res", len(res))
                res.append(c)
            res_from.append(place)
        # Not `lin` itself: its constants are values of this trace, which must not outlive it.
        kept.update(constvars=constvars, own=(own_vars, own_consts), res_from=res_from, num_res=len(res),
                    jaxpr=lin.jaxpr, out_nonzero=lin.out_nonzero, out_avals=lin.out_avals)
        return [*outs, *res]

    primal, consts = trace_to_jaxpr(primal_fun, closed.in_avals, info)
    own_vars, own_consts = kept["own"]
    found: Jaxpr = kept["jaxpr"]
    tangent = found.replace(constvars=own_vars, invars=[*kept["constvars"], *found.invars],
                            debug_info=info._replace(arg_names=None))
    return LinearizedJaxpr(ClosedJaxpr(primal, consts), ClosedJaxpr(tangent, own_consts), kept["res_from"],
                           kept["num_res"], kept["out_nonzero"], kept["out_avals"])


def _instantiate_outputs(lin: Linearized, force: Sequence[bool]) -> Linearized:
    if not any(f and not nz for f, nz in zip(force, lin.out_nonzero, strict=True)):
        return lin

    def fun(*tangents: Any) -> list[Any]:
        outs = iter(eval_jaxpr(lin.jaxpr, lin.consts, *tangents))
        out = []
        for nz, f, aval in zip(lin.out_nonzero, force, lin.out_avals, strict=True):
            if nz:
                out.append(next(outs))
            elif f:
                out.append(instantiate_zeros(Zero(aval)))
        return out

    avals = [a for a, nz in zip(lin.in_avals, lin.in_nonzero, strict=True) if nz]
    jaxpr, consts = trace_to_jaxpr(fun, avals, lin.jaxpr.debug_info)
    out_nonzero = [nz or f for nz, f in zip(lin.out_nonzero, force, strict=True)]
    return Linearized(jaxpr, consts, lin.in_avals, lin.in_nonzero, lin.out_avals, out_nonzero)
