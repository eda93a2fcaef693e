"""Windows that slide over an array: their sizes, padding and checks, for reductions and convolutions."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from jax._language import dims

Pairs = tuple[tuple[Any, Any], ...]


def padtype_to_pads(in_shape: Sequence[Any], window_shape: Sequence[Any], window_strides: Sequence[Any],
                    padding: str) -> list[tuple[Any, Any]]:
    """The padding (before, after) along each axis that ``"SAME"``, ``"SAME_LOWER"`` or ``"VALID"`` means.

    ``VALID`` is none. With ``SAME`` as many windows fit as there are multiples of the stride in the axis; padding that
    cannot be halved is larger behind, with ``SAME_LOWER`` in front.

    Raises:
      RuntimeError: for another name.
      TypeError: for something that is no name.
    """
    if not isinstance(padding, str):
        raise TypeError(f"padding must be 'SAME', 'SAME_LOWER' or 'VALID' here, got {padding!r}")
    kind = padding.upper()
    if kind == "VALID":
        return [(0, 0)] * len(in_shape)
    if kind not in ("SAME", "SAME_LOWER"):
        raise RuntimeError(f"padding must be 'SAME', 'SAME_LOWER' or 'VALID', or (before, after) for each axis; got "
                           f"{padding!r}")
    out = []
    for n, window, stride in zip(in_shape, window_shape, window_strides, strict=True):
        if dims.is_static(n) and dims.is_static(window):
            total = max((-(-n // stride) - 1) * stride + window - n, 0)
        else:
            total = (-(-n // stride) - 1) * stride + window - n
        less, more = total // 2, total - total // 2
        out.append((less, more) if kind == "SAME" else (more, less))
    return out


def canonical_pairs(op: str, padding: Any, rank: int, what: str) -> Pairs:
    """Explicit padding as a tuple of pairs of numbers, one for each of ``rank`` axes."""
    try:
        pairs = tuple([(operator.index(low), operator.index(high)) for low, high in padding])
    except (TypeError, ValueError):
        raise TypeError(f"{op}: padding must be 'SAME', 'SAME_LOWER', 'VALID', or a sequence of pairs of integers, got "
                        f"{padding!r}") from None
    if len(pairs) != rank:
        raise ValueError(f"{op}: padding must have one pair for each of the {rank} {what}, got {padding!r}")
    return pairs


def positive(op: str, name: str, values: Any, rank: int, of: str, default: int | None = None) -> tuple[Any, ...]:
    """``values`` as a tuple of ``rank`` positive integers; ``None`` means ``default`` everywhere."""
    if values is None and default is not None:
        return (default,) * rank
    try:
        out = tuple([dims.canonical_dim(v, f"{op}: {name}") for v in values])
    except TypeError as e:
        if str(e).startswith(op):
            raise
        raise TypeError(f"{op}: {name} must be a sequence of integers, got {values!r}") from None
    if len(out) != rank:
        raise TypeError(f"{op}: {name} must have one entry for each of the {rank} {of}, got {out}")
    if any(dims.is_static(v) and v < 1 for v in out):
        raise TypeError(f"{op}: {name} must be positive, got {out}")
    return out


def windows_along(n: Any, window: Any, stride: Any, padding: tuple[Any, Any], base_dilation: Any = 1,
                  window_dilation: Any = 1) -> Any:
    """How many windows fit along an axis of size ``n``."""
    total = dims.dilate_dim(n, base_dilation) + padding[0] + padding[1]
    return dims.stride_dim(total, dims.dilate_dim(window, window_dilation), stride)


def window_counts(shape: Sequence[Any], window: Sequence[Any], strides: Sequence[Any], padding: Pairs,
                  base_dilation: Sequence[Any], window_dilation: Sequence[Any]) -> tuple[Any, ...]:
    """:func:`windows_along` all axes; axes too short for a window have none."""
    out = []
    for args in zip(shape, window, strides, padding, base_dilation, window_dilation, strict=True):
        count = windows_along(*args)
        out.append(max(count, 0) if dims.is_static(count) else count)
    return tuple(out)


def pads_of_transpose(n: Any, out: Any, window: Any, stride: Any, padding: tuple[Any, Any], base_dilation: Any,
                      window_dilation: Any) -> tuple[Any, Any]:
    """The padding of a cotangent of ``out`` windows, spread out by ``stride``, such that windows over it at distance
    ``base_dilation`` cover, for each of the ``n`` elements, the windows that this element was in."""
    reach = dims.dilate_dim(window, window_dilation)
    low = reach - padding[0] - 1
    high = dims.dilate_dim(n, base_dilation) - 1 + reach - low - dims.dilate_dim(out, stride)
    return low, high
