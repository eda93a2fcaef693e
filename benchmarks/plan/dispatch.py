"""The cost of one call."""

from benchmarks.plan.entries import Group, Measure, Program

GROUP = Group("dispatch", "Dispatch", "调用开销", (
    Program("benchmarks.measures.dispatch", (
        Measure("jit_call", "jit call, two 8x8 arguments", 1.05),
        Measure("eager_add", "eager x + y", 1.05),
        Measure("eager_sum", "eager jnp.sum(x)", 1.05),
        Measure("eager_index", "eager x[0]", 0.3),
        Measure("eager_slice", "eager x[1:3]", 0.3),
        Measure("eager_set", "eager x.at[0].set(1.)", 0.15),
        Measure("eager_grad", "eager grad of sum(a * a)", 0.25),
    ), rounds=5),
))
