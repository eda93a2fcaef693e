"""Discharging references: a program that changes arrays in place becomes one that takes and returns their values.

``discharged(closed, marks)`` gives, for the marked arguments (references), a program with the arrays in their place,
which returns besides its results the last values of those that it changes. References that a program makes itself
disappear in any case. Programs are run, and transposed, in this form.

The pass walks the equations once. Those that have nothing to do with references stay the objects they are; the others
are rewritten by the rules in ``rules.discharge_rules``, which see a :class:`Cell` where the reference was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._base import source as source_info
from jax._base.caching import weak_cache
from jax._language import rules
from jax._language.avals import typeof
from jax._language.effects import writes
from jax._language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, jaxprs_in_params
from jax._language.refs import identity, is_ref_type, use
from jax._language.staging import StagedTracer, StagingTrace
from jax._language.trace import entering


class Cell:
    """The value of a reference while its program is discharged."""

    __slots__ = ("aval", "_value", "changed", "gone")

    def __init__(self, aval: Any, value: Any) -> None:
        self.aval = aval
        self._value = value
        self.changed = False
        self.gone = ""

    @property
    def value(self) -> Any:
        if self.gone:
            raise ValueError(f"a reference of type {self.aval.str_short()} is used after it {self.gone}")
        return self._value

    @value.setter
    def value(self, new: Any) -> None:
        have = typeof(new)
        if have.shape != self.aval.shape or have.dtype != self.aval.dtype:
            raise TypeError(f"a reference of type {self.aval.str_short()} cannot hold {have.str_short()}")
        self._value = new
        self.changed = True


class Discharged:
    """A discharged program.

    Attributes:
      closed: the program; after the results of the original one it returns the last values of what it changes.
      changed: the positions of the arguments whose last values are returned.
    """

    __slots__ = ("closed", "changed")

    def __init__(self, closed: ClosedJaxpr, changed: tuple[int, ...]) -> None:
        self.closed = closed
        self.changed = changed


def discharged(closed: ClosedJaxpr, marks: Sequence[bool] | None = None) -> Discharged:
    """``closed`` with arrays for the marked arguments (all that are references, by default)."""
    if not use.begun:
        return Discharged(closed, ())
    if marks is None:
        marks = [is_ref_type(a) for a in closed.in_avals]
    marks = tuple(marks)
    if True not in marks and not makes_references(closed.jaxpr):
        return Discharged(closed, ())
    return _discharge(closed, marks)


def without_own_references(closed: ClosedJaxpr) -> ClosedJaxpr:
    """``closed`` without the references that it makes itself; those that it is given stay."""
    if not use.begun or not makes_references(closed.jaxpr):
        return closed
    return _discharge(closed, (False,) * len(closed.jaxpr.invars)).closed


@weak_cache
def makes_references(jaxpr: Jaxpr) -> bool:
    """Whether a program, or one inside it, makes a reference."""
    for eqn in jaxpr.eqns:
        if eqn.primitive.ref_primitive and eqn.primitive.makes:
            return True
        if eqn.primitive.abstract_cache is None and any([makes_references(j) for j in jaxprs_in_params(eqn.params)]):
            return True
    return False


@weak_cache
def _discharge(closed: ClosedJaxpr, marks: tuple[bool, ...]) -> Discharged:
    jaxpr = closed.jaxpr
    walk = _Walk(closed)
    trace, cells = walk.trace, []
    for i, (v, marked) in enumerate(zip(jaxpr.invars, marks, strict=True)):
        if marked:
            cell = Cell(v.aval, trace.new_arg(v.aval.inner_aval))
            walk.env[v] = cell
            cells.append((i, cell))
        else:
            trace.invars.append(v)
    with entering(trace):
        for eqn in jaxpr.eqns:
            walk.step(eqn)
    last = [(i, cell) for i, cell in cells if cell.changed]
    outvars = [*(walk.atom(v) for v in jaxpr.outvars), *(trace.atom(cell.value) for _, cell in last)]
    trace.finished = True
    new = Jaxpr(trace.constvars, trace.invars, outvars, trace.eqns, None, jaxpr.debug_info)
    return Discharged(ClosedJaxpr(new, trace.consts), tuple([i for i, _ in last]))


class _Walk:
    """The equations written so far, and what the variables of the original program have become."""

    __slots__ = ("trace", "env")

    def __init__(self, closed: ClosedJaxpr) -> None:
        self.trace = StagingTrace(closed.jaxpr.debug_info)
        self.trace.constvars = list(closed.jaxpr.constvars)
        self.trace.consts = list(closed.consts)
        self.env: dict[Any, Any] = {}  # a variable that is not in it is what it was

    def step(self, eqn: JaxprEqn) -> None:
        env, prim = self.env, eqn.primitive
        found = [None if type(v) is Literal else env.get(v) for v in eqn.invars]
        if (prim.ref_primitive and prim.makes) or any([type(x) is Cell for x in found]):
            rule = rules.discharge_rules.get(prim)
            if rule is None:
                raise NotImplementedError(f"the primitive {prim} is given a reference, but has no rule to discharge it")
            args = [self._value(v, x) for v, x in zip(eqn.invars, found, strict=True)]
            _check_distinct(eqn, args)
            with source_info.user_context(eqn.source_info):
                outs = rule(args, eqn.params)
            env.update(zip(eqn.outvars, outs if prim.multiple_results else [outs], strict=True))
            return
        params = eqn.params
        if prim.abstract_cache is None:
            params = _simplified(params)
        if params is not eqn.params or any([x is not None for x in found]):
            eqn = eqn.replace(params=params, invars=[v if x is None else self.trace.atom(x)
                                                     for v, x in zip(eqn.invars, found, strict=True)])
        self.trace.eqns.append(eqn)

    def _value(self, v: Any, found: Any) -> Any:
        if type(v) is Literal:
            return v.val
        return StagedTracer(self.trace, v.aval, v) if found is None else found

    def atom(self, v: Any) -> Any:
        found = None if type(v) is Literal else self.env.get(v)
        return v if found is None else self.trace.atom(found)


def _check_distinct(eqn: JaxprEqn, args: Sequence[Any]) -> None:
    """Raises if a program in an equation changes a reference that it has under two names."""
    changed = {id(args[i]) for i in writes(eqn.effects)}
    cells = [id(x) for x in args if type(x) is Cell]
    if any([cells.count(c) > (2 if eqn.primitive.name == "while" else 1) for c in changed]):
        raise ValueError(f"{eqn.primitive} ({source_info.summarize(eqn.source_info.traceback)}) changes a reference that it "
                         "is given, or closes over, in two ways: as an argument, and in a derivative rule (custom_jvp, "
                         "custom_vjp) that closes over it. Pass it to the function with the rule.")


def _simplified(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters in which jaxprs make no references."""
    changed = {name: new for name, value in params.items() if (new := _simplified_value(value)) is not value}
    return {**params, **changed} if changed else params


def _simplified_value(value: Any) -> Any:
    if type(value) is ClosedJaxpr:
        return without_own_references(value)
    if type(value) is Jaxpr and makes_references(value):
        return without_own_references(ClosedJaxpr(value, ())).jaxpr
    if type(value) is tuple and any([type(v) is ClosedJaxpr for v in value]):
        new = tuple([_simplified_value(v) for v in value])
        return new if any([a is not b for a, b in zip(new, value, strict=True)]) else value
    return value


def call_discharged(closed: ClosedJaxpr, args: Sequence[Any], call: Any) -> list[Any]:
    """The rule of primitives that call one jaxpr on their operands: ``call(jaxpr, values)`` binds the pure call."""
    pure = discharged(closed, [type(x) is Cell for x in args])
    outs = call(pure.closed, [x.value if type(x) is Cell else x for x in args])
    n = len(outs) - len(pure.changed)
    for i, new in zip(pure.changed, outs[n:], strict=True):
        args[i].value = new
    return outs[:n]


def apply_discharged(prim: Any, args: Sequence[Any], params: dict[str, Any], marks: Sequence[bool],
                     read: Callable[[Any], Any], write: Callable[[Any, Any], Any]) -> Any:
    """Applies ``prim`` to the values of the marked references: ``read`` before it, and written, if changed, after it."""
    cells: dict[int, tuple[Any, Cell]] = {}
    operands = []
    for x, marked in zip(args, marks, strict=True):
        if marked:
            # A loop may name a reference twice, for its condition and its body.
            key = identity(x)
            if key not in cells:
                cells[key] = (x, Cell(typeof(x), read(x)))
            x = cells[key][1]
        operands.append(x)
    outs = rules.discharge_rules[prim](operands, params)
    for ref, cell in cells.values():
        if cell.changed:
            write(ref, cell.value)
    return outs


__all__ = ["Cell", "Discharged", "apply_discharged", "call_discharged", "discharged", "makes_references",
           "without_own_references"]
