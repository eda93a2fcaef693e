"""``check``: conditions that must hold, as an operation of programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._base import source as source_info
from jax._base._jaxlib import Array
from jax._base.source import api_boundary
from jax._ground.structural import broadcast_to_axis, move_axis
from jax._language import rules
from jax._language.avals import typeof
from jax._language.effects import (
    Effect,
    control_flow_allowed_effects,
    custom_derivatives_allowed_effects,
    lowerable_effects,
    remat_allowed_effects,
)
from jax._language.primitive import Primitive
from jax._lowering.rules import register_lowering
from jax._transforms.batch import AxisData
from jax.experimental.checkify._errors import Error, FailedCheckError, Site, Sites, check_template
from jax.lax._select import select_n
from jax.random import key_data
from jax.tree_util import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten


class CheckEffect(Effect):
    """The program can fail."""

    def __repr__(self) -> str:
        return "Check"


check_effect = CheckEffect()
for _allowed in (lowerable_effects, control_flow_allowed_effects, remat_allowed_effects,
                 custom_derivatives_allowed_effects):
    _allowed.add_type(CheckEffect)


@api_boundary
def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Fails unless ``pred`` holds.

    On concrete values the error is raised at once. Inside programs (``jit``, ``scan``, ...) it becomes a value:
    :func:`checkify` turns the function into one that returns it. A program that contains checks and is compiled without
    :func:`checkify` is refused.

    Args:
      pred: a boolean scalar.
      msg: what to report, a template of ``str.format``.
      fmt_args, fmt_kwargs: trees of arrays and numbers that the template shows; their values at run time are reported.
      debug: only check under :func:`checkify`, and do nothing elsewhere, as :func:`debug_check`.

    Raises:
      JaxRuntimeError: ``pred`` is known and false.
      TypeError: ``pred`` is not a boolean scalar, or a value for the message is not an array.
      IndexError: the message shows a value that was not given.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental import checkify
    >>> def f(x):
    ...     checkify.check(x > 0, "x must be positive, got {}", x)
    ...     return jnp.log(x)
    >>> error, _ = jax.jit(checkify.checkify(f))(-1.)
    >>> error.get()
    'x must be positive, got -1.0 (`check` failed)'
    """
    pred = _predicate(pred)
    check_template(msg, fmt_args, fmt_kwargs)
    values, tree = _values(fmt_args, fmt_kwargs)
    site = Site(FailedCheckError, msg, tree, [typeof(x) for x in values], source_info.current(), bool(debug))
    code = select_n(pred, np.int32(1), np.int32(0))
    check_p.bind(code, *values, sites=(site,))


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """:func:`check` for debugging: it counts under :func:`checkify` and costs nothing elsewhere.

    >>> from jax.experimental import checkify
    >>> checkify.debug_check(False, "not checked here")
    """
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


@api_boundary
def check_error(error: Error) -> None:
    """Fails if ``error`` is one: raises it, or inside a program makes it an error of an enclosing :func:`checkify`.

    Raises:
      JaxRuntimeError: the error is known, and is one.
      TypeError: ``error`` is not an :class:`Error`.

    >>> from jax.experimental import checkify
    >>> error, out = checkify.checkify(lambda x: x + 1)(1)
    >>> checkify.check_error(error)
    """
    if not isinstance(error, Error):
        raise TypeError(f"checkify.check_error takes an Error, as functions made by checkify.checkify return first; got "
                        f"{error!r} of type {type(error).__name__}")
    if error.code is not None:
        check_p.bind(error.code, *error.payload, sites=error.sites)


def _predicate(pred: Any) -> Any:
    try:
        aval = typeof(pred)
    except TypeError as error:
        raise TypeError(f"checkify.check: pred must be a boolean scalar: {error}") from None
    if aval.shape != () or aval.dtype != np.bool_:
        hint = "Reduce it with jnp.all or jnp.any." if aval.shape else "Compare it, for example x != 0."
        raise TypeError(f"checkify.check: pred must be a boolean scalar, got {aval.str_short()}. {hint}")
    return pred if isinstance(pred, Array) else np.bool_(pred)


def _values(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
    leaves, tree = tree_flatten((args, kwargs))
    out = []
    for i, x in enumerate(leaves):
        try:
            aval = typeof(x)
        except TypeError:
            path = tree_flatten_with_path(tree_unflatten(tree, list(range(len(leaves)))))[0][i][0]
            where = ("fmt_args" if path[0].idx == 0 else "fmt_kwargs") + keystr(path[1:])
            raise TypeError(f"checkify.check: the values that a message shows must be trees of arrays and numbers, but "
                            f"{where} is {x!r} of type {type(x).__name__}. Format what is known while tracing into "
                            "the message itself.") from None
        out.append(key_data(x) if isinstance(aval.dtype, dtypes.ExtendedDType) else x)
    return out, tree


# --- the primitive --------------------------------------------------------------------------------------------------

# Operands: the code of an Error and its payload, with any number of leading axes that the code has too.
check_p = Primitive("check", multiple_results=True)


def without(code: Any, dropped: Sequence[bool]) -> Any:
    """``code`` with zero in place of the numbers of some sites."""
    if True not in dropped:
        return code
    kept = np.asarray([0, *(0 if drop else i for i, drop in enumerate(dropped, 1))], np.int32)
    shape = typeof(code).shape
    return select_n(code, *[np.broadcast_to(k, shape) for k in kept])


def _impl(code: Any, *payload: Any, sites: Sites) -> list[Any]:
    if not all(s.debug for s in sites):
        code = without(code, [s.debug for s in sites])
        Error(code, payload, sites).throw()
    return []


def _lower(ctx: Any, code: Any, *payload: Any, sites: Sites) -> Sequence[Any]:
    counting = [s for s in sites if not s.debug]
    if counting:
        listed = "\n".join(f"  {s.text!r} at {s.where}" for s in counting[:5])
        raise ValueError("checkify: this program contains checks (checkify.check, checkify.check_error), and it is compiled "
                         f"without checkify.checkify, so that nothing could report their failure:\n{listed}\n"
                         "Apply checkify outside: error, out = jax.jit(checkify.checkify(f))(...); error.throw(). Checks "
                         "that may be left out elsewhere are made with checkify.debug_check.")
    return []


def _jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    check_p.bind(*primals, **params)
    return [], []


def _batch(axis: AxisData, args: Any, dims: Any, **params: Any) -> Any:
    moved = [broadcast_to_axis(x, axis.size, 0) if d is None else move_axis(x, d, 0)
             for x, d in zip(args, dims, strict=True)]
    check_p.bind(*moved, **params)
    return [], []


check_p.def_impl(_impl)
check_p.def_effectful_abstract_eval(lambda *avals, **params: ([], {check_effect}))
register_lowering(check_p, _lower, cacheable=False)
rules.primitive_jvps[check_p] = _jvp
rules.fancy_primitive_batchers[check_p] = _batch


# --- under vmap -----------------------------------------------------------------------------------------------------

def replay(taking_part: Any, error: Sequence[Any], sites: Sites) -> None:
    """Fails with an error per example, of those examples that take part."""
    code, *payload = error
    check_p.bind(select_n(taking_part, np.zeros(typeof(code).shape, np.int32), code), *payload, sites=sites)
