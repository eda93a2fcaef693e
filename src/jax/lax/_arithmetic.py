"""Addition, subtraction, multiplication, division and remainder, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from jax import dtypes
from jax._ground.families import (
    INTEGERS,
    NUMERIC,
    REAL,
    SIGNED,
    broadcast_to_result,
    category,
    constant,
    defbilinear,
    defjvp,
    deflinear_elementwise,
    like,
    nary,
    sum_to_operand,
    unary,
    zero_derivative,
)
from jax._ground.structural import add_tangents, convert
from jax._language import rules
from jax._language.avals import typeof
from jax._language.zeros import UndefinedPrimal, Zero
from jax._lowering import hlo
from jax._lowering.rules import register_lowering
from jax._lowering.subprograms import lower_fun
from jax.lax._bitwise import bitwise_and, shift_right_arithmetic, shift_right_logical

# --- neg ------------------------------------------------------------------------------------------------------------

neg_p = unary("neg", NUMERIC, "stablehlo.negate")


def neg(x: Any) -> Any:
    """``-x``, element by element. Unsigned integers wrap around.

    Raises:
      TypeError: for booleans.
    """
    return neg_p.bind(x)


deflinear_elementwise(neg_p, neg)

# --- add ------------------------------------------------------------------------------------------------------------

add_p = nary("add", NUMERIC, "stablehlo.add")


def add(x: Any, y: Any) -> Any:
    """``x + y``, element by element.

    Args:
      x, y: arrays or scalars of one numeric dtype, of equal shapes (0-d operands and axes of size 1 are broadcast).

    Raises:
      TypeError: when dtypes differ (``jax.numpy.add`` promotes them), shapes do not fit, or for booleans.
    """
    return add_p.bind(x, y)


def _add_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (tx, ty) = primals, tangents
    out = add_p.bind(x, y)
    if type(tx) is Zero:
        return out, _stretch(ty, out)
    if type(ty) is Zero:
        return out, _stretch(tx, out)
    return out, add_p.bind(tx, ty)


def _add_transpose(ct: Any, x: Any, y: Any) -> Any:
    if type(ct) is Zero:
        return [Zero(a.aval) if type(a) is UndefinedPrimal else None for a in (x, y)]
    return [sum_to_operand(ct, a.aval) if type(a) is UndefinedPrimal else None for a in (x, y)]


def _stretch(t: Any, out: Any) -> Any:
    """The tangent of one operand as that of the result: broadcast where the operand was."""
    return Zero.from_primal_value(out) if type(t) is Zero else broadcast_to_result(t, typeof(out).shape)


rules.primitive_jvps[add_p] = _add_jvp
rules.primitive_transposes[add_p] = _add_transpose

# --- sub ------------------------------------------------------------------------------------------------------------

sub_p = nary("sub", NUMERIC, "stablehlo.subtract")


def sub(x: Any, y: Any) -> Any:
    """``x - y``, element by element. Operands as for :func:`add`; unsigned integers wrap around."""
    return sub_p.bind(x, y)


def _sub_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (tx, ty) = primals, tangents
    out = sub_p.bind(x, y)
    if type(ty) is Zero:
        return out, _stretch(tx, out)
    if type(tx) is Zero:
        return out, _stretch(neg(ty), out)
    return out, sub_p.bind(tx, ty)


def _sub_transpose(ct: Any, x: Any, y: Any) -> Any:
    if type(ct) is Zero:
        return [Zero(a.aval) if type(a) is UndefinedPrimal else None for a in (x, y)]
    return [sum_to_operand(ct, x.aval) if type(x) is UndefinedPrimal else None,
            neg(sum_to_operand(ct, y.aval)) if type(y) is UndefinedPrimal else None]


rules.primitive_jvps[sub_p] = _sub_jvp
rules.primitive_transposes[sub_p] = _sub_transpose

# --- mul ------------------------------------------------------------------------------------------------------------


def _mul_dtype(x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    return x if out_dtype is None else dtypes.canonicalize_dtype(out_dtype)


def _mul_wide(ctx: Any, x: Any, y: Any, *, out_dtype: Any) -> Any:
    out = ctx.avals_out[0]
    return hlo.multiply(*(hlo.convert_element_type(v, a.update(shape=out.shape), out)
                          for v, a in zip((x, y), ctx.avals_in, strict=True)))


mul_p = nary("mul", NUMERIC, "stablehlo.multiply", result=_mul_dtype, with_settings=_mul_wide)


def mul(x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    """``x * y``, element by element. Operands as for :func:`add`.

    Args:
      x, y: the factors.
      out_dtype: dtype in which to multiply and of the result, if not that of the operands.
    """
    return mul_p.bind(x, y, out_dtype=out_dtype)


def _mul_transpose(ct: Any, factor: Any, aval: Any, out_dtype: Any) -> Any:
    if out_dtype is None:
        return sum_to_operand(mul_p.bind(ct, factor, out_dtype=None), aval)
    wide = typeof(ct).dtype
    return convert(sum_to_operand(mul(ct, convert(factor, wide)), aval.update(dtype=wide)), aval.dtype)


defbilinear(mul_p, lambda ct, x, y, out_dtype: _mul_transpose(ct, y, x.aval, out_dtype),
            lambda ct, x, y, out_dtype: _mul_transpose(ct, x, y.aval, out_dtype))


def square(x: Any) -> Any:
    """``x * x``, element by element, for numbers of any kind."""
    return square_p.bind(x)


square_p = unary("square", NUMERIC, lambda ctx, x: hlo.multiply(x, x), jvp=lambda t, x: mul(t, mul(like(x, 2), x)))



def _one_minus_square_lower(ctx: Any, x: Any) -> Any:
    aval = ctx.avals_out[0]
    one = hlo.full(1, aval.shape, aval.dtype)
    return hlo.multiply(hlo.subtract(one, x), hlo.add(one, x))


one_minus_square_p = unary("one_minus_square", NUMERIC, _one_minus_square_lower,
                           jvp=lambda t, x: mul(t, mul(like(x, -2), x)))


def one_minus_square(x: Any) -> Any:
    """``1 - x * x``, element by element, as ``(1 - x) * (1 + x)``, which is accurate near 1 and -1."""
    return one_minus_square_p.bind(x)


# --- div, rem -------------------------------------------------------------------------------------------------------

div_p = nary("div", NUMERIC, "stablehlo.divide")


def div(x: Any, y: Any) -> Any:
    """``x / y``, element by element.

    The quotient of integers is rounded towards zero; division by zero gives -1 (all bits set), and the smallest
    integer divided by -1 gives itself. Operands as for :func:`add`.
    """
    return div_p.bind(x, y)


def _div_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (tx, ty) = primals, tangents
    out = div_p.bind(x, y)
    if type(ty) is Zero:
        return out, Zero.from_primal_value(out) if type(tx) is Zero else div_p.bind(tx, y)
    right = mul(ty, neg(div_p.bind(out, y)))
    return out, right if type(tx) is Zero else add_tangents(div_p.bind(tx, y), right)


def _div_transpose(ct: Any, x: Any, y: Any) -> Any:
    if type(y) is UndefinedPrimal:
        raise NotImplementedError("the function is not linear: it divides by a linear value (div)")
    return [Zero(x.aval) if type(ct) is Zero else sum_to_operand(div_p.bind(ct, y), x.aval), None]


rules.primitive_jvps[div_p] = _div_jvp
rules.primitive_transposes[div_p] = _div_transpose

rem_p = nary("rem", REAL, "stablehlo.remainder")


def rem(x: Any, y: Any) -> Any:
    """The remainder of ``x / y`` with the sign of ``x`` (as C's ``fmod``), element by element.

    For integers ``rem(x, 0) == x``. Operands are real, else as for :func:`add`.
    """
    return rem_p.bind(x, y)


def _minus_whole_quotient(x: Any, y: Any) -> Any:
    return neg(div(sub(x, rem(x, y)), y))


defjvp(rem_p, lambda t, x, y: t, lambda t, x, y: mul(t, _minus_whole_quotient(x, y)))

# --- mulhi ----------------------------------------------------------------------------------------------------------


def _upper_half(x: Any, y: Any) -> Any:
    """In twice the width for narrow types, else by long multiplication of halves (Warren, "Hacker's Delight", 8-2)."""
    dtype = typeof(x).dtype
    bits = dtypes.itemsize_bits(dtype)
    signed = category(dtype) == SIGNED
    if bits < 32:
        wide = np.dtype(f"{'int' if signed else 'uint'}{2 * bits}")
        product = mul(convert(x, wide), convert(y, wide))
        return convert(shift_right_logical(product, constant(wide, bits)), dtype)
    half, low = constant(dtype, bits // 2), constant(dtype, (1 << bits // 2) - 1)
    shift = shift_right_arithmetic if signed else shift_right_logical
    x1, x0, y1, y0 = shift(x, half), bitwise_and(x, low), shift(y, half), bitwise_and(y, low)
    carried = add(mul(x1, y0), shift_right_logical(mul(x0, y0), half))
    middle = add(mul(x0, y1), bitwise_and(carried, low))
    return add(mul(x1, y1), add(shift(carried, half), shift(middle, half)))


mulhi_p = nary("mulhi", INTEGERS, "")
register_lowering(mulhi_p, lower_fun(_upper_half, multiple_results=False))
zero_derivative(mulhi_p)


def mulhi(x: Any, y: Any) -> Any:
    """The upper half of the double-width product ``x * y`` of integers of one dtype, element by element."""
    return mulhi_p.bind(x, y)
