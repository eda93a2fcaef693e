"""Starting, tracing and lowering: what Python does before anything is compiled."""

from benchmarks.plan.entries import Group, Measure, Program

GROUP = Group("startup", "Startup and tracing", "启动与追踪", (
    Program("benchmarks.measures.startup", (Measure("import", "import jax, jax.numpy", 0.5),), rounds=7),
    Program("benchmarks.measures.trace_chain", (
        Measure("trace_chain", "trace, per operation of a 900-operation jnp chain", 0.25),
        Measure("make_jaxpr_chain", "trace it through make_jaxpr, per operation"),
    ), rounds=5),
    Program("benchmarks.measures.trace_transformer", (
        Measure("trace_transformer", "trace value_and_grad, 24-layer transformer", 0.4),
        Measure("lower_transformer", "lower value_and_grad, 24-layer transformer", 0.6),
    ), rounds=3),
))
