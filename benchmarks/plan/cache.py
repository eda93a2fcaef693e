"""The second start of a program whose compilations are kept on disk."""

from benchmarks.plan.entries import Group, Measure, Program

GROUP = Group("cache", "Compilation cache", "编译缓存", (
    Program("benchmarks.measures.cache", (
        Measure("cache_step", "second start, 24-layer transformer step", first=0.2),
        Measure("cache_small", "second start, 48 small programs", first=0.5),
    ), rounds=1, heavy=True),
), note="From import jax to the first result, with jax_compilation_cache_dir set and nothing else.",
   note_zh="从 import jax 到第一个结果，只设置 jax_compilation_cache_dir。")
