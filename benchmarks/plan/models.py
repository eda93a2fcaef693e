"""Whole programs, compiling and running: the suite of ``benchmarks/models`` and the 24-layer transformer step."""

from benchmarks.plan.entries import Group, Measure, Program

# The programs of benchmarks/models/suite.py that take the reference minutes to compile.
_LONG = ("transformer_24", "transformer_36", "lstm_unrolled", "runge_kutta_gradient")


def _model(name: str, title: str) -> Program:
    measures = (Measure(f"compile_{name}", f"compile, {title}", 1.05, section="Compiling"),
                Measure(f"run_{name}", f"run, {title}", 1.05, section="Running"))
    kind, _, layers = name.partition("_")
    torch = ("benchmarks.measures.torch_transformer", layers) if kind == "transformer" else ()
    return Program("benchmarks.measures.model", measures, rounds=1 if name in _LONG else 3, heavy=name in _LONG,
                   arguments=(name,), suite=True, torch=torch)


SUITE = tuple(_model(name, title) for name, title in {
    "transformer_6": "transformer, 6 layers",
    "transformer_12": "transformer, 12 layers",
    "transformer_24": "transformer, 24 layers",
    "transformer_36": "transformer, 36 layers",
    "residual_mlp": "residual MLP",
    "residual_convnet": "residual convolutional network",
    "lstm_unrolled": "LSTM, unrolled",
    "lstm_scanned": "LSTM, scanned",
    "runge_kutta": "Runge-Kutta",
    "runge_kutta_gradient": "Runge-Kutta, gradient",
    "leapfrog": "leapfrog",
    "leapfrog_gradient": "leapfrog, gradient",
    "black_scholes": "Black-Scholes",
    "gaussian_process": "Gaussian process",
    "normalising_flow": "normalising flow",
    "optimiser_step": "optimiser step",
}.items())
# Levels of the geometric means over the suite.
MEANS = {"compile": 0.5, "run": 0.8}

GROUP = Group("models", "Models: compiling and running", "模型：编译与运行", (
    Program("benchmarks.measures.step_transformer", (
        Measure("compile_step", "compile, 24-layer transformer step", 0.15, section="Compiling"),
        Measure("run_step", "run, 24-layer transformer step", 0.35, section="Running"),
    ), rounds=1, heavy=True),
    *SUITE,
), note="Training steps, integrators, a density, prices: benchmarks/models in the repository. Compiling is XLA's part.",
   note_zh="训练步、积分器、概率密度、定价等，见仓库中的 benchmarks/models。编译只计 XLA 的用时。")
