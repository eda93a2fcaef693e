"""Attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax._language.avals import typeof
from jax.nn._normalization import logsumexp, softmax
from jax.numpy._promotion import check_arraylike


def dot_product_attention(query: Any, key: Any, value: Any, bias: Any = None, mask: Any = None, *,
                          scale: Any = None, is_causal: bool = False, query_seq_lengths: Any = None,
                          key_value_seq_lengths: Any = None, local_window_size: int | Sequence[int] | None = None,
                          implementation: str | None = None, return_residual: bool = False) -> Any:
    """Scaled dot-product attention: ``softmax(scale * query @ key.T + bias) @ value`` for each head.

    In the shapes below, ``B`` is the batch, ``T`` and ``S`` the lengths of queries and keys, ``N`` and ``K`` the numbers
    of heads of queries and of keys, ``H`` the size of a head.

    Args:
      query: of shape ``(B, T, N, H)``, or ``(T, N, H)`` without a batch.
      key, value: of shape ``(B, S, K, H)``, likewise. ``K`` divides ``N``: with fewer heads than the queries, each serves
        several (grouped and multi-query attention).
      bias: added to the logits, of shape ``(B, N, T, S)`` or with axes of size 1 in place of these.
      mask: likewise, of booleans: where it is false a query does not see a key.
      scale: of the logits, by default ``1 / sqrt(H)``.
      is_causal: let query ``t`` see only keys ``s <= t``.
      query_seq_lengths: integers of shape ``(B,)``; results for queries beyond are zero.
      key_value_seq_lengths: integers of shape ``(B,)``; keys beyond are not seen.
      local_window_size: ``(left, right)``, or one number for both: let query ``t`` see only keys from ``t - left`` to
        ``t + right``.
      implementation: ``None`` or ``"xla"``. cuDNN's is not supported.
      return_residual: return the log-sum-exp of the logits as well.

    Logits and their softmax are computed in float32 at least. A query that sees no key gets the mean of all values.

    Returns:
      An array like ``query``; with ``return_residual`` also one of shape ``(B, T, N)``.

    Raises:
      ValueError: shapes or dtypes that do not fit, or an unknown ``implementation``.
      NotImplementedError: ``implementation="cudnn"``.
    """
    if implementation not in (None, "xla"):
        if implementation == "cudnn":
            raise NotImplementedError("dot_product_attention: the cuDNN implementation is not supported; leave out "
                                      "implementation or say 'xla', which computes the same")
        raise ValueError(f"dot_product_attention: implementation must be None, 'xla' or 'cudnn', got "
                         f"{implementation!r}")
    check_arraylike("dot_product_attention", query, key, value)
    optional = (bias, mask, query_seq_lengths, key_value_seq_lengths)
    check_arraylike("dot_product_attention", *[x for x in optional if x is not None])
    q, k, v = typeof(query), typeof(key), typeof(value)
    if len(q.shape) not in (3, 4):
        raise ValueError("dot_product_attention: query must have shape (batch, length, heads, size) or (length, heads, "
                         f"size), got {q.shape}")
    _check_operands(q, k, v)
    batched = len(q.shape) == 4
    sizes = (q.shape[0] if batched else 1, q.shape[-3], k.shape[-3], q.shape[-2])
    for name, x in (("bias", bias), ("mask", mask)):
        _check_logit_operand(name, x, sizes, batched)
    for name, x in (("query_seq_lengths", query_seq_lengths), ("key_value_seq_lengths", key_value_seq_lengths)):
        _check_lengths(name, x, sizes[0])
    window = local_window_size
    if window is not None:
        window = tuple(int(w) for w in window) if isinstance(window, (tuple, list)) else (int(window),) * 2
    out, residual = _attention(query, key, value, bias, mask, scale, query_seq_lengths, key_value_seq_lengths,
                               causal=bool(is_causal), window=window, residual=bool(return_residual))
    return (out, residual) if return_residual else out


def _check_operands(q: Any, k: Any, v: Any) -> None:
    for name, x in (("key", k), ("value", v)):
        if len(x.shape) != len(q.shape) or (*x.shape[:-3], x.shape[-1]) != (*q.shape[:-3], q.shape[-1]):
            raise ValueError(f"dot_product_attention: {name} must have the rank, batch and head size of query, got shape "
                             f"{x.shape} for a query of shape {q.shape}")
        if x.dtype != q.dtype:
            raise ValueError(f"dot_product_attention: query, key and value must have one dtype, got {q.dtype} and "
                             f"{x.dtype} ({name})")
    if k.shape != v.shape:
        raise ValueError(f"dot_product_attention: key and value must have one shape, got {k.shape} and {v.shape}")
    if not k.shape[-2] or q.shape[-2] % k.shape[-2]:
        raise ValueError(f"dot_product_attention: the number of query heads, {q.shape[-2]}, must be a multiple of the "
                         f"number of key heads, {k.shape[-2]}")


def _check_logit_operand(name: str, x: Any, sizes: tuple[Any, ...], batched: bool) -> None:
    if x is None:
        return
    aval = typeof(x)
    b, t, s, n = sizes
    full = (b, n, t, s) if batched else (n, t, s)
    # Without a batch, an operand with a batch axis of size 1 is accepted too.
    fits = len(aval.shape) == 4 or len(aval.shape) <= len(full)
    wanted = (b, n, t, s)[4 - len(aval.shape):] if fits else ()
    if not fits or any(m not in (1, size) for m, size in zip(aval.shape, wanted, strict=True)):
        raise ValueError(f"dot_product_attention: {name} must have shape {full}, with axes of size 1 where it is the "
                         f"same, got {aval.shape}")
    if name == "mask" and aval.dtype != np.bool_:
        raise ValueError(f"dot_product_attention: mask must be boolean, got dtype {aval.dtype}; compare it, as in "
                         "mask > 0, or pass numbers as bias")


def _check_lengths(name: str, x: Any, batch: Any) -> None:
    if x is None:
        return
    aval = typeof(x)
    if aval.shape != (batch,) or not dtypes.issubdtype(aval.dtype, np.integer):
        raise ValueError(f"dot_product_attention: {name} must be integers of shape ({batch},), got {aval.str_short()}")


@composite(static_argnames=("causal", "window", "residual"))
def _attention(query: Any, key: Any, value: Any, bias: Any, mask: Any, scale: Any, query_lengths: Any,
               key_lengths: Any, *, causal: bool, window: Any, residual: bool) -> Any:
    batched = query.ndim == 4
    if not batched:
        query, key, value = (lax.expand_dims(x, (0,)) for x in (query, key, value))
    b, t, n, h = query.shape
    s, k = key.shape[1:3]
    wide = dtypes.promote_types(query.dtype, np.float32)
    grouped = lax.reshape(query, (b, t, k, n // k, h))
    # Logits have the axes batch, key head, query, head of the group, key: as the product gives them.
    logits = lax.dot_general(grouped, key, (((4,), (3,)), ((0, 2), (0, 2))), preferred_element_type=wide)
    factor = np.asarray(1 / math.sqrt(h), wide) if scale is None else lax.convert_element_type(scale, wide)
    logits = lax.mul(logits, factor)
    if bias is not None:
        logits = logits + _to_logits(bias, k).astype(wide)
    seen = _seen(mask, query_lengths, key_lengths, (t, s, k), causal, window)
    if seen is not None:
        logits = jnp.where(seen, logits, np.asarray(-0.7 * dtypes.finfo(wide).max, wide))
    weights = softmax(logits, -1).astype(value.dtype)
    out = lax.dot_general(weights, value, (((4,), (1,)), ((0, 1), (0, 2))), preferred_element_type=value.dtype)
    out = lax.reshape(lax.transpose(out, (0, 2, 1, 3, 4)), (b, t, n, h))
    if query_lengths is not None:
        out = out * _within(query_lengths, t)[:, :, None, None].astype(out.dtype)
    log_total = None
    if residual:
        log_total = lax.stop_gradient(logsumexp(logits, -1)).astype(query.dtype)
        log_total = lax.reshape(lax.transpose(log_total, (0, 2, 1, 3)), (b, t, n))
    if not batched:
        out, log_total = lax.squeeze(out, (0,)), None if log_total is None else lax.squeeze(log_total, (0,))
    return out, log_total


def _to_logits(x: Any, k: int) -> Any:
    """An array with (a suffix of) the axes batch, head, query, key in those of the logits."""
    x = lax.reshape(x, (*(1,) * (4 - x.ndim), *x.shape))
    b, n, t, s = x.shape
    x = lax.reshape(x, (b, 1, 1, t, s) if n == 1 else (b, k, n // k, t, s))
    return lax.transpose(x, (0, 1, 3, 2, 4))


def _within(lengths: Any, size: int) -> Any:
    """Whether each of ``size`` places lies within each length, of shape ``(lengths, size)``."""
    return lax.broadcasted_iota(lengths.dtype, (1, size), 1) < lengths[:, None]


def _seen(mask: Any, query_lengths: Any, key_lengths: Any, sizes: tuple[int, int, int], causal: bool,
          window: Any) -> Any:
    """Which queries see which keys, broadcasting to the logits, or None if all see all."""
    t, s, k = sizes
    found = [] if mask is None else [_to_logits(mask, k)]
    i = lax.broadcasted_iota(np.dtype(np.int32), (1, 1, t, 1, s), 2)
    j = lax.broadcasted_iota(np.dtype(np.int32), (1, 1, t, 1, s), 4)
    if causal:
        found.append(i >= j)
    if window is not None:
        found.append((j >= i - window[0]) & (j <= i + window[1]))
    if query_lengths is not None:
        found.append(_within(query_lengths, t)[:, None, :, None, None])
    if key_lengths is not None:
        found.append(_within(key_lengths, s)[:, None, None, None, :])
    total = found[0] if found else None
    for other in found[1:]:
        total = total & other
    return total
