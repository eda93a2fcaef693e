"""Sine, cosine and tangent in double precision as operations that become vector instructions.

The argument is reduced modulo pi/2, in four parts after Cody and Waite of which all but the last have exact products with
the quotient, so that what remains is right to its last place however small it is, with what rounding took. The functions are
those of the Cephes library (S. Moshier) on [-pi/4, pi/4].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jax.lax._arithmetic import add, div, mul, neg, sub
from jax.lax._bitwise import bitwise_and
from jax.lax._comparison import eq, lt
from jax.lax._conversion import convert_element_type
from jax.lax._magnitude import abs as magnitude
from jax.lax._rounding import RoundingMethod, round
from jax.lax._select import select

# pi/2: 24 bits, 24 bits, 24 bits, the rest. Multiples of the first three by up to 2**29 are exact.
HALF_PI = tuple([np.float64(float.fromhex(part)) for part in (
    "0x1.921fb4p+0", "0x1.4442d0p-24", "0x1.846988p-48", "0x1.8cc51701b839ap-72")])
_TWO_OVER_PI = np.float64(float.fromhex("0x1.45f306dc9c883p-1"))
_SINE = (-1.66666666666666307295e-1, 8.33333333332211858878e-3, -1.98412698295895385996e-4, 2.75573136213857245213e-6,
         -2.50507477628578072866e-8, 1.58962301576546568060e-10)
_COSINE = (4.16666666666665929218e-2, -1.38888888888730564116e-3, 2.48015872888517179954e-5, -2.75573141792967388112e-7,
           2.08757008419747316778e-9, -1.13585365213876817300e-11)
_TANGENT = (-1.79565251976484877988e7, 1.15351664838587416140e6, -1.30936939181383777646e4)
_TANGENT_BELOW = (-5.38695755929454629881e7, 2.50083801823357915839e7, -1.32089234440210967447e6, 1.36812963470692954678e4,
                  1.0)
# Up to here sine and tangent are their argument, to half an ulp.
_TINY = np.float64(2.0**-27)


def _polynomial(z: Any, coefficients: tuple[float, ...]) -> Any:
    value: Any = np.float64(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        value = add(mul(z, value), np.float64(c))
    return value


def _reduced(x: Any) -> tuple[Any, Any, Any]:
    """What remains of ``x`` modulo pi/2, what rounding took from that, and the number of the quadrant."""
    k = round(mul(x, _TWO_OVER_PI), RoundingMethod.TO_NEAREST_EVEN)
    first, second, third, last = HALF_PI
    x = sub(sub(x, mul(k, first)), mul(k, second))
    part = mul(k, third)
    near = sub(x, part)
    rest = sub(mul(k, last), sub(sub(x, near), part))
    r = sub(near, rest)
    return r, sub(sub(near, r), rest), convert_element_type(k, np.int32)


def _bit(quadrant: Any, bit: int) -> Any:
    return eq(bitwise_and(quadrant, np.int32(bit)), np.int32(0))


def _choose(r: Any, lost: Any, quadrant: Any) -> Any:
    z = mul(r, r)
    half = mul(np.float64(0.5), z)
    near = sub(np.float64(1), half)
    sine = add(r, add(mul(mul(r, z), _polynomial(z, _SINE)), mul(lost, near)))
    small = sub(sub(sub(np.float64(1), near), half), mul(r, lost))
    cosine = add(near, add(small, mul(mul(z, z), _polynomial(z, _COSINE))))
    value = select(_bit(quadrant, 1), sine, cosine)
    return select(_bit(quadrant, 2), value, neg(value))


def sine(x: Any) -> Any:
    r, lost, quadrant = _reduced(x)
    return select(lt(magnitude(x), _TINY), x, _choose(r, lost, quadrant))


def cosine(x: Any) -> Any:
    r, lost, quadrant = _reduced(x)
    return _choose(r, lost, add(quadrant, np.int32(1)))


def tangent(x: Any) -> Any:
    r, lost, quadrant = _reduced(x)
    z = mul(r, r)
    small = mul(r, div(mul(z, _polynomial(z, _TANGENT)), _polynomial(z, _TANGENT_BELOW)))
    value = add(r, small)
    value = add(r, add(small, mul(lost, add(np.float64(1), mul(value, value)))))
    value = select(_bit(quadrant, 1), value, div(np.float64(-1), value))
    return select(lt(magnitude(x), _TINY), x, value)
