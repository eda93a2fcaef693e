"""A pre-norm decoder transformer in plain jax: small tensors, deep graph.

At 64 features and 8 sequences of 64 tokens the arithmetic is cheap, so what is measured is what an
implementation adds to it: tracing, differentiation, lowering, and how well long residual chains compile.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from benchmarks.models.transformer_data import Size, batch, init

__all__ = ["Size", "batch", "fresh_value_and_grad", "init", "loss", "step"]


def layer_norm(p, x):
    """Normalize the last axis."""
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["scale"] + p["shift"]


def attention(p, x, heads: int):
    """Causal self-attention of (sequences, tokens, features)."""
    sequences, tokens, features = x.shape
    qkv = jnp.reshape(x @ p["qkv"], (sequences, tokens, 3, heads, features // heads))
    q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (features // heads) ** -0.5
    causal = jnp.tril(jnp.ones((tokens, tokens), bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e9), axis=-1)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, v)
    return jnp.reshape(mixed, x.shape) @ p["out"]


def feed_forward(p, x):
    """Two dense layers around a GELU."""
    return jax.nn.gelu(x @ p["up"] + p["up_bias"]) @ p["down"] + p["down_bias"]


def loss(params, tokens, heads: int = 4):
    """Mean cross entropy of predicting each next token."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    x = params["embed"][inputs] + params["position"]
    for p in params["layers"]:
        x = x + attention(p, layer_norm(p["norm1"], x), heads)
        x = x + feed_forward(p, layer_norm(p["norm2"], x))
    log_probabilities = jax.nn.log_softmax(layer_norm(params["norm"], x) @ params["head"])
    return -jnp.mean(jnp.take_along_axis(log_probabilities, targets[..., None], axis=-1))


def fresh_value_and_grad(heads: int = 4):
    """A new function object on each call, so that nothing cached on an earlier one answers for it."""

    def fresh_loss(params, tokens):
        return loss(params, tokens, heads)

    return jax.value_and_grad(fresh_loss)


def step(params, tokens):
    """One step of gradient descent; returns the new parameters and the loss."""
    value, gradients = jax.value_and_grad(loss)(params, tokens)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients), value
