"""Loops of many steps, and cumulative operations."""

from benchmarks.plan.entries import Group, Measure, Program

_LOOPS = {
    "scan_sum": "scan, a + b",
    "scan_stack": "scan, 0.9 * a + b, stacking a",
    "scan_pair": "scan, sin(a) + b, pairs",
    "scan_matvec": "scan, 8x8 matrix times vector",
    "fori_add": "fori_loop, a * 0.999 + 1",
    "fori_vector": "fori_loop, a * 0.999 + i, 8 elements",
    "fori_update": "fori_loop, a.at[i % 1000].add(1)",
    "while_add": "while_loop, a + 1",
    "while_cond": "while_loop, cond inside",
}
_CUMULATIVE = tuple(
    Measure(f"{name}_{place}", f"{name}, {shape}", numpy=1.1, section="Cumulative operations")
    for name in ("cumsum", "cumprod", "cummax")
    for place, shape in (("vector", "1e6 elements"), ("rows", "1000x1000, axis 1"), ("columns", "1000x1000, axis 0"),
                         ("middle", "100x100x100, axis 1"))
)

GROUP = Group("loops", "Loops", "循环", (
    Program("benchmarks.measures.loops", (
        *(Measure(name, title, 1.05, section="1e5 steps") for name, title in _LOOPS.items()),
        *_CUMULATIVE,
    ), rounds=3),
), note="Loops are compiled and take 1e5 steps; arrays are float32.", note_zh="循环均已编译，各 10 万步；数组为 float32。")
