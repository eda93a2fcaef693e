"""The programs that compile and run times are measured on, by name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from benchmarks.models import (
    finance,
    gaussian_process,
    integrators,
    lstm,
    normalising_flow,
    optimiser,
    residual_convnet,
    residual_mlp,
    transformer,
)


def transformer_step(layers: int):
    size = transformer.Size(layers=layers)
    return transformer.step, (transformer.init(size), transformer.batch(size))


MODELS: dict[str, Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "transformer_6": functools.partial(transformer_step, 6),
    "transformer_12": functools.partial(transformer_step, 12),
    "transformer_24": functools.partial(transformer_step, 24),
    "transformer_36": functools.partial(transformer_step, 36),
    "residual_mlp": residual_mlp.build,
    "residual_convnet": residual_convnet.build,
    "lstm_unrolled": lstm.build,
    "lstm_scanned": lstm.scanned,
    "runge_kutta": integrators.runge_kutta,
    "runge_kutta_gradient": integrators.runge_kutta_gradient,
    "leapfrog": integrators.leapfrog,
    "leapfrog_gradient": integrators.leapfrog_gradient,
    "black_scholes": finance.build,
    "gaussian_process": gaussian_process.build,
    "normalising_flow": normalising_flow.build,
    "optimiser_step": optimiser.build,
}
