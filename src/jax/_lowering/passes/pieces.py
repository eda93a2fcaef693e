"""Programs of many small pieces, grouped so that they compile fast.

XLA's CPU compiler makes a kernel of each operation that is left after fusion, and a kernel takes LLVM about 10 ms however
small it is: 500 slices of an array take seconds. And what LLVM does with the arguments of one kernel grows faster than their
number, so that putting 1500 arrays together takes seconds as well. This pass

- computes values that are made alike and put together all at once (:mod:`jax._lowering.passes.packing`);
- puts many arrays together in groups, each of which is a kernel with what only it needs, and then the groups;
- groups the small results of a program, with what only they need, into kernels of a few dozen results each.

A group is a call that XLA compiles as one kernel (:mod:`jax._lowering.passes.cones`), and one thread runs it; so groups take
only what is too small to be spread over threads. Programs for several devices, and the bodies of loops and branches, are
left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jax._base import caching
from jax._language.avals import ShapedArray
from jax._language.effects import no_effects
from jax._language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from jax._lowering.passes import packing
from jax._lowering.passes.cones import (
    Uses,
    call_of,
    groupable,
    is_movement,
    pieces_p,
    places_of_parts,
    small_part,
)
from jax._lowering.passes.dead_code import drop_dead_equations
from jax._lowering.rules import call_bodies, cpu_forms, fusible, platform_rules, structural

FEWEST_RESULTS = 16  # for which grouping pays
RESULTS_IN_GROUP = 32
EQUATIONS_IN_GROUP = 256
FEWEST_JOINED = 512  # fewer compile as fast in one kernel
JOINED_BYTES = 512  # of an operand, on average: groups are copied once more
JOINED_IN_GROUP = 40
# What programs that are compiled without optimisations may move, in elements for each argument and result and in all, and
# how many elements they may compute.
LIGHT_ELEMENTS, LIGHT_TOTAL, LIGHT_WORK = 256, 1 << 15, 4096


def group_pieces(closed: ClosedJaxpr) -> ClosedJaxpr:
    """``closed`` with its small pieces in groups, and joins in the programs that it calls."""
    calls, joins, results = _survey(closed.jaxpr)
    if not (calls or joins or results):
        return closed
    changed = _with_joins(closed, calls, joins)
    if results:
        changed = _with_results(changed)
    return changed


@caching.weak_cache(context=caching.no_context)
def _joined_body(closed: ClosedJaxpr) -> ClosedJaxpr | None:
    form = cpu_forms.get(closed)
    if form is not None:
        return form
    calls, joins, _ = _survey(closed.jaxpr)
    changed = _with_joins(closed, calls, joins) if calls or joins else closed
    return None if changed is closed else changed


def _survey(jaxpr: Jaxpr) -> tuple[bool, bool, bool]:
    """Whether there are calls, joins of many operands, many results that are made by operations worth grouping."""
    eqns = jaxpr.eqns
    calls = any([True for e in eqns if e.primitive in call_bodies])
    joins = any([_is_join(e) for e in eqns if len(e.invars) >= packing.FEWEST])
    if len(jaxpr.outvars) < FEWEST_RESULTS:
        return calls, joins, False
    results = set(jaxpr.outvars)
    made = [e for e in eqns if e.outvars and (e.outvars[0] in results or len(e.outvars) > 1) and e.primitive in fusible]
    return calls, joins, sum([len(results.intersection(e.outvars)) for e in made]) >= FEWEST_RESULTS


# --- joins ------------------------------------------------------------------------------------------------------------

def _with_joins(closed: ClosedJaxpr, calls: bool, joins: bool) -> ClosedJaxpr:
    if calls:
        found = [(i, _with_body(e)) for i, e in enumerate(closed.eqns) if e.primitive in call_bodies]
        if any([new is not closed.eqns[i] for i, new in found]):
            eqns = list(closed.eqns)
            for i, new in found:
                eqns[i] = new
            closed = _with(closed, eqns)
    if not joins:
        return closed
    eqns = _flat(closed.eqns, Uses(closed.jaxpr))
    if eqns is not closed.eqns:
        closed = drop_dead_equations(_with(closed, eqns))
    eqns = _pack(closed.eqns, Uses(closed.jaxpr))
    if eqns is not closed.eqns:
        closed = drop_dead_equations(_with(closed, eqns))
    return _gather(closed)


def _with(closed: ClosedJaxpr, eqns: Sequence[JaxprEqn]) -> ClosedJaxpr:
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns, effects=closed.jaxpr.effects), closed.consts)


def _with_body(eqn: JaxprEqn) -> JaxprEqn:
    name = call_bodies[eqn.primitive]
    body = eqn.params[name]
    if not isinstance(body, ClosedJaxpr) or len(body.eqns) < 16 and body not in cpu_forms \
            and not any(_survey(body.jaxpr)[:2]):
        return eqn
    new: ClosedJaxpr | None = _joined_body(body)
    return eqn if new is None else eqn.replace(params=dict(eqn.params, **{name: new}))


def _is_join(eqn: JaxprEqn) -> bool:
    return eqn.primitive is structural["stack"] or eqn.primitive is structural["concatenate"]


def _flat(eqns: list[JaxprEqn], uses: Uses) -> list[JaxprEqn]:
    """Joins whose operands are again joins along the same axis, which nothing else reads, become one."""
    out: list[JaxprEqn] = []
    changed = False
    for eqn in eqns:
        if eqn.primitive is structural["concatenate"] and len(eqn.invars) > 1:
            inner = [uses.maker.get(v) if type(v) is Var and uses.readers[v] == 1 else None for v in eqn.invars]
            axis = eqn.params["dimension"]
            joined = [None if e is None or not _joins_along(e, axis) else e for e in inner]
            prims = {None if e is None else e.primitive for e in joined}
            operands = [v for own, e in zip(eqn.invars, joined, strict=True) for v in ((own,) if e is None else e.invars)]
            if prims == {structural["stack"]}:
                eqn = eqn.replace(invars=operands, primitive=structural["stack"], params={"axis": axis})
            elif structural["stack"] not in prims and len(operands) > len(eqn.invars):
                eqn = eqn.replace(invars=operands)
            if eqn is not uses.maker[eqn.outvars[0]]:
                changed = True
                uses.maker[eqn.outvars[0]] = eqn
        out.append(eqn)
    return out if changed else eqns


def _joins_along(eqn: JaxprEqn, axis: int) -> bool:
    return _is_join(eqn) and eqn.params["axis" if eqn.primitive is structural["stack"] else "dimension"] == axis


def _pack(eqns: list[JaxprEqn], uses: Uses) -> list[JaxprEqn]:
    """Joins of values that are made alike become computations on arrays. What is needed no more stays for now."""
    out: list[JaxprEqn] = []
    changed = False
    for eqn in eqns:
        if len(eqn.invars) >= packing.FEWEST and _is_join(eqn):
            found = packing.packed(eqn, uses)
            if found is not None:
                changed = True
                for new in found:
                    uses.add(new)
                out.extend(found)
                continue
        out.append(eqn)
    return out if changed else eqns


def _gather(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Joins of many small operands become joins of groups."""
    eqns = closed.jaxpr.eqns
    if not any([len(e.invars) >= FEWEST_JOINED and _is_join(e) for e in eqns]):
        return closed
    uses = Uses(closed.jaxpr)
    order = {id(e): i for i, e in enumerate(eqns)}
    new: dict[int, list[JaxprEqn]] = {}
    gone: set[int] = set()
    overrides = platform_rules(("cpu",))
    for eqn in eqns:
        if len(eqn.invars) < FEWEST_JOINED or not _is_join(eqn) or not groupable(eqn, overrides):
            continue
        aval = eqn.outvars[0].aval
        if aval.size * aval.dtype.itemsize > len(eqn.invars) * JOINED_BYTES:
            continue
        new[id(eqn)] = _Join(eqn, uses, order, overrides, gone).groups()
    if not new:
        return closed
    out: list[JaxprEqn] = []
    for eqn in eqns:
        if id(eqn) in new:
            out.extend(new[id(eqn)])
        elif id(eqn) not in gone:
            out.append(eqn)
    return _with(closed, out)


class _Join:
    """A join of many operands, by groups."""

    def __init__(self, join: JaxprEqn, uses: Uses, order: dict[int, int], overrides: Any, gone: set[int]) -> None:
        self.join = join
        self.uses = uses
        self.order = order
        self.overrides = overrides
        self.gone = gone
        self.stacked = join.primitive is structural["stack"]
        self.axis = join.params["axis" if self.stacked else "dimension"]
        self.eqns: list[JaxprEqn] = []

    def groups(self) -> list[JaxprEqn]:
        """The equations in its place. Arrays of one shape are put along a first axis, which is cheap, and that is moved."""
        join = self.join
        out = join.outvars[0]
        parts: Sequence[Any] = join.invars
        shape, count, target = parts[0].aval.shape, len(parts), self.axis
        moved = (self.stacked or target > 0) and len({v.aval.shape for v in parts}) == 1
        # Along the first axis arrays are copied as they are; numbers have none.
        prim = join.primitive if shape == () or not moved else structural["concatenate"]
        axis = 0 if moved else target
        parts = self._level(parts, prim, axis, True)
        while len(parts) > 2 * JOINED_IN_GROUP:
            parts = self._level(parts, structural["concatenate"], axis, False)
        whole = self._concatenated(parts, axis)
        if moved:
            whole = self._reshaped(whole, (count, *shape))
            if target:
                order = (*range(1, target + 1), 0, *range(target + 1, len(shape) + 1))
                whole = self._write("transpose", [whole], (*shape[:target], count, *shape[target:]), permutation=order)
            self._reshaped(whole, out.aval.shape)
        self.eqns[-1] = self.eqns[-1].replace(outvars=[out])
        return self.eqns

    def _reshaped(self, v: Any, shape: tuple[int, ...]) -> Any:
        return v if v.aval.shape == shape else self._write("reshape", [v], shape, new_sizes=shape, dimensions=None,
                                                           sharding=None)

    def _level(self, parts: Sequence[Any], prim: Any, axis: int, with_cones: bool) -> list[Any]:
        groups = -(-len(parts) // JOINED_IN_GROUP)
        size = -(-len(parts) // groups)
        return [self._group(parts[i:i + size], prim, axis, with_cones) for i in range(0, len(parts), size)]

    def _group(self, parts: Sequence[Any], prim: Any, axis: int, with_cone: bool) -> Any:
        dtype = self.join.outvars[0].aval.dtype
        shape = parts[0].aval.shape
        if prim is structural["stack"]:
            shape, params = (*shape[:axis], len(parts), *shape[axis:]), {"axis": axis}
        else:
            total = sum([v.aval.shape[axis] for v in parts])
            shape, params = (*shape[:axis], total, *shape[axis + 1:]), {"dimension": axis}
        part = Var(ShapedArray(shape, dtype))
        eqn = JaxprEqn(list(parts), [part], prim, params, no_effects, self.join.source_info)
        inner: list[JaxprEqn] = []
        if with_cone:
            cone = self.uses.cone(parts, lambda e: id(e) in self.order and groupable(e, self.overrides))
            inner = small_part(sorted(cone, key=lambda e: self.order[id(e)]))
        call = call_of([*inner, eqn], [part], self.join)
        if call is None:
            call, inner = call_of([eqn], [part], self.join), []
        self.gone.update(map(id, inner))
        self.eqns.append(call or eqn)
        return part

    def _concatenated(self, parts: Sequence[Any], axis: int) -> Any:
        shape = list(parts[0].aval.shape)
        shape[axis] = sum([v.aval.shape[axis] for v in parts])
        return self._write("concatenate", parts, tuple(shape), dimension=axis)

    def _write(self, name: str, operands: Sequence[Any], size: tuple[int, ...], /, **params: Any) -> Any:
        var = Var(ShapedArray(size, self.join.outvars[0].aval.dtype))
        self.eqns.append(JaxprEqn(list(operands), [var], structural[name], params, no_effects, self.join.source_info))
        return var


# --- results ----------------------------------------------------------------------------------------------------------

def _with_results(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The results that are small pieces, and what only they need, at the end of the program, in groups."""
    jaxpr = closed.jaxpr
    eqns = [new for eqn in jaxpr.eqns for new in _in_slices(eqn)]
    uses = Uses(jaxpr if len(eqns) == len(jaxpr.eqns) else jaxpr.replace(eqns=eqns, effects=jaxpr.effects))
    overrides = platform_rules(("cpu",))
    order = {id(e): i for i, e in enumerate(eqns)}
    cone = uses.cone(jaxpr.outvars, lambda e: groupable(e, overrides))
    pieces = small_part(sorted(cone, key=lambda e: order[id(e)]))
    inside = {id(e): e for e in pieces}
    roots = [v for v in dict.fromkeys(jaxpr.outvars) if type(v) is not Literal and id(uses.maker.get(v)) in inside]
    if len(roots) < FEWEST_RESULTS:
        return closed
    groups = _grouped(roots, inside, uses, order)
    results = set(roots)
    read_by: dict[Any, int] = {}
    for number in reversed(range(len(groups))):
        for eqn in groups[number]:
            for v in eqn.invars:
                read_by.setdefault(v, number)  # the last group that reads it
    tail: list[JaxprEqn] = []
    for number, group in enumerate(groups):
        made = [v for e in group for v in e.outvars if v in results or read_by.get(v, -1) > number]
        call = call_of(group, made, group[0])
        tail.extend(group if call is None else [call])
    kept = [e for e in eqns if id(e) not in inside]
    return _with(closed, [*kept, *tail])


def _in_slices(eqn: JaxprEqn) -> list[JaxprEqn]:
    """An array that is split in many parts, by a slice for each."""
    prim = eqn.primitive
    split = prim is structural["split"]
    if not (split or prim is structural["unstack"]) or len(eqn.outvars) < FEWEST_RESULTS \
            or not all([type(n) is int for n in eqn.invars[0].aval.shape]):
        return [eqn]
    out: list[JaxprEqn] = []
    for v, (starts, sizes) in zip(eqn.outvars, places_of_parts(eqn), strict=True):
        part = v if split else Var(ShapedArray(sizes, v.aval.dtype))
        limits = tuple([s + n for s, n in zip(starts, sizes, strict=True)])
        out.append(JaxprEqn(eqn.invars, [part], structural["slice"],
                            {"start_indices": starts, "limit_indices": limits, "strides": None}, no_effects,
                            eqn.source_info, eqn.settings))
        if not split:
            out.append(JaxprEqn([part], [v], structural["squeeze"], {"dimensions": (eqn.params["axis"],)}, no_effects,
                                eqn.source_info, eqn.settings))
    return out


def _grouped(roots: Sequence[Any], inside: dict[int, JaxprEqn], uses: Uses, order: dict[int, int]) -> list[list[JaxprEqn]]:
    """Each root's equations that no earlier one has needed, some dozens of roots together, in program order."""
    left = dict(inside)
    groups: list[list[JaxprEqn]] = []
    group: list[JaxprEqn] = []
    count = 0
    for root in roots:
        todo = [root]
        while todo:
            eqn = left.pop(id(uses.maker.get(todo.pop())), None)
            if eqn is not None:
                group.append(eqn)
                todo.extend([v for v in eqn.invars if type(v) is not Literal])
        count += 1
        if count == RESULTS_IN_GROUP or len(group) > EQUATIONS_IN_GROUP:
            groups.append(group)
            group, count = [], 0
    groups.append(group)
    return [sorted(g, key=lambda e: order[id(e)]) for g in groups if g]


# --- how to compile ----------------------------------------------------------------------------------------------------

def compiles_without_optimising(closed: ClosedJaxpr, program: ClosedJaxpr) -> bool:
    """Whether a program of many pieces, of which the passes made ``program``, does so little that optimising is no use."""
    return is_light(program) and any(_survey(closed.jaxpr)[1:])


def is_light(closed: ClosedJaxpr) -> bool:
    """Whether a program moves little data for its number of arguments and results, and computes next to nothing."""
    jaxpr = closed.jaxpr
    moved = sum([v.aval.size for v in jaxpr.outvars])
    if moved > min(LIGHT_TOTAL, LIGHT_ELEMENTS * (len(jaxpr.invars) + len(jaxpr.outvars))):
        return False
    work = 0
    for eqn in _all_equations(jaxpr):
        if is_movement(eqn):
            continue
        if eqn.primitive not in fusible:
            return False
        work += sum([v.aval.size for v in eqn.outvars])
    return work <= LIGHT_WORK


def _all_equations(jaxpr: Jaxpr) -> Iterator[JaxprEqn]:
    for eqn in jaxpr.eqns:
        if eqn.primitive is pieces_p:
            yield from eqn.params["jaxpr"].eqns
        else:
            yield eqn
