"""Products of matrices in very narrow types, with a scale for each block of elements (OCP Microscaling, NVFP4).

What hardware for these types computes is computed here by widening: the results are those of the narrow types, the speed
is not.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import ml_dtypes
import numpy as np

from jax import dtypes, lax
from jax import numpy as jnp
from jax._language.avals import typeof
from jax.custom_derivatives import custom_vjp
from jax.numpy._promotion import check_arraylike


@dataclasses.dataclass(frozen=True)
class BlockScaleConfig:
    """How an operand is rounded: see :func:`get_scaled_dot_general_config`.

    Attributes:
      mode: ``"mxfp8"`` or ``"nvfp4"``.
      block_size: how many elements along the contracted axis share a scale.
      data_type: of the elements.
      scale_type: of the scales.
      global_scale: a scale for the whole operand (``"nvfp4"``), or ``None``.
      infer_only: whether no derivatives are needed.
    """

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any
    infer_only: bool = False


def get_scaled_dot_general_config(mode: str, global_scale: Any = None) -> BlockScaleConfig:
    """The settings of :func:`scaled_dot_general` for a format.

    Args:
      mode: ``"mxfp8"``: float8_e4m3fn in blocks of 32 with scales that are powers of two; ``"nvfp4"``: float4_e2m1fn in
        blocks of 16 with float8_e4m3fn scales.
      global_scale: for ``"nvfp4"``, a float32 scale of the whole operand, by default 1.

    Raises:
      ValueError: an unknown ``mode``.
    """
    if mode == "mxfp8":
        return BlockScaleConfig(mode, 32, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu, None)
    if mode == "nvfp4":
        scale = jnp.ones((1,), jnp.float32) if global_scale is None else global_scale
        return BlockScaleConfig(mode, 16, ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn, scale)
    raise ValueError(f"get_scaled_dot_general_config: mode must be 'mxfp8' or 'nvfp4', got {mode!r}")


def scaled_matmul(lhs: Any, rhs: Any, lhs_scales: Any, rhs_scales: Any, preferred_element_type: Any = np.float32) -> Any:
    """Products of stacks of matrices whose blocks have scales: ``lhs @ rhs`` with ``rhs`` given transposed.

    Args:
      lhs: of shape ``(B, M, K)``.
      rhs: of shape ``(B, N, K)``.
      lhs_scales: of shape ``(B, M, K / block)``.
      rhs_scales: of shape ``(B, N, K / block)``.
      preferred_element_type: dtype of the result.

    Returns:
      An array of shape ``(B, M, N)``.

    Raises:
      ValueError: shapes that do not fit.
    """
    check_arraylike("scaled_matmul", lhs, rhs, lhs_scales, rhs_scales)
    shapes = [typeof(x).shape for x in (lhs, rhs, lhs_scales, rhs_scales)]
    if any(len(s) != 3 for s in shapes):
        raise ValueError(f"scaled_matmul takes arrays with three axes, got shapes {shapes}")
    a, b, sa, sb = shapes
    if (a[0], a[2]) != (b[0], b[2]):
        raise ValueError(f"scaled_matmul: the first and last axes of lhs and rhs must be equal, got shapes {a} and {b}")
    if sa[:2] != a[:2] or sb[:2] != b[:2] or sa[2] != sb[2] or not sa[2] or a[2] % sa[2]:
        raise ValueError("scaled_matmul: scales must have the shapes of their operands, with one number for each block of "
                         f"the last axis, got {sa} for {a} and {sb} for {b}")
    out = dtypes.requested_dtype(preferred_element_type, "scaled_matmul")
    return _product(_widened(lhs, lhs_scales), _widened(rhs, rhs_scales), out)


def _widened(x: Any, scales: Any) -> Any:
    """The float32 numbers that elements and scales stand for."""
    shape, blocks = typeof(x).shape, typeof(scales).shape[-1]
    wide = np.dtype(np.float32)
    parts = lax.reshape(lax.convert_element_type(x, wide), (*shape[:-1], blocks, shape[-1] // blocks))
    scale = lax.expand_dims(lax.convert_element_type(scales, wide), (len(shape),))
    return lax.reshape(lax.mul(parts, scale), shape)


def _product(a: Any, b: Any, dtype: Any) -> Any:
    """``(B, M, K)`` and ``(B, N, K)`` to ``(B, M, N)``."""
    out = lax.dot_general(a, b, (((2,), (2,)), ((0,), (0,))), preferred_element_type=np.dtype(np.float32))
    return lax.convert_element_type(out, dtype)


# --- products of ordinary arrays, rounded ---------------------------------------------------------------------------

def scaled_dot_general(lhs: Any, rhs: Any, dimension_numbers: Any, preferred_element_type: Any = np.float32,
                       configs: Any = None, implementation: str | None = None) -> Any:
    """:func:`jax.lax.dot_general` of operands rounded to a narrow format in blocks.

    Args:
      lhs, rhs: the operands.
      dimension_numbers: see :func:`jax.lax.dot_general`.
      preferred_element_type: dtype of the result.
      configs: three settings from :func:`get_scaled_dot_general_config`: for ``lhs``, for ``rhs``, and for the cotangent
        in derivatives. These are products of rounded operands too with ``"mxfp8"``, and of unrounded ones with
        ``"nvfp4"``. Without settings nothing is rounded.
      implementation: ``None`` or ``"cudnn"``; the results are the same.

    Raises:
      ValueError: an unknown ``implementation``, or contracted sizes that are no multiple of the block size (for
        derivatives, this goes for the other sizes of the operands).
    """
    if implementation not in (None, "cudnn"):
        raise ValueError(f"scaled_dot_general: implementation must be None or 'cudnn', got {implementation!r}")
    check_arraylike("scaled_dot_general", lhs, rhs)
    dtype = dtypes.requested_dtype(preferred_element_type, "scaled_dot_general")
    (lc, rc), (lb, rb) = ((tuple(map(int, side)) for side in pair) for pair in dimension_numbers)
    if configs is None:
        return lax.dot_general(lhs, rhs, (((*lc,), (*rc,)), ((*lb,), (*rb,))), preferred_element_type=dtype)
    a, a_free = _as_stack(lhs, lb, lc)
    b, b_free = _as_stack(rhs, rb, rc)
    formats = tuple((c.mode, c.block_size, np.dtype(c.data_type), np.dtype(c.scale_type)) for c in configs)
    globals_ = tuple(None if c.global_scale is None else jnp.asarray(c.global_scale, jnp.float32).reshape(())
                     for c in configs)
    out = _rounded_product(formats, dtype, a, b, globals_)
    batch = tuple(typeof(lhs).shape[i] for i in lb)
    return lax.reshape(out, (*batch, *a_free, *b_free))


def _as_stack(x: Any, batch: tuple[int, ...], contracted: tuple[int, ...]) -> tuple[Any, tuple[Any, ...]]:
    """An operand with one batch, one free and one contracted axis, and the sizes of its free ones."""
    shape = typeof(x).shape
    free = [i for i in range(len(shape)) if i not in batch and i not in contracted]
    x = lax.transpose(x, (*batch, *free, *contracted))
    sizes = [math.prod(shape[i] for i in axes) for axes in (batch, free, contracted)]
    return lax.reshape(x, sizes), tuple(shape[i] for i in free)


@functools.partial(custom_vjp, nondiff_argnums=(0, 1))
def _rounded_product(formats: Any, dtype: Any, a: Any, b: Any, scales: Any) -> Any:
    return _product(_round(a, formats[0], scales[0]), _round(b, formats[1], scales[1]), dtype)


def _forward(formats: Any, dtype: Any, a: Any, b: Any, scales: Any) -> Any:
    return _rounded_product(formats, dtype, a, b, scales), (a, b, scales)


def _backward(formats: Any, dtype: Any, residuals: Any, ct: Any) -> Any:
    a, b, scales = residuals
    t = functools.partial(lax.transpose, permutation=(0, 2, 1))

    def rounded(x: Any, i: int) -> Any:  # four bits are too few for derivatives
        return x.astype(jnp.float32) if formats[i][0] == "nvfp4" else _round(x, formats[i], scales[i])

    of_a = _product(rounded(ct, 2), rounded(t(b), 1), a.dtype)
    of_b = _product(rounded(t(ct), 2), rounded(t(a), 0), b.dtype)
    return of_a, of_b, tuple(None if s is None else jnp.zeros_like(s) for s in scales)


_rounded_product.defvjp(_forward, _backward)


def _round(x: Any, fmt: Any, global_scale: Any) -> Any:
    """``x`` as float32, rounded to the format in blocks of the last axis."""
    mode, size, data_type, scale_type = fmt
    shape = typeof(x).shape
    if not shape[-1] or shape[-1] % size:
        raise ValueError(f"scaled_dot_general: the contracted size must be a multiple of the block size of {mode}, {size}; "
                         f"got {shape[-1]}. Derivatives contract the other axes of the operands.")
    wide = np.dtype(np.float32)
    x = lax.reshape(lax.convert_element_type(x, wide), (*shape[:-1], shape[-1] // size, size))
    if global_scale is not None:
        x = x / global_scale
    largest = np.asarray(float(dtypes.finfo(data_type).max), wide)
    last = (len(shape),)
    scale = lax.expand_dims(lax.reduce_max(lax.abs(x), last), last) / largest
    if mode == "mxfp8":
        scale = _power_above(scale)
    else:
        top = np.asarray(float(dtypes.finfo(scale_type).max), wide)
        narrow = lax.optimization_barrier(lax.convert_element_type(lax.min(scale, top), scale_type))
        scale = lax.convert_element_type(narrow, wide)
    scaled = lax.clamp(-largest, x / scale, largest)
    narrow = lax.optimization_barrier(lax.convert_element_type(scaled, data_type))
    x = lax.convert_element_type(narrow, wide) * scale
    if global_scale is not None:
        x = x * global_scale
    return lax.reshape(x, shape)


def _power_above(x: Any) -> Any:
    """The smallest power of two that is not below ``x``, as float8_e8m0fnu has them."""
    bits = lax.bitcast_convert_type(x, np.dtype(np.uint32))
    exponent, mantissa = bits >> 23, bits & 0x7FFFFF
    tiny = (exponent == 0) & (mantissa <= 0x400000)
    exponent = jnp.where((mantissa > 0) & (exponent != 254) & ~tiny, exponent + 1, exponent)
    power = lax.bitcast_convert_type(exponent.astype(jnp.uint32) << 23, np.dtype(np.float32))
    return jnp.where(exponent == 0, np.float32(2.0**-127), power)
