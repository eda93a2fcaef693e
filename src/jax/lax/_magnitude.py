"""Absolute value, sign, the larger and smaller of two numbers, limits, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from jax import dtypes
from jax._ground.families import (
    ANY,
    COMPLEX,
    FLOAT,
    NUMERIC,
    SIGNED,
    broadcast_to_result,
    category,
    like,
    nary,
    unary,
)
from jax._ground.structural import add_tangents, convert
from jax._language import rules
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering import hlo
from jax._lowering.rules import fusible, pointwise, register_lowering, structural
from jax.lax._arithmetic import add, div, mul
from jax.lax._bitwise import bitwise_and
from jax.lax._comparison import eq, ge, gt, le, lt
from jax.lax._complex import conj, imag, real
from jax.lax._select import align_mapped, where

# --- abs, sign ------------------------------------------------------------------------------------------------------


def _abs_jvp(t: Any, x: Any) -> Any:
    if category(typeof(x).dtype) == COMPLEX:
        return real(mul(t, conj(sign(x))))
    return mul(t, where(ge(x, like(x, 0)), like(x, 1), like(x, -1)))


abs_p = unary("abs", frozenset({SIGNED, FLOAT, COMPLEX}), "stablehlo.abs",
              result=dtypes.to_real_dtype, jvp=_abs_jvp)


def abs(x: Any) -> Any:  # noqa: A001 - the documented name
    """The absolute value of each element; of complex numbers, the (real) modulus.

    The derivative at 0 is that from the right, 1; for complex numbers it is 0 there.

    Raises:
      TypeError: for booleans and unsigned integers.
    """
    return abs_p.bind(x)


def _sign_lower(ctx: Any, x: Any) -> Any:
    aval = ctx.avals_in[0]
    if not np.issubdtype(aval.dtype, np.unsignedinteger) and not aval.dtype.name.startswith("uint"):
        return hlo.sign(x)
    zero, one = (hlo.full(v, aval.shape, aval.dtype) for v in (0, 1))
    return hlo.select(hlo.compare(x, zero, "EQ"), zero, one)


def _sign_jvp(t: Any, out: Any, x: Any) -> Any:
    """Zero for reals. A complex number on the unit circle turns with the part of the tangent across it."""
    dtype = typeof(x).dtype
    if category(dtype) != COMPLEX:
        return Zero(typeof(t))
    size = abs(x)
    factor = div(mul(like(x, 1j), out), convert(where(eq(size, like(size, 0)), like(size, 1), size), dtype))
    return mul(factor, convert(imag(mul(conj(out), t)), dtype))


sign_p = unary("sign", NUMERIC, _sign_lower, jvp_out=_sign_jvp)


def sign(x: Any) -> Any:
    """-1, 0 or 1 by the sign of each element; of complex numbers ``x / abs(x)``, 0 at 0. NaN stays NaN.

    The derivative is zero for reals, and the true one, a rotation, for complex numbers.
    """
    return sign_p.bind(x)


# --- max, min -------------------------------------------------------------------------------------------------------


def _extremum(name: str, operation: str, direction: str) -> Any:
    def lower(ctx: Any, x: Any, y: Any) -> Any:
        if ctx.avals_out[0].dtype.kind != "c":
            return hlo.op1(operation, x.type, (x, y))
        # Complex numbers are ordered by real part, then by imaginary part.
        (a, b), (c, d) = [(hlo.real(v), hlo.imag(v)) for v in (x, y)]
        tie = hlo.select(hlo.compare(a, c, "EQ"), hlo.compare(b, d, direction), hlo.compare(a, c, direction))
        return hlo.select(tie, x, y)
    return nary(name, ANY, lower)


def _share(x: Any, y: Any, strictly: Any, at_least: Any, out: Any) -> Any:
    """How much of the result's tangent ``x`` gives: all where it wins, half where it ties."""
    dtype = typeof(out).dtype
    if category(dtype) == COMPLEX:
        wins, ties = convert(eq(x, out), dtype), convert(eq(y, out), dtype)
        return div(wins, add(like(out, 1), ties))
    return mul(like(out, 0.5), add(convert(strictly(x, y), dtype), convert(at_least(x, y), dtype)))


def _extremum_jvp(prim: Any, strictly: Any, at_least: Any) -> None:
    def jvp(primals: Any, tangents: Any) -> Any:
        (x, y), (tx, ty) = primals, tangents
        out = prim.bind(x, y)
        parts = []
        if type(tx) is not Zero:
            parts.append(mul(tx, _share(x, y, strictly, at_least, out)))
        if type(ty) is not Zero:
            parts.append(mul(ty, _share(y, x, strictly, at_least, out)))
        if not parts:
            return out, Zero.from_primal_value(out)
        return out, parts[0] if len(parts) == 1 else add_tangents(*parts)
    rules.primitive_jvps[prim] = jvp


max_p = _extremum("max", "stablehlo.maximum", "GT")
min_p = _extremum("min", "stablehlo.minimum", "LT")
_extremum_jvp(max_p, gt, ge)
structural["max"] = max_p
_extremum_jvp(min_p, lt, le)
structural["min"] = min_p


def max(x: Any, y: Any) -> Any:  # noqa: A001 - the documented name
    """The larger of ``x`` and ``y``, element by element; NaN where either is NaN.

    Complex numbers are compared by real part, then by imaginary part. Where operands tie, each gets half of the
    derivative. Operands as for :func:`add`; booleans are accepted.
    """
    return max_p.bind(x, y)


def min(x: Any, y: Any) -> Any:  # noqa: A001 - the documented name
    """The smaller of ``x`` and ``y``; in all else like :func:`max`."""
    return min_p.bind(x, y)

# --- clamp ----------------------------------------------------------------------------------------------------------

clamp_p = Primitive("clamp")


def clamp(min: Any, x: Any, max: Any) -> Any:  # noqa: A002 - the documented names
    """``x`` limited to the interval from ``min`` to ``max``, element by element.

    Args:
      min, max: of the dtype of ``x``; 0-d, or of its shape. Where ``min > max``, the result is ``max``.
      x: boolean, real, or complex (ordered by real part, then by imaginary part).

    The derivative goes to ``x`` strictly inside the interval and to a bound strictly outside; at a bound it is 0.
    """
    return clamp_p.bind(min, x, max)


def _clamp_abstract(low: Any, x: Any, high: Any) -> Any:
    if category(x.dtype) not in ANY:
        raise TypeError(f"clamp does not accept dtype {x.dtype}")
    if not low.dtype == x.dtype == high.dtype:
        raise TypeError(f"lax.clamp requires arguments of one dtype, got {low.dtype}, {x.dtype}, {high.dtype}. Convert "
                        "them with lax.convert_element_type, or use jnp.clip, which promotes dtypes.")
    for name, bound in (("min", low), ("max", high)):
        if bound.shape and bound.shape != x.shape:
            raise TypeError(f"clamp: {name} must be 0-d or have the shape of the operand, got {bound.shape} and "
                            f"{x.shape}. jnp.clip broadcasts.")
    return ShapedArray(x.shape, x.dtype, low.weak_type and x.weak_type and high.weak_type)


def _clamp_lower(ctx: Any, low: Any, x: Any, high: Any) -> list[Any]:
    return [hlo.clamp(low, x, high)]


def _clamp_jvp(primals: Any, tangents: Any) -> Any:
    low, x, high = primals
    out = clamp_p.bind(low, x, high)
    shape = typeof(out).shape
    chosen = (
        lambda: bitwise_and(gt(low, x), lt(low, high)),
        lambda: bitwise_and(gt(x, low), lt(x, high)),
        lambda: lt(high, x),
    )
    total: Any = Zero.from_primal_value(out)
    for t, mask in zip(tangents, chosen, strict=True):
        if type(t) is not Zero:
            total = add_tangents(total, where(mask(), broadcast_to_result(t, shape), like(t, 0)))
    return out, total


def _clamp_batch(args: Any, dims: Any) -> Any:
    args, dim = align_mapped(args, dims, (1,))
    return clamp_p.bind(*args), dim


clamp_p.def_abstract_eval(_clamp_abstract)
register_lowering(clamp_p, _clamp_lower)
fusible[clamp_p] = 1
pointwise.add(clamp_p)
rules.primitive_jvps[clamp_p] = _clamp_jvp
rules.primitive_batchers[clamp_p] = _clamp_batch
