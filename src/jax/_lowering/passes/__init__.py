"""Passes over a program before it is lowered: an ordered table of functions from closed jaxpr to closed jaxpr."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from jax._base import config
from jax._language.jaxpr import ClosedJaxpr
from jax._lowering.passes.dead_code import drop_dead_equations
from jax._lowering.passes.fences import fence


class Pass(NamedTuple):
    """A pass, the platforms it is for (None: all) and the option that switches it off (None: always on)."""

    name: str
    run: Callable[[ClosedJaxpr], ClosedJaxpr]
    platforms: frozenset[str] | None = None
    option: Any = None


passes: list[Pass] = [
    Pass("dead-code", drop_dead_equations),
    Pass("fences", fence, frozenset(("cpu",)), config.cpu_fusion_fences),
]


def run_passes(closed: ClosedJaxpr, platforms: tuple[str, ...]) -> ClosedJaxpr:
    """Applies the passes that hold on every one of ``platforms``."""
    for p in passes:
        if p.platforms is not None and not p.platforms.issuperset(platforms):
            continue
        if p.option is not None and not p.option.value:
            continue
        closed = p.run(closed)
    return closed
