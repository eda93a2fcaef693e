"""Interpret mode: a kernel becomes a loop over its grid, whose steps cut blocks, run the kernel and put blocks back.

The kernel's references are discharged, so a step is a function of blocks, and the loop carries the arrays that change. It is
an ordinary program, which runs on any platform.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import lax
from jax._base.caching import weak_cache
from jax._language.discharge import Discharged, discharged
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr
from jax._language.staging import trace_to_jaxpr
from jax.experimental.pallas._blocks import Cut, unspecified
from jax.experimental.pallas._mapping import GridMapping
from jax.experimental.pallas._memory import SEMAPHORE

_MOST_STEPS = 2**31 - 1  # the counter is an int32


@weak_cache
def interpreted(kernel: ClosedJaxpr, mapping: GridMapping, in_avals: tuple[Any, ...], out_avals: tuple[Any, ...],
                aliases: tuple[tuple[int, int], ...], neutral: bool = False) -> ClosedJaxpr:
    """The program that runs a kernel, from its operands to its results.

    With ``neutral`` everything that is not specified is one, with which most operations go well.
    """
    n = len(mapping.grid)
    pure = discharged(kernel, [False] * n + [True] * (len(kernel.in_avals) - n))
    loop = _Loop(pure, mapping, {out: i for i, out in aliases}, neutral)
    jaxpr, consts = trace_to_jaxpr(loop.run, in_avals, kernel.jaxpr.debug_info._replace(arg_names=None))
    return ClosedJaxpr(jaxpr, consts)


class _Loop:
    """The loop over a grid. ``buffers`` are the arrays behind all references: operands, results, scratch memory."""

    def __init__(self, pure: Discharged, mapping: GridMapping, alias_of: dict[int, int], neutral: bool) -> None:
        self.kernel = pure.closed
        self.mapping = mapping
        self.alias_of = alias_of
        self.neutral = neutral
        self.cuts = [Cut(m, mapping.grid, neutral) for m in mapping.block_mappings]
        self.changed = [i - len(mapping.grid) for i in pure.changed]

    def run(self, *operands: Any) -> list[Any]:
        num_inputs = self.mapping.num_inputs
        buffers = [cut.continued(x) for cut, x in zip(self.cuts, operands, strict=False)]
        for k, cut in enumerate(self.cuts[num_inputs:]):
            aliased = self.alias_of.get(k)
            buffers.append(cut.empty() if aliased is None else cut.continued(operands[aliased]))
        buffers.extend([_new_scratch(a, self.neutral) for a in self.mapping.scratch_avals])
        buffers = self._all_steps(buffers)
        return [cut.without_rest(x) for cut, x in zip(self.cuts[num_inputs:], buffers[num_inputs:], strict=False)]

    def _all_steps(self, buffers: list[Any]) -> list[Any]:
        steps = math.prod(self.mapping.grid)
        if steps > _MOST_STEPS:
            raise ValueError(f"pallas_call: the grid {self.mapping.grid} has {steps} programs, and there can be at most "
                             f"{_MOST_STEPS} of an interpreted kernel; let a program do more, with larger blocks")

        def step(i: Any, carried: Sequence[Any]) -> list[Any]:
            now = list(buffers)
            for k, x in zip(self.changed, carried, strict=True):
                now[k] = x
            return self._step(_indices(lax.convert_element_type(i, np.int32), self.mapping.grid), now)

        carried = [buffers[k] for k in self.changed]
        if steps == 1:
            carried = step(np.int32(0), carried)
        elif steps > 1:
            carried = lax.fori_loop(np.int32(0), np.int32(steps), step, carried)
        out = list(buffers)
        for k, x in zip(self.changed, carried, strict=True):
            out[k] = x
        return out

    def _step(self, indices: Sequence[Any], now: Sequence[Any]) -> list[Any]:
        """One program of the grid: the new values of what it changes."""
        places = []
        for cut in self.cuts:
            program = cut.mapping.index_map_jaxpr
            places.append(cut.mapping.places(eval_jaxpr(program.jaxpr, program.consts, *indices)))
        num_blocks = len(self.cuts)
        blocks = [cut.read(x, at) for cut, x, at in zip(self.cuts, now, places, strict=False)]
        scratch = self._scratch(indices, now[num_blocks:])
        outs = eval_jaxpr(self.kernel.jaxpr, self.kernel.consts, *indices, *blocks, *scratch)
        return [self.cuts[k].write(now[k], places[k], x) if k < num_blocks else x
                for k, x in zip(self.changed, outs, strict=True)]

    def _scratch(self, indices: Sequence[Any], now: Sequence[Any]) -> list[Any]:
        """Scratch memory as a program finds it: semaphores are zero again when a new example of a batch begins."""
        avals, batched = self.mapping.scratch_avals, self.mapping.num_batched
        if not batched or all(a.kind != SEMAPHORE for a in avals):
            return list(now)
        begins: Any = np.bool_(True)
        for i in indices[batched:]:
            begins = lax.bitwise_and(begins, lax.eq(i, np.int32(0)))
        return [lax.select(lax.broadcast(begins, a.shape), lax.full_like(x, 0), x) if a.kind == SEMAPHORE else x
                for a, x in zip(avals, now, strict=True)]


def _new_scratch(aval: Any, neutral: bool) -> Any:
    if aval.kind == SEMAPHORE:
        return np.zeros(aval.shape, np.int32)
    return unspecified(aval.shape, aval.dtype, neutral)


def _indices(i: Any, grid: tuple[int, ...]) -> list[Any]:
    """The indices in the grid at a step; the last one runs fastest."""
    out: list[Any] = []
    left = math.prod(grid)
    for n in grid[::-1]:
        left //= n
        if n == 1:
            out.append(np.int32(0))
        elif left == 1:  # nothing is left for the axes before
            out.append(i)
        else:
            out.append(lax.rem(i, np.int32(n)))
            i = lax.div(i, np.int32(n))
    return out[::-1]


__all__ = ["interpreted"]
