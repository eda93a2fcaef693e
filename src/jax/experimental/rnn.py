"""Long short-term memory networks of several layers, with weights in the order of cuDNN and PyTorch.

All weights are one vector: for each layer, and in it for each direction, the matrix for inputs and that for states; then for
each of these the two biases. The rows of a matrix are those of the input, forget, cell and output gates, in this order.

:func:`lstm` computes with XLA's own operations on every platform; cuDNN's kernels are not called.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import jax.numpy as jnp
from jax import lax, nn, random
from jax._api.reverse import vjp
from jax._base import _jaxlib
from jax._language.avals import ShapedArray
from jax.experimental._reexports import reexporting

_Shape = tuple[int, ...]
_GATES = 4


def _shapes(input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> Iterator[tuple[str, int, _Shape]]:
    """The parts of the vector of weights in order: kind, number of layer and direction, shape."""
    directions = 2 if bidirectional else 1
    cells = range(num_layers * directions)
    rows = _GATES * hidden_size
    for k in cells:
        yield "ih", k, (rows, input_size if k < directions else directions * hidden_size)
        yield "hh", k, (rows, hidden_size)
    for k in cells:
        yield "bias ih", k, (rows,)
        yield "bias hh", k, (rows,)


def get_num_params_in_lstm(input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> int:
    """How many weights a network has.

    >>> from jax.experimental import rnn
    >>> rnn.get_num_params_in_lstm(3, 4, 1, False)
    144
    """
    return sum(math.prod(shape) for _, _, shape in _shapes(input_size, hidden_size, num_layers, bidirectional))


def init_lstm_weight(rng: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> Any:
    """Random weights, uniform between ``-k`` and ``k`` with ``k = 1 / sqrt(hidden_size)``, as one float32 vector.

    >>> import jax
    >>> from jax.experimental import rnn
    >>> rnn.init_lstm_weight(jax.random.key(0), 3, 4, 1, False).shape
    (144,)
    """
    bound = 1 / math.sqrt(hidden_size)
    n = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    return random.uniform(rng, (n,), jnp.float32, -bound, bound)


def _check_weights(weights: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> Any:
    weights = jnp.asarray(weights)
    n = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    if weights.shape != (n,):
        raise ValueError(f"the weights of an LSTM with input_size={input_size}, hidden_size={hidden_size}, "
                         f"num_layers={num_layers}, bidirectional={bidirectional} are a vector of {n}, got an array of "
                         f"shape {weights.shape}; init_lstm_weight makes one")
    return weights


def unpack_lstm_weights(weights: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool,
                        ) -> tuple[dict[int, Any], dict[int, Any], dict[int, Any], dict[int, Any]]:
    """The matrices and biases in a vector of weights.

    Returns:
      ``(W_ih, W_hh, b_ih, b_hh)``, dicts with an entry for each layer and direction, of number ``2 * layer + direction`` in
      networks of two directions. ``W_ih[k]`` has shape ``(4 * hidden_size, size of the layer's input)``.

    Raises:
      ValueError: the vector is of another size.
    """
    weights = _check_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    found: dict[str, dict[int, Any]] = {"ih": {}, "hh": {}, "bias ih": {}, "bias hh": {}}
    at = 0
    for kind, k, shape in _shapes(input_size, hidden_size, num_layers, bidirectional):
        size = math.prod(shape)
        found[kind][k] = weights[at:at + size].reshape(shape)
        at += size
    return found["ih"], found["hh"], found["bias ih"], found["bias hh"]


def swap_lstm_gates(weights: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> Any:
    """The weights with the rows of cell and output gates exchanged, which libraries order differently.

    Raises:
      ValueError: the vector is of another size.
    """
    weights = _check_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    parts, at = [], 0
    for _, _, shape in _shapes(input_size, hidden_size, num_layers, bidirectional):
        size = math.prod(shape)
        gates = weights[at:at + size].reshape(_GATES, -1)
        parts.append(gates[jnp.array([0, 1, 3, 2])].reshape(-1))
        at += size
    return jnp.concatenate(parts)


# --- the network ----------------------------------------------------------------------------------------------------

def _cell(x: Any, h: Any, c: Any, w_hh: Any, precision: Any) -> tuple[Any, Any]:
    """One step of one layer; ``x`` is the input's part of the gates."""
    gates = x + jnp.matmul(h, w_hh.T, precision=precision)
    i, f, g, o = jnp.split(gates, _GATES, axis=-1)
    c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
    return nn.sigmoid(o) * jnp.tanh(c), c


def _direction(x: Any, h: Any, c: Any, weights: tuple[Any, Any, Any, Any], lengths: Any, precision: Any,
               backward: bool) -> tuple[Any, Any, Any]:
    """One layer in one direction, over all steps. Behind the end of a sequence states stay and outputs are zero."""
    w_ih, w_hh, b_ih, b_hh = weights
    inputs = jnp.swapaxes(jnp.matmul(x, w_ih.T, precision=precision) + (b_ih + b_hh), 0, 1)

    def step(state: tuple[Any, Any], at: tuple[Any, Any]) -> Any:
        t, gates = at
        alive = (t < lengths)[:, None]
        h, c = _cell(gates, *state, w_hh, precision)
        return (jnp.where(alive, h, state[0]), jnp.where(alive, c, state[1])), jnp.where(alive, h, 0)
    times = jnp.arange(x.shape[1], dtype=lengths.dtype)
    (h, c), ys = lax.scan(step, (h, c), (times, inputs), reverse=backward)
    return jnp.swapaxes(ys, 0, 1), h, c


def _network(x: Any, h_0: Any, c_0: Any, weights: Any, seq_lengths: Any, num_layers: int, bidirectional: bool,
             precision: Any = None) -> tuple[Any, Any, Any]:
    directions = 2 if bidirectional else 1
    lengths = jnp.asarray(seq_lengths)
    hs, cs = [], []
    for layer in range(num_layers):
        ys = []
        for d in range(directions):
            k = layer * directions + d
            y, h, c = _direction(x, h_0[k], c_0[k], tuple(w[k] for w in weights), lengths, precision, d == 1)
            ys.append(y)
            hs.append(h)
            cs.append(c)
        x = ys[0] if directions == 1 else jnp.concatenate(ys, axis=-1)
    return x, jnp.stack(hs), jnp.stack(cs)


def _check(x: Any, h_0: Any, c_0: Any, seq_lengths: Any, input_size: int, hidden_size: int, num_layers: int, dropout: float,
           bidirectional: bool) -> None:
    if dropout:
        raise NotImplementedError("lstm: dropout between layers is not here; apply it yourself between networks of one "
                                  "layer, or pass dropout=0")
    shape = jnp.shape(x)
    if len(shape) != 3 or shape[2] != input_size:
        raise ValueError(f"lstm: x has the shape {shape}; it must be (batch, steps, input_size={input_size})")
    state = (num_layers * (2 if bidirectional else 1), shape[0], hidden_size)
    for name, s in (("h_0", h_0), ("c_0", c_0)):
        if jnp.shape(s) != state:
            raise ValueError(f"lstm: {name} has the shape {jnp.shape(s)}; it must be (layers * directions, batch, "
                             f"hidden_size) = {state}")
    if jnp.shape(seq_lengths) != shape[:1] or not jnp.issubdtype(jnp.asarray(seq_lengths).dtype, jnp.integer):
        raise ValueError(f"lstm: seq_lengths must be {shape[0]} integers, one for each sequence, got "
                         f"{jnp.asarray(seq_lengths).dtype} of shape {jnp.shape(seq_lengths)}")


def lstm_ref(x: Any, h_0: Any, c_0: Any, W_ih: dict[int, Any], W_hh: dict[int, Any], b_ih: dict[int, Any],
             b_hh: dict[int, Any], seq_lengths: Any, input_size: int, hidden_size: int, num_layers: int, dropout: float,
             bidirectional: bool) -> tuple[Any, Any, Any]:
    """:func:`lstm` with unpacked weights (:func:`unpack_lstm_weights`).

    The states of networks of two directions are in the order of weights: those of both directions of a layer are neighbours.
    """
    _check(x, h_0, c_0, seq_lengths, input_size, hidden_size, num_layers, dropout, bidirectional)
    return _network(x, h_0, c_0, (W_ih, W_hh, b_ih, b_hh), seq_lengths, num_layers, bidirectional)


def lstm(x: Any, h_0: Any, c_0: Any, weights: Any, seq_lengths: Any, input_size: int, hidden_size: int, num_layers: int,
         dropout: float, bidirectional: bool, precision: Any = None) -> tuple[Any, Any, Any]:
    """A network of LSTM layers (Hochreiter and Schmidhuber, 1997) over sequences of different lengths.

    Args:
      x: inputs, ``(batch, steps, input_size)``.
      h_0, c_0: states at the beginning, ``(layers * directions, batch, hidden_size)``.
      weights: all weights (:func:`init_lstm_weight`).
      seq_lengths: how many steps of each sequence count, ``(batch,)``, integers.
      input_size, hidden_size, num_layers: sizes.
      dropout: between layers; only 0 is there.
      bidirectional: whether each layer also has a direction from the end of sequences to their beginning.
      precision: of matrix products.

    Returns:
      ``(y, h_n, c_n)``: outputs, ``(batch, steps, directions * hidden_size)``, zero behind the end of a sequence, and the
      states at the end. It can be differentiated in both modes, batched and compiled.

    Raises:
      ValueError: shapes do not fit.
      NotImplementedError: with ``dropout``.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental import rnn
    >>> w = rnn.init_lstm_weight(jax.random.key(0), 3, 4, 1, False)
    >>> state = jnp.zeros((1, 2, 4))
    >>> y, h, c = rnn.lstm(jnp.ones((2, 5, 3)), state, state, w, jnp.array([5, 2]), 3, 4, 1, 0., False)
    >>> y.shape, h.shape
    ((2, 5, 4), (1, 2, 4))
    """
    _check(x, h_0, c_0, seq_lengths, input_size, hidden_size, num_layers, dropout, bidirectional)
    unpacked = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    return _network(x, h_0, c_0, unpacked, seq_lengths, num_layers, bidirectional, precision)


def lstm_fwd(x: Any, h_0: Any, c_0: Any, w: Any, seq_lengths: Any, input_size: int, hidden_size: int, num_layers: int,
             dropout: float, bidirectional: bool, precision: Any) -> tuple[tuple[Any, Any, Any], Any]:
    """:func:`lstm`, and what :func:`lstm_bwd` needs."""
    def run(x: Any, h_0: Any, c_0: Any, w: Any) -> tuple[Any, Any, Any]:
        return lstm(x, h_0, c_0, w, seq_lengths, input_size, hidden_size, num_layers, dropout, bidirectional, precision)
    return vjp(run, x, h_0, c_0, w)


def lstm_bwd(input_size: int, hidden_size: int, num_layers: int, dropout: float, bidirectional: bool, precision: Any,
             residuals: Any, gradients: tuple[Any, Any, Any]) -> tuple[Any, Any, Any, Any, None]:
    """The cotangents of ``x``, ``h_0``, ``c_0`` and the weights, and None for ``seq_lengths``, from those of the results.

    The sizes are those that :func:`lstm_fwd` was given, which ``residuals`` contain.
    """
    del input_size, hidden_size, num_layers, dropout, bidirectional, precision
    return (*residuals(tuple(gradients)), None)


# --- cuDNN's operations ---------------------------------------------------------------------------------------------

def rnn_abstract_eval(x_aval: Any, h_0_aval: Any, c_0_aval: Any, w_aval: Any, seq_lengths_aval: Any, input_size: int,
                      hidden_size: int, num_layers: int, dropout: float, bidirectional: bool,
                      cudnn_allow_tf32: bool) -> tuple[Any, Any, Any, Any]:
    """The types of what cuDNN's forward operation (``gpu_rnn.cudnn_rnn_lowering``) returns, for operands of these types.

    Returns:
      The types of outputs, of both states at the end, and of the space in which it leaves what the backward operation needs.
      How large this is only cuDNN knows. (:func:`lstm` does not call it, and needs no such space.)

    Raises:
      RuntimeError: jaxlib's CUDA plugin, which asks cuDNN, is not installed.
    """
    kernels = getattr(_jaxlib.gpu_rnn, "_cuda_rnn", None)
    if kernels is None:
        raise RuntimeError("rnn_abstract_eval: cuDNN, which says how much space it needs, is called through jaxlib's CUDA "
                           "plugin, and there is none; pip install 'jax[cuda12]'. rnn.lstm runs without it")
    batch, steps, _ = x_aval.shape
    _, space = kernels.compute_rnn_workspace_reserve_space_sizes(
        input_size, hidden_size, num_layers, batch, steps, dropout, bidirectional, cudnn_allow_tf32)
    width = hidden_size * (2 if bidirectional else 1)
    outputs, reserved = ShapedArray((batch, steps, width), x_aval.dtype), ShapedArray((space,), np.dtype(np.float32))
    return outputs, h_0_aval, c_0_aval, reserved


def rnn_bwd_abstract_eval(dy_aval: Any, dhn_aval: Any, dcn_aval: Any, x_aval: Any, h0_aval: Any, c0_aval: Any, w_aval: Any,
                          y_aval: Any, reserve_space_aval: Any, seq_lengths_aval: Any, input_size: int, hidden_size: int,
                          num_layers: int, dropout: float, bidirectional: bool,
                          cudnn_allow_tf32: bool) -> tuple[Any, Any, Any, Any]:
    """The types of what cuDNN's backward operation returns: of the cotangents of inputs, states and weights."""
    return x_aval, h0_aval, c0_aval, w_aval


__getattr__ = reexporting(__name__, "core dispatch gpu_rnn mlir")
