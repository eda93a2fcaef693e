"""Records of gathers and scatters: several dimension numbers, in every mode."""

from __future__ import annotations

import functools

import numpy as np

from jax import lax
from jax.lax import GatherDimensionNumbers as G
from jax.lax import ScatterDimensionNumbers as S
from tests import gather_model
from tests.ops import Op, exactly, fixed, number

ALL = ("float32", "float64", "int8", "bool", "complex64")
FEW = ("float64", "int32")

# name: (shape of the operand, sampler of the indices, dimension numbers, slice sizes)
GATHERS = {
    "rows": ((4, 3), fixed("int32", -2, 6, (5, 1)), G((1,), (0,), (0,)), (1, 3)),
    "windows": ((4, 5), fixed("int32", -2, 6, (2, 3, 2)), G((0, 2), (), (1, 0)), (2, 3)),
    "elements": ((4, 5), fixed("uint8", 0, 6, (6, 2)), G((), (0, 1), (0, 1)), (1, 1)),
    "middle": ((3, 4, 2), fixed("int8", -2, 5, (3, 1)), G((0, 2), (1,), (1,)), (3, 1, 2)),
    "batched": ((3, 4, 2), fixed("int32", -2, 5, (2, 3, 1)), G((2,), (1,), (1,), (0,), (1,)), (1, 1, 2)),
    "batched-twice": ((2, 4, 3), fixed("int32", -2, 5, (3, 2, 1)), G((), (1,), (1,), (0, 2), (1, 0)), (1, 1, 1)),
    "nothing-indexed": ((2, 3), fixed("int32", 0, 1, (4, 0)), G((1, 2), (), ()), (2, 3)),
    "empty": ((4, 3), fixed("int32", 0, 1, (0, 1)), G((1,), (0,), (0,)), (1, 3)),
}


def _gather(key, mode, dtypes=FEW, **options):
    shape, indices, numbers, sizes = GATHERS[key]
    fill = options.get("fill_value")
    fn = functools.partial(lax.gather, dimension_numbers=numbers, slice_sizes=sizes, mode=mode, **options)
    return Op(f"gather-{key}-{mode}", fn, (number(shape=shape), indices), dtypes,
              lambda x, i: gather_model.gather(x, i, numbers, sizes, clip=mode == "clip", fill=fill), grad=(0,))


GATHER = [
    *[_gather(key, "clip", ALL if key == "rows" else FEW) for key in GATHERS],
    *[_gather(key, "fill", ALL if key == "rows" else FEW, fill_value=1) for key in GATHERS],
    Op("gather-promise", lambda x, i: lax.gather(x, i, G((1,), (0,), (0,)), (1, 3), unique_indices=True,
                                                 indices_are_sorted=True),
       (number(shape=(4, 3)), exactly([[0], [2], [3]], "int32")), FEW, lambda x, i: x[i[:, 0]], grad=(0,)),
]

# name: (shape of the operand, sampler of the indices, shape of the updates, dimension numbers)
SCATTERS = {
    "rows": ((4, 3), fixed("int32", -2, 6, (5, 1)), (5, 3), S((1,), (0,), (0,))),
    "windows": ((4, 5), fixed("int32", -2, 5, (2, 2, 2)), (2, 2, 2, 3), S((0, 3), (), (1, 0))),
    "elements": ((3, 2), fixed("uint8", 0, 3, (6, 2)), (6,), S((), (0, 1), (0, 1))),
    "middle": ((3, 4, 2), fixed("int8", -2, 5, (3, 1)), (3, 3, 2), S((0, 2), (1,), (1,))),
    "batched": ((3, 4, 2), fixed("int32", -2, 5, (2, 3, 1)), (2, 3, 2), S((2,), (1,), (1,), (0,), (1,))),
    "nothing-indexed": ((2, 3), fixed("int32", 0, 1, (2, 0)), (2, 2, 3), S((1, 2), (), ())),
    "empty": ((4, 3), fixed("int32", 0, 1, (0, 1)), (0, 3), S((1,), (0,), (0,))),
}
UNIQUE = {
    "rows": ((4, 3), exactly([[3], [0], [9]], "int32"), (3, 3), S((1,), (0,), (0,))),
    "inside": ((4, 3), exactly([[3], [0], [2]], "int32"), (3, 3), S((1,), (0,), (0,))),
    "windows": ((4, 5), exactly([[2, 0], [0, 3], [-1, 0]], "int32"), (2, 3, 2), S((0, 2), (), (0, 1))),
}
COMBINE = {
    "scatter": lambda old, new: new, "scatter_add": lambda old, new: old + new,
    "scatter_sub": lambda old, new: old - new, "scatter_mul": lambda old, new: old * new,
    "scatter_min": np.minimum, "scatter_max": np.maximum,
}


def _scatter(name, key, mode, dtypes=FEW, grad=(0, 2), unique=False, order=2):
    shape, indices, update_shape, numbers = (UNIQUE if unique else SCATTERS)[key]
    fn = functools.partial(getattr(lax, name), dimension_numbers=numbers, mode=mode, unique_indices=unique)
    return Op(f"{name}-{key}-{mode}" + "-unique" * unique, fn,
              (number(shape=shape), indices, number(shape=update_shape)), dtypes,
              lambda x, i, u: gather_model.scatter(x, i, u, numbers, COMBINE[name], clip=mode == "clip"),
              grad=grad, order=order, vmap=unique or (mode == "clip" and key != "empty"))


SCATTER = [
    *[_scatter("scatter_add", key, mode) for key in SCATTERS for mode in ("clip", "drop")],
    *[_scatter("scatter", key, mode) for key in SCATTERS for mode in ("clip", "drop")],
    *[_scatter("scatter", key, "drop", ALL, unique=True) for key in UNIQUE],
    _scatter("scatter", "inside", "clip", unique=True),
    _scatter("scatter_sub", "rows", "clip"),
    _scatter("scatter_sub", "batched", "drop"),
    _scatter("scatter_mul", "rows", "clip", grad=(0,)),
    _scatter("scatter_mul", "windows", "drop", grad=(0,)),
    *[_scatter("scatter_mul", key, "drop", unique=True) for key in UNIQUE],
    *[_scatter(name, key, mode) for name in ("scatter_min", "scatter_max") for key, mode in
      (("rows", "clip"), ("windows", "drop"), ("batched", "clip"))],
    Op("scatter_apply", lambda x, i: lax.scatter_apply(x, i, lambda v: lax.mul(v, v), SCATTERS["rows"][3],
                                                       update_shape=(5, 3)),
       (number(shape=(4, 3)), fixed("int32", -2, 6, (5, 1))), FEW,
       lambda x, i: gather_model.scatter(x, i, np.zeros((5, 3)), SCATTERS["rows"][3], lambda old, new: old * old),
       grad=()),
]
