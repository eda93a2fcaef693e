"""Attention against a plain NumPy model of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import nn

B, T, S, N, K, H = 2, 5, 6, 4, 2, 8


def operands(dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    shapes = ((B, T, N, H), (B, S, K, H), (B, S, K, H))
    return [jnp.asarray(rng.normal(size=s), dtype) for s in shapes]


def model(q, k, v, bias=None, mask=None, scale=None, causal=False, q_lengths=None, k_lengths=None, window=None):
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, N // K, axis=2) for x in (k, v))
    logits = np.einsum("btnh,bsnh->bnts", q, k) * (1 / math.sqrt(H) if scale is None else scale)
    if bias is not None:
        logits = logits + np.asarray(bias)
    i, j = np.arange(T)[:, None], np.arange(S)[None, :]
    seen = np.ones((B, N, T, S), bool) if mask is None else np.broadcast_to(mask, (B, N, T, S)).copy()
    if causal:
        seen &= i >= j
    if window is not None:
        seen &= (j >= i - window[0]) & (j <= i + window[1])
    if k_lengths is not None:
        seen &= j < np.asarray(k_lengths)[:, None, None, None]
    logits = np.where(seen, logits, -1e30)
    top = logits.max(-1, keepdims=True)
    weights = np.exp(logits - top)
    out = np.einsum("bnts,bsnh->btnh", weights / weights.sum(-1, keepdims=True), v)
    residual = (np.log(weights.sum(-1)) + top[..., 0]).transpose(0, 2, 1)
    if q_lengths is not None:
        out = out * (np.arange(T)[None] < np.asarray(q_lengths)[:, None])[:, :, None, None]
    return out, residual


_rng = np.random.default_rng(1)
BIAS = jnp.asarray(_rng.normal(size=(1, N, T, S)), jnp.float32)
MASK = jnp.asarray(_rng.random((B, 1, T, S)) > 0.3).at[..., 0].set(True)
WIDE_MASK = jnp.asarray(_rng.random((B, N, T, S)) > 0.3).at[..., 0].set(True)
LENGTHS = {"query_seq_lengths": jnp.array([3, 5]), "key_value_seq_lengths": jnp.array([4, 6])}


@pytest.mark.parametrize(("settings", "of_model"), [
    ({}, {}),
    ({"scale": 0.3}, {"scale": 0.3}),
    ({"bias": BIAS}, {"bias": BIAS}),
    ({"mask": MASK}, {"mask": MASK}),
    ({"mask": WIDE_MASK, "bias": BIAS}, {"mask": WIDE_MASK, "bias": BIAS}),
    ({"is_causal": True}, {"causal": True}),
    ({"local_window_size": (1, 2)}, {"window": (1, 2)}),
    ({"local_window_size": 1, "is_causal": True}, {"window": (1, 1), "causal": True}),
    (LENGTHS, {"q_lengths": [3, 5], "k_lengths": [4, 6]}),
], ids=["plain", "scale", "bias", "mask", "mask and bias", "causal", "window", "causal window", "lengths"])
def test_values(settings, of_model):
    q, k, v = operands()
    out, residual = nn.dot_product_attention(q, k, v, return_residual=True, **settings)
    want, want_residual = model(q, k, v, **of_model)
    np.testing.assert_allclose(out, want, atol=2e-6)
    if "query_seq_lengths" not in settings:
        np.testing.assert_allclose(residual, want_residual, atol=2e-6)
    staged = jax.jit(lambda *xs: nn.dot_product_attention(*xs, **settings))(q, k, v)
    np.testing.assert_allclose(staged, out, atol=1e-6)


@pytest.mark.parametrize(("dtype", "tol"), [("bfloat16", 3e-2), ("float16", 3e-3)])
def test_narrow_types(dtype, tol):
    q, k, v = operands(dtype)
    out = nn.dot_product_attention(q, k, v, is_causal=True)
    assert out.dtype == q.dtype
    np.testing.assert_allclose(np.asarray(out, np.float64), model(q, k, v, causal=True)[0], atol=tol)


def test_without_batch():
    q, k, v = operands()
    batched = nn.dot_product_attention(q, k, v, bias=BIAS, mask=WIDE_MASK, return_residual=True)
    single = nn.dot_product_attention(q[0], k[0], v[0], bias=BIAS[0], mask=WIDE_MASK[0], return_residual=True)
    for whole, part in zip(batched, single, strict=True):
        np.testing.assert_allclose(part, whole[0], atol=1e-6)
    mapped = jax.vmap(lambda q, k, v, m: nn.dot_product_attention(q, k, v, bias=BIAS[0], mask=m))(q, k, v, WIDE_MASK)
    np.testing.assert_allclose(mapped, batched[0], atol=1e-6)


def test_gradients():
    q, k, v = operands()

    def plain(q, k, v, bias):
        k, v = (jnp.repeat(x, N // K, axis=2) for x in (k, v))
        logits = jnp.einsum("btnh,bsnh->bnts", q, k) / math.sqrt(H) + bias
        logits = jnp.where(jnp.tril(jnp.ones((T, S), bool))[None, None], logits, -1e30)
        return jnp.einsum("bnts,bsnh->btnh", nn.softmax(logits), v)

    def ours(q, k, v, bias):
        return nn.dot_product_attention(q, k, v, bias, is_causal=True)

    got, want = (jax.grad(lambda *xs, f=f: jnp.sum(jnp.sin(f(*xs))), (0, 1, 2, 3))(q, k, v, BIAS) for f in (ours, plain))
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, atol=2e-6)


def test_refusals():
    q, k, v = operands()
    attend = nn.dot_product_attention
    with pytest.raises(NotImplementedError, match="cuDNN"):
        attend(q, k, v, implementation="cudnn")
    with pytest.raises(ValueError, match="implementation"):
        attend(q, k, v, implementation="flash")
    with pytest.raises(ValueError, match="rank, batch and head size"):
        attend(q, k[0], v[0])
    with pytest.raises(ValueError, match="one shape"):
        attend(q, k, v[:, :3])
    with pytest.raises(ValueError, match="one dtype"):
        attend(q, k.astype(jnp.bfloat16), v)
    with pytest.raises(ValueError, match="multiple"):
        attend(q, jnp.ones((B, S, 3, H)), jnp.ones((B, S, 3, H)))
    with pytest.raises(ValueError, match="boolean"):
        attend(q, k, v, mask=MASK.astype(jnp.float32))
    with pytest.raises(ValueError, match="bias must have shape"):
        attend(q, k, v, bias=jnp.ones((3, N, T, S)))
    with pytest.raises(ValueError, match="query_seq_lengths"):
        attend(q, k, v, query_seq_lengths=jnp.array([3]))
    with pytest.raises(TypeError, match="list"):
        attend(q.tolist(), k, v)
