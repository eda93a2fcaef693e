"""Complex numbers and their parts, element by element.

Derivatives are those of real-linear maps: the cotangent of ``z`` for a real function ``f`` is
``df/d(Re z) - 1j * df/d(Im z)``, so that pairing it with a tangent, ``Re(ct * t)``, gives the change of ``f``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jax import dtypes
from jax._ground.families import (
    COMPLEX,
    FLOATING,
    INEXACT,
    broadcast_to_result,
    category,
    deflinear_elementwise,
    like,
    nary,
    sum_to_operand,
    unary,
)
from jax._language import rules
from jax._language.avals import typeof
from jax._language.zeros import UndefinedPrimal, Zero
from jax._lowering import hlo
from jax.lax._arithmetic import neg

_COMPLEX = frozenset({COMPLEX})
_COMPLEX_OF = {np.dtype(np.float32): np.dtype(np.complex64), np.dtype(np.float64): np.dtype(np.complex128)}


def _with_parts(x: Any, y: Any = None) -> Any:
    try:
        return _COMPLEX_OF[x]
    except KeyError:
        raise TypeError(f"complex numbers are made of float32 or float64 parts, got {x}. Convert the operand, for "
                        "example with x.astype(jnp.float32).") from None


# --- complex --------------------------------------------------------------------------------------------------------

complex_p = nary("complex", FLOATING, "stablehlo.complex", result=_with_parts)


def complex(x: Any, y: Any) -> Any:  # noqa: A001 - the documented name
    """``x + 1j * y``, element by element, for float32 or float64 operands of one dtype."""
    return complex_p.bind(x, y)


def _complex_jvp(primals: Any, tangents: Any) -> Any:
    out = complex_p.bind(*primals)
    if all(type(t) is Zero for t in tangents):
        return out, Zero.from_primal_value(out)
    x, y = [like(p, 0) if type(t) is Zero else t for p, t in zip(primals, tangents, strict=True)]
    return out, broadcast_to_result(complex_p.bind(x, y), typeof(out).shape)


def _complex_transpose(ct: Any, x: Any, y: Any) -> Any:
    if type(ct) is Zero:
        return [Zero(a.aval) if type(a) is UndefinedPrimal else None for a in (x, y)]
    return [sum_to_operand(real(ct), x.aval) if type(x) is UndefinedPrimal else None,
            sum_to_operand(neg(imag(ct)), y.aval) if type(y) is UndefinedPrimal else None]


rules.primitive_jvps[complex_p] = _complex_jvp
rules.primitive_transposes[complex_p] = _complex_transpose

# --- real, imag -----------------------------------------------------------------------------------------------------

real_p = unary("real", _COMPLEX, "stablehlo.real", result=dtypes.to_real_dtype)
imag_p = unary("imag", _COMPLEX, "stablehlo.imag", result=dtypes.to_real_dtype)
deflinear_elementwise(real_p, lambda ct: complex(ct, like(ct, 0)))
deflinear_elementwise(imag_p, lambda ct: complex(like(ct, 0), neg(ct)))


def real(x: Any) -> Any:
    """The real part of each element of a complex array."""
    return real_p.bind(x)


def imag(x: Any) -> Any:
    """The imaginary part of each element of a complex array."""
    return imag_p.bind(x)


# --- conj -----------------------------------------------------------------------------------------------------------


def _conj_lower(ctx: Any, x: Any, *, input_dtype: Any) -> Any:
    if category(ctx.avals_in[0].dtype) == COMPLEX:
        return hlo.complex(hlo.real(x), hlo.negate(hlo.imag(x)))
    aval = ctx.avals_in[0]
    return hlo.complex(x, hlo.full(0, aval.shape, aval.dtype))


def _conj_transpose(ct: Any, *, input_dtype: Any) -> Any:
    return conj(ct) if category(input_dtype) == COMPLEX else real(ct)


conj_p = unary("conj", INEXACT, _conj_lower,
               result=lambda x, input_dtype: x if category(x) == COMPLEX else _with_parts(x))
deflinear_elementwise(conj_p, _conj_transpose)


def conj(x: Any) -> Any:
    """The complex conjugate of each element. The result is complex for real operands, too."""
    return conj_p.bind(x, input_dtype=typeof(x).dtype)
