"""Arrays put together from many values that are computed alike become one computation on arrays.

``jnp.array([x[i] * 1.5 for i in range(400)])`` is 400 slices and products, of which XLA makes a kernel with 400 branches. If
all operands of such a join are made by the same operation, whose operands are again made alike, the operation is applied
once, to all of them: here to a slice of ``x`` and the number. It stops at values that are made in different ways, which are
put together as they are. Elements are computed by the operations that computed them before; results may round otherwise
where the compiler contracts products and sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax._base import source
from jax._language.avals import ShapedArray
from jax._language.effects import no_effects
from jax._language.jaxpr import JaxprEqn, Literal, SourceInfo, Var
from jax._language.primitive import Primitive
from jax._lowering.passes.cones import Uses
from jax._lowering.rules import elementwise_ops, fusible, pointwise, register_lowering, structural
from jax._lowering.types import ir_constant

FEWEST = 16  # operands of a join
LARGEST = 1024  # elements of an operand
MOST_JOINS = 4  # of values that are made in different ways, in place of one


table_p = Primitive("table")
table_p.def_abstract_eval(lambda *, value: ShapedArray(value.shape, value.dtype))
register_lowering(table_p, lambda ctx, *, value: [ir_constant(value, ctx.avals_out[0])])
fusible[table_p] = 0


class _TooDifferent(Exception):
    pass


def packed(join: JaxprEqn, uses: Uses) -> list[JaxprEqn] | None:
    """The equations in place of ``join``, the last of which makes its result; None if its operands are made differently."""
    vals = list(join.invars)
    aval = vals[0].aval
    if any([v.aval.shape != aval.shape for v in vals]) or aval.size > LARGEST:
        return None
    if not isinstance(aval.dtype, np.dtype) or uses.maker.get(vals[0]) is None:
        return None
    writer = _Writer(join, uses)
    try:
        whole = writer.pack(vals)
    except _TooDifferent:
        return None
    writer.finish(whole)
    return writer.eqns


class _Writer:
    """Writes the equations that make all operands of ``join`` at once."""

    def __init__(self, join: JaxprEqn, uses: Uses) -> None:
        self.join = join
        self.uses = uses
        self.own = {id(e) for e in uses.cone(join.invars, lambda e: not e.effects)}
        self.eqns: list[JaxprEqn] = []
        self.memo: dict[Any, Any] = {}
        self.joins = 0
        self.source: SourceInfo = join.source_info

    def pack(self, vals: Sequence[Any], inner: bool = True) -> Any:
        """A variable with ``vals``, values of one type, along a new first axis."""
        key = tuple(map(id, vals))
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = self._computed(vals)
            if found is None:
                self.joins += 1
                if not inner or self.joins > MOST_JOINS:
                    raise _TooDifferent
                found = self.memo[key] = self._write("stack", vals, (len(vals), *vals[0].aval.shape), axis=0)
        return found

    def _computed(self, vals: Sequence[Any]) -> Any:
        """The same, but None where the values are to be put together as they are."""
        first = vals[0]
        if all([v is first for v in vals]) or _one_number(vals):
            return self._spread(first, len(vals))
        if all([type(v) is Literal for v in vals]):
            var = Var(ShapedArray((len(vals),), first.aval.dtype))
            value = np.array([v.val for v in vals], first.aval.dtype)
            self.eqns.append(JaxprEqn([], [var], table_p, {"value": value}, no_effects, self.source))
            return var
        maker = self.uses.maker
        eqns = [None if type(v) is Literal else maker.get(v) for v in vals]
        if eqns[0] is None:
            return None
        prim = eqns[0].primitive
        if any([e is None or e.primitive is not prim for e in eqns]):
            return None
        if prim in pointwise:
            return self._applied(eqns)
        places = [self._place(v) for v in vals]
        found = None if None in places else self._cut(places, first)
        return self._moved(eqns) if found is None else found

    def _columns(self, eqns: Sequence[Any]) -> list[Any] | None:
        """For each operand of the one operation that ``eqns`` are, the operands of all; None if it is not one operation."""
        first = eqns[0]
        for e in eqns:
            if id(e) not in self.own or e.params != first.params or len(e.invars) != len(first.invars) \
                    or e.settings is not first.settings or source.tags_of(e.source_info.name_stack):
                return None
        columns = list(zip(*[e.invars for e in eqns], strict=True))
        for column in columns:
            aval = column[0].aval
            if any([v.aval.shape != aval.shape or v.aval.dtype != aval.dtype for v in column]):
                return None
        return columns

    def _moved(self, eqns: Sequence[Any]) -> Any:
        """The move of elements that ``eqns`` are, of all of their operands at once."""
        first = eqns[0]
        prim, params = first.primitive, first.params
        columns = self._columns(eqns) if prim in map(structural.get, ("broadcast_in_dim", "reshape", "squeeze")) else None
        if columns is None or len(columns) != 1 or prim is structural["reshape"] and params["dimensions"] is not None:
            return None
        operand, shape = self.pack(columns[0]), (len(eqns), *first.outvars[0].aval.shape)
        self.source = first.source_info
        if prim is not structural["broadcast_in_dim"]:
            return self._reshaped(operand, shape)
        return self._write("broadcast_in_dim", [operand], shape, shape=shape, sharding=None,
                           broadcast_dimensions=(0, *[d + 1 for d in params["broadcast_dimensions"]]))

    def _applied(self, eqns: Sequence[Any]) -> Any:
        """The operation of ``eqns`` applied to all of their operands at once; None if it is not one operation."""
        first = eqns[0]
        out = first.outvars[0].aval
        columns = self._columns(eqns)
        if columns is None or any([c[0].aval.shape not in (out.shape, ()) for c in columns]):
            return None
        operands = [self._operand(column, first.primitive, out.shape) for column in columns]
        self.source = first.source_info
        result = Var(ShapedArray((len(eqns), *out.shape), out.dtype))
        self.eqns.append(JaxprEqn(operands, [result], first.primitive, first.params, no_effects, first.source_info,
                                  first.settings))
        return result

    def _operand(self, column: Sequence[Any], prim: Any, shape: tuple[int, ...]) -> Any:
        if prim in elementwise_ops and _one_number(column):
            return column[0]  # numbers are spread by the operation
        found = self.pack(column)
        if len(found.aval.shape) == 1 + len(shape):
            return found
        return self._write("broadcast_in_dim", [found], (len(column), *shape), shape=(len(column), *shape),
                           broadcast_dimensions=(0,), sharding=None)

    def _spread(self, v: Any, count: int) -> Any:
        shape = (count, *v.aval.shape)
        return self._write("broadcast_in_dim", [v], shape, shape=shape, sharding=None,
                           broadcast_dimensions=tuple(range(1, len(shape))))

    def _place(self, v: Any) -> Any:
        """Which part of which array the elements of ``v`` are, in order: the array, starts and sizes; None if of none."""
        maker = self.uses.maker
        eqn = maker.get(v)
        while eqn is not None and eqn.primitive in (structural["squeeze"], structural["reshape"]):
            v = eqn.invars[0]
            if len(eqn.invars) > 1 or type(v) is Literal or eqn.params.get("dimensions") is not None \
                    and eqn.primitive is structural["reshape"]:
                return None
            eqn = maker.get(v)
        if eqn is None or type(eqn.invars[0]) is Literal:
            return None
        x, params = eqn.invars[0], eqn.params
        if eqn.primitive is structural["slice"]:
            strides = params["strides"]
            return (x, params["start_indices"], v.aval.shape) if strides is None or set(strides) <= {1} else None
        if eqn.primitive is structural["split"] or eqn.primitive is structural["unstack"]:
            return x, *self.uses.place(eqn, v)
        return None

    def _cut(self, places: Sequence[Any], first: Any) -> Any:
        """Equal parts at equal distances of one array, by one slice; None for others."""
        x, start, sizes = places[0]
        if any([p[0] is not x or p[2] != sizes for p in places]):
            return None
        starts = np.array([p[1] for p in places])
        steps = np.diff(starts, axis=0)
        if np.any(steps != steps[0]) or not all([type(n) is int for n in x.aval.shape]):
            varying = None
        else:
            varying = np.flatnonzero(steps[0])
        n, shape = len(places), first.aval.shape
        if varying is None or len(varying) > 1:
            return self._elements(x, starts, shape) if set(sizes) <= {1} else None
        if not len(varying):
            return self._spread(first, n)
        axis, step = int(varying[0]), int(steps[0][varying[0]])
        size = sizes[axis]
        lows = starts.min(axis=0).tolist()
        limits = [low + w for low, w in zip(lows, sizes, strict=True)]
        if size == 1:
            limits[axis] = int(starts.max(axis=0)[axis]) + 1
        elif step == size:
            limits[axis] = lows[axis] + n * size
        else:
            return None
        strides = tuple([abs(step) if d == axis and size == 1 else 1 for d in range(len(sizes))])
        part = self._write("slice", [x], (*sizes[:axis], n * size, *sizes[axis + 1:]), start_indices=tuple(lows),
                           limit_indices=tuple(limits), strides=strides)
        if step < 0:
            part = self._write("rev", [part], part.aval.shape, dimensions=(axis,))
        return self._reshaped(self._front(self._reshaped(part, (*sizes[:axis], n, *sizes[axis:])), axis), (n, *shape))

    def _elements(self, x: Any, starts: Any, shape: tuple[int, ...]) -> Any:
        """Single elements at equal distances in memory."""
        flat = np.ravel_multi_index(tuple(starts.T), x.aval.shape)
        steps = np.diff(flat)
        step, size = int(steps[0]), x.aval.size
        if step < 1 or np.any(steps != step):
            return None
        part = self._write("slice", [self._reshaped(x, (size,))], (len(flat),), start_indices=(int(flat[0]),),
                           limit_indices=(int(flat[-1]) + 1,), strides=(step,))
        return self._reshaped(part, (len(flat), *shape))

    def _reshaped(self, v: Any, shape: tuple[int, ...]) -> Any:
        return v if v.aval.shape == shape else self._write("reshape", [v], shape, new_sizes=shape, dimensions=None,
                                                           sharding=None)

    def _front(self, v: Any, axis: int) -> Any:
        return self._transposed(v, (axis, *[d for d in range(len(v.aval.shape)) if d != axis]))

    def _transposed(self, v: Any, order: tuple[int, ...]) -> Any:
        if list(order) == sorted(order):
            return v
        return self._write("transpose", [v], tuple([v.aval.shape[d] for d in order]), permutation=order)

    def _write(self, name: str, operands: Sequence[Any], size: tuple[int, ...], /, **params: Any) -> Any:
        var = Var(ShapedArray(size, operands[0].aval.dtype))
        self.eqns.append(JaxprEqn(list(operands), [var], structural[name], params, no_effects, self.source))
        return var

    def finish(self, whole: Any) -> None:
        """Moves the first axis to where the join has it, and lets the last equation make the join's result."""
        join = self.join
        self.source = join.source_info
        stacked = join.primitive is structural["stack"]
        axis = join.params["axis" if stacked else "dimension"]
        rank = len(whole.aval.shape)
        whole = self._transposed(whole, (*range(1, axis + 1), 0, *range(axis + 1, rank)))
        self._reshaped(whole, join.outvars[0].aval.shape)
        self.eqns[-1] = self.eqns[-1].replace(outvars=[join.outvars[0]])


def _one_number(vals: Sequence[Any]) -> bool:
    """Whether all are the same number: the same bits."""
    return all([type(v) is Literal for v in vals]) and len({np.array(v.val, v.aval.dtype).tobytes() for v in vals}) == 1
