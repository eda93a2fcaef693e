"""Which library multiplies the matrices of a program on a CPU.

XLA has two: YNN, its default, and Eigen. YNN computes products of up to 2**23 multiplications in one thread, Eigen in all:
with two it takes two thirds of the time. A program's first run is faster too, since YNN prepares each product. Below a
million multiplications, for few rows or columns, and beyond 2**23 YNN is as fast or faster. The choice is one for the whole
program: it falls on Eigen if two thirds of the work are products of the former kind. Reductions stay with YNN.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from jax._base import config
from jax._language.jaxpr import Jaxpr, JaxprEqn, jaxprs_in_params
from jax._lowering.rules import structural

_FLAG = "xla_cpu_experimental_ynn_fusion_type"
_FEWEST, _MOST = 1 << 20, 1 << 23  # multiplications
_LEAST_SIDE = 64
_SHARE = 2 / 3


def options(jaxpr: Jaxpr) -> dict[str, Any]:
    """The options of XLA for the products in ``jaxpr``: none for its default."""
    if not config.cpu_choose_matmul_library.value or _FLAG in os.environ.get("XLA_FLAGS", ""):
        return {}
    suited, other = _work(jaxpr, {})
    return {_FLAG: "LIBRARY_FUSION_TYPE_REDUCE"} if suited and suited >= _SHARE * (suited + other) else {}


def _work(jaxpr: Jaxpr, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Multiplications in products that suit Eigen, and in others."""
    if id(jaxpr) in known:
        return known[id(jaxpr)]
    suited = other = 0
    for eqn in jaxpr.eqns:
        if eqn.primitive is structural["dot_general"]:
            count, fits = _product(eqn)
            suited, other = (suited + count, other) if fits else (suited, other + count)
        else:
            times = eqn.params["length"] if eqn.primitive is structural["scan"] else 1
            for inner in jaxprs_in_params(eqn.params):
                inside = _work(inner, known)
                suited, other = suited + times * inside[0], other + times * inside[1]
    known[id(jaxpr)] = suited, other
    return suited, other


def _product(eqn: JaxprEqn) -> tuple[int, bool]:
    """The multiplications of a product, and whether it suits Eigen."""
    (left, right), (batch, _) = eqn.params["dimension_numbers"]
    x, y = (v.aval for v in eqn.invars)
    if batch:  # of which XLA makes loops of its own, or others
        return 0, False
    inner = math.prod(x.shape[d] for d in left)
    rows = math.prod(n for d, n in enumerate(x.shape) if d not in left)
    columns = math.prod(n for d, n in enumerate(y.shape) if d not in right)
    count = rows * columns * inner
    fits = x.dtype == y.dtype == np.float32 and min(rows, columns) >= _LEAST_SIDE and _FEWEST <= count <= _MOST
    return count, fits
