"""What is measured, and the level each ratio (ours / reference) has to reach."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """One row of the table; ``level`` is the largest acceptable ratio, ``None`` where none is set."""

    name: str
    title: str
    level: float | None


@dataclass(frozen=True)
class Program:
    """A measurement program and the measures it reports in one process.

    ``heavy`` programs take minutes, ``suite`` programs run when asked for. ``torch`` is the module, and its arguments,
    that measures the same in PyTorch.
    """

    module: str
    measures: tuple[Measure, ...]
    rounds: int
    heavy: bool = False
    arguments: tuple[str, ...] = ()
    suite: bool = False
    torch: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return " ".join((self.module.rpartition(".")[2], *self.arguments))


# The programs of benchmarks/models/suite.py that take the reference minutes to compile.
_LONG = ("transformer_24", "transformer_36", "lstm_unrolled", "runge_kutta_gradient")


def _model(name: str) -> Program:
    title = name.replace("_", " ")
    measures = (Measure(f"compile_{name}", f"compile, {title}", 1.05), Measure(f"run_{name}", f"run, {title}", 1.05))
    kind, _, layers = name.partition("_")
    torch = ("benchmarks.measures.torch_transformer", layers) if kind == "transformer" else ()
    return Program("benchmarks.measures.model", measures, rounds=1 if name in _LONG else 3, heavy=name in _LONG,
                   arguments=(name,), suite=True, torch=torch)


SUITE = tuple(_model(name) for name in (
    "transformer_6", "transformer_12", "transformer_24", "transformer_36", "residual_mlp", "residual_convnet",
    "lstm_unrolled", "lstm_scanned", "runge_kutta", "runge_kutta_gradient", "leapfrog", "leapfrog_gradient",
    "black_scholes", "gaussian_process", "normalising_flow", "optimiser_step",
))
# Levels of the geometric means over the suite.
MEANS = {"compile": 0.5, "run": 0.8}

PROGRAMS = (
    Program(
        "benchmarks.measures.startup",
        (Measure("import", "import jax, jax.numpy", 0.5),),
        rounds=7,
    ),
    Program(
        "benchmarks.measures.trace_chain",
        (
            Measure("trace_chain", "trace, per operation of a 900-operation jnp chain", 0.25),
            Measure("make_jaxpr_chain", "the same through make_jaxpr", None),
        ),
        rounds=5,
    ),
    Program(
        "benchmarks.measures.trace_transformer",
        (
            Measure("trace_transformer", "trace value_and_grad, 24-layer transformer", 0.4),
            Measure("lower_transformer", "lower it", 0.6),
        ),
        rounds=3,
    ),
    Program(
        "benchmarks.measures.dispatch",
        (
            Measure("jit_call", "jit call, two 8x8 arguments", 1.05),
            Measure("eager_add", "eager x + y", 1.05),
            Measure("eager_sum", "eager jnp.sum(x)", 1.05),
            Measure("eager_index", "eager x[0]", 0.3),
            Measure("eager_slice", "eager x[1:3]", 0.3),
            Measure("eager_set", "eager x.at[0].set(1.)", 0.15),
            Measure("eager_grad", "eager grad of sum(a * a)", 0.25),
        ),
        rounds=5,
    ),
    Program(
        "benchmarks.measures.step_transformer",
        (
            Measure("compile_step", "compile, 24-layer transformer step", 0.15),
            Measure("run_step", "run, 24-layer transformer step", 0.35),
        ),
        rounds=1,
        heavy=True,
    ),
    *SUITE,
)
