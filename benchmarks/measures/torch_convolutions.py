"""The convolutions of images of convolutions.py in PyTorch, eager; "nhwc" is its channels_last."""

import torch
import torch.nn.functional as F

from benchmarks.measures.timing import best, report
from benchmarks.models.convolution_data import IMAGES, images


def main():
    seconds = {}
    for name, (_, _, groups, stride, size) in IMAGES.items():
        for layout, memory in (("nchw", torch.contiguous_format), ("nhwc", torch.channels_last)):
            x, k = (torch.from_numpy(v).contiguous(memory_format=memory) for v in images(name, "nchw"))

            def forward(x=x, k=k, groups=groups, stride=stride, size=size):
                return F.conv2d(x, k, stride=stride, padding=size // 2, groups=groups)

            x_, k_ = (v.clone(memory_format=torch.preserve_format).requires_grad_() for v in (x, k))

            def gradients(forward=forward, x=x_, k=k_):
                return torch.autograd.grad((forward(x, k) ** 2).sum(), (x, k))

            with torch.no_grad():
                forward()
                seconds[f"{name}_{layout}"] = best(forward, 10)
            gradients()
            seconds[f"{name}_{layout}_gradients"] = best(gradients, 10)
    report(seconds)


if __name__ == "__main__":
    main()
