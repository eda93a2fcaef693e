"""Scaled dot-product attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from jax import lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax.nn._normalization import logsumexp


def dot_product_attention(query: Any, key: Any, value: Any, bias: Any = None, mask: Any = None, *,
                          scale: float | None = None, is_causal: bool = False, query_seq_lengths: Any = None,
                          key_value_seq_lengths: Any = None, local_window_size: int | tuple[int, int] | None = None,
                          implementation: str | None = None, return_residual: bool = False) -> Any:
    """``softmax(scale * query @ key^T + bias) @ value`` for several heads (Vaswani et al., 2017).

    With batch size B, T queries, S keys, N query heads, K key heads and head size H:

    Args:
      query: ``[B, T, N, H]`` or ``[T, N, H]``.
      key: ``[B, S, K, H]`` or ``[S, K, H]``. N must be a multiple of K: consecutive query heads share a key head.
      value: like ``key``.
      bias: added to the scores, broadcastable to ``[B, N, T, S]``.
      mask: boolean, broadcastable to ``[B, N, T, S]``; scores where it is false do not count.
      scale: by default ``1 / sqrt(H)``.
      is_causal: a query sees the keys up to its own position.
      query_seq_lengths: int ``[B]``: queries beyond it give zeros.
      key_value_seq_lengths: int ``[B]``: keys beyond it are not seen.
      local_window_size: how many keys to the left and to the right of its position a query sees.
      implementation: ``None`` or ``"xla"``.
      return_residual: return also the logarithm of the softmax's denominator, ``[B, T, N]``.

    Returns:
      An array like ``query``.

    Raises:
      ValueError: shapes do not fit together.
      NotImplementedError: ``implementation="cudnn"``.
    """
    if implementation not in (None, "xla"):
        if implementation == "cudnn":
            raise NotImplementedError("dot_product_attention: implementation='cudnn' is not supported; leave it out for "
                                      "the portable one")
        raise ValueError(f"dot_product_attention: implementation must be None, 'xla' or 'cudnn', got {implementation!r}")
    query, key, value = jnp.asarray(query), jnp.asarray(key), jnp.asarray(value)
    single = query.ndim == 3
    if single:
        query, key, value = query[None], key[None], value[None]
    _check_shapes(query, key, value)
    window = (local_window_size,) * 2 if isinstance(local_window_size, int) else local_window_size
    scale = 1.0 / np.sqrt(query.shape[-1]) if scale is None else scale
    out, residual = _attend(query, key, value, _four_axes(bias, "bias"), _four_axes(mask, "mask"), scale,
                            query_seq_lengths, key_value_seq_lengths, is_causal=bool(is_causal), window=window)
    if single:
        out, residual = out[0], residual[0]
    return (out, residual) if return_residual else out


def _check_shapes(query: Any, key: Any, value: Any) -> None:
    ok = query.ndim == key.ndim == value.ndim == 4 and key.shape == value.shape and query.shape[0] == key.shape[0] \
        and query.shape[3] == key.shape[3] and key.shape[2] and query.shape[2] % key.shape[2] == 0
    if not ok:
        raise ValueError(
            f"dot_product_attention: query {query.shape}, key {key.shape} and value {value.shape} do not fit; they must be "
            "[B, T, N, H], [B, S, K, H] and [B, S, K, H] with N a multiple of K (or all without B)")


def _four_axes(x: Any, name: str) -> Any:
    if x is None:
        return None
    x = jnp.asarray(x)
    if x.ndim > 4:
        raise ValueError(f"dot_product_attention: {name} must be broadcastable to [B, N, T, S], got shape {x.shape}")
    return lax.expand_dims(x, range(4 - x.ndim))


@composite(static_argnames=("is_causal", "window"))
def _attend(query: Any, key: Any, value: Any, bias: Any, mask: Any, scale: Any, query_lengths: Any, key_lengths: Any, *,
            is_causal: bool, window: Any) -> Any:
    b, t, n, h = query.shape
    s, k = key.shape[1], key.shape[2]
    grouped = lax.reshape(query, (b, t, k, n // k, h))
    scores = jnp.einsum("btkgh,bskh->bkgts", grouped, key, preferred_element_type=np.float32)
    scores = lax.reshape(scores, (b, n, t, s)) * scale
    if bias is not None:
        scores = scores + bias.astype(scores.dtype)
    seen = _seen(b, t, s, mask, query_lengths, key_lengths, is_causal, window)
    if seen is not None:
        scores = jnp.where(jnp.broadcast_to(seen, scores.shape), scores, jnp.finfo(scores.dtype).min * 0.7)
    norm = logsumexp(scores, axis=-1, keepdims=True)
    weights = lax.reshape(jnp.exp(scores - norm).astype(value.dtype), (b, k, n // k, t, s))
    out = lax.reshape(jnp.einsum("bkgts,bskh->btkgh", weights, value), (b, t, n, h)).astype(query.dtype)
    residual = jnp.transpose(norm[..., 0], (0, 2, 1))
    if query_lengths is not None:
        alive = jnp.arange(t)[None, :] < jnp.asarray(query_lengths)[:, None]
        out = jnp.where(jnp.broadcast_to(alive[:, :, None, None], out.shape), out, jnp.zeros_like(out))
    return out, residual


def _seen(b: int, t: int, s: int, mask: Any, query_lengths: Any, key_lengths: Any, is_causal: bool, window: Any) -> Any:
    """Which keys each query sees, broadcastable to ``[B, N, T, S]``; ``None`` for all."""
    parts = [] if mask is None else [mask.astype(bool)]
    row = lax.broadcasted_iota(np.dtype("int32"), (1, 1, t, s), 2)
    col = lax.broadcasted_iota(np.dtype("int32"), (1, 1, t, s), 3)
    if is_causal:
        parts.append(row >= col)
    if window is not None:
        left, right = window
        parts.append((col >= row - left) & (col <= row + right))
    if query_lengths is not None:
        parts.append(jnp.broadcast_to(row, (b, 1, t, s)) < jnp.asarray(query_lengths)[:, None, None, None])
    if key_lengths is not None:
        parts.append(jnp.broadcast_to(col, (b, 1, t, s)) < jnp.asarray(key_lengths)[:, None, None, None])
    if not parts:
        return None
    seen = parts[0]
    for p in parts[1:]:
        seen = jnp.logical_and(*jnp.broadcast_arrays(seen, p))
    return seen
