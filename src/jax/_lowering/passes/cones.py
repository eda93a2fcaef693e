"""What programs are cut by: who reads a value, what only some values need, calls that are compiled as one kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from jax._base import source
from jax._language.avals import ShapedArray
from jax._language.effects import no_effects
from jax._language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, SourceInfo, Var, default_eqn_context
from jax._language.primitive import Primitive
from jax._lowering.kernels import ONE_KERNEL
from jax._lowering.rules import elementwise_ops, fusible, register_lowering, structural
from jax._lowering.subprograms import call_jaxpr

# XLA spreads the work of an operation over threads when it takes long enough, which it cannot do within a kernel. These
# bounds are below its own: bytes that are moved, and its estimate of the cost of arithmetic.
MOVED_BYTES = 16 * 1024
ARITHMETIC_COST = 120_000
_ITEM_BYTES = 10  # what XLA's estimate counts a byte as

pieces_p = Primitive("pieces", multiple_results=True)
pieces_p.def_abstract_eval(lambda *avals, jaxpr: [v.aval for v in jaxpr.outvars])


def _lower_pieces(ctx: Any, *values: Any, jaxpr: Jaxpr) -> Sequence[Any]:
    return call_jaxpr(ctx, "pieces", ClosedJaxpr(jaxpr, ()), values, ONE_KERNEL)


register_lowering(pieces_p, _lower_pieces)


class Uses:
    """Of the variables of a program: which equation makes each, and how often they are read."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.maker: dict[Any, JaxprEqn] = {}
        self.readers: dict[Any, int] = {}
        self._places: dict[int, Any] = {}
        for eqn in jaxpr.eqns:
            self.add(eqn)
        for v in jaxpr.outvars:
            self.readers[v] = self.readers.get(v, 0) + 1

    def add(self, eqn: JaxprEqn) -> None:
        readers = self.readers
        for v in eqn.invars:
            readers[v] = readers.get(v, 0) + 1  # literals are counted along; nobody asks for them
        for v in eqn.outvars:
            self.maker[v] = eqn

    def place(self, eqn: JaxprEqn, v: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Where the result ``v`` of a split or unstacked array is in that array: starts and sizes."""
        found = self._places.get(id(eqn))
        if found is None:
            found = self._places[id(eqn)] = dict(zip(eqn.outvars, places_of_parts(eqn), strict=True))
        return found[v]

    def cone(self, roots: Iterable[Any], accept: Callable[[JaxprEqn], bool]) -> list[JaxprEqn]:
        """Accepted equations that only ``roots`` need, each of which stands for one reading; the last ones first."""
        left: dict[Any, int] = {}
        found: list[JaxprEqn] = []
        todo = [v for v in roots if type(v) is not Literal]
        readers, maker = self.readers, self.maker
        while todo:
            v = todo.pop()
            left[v] = count = left.get(v, readers[v]) - 1
            eqn = maker.get(v)
            if count or eqn is None:
                continue
            if any([left.get(u, readers.get(u, 0)) for u in eqn.outvars]) or not accept(eqn):
                continue
            found.append(eqn)
            todo.extend([u for u in eqn.invars if type(u) is not Literal])
        return found


def places_of_parts(eqn: JaxprEqn) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Of each result of a split or unstacked array, starts and sizes of the slice that it is."""
    shape, axis = eqn.invars[0].aval.shape, eqn.params["axis"]
    sizes = eqn.params["sizes"] if eqn.primitive is structural["split"] else [1] * shape[axis]
    found, start = [], 0
    for n in sizes:
        found.append(((*[0] * axis, start, *[0] * (len(shape) - axis - 1)), (*shape[:axis], n, *shape[axis + 1:])))
        start += n
    return found


def groupable(eqn: JaxprEqn, overrides: Any) -> bool:
    """Whether the equation may be part of a kernel: data movement or plain arithmetic on ordinary arrays."""
    prim = eqn.primitive
    if prim not in fusible or prim in overrides or eqn.effects or eqn.settings is not default_eqn_context:
        return False
    operation = elementwise_ops.get(prim)
    if operation is None:
        if fusible[prim] and prim not in _plain():
            return False
    elif not operation.startswith("stablehlo."):
        return False
    for v in (*eqn.invars, *eqn.outvars):
        aval = v.aval
        if type(aval) is not ShapedArray or not _ordinary(aval):
            return False
    return not source.tags_of(eqn.source_info.name_stack)


def _plain() -> tuple[Any, ...]:
    return (structural["concatenate"], structural["stack"], structural["convert_element_type"], structural["select_n"],
            structural["pad"], structural["max"], structural["min"])


def _ordinary(aval: ShapedArray) -> bool:
    """Numbers of whole bytes, with known sizes, in ordinary memory."""
    dtype = aval.dtype
    if not isinstance(dtype, np.dtype) or dtype.kind not in "biufc" and dtype.name != "bfloat16":
        return False
    if aval.sharding is not None or aval.memory_space is not None or aval.vma:
        return False
    return all([type(n) is int for n in aval.shape])


def small_part(eqns: Sequence[JaxprEqn]) -> list[JaxprEqn]:
    """Those of ``eqns``, in program order, that one thread does in no time, and that no others of them read."""
    cost: dict[Any, tuple[int, bool]] = {}
    kept, blocked = [], set()
    for eqn in eqns:
        if not _is_small(eqn, cost):
            blocked.update([v for v in eqn.invars if type(v) is not Literal])
    for eqn in reversed(eqns):
        if eqn.outvars[0] not in cost or any([v in blocked for v in eqn.outvars]):
            blocked.update([v for v in eqn.invars if type(v) is not Literal])
        else:
            kept.append(eqn)
    kept.reverse()
    return kept


def _is_small(eqn: JaxprEqn, cost: dict[Any, tuple[int, bool]]) -> bool:
    """Enters in ``cost`` what XLA may take the work for, if all that leads here is fused, and whether data only moves."""
    before, moves = 0, True
    for v in eqn.invars:
        if type(v) is not Literal and v in cost:
            more, only_moves = cost[v]
            before += more
            moves = moves and only_moves
    weight = fusible[eqn.primitive]
    moves = moves and is_movement(eqn)
    entries = {}
    for v in eqn.outvars:
        n = v.aval.size
        size = n * v.aval.dtype.itemsize
        own = before + _ITEM_BYTES * size + 3 * weight * n
        if size > MOVED_BYTES or not moves and own > ARITHMETIC_COST:
            return False
        entries[v] = (own, moves)
    cost.update(entries)
    return True


def is_movement(eqn: JaxprEqn) -> bool:
    """Whether elements are moved and nothing is computed."""
    prim = eqn.primitive
    return fusible.get(prim, 1) == 0 or prim is structural["concatenate"] or prim is structural["stack"]


# Of floats: XLA never finds results of these without looking at the operands.
_KEPT_ARITHMETIC = frozenset(("stablehlo.add", "stablehlo.subtract", "stablehlo.multiply", "stablehlo.negate",
                              "stablehlo.exponential", "stablehlo.log", "stablehlo.tanh", "stablehlo.sqrt"))
_WHOLE, _PART = 2, 1


def reads_all(eqns: Sequence[JaxprEqn], results: Sequence[Any], given: Iterable[Any]) -> bool:
    """Whether ``results`` cannot be had without reading something of each of ``given``.

    XLA ends the process when a kernel is left with an argument that it does not read, for instance because ``x * 0`` has
    been simplified; so this believes only in what no simplification can do away with.
    """
    needed = {v: _WHOLE for v in results if v.aval.size}  # how much of each variable is: all or some elements
    constant: set[Any] = set()
    for eqn in eqns:
        if all([type(v) is Literal or v in constant for v in eqn.invars]):
            constant.update(eqn.outvars)
    for eqn in reversed(eqns):
        level = max([needed.get(v, 0) for v in eqn.outvars])
        if level:
            level = _level_of_operands(eqn, level, constant)
            for v in eqn.invars:
                if type(v) is not Literal and v.aval.size:
                    needed[v] = max(level, needed.get(v, 0))
    return all([needed.get(v) for v in given])


def _level_of_operands(eqn: JaxprEqn, level: int, constant: set[Any]) -> int:
    name = eqn.primitive.name
    if name in ("reshape", "squeeze", "transpose", "rev", "broadcast_in_dim", "convert_element_type"):
        return level
    if name in ("slice", "split", "unstack"):
        return _PART
    if name in ("concatenate", "stack"):
        return level if level == _WHOLE else 0
    operation = elementwise_ops.get(eqn.primitive)
    if operation not in _KEPT_ARITHMETIC or any([v.aval.dtype.kind not in "fV" for v in eqn.invars]):
        return 0
    if operation == "stablehlo.multiply" and any([v in constant if type(v) is not Literal else not v.val
                                                  for v in eqn.invars]):
        return 0
    return level


def with_all_read(jaxpr: Jaxpr) -> Jaxpr:
    """The program with an element of each argument among its results, for the reason that :func:`reads_all` gives."""
    eqns, results = list(jaxpr.eqns), list(jaxpr.outvars)
    for v in jaxpr.invars:
        shape = v.aval.shape
        one = Var(ShapedArray((1,) * max(1, len(shape)), v.aval.dtype))
        if shape:
            eqns.append(JaxprEqn([v], [one], structural["slice"], {
                "start_indices": (0,) * len(shape), "limit_indices": (1,) * len(shape), "strides": None}))
        else:
            eqns.append(JaxprEqn([v], [one], structural["reshape"], {
                "new_sizes": (1,), "dimensions": None, "sharding": None}))
        results.append(one)
    return jaxpr.replace(eqns=eqns, outvars=results, effects=jaxpr.effects)


def call_of(eqns: Sequence[JaxprEqn], results: Sequence[Var], like: JaxprEqn) -> JaxprEqn | None:
    """The call of a program of these equations, compiled as one kernel; it takes whatever they read and do not make.

    None if it may happen that it does not need all it takes.
    """
    made = {v for e in eqns for v in e.outvars}
    given = dict.fromkeys([v for e in eqns for v in e.invars if type(v) is not Literal and v not in made])
    if not reads_all(eqns, results, given):
        return None
    jaxpr = Jaxpr([], list(given), list(results), eqns, no_effects)
    where = SourceInfo(like.source_info.traceback, source.NameStack())
    return JaxprEqn(list(given), list(results), pieces_p, {"jaxpr": jaxpr}, no_effects, where)
