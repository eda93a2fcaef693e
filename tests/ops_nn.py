"""Records of ``jax.nn``."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import scipy.special as sp

from jax import nn
from tests.ops import BFLOAT16, Op, fixed, number

WIDE: tuple[Any, ...] = ("float32", "float64")
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def _elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _celu(x, alpha=1.0):
    return np.maximum(x, 0) + alpha * np.expm1(np.minimum(x, 0) / alpha)


def _gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _softplus(x):
    return np.logaddexp(x, 0)


def _sparse_plus(x):
    return np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4))


def _glu(x, axis=-1):
    a, b = np.split(x, 2, axis)
    return a * sp.expit(b)


def _standardize(x, axis=-1, epsilon=1e-5):
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + epsilon)


def _masked(fun, fill):
    def reference(x, mask):
        out = fun(np.where(mask, x, -np.inf), axis=-1)
        return np.where(mask, out, fill)
    return reference


def _one_hot(x):
    return (x[..., None] == np.arange(4)).astype(np.float64)


ACTIVATIONS = [
    Op("celu", nn.celu, (number(),), WIDE, _celu),
    Op("celu alpha", lambda x: nn.celu(x, 0.5), (number(),), ("float64",), functools.partial(_celu, alpha=0.5)),
    Op("elu", nn.elu, (number(),), (*WIDE, BFLOAT16), _elu),
    Op("elu alpha", lambda x: nn.elu(x, 0.5), (number(),), ("float64",), functools.partial(_elu, alpha=0.5)),
    Op("gelu", nn.gelu, (number(),), WIDE, _gelu_tanh, tol=4),
    Op("gelu exact", lambda x: nn.gelu(x, approximate=False), (number(),), WIDE, lambda x: x * sp.ndtr(x), tol=4),
    Op("glu", nn.glu, (number(shape=(2, 4)),), WIDE, _glu),
    Op("glu axis", lambda x: nn.glu(x, 0), (number(shape=(2, 3)),), ("float64",), functools.partial(_glu, axis=0)),
    Op("hard_sigmoid", nn.hard_sigmoid, (number(-5, 5),), WIDE, lambda x: np.clip(x / 6 + 0.5, 0, 1), order=1),
    Op("hard_silu", nn.hard_silu, (number(-5, 5),), WIDE, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    Op("hard_tanh", nn.hard_tanh, (number(),), WIDE, lambda x: np.clip(x, -1, 1), order=1),
    Op("leaky_relu", nn.leaky_relu, (number(),), WIDE, lambda x: np.where(x > 0, x, 0.01 * x), order=1),
    Op("log1mexp", nn.log1mexp, (number(0.1, 3),), WIDE, lambda x: np.log(-np.expm1(-x)), tol=8),
    Op("log_sigmoid", nn.log_sigmoid, (number(-5, 5),), WIDE, sp.log_expit, tol=4),
    Op("mish", nn.mish, (number(),), WIDE, lambda x: x * np.tanh(_softplus(x)), tol=4),
    Op("relu", nn.relu, (number(),), (*WIDE, BFLOAT16, "int32"), lambda x: np.maximum(x, 0), order=1),
    Op("relu6", nn.relu6, (number(-9, 9),), WIDE, lambda x: np.clip(x, 0, 6), order=1),
    Op("selu", nn.selu, (number(),), WIDE, lambda x: SELU_SCALE * _elu(x, SELU_ALPHA), tol=4),
    Op("sigmoid", nn.sigmoid, (number(),), WIDE, sp.expit, tol=4),
    Op("silu", nn.silu, (number(),), WIDE, lambda x: x * sp.expit(x), tol=4),
    Op("soft_sign", nn.soft_sign, (number(),), WIDE, lambda x: x / (1 + np.abs(x))),
    Op("softplus", nn.softplus, (number(),), WIDE, _softplus, tol=4),
    Op("sparse_plus", nn.sparse_plus, (number(),), WIDE, _sparse_plus),
    Op("sparse_sigmoid", nn.sparse_sigmoid, (number(),), WIDE, lambda x: np.clip(x + 1, 0, 2) / 2, order=1),
    Op("squareplus", nn.squareplus, (number(),), WIDE, lambda x: (x + np.sqrt(x**2 + 4)) / 2),
    Op("tanh", nn.tanh, (number(),), ("float32",), np.tanh, tol=4),
]

ALONG_AXES = [
    Op("softmax", nn.softmax, (number(shape=(2, 5)),), (*WIDE, BFLOAT16), functools.partial(sp.softmax, axis=-1), tol=4),
    Op("softmax axes", lambda x: nn.softmax(x, (0, -1)), (number(shape=(2, 2, 3)),), ("float64",),
       functools.partial(sp.softmax, axis=(0, 2)), tol=4),
    Op("softmax where", lambda x, m: nn.softmax(x, where=m), (number(shape=(2, 5)), fixed("bool", shape=(2, 5))),
       ("float64",), _masked(sp.softmax, 0.0), tol=4),
    Op("log_softmax", nn.log_softmax, (number(shape=(2, 5)),), (*WIDE, BFLOAT16),
       functools.partial(sp.log_softmax, axis=-1), tol=4),
    Op("logsumexp", nn.logsumexp, (number(shape=(2, 5)),), WIDE, sp.logsumexp, tol=4),
    Op("logsumexp axis", lambda x: nn.logsumexp(x, 1, keepdims=True), (number(shape=(2, 5)),), ("float64",),
       lambda x: sp.logsumexp(x, 1, keepdims=True), tol=4),
    Op("logsumexp factors", lambda x, b: nn.logsumexp(x, -1, b, return_sign=True), (number(shape=(2, 5)),) * 2,
       ("float64",), lambda x, b: sp.logsumexp(x, -1, b, return_sign=True), tol=16),
    Op("logmeanexp", lambda x: nn.logmeanexp(x, 1), (number(shape=(2, 5)),), WIDE,
       lambda x: sp.logsumexp(x, 1) - math.log(5), tol=4),
    Op("standardize", nn.standardize, (number(shape=(2, 5)),), WIDE, _standardize, tol=64, grad_tol=1e-5),
    Op("standardize stable", lambda x: nn.standardize(x, 0, algorithm="stable"), (number(shape=(5, 2)),), ("float64",),
       functools.partial(_standardize, axis=0), tol=64, grad_tol=1e-5),
    Op("one_hot", lambda x: nn.one_hot(x, 4), (fixed("int32", -1, 4, (2, 3)),), ("float32",), _one_hot, grad=()),
]

NN = ACTIVATIONS + ALONG_AXES
