"""Functions for neural networks: activations, normalisation, initialisers."""

import importlib as _importlib
from typing import Any as _Any

from jax._base.source import make_boundaries as _make_boundaries
from jax.nn._activations import celu as celu
from jax.nn._activations import elu as elu
from jax.nn._activations import gelu as gelu
from jax.nn._activations import glu as glu
from jax.nn._activations import hard_sigmoid as hard_sigmoid
from jax.nn._activations import hard_silu as hard_silu
from jax.nn._activations import hard_swish as hard_swish
from jax.nn._activations import hard_tanh as hard_tanh
from jax.nn._activations import identity as identity
from jax.nn._activations import leaky_relu as leaky_relu
from jax.nn._activations import log1mexp as log1mexp
from jax.nn._activations import log_sigmoid as log_sigmoid
from jax.nn._activations import mish as mish
from jax.nn._activations import relu as relu
from jax.nn._activations import relu6 as relu6
from jax.nn._activations import selu as selu
from jax.nn._activations import sigmoid as sigmoid
from jax.nn._activations import silu as silu
from jax.nn._activations import soft_sign as soft_sign
from jax.nn._activations import softplus as softplus
from jax.nn._activations import sparse_plus as sparse_plus
from jax.nn._activations import sparse_sigmoid as sparse_sigmoid
from jax.nn._activations import squareplus as squareplus
from jax.nn._activations import swish as swish
from jax.nn._activations import tanh as tanh
from jax.nn._attention import dot_product_attention as dot_product_attention
from jax.nn._normalization import log_softmax as log_softmax
from jax.nn._normalization import logmeanexp as logmeanexp
from jax.nn._normalization import logsumexp as logsumexp
from jax.nn._normalization import one_hot as one_hot
from jax.nn._normalization import softmax as softmax
from jax.nn._normalization import standardize as standardize
from jax.nn._scaled import get_scaled_dot_general_config as get_scaled_dot_general_config
from jax.nn._scaled import scaled_dot_general as scaled_dot_general
from jax.nn._scaled import scaled_matmul as scaled_matmul

_make_boundaries(globals())


def __getattr__(name: str) -> _Any:
    if name == "initializers":  # loads jax.random
        return _importlib.import_module("jax.nn.initializers")
    raise AttributeError(f"module 'jax.nn' has no attribute {name!r}")
