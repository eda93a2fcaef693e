"""Special and derived convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax import dtypes
from jax._ground.families import constant
from jax._ground.structural import convert, inverse_permutation, permute
from jax._language import dims
from jax._language.avals import typeof
from jax.lax._conv import conv_general_dilated, merge_axes
from jax.lax._conv_dims import (
    conv_dimension_numbers,
    conv_transpose_padding,
    conv_window,
    permuted,
)
from jax.lax._dot import dot_general
from jax.lax._join import concatenate
from jax.lax._shape import expand_dims, rev
from jax.lax._window import each_window


def conv(lhs: Any, rhs: Any, window_strides: Sequence[int], padding: str, precision: Any = None,
         preferred_element_type: Any = None) -> Any:
    """:func:`conv_general_dilated` in the default layout without dilation; ``padding`` is ``"SAME"`` or ``"VALID"``."""
    return conv_general_dilated(lhs, rhs, window_strides, padding, precision=precision,
                                preferred_element_type=preferred_element_type)


def conv_with_general_padding(lhs: Any, rhs: Any, window_strides: Sequence[int],
                              padding: str | Sequence[tuple[int, int]], lhs_dilation: Sequence[int] | None,
                              rhs_dilation: Sequence[int] | None, precision: Any = None,
                              preferred_element_type: Any = None) -> Any:
    """:func:`conv_general_dilated` in the default layout and without groups."""
    return conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, precision=precision,
                                preferred_element_type=preferred_element_type)


_CHANNELS_LAST = {2: ("NC", "IO", "NC"), 3: ("NHC", "HIO", "NHC"), 4: ("NHWC", "HWIO", "NHWC"),
                  5: ("NHWDC", "HWDIO", "NHWDC")}


def conv_transpose(lhs: Any, rhs: Any, strides: Sequence[int], padding: str | Sequence[tuple[int, int]],
                   rhs_dilation: Sequence[int] | None = None, dimension_numbers: Any = None,
                   transpose_kernel: bool = False, precision: Any = None, preferred_element_type: Any = None,
                   use_consistent_padding: bool = False) -> Any:
    """A transposed convolution ("deconvolution"): the images are spread out by ``strides`` and convolved.

    Args:
      lhs: images, of rank n + 2.
      rhs: the kernel.
      strides: how far the elements of the images are spread apart.
      padding: ``"SAME"`` (the result is ``strides`` times as large as the images), ``"VALID"`` (as far as the kernel
        reaches), or (before, after) for each spatial dimension of the spread images.
      rhs_dilation: how far the elements of the kernel are apart.
      dimension_numbers: as for :func:`conv_general_dilated`; by default with channels last.
      transpose_kernel: reverses the kernel and exchanges its input and output features. With it this is the
        derivative of the convolution with the same kernel and strides.
      precision, preferred_element_type: as for :func:`dot_general`.
      use_consistent_padding: explicit ``padding`` is that of the convolution of which this is the transpose.

    Raises:
      ValueError: when arguments do not fit, or no default layout is known for the rank.
    """
    rank = len(typeof(lhs).shape)
    if dimension_numbers is None:
        if rank not in _CHANNELS_LAST:
            raise ValueError(f"conv_transpose: there is no default for operands of rank {rank}; give dimension_numbers")
        dimension_numbers = _CHANNELS_LAST[rank]
    numbers = conv_dimension_numbers(typeof(lhs).shape, typeof(rhs).shape, dimension_numbers)
    kernel = permuted(typeof(rhs).shape, numbers.rhs_spec)[2:]
    dilation = (1,) * len(kernel) if rhs_dilation is None else tuple(rhs_dilation)
    reach = [dims.dilate_dim(k, d) for k, d in zip(kernel, dilation, strict=True)]
    if isinstance(padding, str):
        pads = [conv_transpose_padding(k, s, padding) for k, s in zip(reach, strides, strict=True)]
    elif use_consistent_padding:
        pads = [(k - 1 - low, k - 1 - high) for k, (low, high) in zip(reach, padding, strict=True)]
    else:
        pads = list(padding)
    if transpose_kernel:
        if len(numbers.rhs_spec) > 2:
            rhs = rev(rhs, tuple(numbers.rhs_spec[2:]))
        order = list(range(rank))
        out_features, in_features = numbers.rhs_spec[:2]
        order[out_features], order[in_features] = in_features, out_features
        rhs = permute(rhs, order)
    return conv_general_dilated(lhs, rhs, (1,) * len(kernel), pads, strides, rhs_dilation, numbers, precision=precision,
                                preferred_element_type=preferred_element_type)


def conv_general_dilated_patches(lhs: Any, filter_shape: Sequence[int], window_strides: Sequence[int],
                                 padding: str | Sequence[tuple[int, int]], lhs_dilation: Sequence[int] | None = None,
                                 rhs_dilation: Sequence[int] | None = None, dimension_numbers: Any = None,
                                 precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The patches of the images over which a kernel of ``filter_shape`` would slide.

    Args:
      lhs: images, of rank n + 2.
      filter_shape: the size of the patches along the spatial dimensions.
      window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers: as for :func:`conv_general_dilated`.
      precision: accepted; elements are copied, so nothing is rounded.
      preferred_element_type: the dtype of the result.

    Returns:
      An array like a convolution's result, with ``features * prod(filter_shape)`` features: those of one feature of the
      images follow one another.
    """
    del precision
    shape = typeof(lhs).shape
    filter_shape = tuple(filter_shape)
    numbers = conv_dimension_numbers(shape, (1, 1, *filter_shape), dimension_numbers)
    spec = tuple(numbers.lhs_spec)
    window = conv_window("conv_general_dilated_patches", permuted(shape, spec)[2:], filter_shape, window_strides,
                         padding, lhs_dilation, rhs_dilation)
    rank, channel = len(shape), spec[1]
    sizes, strides, pads = [1] * rank, [1] * rank, [(0, 0)] * rank
    base, dilation = [1] * rank, [1] * rank
    for d, size, stride, pad, ld, rd in zip(spec[2:], filter_shape, *window, strict=True):
        sizes[d], strides[d], pads[d], base[d], dilation[d] = size, stride, pad, ld, rd
    places = each_window(lhs, constant(typeof(lhs).dtype, 0), window_dimensions=sizes, window_strides=strides,
                         padding=pads, base_dilation=base, window_dilation=dilation)
    # each_window counts through the axes in the order of the array, and patches in that of the filter.
    if list(spec[2:]) != sorted(spec[2:]):
        places = _in_filter_order(places, spec, filter_shape)
    out = merge_axes(concatenate([expand_dims(p, (channel + 1,)) for p in places], channel + 1), channel)
    order = inverse_permutation(tuple(numbers.out_spec))
    out = permute(out, [spec[i] for i in order])
    return out if preferred_element_type is None else convert(
        out, dtypes.requested_dtype(preferred_element_type, "conv_general_dilated_patches"))


def _in_filter_order(places: list[Any], spec: Sequence[int], filter_shape: Sequence[int]) -> list[Any]:
    import numpy as np  # arithmetic on positions, in a layout nobody uses
    axes = sorted(range(len(filter_shape)), key=lambda i: spec[2 + i])
    numbered = np.arange(len(places)).reshape([filter_shape[i] for i in axes])
    return [places[i] for i in numbered.transpose(np.argsort(axes)).ravel()]


def conv_general_dilated_local(lhs: Any, rhs: Any, window_strides: Sequence[int],
                               padding: str | Sequence[tuple[int, int]], filter_shape: Sequence[int],
                               lhs_dilation: Sequence[int] | None = None, rhs_dilation: Sequence[int] | None = None,
                               dimension_numbers: Any = None, precision: Any = None) -> Any:
    """A convolution whose kernel differs from place to place ("locally connected").

    Args:
      lhs: images, of rank n + 2.
      rhs: kernels: like those of :func:`conv_general_dilated` with the spatial sizes of the result, and with
        ``features * prod(filter_shape)`` input features, in the order of :func:`conv_general_dilated_patches`.
      filter_shape: the size of the kernels along the spatial dimensions.
      window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, precision: as for
        :func:`conv_general_dilated`.
    """
    numbers = conv_dimension_numbers(typeof(lhs).shape, typeof(rhs).shape, dimension_numbers)
    lhs_spec, rhs_spec, out_spec = map(tuple, numbers)
    patches = conv_general_dilated_patches(lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation,
                                           numbers._replace(out_spec=lhs_spec), precision)
    out = dot_general(patches, rhs, (((lhs_spec[1],), (rhs_spec[1],)), (lhs_spec[2:], rhs_spec[2:])), precision)
    # spatial dimensions come first, then batch and features
    n = len(out_spec) - 2
    return permute(out, inverse_permutation((*out_spec[2:], *out_spec[:2]))) if n else out
