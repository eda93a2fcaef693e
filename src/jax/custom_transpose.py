"""Linear functions with transposes of their own, as decorated functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jax._api.common import check_callable
from jax._api.linear_calls import call_linear
from jax._base.source import api_boundary, describe_function
from jax._language.avals import typeof
from jax.tree_util import tree_flatten


class custom_transpose:
    """A function that is linear in its last argument, and whose transpose is given by a rule.

    Args:
      fun: ``(res_arg, lin_arg) -> out``, linear in ``lin_arg``.

    It is called as ``f(out_types, res_arg, lin_arg)``; ``out_types`` is a tree of what has the output's shapes and
    dtypes.

    >>> import jax, jax.numpy as jnp
    >>> @jax.custom_transpose.custom_transpose
    ... def divide(r, x):
    ...     return x / r
    >>> @divide.def_transpose
    ... def divide_transposed(r, ct):
    ...     return ct / r
    >>> x = jnp.ones(2)
    >>> jax.linear_transpose(lambda x: divide(x, 2., x), x)(x)[0].tolist()
    [0.5, 0.5]
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        check_callable(fun, "custom_transpose")
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.transpose: Callable[..., Any] | None = None

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def def_transpose(self, transpose: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the rule ``(res_arg, out_cotangent) -> cotangent of lin_arg``; usable as a decorator."""
        check_callable(transpose, "def_transpose")
        self.transpose = transpose
        return transpose

    @api_boundary
    def __call__(self, out_types: Any, res_arg: Any, lin_arg: Any) -> Any:
        if self.transpose is None:
            raise AttributeError(f"the custom_transpose function {describe_function(self.fun)} has no rule yet; define it "
                                 "with def_transpose")
        out = call_linear(self.fun, self.transpose, res_arg, lin_arg)
        self._check(out_types, out)
        return out

    def _check(self, out_types: Any, out: Any) -> None:
        wanted, tree = tree_flatten(out_types)
        found, got = tree_flatten(out)
        if tree != got:
            raise TypeError(f"{describe_function(self.fun)} returned an output with the structure {got}, where out_types "
                            f"says {tree}")
        for t, x in zip(wanted, found, strict=True):
            t = t if hasattr(t, "shape") else typeof(t)
            aval = typeof(x)
            if tuple(t.shape) != tuple(aval.shape):
                raise TypeError(f"{describe_function(self.fun)} returned an array of type {aval.str_short()}, where "
                                f"out_types says shape {tuple(t.shape)}")


__all__ = ["custom_transpose"]
