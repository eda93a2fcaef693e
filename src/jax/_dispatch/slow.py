"""A summary of compilations that took long: where the time went, which lines made the program large, what would help."""

from __future__ import annotations

import collections
import logging
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

from jax._base import config, source
from jax._language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, jaxprs_in_params

logger = logging.getLogger("jax.program")
_LINES = 5
_CALLERS = 3  # how far up the line with most operations is followed
_MANY = 1000  # operations from one line that suggest an unrolled loop
_traces: weakref.WeakKeyDictionary[ClosedJaxpr, float] = weakref.WeakKeyDictionary()


class Timing(NamedTuple):
    """What is known of a program when it is compiled."""

    jaxpr: ClosedJaxpr
    lowering: float


def traced(jaxpr: ClosedJaxpr, seconds: float) -> None:
    """Remembers how long a trace took, if it took long enough to matter in a summary."""
    least = config.slow_compile_report_secs.value
    if 0 <= least <= 200 * seconds:  # the summary shows tenths of a second
        _traces[jaxpr] = seconds


def report(name: str, timing: Timing, compiling: float) -> None:
    """Logs the summary if trace, lowering and compilation took ``jax_slow_compile_report_secs`` together."""
    least = config.slow_compile_report_secs.value
    tracing = _traces.get(timing.jaxpr, 0.0)
    total = tracing + timing.lowering + compiling
    if least < 0 or total < least:
        return
    logger.warning("%s", summary(name, timing, tracing, compiling))


def summary(name: str, timing: Timing, tracing: float, compiling: float) -> str:
    """The text of the report."""
    jaxpr = timing.jaxpr
    lines: collections.Counter[Any] = collections.Counter()
    frames: dict[Any, Any] = {}
    kinds: collections.Counter[str] = collections.Counter()
    for eqn in equations(jaxpr.jaxpr):
        frame = source.user_frame(eqn.source_info.traceback)
        kinds[eqn.primitive.name] += 1
        if frame is not None:
            key = (frame.file_name, frame.line)
            lines[key] += 1
            frames[key] = frame
    total = tracing + timing.lowering + compiling
    count = kinds.total()
    listed = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common(4))
    text = [f"jit of {name} ({jaxpr.jaxpr.debug_info.source_text()}) took {total:.1f} s to compile: "
            f"{tracing:.1f} s to trace, {timing.lowering:.1f} s to lower, {compiling:.1f} s in XLA. "
            f"It has {count} operations ({listed})."]
    if lines:
        text.append("Most of them come from:")
        text += [f"  {n:>7}  {frames[key]}: {frames[key].text()}" for key, n in lines.most_common(_LINES)]
    advice = _advice(jaxpr, count, _way_to(jaxpr.jaxpr, lines), tracing, compiling)
    text += ["What would help:", *(f"  - {a}" for a in advice)]
    return "\n".join(text)


def equations(jaxpr: Jaxpr) -> Iterator[JaxprEqn]:
    """All equations, those of inner jaxprs too, each jaxpr once: it is lowered to one function."""
    seen = {id(jaxpr)}
    waiting = [jaxpr]
    while waiting:
        for eqn in waiting.pop().eqns:
            yield eqn
            for inner in jaxprs_in_params(eqn.params):
                if id(inner) not in seen:
                    seen.add(id(inner))
                    waiting.append(inner)


def _way_to(jaxpr: Jaxpr, lines: collections.Counter[Any]) -> tuple[int, str]:
    """How many operations the line with most has made, and which it is, with its callers: the loop may be around them."""
    [(top, count)] = lines.most_common(1) or [(None, 0)]
    ways: collections.Counter[tuple[str, ...]] = collections.Counter()
    if count >= _MANY:
        for eqn in equations(jaxpr):
            frames = source.user_frames(eqn.source_info.traceback, 1)
            if frames and (frames[0].file_name, frames[0].line) == top:
                ways[tuple(map(str, source.user_frames(eqn.source_info.traceback, 1 + _CALLERS)))] += 1
    return count, ", called at ".join(ways.most_common(1)[0][0]) if ways else ""


def _advice(jaxpr: ClosedJaxpr, count: int, top: tuple[int, str], tracing: float, compiling: float) -> list[str]:
    found = []
    made, way = top
    if way:
        found.append(f"{made} operations were made at {way}. If one of these lines stands in a Python loop, jax.lax.scan or "
                     "jax.lax.fori_loop compile its body once.")
    elif count >= 5 * _MANY:
        found.append("the program is large. Parts that repeat (layers, steps) compile once as the body of jax.lax.scan, or "
                     "as one jitted function that is called several times.")
    if tracing > compiling:
        found.append("most of the time went into running the Python function. Functions under jax.jit inside it are traced "
                     "once for all calls with equal types.")
    captured = sum(getattr(c, "nbytes", 0) for c in jaxpr.consts)
    if captured >= 1 << 26:
        found.append(f"it closes over arrays of {captured:,} bytes: pass them as arguments.")
    if not config.compilation_cache_dir.value:
        found.append("jax_compilation_cache_dir keeps compiled programs for later runs.")
    if compiling >= tracing and not config.disable_most_optimizations.value:
        found.append("jax_disable_most_optimizations compiles faster, to slower programs: for tests and what runs once.")
    found.append("jax_slow_compile_report_secs says from how many seconds on this is reported; -1 never.")
    return found
