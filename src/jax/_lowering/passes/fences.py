"""Fences against repeated work.

XLA's CPU compiler fuses element-wise producers into each of their consumers and computes them again in every one. Along
a deep residual program what is repeated grows with depth, and with it the time of compiling and of running: both become
quadratic. A fence behind a value (see :mod:`jax._lowering.barriers`) has it computed once and kept.

The pass walks the equations in order. For a value that only element-wise and shape operations separate from values that
are kept in memory anyway (arguments, products, reductions ...) it counts the kept values that computing it again would
read, and the operations that would be repeated. A value with several readers for which either count is above its
threshold is fenced, and is a kept value from there on. If one of the readers needs the value in memory in any case (a
matrix product, a loop, the caller), then keeping it costs nothing, and lower thresholds hold.

Calls are seen through; bodies of loops and branches are programs of their own. Results are unchanged but for rounding:
LLVM contracts products and sums across operations that are fused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from jax._base import caching
from jax._language.effects import no_effects
from jax._language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from jax._language.primitive import Primitive
from jax._lowering import barriers
from jax._lowering.rules import call_bodies, fusible, inner_bodies, reducing, register_lowering, run_weights

# How much may be read and repeated by several readers, and where the value is in memory anyway: chosen by compile and run
# times of benchmarks/models/suite.py.
MAX_READS, MAX_OPERATIONS = 3, 12
MAX_READS_KEPT, MAX_OPERATIONS_KEPT = 2, 3
# Keeping a value that is not in memory anyway has a price, a loop of its own; so it has to save at least this much.
LEAST_REPEATED = 4
# Arrays of fewer elements take no time to compute again (``run_weights``); another loop does, to compile.
LEAST_SIZE = 1024
# In loops a fence costs some microseconds: as much as this many repeated operations on one element.
LEAST_WORK_IN_LOOPS = 20_000

_NOTHING: frozenset[Any] = frozenset()

fence_p = Primitive("fence")
fence_p.def_abstract_eval(lambda aval: aval)
register_lowering(fence_p, lambda ctx, x: [barriers.fence(ctx, x)])


class Summary(NamedTuple):
    """A fenced program and what callers that see through it need to know.

    ``jaxpr`` is None where nothing changed. ``readers`` and ``kept`` say so of each argument. Of each result, ``origins``
    has the positions of the arguments that it is computed from, how many other kept values, and the operations.
    """

    jaxpr: Jaxpr | None
    readers: tuple[int, ...]
    kept: tuple[bool, ...]
    origins: tuple[tuple[tuple[int, ...], int, int], ...]


def fence(closed: ClosedJaxpr) -> ClosedJaxpr:
    """``closed`` with fences, in the programs that it calls too."""
    fenced: Jaxpr | None = summarize(closed.jaxpr, False).jaxpr
    return closed if fenced is None else ClosedJaxpr(fenced, closed.consts)


@caching.weak_cache(context=caching.no_context)
def summarize(jaxpr: Jaxpr, repeated: bool) -> Summary:
    """Fences in ``jaxpr``, which may be part of a loop; remembered, so that what is called twice is still one program."""
    return _Walk(jaxpr, repeated).run()


@caching.weak_cache(context=caching.no_context)
def _fenced_closed(closed: ClosedJaxpr, repeated: bool) -> ClosedJaxpr | None:
    fenced: Jaxpr | None = summarize(closed.jaxpr, repeated).jaxpr
    return None if fenced is None else ClosedJaxpr(fenced, closed.consts)


class _Walk:
    """One pass over the equations of a program.

    Per variable: how many equations read it, whether one of them needs it in memory, and what computing it again takes,
    the kept values it reads (``reads``) and the operations it repeats (``work``). What is not in ``reads`` is kept itself.
    """

    def __init__(self, jaxpr: Jaxpr, repeated: bool) -> None:
        self.jaxpr = jaxpr
        self.repeated = repeated
        self.readers: dict[Any, int] = {}
        self.kept: set[Any] = set()
        self.calls: dict[int, Summary] = {}  # by position of the equation
        self.reads: dict[Any, frozenset[Any]] = {}
        self.work: dict[Any, int] = {}
        self.eqns: list[JaxprEqn] = []
        self.changed = False

    def run(self) -> Summary:
        jaxpr = self.jaxpr
        self._count_readers()
        self._walk()
        arguments = {v: i for i, v in enumerate(jaxpr.invars)}
        return Summary(
            jaxpr.replace(eqns=self.eqns, effects=jaxpr.effects) if self.changed else None,
            tuple([self.readers.get(v, 0) for v in jaxpr.invars]),
            tuple([v in self.kept for v in jaxpr.invars]),
            tuple([self._origin_by_argument(v, arguments) for v in jaxpr.outvars]))

    def _count_readers(self) -> None:
        readers, kept = self.readers, self.kept  # literals are counted along; nobody asks for them
        get = readers.get
        for i, eqn in enumerate(self.jaxpr.eqns):
            prim = eqn.primitive
            if prim in fusible or prim in reducing:
                for v in eqn.invars:
                    readers[v] = get(v, 0) + 1
            elif prim in call_bodies:
                summary: Summary = summarize(eqn.params[call_bodies[prim]].jaxpr, self.repeated)
                self.calls[i] = summary
                for v, count, needed in zip(eqn.invars, summary.readers, summary.kept, strict=True):
                    readers[v] = get(v, 0) + count
                    if needed:
                        kept.add(v)
            else:
                for v in eqn.invars:
                    readers[v] = get(v, 0) + 1
                    kept.add(v)
        for v in self.jaxpr.outvars:
            readers[v] = get(v, 0) + 1
            kept.add(v)

    def _walk(self) -> None:
        reads, work, readers = self.reads, self.work, self.readers
        for i, eqn in enumerate(self.jaxpr.eqns):
            prim = eqn.primitive
            operations = fusible.get(prim)
            if operations is not None:
                if prim in run_weights and math.prod(eqn.outvars[0].aval.shape) >= LEAST_SIZE:
                    operations = run_weights[prim]
                found = _NOTHING
                for v in eqn.invars:
                    if type(v) is Literal:
                        continue
                    own = reads.get(v)
                    if own is None:
                        if v.aval.shape:  # numbers are not counted: they are in registers
                            own = reads[v] = frozenset((v,))
                        else:
                            continue
                    else:
                        operations += work.get(v, 0)
                    if found is not own:
                        found = found | own if found else own
                results = eqn.outvars
                if len(results) == 1:
                    v = results[0]
                    if readers.get(v, 0) < 2 or not self._too_much(v, found, operations):
                        reads[v] = found
                        work[v] = operations
                        self.eqns.append(eqn)
                        continue
                self._define(eqn, [(found, operations)] * len(results))
            elif i in self.calls:
                self._call(eqn, self.calls[i])
            elif prim in inner_bodies:
                self._inner(eqn)
            else:
                self.eqns.append(eqn)

    def _origin(self, v: Any) -> tuple[frozenset[Any], int]:
        if type(v) is Literal or not (v.aval.shape or v in self.reads):
            return _NOTHING, 0
        return self.reads.get(v) or frozenset((v,)), self.work.get(v, 0)

    def _origin_by_argument(self, v: Any, arguments: dict[Any, int]) -> tuple[tuple[int, ...], int, int]:
        reads, operations = self._origin(v)
        given = tuple([arguments[r] for r in reads if r in arguments])
        return given, len(reads) - len(given), operations

    def _call(self, eqn: JaxprEqn, summary: Summary) -> None:
        if summary.jaxpr is not None:
            eqn = self._with_body(eqn, call_bodies[eqn.primitive], self.repeated)
        origins = []
        for k, (positions, others, operations) in enumerate(summary.origins):
            reads = frozenset([(id(eqn), k, j) for j in range(others)])
            for i in positions:
                more, before = self._origin(eqn.invars[i])
                reads |= more
                operations += before
            origins.append((reads, operations))
        self._define(eqn, origins)

    def _define(self, eqn: JaxprEqn, origins: Sequence[tuple[frozenset[Any], int]]) -> None:
        """Adds the equation, and fences behind those of its results that need them."""
        fences = []
        for k, (v, (reads, operations)) in enumerate(zip(eqn.outvars, origins, strict=True)):
            if self.readers.get(v, 0) > 1 and self._too_much(v, reads, operations):
                fences.append(k)
            else:
                self.reads[v], self.work[v] = reads, operations
        if not fences:
            self.eqns.append(eqn)
            return
        self.changed = True
        outvars = list(eqn.outvars)
        for k in fences:
            outvars[k] = Var(outvars[k].aval)
        self.eqns.append(eqn.replace(outvars=outvars))
        for k in fences:
            self.eqns.append(JaxprEqn([outvars[k]], [eqn.outvars[k]], fence_p, {}, no_effects, eqn.source_info))

    def _too_much(self, v: Any, reads: frozenset[Any], operations: int) -> bool:
        if self.repeated and operations * math.prod(v.aval.shape) * (self.readers[v] - 1) < LEAST_WORK_IN_LOOPS:
            return False
        if v in self.kept:
            return len(reads) > MAX_READS_KEPT or operations > MAX_OPERATIONS_KEPT
        if operations * (self.readers[v] - 1) < LEAST_REPEATED:
            return False
        return len(reads) > MAX_READS or operations > MAX_OPERATIONS

    def _inner(self, eqn: JaxprEqn) -> None:
        names, repeated = inner_bodies[eqn.primitive]
        for name in names:
            eqn = self._with_body(eqn, name, self.repeated or repeated)
        self.eqns.append(eqn)

    def _with_body(self, eqn: JaxprEqn, name: str, repeated: bool) -> JaxprEqn:
        old = eqn.params[name]
        new: Any = tuple([_body(b, repeated) for b in old]) if isinstance(old, tuple) else _body(old, repeated)
        if new is old or new == old:
            return eqn
        self.changed = True
        return eqn.replace(params=dict(eqn.params, **{name: new}))


def _body(program: Any, repeated: bool) -> Any:
    if isinstance(program, ClosedJaxpr):
        return _fenced_closed(program, repeated) or program
    return summarize(program, repeated).jaxpr or program
