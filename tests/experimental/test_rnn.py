"""LSTMs: against another implementation's values, and steps written out in NumPy."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.experimental import rnn

# Of x = cos(arange), weights = sin(arange), states of 0.1 and 0.2, lengths 4 and 2, two layers in two directions.
Y = [-0.29338744, 0.33826521, 0.07617036, -0.19248559, -0.65775228, 0.19995110, 0.03147734, -0.02761907,
     -0.73728645, 0.17831856, 0.03321712, -0.02089913, -0.78394228, 0.13025799, 0.01953421, 0.07052307,
     -0.41702133, 0.26065212, 0.04601798, -0.04947168, -0.68211472, 0.17132944, 0.02603050, 0.04981868] + [0.0] * 8
H = [-0.76279742, -0.32376909, -0.50249362, -0.28939453, 0.34764561, 0.01421714, 0.23920152, 0.00818786,
     -0.78394228, 0.13025799, -0.68211472, 0.17132944, 0.07617036, -0.19248559, 0.04601798, -0.04947168]
C = [-1.28763843, -0.70041317, -0.75260597, -0.46294415, 0.56720257, 0.25284314, 0.39709902, 0.14069359,
     -1.25820518, 0.30659103, -1.04002786, 0.31416351, 0.34496376, -0.49349639, 0.30221286, -0.12170155]


def problem(layers, both):
    n = rnn.get_num_params_in_lstm(3, 2, layers, both)
    w = jnp.sin(jnp.arange(n, dtype=jnp.float32))
    x = jnp.cos(jnp.arange(24, dtype=jnp.float32)).reshape(2, 4, 3)
    state = (layers * (2 if both else 1), 2, 2)
    return x, jnp.full(state, 0.1), jnp.full(state, 0.2), w, jnp.array([4, 2]), 3, 2, layers, 0.0, both


@pytest.mark.quick
def test_two_layers_in_two_directions():
    args = problem(2, True)
    y, h, c = jax.jit(lambda *arrays: rnn.lstm(*arrays, *args[5:]))(*args[:5])
    assert (y.shape, h.shape, c.shape) == ((2, 4, 4), (4, 2, 2), (4, 2, 2))
    for found, want in ((y, Y), (h, H), (c, C)):
        np.testing.assert_allclose(np.ravel(found), want, rtol=1e-4, atol=1e-6)


def test_one_layer_in_numpy():
    x, h0, c0, w, lengths, *sizes = problem(1, False)
    w_ih, w_hh, b_ih, b_hh = [np.asarray(p[0], np.float64) for p in rnn.unpack_lstm_weights(w, 3, 2, 1, False)]
    y, h_n, c_n = jax.jit(lambda w: rnn.lstm_ref(x, h0, c0, *rnn.unpack_lstm_weights(w, 3, 2, 1, False), lengths, *sizes))(w)
    for b in range(2):
        h, c = np.full(2, 0.1), np.full(2, 0.2)
        for t in range(int(lengths[b])):
            i, f, g, o = np.split(w_ih @ np.asarray(x)[b, t] + w_hh @ h + b_ih + b_hh, 4)
            i, f, o = (1 / (1 + np.exp(-v)) for v in (i, f, o))
            c = f * c + i * np.tanh(g)
            h = o * np.tanh(c)
            np.testing.assert_allclose(y[b, t], h, rtol=1e-5)
        np.testing.assert_allclose((h_n[0, b], c_n[0, b]), (h, c), rtol=1e-5)
        assert not np.any(y[b, int(lengths[b]):])


def test_derivatives_and_batches():
    x, h0, c0, w, lengths, *sizes = problem(1, False)
    direction = jnp.cos(3 * w)

    @jax.jit
    def check(w):
        def loss(w):
            return sum(jnp.sum(jnp.sin(o)) for o in rnn.lstm(x, h0, c0, w, lengths, *sizes))
        outs, residuals = rnn.lstm_fwd(x, h0, c0, w, lengths, *sizes, None)
        *cts, none = rnn.lstm_bwd(*sizes, None, residuals, tuple(map(jnp.cos, outs)))
        assert none is None and [ct.shape for ct in cts] == [x.shape, h0.shape, c0.shape, w.shape]
        step = jnp.array([1e-2, -1e-2])[:, None] * direction
        return cts[3], jax.vmap(loss)(w + step), jax.jvp(loss, (w,), (direction,))[1]
    grad, (above, below), tangent = check(w)
    np.testing.assert_allclose(jnp.vdot(grad, direction), tangent, rtol=1e-4)
    np.testing.assert_allclose((above - below) / 2e-2, tangent, rtol=2e-3)


def test_weights():
    assert [rnn.get_num_params_in_lstm(*a) for a in ((3, 4, 1, False), (3, 4, 2, True), (5, 2, 1, True))] == [144, 736, 144]
    w = rnn.init_lstm_weight(jax.random.key(0), 3, 4, 1, False)
    assert w.dtype == jnp.float32 and 0.4 < float(jnp.abs(w).max()) <= 0.5
    n = jnp.arange(240.0)
    parts = rnn.unpack_lstm_weights(n, 3, 2, 2, True)
    assert [int(p[k].ravel()[0]) for p in parts for k in range(4)] == [0, 40, 80, 128, 24, 64, 112, 160,
                                                                       176, 192, 208, 224, 184, 200, 216, 232]
    swapped = rnn.swap_lstm_gates(jnp.arange(40.0), 1, 2, 1, False)
    assert swapped[:8].astype(int).tolist() == [0, 1, 2, 3, 6, 7, 4, 5]
    assert rnn.swap_lstm_gates(swapped, 1, 2, 1, False).tolist() == list(range(40))


@pytest.mark.parametrize("change, error, text", [
    (dict(dropout=0.5), NotImplementedError, "dropout between layers is not here"),
    (dict(weights=jnp.ones(3)), ValueError, r"are a vector of 56, got an array of shape \(3,\)"),
    (dict(x=jnp.ones((2, 3))), ValueError, r"it must be \(batch, steps, input_size=3\)"),
    (dict(h_0=jnp.ones((2, 2, 2))), ValueError, r"h_0 has the shape \(2, 2, 2\).*\(1, 2, 2\)"),
    (dict(seq_lengths=jnp.ones(2)), ValueError, "2 integers, one for each sequence, got float32"),
])
def test_misuse(change, error, text):
    names = ("x", "h_0", "c_0", "weights", "seq_lengths", "input_size", "hidden_size", "num_layers", "dropout",
             "bidirectional")
    with pytest.raises(error, match=text):
        rnn.lstm(**{**dict(zip(names, problem(1, False), strict=True)), **change})


def test_types_of_cudnn_operations(monkeypatch):
    from jax.core import ShapedArray
    f32, asked = np.dtype(np.float32), []
    x, state, w = ShapedArray((2, 5, 3), f32), ShapedArray((4, 2, 4), f32), ShapedArray((736,), f32)
    lengths, sizes = ShapedArray((2,), np.dtype(np.int32)), (3, 4, 2, 0.0, True, True)
    with pytest.raises(RuntimeError, match=r"CUDA plugin.*rnn\.lstm runs without it"):
        rnn.rnn_abstract_eval(x, state, state, w, lengths, *sizes)

    class Kernels:
        @staticmethod
        def compute_rnn_workspace_reserve_space_sizes(*args):
            asked.append(args)
            return 7, 100
    monkeypatch.setattr(rnn.gpu_rnn, "_cuda_rnn", Kernels)
    outs = rnn.rnn_abstract_eval(x, state, state, w, lengths, *sizes)
    assert [o.shape for o in outs] == [(2, 5, 8), (4, 2, 4), (4, 2, 4), (100,)] and outs[1] == state
    assert asked == [(3, 4, 2, 2, 5, 0.0, True, True)]
    assert rnn.rnn_bwd_abstract_eval(outs[0], state, state, x, state, state, w, *outs[::3], lengths, *sizes) == \
        (x, state, state, w)
