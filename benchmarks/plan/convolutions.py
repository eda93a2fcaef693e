"""Convolutions of images and of sequences."""

from benchmarks.plan.entries import Group, Measure, Program

_IMAGES = {
    "full": "3x3", "pixel": "1x1", "depthwise": "depthwise 3x3", "depthwise_strided": "depthwise 3x3, stride 2",
    "grouped": "3x3, 8 groups",
}  # fmt: skip
_LAYOUTS = {"nchw": "NCHW", "nhwc": "NHWC"}
_SEQUENCES = {"sequence_kernel": "convolve, 1e5 with 1e3", "sequences": "convolve, 1e4 with 1e4"}

GROUP = Group("convolutions", "Convolutions", "卷积", (
    Program("benchmarks.measures.convolutions", (
        *(Measure(f"{name}_{layout}{suffix}", f"{title}, {_LAYOUTS[layout]}", 1.05, torch=3.0, section=section)
          for section, suffix in (("Forwards", ""), ("With gradients", "_gradients"))
          for name, title in _IMAGES.items() for layout in _LAYOUTS),
        *(Measure(name, title, 1.05, numpy=1.0, section="Sequences") for name, title in _SEQUENCES.items()),
    ), rounds=2, torch=("benchmarks.measures.torch_convolutions",)),
), note="Images are 8x64x64 with 32 features, float32; compiled, PyTorch eager.",
   note_zh="图像为 8x64x64、32 个通道的 float32；我们的均已编译，PyTorch 为即时执行。")
