"""Records of the operations of jax.lax that move, cut and join arrays."""

from __future__ import annotations

import numpy as np

from jax import lax
from tests.ops import Op, exactly, fixed, number

ALL = ("float32", "float64", "int8", "bool", "complex64")
FEW = ("float64", "int32")

SHAPE = [
    Op("reshape", lambda x: lax.reshape(x, (3, 4)), (number(shape=(2, 6)),), ALL, lambda x: x.reshape(3, 4)),
    Op("reshape-to-scalar", lambda x: lax.reshape(x, ()), (number(shape=(1, 1)),), FEW, lambda x: x.reshape(())),
    Op("reshape-order", lambda x: lax.reshape(x, (4, 6), (2, 0, 1)), (number(shape=(2, 3, 4)),), FEW,
       lambda x: x.transpose(2, 0, 1).reshape(4, 6)),
    Op("reshape-empty", lambda x: lax.reshape(x, (3, 0)), (number(shape=(0, 2)),), FEW, lambda x: x.reshape(3, 0)),
    Op("squeeze", lambda x: lax.squeeze(x, (-1, 0)), (number(shape=(1, 3, 2, 1)),), ALL, lambda x: x[0, ..., 0]),
    Op("expand_dims", lambda x: lax.expand_dims(x, (0, -1, 2)), (number(),), ALL, lambda x: x[None, :, None, :, None]),
    Op("broadcast", lambda x: lax.broadcast(x, (2, 1)), (number(),), ALL, lambda x: np.broadcast_to(x, (2, 1, 2, 3))),
    Op("broadcast_in_dim", lambda x: lax.broadcast_in_dim(x, (2, 4, 3, 5), (0, 2)), (number(shape=(1, 3)),), ALL,
       lambda x: np.broadcast_to(x.reshape(1, 1, 3, 1), (2, 4, 3, 5))),
    Op("broadcast_in_dim-scalar", lambda x: lax.broadcast_in_dim(x, (2, 3), ()), (number(shape=()),), FEW,
       lambda x: np.full((2, 3), x)),
    Op("broadcast_to_rank", lambda x: lax.broadcast_to_rank(x, 4), (number(),), FEW, lambda x: x[None, None]),
    Op("broadcast_like", lax.broadcast_like, (number(shape=(3,)), number()), FEW,
       lambda x, y: np.broadcast_to(x, y.shape)),
    Op("transpose", lambda x: lax.transpose(x, (2, 0, 1)), (number(shape=(2, 3, 4)),), ALL,
       lambda x: x.transpose(2, 0, 1)),
    Op("rev", lambda x: lax.rev(x, (0, -1)), (number(shape=(2, 3, 4)),), ALL, lambda x: x[::-1, :, ::-1]),
    Op("collapse", lambda x: lax.collapse(x, 1), (number(shape=(2, 3, 4)),), FEW, lambda x: x.reshape(2, 12)),
    Op("copy", lax.copy_p.bind, (number(),), ALL, lambda x: x),
    Op("optimization_barrier", lambda x, y: lax.optimization_barrier({"a": x, "b": (y,)}), (number(), number(shape=())),
       ALL, lambda x, y: (x, y)),
]

JOIN = [
    Op("concatenate", lambda x, y, z: lax.concatenate([x, y, z], 1),
       (number(shape=(2, 3)), number(shape=(2, 0)), number(shape=(2, 2))), ALL,
       lambda x, y, z: np.concatenate([x, y, z], 1)),
    Op("concatenate-first", lambda x, y: lax.concatenate([x, y, x], -2), (number(), number(shape=(1, 3))), FEW,
       lambda x, y: np.concatenate([x, y, x], 0)),
    Op("split", lambda x: lax.split(x, (1, 0, 3), axis=-1), (number(shape=(2, 4)),), ALL,
       lambda x: [x[:, :1], x[:, 1:1], x[:, 1:]]),
    Op("split-some-used", lambda x: lax.split(x, (1, 2, 1), axis=0)[1], (number(shape=(4, 2)),), FEW, lambda x: x[1:3]),
    Op("stack", lambda x, y: lax.stack([x, y, x], 1), (number(), number()), ALL, lambda x, y: np.stack([x, y, x], 1)),
    Op("stack-scalars", lambda x, y: lax.stack([x, y], -1), (number(shape=()), number(shape=())), FEW,
       lambda x, y: np.stack([x, y])),
    Op("unstack", lambda x: lax.unstack(x, -1), (number(),), ALL, lambda x: [x[:, i] for i in range(3)]),
    Op("tile", lambda x: lax.tile(x, (2, 1, 3)), (number(shape=(2, 3, 2)),), ALL, lambda x: np.tile(x, (2, 1, 3))),
    Op("tile-none", lambda x: lax.tile(x, (1, 1)), (number(),), FEW, lambda x: x),
    Op("tile-empty", lambda x: lax.tile(x, (0, 2)), (number(),), FEW, lambda x: np.tile(x, (0, 2))),
]


def padded(config):
    """`lax.pad` in NumPy: dilate into a filled array, then cut."""
    def pad(x, value):
        for axis, (low, high, interior) in enumerate(config):
            n = x.shape[axis]
            size = max(0, n + max(0, n - 1) * interior)
            lead, trail = max(0, low), max(0, high)
            out = np.full((*x.shape[:axis], size + lead + trail, *x.shape[axis + 1:]), value, x.dtype)
            where = [slice(None)] * x.ndim
            where[axis] = slice(lead, lead + size, interior + 1)
            out[tuple(where)] = x
            where[axis] = slice(max(0, -low), out.shape[axis] - max(0, -high))
            x = out[tuple(where)]
        return x
    return pad


def _pad(name, config, shape=(3, 4), dtypes=FEW):
    return Op(f"pad-{name}", lambda x, v: lax.pad(x, v, config), (number(shape=shape), number(shape=())), dtypes,
              padded(config))


SLICE = [
    Op("slice", lambda x: lax.slice(x, (1, 0, 2), (3, 1, 2)), (number(shape=(3, 2, 4)),), ALL,
       lambda x: x[1:3, 0:1, 2:2]),
    Op("slice-strided", lambda x: lax.slice(x, (0, 1), (5, 7), (2, 3)), (number(shape=(5, 8)),), ALL,
       lambda x: x[0:5:2, 1:7:3]),
    Op("slice-scalar", lambda x: lax.slice(x, (), ()), (number(shape=()),), FEW, lambda x: x),
    Op("slice_in_dim", lambda x: lax.slice_in_dim(x, -3, None, 2, axis=-1), (number(shape=(2, 5)),), FEW,
       lambda x: x[:, -3::2]),
    Op("index_in_dim", lambda x: lax.index_in_dim(x, -1, 1), (number(),), FEW, lambda x: x[:, -1:]),
    Op("index_in_dim-drop", lambda x: lax.index_in_dim(x, 1, 0, keepdims=False), (number(),), FEW, lambda x: x[1]),
    _pad("around", [(1, 2, 0), (0, 3, 0)], dtypes=ALL),
    _pad("between", [(1, 0, 2), (0, 0, 1)]),
    _pad("cut", [(-1, 1, 0), (2, -3, 0)]),
    _pad("cut-between", [(-1, -2, 1), (3, -4, 2)]),
    _pad("cut-everything", [(-3, 0, 0), (0, 0, 0)]),
    _pad("empty", [(1, 2, 3), (0, 0, 1)], (0, 2)),
    _pad("scalar", [], ()),
]


def at(x, starts, sizes):
    """The slice of given sizes, moved to be inside."""
    starts = [min(max(int(s) + n * (s < 0), 0), n - size) for s, n, size in zip(starts, x.shape, sizes, strict=True)]
    return tuple(slice(s, s + size) for s, size in zip(starts, sizes, strict=True))


def _updated(x, update, *starts):
    out = np.array(x)
    out[at(x, starts, update.shape)] = update
    return out


index = fixed("int32", -6, 6, ())

DYNAMIC = [
    Op("dynamic_slice", lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)), (number(shape=(4, 5)), index, index), ALL,
       lambda x, i, j: x[at(x, (i, j), (2, 3))]),
    Op("dynamic_slice-array", lambda x, i: lax.dynamic_slice(x, i, (2, 3)),
       (number(shape=(4, 5)), fixed("int8", -6, 6, (2,))), FEW, lambda x, i: x[at(x, i, (2, 3))]),
    Op("dynamic_slice-unsigned", lambda x, i: lax.dynamic_slice(x, (i, 1), (2, 5)),
       (number(shape=(4, 5)), fixed("uint8", 0, 6, ())), FEW, lambda x, i: x[at(x, (i, 0), (2, 5))]),
    Op("dynamic_slice-whole", lambda x, i: lax.dynamic_slice(x, (i, 1), (2, 3)), (number(), index), FEW,
       lambda x, i: x),
    Op("dynamic_slice-empty", lambda x, i: lax.dynamic_slice(x, (i, i), (0, 2)), (number(), index), FEW,
       lambda x, i: x[:0, :2]),
    Op("dynamic_slice_in_dim", lambda x, i: lax.dynamic_slice_in_dim(x, i, 2, -1), (number(), index), FEW,
       lambda x, i: x[at(x, (0, i), (2, 2))]),
    Op("dynamic_index_in_dim", lambda x, i: lax.dynamic_index_in_dim(x, i, 1, keepdims=False), (number(), index), FEW,
       lambda x, i: x[at(x, (0, i), (2, 1))][:, 0]),
    Op("dynamic_update_slice", lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)),
       (number(shape=(4, 5)), number(), index, index), ALL, _updated),
    Op("dynamic_update_slice-whole", lambda x, u, i: lax.dynamic_update_slice(x, u, (i, i)),
       (number(), number(), index), FEW, lambda x, u, i: u),
    Op("dynamic_update_slice_in_dim", lambda x, u, i: lax.dynamic_update_slice_in_dim(x, u, i, -1),
       (number(), number(shape=(2, 2)), index), FEW, lambda x, u, i: _updated(x, u, 0, i)),
    Op("dynamic_update_index_in_dim", lambda x, u, i: lax.dynamic_update_index_in_dim(x, u, i, 1),
       (number(), number(shape=(2,)), index), FEW, lambda x, u, i: _updated(x, u[:, None], 0, i)),
    Op("index_take", lambda x, i, j: lax.index_take(x, (i, j), (0, -1)),
       (number(shape=(3, 2, 4)), exactly([0, -1, 5], "int32"), exactly([1, 3, -9], "int32")), FEW,
       lambda x, i, j: x[i % 3, :, j % 4]),
]
