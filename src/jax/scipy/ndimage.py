"""``jax.scipy.ndimage``: interpolation in images."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import Any

from jax import dtypes, lax
from jax import numpy as jnp
from jax._api.composite import composite
from jax.numpy._promotion import check_arraylike, unwrap

_MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


def map_coordinates(input: Any, coordinates: Sequence[Any], order: int, mode: str = "constant",  # noqa: A002
                    cval: Any = 0.0) -> Any:
    """The values of an image at arbitrary points.

    Args:
      input: an array.
      coordinates: one array for each axis of ``input``: where to look along it. They are broadcast.
      order: 0 for the nearest element, 1 for linear interpolation.
      mode: how the image goes on beyond its edges: ``"constant"`` (with ``cval``), ``"nearest"`` (with the edge),
        ``"wrap"`` (periodically), ``"mirror"`` (reflected about the centres of the elements at the edges) or
        ``"reflect"`` (about the edges).
      cval: the value beyond the edges in mode ``"constant"``.

    Returns:
      An array of the broadcast shape and the dtype of ``input``; results for integers are rounded.

    Raises:
      NotImplementedError: for other orders and modes.
      ValueError: when the number of coordinates is not that of the axes.

    Deviation from SciPy: the image continues element by element in every mode, as in SciPy's ``"grid-constant"`` and
    ``"grid-wrap"``; SciPy's ``"constant"`` does not interpolate between edge and ``cval``, and its ``"wrap"`` has a
    period too short by 1.

    >>> import jax.numpy as jnp
    >>> map_coordinates(jnp.array([0.0, 10.0]), [jnp.array([0.25])], order=1).tolist()
    [2.5]
    """
    check_arraylike("scipy.ndimage.map_coordinates", input, *coordinates, cval)
    order = operator.index(order)
    if order not in (0, 1):
        raise NotImplementedError(f"scipy.ndimage.map_coordinates: order must be 0 or 1, got {order}: splines are not "
                                  "supported")
    if mode not in _MODES:
        raise NotImplementedError(f"scipy.ndimage.map_coordinates: mode must be one of {', '.join(_MODES)}, got {mode!r}")
    points = tuple(coordinates)
    if len(points) != jnp.ndim(input):
        raise ValueError(f"coordinates must be a sequence of length input.ndim, but {len(points)} != {jnp.ndim(input)}")
    return _interpolated(input, points, cval, order=order, mode=mode)


@functools.partial(composite, static_argnames=("order", "mode"))
def _interpolated(image: Any, points: tuple[Any, ...], cval: Any, order: int, mode: str) -> Any:
    image = jnp.asarray(unwrap(image))
    cval = jnp.asarray(unwrap(cval)).astype(image.dtype)
    points = tuple(jnp.asarray(unwrap(p)) for p in points)
    shape = jnp.broadcast_shapes(*[p.shape for p in points])
    if not image.size:  # nothing but the surroundings
        return jnp.broadcast_to(cval, shape)
    neighbours = [_neighbours(p, order) for p in points]
    weight_dtype = dtypes.to_inexact_dtype(jnp.result_type(image.dtype, *[p.dtype for p in points]))
    total = jnp.zeros(shape, weight_dtype)
    for corner in itertools.product(*neighbours):
        total = total + _corner(image, corner, mode, cval).astype(weight_dtype)
    if not points:
        total = image.astype(weight_dtype)
    if jnp.issubdtype(image.dtype, jnp.integer):
        total = lax.round(total)  # halves away from zero
    return total.astype(image.dtype)


def _neighbours(p: Any, order: int) -> list[tuple[Any, Any]]:
    """The elements that count along an axis, and their weights."""
    index = dtypes.scalar_dtype(int)
    if jnp.issubdtype(p.dtype, jnp.integer):
        return [(p.astype(index), None)]
    if order == 0:
        return [(jnp.floor(p + 0.5).astype(index), None)]
    low = jnp.floor(p)
    upper = p - low
    at = low.astype(index)
    return [(at, 1 - upper), (at + 1, upper)]


def _corner(image: Any, corner: Sequence[tuple[Any, Any]], mode: str, cval: Any) -> Any:
    """The value at one corner of the cells, times its weight."""
    inside: Any = None
    places = []
    for (i, _), n in zip(corner, image.shape, strict=True):
        if mode == "constant":
            known = (i >= 0) & (i < n)
            inside = known if inside is None else inside & known
        places.append(_continued(i, n, mode))
    value = image[tuple(places)]
    if inside is not None:
        value = jnp.where(inside, value, cval)
    for _, weight in corner:
        if weight is not None:
            value = value * weight
    return value


def _continued(i: Any, n: int, mode: str) -> Any:
    """The element that stands at place ``i`` of an axis of ``n``."""
    if mode == "wrap":
        return i % n
    if mode == "mirror":
        period = max(2 * (n - 1), 1)
        i = jnp.abs(i) % period
        return jnp.minimum(i, jnp.abs(period - i)) if n > 1 else jnp.zeros_like(i)
    if mode == "reflect":
        i = i % (2 * n)
        return jnp.minimum(i, 2 * n - 1 - i)
    return jnp.clip(i, 0, n - 1)
