"""Records of reductions, cumulative operations, reductions over windows, and sorting."""

from __future__ import annotations

import functools

import numpy as np

from jax import lax
from tests import window_model
from tests.ops import BOOLS, FLOATS, INTEGERS, Op, exactly, fixed, number

NUMBERS = ("float32", "float64", "complex128", "int32", "uint8")
REALS = ("float32", "float64", "int32", "uint8")
part = functools.partial
cube = number(shape=(2, 3, 4))


def _lexicographic(pick):
    def reduce(x, axis):
        moved = np.moveaxis(x, axis, 0)
        flat = moved.reshape(moved.shape[0], -1)
        return np.array([pick(c, key=lambda z: (z.real, z.imag)) for c in flat.T]).reshape(moved.shape[1:])
    return reduce


def _prod(x, axes):
    return np.prod(x, axis=axes, dtype=x.dtype)


def _sum(x, axes):
    return np.sum(x, axis=axes, dtype=x.dtype)


def _norm(a, b):
    return lax.add(lax.add(a, b), lax.mul(a, b))


def _logic(name, dtype):
    fn, ref = getattr(lax, f"reduce_{name}"), getattr(np, f"bitwise_{name}")
    return Op(f"reduce_{name}-{dtype}", lambda x: fn(x, (0, 2)), (cube,), (dtype,),
              lambda x: ref.reduce(ref.reduce(x, axis=2), axis=0))


REDUCTIONS = [
    Op("reduce_sum", lambda x: lax.reduce_sum(x, (0, 2)), (cube,), (*NUMBERS, "bfloat16"), lambda x: _sum(x, (0, 2)),
       tol=4),
    Op("reduce_sum-negative", lambda x: lax.reduce_sum(x, (-1,)), (cube,), ("float32",), lambda x: _sum(x, -1)),
    Op("reduce_sum-nothing", lambda x: lax.reduce_sum(x, ()), (cube,), ("float64",), lambda x: x),
    Op("reduce_sum-empty", lambda x: lax.reduce_sum(x, (1,)), (number(shape=(2, 0)),), ("float64", "int32"),
       lambda x: _sum(x, 1)),
    Op("reduce_prod", lambda x: lax.reduce_prod(x, (0, 2)), (cube,), NUMBERS, lambda x: _prod(x, (0, 2)), tol=8),
    Op("reduce_prod-zeros", lambda x: lax.reduce_prod(x, (1,)), (exactly([[0, 2, 3, 4, 5.0], [0, 0, 1, 2, 3]]),),
       ("float64",), lambda x: _prod(x, 1)),
    Op("reduce_prod-empty", lambda x: lax.reduce_prod(x, (1,)), (number(shape=(2, 0)),), ("float64",),
       lambda x: _prod(x, 1)),
    Op("reduce_max", lambda x: lax.reduce_max(x, (0, 2)), (cube,), (*REALS, *BOOLS, "bfloat16"),
       lambda x: np.max(x, (0, 2))),
    Op("reduce_min", lambda x: lax.reduce_min(x, (1,)), (cube,), (*REALS, *BOOLS), lambda x: np.min(x, 1)),
    Op("reduce_max-complex", lambda x: lax.reduce_max(x, (1,)), (cube,), ("complex128",),
       lambda x: _lexicographic(max)(x, 1)),
    Op("reduce_min-complex", lambda x: lax.reduce_min(x, (0,)), (cube,), ("complex64",),
       lambda x: _lexicographic(min)(x, 0), grad=()),
    *[_logic(name, dtype) for name in ("and", "or", "xor") for dtype in ("bool", "int32", "uint8")],
    Op("argmax", lambda x: lax.argmax(x, 1, np.int32), (cube,), (*FLOATS, "int32", "uint8", "bool"),
       lambda x: np.argmax(x, 1)),
    Op("argmin", lambda x: lax.argmin(x, -1, np.int8), (cube,), ("float32", "int32", "bool"), lambda x: np.argmin(x, 2)),
    Op("reduce", lambda x: lax.reduce(x, np.zeros((), x.dtype), _norm, (0, 2)), (number(-0.5, 0.5, (2, 3, 5)),),
       ("float32", "float64"), lambda x: np.prod(1 + x, (0, 2)) - 1, tol=20),
    Op("reduce-add-from-two", lambda x: lax.reduce(x, np.full((), 2, x.dtype), lax.add, (1,)), (cube,), NUMBERS[:4],
       lambda x: _sum(x, 1) + x.dtype.type(2), tol=4),
    Op("reduce-two", lambda x, i: lax.reduce((x, i), (np.full((), -np.inf, x.dtype), np.int32(-1)), _later_maximum, (1,)),
       (cube, fixed("int32", 0, 9, (2, 3, 4))), ("float32", "float64"), None),
    Op("reduce-init", lambda x, v: lax.reduce(x, v, _norm, (0,)), (number(-0.5, 0.5, (5, 3)), number(shape=())),
       ("float64",), lambda x, v: np.prod(1 + x, 0) * (1 + v) - 1, order=1),
]


def _later_maximum(a, b):
    keep = lax.gt(a[0], b[0])
    return lax.select(keep, a[0], b[0]), lax.select(keep, a[1], b[1])


def _accumulate(name, fn, ufunc, dtypes, tol=8):
    sample = number(0.5, 1.5, (5, 7))

    def scan(x, axis, reverse):
        if reverse:
            return np.flip(ufunc.accumulate(np.flip(x, axis), axis=axis, dtype=x.dtype), axis)
        return ufunc.accumulate(x, axis=axis, dtype=x.dtype)
    long = number(0.9, 1.1, (70, 2))
    return [
        Op(name, part(fn, axis=1), (sample,), dtypes, part(scan, axis=1, reverse=False), tol=tol),
        Op(f"{name}-reverse", part(fn, axis=-2, reverse=True), (sample,), ("float64",),
           part(scan, axis=0, reverse=True), tol=tol),
        Op(f"{name}-long", fn, (long,), ("float64",), part(scan, axis=0, reverse=False), tol=10 * tol, order=1,
           vmap=False, grad=None if name in ("cumsum", "cumlogsumexp") else ()),
        Op(f"{name}-short", part(fn, axis=1), (number(shape=(2, 1)),), ("float64",),
           part(scan, axis=1, reverse=False), tol=tol),
    ]


CUMULATIVE = [
    *_accumulate("cumsum", lax.cumsum, np.add, (*NUMBERS, "bfloat16")),
    *_accumulate("cumprod", lax.cumprod, np.multiply, NUMBERS),
    *_accumulate("cummax", lax.cummax, np.maximum, REALS),
    *_accumulate("cummin", lax.cummin, np.minimum, REALS),
    *_accumulate("cumlogsumexp", lax.cumlogsumexp, np.logaddexp, ("float32", "float64")),
    Op("cumlogsumexp-complex", lax.cumlogsumexp, (number(-1, 1, (4,)),), ("complex128",),
       lambda x: np.log(np.cumsum(np.exp(x))), order=1),
    Op("cummax-complex", lax.cummax, (number(shape=(5, 2)),), ("complex128",), None),
    Op("cumsum-empty", lax.cumsum, (number(shape=(0, 2)),), ("float64",), lambda x: x),
]


WINDOWS = {
    "plain": dict(window_dimensions=(2, 3), window_strides=(1, 2), padding=((0, 0), (0, 0))),
    "padded": dict(window_dimensions=(2, 2), window_strides=(2, 1), padding=((1, 0), (1, 1))),
    "base": dict(window_dimensions=(3, 3), window_strides=(2, 1), padding=((1, 2), (0, 1)), base_dilation=(2, 3)),
    "window": dict(window_dimensions=(2, 2), window_strides=(1, 2), padding=((0, 1), (1, 1)), window_dilation=(3, 2)),
}


def _window(name, init, computation, reduce, dtypes, kind):
    params = WINDOWS[kind]
    window, strides, padding = (params[k] for k in ("window_dimensions", "window_strides", "padding"))

    def start(x):
        value = init if not callable(init) else init(x.dtype)
        return np.asarray(value).astype(x.dtype)

    def model(x):
        return window_model.reduce_window(x, start(x), reduce, window, strides, padding, params.get("base_dilation"),
                                          params.get("window_dilation"))
    return Op(f"{name}-{kind}", lambda x: lax.reduce_window(x, start(x), computation, **params), (number(shape=(4, 5)),),
              dtypes, model, tol=4, order=2 if kind == "padded" else 1)


def _least(dtype):
    return -np.inf if dtype.kind == "f" or dtype.kind == "V" else np.iinfo(dtype).min


def _largest(dtype):
    return np.inf if dtype.kind == "f" or dtype.kind == "V" else np.iinfo(dtype).max


WINDOWED = [
    *[_window("sum", 0, lax.add, np.sum, ("float64",) if k != "padded" else NUMBERS, k) for k in WINDOWS],
    *[_window("max", _least, lax.max, np.max, ("float64",) if k != "padded" else REALS, k) for k in WINDOWS],
    *[_window("min", _largest, lax.min, np.min, ("float64",) if k != "padded" else REALS, k) for k in WINDOWS],
    *[_window("prod", 1, lax.mul, np.prod, ("float64",), k) for k in ("plain", "base")],
    Op("two", lambda x, i: lax.reduce_window((x, i), (np.full((), -np.inf, x.dtype), np.int32(-1)), _later_maximum,
                                             **WINDOWS["plain"]),
       (number(shape=(4, 5)), fixed("int32", 0, 9, (4, 5))), ("float64",), None, order=1),
]


def _stable(keys):
    return np.argsort(keys, axis=0, kind="stable")


def _sort_two(k, v):
    order = _stable(k)
    return np.take_along_axis(k, order, 0), np.take_along_axis(v, order, 0)


def _lexsort(a, b, c):
    order = np.lexsort((b, a), axis=1)
    return tuple(np.take_along_axis(x, order, 1) for x in (a, b, c))


def _top_k(x, k):
    order = np.argsort(-(x.astype(float)), axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(x, order, -1), order


table = number(-9, 9, (5, 4))
SORTING = [
    Op("sort", lax.sort, (table,), (*FLOATS, "complex128", *INTEGERS, "bool", "float16"), lambda x: np.sort(x, -1)),
    Op("sort-first-axis", part(lax.sort, dimension=0), (table,), ("float64",), lambda x: np.sort(x, 0)),
    Op("sort-short", part(lax.sort, dimension=0), (number(shape=(1, 4)),), ("float64",), lambda x: x),
    Op("sort-empty", lax.sort, (number(shape=(3, 0)),), ("float32",), lambda x: x, grad=()),
    Op("sort_key_val", part(lax.sort_key_val, dimension=0), (table, table),
       ("float32", "float64", "complex128", *INTEGERS, "bool"), _sort_two),
    Op("sort-two-keys", lambda a, b, c: lax.sort((a, b, c), dimension=1, num_keys=2),
       (fixed("int32", 0, 2, (3, 6)), number(shape=(3, 6)), number(shape=(3, 6))), ("float32", "float64"), _lexsort),
    Op("top_k", lambda x: lax.top_k(x, 3), (table,), (*FLOATS, *INTEGERS, "bool"), part(_top_k, k=3)),
    Op("top_k-axis", lambda x: lax.top_k(x, 2, axis=0), (table,), ("float64",),
       lambda x: tuple(y.T for y in _top_k(x.T, 2))),
    Op("approx_max_k", lambda x: lax.approx_max_k(x, 2), (table,), ("float32", "float64"), part(_top_k, k=2)),
    Op("approx_min_k", lambda x: lax.approx_min_k(x, 2), (table,), ("float64",),
       lambda x: (lambda v, i: (-v, i))(*_top_k(-x, 2))),
]

OPS = [*REDUCTIONS, *CUMULATIVE, *WINDOWED, *SORTING]
