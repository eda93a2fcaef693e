"""Records of the element-wise operations of jax.lax."""

from __future__ import annotations

import functools

import numpy as np

from jax import lax
from tests.ops import BOOLS, COMPLEXES, FLOATS, INTEGERS, SIGNED, Op, exactly, fixed, number

INEXACT = (*FLOATS, *COMPLEXES)
NUMBERS = (*INEXACT, "int32", "uint8")
REALS = (*FLOATS, "int32", "uint8")
apart = number(0.3, 2.0)  # away from zero
unit = number(-0.9, 0.9)


def _truncated_division(x, y):
    if x.dtype.kind in "iu":
        return np.trunc(x.astype(float) / y.astype(float))
    return x / y


def _fmod(x, y):
    return np.fmod(x, y)


def _sign(x):
    return np.sign(x)


ARITHMETIC = [
    Op("neg", lax.neg, (number(),), NUMBERS, np.negative),
    Op("add", lax.add, (number(), number()), NUMBERS, np.add),
    Op("add-scalar", lax.add, (number(), number(shape=())), ("float64",), np.add),
    Op("add-thin", lax.add, (number(shape=(2, 1)), number(shape=(1, 3))), COMPLEXES, np.add),
    Op("sub", lax.sub, (number(), number()), NUMBERS, np.subtract),
    Op("sub-thin", lax.sub, (number(shape=(2, 1)), number(shape=(2, 3))), ("float64",), np.subtract),
    Op("mul", lax.mul, (number(), number()), NUMBERS, np.multiply, tol=2),
    Op("mul-thin", lax.mul, (number(shape=()), number(shape=(2, 3))), COMPLEXES, np.multiply, tol=2),
    Op("mul-wide", functools.partial(lax.mul, out_dtype=np.float32), (number(), number()), ("bfloat16",), np.multiply,
       grad=(), tol=0.1),
    Op("square", lax.square, (number(),), NUMBERS, np.square, tol=2),
    Op("div", lax.div, (number(), number(0.3, 2)), NUMBERS, None, tol=4),
    Op("div-values", lax.div, (number(-100, 100), number(1, 9)), REALS, _truncated_division, vmap=False, grad=()),
    Op("div-thin", lax.div, (number(shape=(1, 3)), number(0.3, 2, (2, 1))), ("float64",), np.divide, tol=4),
    Op("rem", lax.rem, (number(-100, 100), number(1, 9)), REALS, _fmod, order=1),
    Op("abs", lax.abs, (number(),), (*FLOATS, *COMPLEXES, *SIGNED), np.abs),
    Op("sign", lax.sign, (number(),), (*FLOATS, *COMPLEXES, *INTEGERS), _sign),
    Op("max", lax.max, (number(), number()), (*REALS, *BOOLS), np.maximum),
    Op("max-complex", lax.max, (number(), number()), COMPLEXES, None),
    Op("min", lax.min, (number(), number()), (*REALS, *BOOLS), np.minimum),
    Op("max-thin", lax.max, (number(shape=()), number()), ("float64",), np.maximum),
    Op("clamp", lax.clamp, (number(-1, -0.2), number(), number(0.2, 1)), FLOATS, lambda a, x, b: np.clip(x, a, b)),
    Op("clamp-scalar", lax.clamp, (number(-1, -0.2, ()), number(), number(0.2, 1, ())), ("float64", "int32", "uint8"),
       lambda a, x, b: np.clip(x, a, b)),
]

POWERS = [
    Op("integer_pow-3", lambda x: lax.integer_pow(x, 3), (number(),), NUMBERS, lambda x: x * x * x, tol=4),
    Op("integer_pow-0", lambda x: lax.integer_pow(x, 0), (number(),), ("float64", "int32"), np.ones_like),
    Op("integer_pow-1", lambda x: lax.integer_pow(x, 1), (number(),), ("float64", "int32"), lambda x: x),
    Op("integer_pow--2", lambda x: lax.integer_pow(x, -2), (apart,), INEXACT, lambda x: x ** -2.0, tol=4),
    Op("integer_pow-13", lambda x: lax.integer_pow(x, 13), (apart,), FLOATS, lambda x: x ** 13.0, tol=20),
    Op("reciprocal", lax.reciprocal, (apart,), INEXACT, np.reciprocal, tol=2),
    Op("pow", lax.pow, (apart, number()), INEXACT, np.power, tol=8),
    Op("pow-integer", lax.pow, (apart, fixed("int32", -3, 3)), INEXACT, np.power, tol=8),
    Op("pow-scalar", lax.pow, (apart, number(shape=())), ("float64",), np.power, tol=8),
    Op("sqrt", lax.sqrt, (apart,), INEXACT, np.sqrt),
    Op("rsqrt", lax.rsqrt, (apart,), INEXACT, lambda x: 1 / np.sqrt(x), tol=4),
    Op("cbrt", lax.cbrt, (number(),), FLOATS, np.cbrt),
]

EXPONENTIALS = [
    Op("exp", lax.exp, (number(),), INEXACT, np.exp, tol=4),
    Op("exp2", lax.exp2, (number(),), INEXACT, np.exp2, tol=4),
    Op("expm1", lax.expm1, (number(),), INEXACT, np.expm1, tol=4),
    Op("log", lax.log, (apart,), INEXACT, np.log),
    Op("log1p", lax.log1p, (unit,), INEXACT, np.log1p, tol=4),
    Op("log2", lax.log2, (apart,), INEXACT, np.log2),
    Op("logistic", lax.logistic, (number(),), INEXACT, lambda x: 1 / (1 + np.exp(-x)), tol=4),
]

TRIGONOMETRIC = [
    Op("sin", lax.sin, (number(),), INEXACT, np.sin, tol=4),
    Op("cos", lax.cos, (number(),), INEXACT, np.cos, tol=4),
    Op("tan", lax.tan, (number(-1, 1),), INEXACT, np.tan, tol=4),
    Op("asin", lax.asin, (unit,), INEXACT, np.arcsin, tol=4),
    Op("acos", lax.acos, (unit,), INEXACT, np.arccos, tol=4),
    Op("atan", lax.atan, (number(),), INEXACT, np.arctan, tol=4),
    Op("atan2", lax.atan2, (number(), number()), FLOATS, np.arctan2, tol=4),
    Op("atan2-complex", lax.atan2, (apart, apart), COMPLEXES,
       lambda x, y: -1j * np.log((y + 1j * x) / np.sqrt(x * x + y * y)), tol=8),
    Op("sinh", lax.sinh, (number(),), INEXACT, np.sinh, tol=4),
    Op("cosh", lax.cosh, (number(),), INEXACT, np.cosh, tol=4),
    Op("tanh", lax.tanh, (number(),), INEXACT, np.tanh, tol=4),
    Op("asinh", lax.asinh, (number(),), INEXACT, np.arcsinh, tol=4),
    Op("acosh", lax.acosh, (number(1.2, 3),), FLOATS, np.arccosh, tol=4),
    Op("acosh-complex", lax.acosh, (number(),), COMPLEXES, np.arccosh, tol=4),
    Op("atanh", lax.atanh, (unit,), INEXACT, np.arctanh, tol=4),
]

COMPLEX = [
    Op("real", lax.real, (number(),), COMPLEXES, np.real),
    Op("imag", lax.imag, (number(),), COMPLEXES, np.imag),
    Op("conj", lax.conj, (number(),), COMPLEXES, np.conj),
    Op("conj-real", lax.conj, (number(),), ("float32", "float64"), lambda x: x + 0j),
    Op("complex", lax.complex, (number(), number()), ("float32", "float64"), lambda x, y: x + 1j * y),
    Op("complex-thin", lax.complex, (number(), number(shape=())), ("float64",), lambda x, y: x + 1j * y),
]

COMPARISONS = [
    Op(f.__name__, f, (number(), number(shape=shape)), (*kinds, *BOOLS), ref, grad=())
    for f, ref, kinds, shape in [
        (lax.eq, np.equal, (*REALS, *COMPLEXES), (2, 3)), (lax.ne, np.not_equal, (*REALS, *COMPLEXES), (1, 3)),
        (lax.lt, np.less, REALS, (2, 3)), (lax.le, np.less_equal, REALS, ()),
        (lax.gt, np.greater, REALS, (2, 1)), (lax.ge, np.greater_equal, REALS, (2, 3)),
    ]
]

BITS = [
    Op("bitwise_not", lax.bitwise_not, (number(-100, 100),), (*INTEGERS, *BOOLS), np.invert),
    *(Op(f.__name__, f, (number(-100, 100), number(-100, 100)), (*INTEGERS, *BOOLS), ref)
      for f, ref in [(lax.bitwise_and, np.bitwise_and), (lax.bitwise_or, np.bitwise_or),
                     (lax.bitwise_xor, np.bitwise_xor)]),
    Op("shift_left", lax.shift_left, (number(-3, 3), number(0, 4)), INTEGERS, np.left_shift),
    Op("shift_right_arithmetic", lax.shift_right_arithmetic, (number(-100, 100), number(0, 6)), SIGNED, np.right_shift),
    Op("shift_right_logical", lax.shift_right_logical, (number(-100, 100), number(0, 6)), ("uint32", "uint8"),
       np.right_shift),
    Op("population_count", lax.population_count, (number(-100, 100),), INTEGERS,
       lambda x: np.vectorize(lambda v: int(v).bit_count())(x.view(f"u{x.itemsize}"))),
    Op("clz", lax.clz, (number(-100, 100),), INTEGERS,
       lambda x: np.vectorize(lambda v: 8 * x.itemsize - int(v).bit_length())(x.view(f"u{x.itemsize}"))),
    Op("mulhi", lax.mulhi, (number(-100, 100), number(-2**31, 2**32)), ("int32", "uint32"),
       lambda x, y: (x.astype(object) * y.astype(object) >> 32).astype(np.int64)),
]

SELECTION = [
    Op("select", lax.select, (fixed("bool"), number(), number()), (*INEXACT, "int32", "bool"), np.where),
    Op("select-scalar", lax.select, (fixed("bool", shape=()), number(), number()), ("float64",), np.where),
    Op("select_n", lax.select_n, (fixed("int32", 0, 2), number(), number(), number()), ("float64", "complex64", "int8"),
       lambda w, *cases: np.choose(w, cases)),
    Op("select_n-scalar", lax.select_n, (fixed("int32", 1, 1, ()), number(), number(), number()), ("float64",),
       lambda w, *cases: cases[int(w)]),
    Op("select_n-five", lax.select_n, (fixed("int32", 0, 4), *[number()] * 5), ("float32",),
       lambda w, *cases: np.choose(w, cases), vmap=False),
]

CONVERSIONS = [
    Op("convert-f32", lambda x: lax.convert_element_type(x, np.float32), (number(),), (*REALS, *BOOLS),
       lambda x: x.astype(np.float32), grad_dtypes=()),
    Op("convert-c64", lambda x: lax.convert_element_type(x, np.complex64), (number(),), (*NUMBERS, *BOOLS),
       lambda x: x.astype(np.complex64), grad_dtypes=()),
    Op("convert-c128", lambda x: lax.convert_element_type(x, np.complex128), (number(),), ("float64", "complex128"),
       lambda x: x.astype(np.complex128)),
    Op("convert-i32", lambda x: lax.convert_element_type(x, np.int32), (number(-9, 9),), (*REALS, *BOOLS),
       lambda x: x.astype(np.int32), grad=()),
    Op("convert-u8", lambda x: lax.convert_element_type(x, np.uint8), (number(0, 9),), (*REALS, *BOOLS),
       lambda x: x.astype(np.uint8), grad=()),
    Op("convert-bool", lambda x: lax.convert_element_type(x, bool), (number(-1, 1),), (*NUMBERS, *BOOLS),
       lambda x: x.astype(bool), grad=()),
    Op("bitcast-same", lambda x: lax.bitcast_convert_type(x, np.int32), (number(),), ("float32", "uint32"),
       lambda x: x.astype(np.float32).view(np.int32) if x.dtype.kind == "f" else x.view(np.int32)),
    Op("bitcast-smaller", lambda x: lax.bitcast_convert_type(x, np.uint8), (number(),), ("float32", "int32"),
       lambda x: (x.astype(np.float32) if x.dtype.kind == "f" else x)[..., None].view(np.uint8)),
    Op("bitcast-larger", lambda x: lax.bitcast_convert_type(x, np.int32), (number(shape=(3, 4)),), ("uint8", "int8"),
       lambda x: x.view(np.int32)[..., 0]),
    Op("reduce_precision", lambda x: lax.reduce_precision(x, 8, 7), (number(),), ("float32", "float64"),
       lambda x: x.astype(np.float32).astype("bfloat16").astype(x.dtype), grad=()),
]

ROUNDING = [
    Op("floor", lax.floor, (number(),), FLOATS, np.floor),
    Op("ceil", lax.ceil, (number(),), FLOATS, np.ceil),
    Op("round", lax.round, (exactly([[0.5, 1.5, -0.5], [-1.5, 0.4, 2.6]]),), FLOATS,
       lambda x: np.trunc(x + np.copysign(0.5, x)), grad=()),
    Op("round-even", lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
       (exactly([[0.5, 1.5, -0.5], [-1.5, 0.4, 2.6]]),), FLOATS, np.round, grad=()),
    Op("is_finite", lax.is_finite, (exactly([1.0, np.inf, -np.inf, np.nan]),), FLOATS, np.isfinite, grad=()),
    Op("nextafter", lax.nextafter, (number(), number()), ("float64",), np.nextafter, grad=()),
]

ELEMENTWISE = [*ARITHMETIC, *POWERS, *EXPONENTIALS, *TRIGONOMETRIC, *COMPLEX, *COMPARISONS, *BITS, *SELECTION,
               *CONVERSIONS, *ROUNDING]
