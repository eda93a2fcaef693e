"""Passes over a program before it is lowered: an ordered table of functions from closed jaxpr to closed jaxpr."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from jax._base import config
from jax._language.jaxpr import ClosedJaxpr
from jax._lowering.passes.dead_code import drop_dead_equations
from jax._lowering.passes.fences import fence
from jax._lowering.passes.pieces import group_pieces


class Pass(NamedTuple):
    """A pass, the platforms it is for (None: all) and the option that switches it off (None: always on).

    Passes with ``whole`` are for programs that run on one device as they are written.
    """

    name: str
    run: Callable[[ClosedJaxpr], ClosedJaxpr]
    platforms: frozenset[str] | None = None
    option: Any = None
    whole: bool = False


passes: list[Pass] = [
    Pass("dead-code", drop_dead_equations),
    Pass("pieces", group_pieces, frozenset(("cpu",)), config.cpu_group_pieces, True),
    Pass("fences", fence, frozenset(("cpu",)), config.cpu_fusion_fences),
]


def run_passes(closed: ClosedJaxpr, platforms: tuple[str, ...], divided: bool = False) -> ClosedJaxpr:
    """Applies the passes that hold on every one of ``platforms``, to a program that may be ``divided`` among devices."""
    for p in passes:
        if p.whole and divided:
            continue
        if p.platforms is not None and not p.platforms.issuperset(platforms):
            continue
        if p.option is not None and not p.option.value:
            continue
        closed = p.run(closed)
    return closed
