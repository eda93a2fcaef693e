"""The functions of elementwise.py in PyTorch, eager."""

import numpy as np
import torch

from benchmarks.measures.timing import per_call, report

FUNCTIONS = {
    "sin": torch.sin, "cos": torch.cos, "exp": torch.exp, "log": lambda x: torch.log(torch.abs(x)), "tanh": torch.tanh,
    "logistic": torch.sigmoid, "erf": torch.erf, "sum": torch.sum, "mean": torch.mean, "max": torch.max,
    "logsumexp": lambda x: torch.logsumexp(x, 0), "softmax": lambda x: torch.softmax(x, 0),
    "softmax_rows": lambda x: torch.softmax(x.reshape(1000, 1000), 1),
}  # fmt: skip


def main():
    x = torch.from_numpy(np.random.default_rng(0).standard_normal(1_000_000).astype(np.float32))
    report({name: per_call(lambda function=function: function(x), repeats=20) for name, function in FUNCTIONS.items()})


if __name__ == "__main__":
    main()
