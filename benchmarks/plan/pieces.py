"""First calls of programs of many small pieces."""

from benchmarks.plan.entries import Group, Measure, Program

GROUP = Group("pieces", "Many small pieces: first calls", "许多小块：首次调用", (
    Program("benchmarks.measures.pieces", (
        Measure("array_elements", "jnp.array of 400 x[i] * 1.5", 0.25),
        Measure("stack_elements", "jnp.stack of 400 sin(x[i]) + x[i + 1]", 0.25),
        Measure("array_numbers", "jnp.array of 400 arguments * 1.5", 0.25),
        Measure("stack_numbers", "jnp.stack of 400 arguments", 0.4),
        Measure("array_numbers_eager", "eager jnp.array of 400 numbers", 0.25),
        Measure("split_jit", "jnp.split(m, 500)", 0.25),
        Measure("split_computed", "a * 2 + 1 for 500 parts", 0.25),
        Measure("split_eager", "eager jnp.split(m, 500)", 0.25),
        Measure("concatenate_0", "jnp.concatenate of 1500, axis 0", 0.25),
        Measure("concatenate_1", "jnp.concatenate of 1500, axis 1", 0.25),
        Measure("stack_0", "jnp.stack of 1500, axis 0", 0.25),
        Measure("stack_1", "jnp.stack of 1500, axis 1", 0.25),
        Measure("concatenate_eager", "eager jnp.concatenate of 1500", 0.25),
        Measure("stack_eager", "eager jnp.stack of 1500", 0.25),
        Measure("slices_jit", "30 slices of x", 0.25),
        Measure("slices_rows", "30 slices of m", 0.25),
        Measure("slices_eager", "eager, 30 slices of x", 0.25),
        Measure("prefix_jit", "lax.associative_scan of 65536", 0.25),
        Measure("prefix_eager", "eager lax.associative_scan of 65536", 0.25),
    ), rounds=3),
), note="Tracing, lowering, compiling and one run of a new function, in processor time of all threads. x has 500 elements, "
        "m is 1000x8, the arrays are 2x3; the functions are jitted unless said otherwise.",
   note_zh="新函数的跟踪、下降、编译与一次运行，按所有线程的处理器时间计。"
           "x 有 500 个元素，m 为 1000x8，拼接的数组为 2x3；除注明者外函数均经 jit。")
