"""Convolution with everything: strides, padding, dilation, groups, any layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax import dtypes
from jax._api.sharding_constraints import laid_out
from jax._ground.families import ANY, check_category, defbilinear, real_part_if_needed
from jax._ground.structural import convert, move_axis, zeros_of
from jax._language import dims, rules
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._lowering.rules import register_lowering
from jax.lax._conv_dims import (
    ConvDimensionNumbers,
    conv_dimension_numbers,
    conv_shape_tuple,
    conv_window,
    permuted,
)
from jax.lax._conv_lowering import lower
from jax.lax._precision import canonical_precision, reverse_precision
from jax.lax._shape import reshape, rev
from jax.lax._windows import pads_of_transpose

conv_general_dilated_p = Primitive("conv_general_dilated")


def conv_general_dilated(lhs: Any, rhs: Any, window_strides: Sequence[int], padding: str | Sequence[tuple[int, int]],
                         lhs_dilation: Sequence[int] | None = None, rhs_dilation: Sequence[int] | None = None,
                         dimension_numbers: Any = None, feature_group_count: int = 1, batch_group_count: int = 1,
                         precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None) -> Any:
    """The convolution (cross-correlation: the kernel is not reversed) of arrays of images with a kernel.

    Args:
      lhs: images, of rank n + 2 with n spatial dimensions.
      rhs: the kernel, of the same rank and dtype.
      window_strides: distance between the windows along each spatial dimension.
      padding: ``"SAME"``, ``"SAME_LOWER"``, ``"VALID"`` or (before, after) for each spatial dimension. Negative numbers
        cut.
      lhs_dilation: how far the elements of ``lhs`` are spread apart (zeros between them): strides of a transposed
        convolution.
      rhs_dilation: how far the elements of the kernel are apart.
      dimension_numbers: see :func:`conv_dimension_numbers`; by default (batch, feature, spatial ...) and
        (out, in, spatial ...).
      feature_group_count: splits features of ``lhs`` and output features of the kernel in groups that are convolved
        separately; the kernel's input features are those of one group.
      batch_group_count: the same for the batch of ``lhs`` and output features; the results' batch is that of one group.
      precision, preferred_element_type, out_sharding: as for :func:`dot_general`.

    Raises:
      TypeError: when ranks or dtypes do not fit.
      ValueError: when sizes, group counts or the lengths of other arguments do not fit.
    """
    x, y = typeof(lhs).shape, typeof(rhs).shape
    numbers = conv_dimension_numbers(x, y, dimension_numbers)
    if len(x) != len(y):
        raise TypeError(f"conv_general_dilated: lhs of shape {x} and rhs of shape {y} must have the same rank")
    numbers = ConvDimensionNumbers(*map(tuple, numbers))
    window = conv_window("conv_general_dilated", permuted(x, numbers.lhs_spec)[2:], permuted(y, numbers.rhs_spec)[2:],
                         window_strides, padding, lhs_dilation, rhs_dilation)
    if preferred_element_type is not None:
        preferred_element_type = dtypes.requested_dtype(preferred_element_type, "conv_general_dilated")
    out = conv_general_dilated_p.bind(
        lhs, rhs, window_strides=window.strides, padding=window.padding, lhs_dilation=window.lhs_dilation,
        rhs_dilation=window.rhs_dilation, dimension_numbers=numbers, feature_group_count=feature_group_count,
        batch_group_count=batch_group_count, precision=canonical_precision(precision),
        preferred_element_type=preferred_element_type, out_sharding=None)
    return laid_out(out, out_sharding, "conv_general_dilated")


# --- abstract evaluation --------------------------------------------------------------------------------------------

def _abstract(lhs: Any, rhs: Any, *, window_strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any,
              dimension_numbers: Any, feature_group_count: int, batch_group_count: int, precision: Any,
              preferred_element_type: Any, out_sharding: Any) -> Any:
    check_category("conv_general_dilated", ANY, lhs.dtype)
    if lhs.dtype != rhs.dtype:
        raise TypeError(f"conv_general_dilated: lhs has dtype {lhs.dtype} and rhs {rhs.dtype}; they must be equal: "
                        "convert one of them")
    numbers = dimension_numbers
    x, y = permuted(lhs.shape, numbers.lhs_spec), permuted(rhs.shape, numbers.rhs_spec)
    _check_groups(lhs.shape, rhs.shape, x, y, feature_group_count, batch_group_count)
    spread = (*x[:2], *[dims.dilate_dim(n, d) for n, d in zip(x[2:], lhs_dilation, strict=True)])
    reach = (*y[:2], *[dims.dilate_dim(n, d) for n, d in zip(y[2:], rhs_dilation, strict=True)])
    out = conv_shape_tuple(spread, reach, window_strides, padding, batch_group_count)
    shape: list[Any] = [0] * len(out)
    for n, d in zip(out, numbers.out_spec, strict=True):
        shape[d] = n
    return ShapedArray(tuple(shape), preferred_element_type or lhs.dtype, lhs.weak_type and rhs.weak_type)


def _check_groups(lhs: Any, rhs: Any, x: Any, y: Any, features: Any, batches: Any) -> None:
    """``x`` and ``y`` are the shapes as (batch, feature ...) and (out, in ...)."""
    def fail(why: str) -> None:
        raise ValueError(f"conv_general_dilated: lhs of shape {lhs} and rhs of shape {rhs}: {why}")
    if type(features) is not int or type(batches) is not int or features < 1 or batches < 1:
        fail(f"feature_group_count and batch_group_count must be positive integers, got {features} and {batches}")
    if features > 1 and batches > 1:
        fail(f"feature_group_count={features} and batch_group_count={batches} cannot both be above 1")
    if x[1] % features:
        fail(f"feature_group_count={features} does not divide the {x[1]} features of lhs")
    if not dims.dim_eq(x[1] // features, y[1]):
        of = f" in each of {features} groups" if features > 1 else ""
        fail(f"lhs has {x[1] // features} features{of}, and the kernel is for {y[1]} input features")
    if y[0] % features:
        fail(f"feature_group_count={features} does not divide the {y[0]} output features of the kernel")
    if x[0] % batches:
        fail(f"batch_group_count={batches} does not divide the batch of {x[0]}")
    if y[0] % batches:
        fail(f"batch_group_count={batches} does not divide the {y[0]} output features of the kernel")


# --- derivatives ----------------------------------------------------------------------------------------------------

def split_axis(x: Any, axis: int, outer: Any) -> Any:
    """Axis of size ``outer * n`` as two axes."""
    shape = typeof(x).shape
    return reshape(x, (*shape[:axis], outer, shape[axis] // outer, *shape[axis + 1:]))


def merge_axes(x: Any, axis: int) -> Any:
    """Axes ``axis`` and ``axis + 1`` as one."""
    shape = typeof(x).shape
    return reshape(x, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2:]))


def _move_groups(x: Any, src: int, dst: int, groups: int) -> Any:
    """Axis ``src`` is (groups, m), axis ``dst`` is n: moves the groups, so that they are (m) and (groups, n)."""
    if groups == 1:
        return x
    return merge_axes(move_axis(split_axis(x, src, groups), src, dst), dst)


def _swap(spec: Sequence[int]) -> tuple[int, ...]:
    return (spec[1], spec[0], *spec[2:])


def _finish(ct: Any, aval: Any) -> Any:
    return convert(real_part_if_needed(ct, aval), aval.dtype)


def _transpose_lhs(ct: Any, x: Any, y: Any, *, window_strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any,
                   dimension_numbers: Any, feature_group_count: int, batch_group_count: int, precision: Any,
                   preferred_element_type: Any, out_sharding: Any) -> Any:
    """The cotangent of the images: a convolution of ``ct`` with the kernel reversed, its features exchanged."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    shape = x.aval.shape
    pads = tuple([pads_of_transpose(shape[i], typeof(ct).shape[o], typeof(y).shape[k], stride, pad, ld, rd)
                  for i, o, k, stride, pad, ld, rd in zip(
                      lhs_spec[2:], out_spec[2:], rhs_spec[2:], window_strides, padding, lhs_dilation, rhs_dilation,
                      strict=True)])
    groups = feature_group_count if feature_group_count > 1 else batch_group_count
    kernel = _move_groups(y, rhs_spec[0], rhs_spec[1], groups)
    if len(rhs_spec) > 2:
        kernel = rev(kernel, rhs_spec[2:])
    out = conv_general_dilated_p.bind(
        ct, convert(kernel, typeof(ct).dtype), window_strides=lhs_dilation, padding=pads, lhs_dilation=window_strides,
        rhs_dilation=rhs_dilation, dimension_numbers=ConvDimensionNumbers(out_spec, _swap(rhs_spec), lhs_spec),
        feature_group_count=groups, batch_group_count=1, precision=precision,
        preferred_element_type=preferred_element_type, out_sharding=None)
    return _finish(_move_groups(out, lhs_spec[1], lhs_spec[0], batch_group_count), x.aval)


def _transpose_rhs(ct: Any, x: Any, y: Any, *, window_strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any,
                   dimension_numbers: Any, feature_group_count: int, batch_group_count: int, precision: Any,
                   preferred_element_type: Any, out_sharding: Any) -> Any:
    """The cotangent of the kernel: a convolution of the images with ``ct``, summed over the batch."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    x_shape, ct_shape, shape = typeof(x).shape, typeof(ct).shape, y.aval.shape
    pads = []
    for i, o, k, stride, (low, _), ld, rd in zip(lhs_spec[2:], out_spec[2:], rhs_spec[2:], window_strides, padding,
                                                 lhs_dilation, rhs_dilation, strict=True):
        needed = dims.dilate_dim(shape[k], rd) - 1 + dims.dilate_dim(ct_shape[o], stride)
        pads.append((low, needed - dims.dilate_dim(x_shape[i], ld) - low))
    if any(dims.is_zero(n) for n in ct_shape):
        return zeros_of(y.aval)
    out = conv_general_dilated_p.bind(
        convert(x, typeof(ct).dtype), ct, window_strides=rhs_dilation, padding=tuple(pads), lhs_dilation=lhs_dilation,
        rhs_dilation=window_strides,
        dimension_numbers=ConvDimensionNumbers(_swap(lhs_spec), _swap(out_spec), _swap(rhs_spec)),
        feature_group_count=batch_group_count, batch_group_count=feature_group_count,
        precision=reverse_precision(precision), preferred_element_type=preferred_element_type, out_sharding=None)
    return _finish(out, y.aval)


# --- batching -------------------------------------------------------------------------------------------------------

def _merge_mapped(x: Any, mapped: int, axis: int) -> tuple[Any, bool]:
    """The mapped axis joined to ``axis`` (counted without it), outside, or inside where it lies just behind.

    Returns whether it is inside.
    """
    if mapped == axis + 1:
        return merge_axes(x, axis), True
    return merge_axes(move_axis(x, mapped, axis), axis), False


def _merge_outside(x: Any, mapped: int, axis: int) -> Any:
    return merge_axes(move_axis(x, mapped, axis), axis)


def _merge_in_groups(x: Any, mapped: int, axis: int, groups: int) -> Any:
    """Axis ``axis`` is (groups, n) and becomes (groups, mapped, n)."""
    x = split_axis(x, axis + (axis >= mapped), groups)
    mapped += mapped > axis
    x = move_axis(x, mapped, axis + 1)
    return merge_axes(merge_axes(x, axis), axis)


def _split_result(out: Any, axis: int, size: Any, inside: bool) -> tuple[Any, int]:
    if not inside:
        return split_axis(out, axis, size), axis
    return split_axis(out, axis, typeof(out).shape[axis] // size), axis + 1


def _an_example(aval: Any, d: int) -> Any:
    return zeros_of(aval.update(shape=(*aval.shape[:d], *aval.shape[d + 1:])))


def _batch(args: Any, batch_dims: Any, *, dimension_numbers: Any, feature_group_count: int, batch_group_count: int,
           **params: Any) -> Any:
    (x, y), (dx, dy) = args, batch_dims
    lhs_spec, rhs_spec, out_spec = dimension_numbers

    def bind(x: Any, y: Any, features: int = feature_group_count, batches: int = batch_group_count) -> Any:
        return conv_general_dilated_p.bind(x, y, dimension_numbers=dimension_numbers, feature_group_count=features,
                                           batch_group_count=batches, **params)

    size = typeof(x).shape[dx] if dx is not None else typeof(y).shape[dy]
    if dims.is_zero(size):  # groups are at least one
        aval = typeof(bind(*[v if d is None else _an_example(typeof(v), d) for v, d in zip(args, batch_dims, strict=True)]))
        return zeros_of(aval.update(shape=(0, *aval.shape))), 0
    if dx is not None and dy is not None:  # examples are groups
        y = _merge_outside(y, dy, rhs_spec[0])
        if batch_group_count > 1:
            out = bind(_merge_outside(x, dx, lhs_spec[0]), y, batches=batch_group_count * size)
        else:
            out = bind(_merge_outside(x, dx, lhs_spec[1]), y, features=feature_group_count * size)
        return _split_result(out, out_spec[1], size, False)
    if dx is not None:  # examples are images
        if batch_group_count > 1:
            x = _merge_in_groups(x, dx, lhs_spec[0], batch_group_count)
            return _split_result(bind(x, y), out_spec[0], size, False)
        x, inside = _merge_mapped(x, dx, lhs_spec[0])
        return _split_result(bind(x, y), out_spec[0], size, inside)
    groups = max(feature_group_count, batch_group_count)
    if groups == 1:  # examples are output features
        y, inside = _merge_mapped(y, dy, rhs_spec[0])
        return _split_result(bind(x, y), out_spec[1], size, inside)
    out = bind(x, _merge_in_groups(y, dy, rhs_spec[0], groups))  # features are (groups, example, n)
    axis = out_spec[1]
    out = split_axis(split_axis(out, axis, groups), axis + 1, size)
    return merge_axes(move_axis(out, axis + 1, axis), axis + 1), axis


conv_general_dilated_p.def_abstract_eval(_abstract)
register_lowering(conv_general_dilated_p, lower)
defbilinear(conv_general_dilated_p, _transpose_lhs, _transpose_rhs)
rules.primitive_batchers[conv_general_dilated_p] = _batch

__all__ = ["conv_general_dilated", "conv_general_dilated_p"]
