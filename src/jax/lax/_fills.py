"""Arrays of zeros as primitives of their own, by the names that libraries bind. Programs made here use a broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np

from jax._language import rules
from jax._language.avals import ShapedArray
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering.rules import register_lowering
from jax._lowering.types import full

# Zeros of the type of the operand.
zeros_like_p = Primitive("zeros_like")
zeros_like_p.def_abstract_eval(lambda x: x)
register_lowering(zeros_like_p, lambda ctx, x: [full(0, ctx.avals_out[0].shape, ctx.avals_out[0].dtype)])


def _zeros_jvp(primals: Any, tangents: Any) -> Any:
    out = zeros_like_p.bind(primals[0])
    return out, Zero.from_primal_value(out)


rules.primitive_jvps[zeros_like_p] = _zeros_jvp
rules.primitive_transposes[zeros_like_p] = lambda ct, x: [Zero(x.aval.to_cotangent_aval())]
rules.primitive_batchers[zeros_like_p] = lambda args, dims: (zeros_like_p.bind(args[0]), dims[0])

# An array whose values do not matter; they are zeros.
empty2_p = Primitive("empty")


def _empty_abstract(*, shape: Any, dtype: Any, out_sharding: Any = None) -> Any:
    if out_sharding is not None:
        raise NotImplementedError("empty2_p with out_sharding: use jax.lax.empty(shape, dtype, out_sharding=...)")
    return ShapedArray(tuple(shape), np.dtype(dtype))


empty2_p.def_abstract_eval(_empty_abstract)
register_lowering(empty2_p, lambda ctx, **params: [full(0, ctx.avals_out[0].shape, ctx.avals_out[0].dtype)])

__all__ = ["empty2_p", "zeros_like_p"]
