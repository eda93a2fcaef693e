"""Padding, in all of NumPy's modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.composite import composite
from jax._base._jaxlib import xla
from jax._ground.families import constant
from jax._language.avals import typeof
from jax._language.dims import canonical_axis, canonical_dim
from jax._language.trace import Tracer
from jax.numpy import _quantiles, _reductions, _statistics
from jax.numpy._creation import asarray
from jax.numpy._index_run import Options, get
from jax.numpy._promotion import as_dtype, broadcast_to, check_arraylike, shape_of
from jax.numpy._ranges import _linspace
from jax.numpy._selection import apply_along_axis

_Array = xla.Array
Widths = tuple[tuple[int, int], ...]

_OPTIONS: dict[str, dict[str, Any]] = {
    "constant": {"constant_values": 0}, "edge": {}, "empty": {}, "linear_ramp": {"end_values": 0},
    "maximum": {"stat_length": None}, "mean": {"stat_length": None}, "median": {"stat_length": None},
    "minimum": {"stat_length": None}, "reflect": {"reflect_type": "even"}, "symmetric": {"reflect_type": "even"},
    "wrap": {},
}


def pad(array: Any, pad_width: Any, mode: str | Callable[..., Any] = "constant", **kwargs: Any) -> Any:
    """``array`` with elements added before and after along each axis.

    Args:
      array: an array.
      pad_width: how many: a number, ``(before, after)``, one pair for each axis, or a dict from axes to numbers or pairs.
      mode: what they are:

        * ``"constant"``: ``constant_values``, 0 by default;
        * ``"edge"``: the first and last elements;
        * ``"linear_ramp"``: numbers at even distances from these to ``end_values``, 0 by default;
        * ``"maximum"``, ``"mean"``, ``"median"``, ``"minimum"``: of the ``stat_length`` elements nearest to the end, of
          all by default;
        * ``"reflect"``, ``"symmetric"``: the array mirrored at the first and last elements, which are repeated in the
          second case; with ``reflect_type="odd"`` differences to these are mirrored;
        * ``"wrap"``: the array from its other end;
        * ``"empty"``: undefined (here zeros).

        Or a function ``(vector, pad_width, axis, kwargs)`` of a vector already padded with zeros, that returns it filled.
      **kwargs: options of the mode. ``constant_values``, ``end_values`` and ``stat_length`` are given like ``pad_width``.

    Raises:
      ValueError: for negative widths, unknown modes and options.

    >>> import jax.numpy as jnp
    >>> jnp.pad(jnp.arange(3), (1, 2), mode="wrap")
    Array([2, 0, 1, 2, 0, 1], dtype=int32)
    """
    check_arraylike("pad", array)
    array = asarray(array)
    rank = array.ndim
    widths = _widths(pad_width, rank)
    if callable(mode):
        return _pad_by_function(array, widths, mode, kwargs)
    if mode not in _OPTIONS:
        raise ValueError(f"pad: mode {mode!r} is not known; modes are {', '.join(_OPTIONS)}")
    unknown = set(kwargs) - set(_OPTIONS[mode])
    if unknown:
        raise ValueError(f"pad: mode {mode!r} does not take {', '.join(sorted(unknown))}")
    options = {**_OPTIONS[mode], **kwargs}
    if mode == "constant":
        values = options["constant_values"]
        return _pad_constant(array, asarray(values) if isinstance(values, (list, tuple)) else values, widths=widths)
    if mode == "linear_ramp":
        values = options["end_values"]
        return _pad_ramp(array, asarray(values) if isinstance(values, (list, tuple)) else values, widths=widths)
    if mode in ("reflect", "symmetric"):
        if options["reflect_type"] not in ("even", "odd"):
            raise ValueError(f"pad: reflect_type must be 'even' or 'odd', got {options['reflect_type']!r}")
        return _pad_per_axis(array, widths=widths, mode=mode, odd=options["reflect_type"] == "odd")
    if "stat_length" in options:
        length = options["stat_length"]
        lengths = None if length is None else _pairs("stat_length", length, rank)
        if lengths is not None and any([n < 1 for pair in lengths for n in pair]):
            raise ValueError(f"pad: stat_length must be at least 1, got {length}")
        return _pad_statistic(array, widths=widths, mode=mode, lengths=lengths)
    return _pad_per_axis(array, widths=widths, mode=mode, odd=False)


def _widths(pad_width: Any, rank: int) -> Widths:
    if isinstance(pad_width, dict):
        out = [(0, 0)] * rank
        for axis, width in pad_width.items():
            out[canonical_axis(axis, rank, "pad", "axis of pad_width")] = _pairs("pad_width", width, 1)[0]
        pairs: Widths = tuple(out)
    else:
        pairs = _pairs("pad_width", pad_width, rank)
    if any([n < 0 for pair in pairs for n in pair if type(n) is int]):
        raise ValueError(f"pad: pad_width must not be negative, got {pad_width}")
    return pairs


def _pairs(name: str, value: Any, rank: int) -> Widths:
    """A number, a pair, a pair in a sequence, or one for each axis, as a pair for each axis."""
    if isinstance(value, (_Array, np.ndarray)) and not isinstance(value, Tracer):
        value = np.asarray(value).tolist()
    if not isinstance(value, (tuple, list)):
        n = canonical_dim(value, f"pad: {name}")
        return ((n, n),) * rank
    rows = [[canonical_dim(n, f"pad: {name}") for n in row] if isinstance(row, (tuple, list, np.ndarray)) else row
            for row in value]
    if rows and not isinstance(rows[0], list):
        rows = [[canonical_dim(n, f"pad: {name}") for n in rows]]
    rows = [row * 2 if len(row) == 1 else row for row in rows]
    if len(rows) == 1:
        rows = rows * rank
    if len(rows) != rank or any([len(row) != 2 for row in rows]):
        raise ValueError(f"pad: {name} must be a number, a pair, or a pair for each of the {rank} axes, got {value}")
    return tuple([(row[0], row[1]) for row in rows])


def _end_values(values: Any, rank: int, dtype: Any) -> list[list[Any]]:
    """Scalars for the two ends of each axis."""
    values = as_dtype(values, dtype, False)
    shape = shape_of(values)
    if shape and shape[-1] not in (1, 2) or len(shape) > 2 or (len(shape) == 2 and shape[0] not in (1, rank)):
        raise ValueError(f"pad: values for the ends must be a scalar, a pair, or a pair for each of the {rank} axes, got "
                         f"shape {shape}")
    if not shape:
        return [[values, values]] * rank
    table = broadcast_to(values, (rank, 2))
    return [[lax.squeeze(lax.slice(table, (i, j), (i + 1, j + 1)), (0, 1)) for j in range(2)] for i in range(rank)]


@composite(static_argnames=("widths",))
def _pad_constant(array: Any, values: Any, widths: Widths) -> Any:
    dtype = typeof(array).dtype
    if not shape_of(values):
        if isinstance(dtype, np.dtype):
            values = as_dtype(values, dtype, False)
        elif typeof(values).dtype != dtype:  # keys are padded with keys of zeros
            values = dtype.zeros(())
        if type(values) in (int, float, bool, complex):
            values = np.asarray(values, dtype)
        return lax.pad(array, values, [(low, high, 0) for low, high in widths])
    for axis, ((low, high), (first, last)) in enumerate(zip(widths, _end_values(values, len(widths), dtype), strict=True)):
        none = [(0, 0, 0)] * len(widths)
        array = lax.pad(array, first, [*none[:axis], (low, 0, 0), *none[axis + 1:]])
        array = lax.pad(array, last, [*none[:axis], (0, high, 0), *none[axis + 1:]])
    return array


@composite(static_argnames=("widths",))
def _pad_ramp(array: Any, values: Any, widths: Widths) -> Any:
    dtype = typeof(array).dtype
    for axis, ((low, high), ends) in enumerate(zip(widths, _end_values(values, len(widths), dtype), strict=True)):
        n = shape_of(array)[axis]
        if n == 0:
            raise ValueError("pad: an empty axis cannot be extended by a ramp")
        sides: list[Any] = []
        for count, end, at in ((low, ends[0], 0), (high, ends[1], n - 1)):
            edge = lax.index_in_dim(array, at, axis, keepdims=False)
            ramp, _ = _linspace(broadcast_to(end, shape_of(edge)), edge, num=count, endpoint=False, dtype=dtype, axis=axis)
            sides.append(ramp if at == 0 and count == low and not sides else lax.rev(ramp, (axis,)))
        array = lax.concatenate([sides[0], array, sides[1]], axis)
    return array


@composite(static_argnames=("widths", "mode", "lengths"))
def _pad_statistic(array: Any, widths: Widths, mode: str, lengths: Widths | None) -> Any:
    for axis, (low, high) in enumerate(widths):
        shape = shape_of(array)
        n = shape[axis]
        if low == 0 and high == 0:
            continue
        if n == 0:
            raise ValueError(f"pad: an empty axis has no {mode}")
        first, last = (n, n) if lengths is None else (min(n, k) for k in lengths[axis])
        before = _statistic(mode, lax.slice_in_dim(array, 0, first, axis=axis), axis)
        after = before if first == last == n else _statistic(mode, lax.slice_in_dim(array, n - last, n, axis=axis), axis)
        array = lax.concatenate([broadcast_to(before, (*shape[:axis], low, *shape[axis + 1:])), array,
                                 broadcast_to(after, (*shape[:axis], high, *shape[axis + 1:]))], axis)
    return array


def _statistic(mode: str, x: Any, axis: int) -> Any:
    dtype = typeof(x).dtype
    if mode == "maximum":
        return _reductions.max(x, axis=axis, keepdims=True)
    if mode == "minimum":
        return _reductions.min(x, axis=axis, keepdims=True)
    found = (_statistics.mean if mode == "mean" else _quantiles.median)(x, axis=axis, keepdims=True)
    if dtypes.issubdtype(dtype, np.integer):
        found = lax.round(found, lax.RoundingMethod.TO_NEAREST_EVEN)
    return lax.convert_element_type(found, dtype)


@composite(static_argnames=("widths", "mode", "odd"))
def _pad_per_axis(array: Any, widths: Widths, mode: str, odd: bool) -> Any:
    for axis, (low, high) in enumerate(widths):
        if low or high:
            array = _pad_axis(array, axis, low, high, mode, odd)
    return array


def _pad_axis(x: Any, axis: int, low: int, high: int, mode: str, odd: bool) -> Any:
    shape = shape_of(x)
    n = shape[axis]
    if mode == "empty":
        none = [(0, 0, 0)] * len(shape)
        return lax.pad(x, constant(typeof(x).dtype, 0), [*none[:axis], (low, high, 0), *none[axis + 1:]])
    if n == 0:
        raise ValueError(f"pad: an empty axis cannot be extended in mode {mode!r}")

    def part(start: int, limit: int) -> Any:
        return lax.slice_in_dim(x, start, limit, axis=axis)

    if mode == "edge":
        return lax.concatenate([broadcast_to(part(0, 1), (*shape[:axis], low, *shape[axis + 1:])), x,
                                broadcast_to(part(n - 1, n), (*shape[:axis], high, *shape[axis + 1:]))], axis)
    if mode == "wrap":
        if low <= n and high <= n:
            return lax.concatenate([part(n - low, n), x, part(0, high)], axis)
        turns_before, turns_after = -(-low // n), -(-high // n)
        reps = [1] * len(shape)
        reps[axis] = turns_before + 1 + turns_after
        start = turns_before * n - low
        return lax.slice_in_dim(lax.tile(x, reps), start, start + low + n + high, axis=axis)
    own = 1 if mode == "reflect" else 0  # whether the element at the mirror is left out
    if low + own <= n and high + own <= n:
        before = lax.rev(part(own, low + own), (axis,))
        after = lax.rev(part(n - high - own, n - own), (axis,))
        if odd:
            before, after = _turned(before, part(0, 1)), _turned(after, part(n - 1, n))
        return lax.concatenate([before, x, after], axis)
    return _mirrored(x, axis, low, high, own, odd)


def _turned(mirror_image: Any, edge: Any) -> Any:
    edge = broadcast_to(edge, shape_of(mirror_image))
    return lax.sub(lax.add(edge, edge), mirror_image)


def _mirrored(x: Any, axis: int, low: int, high: int, own: int, odd: bool) -> Any:
    """The array mirrored more than once, at static places."""
    shape = shape_of(x)
    n = shape[axis]
    period = max(2 * (n - own), 1)
    at = np.arange(-low, n + high)
    turn, rest = np.divmod(at, period)
    inside = rest < n
    places = np.where(inside, rest, period - 1 + own - rest) if n > own else np.zeros_like(at)
    plan = (*("all",) * axis, "array", *("all",) * (len(shape) - 1 - axis))
    out = get(x, plan, (places.astype(np.int32),), Options(wrap=False))
    if not odd:
        return out
    # Each period adds twice the difference of the ends; beyond its middle the image is turned over.
    dtype = typeof(x).dtype
    first, last = lax.slice_in_dim(x, 0, 1, axis=axis), lax.slice_in_dim(x, n - 1, n, axis=axis)
    rise = lax.sub(last, first)

    def along(values: np.ndarray) -> Any:
        return lax.broadcast_in_dim(values.astype(dtype), shape_of(out), (axis,))

    out = lax.mul(out, along(np.where(inside, 1, -1)))
    out = lax.add(out, lax.mul(broadcast_to(last, shape_of(out)), along(np.where(inside, 0, 2))))
    return lax.add(out, lax.mul(broadcast_to(rise, shape_of(out)), along(2 * turn)))


def _pad_by_function(array: Any, widths: Widths, function: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
    out = _pad_constant(array, 0, widths=widths)
    for axis in range(len(widths)):
        out = apply_along_axis(function, axis, out, widths[axis], axis, kwargs)
    return out
