"""Control flow in kernels, written as decorated functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jax import dtypes, lax
from jax._api.common import check_callable
from jax._base.source import api_boundary
from jax._language.avals import typeof
from jax._language.trace import Tracer
from jax.tree_util import tree_leaves


def when(condition: Any, /) -> Callable[[Callable[[], Any]], None]:
    """Runs the function below if ``condition`` holds: ``@pl.when(condition)``.

    Args:
      condition: a boolean scalar; a number holds if it is not zero. What is known while tracing decides there and then.

    The function takes and returns nothing; it reads and writes references. Its name is bound to None afterwards.

    Raises:
      TypeError: the condition is not a scalar, or the function returns something.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental import pallas as pl
    >>> def kernel(out):
    ...     out[...] = jnp.zeros_like(out)
    ...     @pl.when(pl.program_id(0) == 1)
    ...     def _():
    ...         out[...] = jnp.ones_like(out)
    >>> pl.pallas_call(kernel, jax.ShapeDtypeStruct((2, 2), jnp.float32), grid=2,
    ...                out_specs=pl.BlockSpec((None, 2), lambda i: (i, 0)), interpret=True)().tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    @api_boundary
    def run(function: Callable[[], Any]) -> None:
        check_callable(function, "pl.when")

        def body() -> None:
            _nothing("pl.when", function())
        aval = typeof(condition)
        if aval.shape == () and not isinstance(condition, Tracer):
            if condition:
                body()
        else:
            lax.cond(condition, body, lambda: None)
    return run


def _nothing(api: str, returned: Any) -> None:
    if tree_leaves(returned):
        raise TypeError(f"the function under {api} must return nothing, and it returned {returned!r}; write to a reference")


def loop(lower: Any, upper: Any, *, init_carry: Any = None, step: Any = 1,
         unroll: int | bool | None = None) -> Callable[[Callable[..., Any]], Any]:
    """Runs the function below for ``lower``, ``lower + step``, ... as far as before ``upper``: ``@pl.loop(lower, upper)``.

    Args:
      lower, upper: integer scalars. With a negative ``step`` the loop runs downwards.
      init_carry: a tree of arrays. The function is then called as ``function(i, carry)`` and returns the next carry;
        without it as ``function(i)``, and returns nothing.
      step: an integer scalar that is not zero.
      unroll: how many steps become one of the compiled loop (``True``: all); the bounds must then be known while tracing.

    Returns:
      A decorator, which leaves the last carry under the function's name.

    Raises:
      TypeError: bounds or step are not integer scalars, or the function returns what it may not.
      ValueError: the step is zero.

    >>> from jax.experimental import pallas as pl
    >>> @pl.loop(0, 10, step=3, init_carry=0)
    ... def total(i, carry):
    ...     return carry + i
    >>> int(total)
    18
    """
    for name, x in (("lower", lower), ("upper", upper), ("step", step)):
        aval = typeof(x)
        if aval.shape != () or not dtypes.issubdtype(aval.dtype, np.integer):
            raise TypeError(f"pl.loop: {name} must be an integer scalar, got {aval.str_short()}")
    known = all(not isinstance(x, Tracer) for x in (lower, upper, step))
    if not isinstance(step, Tracer) and int(step) == 0:
        raise ValueError("pl.loop: the step must not be zero")
    if unroll is not None and not known and unroll is not False:
        raise ValueError("pl.loop: unroll needs bounds and a step that are known while tracing")
    steps = len(range(int(lower), int(upper), int(step))) if known else _steps(lower, upper, step)

    @api_boundary
    def run(function: Callable[..., Any]) -> Any:
        check_callable(function, "pl.loop")

        def body(k: Any, carry: Any) -> Any:
            i = lower + k * step
            if init_carry is not None:
                return function(i, carry)
            return _nothing("pl.loop", function(i))
        return lax.fori_loop(0, steps, body, init_carry, unroll=unroll)
    return run


def _steps(lower: Any, upper: Any, step: Any) -> Any:
    """How many steps there are from ``lower`` to before ``upper``: a quotient rounded up, towards either side."""
    distance = upper - lower
    towards = lax.sign(step) if isinstance(step, Tracer) else (1 if step > 0 else -1)
    return lax.max(lax.convert_element_type((distance + step - towards) // step, np.int32), np.int32(0))


__all__ = ["loop", "when"]
