"""How the measurement programs take and hand over times."""

from __future__ import annotations

import gc
import json
import os
import time
from collections.abc import Callable

# Set by tests, which want to know whether a program runs at all: everything is done once.
BRIEF = bool(os.environ.get("BENCHMARKS_BRIEF"))


def best(work: Callable[[], object], repeats: int) -> float:
    """Seconds of the fastest of several runs: interruptions only ever add time."""
    fastest = float("inf")
    if BRIEF:
        repeats = 1
    for _ in range(repeats):
        # Collected before and switched off meanwhile: whose garbage a collection clears up is chance.
        gc.collect()
        gc.disable()
        start = time.perf_counter()
        work()
        fastest = min(fastest, time.perf_counter() - start)
        gc.enable()
    return fastest


def per_call(call: Callable[[], object], budget: float = 0.25, repeats: int = 5) -> float:
    """Seconds of one call, from loops long enough for the clock; results are waited for."""
    wait = getattr(call(), "block_until_ready", None)
    if wait is not None:
        wait()
    if BRIEF:
        return best(call, 1)
    for _ in range(20):
        call()
    start = time.perf_counter()
    for _ in range(10):
        result = call()
    _ready(result)
    count = max(10, int(budget / repeats / max((time.perf_counter() - start) / 10, 1e-9)))

    def loop():
        result = None
        for _ in range(count):
            result = call()
        _ready(result)

    return best(loop, repeats) / count


def _ready(result: object) -> None:
    if hasattr(result, "block_until_ready"):
        result.block_until_ready()


def report(seconds: dict[str, float], **peers: dict[str, float]) -> None:
    """Hand the results to the runner: names of measures and seconds.

    Peers that need no interpreter of their own are measured in the same process and given by name:
    ``report({"sort": 0.02}, numpy={"sort": 0.01})``.
    """
    print(json.dumps({**seconds, **peers}))
