"""``stop_gradient``."""

from __future__ import annotations

from typing import Any

from jax._ground.families import zero_derivative
from jax._language import rules
from jax._language.avals import typeof
from jax._language.primitive import Primitive
from jax._lowering.rules import extended_by_batching, fusible, register_lowering
from jax.dtypes import float0
from jax.tree_util import tree_map

stop_gradient_p = Primitive("stop_gradient")
stop_gradient_p.def_abstract_eval(lambda x: x)
stop_gradient_p.def_impl(lambda x: x)
register_lowering(stop_gradient_p, lambda ctx, x: [x])
fusible[stop_gradient_p] = 0
extended_by_batching.add(stop_gradient_p)
zero_derivative(stop_gradient_p)
rules.primitive_batchers[stop_gradient_p] = lambda args, dims: (stop_gradient_p.bind(args[0]), dims[0])


def stop_gradient(x: Any) -> Any:
    """A tree of arrays whose derivative with respect to anything is zero; the values stay the same.

    >>> import jax
    >>> float(jax.grad(lambda x: x * jax.lax.stop_gradient(x))(3.0))
    3.0
    """
    def stop(leaf: Any) -> Any:
        if typeof(leaf).to_tangent_aval().dtype == float0:
            return leaf
        return stop_gradient_p.bind(leaf)
    return tree_map(stop, x)
