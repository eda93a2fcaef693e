"""Over which mesh axes the results of equations that hold programs vary, in the body of a ``shard_map``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._api.call_primitives import call_p, closed_call_p
from jax._api.custom_calls import custom_jvp_call_p, custom_vjp_call_p, custom_vjp_tangent_p
from jax._api.jit_primitive import jit_p
from jax._api.remat_primitive import remat_p
from jax._base.caching import weak_cache
from jax._language.avals import typeof
from jax._language.effects import NamedAxisEffect
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr, jaxprs_in_params
from jax._language.manual import typed_forms, varying, varying_rules, vma_of
from jax._language.staging import trace_to_jaxpr
from jax.lax import axis_index_p, cond_p, linear_solve_p, scan_p, while_p

Axes = frozenset[Any]


def _check(ins: Sequence[Axes], avals: Sequence[Any], what: str) -> None:
    for axes, aval in zip(ins, avals, strict=True):
        if axes - vma_of(aval):
            raise NotImplementedError(
                f"shard_map: an operand of {what} varies over the mesh axes {sorted(map(str, axes))}, and the program in it "
                f"was made for {aval.str_short()} varying over {sorted(map(str, vma_of(aval)))}. Please report this; "
                "shard_map(..., check_vma=False) does without such types.")


@weak_cache
def _retyped(closed: ClosedJaxpr, axes: tuple[Axes, ...]) -> ClosedJaxpr:
    """``closed`` for arguments that vary over these axes too."""
    avals = [varying(a, vma_of(a) | more) for a, more in zip(closed.in_avals, axes, strict=True)]
    info = closed.jaxpr.debug_info._replace(arg_names=None)
    return ClosedJaxpr(*trace_to_jaxpr(lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), avals, info))


def _fits(ins: Sequence[Axes], closed: ClosedJaxpr) -> bool:
    return all([axes <= vma_of(a) for axes, a in zip(ins, closed.in_avals, strict=True)])


def _axes_of(args: Sequence[Any]) -> list[Axes]:
    return [vma_of(typeof(x)) for x in args]


# Where an operand varies over more than the program in an equation was made for (what branches hand on varies with the
# choice between them, say), the program is made again.

def _form_of_cond(args: Any, params: dict[str, Any]) -> Any:
    chosen = vma_of(typeof(args[0]))
    # What differs in the choice differs in all that it reads: sums over devices then happen outside of the branches, where
    # all devices come by.
    ins = [a | chosen for a in _axes_of(args[1:])]
    if all([_fits(ins, b) for b in params["branches"]]):
        return None
    branches = tuple([_retyped(b, tuple(ins)) for b in params["branches"]])
    return cond_p.bind(*args, **dict(params, branches=branches))


def _form_of_call(prim: Any, param: str) -> Any:
    def form(args: Any, params: dict[str, Any]) -> Any:
        ins = _axes_of(args)
        closed = params[param]
        return None if _fits(ins, closed) else prim.bind(*args, **dict(params, **{param: _retyped(closed, tuple(ins))}))
    return form


def _settled(body: ClosedJaxpr, ins: Sequence[Axes], first: int, count: int) -> ClosedJaxpr:
    """A loop's body for these operands, its carry varying over all that comes out of it."""
    axes = list(ins)
    while True:
        new = _retyped(body, tuple(axes))
        grown = [a | vma_of(o) for a, o in zip(axes[first:first + count], new.out_avals, strict=False)]
        if grown == axes[first:first + count] or all(
                [g <= vma_of(a) for g, a in zip(grown, new.in_avals[first:first + count], strict=True)]):
            return new
        axes[first:first + count] = grown


def _form_of_scan(args: Any, params: dict[str, Any]) -> Any:
    ins = _axes_of(args)
    if _fits(ins, params["jaxpr"]):
        return None
    body = _settled(params["jaxpr"], ins, params["num_consts"], params["num_carry"])
    return scan_p.bind(*args, **dict(params, jaxpr=body))


def _form_of_while(args: Any, params: dict[str, Any]) -> Any:
    ins, n, m = _axes_of(args), params["cond_nconsts"], params["body_nconsts"]
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    if _fits([*ins[:n], *ins[n + m:]], cond) and _fits(ins[n:], body):
        return None
    body = _settled(body, ins[n:], m, len(ins) - n - m)
    cond = _retyped(cond, (*ins[:n], *(vma_of(a) for a in body.in_avals[m:])))
    return while_p.bind(*args, **dict(params, cond_jaxpr=cond, body_jaxpr=body))


typed_forms[cond_p] = _form_of_cond
typed_forms[jit_p] = _form_of_call(jit_p, "jaxpr")
typed_forms[remat_p] = _form_of_call(remat_p, "jaxpr")
typed_forms[scan_p] = _form_of_scan
typed_forms[while_p] = _form_of_while


def _communicates(jaxpr: Any, names: set[Any]) -> bool:
    """Whether a program exchanges values along one of these axes (asking for the position does not)."""
    for eqn in jaxpr.eqns:
        over = eqn.params.get("axes", eqn.params.get("axis_name"))
        if eqn.primitive is not axis_index_p and any(
                isinstance(e, NamedAxisEffect) for e in eqn.effects) and over is not None:
            if names & set(over if isinstance(over, (tuple, list)) else (over,)):
                return True
        if any([_communicates(getattr(sub, "jaxpr", sub), names) for sub in jaxprs_in_params(eqn.params)]):
            return True
    return False


def _alone_in(decides: Axes, program: ClosedJaxpr, what: str, by: str) -> None:
    """Refuses communication in a program that some devices may not run: those that do would wait forever."""
    met = {e.name for e in program.effects if isinstance(e, NamedAxisEffect)} & decides
    if met and _communicates(program.jaxpr, met):
        names = sorted(map(str, met))
        raise ValueError(f"shard_map: the {by} of a {what} differs along the mesh axes {names}, and a collective over them "
                         "is inside: the devices that come by would wait for others that never do. Move the collective out, "
                         f"or make the {by} the same on all devices, for example with jax.lax.pmax.")


def _call(param: str, what: str) -> Any:
    def rule(ins: Sequence[Axes], params: dict[str, Any], outs: Sequence[Any]) -> list[Axes]:
        program = params[param]
        _check(ins, [v.aval for v in getattr(program, "jaxpr", program).invars], what)
        return [vma_of(a) for a in outs]
    return rule


def _scan(ins: Sequence[Axes], params: dict[str, Any], outs: Sequence[Any]) -> list[Axes]:
    n, m = params["num_consts"], params["num_carry"]
    _check(ins, params["jaxpr"].in_avals, "scan")
    carry = [vma_of(a) | vma_of(b) for a, b in zip(params["jaxpr"].in_avals[n:n + m], outs, strict=False)]
    return [*carry, *(vma_of(a) for a in outs[m:])]


def _while(ins: Sequence[Axes], params: dict[str, Any], outs: Sequence[Any]) -> list[Axes]:
    n, m = params["cond_nconsts"], params["body_nconsts"]
    _check([*ins[:n], *ins[n + m:]], params["cond_jaxpr"].in_avals, "while_loop")
    _check(ins[n:], params["body_jaxpr"].in_avals, "while_loop")
    # Devices that differ about when to stop differ about everything that the loop computes.
    decides = vma_of(params["cond_jaxpr"].out_avals[0])
    for program in (params["cond_jaxpr"], params["body_jaxpr"]):
        _alone_in(decides, program, "while_loop", "condition")
    return [vma_of(a) | vma_of(b) | decides for a, b in zip(params["body_jaxpr"].in_avals[m:], outs, strict=True)]


def _cond(ins: Sequence[Axes], params: dict[str, Any], outs: Sequence[Any]) -> list[Axes]:
    found = [ins[0]] * len(outs)
    for branch in params["branches"]:
        _alone_in(ins[0], branch, "cond (or switch)", "predicate")
        _check(ins[1:], branch.in_avals, "cond")
        found = [f | vma_of(a) for f, a in zip(found, branch.out_avals, strict=True)]
    return found


def _solve(ins: Sequence[Axes], params: dict[str, Any], outs: Sequence[Any]) -> list[Axes]:
    return [frozenset().union(*ins)] * len(outs)


varying_rules[jit_p] = _call("jaxpr", "jit")
varying_rules[remat_p] = _call("jaxpr", "checkpoint")
varying_rules[call_p] = _call("call_jaxpr", "call")
varying_rules[closed_call_p] = _call("call_jaxpr", "closed_call")
varying_rules[custom_jvp_call_p] = _call("call_jaxpr", "custom_jvp")
varying_rules[custom_vjp_call_p] = _call("call_jaxpr", "custom_vjp")
varying_rules[custom_vjp_tangent_p] = lambda ins, params, outs: [vma_of(a) for a in outs]
varying_rules[scan_p] = _scan
varying_rules[while_p] = _while
varying_rules[cond_p] = _cond
varying_rules[linear_solve_p] = _solve
