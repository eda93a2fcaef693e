"""Records of the element-wise functions and reductions of ``jax.numpy``."""

from __future__ import annotations

from typing import Any

import numpy as np

import jax.numpy as jnp
from tests.ops import BFLOAT16, BOOLS, Op, number, real

F32 = ("float32",)
FLOAT = ("float32", "float64")
HALF = (BFLOAT16, "float16")
INTS = ("int32", "uint8")
NUMBERS = ("int32", "float32", "complex64")
ALL = ("bool", "uint8", *NUMBERS)
POSITIVE = (real(0.2, 3.0),)
ONE = (number(),)
TWO = (number(), number(shape=(3,)))
CUBE = (number(shape=(2, 3, 4)),)


def unary(name: str, *dtypes: Any, args: Any = ONE, reference: Any = None, **options: Any) -> Op:
    return Op(name, getattr(jnp, name), args, dtypes, reference or getattr(np, name), **options)


def binary(name: str, *dtypes: Any, args: Any = TWO, **options: Any) -> Op:
    options.setdefault("reference", getattr(np, name))
    return Op(name, getattr(jnp, name), args, dtypes, **options)


def nonzero(shape: tuple[int, ...] = (2, 3)) -> Any:
    """Divisors: numbers away from zero."""
    make = number(1.0, 3.0, shape)
    return lambda rng, dtype: make(rng, dtype)


# Functions that are one primitive: their derivatives are checked with jax.lax.
SINGLE = [
    unary("negative", *NUMBERS), unary("square", *NUMBERS), unary("absolute", *NUMBERS, "uint8"), unary("fabs", *F32),
    unary("sign", "int32", *F32, "uint8"), unary("sqrt", "int32", *F32, args=POSITIVE), unary("cbrt", *F32),
    unary("exp", *NUMBERS), unary("exp2", *F32), unary("expm1", *F32), unary("log", *F32, args=POSITIVE),
    unary("log1p", *F32, args=POSITIVE), unary("log2", *F32, args=POSITIVE, tol=4), unary("sin", *NUMBERS),
    unary("cos", *NUMBERS), unary("tan", *F32, tol=8), unary("arcsin", *F32, args=(real(-0.9, 0.9),), tol=4),
    unary("arccos", *F32, args=(real(-0.9, 0.9),), tol=4), unary("arctan", *NUMBERS, tol=4),
    unary("sinh", *NUMBERS, tol=4), unary("cosh", *NUMBERS, tol=4), unary("tanh", *NUMBERS, tol=4),
    unary("arcsinh", *F32, tol=4), unary("arccosh", *F32, args=(real(1.1, 3.0),), tol=4),
    unary("arctanh", *F32, args=(real(-0.9, 0.9),), tol=4), unary("floor", *F32, "int32"), unary("ceil", *F32, "int32"),
    unary("reciprocal", *F32, "complex64", args=(nonzero(),), tol=4), unary("invert", "bool", *INTS),
    unary("logical_not", *ALL), binary("add", *NUMBERS), binary("subtract", *NUMBERS), binary("multiply", *NUMBERS),
    binary("true_divide", *F32, "complex64", args=(number(), nonzero((3,))), tol=4), binary("maximum", *ALL),
    binary("minimum", *ALL), binary("arctan2", *F32, tol=4), binary("equal", *ALL), binary("not_equal", *ALL),
    binary("greater", *ALL), binary("greater_equal", *ALL), binary("less", *ALL), binary("less_equal", *ALL),
    binary("logical_and", *ALL), binary("logical_or", *ALL), binary("logical_xor", *ALL),
    binary("bitwise_and", "bool", *INTS), binary("bitwise_or", "bool", *INTS), binary("bitwise_xor", "bool", *INTS),
    binary("left_shift", *INTS, args=(number(0, 7), number(0, 3, (3,)))),
    binary("right_shift", *INTS, args=(number(-7, 7), number(0, 3, (3,)))),
    binary("nextafter", "float64"),
    binary("power", *F32, "complex64", args=(real(0.2, 2.0), number(shape=(3,))), tol=8),
]

# Functions of several primitives.
COMPOSITE = [
    unary("positive", *NUMBERS), unary("log10", *FLOAT, "complex64", args=POSITIVE, tol=4),
    unary("deg2rad", *FLOAT), unary("rad2deg", *FLOAT, tol=4), unary("sinc", *FLOAT, tol=8),
    Op("sinc at zero", lambda x: jnp.sinc(x * 0), (real(),), FLOAT, lambda x: np.sinc(x * 0)),
    unary("i0", *FLOAT, tol=8, order=1), unary("trunc", *FLOAT, grad=()), unary("rint", *F32, "complex64", grad=()),
    unary("real", *NUMBERS, "complex128"), unary("imag", *NUMBERS, "complex128"),
    unary("conjugate", *NUMBERS, "complex128"), unary("angle", *FLOAT, "complex64", "complex128", tol=4),
    unary("signbit", "int32", "uint8", *F32, *HALF), unary("spacing", "float64", grad=()),
    unary("isnan", *ALL), unary("isinf", *ALL), unary("isfinite", *ALL), unary("isposinf", *F32),
    unary("isneginf", *F32), unary("isreal", *ALL), unary("iscomplex", *ALL), unary("bitwise_count", *INTS),
    unary("modf", *F32, "float16", grad=()), unary("frexp", *FLOAT, BFLOAT16, "float16", grad=()),
    unary("nan_to_num", *FLOAT, "int32", "complex64"), unary("fix", *F32, reference=np.trunc),
    binary("floor_divide", "int32", "uint8", *FLOAT, args=(number(-9, 9), nonzero((3,))), grad=()),
    binary("remainder", "int32", "uint8", *FLOAT, args=(number(-9, 9), nonzero((3,))), tol=64, order=1),
    binary("fmod", "int32", "uint8", *FLOAT, args=(number(-9, 9), nonzero((3,))), tol=64, order=1),
    binary("divmod", "int32", "uint8", *F32, args=(number(-9, 9), nonzero((3,))), tol=64),
    binary("float_power", "int32", *FLOAT, args=(real(0.2, 2.0), number(shape=(3,))), tol=8,
           reference=lambda x, y: np.power(x.astype(float), y.astype(float))),
    Op("power of integers", jnp.power, (number(-3, 3), number(0, 5, (3,))), INTS, np.power),
    Op("static power", lambda x: x**3, (number(),), (*NUMBERS, "float64"), lambda x: x**3, tol=4),
    binary("fmax", "int32", *FLOAT, "complex64"), binary("fmin", "int32", *FLOAT, "complex64"),
    binary("hypot", "int32", *FLOAT, tol=4),
    binary("logaddexp", "int32", *FLOAT, tol=4), binary("logaddexp2", "int32", *FLOAT, tol=8),
    Op("logaddexp of complex numbers", jnp.logaddexp, (number(), number()), ("complex64", "complex128"),
       lambda x, y: np.log(np.exp(x) + np.exp(y)), tol=16),
    binary("copysign", "int32", *FLOAT), binary("heaviside", *FLOAT),
    binary("ldexp", *FLOAT, args=(real(), lambda rng, _: rng.integers(-4, 5, (3,)))),
    binary("gcd", "int32", "uint8", args=(number(-30, 30), number(-30, 30, (3,)))),
    binary("lcm", "int32", "uint8", args=(number(-9, 9), number(-9, 9, (3,)))),
    Op("isclose", jnp.isclose, (number(), number()), ALL, np.isclose),
    Op("allclose", jnp.allclose, (number(), number()), ALL, np.allclose),
    Op("array_equal", jnp.array_equal, (number(), number()), ALL, np.array_equal),
    Op("array_equiv", jnp.array_equiv, (number(), number(shape=(3,))), ALL, np.array_equiv),
    Op("clip", lambda x, y: jnp.clip(x, -0.5, y), (number(), number(0.0, 1.0, (3,))), FLOAT,
       lambda x, y: np.clip(x, -0.5, y)),
    Op("round to tenths", lambda x: jnp.round(x, 1), (number(),), (*FLOAT, "complex64", *HALF),
       lambda x: np.round(x, 1), grad=()),
    Op("round to tens", lambda x: jnp.round(x, -1), (number(-90, 90),), F32, lambda x: np.round(x, -1)),
]


# --- reductions -------------------------------------------------------------------------------------------------

def reduction(name: str, *dtypes: Any, args: Any = CUBE, reference: Any = None,
              label: str = "", options: dict[str, Any] | None = None, **record: Any) -> list[Op]:
    """``jnp.name`` over all axes, one, and two with ``keepdims``."""
    keywords = options or {}
    function, numpy = getattr(jnp, name), reference or getattr(np, name)
    ways = ({}, {"axis": 1}, {"axis": (0, -1), "keepdims": True})
    return [Op(f"{label or name}{list(way.values()) or ''}",
               lambda *a, way=way: function(*a, **keywords, **way),
               args, dtypes, lambda *a, way=way: numpy(*a, **keywords, **way), **record) for way in ways]


def with_gaps(shape: tuple[int, ...] = (2, 3, 4)) -> Any:
    """Numbers with some NaN."""
    make = number(shape=shape)

    def sample(rng: Any, dtype: Any) -> np.ndarray:
        x = np.array(make(rng, dtype))
        if dtype.kind in "fc":
            x.flat[::5] = np.nan
        return x
    return sample


def _masked(name: str, *dtypes: Any, **options: Any) -> Op:
    mask = lambda rng, _: rng.random((2, 3, 4)) > 0.3  # noqa: E731
    return Op(f"{name} where", lambda x, m: getattr(jnp, name)(x, axis=1, where=m, **options),
              (number(shape=(2, 3, 4)), mask), dtypes, lambda x, m: getattr(np, name)(x, axis=1, where=m, **options),
              tol=8)


REDUCTIONS = [
    *reduction("sum", *ALL, "float64", tol=8), *reduction("prod", *ALL, "float64", tol=16),
    *reduction("max", *ALL, "float64"), *reduction("min", *ALL), *reduction("mean", *ALL, "float64", tol=8),
    *reduction("var", *ALL, "float64", tol=8), *reduction("std", "int32", *FLOAT, tol=8),
    *reduction("any", *ALL), *reduction("all", *ALL), *reduction("ptp", "int32", *FLOAT, tol=4),
    *reduction("count_nonzero", *ALL), *reduction("median", "int32", *FLOAT, tol=4),
    *reduction("var", *FLOAT, label="var ddof", options={"ddof": 1}, tol=8),
    *reduction("quantile", *FLOAT, options={"q": 0.3}, tol=16), *reduction("percentile", *F32, options={"q": 30}, tol=64),
    *reduction("nansum", "int32", *F32, args=(with_gaps(),), tol=8),
    *reduction("nanprod", *F32, args=(with_gaps(),), tol=8), *reduction("nanmax", *F32, args=(with_gaps(),)),
    *reduction("nanmin", "int32", *F32, args=(with_gaps(),)), *reduction("nanmean", *F32, args=(with_gaps(),), tol=8),
    *reduction("nanvar", *F32, "complex64", args=(with_gaps(),), tol=8),
    *reduction("nanstd", *F32, args=(with_gaps(),), tol=8), *reduction("nanmedian", *F32, args=(with_gaps(),), tol=4),
    *reduction("nanquantile", *F32, args=(with_gaps(),), options={"q": 0.6}, tol=16),
    _masked("sum", *NUMBERS, "float64"), _masked("prod", *NUMBERS), _masked("mean", *F32, "float64"),
    _masked("var", "float64"), _masked("max", "int32", *F32, initial=-1), _masked("min", *F32, initial=1),
    _masked("any", "bool", *F32), _masked("all", "bool", *F32), _masked("std", *F32),
    Op("sum initial", lambda x: jnp.sum(x, 0, initial=2), (number(),), NUMBERS, lambda x: np.sum(x, 0, initial=2), tol=8),
    Op("cumsum", lambda x: jnp.cumsum(x, 1), (number(shape=(2, 5)),), (*NUMBERS, "float64"), lambda x: np.cumsum(x, 1),
       tol=8),
    Op("cumsum of all", jnp.cumsum, (number(shape=(2, 5)),), BOOLS + F32, np.cumsum, tol=8),
    Op("cumprod", lambda x: jnp.cumprod(x, 0), (number(shape=(5, 2)),), (*NUMBERS, "float64"),
       lambda x: np.cumprod(x, 0), tol=16),
    Op("nancumsum", lambda x: jnp.nancumsum(x, -1), (with_gaps((2, 5)),), F32, lambda x: np.nancumsum(x, -1), tol=8),
    Op("nancumprod", lambda x: jnp.nancumprod(x, -1), (with_gaps((2, 5)),), F32, lambda x: np.nancumprod(x, -1), tol=8),
    Op("argmax", lambda x: jnp.argmax(x, 1), (number(shape=(2, 5)),), ALL, lambda x: np.argmax(x, 1)),
    Op("argmin", lambda x: jnp.argmin(x, keepdims=True), (number(shape=(2, 5)),), ALL,
       lambda x: np.argmin(x, keepdims=True)),
    Op("nanargmax", lambda x: jnp.nanargmax(x, 0), (with_gaps((2, 3)),), ("int32", "float32"),
       lambda x: np.nanargmax(x, 0)),
    Op("average", lambda x, w: jnp.average(x, 1, w), (number(), number(0.5, 1.5, (3,))), ("float32", "float64"),
       lambda x, w: np.average(x, 1, w), tol=8),
]
