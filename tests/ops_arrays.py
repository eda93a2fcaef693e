"""Records of the functions of ``jax.numpy`` that move elements: shapes, joining, indexing, sorting, searching."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import jax.numpy as jnp
from tests.ops import Op, Sample, exactly, fixed, number, real

F = ("float32", "float64")
ANY = ("float32", "float64", "int32", "bool")


def op(name: str, make: Callable[[Any], Callable[..., Any]], *args: Sample, dtypes: Sequence[Any] = F,
       label: str = "", **options: Any) -> Op:
    """``make(jnp)`` checked against ``make(np)``."""
    return Op(label or name, make(jnp), args, dtypes, make(np), **options)


A = number(shape=(2, 3, 4))
M = number(shape=(3, 4))
V = number(shape=(5,))

SHAPE = [
    op("reshape", lambda m: lambda x: m.reshape(x, (4, -1)), A, dtypes=ANY),
    op("reshape F", lambda m: lambda x: m.reshape(x, (4, 6), order="F"), A),
    op("ravel", lambda m: m.ravel, A),
    op("ravel F", lambda m: lambda x: m.ravel(x, "F"), A),
    op("transpose", lambda m: m.transpose, A, dtypes=ANY),
    op("transpose axes", lambda m: lambda x: m.transpose(x, (1, -1, 0)), A),
    op("moveaxis", lambda m: lambda x: m.moveaxis(x, (0, 1), (-1, 0)), A),
    op("swapaxes", lambda m: lambda x: m.swapaxes(x, 0, -1), A),
    op("rollaxis", lambda m: lambda x: m.rollaxis(x, 2, 0), A),
    op("squeeze", lambda m: m.squeeze, number(shape=(1, 3, 1))),
    op("squeeze axis", lambda m: lambda x: m.squeeze(x, (0,)), number(shape=(1, 3, 1))),
    op("expand_dims", lambda m: lambda x: m.expand_dims(x, (0, -1)), M),
    op("broadcast_to", lambda m: lambda x: m.broadcast_to(x, (2, 3, 4)), number(shape=(3, 1))),
    op("broadcast_arrays", lambda m: lambda x, y: list(m.broadcast_arrays(x, y)), number(shape=(3, 1)), V),
    op("flip", lambda m: m.flip, A), op("flip axis", lambda m: lambda x: m.flip(x, (0, -1)), A),
    op("fliplr", lambda m: m.fliplr, M), op("flipud", lambda m: m.flipud, M),
    op("rot90", lambda m: lambda x: [m.rot90(x, k) for k in range(-1, 4)], M),
    op("rot90 axes", lambda m: lambda x: m.rot90(x, 1, (2, 0)), A),
    op("roll", lambda m: lambda x: m.roll(x, 5), M), op("roll axis", lambda m: lambda x: m.roll(x, -1, 1), M),
    op("roll axes", lambda m: lambda x: m.roll(x, (1, -2, 9), (0, 1, 0)), M),
    op("atleast", lambda m: lambda x: [m.atleast_1d(x[0, 0]), m.atleast_2d(x[0]), m.atleast_3d(x),
                                       m.atleast_3d(x[0])], M),
    op("matrix_transpose", lambda m: m.matrix_transpose, A),
]

JOIN = [
    op("concatenate", lambda m: lambda x, y: m.concatenate([x, y], 1), M, number(shape=(3, 2)), dtypes=ANY),
    op("concatenate None", lambda m: lambda x, y: m.concatenate([x, y], None), M, V),
    op("stack", lambda m: lambda x, y: m.stack([x, y], 1), M, M, dtypes=ANY),
    op("stack many", lambda m: lambda x: m.stack([x] * 70, -1), number(shape=(2,))),
    op("vstack", lambda m: lambda x, y: m.vstack([x, y]), M, number(shape=(4,))),
    op("hstack", lambda m: lambda x, y: m.hstack([x, y]), M, number(shape=(3, 1))),
    op("dstack", lambda m: lambda x, y: m.dstack([x, y]), M, M),
    op("column_stack", lambda m: lambda x, y: m.column_stack([x, y]), M, number(shape=(3,))),
    op("block", lambda m: lambda x, y: m.block([[x, y], [y, x]]), M, M),
    op("append", lambda m: lambda x, y: m.append(x, y), M, V),
    op("split", lambda m: lambda x: m.split(x, 2, 1), M), op("split at", lambda m: lambda x: m.split(x, [1, 3], 1), M),
    op("array_split", lambda m: lambda x: m.array_split(x, 3, 1), M),
    op("hsplit", lambda m: lambda x: m.hsplit(x, 2), M), op("vsplit", lambda m: lambda x: m.vsplit(x, [1]), M),
    op("dsplit", lambda m: lambda x: m.dsplit(x, 2), A),
    op("unstack", lambda m: lambda x: list(m.unstack(x, axis=1)), M),
    op("tile", lambda m: lambda x: m.tile(x, (2, 1, 3)), M), op("tile short", lambda m: lambda x: m.tile(x, 2), M),
    op("repeat", lambda m: lambda x: m.repeat(x, 3), M), op("repeat axis", lambda m: lambda x: m.repeat(x, 2, 1), M),
    op("repeat counts", lambda m: lambda x: m.repeat(x, np.array([2, 0, 1]), 0), M),
    op("resize", lambda m: lambda x: m.resize(x, (5, 7)), M),
    op("insert", lambda m: lambda x, y: m.insert(x, np.array([0, 2, 2]), y, axis=0), M, number(shape=(3, 4))),
    op("insert place", lambda m: lambda x, y: m.insert(x, 1, y, axis=1), M, number(shape=(3,))),
    op("delete", lambda m: lambda x: m.delete(x, np.array([0, -1]), axis=1), M),
]

PAD = [
    op(mode, lambda m, mode=mode, kw=kw: lambda x: m.pad(x, ((2, 3), (1, 2)), mode=mode, **kw), M,
       label=f"pad {mode} {kw}")
    for mode, kw in [
        ("constant", {}), ("constant", {"constant_values": ((1, 2), (3, 4))}), ("edge", {}), ("wrap", {}),
        ("linear_ramp", {}), ("linear_ramp", {"end_values": 3}), ("maximum", {}), ("minimum", {"stat_length": 2}),
        ("mean", {}), ("mean", {"stat_length": 2}), ("median", {}), ("reflect", {}), ("symmetric", {}),
        ("reflect", {"reflect_type": "odd"}), ("symmetric", {"reflect_type": "odd"}),
    ]
] + [
    op("pad far", lambda m, mode=mode: lambda x: m.pad(x, 11, mode=mode), number(shape=(4,)), label=f"pad {mode} far")
    for mode in ("wrap", "reflect", "symmetric")
]

MATRICES = [
    op("diag", lambda m: lambda x: [m.diag(x, k) for k in (-2, 0, 1)], V),
    op("diag of matrix", lambda m: lambda x: [m.diag(x, k) for k in (-9, -1, 0, 2, 9)], M, dtypes=ANY),
    op("diagonal", lambda m: lambda x: m.diagonal(x, 1, 2, 0), A),
    op("diagflat", lambda m: lambda x: m.diagflat(x, -1), number(shape=(2, 2))),
    op("trace", lambda m: lambda x: m.trace(x, 1, 1, 2), A),
    op("tril", lambda m: lambda x: m.tril(x, -1), A, dtypes=ANY), op("triu", lambda m: lambda x: m.triu(x, 1), A),
    op("vander", lambda m: lambda x: m.vander(x, 4), real(0.5, 2.0, (3,)), tol=4),
    op("meshgrid", lambda m: lambda x, y: list(m.meshgrid(x, y)), V, number(shape=(3,))),
    op("linspace", lambda m: lambda x, y: m.linspace(x, y, 7, axis=-1), V, V, tol=4),
    op("logspace", lambda m: lambda x, y: m.logspace(x, y, 5), V, V, tol=64),
    op("geomspace", lambda m: lambda x, y: m.geomspace(x, y, 5), real(0.5, 1.0, (3,)), real(2.0, 4.0, (3,)), tol=64),
]

INDEX = fixed("int32", -3, 2, (4, 2))

SELECT = [
    op("where", lambda m: lambda c, x, y: m.where(c, x, y), fixed("bool", shape=(3, 1)), M, number(shape=(4,)),
       dtypes=ANY),
    op("select", lambda m: lambda c, d, x: m.select([c, d], [x, -x], 7), fixed("bool", shape=(3, 4)),
       fixed("bool", shape=(3, 4)), M),
    op("choose", lambda m: lambda i, x, y, z: m.choose(i, [x, y, z], mode="clip"), fixed("int32", -1, 4, (3, 4)), M,
       M, M),
    op("piecewise", lambda m: lambda x: m.piecewise(x, [x < 0, x > 1], [lambda v: v * 2, lambda v: v + 1, 3]), M),
    op("take", lambda m: lambda x, i: m.take(x, i, axis=0), M, INDEX, dtypes=ANY),
    op("take flat", lambda m: lambda x, i: m.take(x, i), M, INDEX),
    op("take wrap", lambda m: lambda x, i: m.take(x, i * 7, axis=1, mode="wrap"), M, INDEX),
    op("take_along_axis", lambda m: lambda x, i: m.take_along_axis(x, i, 1), M, fixed("int32", -4, 3, (3, 6))),
    op("take_along_axis broadcast", lambda m: lambda x, i: m.take_along_axis(x, i, 0), M, fixed("int32", -3, 2, (5, 1)),
       dtypes=("float32", "float64")) if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else
    op("take_along_axis 0", lambda m: lambda x, i: m.take_along_axis(x, i, 0), M, fixed("int32", -3, 2, (5, 4))),
    Op("put_along_axis", lambda x, i, v: jnp.put_along_axis(x, i, v, 1, inplace=False),
       (M, exactly([[0, 1], [3, -2], [2, 0]], "int32"), number(shape=(3, 2))), F,
       lambda x, i, v: _in_place(np.put_along_axis, x, i, v, 1)),
    Op("put", lambda x, v: jnp.put(x, np.array([0, -1, 5]), v, inplace=False), (M, number(shape=(2,))), F,
       lambda x, v: _in_place(np.put, x, [0, -1, 5], v)),
    Op("place", lambda x, c, v: jnp.place(x, c, v, inplace=False), (M, fixed("bool", shape=(3, 4)),
                                                                    number(shape=(2,))), F,
       lambda x, c, v: _in_place(np.place, x, c, v)),
    Op("fill_diagonal", lambda x, v: jnp.fill_diagonal(x, v, inplace=False), (M, number(shape=())), F,
       lambda x, v: _in_place(np.fill_diagonal, x, v)),
    Op("compress", lambda c, x: jnp.compress(c, x, 1, size=3, fill_value=9),
       (exactly([True, False, True, False], "bool"), M), F,
       lambda c, x: np.concatenate([np.compress(c, x, 1), np.full((3, 1), 9.0)], 1)),
    op("apply_along_axis", lambda m: lambda x: m.apply_along_axis(lambda v: v * v.sum(), 1, x), A, tol=8),
    op("apply_over_axes", lambda m: lambda x: m.apply_over_axes(m.sum, x, (0, 2)), A, tol=8),
]

SORT = [
    op("sort", lambda m: m.sort, A, dtypes=ANY), op("sort axis", lambda m: lambda x: m.sort(x, axis=1), A),
    op("sort None", lambda m: lambda x: m.sort(x, axis=None), M, dtypes=("float32", "complex64", "float64")),
    op("argsort", lambda m: lambda x: m.argsort(x, axis=0, kind="stable"), A, dtypes=("int32", "float32")),
    op("lexsort", lambda m: lambda x, y: m.lexsort((x, y)), number(0, 2, (9,)), number(0, 2, (9,)), dtypes=("int32",)),
    op("partition", lambda m: lambda x: m.partition(x, 1)[..., 1], M),
    op("sort_complex", lambda m: m.sort_complex, M, dtypes=("float32",)),
    Op("sort descending", lambda x: jnp.sort(x, descending=True), (M,), F, lambda x: -np.sort(-x)),
    Op("top_k", lambda x: jnp.top_k(x, 2)[0], (M,), F, lambda x: -np.sort(-x)[..., :2]),
    Op("top_k smallest", lambda x: jnp.top_k(x, 2, mode="smallest", axis=0)[0], (M,), F, lambda x: np.sort(x, 0)[:2]),
]

SORTED = exactly([-2.0, -1.0, -1.0, 0.0, 0.5, 2.0])
SEARCH = [
    op(f"searchsorted {side} {method}", lambda m, side=side, method=method: lambda a, v: m.searchsorted(
        a, v, side=side, **({"method": method} if m is jnp else {})), SORTED, M, dtypes=("float32", "int32"))
    for side in ("left", "right") for method in ("scan", "scan_unrolled", "sort", "compare_all")
] + [
    op("digitize", lambda m: lambda v, b: [m.digitize(v, b), m.digitize(v, b[::-1], right=True)], M, SORTED,
       dtypes=("float32",)),
    op("interp", lambda m: lambda x, p, f: m.interp(x, p, f), M, exactly([-1.0, 0.0, 1.5]), number(shape=(3,)), tol=8),
    op("interp ends", lambda m: lambda x, p, f: m.interp(x, p, f, left=-7, right=7), M, exactly([-1.0, 0.0, 1.5]),
       number(shape=(3,)), tol=8),
    op("interp period", lambda m: lambda x, p, f: m.interp(x, p, f, period=3), M, exactly([-1.0, 0.2, 0.9]),
       number(shape=(3,)), tol=64, grad=(0, 2)),
    Op("bincount", lambda x, w: jnp.bincount(x, w, length=6), (fixed("int32", 0, 5, (9,)), number(shape=(9,))), F,
       lambda x, w: np.bincount(x, w, 6)),
    op("histogram", lambda m: lambda x, w: m.histogram(x, 4, (-1, 2), weights=w)[0], M, M, tol=8, grad=(1,)),
    op("histogram density", lambda m: lambda x: list(m.histogram(x, np.array([-1.0, 0.0, 1.0]), density=True)), M,
       tol=8,
       grad=(), dtypes=("float32",)),
    op("histogram2d", lambda m: lambda x, y: list(m.histogram2d(x, y, (2, 3), ((-1, 1), (-2, 2)))), V, V, tol=8,
       grad=(),
       dtypes=("float32",)),
    op("histogramdd", lambda m: lambda x, w: list(m.histogramdd(x, [2, 3, 2], weights=w, density=True)[1]),
       number(shape=(6, 3)), real(0.5, 1.0, (6,)), tol=8, grad=(), dtypes=("float32",)),
    op("isin", lambda m: lambda x, y: [m.isin(x, y), m.isin(x, y, invert=True)], number(0, 5, (3, 4)), number(0, 5,
                                                                                                              (6,)),
       dtypes=("int32",)),
    op("unravel_index", lambda m: lambda i: list(m.unravel_index(i, (3, 4))), fixed("int32", 0, 11, (5,)),
       dtypes=("int32",)),
    op("ravel_multi_index", lambda m: lambda i, j: m.ravel_multi_index((i, j), (3, 4), mode=("wrap", "clip"),
                                                                       order="F"),
       fixed("int32", -5, 11, (5,)), fixed("int32", -5, 11, (5,)), dtypes=("int32",)),
    op("packbits", lambda m: lambda x: [m.packbits(x), m.packbits(x, axis=1, bitorder="little")], number(shape=(3, 11)),
       dtypes=("bool",)),
    op("unpackbits", lambda m: lambda x: [m.unpackbits(x), m.unpackbits(x, axis=1, count=-3, bitorder="little")],
       number(0, 255, (3, 2)), dtypes=("uint8",)),
]


def _in_place(change: Callable[..., Any], x: np.ndarray, *args: Any) -> np.ndarray:
    out = np.array(x)
    change(out, *args)
    return out
