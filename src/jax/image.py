"""Images of other sizes: resampling along the axes of an array with several kernels."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax import numpy as jnp
from jax._api.composite import api_boundary, composite
from jax._language.avals import typeof
from jax._language.dims import canonical_axis, canonicalize_shape
from jax.numpy._promotion import check_arraylike

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(enum.Enum):
    """How values between the pixels of an image are found; :func:`resize` also takes the names in lower case."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method for a name such as ``"linear"``, ``"bilinear"`` or ``"cubic-pytorch"``.

        Raises:
          ValueError: an unknown name.
        """
        found = _names.get(s)
        if found is None:
            raise ValueError(f"jax.image: unknown method {s!r}; there are {', '.join(sorted(_names))}")
        return found


_names = {
    "nearest": ResizeMethod.NEAREST, "area": ResizeMethod.AREA,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC), "cubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
    "lanczos3": ResizeMethod.LANCZOS3, "lanczos5": ResizeMethod.LANCZOS5,
}


# --- kernels --------------------------------------------------------------------------------------------------------
# The weight of a pixel as a function of its distance (not negative, in pixels) from the place that is looked up.

def _triangle(x: Any) -> Any:
    return jnp.maximum(0, 1 - x)


def _cubic(a: float) -> Callable[[Any], Any]:
    """The piecewise cubic with slope ``a`` at distance 1 (R. G. Keys, Cubic convolution interpolation, 1981)."""
    def weight(x: Any) -> Any:
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return jnp.where(x < 1, near, jnp.where(x < 2, far, 0))
    return weight


def _lanczos(radius: int) -> Callable[[Any], Any]:
    def weight(x: Any) -> Any:
        return jnp.where(x < radius, jnp.sinc(x) * jnp.sinc(x / radius), 0)
    return weight


_kernels: dict[ResizeMethod, Callable[[Any], Any]] = {
    ResizeMethod.LINEAR: _triangle, ResizeMethod.CUBIC: _cubic(-0.5), ResizeMethod.CUBIC_PYTORCH: _cubic(-0.5),
    ResizeMethod.LANCZOS3: _lanczos(3), ResizeMethod.LANCZOS5: _lanczos(5),
}


def _weights(old: int, new: int, scale: Any, translation: Any, method: ResizeMethod, antialias: bool) -> Any:
    """The matrix of shape ``(old, new)`` that resamples one axis; columns sum to 1, or to 0 outside of the image."""
    dtype = typeof(scale).dtype
    step = 1 / scale
    centers = (jnp.arange(new, dtype=dtype) + 0.5 - translation) * step - 0.5  # in pixels of the old axis
    pixels = jnp.arange(old, dtype=dtype)[:, None]
    if method is ResizeMethod.AREA:
        half = jnp.abs(step) / 2
        begin, end = jnp.maximum(pixels - 0.5, centers - half), jnp.minimum(pixels + 0.5, centers + half)
        weights = jnp.maximum(0, end - begin)
    elif method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        return _going_on(_cubic(-0.75), centers, old)
    else:
        # Where the image shrinks, a wider kernel averages over all pixels that are merged.
        width = jnp.maximum(jnp.abs(step), 1) if antialias else 1
        weights = _kernels[method](jnp.abs(centers - pixels) / width)
    return _normalized(weights, (centers >= -0.5) & (centers <= old - 0.5))


def _going_on(kernel: Callable[[Any], Any], centers: Any, old: int) -> Any:
    """Weights as if the image had two more pixels on each side, equal to those at its borders, and were 0 from there."""
    pixels = np.arange(-2, old + 2)
    weights = kernel(jnp.abs(centers - jnp.asarray(pixels, centers.dtype)[:, None]))
    inner = jnp.concatenate([weights[:3].sum(0)[None], weights[3:-3], weights[-3:].sum(0)[None]]) if old > 1 else \
        weights.sum(0)[None]
    return _normalized(inner, True)


def _normalized(weights: Any, inside: Any) -> Any:
    total = weights.sum(0)
    covered = (jnp.abs(total) > 1000 * jnp.finfo(total.dtype).eps) & inside
    return jnp.where(covered, weights / jnp.where(covered, total, 1), 0)


# --- resampling -----------------------------------------------------------------------------------------------------

@api_boundary
def scale_and_translate(image: Any, shape: Sequence[int], spatial_dims: Sequence[int], scale: Any, translation: Any,
                        method: str | ResizeMethod, antialias: bool = True, precision: Any = lax.Precision.HIGHEST) -> Any:
    """An image scaled and then moved along some of its axes.

    The point ``x`` of an axis, where pixel ``i`` covers the interval from ``i`` to ``i + 1``, goes to
    ``x * scale + translation``. What comes from outside of the image is 0; only the method ``"cubic-pytorch"`` without
    ``antialias`` takes the values at the borders for some pixels around it.

    Args:
      image: an array of any rank. Integers and booleans are converted to floats.
      shape: the shape of the result. Axes that are not in ``spatial_dims`` are not resampled.
      spatial_dims: the axes along which the image is scaled and moved.
      scale, translation: vectors with one entry for each of ``spatial_dims``. They may be traced and differentiated.
      method: a :class:`ResizeMethod`, or one of the names that :func:`resize` lists, ``"nearest"`` aside.
      antialias: when shrinking, average over all pixels that are merged. ``"area"`` does so in any case.
      precision: of the products with the matrices of weights, see :class:`jax.lax.Precision`.

    Returns:
      An array of the given shape and the floating-point dtype of ``image``.

    Raises:
      ValueError: shapes of the wrong lengths, axes out of range or given twice, an unknown method.

    >>> import jax.numpy as jnp
    >>> moved = scale_and_translate(jnp.array([1., 2., 3.]), (3,), (0,), jnp.ones(1), jnp.ones(1), "linear")
    >>> moved.tolist()
    [0.0, 1.0, 2.0]
    """
    api = "image.scale_and_translate"
    check_arraylike(api, image, scale, translation)
    old = typeof(image).shape
    shape = _target(api, shape, old)
    method = _method(api, method)
    if method is ResizeMethod.NEAREST:
        raise ValueError("jax.image.scale_and_translate: the method 'nearest' is not available here; use jax.image.resize, "
                         "or index the image")
    axes = tuple([canonical_axis(d, len(old), api, "spatial_dims") for d in spatial_dims])
    if len(set(axes)) != len(axes):
        raise ValueError(f"jax.{api}: spatial_dims names an axis twice: {tuple(spatial_dims)}")
    for name, x in (("scale", scale), ("translation", translation)):
        if typeof(x).shape != (len(axes),):
            raise ValueError(f"jax.{api}: {name} must have one entry for each of the {len(axes)} spatial_dims, got an array "
                             f"of shape {typeof(x).shape}")
    for i, (a, b) in enumerate(zip(old, shape, strict=True)):
        if i not in axes and a != b:
            raise ValueError(f"jax.{api}: axis {i} is not in spatial_dims={axes}, and its size would change from {a} to {b}")
    _refuse_empty(api, old, shape)
    return _resampled(image, scale, translation, shape=shape, axes=axes, method=method, antialias=bool(antialias),
                      precision=precision)


@api_boundary
def resize(image: Any, shape: Sequence[int], method: str | ResizeMethod, antialias: bool = True,
           precision: Any = lax.Precision.HIGHEST) -> Any:
    """An image resampled to another shape, each axis stretched to its new size.

    Args:
      image: an array of any rank; leading batch axes and channels are axes whose size stays the same.
      shape: the new shape.
      method: a :class:`ResizeMethod` or its name: ``"nearest"``; ``"linear"`` (also ``"bilinear"``, ``"trilinear"``,
        ``"triangle"``); ``"cubic"`` (also ``"bicubic"``, ``"tricubic"``), Keys' kernel with ``a = -0.5``;
        ``"cubic-pytorch"``, what PyTorch does: the same with ``antialias``, else ``a = -0.75`` and an image that goes on
        beyond its borders with the values there; ``"lanczos3"``, ``"lanczos5"``; ``"area"``, averages over the area that
        each new pixel covers.
      antialias: when shrinking, average over all pixels that are merged. ``"nearest"`` ignores it, and ``"area"``
        averages in any case.
      precision: of the products with the matrices of weights, see :class:`jax.lax.Precision`.

    Returns:
      An array of the given shape. ``"nearest"`` keeps the dtype; the other methods return floats for integers.

    Raises:
      ValueError: a shape of the wrong length, an unknown method, or an image without elements where some are wanted.

    Near the borders the weights of the pixels inside of the image are normalised to sum to 1.

    >>> import jax.numpy as jnp
    >>> resize(jnp.array([1., 3.]), (4,), "linear").tolist()
    [1.0, 1.5, 2.5, 3.0]
    """
    check_arraylike("image.resize", image)
    old = typeof(image).shape
    shape = _target("image.resize", shape, old)
    method = _method("image.resize", method)
    _refuse_empty("image.resize", old, shape)
    axes = tuple([i for i, (a, b) in enumerate(zip(old, shape, strict=True)) if a != b])
    if method is ResizeMethod.NEAREST:
        return _nearest(image, shape=shape, axes=axes)
    scale = np.asarray([shape[i] / old[i] if old[i] else 1.0 for i in axes], _weight_dtype(image))
    return _resampled(image, scale, np.zeros_like(scale), shape=shape, axes=axes, method=method,
                      antialias=bool(antialias), precision=precision)


def _weight_dtype(image: Any) -> Any:
    """Weights are computed in 32 bits or more."""
    return np.float64 if typeof(image).dtype in (np.float64, np.complex128) else np.float32


@composite(static_argnames=("shape", "axes", "method", "antialias", "precision"))
def _resampled(image: Any, scale: Any, translation: Any, *, shape: tuple[int, ...], axes: tuple[int, ...],
               method: ResizeMethod, antialias: bool, precision: Any) -> Any:
    dtype = typeof(image).dtype
    if not dtypes.issubdtype(dtype, np.inexact):
        dtype = dtypes.scalar_dtype(float)
    out = lax.convert_element_type(image, dtype)
    of_weights = _weight_dtype(out)
    # Axes that shrink go first, so that later products are smaller.
    order = sorted(range(len(axes)), key=lambda k: shape[axes[k]] / max(typeof(image).shape[axes[k]], 1))
    for k in order:
        axis = axes[k]
        weights = _weights(typeof(out).shape[axis], shape[axis], scale[k].astype(of_weights),
                           translation[k].astype(of_weights), method, antialias)
        product = jnp.tensordot(out, weights.astype(dtype), axes=((axis,), (0,)), precision=precision)
        out = jnp.moveaxis(product, -1, axis)
    return out


@composite(static_argnames=("shape", "axes"))
def _nearest(image: Any, *, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    out = jnp.asarray(image)
    for axis in axes:
        old, new = typeof(out).shape[axis], shape[axis]
        # floor((i + 1/2) * old / new), in integers
        places = (2 * np.arange(new, dtype=np.int64) + 1) * old // (2 * max(new, 1))
        out = jnp.take(out, places.astype(np.int32), axis, mode="clip", unique_indices=new <= old, indices_are_sorted=True)
    return out


# --- arguments ------------------------------------------------------------------------------------------------------

def _target(api: str, shape: Any, old: tuple[int, ...]) -> tuple[int, ...]:
    shape = canonicalize_shape(shape, f"jax.{api}: shape")
    if any(type(d) is int and d < 0 for d in shape):
        raise ValueError(f"jax.{api}: sizes cannot be negative, got shape={shape}")
    if len(shape) != len(old):
        raise ValueError(f"jax.{api}: shape={shape} must have one entry for each axis of the image, which has the shape "
                         f"{old}; keep the sizes of batch axes and channels")
    return shape


def _method(api: str, method: Any) -> ResizeMethod:
    if isinstance(method, ResizeMethod):
        return method
    if not isinstance(method, str):
        raise ValueError(f"jax.{api}: method must be a ResizeMethod or its name, got {method!r}")
    return ResizeMethod.from_string(method)


def _refuse_empty(api: str, old: tuple[int, ...], shape: tuple[int, ...]) -> None:
    if 0 in old and 0 not in shape:
        raise ValueError(f"jax.{api}: the image of shape {old} has no elements of which to make one of shape {shape}")
