"""Whole programs, compiling and running: the suite of ``benchmarks/models`` and the 24-layer transformer step."""

from benchmarks.plan.entries import Group, Measure, Program

# The programs of benchmarks/models/suite.py that take the reference minutes to compile.
_LONG = ("transformer_24", "transformer_36", "lstm_unrolled", "runge_kutta_gradient")


def _model(name: str) -> Program:
    title = name.replace("_", " ")
    measures = (Measure(f"compile_{name}", f"compile, {title}", 1.05, section="Compiling"),
                Measure(f"run_{name}", f"run, {title}", 1.05, section="Running"))
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

GROUP = Group("models", "Models: compiling and running", "模型：编译与运行", (
    Program("benchmarks.measures.step_transformer", (
        Measure("compile_step", "compile, 24-layer transformer step", 0.15, section="Compiling"),
        Measure("run_step", "run, 24-layer transformer step", 0.35, section="Running"),
    ), rounds=1, heavy=True),
    *SUITE,
))
