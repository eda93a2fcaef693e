"""Transcendental functions and reductions."""

from benchmarks.plan.entries import Group, Measure, Program

_TITLES = {"softmax_rows": "softmax of rows, 1000x1000"}
_ELEMENTS = ("sin", "cos", "exp", "log", "tanh", "logistic", "erf")
_REDUCTIONS = ("sum", "mean", "max", "logsumexp", "softmax", "softmax_rows")

GROUP = Group("elementwise", "Functions and reductions", "逐元素函数与归约", (
    Program("benchmarks.measures.elementwise", tuple(
        Measure(name, _TITLES.get(name, name), 1.1, torch=2.0, section=section)
        for section, names in (("Element by element", _ELEMENTS), ("Reductions", _REDUCTIONS)) for name in names
    ), rounds=3, torch=("benchmarks.measures.torch_elementwise",)),
), note="A million float32 numbers; compiled, PyTorch eager.",
   note_zh="一百万个 float32；我们的均已编译，PyTorch 为即时执行。")
