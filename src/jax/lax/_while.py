"""``while_loop`` and ``fori_loop``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._base import config
from jax._base.caching import no_context, weak_cache
from jax._base.source import api_boundary
from jax._language import rules
from jax._language.avals import ShapedArray, host_constant, typeof
from jax._language.effects import RefEffect, ordered_effects, shifted
from jax._language.jaxpr import ClosedJaxpr, Literal
from jax._language.primitive import Primitive
from jax._language.refs import use
from jax._language.trace import Tracer
from jax._lowering import hlo
from jax._lowering.context import LoweringContext, TokenSet, no_tokens
from jax._lowering.emit import emit_with_tokens
from jax._lowering.rules import inner_bodies, register_lowering
from jax.errors import ConcretizationTypeError
from jax.lax._arithmetic import add
from jax.lax._comparison import lt
from jax.lax._control_common import (
    Array,
    Staged,
    as_array,
    check_callable,
    check_carry,
    describe,
    operands,
    parameter_name,
    pieces,
    promote_carry,
    same_type,
    stage,
    where,
    with_aval,
    without,
)
from jax.lax._eager_calls import eager_calls
from jax.lax._loop_references import discharge_while, refuse_references, refuse_writes
from jax.lax._scan import run_scan
from jax.tree_util import tree_flatten, tree_map, tree_structure, tree_unflatten, treedef_children, treedef_tuple

_A_BOOL = ShapedArray((), np.dtype(bool))


@api_boundary
def while_loop(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Any) -> Any:
    """Applies ``body_fun`` again and again for as long as ``cond_fun`` holds.

    In Python::

        val = init_val
        while cond_fun(val):
            val = body_fun(val)
        return val

    The number of steps is found while the compiled program runs, so the loop can be differentiated in forward mode
    (``jax.jvp``, ``jax.jacfwd``) but not in reverse mode; :func:`scan`, and :func:`fori_loop` between Python integers,
    can. Under ``jax.vmap`` the loop runs until no example is left; finished examples keep their values.

    Args:
      cond_fun: from the carry to a boolean scalar.
      body_fun: from the carry to the next one, of the same structure, shapes and dtypes. Weakly typed components of
        ``init_val`` (Python scalars) take the dtypes that ``body_fun`` returns.
      init_val: the first carry, a tree of arrays.

    Returns:
      The carry for which ``cond_fun`` is false first.

    Raises:
      TypeError: ``cond_fun`` does not return a boolean scalar, or ``body_fun`` changes the carry's structure or types.

    >>> from jax import lax
    >>> int(lax.while_loop(lambda n: n < 100, lambda n: 2 * n, 1))
    128
    """
    check_callable("while_loop", "cond_fun", cond_fun)
    check_callable("while_loop", "body_fun", body_fun)
    if config.disable_jit.value:
        try:
            return _in_python(cond_fun, body_fun, init_val)
        except ConcretizationTypeError:
            pass  # the values are not known: the loop is staged although jit is off
    return run_while("while_loop", cond_fun, body_fun, None, init_val)


def _in_python(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], val: Any) -> Any:
    while cond_fun(val):
        val = body_fun(val)
    return tree_map(lambda x: as_array(x, typeof(x)), val)


def run_while(api: str, cond_fun: Callable[..., Any], body_fun: Callable[..., Any], adapt: Any, init: Any,
              hidden: int = 0) -> Any:
    """``while_loop`` with ``adapt(body_fun)``; the first ``hidden`` of the carry's components are not the caller's."""
    leaves, tree = tree_flatten(init)
    leaves, old_avals = operands(api, "init_val", tree, leaves)
    if use.begun:
        refuse_references(api, "init_val", old_avals, "Close over the reference instead.")
    body, avals = _stage_body(api, body_fun, adapt, tree, old_avals, hidden)
    cond = stage(api, cond_fun, treedef_tuple((tree,)), avals)
    _check_predicate(cond_fun, cond)
    if use.begun:
        refuse_writes(api, cond_fun, cond.jaxpr)
    if avals is not old_avals:
        leaves = [with_aval(x, a, b) for x, a, b in zip(leaves, old_avals, avals, strict=True)]
    return tree_unflatten(tree, bind_while(cond.jaxpr, cond.consts, body.jaxpr, body.consts, leaves))


def _stage_body(api: str, fun: Any, adapt: Any, tree: Any, avals: Any, hidden: int) -> tuple[Staged, Any]:
    """The traced body, and the types of the carry once weak ones have been promoted."""
    in_tree = treedef_tuple((tree,))
    while True:
        staged = stage(api, fun, in_tree, avals, adapt)
        outs = [v.aval for v in staged.jaxpr.jaxpr.outvars]
        new = promote_carry(avals, outs) if staged.out_tree == tree else None
        if new is None:
            break
        avals = tuple(new)
    if hidden:
        mine, theirs = treedef_children(tree)[hidden], treedef_children(staged.out_tree)[hidden]
        check_carry(api, fun, parameter_name(fun, 1, "val"), mine, avals[hidden:], theirs, outs[hidden:])
    else:
        check_carry(api, fun, parameter_name(fun, 0, "val"), tree, avals, staged.out_tree, outs)
    return staged, avals


def _check_predicate(fun: Any, staged: Staged) -> None:
    avals = staged.jaxpr.out_avals
    if staged.out_tree == tree_structure(0) and same_type(avals[0], _A_BOOL):
        return
    if staged.out_tree != tree_structure(0):
        got, hint = f"a tree: {staged.out_tree}", "Return one value."
    else:
        got = f"{avals[0].str_short()}"
        hint = "Reduce it, for example with jnp.any or jnp.all." if getattr(avals[0], "shape", ()) else \
            "Compare it, for example x != 0."
    raise TypeError(f"lax.while_loop: cond_fun must return one boolean scalar, but {describe(fun)} returned {got}. "
                    f"{hint}")


def bind_while(cond: ClosedJaxpr, cond_consts: Sequence[Any], body: ClosedJaxpr, body_consts: Sequence[Any],
               init: Sequence[Any]) -> list[Any]:
    """Applies the primitive; parts of the carry that the body returns unchanged become constants of the loop."""
    jaxpr, first = body.jaxpr, len(body_consts)
    fixed = [jaxpr.outvars[i] is jaxpr.invars[first + i] and isinstance(x, Array) for i, x in enumerate(init)]
    if True not in fixed:
        return while_p.bind(*cond_consts, *body_consts, *init, body_jaxpr=body, body_nconsts=first, cond_jaxpr=cond,
                            cond_nconsts=len(cond_consts))
    marks = tuple(fixed)
    cond, for_cond = _without_fixed(cond, len(cond_consts), marks, False)
    body, for_body = _without_fixed(body, first, marks, True)
    cond_consts, body_consts = [*cond_consts, *where(init, for_cond)], [*body_consts, *where(init, for_body)]
    outs = iter(while_p.bind(*cond_consts, *body_consts, *without(init, fixed), body_jaxpr=body,
                             body_nconsts=len(body_consts), cond_jaxpr=cond, cond_nconsts=len(cond_consts)))
    return [x if fix else next(outs) for x, fix in zip(init, fixed, strict=True)]


@weak_cache(context=no_context)
def _without_fixed(closed: ClosedJaxpr, num_consts: int, fixed: tuple[bool, ...],
                   is_body: bool) -> tuple[ClosedJaxpr, list[bool]]:
    """The jaxpr with components of the carry that never change among its constants, and which of them it reads."""
    jaxpr = closed.jaxpr
    consts, carry = pieces(jaxpr.invars, num_consts)
    outvars = without(jaxpr.outvars, fixed) if is_body else jaxpr.outvars
    read = {v for e in jaxpr.eqns for v in e.invars if type(v) is not Literal}
    read.update(v for v in outvars if type(v) is not Literal)
    marks = [fix and v in read for v, fix in zip(carry, fixed, strict=True)]
    new = jaxpr.replace(invars=[*consts, *where(carry, marks), *without(carry, fixed)], outvars=outvars,
                        effects=jaxpr.effects, debug_info=jaxpr.debug_info._replace(arg_names=None))
    return ClosedJaxpr(new, closed.consts), marks


# --- the primitive --------------------------------------------------------------------------------------------------

# Operands: constants of the condition, constants of the body, carry. Both closed jaxprs take their constants and then
# the carry.
while_p = Primitive("while", multiple_results=True)
while_p.abstract_cache = None


def _abstract(*avals: Any, body_jaxpr: ClosedJaxpr, cond_jaxpr: ClosedJaxpr, **params: Any) -> Any:
    effects = body_jaxpr.effects | cond_jaxpr.effects
    if effects and use.begun:
        first = params["cond_nconsts"]
        effects = shifted(body_jaxpr.effects, first) | {e for e in cond_jaxpr.effects
                                                        if not isinstance(e, RefEffect) or e.index < first}
    return [v.aval for v in body_jaxpr.jaxpr.outvars], effects


def _lower(ctx: LoweringContext, *args: Any, cond_nconsts: int, cond_jaxpr: ClosedJaxpr, body_nconsts: int,
           body_jaxpr: ClosedJaxpr) -> list[Any]:
    cond_consts, body_consts, init = pieces(args, cond_nconsts, body_nconsts)
    inner = ctx.replace(name_stack=(*ctx.name_stack, "while"))
    effects = body_jaxpr.effects | cond_jaxpr.effects
    ordered = sorted(ordered_effects.filter_in(effects), key=str) if effects else []
    tokens = ctx.tokens_in.subset(ordered) if ordered else no_tokens
    n = len(ordered)
    # A condition with ordered effects needs a place where it hands on its tokens: it is evaluated in the body.
    early = any(ordered_effects.contains(e) for e in cond_jaxpr.effects)

    def holds(carry: Sequence[Any], tokens: TokenSet) -> tuple[Any, TokenSet]:
        (pred,), tokens = emit_with_tokens(inner, cond_jaxpr.jaxpr, cond_jaxpr.consts, [*cond_consts, *carry], tokens)
        return pred, tokens

    def cond(*state: Any) -> Any:
        return state[-1] if early else holds(state[n:], no_tokens)[0]

    def body(*state: Any) -> list[Any]:
        carry = state[n:-1] if early else state[n:]
        outs, after = emit_with_tokens(inner, body_jaxpr.jaxpr, body_jaxpr.consts, [*body_consts, *carry],
                                       TokenSet(zip(ordered, state, strict=False)))
        if early:
            pred, after = holds(outs, after)
            outs = [*outs, pred]
        return [*(after.get(e) for e in ordered), *outs]

    if early:
        pred, tokens = holds(init, tokens)
        init = [*init, pred]
    state = hlo.while_loop([*(tokens.get(e) for e in ordered), *init], cond, body)
    if ordered:
        ctx.set_tokens_out(TokenSet(zip(ordered, state, strict=False)))
    return state[n:-1] if early else state[n:]


while_p.def_effectful_abstract_eval(_abstract)
rules.discharge_rules[while_p] = discharge_while(while_p)
while_p.def_impl(eager_calls(while_p, "body_jaxpr"))
register_lowering(while_p, _lower, cacheable=False)
inner_bodies[while_p] = (("cond_jaxpr", "body_jaxpr"), True)


# --- fori_loop ------------------------------------------------------------------------------------------------------

@api_boundary
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Any, *,
              unroll: int | bool | None = None) -> Any:
    """Applies ``body_fun`` for each integer from ``lower`` up to, and without, ``upper``.

    In Python::

        val = init_val
        for i in range(lower, upper):
            val = body_fun(i, val)
        return val

    Between known bounds (Python or NumPy integers, concrete arrays) the loop is a :func:`scan` and can be
    differentiated in both modes; between traced ones it is a :func:`while_loop`.

    Args:
      lower, upper: integer scalars of one dtype; Python and NumPy integers take the other's.
      body_fun: ``(i, val) -> val``, keeping the structure and the types of ``val``.
      init_val: the first ``val``, a tree of arrays.
      unroll: as for :func:`scan`; only between known bounds.

    Returns:
      The last ``val``; ``init_val`` if there is no step.

    Raises:
      TypeError: bounds that are not integer scalars of one dtype, or a body that changes structure or types.
      ValueError: ``unroll`` between traced bounds.

    >>> from jax import lax
    >>> int(lax.fori_loop(0, 5, lambda i, total: total + i, 0))
    10
    """
    check_callable("fori_loop", "body_fun", body_fun)
    aval = _bounds_type(lower, upper)
    if isinstance(lower, Tracer) or isinstance(upper, Tracer):
        if unroll is not None and unroll is not False and (unroll is True or unroll != 1):
            raise ValueError("lax.fori_loop: unroll needs bounds that are known while tracing, and here a bound is a "
                             "traced value. Pass Python integers (static_argnums of jax.jit), or leave unroll out.")
        init = (_bound(lower, aval), _bound(upper, aval), init_val)
        if config.disable_jit.value:
            try:
                return _in_python(_below, _counted_to(body_fun), init)[2]
            except ConcretizationTypeError:
                pass
        return run_while("fori_loop", _below, body_fun, _counted_to, init, hidden=2)[2]
    first, last = int(lower), int(upper)
    start: Any = first if aval.weak_type else host_constant(first, aval.dtype)
    (_, out), _ = run_scan("fori_loop", body_fun, _counted, (start, init_val), None, max(last - first, 0), False,
                           1 if unroll is None else unroll, hidden=True)
    return out


def _bounds_type(lower: Any, upper: Any) -> Any:
    """The type of the counter."""
    # NumPy's integers are often sizes that come from computations in Python; they count as Python's.
    avals = [typeof(int(x)) if isinstance(x, np.integer) else typeof(x) for x in (lower, upper)]
    for name, x, a in zip(("lower", "upper"), (lower, upper), avals, strict=True):
        if a.shape != () or not dtypes.issubdtype(a.dtype, np.integer):
            raise TypeError(f"lax.fori_loop: {name} must be an integer scalar, got {a.str_short()}"
                            f"{'' if isinstance(x, Tracer) else f' ({x!r})'}. Loops over other values are lax.scan's.")
    typed = [a for a in avals if not a.weak_type]
    if not typed:
        return avals[0]
    if len(typed) == 2 and typed[0].dtype != typed[1].dtype:
        raise TypeError(f"lax.fori_loop: lower and upper must have one dtype, got {avals[0].str_short()} and "
                        f"{avals[1].str_short()}. Convert one of them, for example upper.astype('{avals[0].dtype}').")
    return typed[0]


def _bound(x: Any, aval: Any) -> Any:
    if aval.weak_type:
        return x if isinstance(x, Array) else int(x)
    return with_aval(x, typeof(x), aval) if isinstance(x, Array) else host_constant(x, aval.dtype)


def _next(i: Any) -> Any:
    if not isinstance(i, Array):  # with jit off
        return i + 1
    return add(i, 1 if i.aval.weak_type else host_constant(1, i.aval.dtype))


def _counted(body_fun: Callable[..., Any]) -> Callable[..., Any]:
    def body(carry: Any, _: None) -> Any:
        i, val = carry
        return (_next(i), body_fun(i, val)), None
    return body


def _counted_to(body_fun: Callable[..., Any]) -> Callable[..., Any]:
    def body(carry: Any) -> Any:
        i, upper, val = carry
        return _next(i), upper, body_fun(i, val)
    return body


def _below(carry: Any) -> Any:
    return lt(carry[0], carry[1])
