"""The rules of ``cond``.

Each branch is transformed by itself; what they return, or keep for later, is then made equal: derivatives that are
zero in some branches become arrays, and residuals of all branches share slots by type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jax._api.jit_primitive import bind_jit, call_params
from jax._base.caching import no_context, weak_cache
from jax._ground.structural import broadcast_in_dim, instantiate_zeros, zeros_of
from jax._language import rules
from jax._language.avals import typeof
from jax._language.effects import ordered_effects
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var
from jax._language.refs import is_ref_type, use
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import run_in
from jax._language.zeros import UndefinedPrimal, Zero
from jax._transforms import partial
from jax._transforms.batch import AxisData, match_axis
from jax._transforms.batch_jaxpr import batch_jaxpr_axes
from jax._transforms.dce import dce_jaxpr, prune_consts
from jax._transforms.jvp import jvp_jaxpr
from jax._transforms.linearize import SplitTrace, split_rules
from jax._transforms.linearize_jaxpr import linearize_jaxpr
from jax._transforms.references import batch_discharged, has_tangent_references, linearize_discharged
from jax._transforms.transpose import backward_pass
from jax.lax._comparison import eq, ne
from jax.lax._cond import cond_p
from jax.lax._control_common import (
    Marks,
    dependence_rules,
    either,
    interleave,
    pieces,
    reached,
    where,
    without,
)
from jax.lax._select import select_n

Branches = tuple[ClosedJaxpr, ...]


def _union(columns: Sequence[Sequence[bool]]) -> Marks:
    out = list(columns[0])
    for c in columns[1:]:
        out = either(out, c)
    return out


# --- forward derivatives --------------------------------------------------------------------------------------------

def _jvp(primals: Any, tangents: Any, *, branches: Branches, **params: Any) -> Any:
    nonzeros = [type(t) is not Zero for t in tangents[1:]]
    pairs = [jvp_jaxpr(b, nonzeros, False) for b in branches]
    marks = _union([out for _, out in pairs])
    new = tuple([b if out == marks else jvp_jaxpr(closed, nonzeros, marks)[0]
                 for closed, (b, out) in zip(branches, pairs, strict=True)])
    outs = cond_p.bind(*primals, *where(tangents[1:], nonzeros), branches=new, **params)
    n = len(marks)
    found = iter(outs[n:])
    return outs[:n], [next(found) if m else Zero.from_primal_value(o) for o, m in zip(outs[:n], marks, strict=True)]


# --- residuals ------------------------------------------------------------------------------------------------------

class _Halves(NamedTuple):
    """A cond split in two.

    ``known`` branches return the known results and then shared slots for residuals of types ``slots``. ``rest``
    branches take the known operands numbered in ``passed``, the slots, and then their own operands.
    """

    known: Branches
    rest: Branches
    slots: tuple[Any, ...]
    passed: tuple[int, ...]
    out_marks: Marks


class _Half(NamedTuple):
    """One branch: its known part, the variables in it that are residuals, and the part that reads these first."""

    known: ClosedJaxpr
    num_outs: int
    residuals: list[Any]
    rest: ClosedJaxpr


def _join(halves: Sequence[_Half], out_marks: Marks) -> _Halves:
    """Gives the residuals of all branches their places.

    Operands are passed on as they are. Each of the others takes the first slot of its type that its branch has not
    used; branches fill slots that they do not need with zeros.
    """
    passed: dict[int, None] = {}
    slots: list[Any] = []
    plans = []
    for half in halves:
        jaxpr = half.known.jaxpr
        place = {v: i for i, v in enumerate(jaxpr.invars)}
        plan: list[tuple[str, int]] = []
        used: set[int] = set()
        for v in half.residuals:
            i = place.get(v) if isinstance(v, Var) else None
            if i is not None:
                passed.setdefault(i)
                plan.append(("passed", i))
                continue
            aval = v.aval.strip_weak_type()
            free = [j for j, a in enumerate(slots) if a is aval and j not in used]
            if free:
                slot = free[0]
            else:
                slot = len(slots)
                slots.append(aval)
            used.add(slot)
            plan.append(("slot", slot))
        plans.append(plan)
    order = {i: n for n, i in enumerate(passed)}
    known, rest = [], []
    for half, plan in zip(halves, plans, strict=True):
        known.append(_with_slots(half, plan, slots))
        rest.append(_reading(half, plan, order, slots))
    return _Halves(tuple(known), tuple(rest), tuple(slots), tuple(passed), out_marks)


def _with_slots(half: _Half, plan: Sequence[tuple[str, int]], slots: Sequence[Any]) -> ClosedJaxpr:
    jaxpr = half.known.jaxpr
    filled = {slot: v for (kind, slot), v in zip(plan, half.residuals, strict=True) if kind == "slot"}
    outvars = [*jaxpr.outvars[:half.num_outs], *(filled.get(i) for i in range(len(slots)))]
    if None not in outvars:
        return ClosedJaxpr(jaxpr.replace(outvars=outvars, effects=jaxpr.effects), half.known.consts)
    short = Jaxpr(jaxpr.constvars, jaxpr.invars, [v for v in outvars if v is not None], jaxpr.eqns, jaxpr.effects,
                  jaxpr.debug_info)

    def fun(*args: Any) -> list[Any]:
        found = iter(eval_jaxpr(short, half.known.consts, *args))
        fills = [None] * half.num_outs + list(slots)
        return [zeros_of(a) if v is None else next(found) for v, a in zip(outvars, fills, strict=True)]

    return ClosedJaxpr(*trace_to_jaxpr(fun, jaxpr.in_avals, jaxpr.debug_info))


def _reading(half: _Half, plan: Sequence[tuple[str, int]], order: dict[int, int], slots: Sequence[Any]) -> ClosedJaxpr:
    jaxpr = half.rest.jaxpr
    n = len(plan)
    in_avals = half.known.jaxpr.in_avals
    passed: list[Any] = [None] * len(order)
    taken: list[Any] = [None] * len(slots)
    for (kind, i), v in zip(plan, jaxpr.invars, strict=False):
        if kind == "passed":
            passed[order[i]] = v
        else:
            taken[i] = v
    passed = [Var(in_avals[i]) if v is None else v for i, v in zip(order, passed, strict=True)]
    taken = [Var(a) if v is None else v for a, v in zip(slots, taken, strict=True)]
    return ClosedJaxpr(jaxpr.replace(invars=[*passed, *taken, *jaxpr.invars[n:]], effects=jaxpr.effects),
                       half.rest.consts)


def _linearized(branches: Branches, nonzeros: tuple[bool, ...]) -> _Halves:
    return _linearized_halves(branches[0], branches[1:], nonzeros)


@weak_cache(context=no_context)
def _linearized_halves(first: ClosedJaxpr, others: Branches, nonzeros: tuple[bool, ...]) -> _Halves:
    branches = (first, *others)
    splits = [linearize_jaxpr(b, nonzeros) for b in branches]
    marks = _union([s.out_nonzero for s in splits])
    splits = [s if s.out_nonzero == marks else linearize_jaxpr(b, nonzeros, marks)
              for b, s in zip(branches, splits, strict=True)]
    halves = []
    for s in splits:
        primal, n = s.primal.jaxpr, len(marks)
        pools = {"in": primal.invars, "out": primal.outvars[:n], "res": primal.outvars[n:]}
        residuals = [pools[kind][i] for kind, i in s.res_from]
        halves.append(_Half(s.primal, n, residuals, s.tangent))
    return _join(halves, marks)


@weak_cache(context=no_context)
def _partial_halves(first: ClosedJaxpr, others: Branches, unknown: tuple[bool, ...], policy: Any) -> _Halves:
    branches = (first, *others)

    def split(branch: ClosedJaxpr, force: Any) -> partial.PartialJaxprs:
        if policy is partial.save_everything:
            return partial.partial_eval_jaxpr(branch, unknown, force)
        return partial.partial_eval_with_policy(branch, unknown, force, policy)

    parts = [split(b, False) for b in branches]
    marks = _union([p.out_unknown for p in parts])
    parts = [p if list(p.out_unknown) == marks else split(b, marks) for b, p in zip(branches, parts, strict=True)]
    n = len(marks) - sum(marks)
    return _join([_Half(p.known, n, p.known.jaxpr.outvars[n:], p.unknown) for p in parts], marks)


def _linearize(trace: Any, primals: Any, tangents: Any, *, branches: Branches, **params: Any) -> Any:
    if has_tangent_references(tangents):
        return linearize_discharged(trace, cond_p, primals, tangents, dict(params, branches=branches))
    nonzeros = tuple([type(t) is not Zero for t in tangents[1:]])
    halves = _linearized(branches, nonzeros)
    index, *operands = primals
    results = run_in(trace.parent, cond_p.bind, *primals, branches=halves.known, **params)
    outs, slots = pieces(results, len(halves.out_marks))
    found: Any = iter(())
    if any(halves.out_marks):
        args = [index, *(operands[i] for i in halves.passed), *slots, *where(tangents[1:], nonzeros)]
        second = {"branches": halves.rest, **params}
        avals, effects = cond_p.abstract_eval(**second)
        found = iter(trace.tangents.emit(cond_p, args, second, avals, effects))
    return outs, [next(found) if m else Zero.from_primal_value(o) for o, m in zip(outs, halves.out_marks, strict=True)]


def _split(trace: SplitTrace, args: Any, params: dict[str, Any]) -> list[Any]:
    index, *operands = args
    if trace.is_tangent(index):
        return trace.tangents.process(cond_p, args, params)
    branches = params["branches"]
    unknown = tuple([trace.is_tangent(x) for x in operands])
    halves = _partial_halves(branches[0], branches[1:], unknown, partial.save_everything)
    known = without(operands, unknown)
    results = run_in(trace.parent, cond_p.bind, index, *known, **dict(params, branches=halves.known))
    outs, slots = pieces(results, len(halves.out_marks) - sum(halves.out_marks))
    rest = trace.tangents.process(
        cond_p, (index, *(known[i] for i in halves.passed), *slots, *where(operands, unknown)),
        dict(params, branches=halves.rest))
    return interleave(halves.out_marks, rest, outs)


def _partial(policy: Any, unknown: Sequence[bool], eqn: JaxprEqn) -> Any:
    index, *operands = eqn.invars
    if unknown[0]:
        return None, eqn, [True] * len(eqn.outvars), []
    branches = eqn.params["branches"]
    marks = unknown[1:]
    halves = _partial_halves(branches[0], branches[1:], tuple(marks), policy)
    slots = [Var(a) for a in halves.slots]
    known_ins, known_outs = without(operands, marks), without(eqn.outvars, halves.out_marks)
    params = dict(eqn.params, branches=halves.known)
    known = eqn.replace(invars=[index, *known_ins], outvars=[*known_outs, *slots], params=params,
                        effects=cond_p.abstract_eval(**params)[1])
    rest = None
    params = dict(eqn.params, branches=halves.rest)
    effects = cond_p.abstract_eval(**params)[1]
    if any(halves.out_marks) or effects:
        rest = eqn.replace(invars=[index, *(known_ins[i] for i in halves.passed), *slots, *where(operands, marks)],
                           outvars=where(eqn.outvars, halves.out_marks), params=params, effects=effects)
    saved = [*slots, *known_outs] if policy is partial.save_everything else slots
    return known, rest, halves.out_marks, saved


# --- transposition --------------------------------------------------------------------------------------------------

def _transpose(cts: Any, index: Any, *args: Any, branches: Branches, **params: Any) -> list[Any]:
    linear = tuple([type(x) is UndefinedPrimal for x in args])
    live = tuple([type(c) is not Zero for c in cts])
    if not any(live) or not any(linear):
        return [None, *(Zero(x.aval.to_cotangent_aval()) if m else None for x, m in zip(args, linear, strict=True))]
    new, marks = _backward(branches[0], branches[1:], linear, live)
    found = iter(cond_p.bind(index, *without(args, linear), *where(cts, live), branches=new, **params))
    answers = iter([next(found) if m else Zero(x.aval.to_cotangent_aval())
                    for x, m in zip(where(args, linear), marks, strict=True)])
    return [None, *(next(answers) if m else None for m in linear)]


@weak_cache
def _backward(first: ClosedJaxpr, others: Branches, linear: tuple[bool, ...],
              live: tuple[bool, ...]) -> tuple[Branches, Marks]:
    """The transposed branches, and which linear operands get a cotangent."""
    branches = (first, *others)
    pairs = [_backward_branch(b, linear, live, None) for b in branches]
    marks = _union([m for _, m in pairs])
    return tuple([t if m == marks else _backward_branch(b, linear, live, marks)[0]
                  for b, (t, m) in zip(branches, pairs, strict=True)]), marks


def _backward_branch(closed: ClosedJaxpr, linear: tuple[bool, ...], live: tuple[bool, ...],
                     force: Marks | None) -> tuple[ClosedJaxpr, Marks]:
    jaxpr = closed.jaxpr
    avals = jaxpr.in_avals
    given = without(avals, linear)
    ct_avals = [a.to_cotangent_aval() for a in jaxpr.out_avals]
    nonzero: list[bool] = []

    def fun(*flat: Any) -> list[Any]:
        values, cts = iter(flat[:len(given)]), iter(flat[len(given):])
        args = [UndefinedPrimal(a) if m else next(values) for a, m in zip(avals, linear, strict=True)]
        full = [next(cts) if m else Zero(a) for a, m in zip(ct_avals, live, strict=True)]
        found = where(backward_pass(jaxpr, closed.consts, args, full), linear)
        if force is not None:
            found = [instantiate_zeros(c) if m else c for c, m in zip(found, force, strict=True)]
        nonzero.extend(type(c) is not Zero for c in found)
        return [c for c in found if type(c) is not Zero]

    new, consts = trace_to_jaxpr(fun, [*given, *where(ct_avals, live)], jaxpr.debug_info._replace(arg_names=None))
    return ClosedJaxpr(new, consts), nonzero


# --- batching -------------------------------------------------------------------------------------------------------

def _batch(axis: AxisData, args: Any, dims: Any, *, branches: Branches, **params: Any) -> Any:
    index, *operands = args
    index_dim, *operand_dims = dims
    if index_dim is not None and use.begun and any([is_ref_type(typeof(x)) for x in operands]):
        return batch_discharged(axis, cond_p, args, dims, dict(params, branches=branches))
    if index_dim is not None:
        return _select_branch(axis, index, index_dim, operands, operand_dims, branches)
    pairs = [batch_jaxpr_axes(b, axis, operand_dims, False) for b in branches]
    marks = _union([out for _, out in pairs])
    new = tuple([b if out == marks else batch_jaxpr_axes(closed, axis, operand_dims, marks)[0]
                 for closed, (b, out) in zip(branches, pairs, strict=True)])
    outs = cond_p.bind(index, *operands, branches=new, **params)
    return outs, [0 if m else None for m in marks]


def _select_branch(axis: AxisData, index: Any, dim: int, operands: Sequence[Any], dims: Sequence[Any],
                   branches: Branches) -> Any:
    """The examples choose different branches: all run on all examples, and results are selected."""
    for b in branches:
        if any(ordered_effects.contains(e) for e in b.effects):
            raise NotImplementedError("vmap of lax.cond with ordered effects (ordered callbacks, debug.print with "
                                      "ordered=True) is not possible where examples choose different branches")
    index = match_axis(axis.size, dim, 0, index)
    if len(branches) == 2:
        index = ne(index, np.int32(0))
    columns, marks = [], []
    for i, b in enumerate(branches):
        b, held, replay = rules.hold_back(b)
        new, out = batch_jaxpr_axes(b, axis, dims, [True] * held + [False] * (len(b.jaxpr.outvars) - held))
        results = bind_jit(*operands, **call_params(new, "branch", {"inline": True}))
        if held:
            chosen = np.asarray(i, bool if len(branches) == 2 else np.int32)
            replay(eq(index, np.broadcast_to(chosen, (axis.size,))), results[:held])
        columns.append(results[held:])
        marks.append(out[held:])
    outs = []
    for values, batched in zip(zip(*columns, strict=True), zip(*marks, strict=True), strict=True):
        values = [match_axis(axis.size, 0 if m else None, 0, x) for x, m in zip(values, batched, strict=True)]
        shape = typeof(values[0]).shape
        which = index if len(shape) == 1 else broadcast_in_dim(index, shape, (0,))
        outs.append(select_n(which, *values))
    return outs, [0] * len(outs)


# --- dead code ------------------------------------------------------------------------------------------------------

def _dce(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    branches = eqn.params["branches"]
    new, used = _dce_branches(branches[0], branches[1:], tuple(used_outputs))
    if all(used) and all(used_outputs) and all(a is b for a, b in zip(new, branches, strict=True)):
        return [True, *used], eqn
    params = dict(eqn.params, branches=new)
    return [True, *used], eqn.replace(invars=where(eqn.invars, [True, *used]), outvars=where(eqn.outvars, used_outputs),
                                      params=params, effects=cond_p.abstract_eval(**params)[1])


@weak_cache(context=no_context)
def _dce_branches(first: ClosedJaxpr, others: Branches, used_outputs: tuple[bool, ...]) -> tuple[Branches, Marks]:
    branches = (first, *others)
    used = _union([dce_jaxpr(b.jaxpr, used_outputs)[1] for b in branches])
    new = []
    for b in branches:
        jaxpr, _ = dce_jaxpr(b.jaxpr, used_outputs, used)
        new.append(b if jaxpr is b.jaxpr else prune_consts(jaxpr, b.consts))
    return tuple(new), used


def _dependence(eqn: JaxprEqn, marks: Sequence[bool], through: Any) -> Marks:
    if marks[0]:
        return [True] * len(eqn.outvars)
    return _union([reached(b.jaxpr, marks[1:], through) for b in eqn.params["branches"]])


rules.primitive_jvps[cond_p] = _jvp
rules.primitive_linearizations[cond_p] = _linearize
split_rules[cond_p] = _split
rules.partial_eval_rules[cond_p] = _partial
rules.primitive_transposes[cond_p] = _transpose
rules.fancy_primitive_batchers[cond_p] = _batch
rules.dce_rules[cond_p] = _dce
dependence_rules[cond_p] = _dependence
