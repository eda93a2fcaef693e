"""``cond``, ``switch`` and ``platform_dependent``: choosing which function runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._base import config
from jax._base.caching import no_context, weak_cache
from jax._base.source import api_boundary
from jax._ground.structural import convert_element_type_p
from jax._language import rules
from jax._language.avals import ShapedArray, host_constant, typeof
from jax._language.effects import ordered_effects, shifted
from jax._language.jaxpr import ClosedJaxpr, Literal, Var, new_jaxpr_eqn, no_source
from jax._language.lifting import lift_rules
from jax._language.primitive import Primitive
from jax._language.refs import use
from jax._language.trace import Tracer
from jax._lowering import hlo
from jax._lowering.context import LoweringContext, TokenSet, no_tokens
from jax._lowering.emit import emit_with_tokens
from jax._lowering.rules import inner_bodies, register_lowering
from jax._lowering.types import ir_type
from jax._runtime import backend
from jax._tree_compare import differences
from jax.lax._comparison import ne
from jax.lax._control_common import (
    Array,
    Staged,
    as_array,
    check_callable,
    describe,
    leaf_path,
    marked,
    operands,
    same_type,
    stage,
    type_difference,
)
from jax.lax._eager_calls import eager_calls
from jax.lax._loop_references import check_references, discharge_cond
from jax.lax._magnitude import clamp
from jax.tree_util import tree_flatten, tree_map, tree_unflatten

_NOT_GIVEN = object()


# --- cond -----------------------------------------------------------------------------------------------------------

@api_boundary
def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any,
         operand: Any = _NOT_GIVEN, linear: Any = None) -> Any:
    """``true_fun(*operands)`` if ``pred`` holds, else ``false_fun(*operands)``.

    Both functions are traced; only one of them runs. Under ``jax.vmap`` with a ``pred`` that differs from example to
    example both run, and results are selected.

    The old form ``cond(pred, true_operand, true_fun, false_operand, false_fun)`` is understood too.

    Args:
      pred: a boolean scalar; a number holds if it is not zero.
      true_fun, false_fun: functions of the operands. Their results have one structure and equal shapes and dtypes.
      *operands: trees of arrays.
      operand: a single operand, by keyword; an older form.
      linear: must be ``None``: which operands are linear is found out, not declared.

    Returns:
      The result of the function that was chosen.

    Raises:
      TypeError: ``pred`` is not a scalar, or the results of the functions differ in structure or types.

    >>> from jax import lax
    >>> float(lax.cond(True, lambda x: x + 1., lambda x: x - 1., 3.))
    4.0
    """
    if linear is not None:
        raise NotImplementedError("lax.cond: linear is not supported, which operands are linear is found out; leave it out")
    if operand is not _NOT_GIVEN:
        if operands:
            raise TypeError(f"lax.cond takes its operands by position or the keyword `operand`, not both; got "
                            f"operand={operand!r} and {len(operands)} by position")
        operands = (operand,)
    if not callable(true_fun) and len(operands) == 2 and callable(false_fun) and callable(operands[1]):
        return _cond_with_two_operands(pred, true_fun, false_fun, *operands)
    check_callable("cond", "true_fun", true_fun)
    check_callable("cond", "false_fun", false_fun)
    aval = _predicate_type(pred)
    if config.disable_jit.value and not isinstance(pred, Tracer):
        return _arrays((true_fun if pred else false_fun)(*operands))
    staged, leaves = _stage_branches("cond", (false_fun, true_fun), operands)
    _check_branches("cond", (true_fun, false_fun), ("true_fun", "false_fun"), (staged[1], staged[0]))
    return _bind(staged, _truth(pred, aval), leaves)


def _cond_with_two_operands(pred: Any, true_operand: Any, true_fun: Any, false_operand: Any, false_fun: Any) -> Any:
    return cond(pred, lambda x, y: true_fun(x), lambda x, y: false_fun(y), true_operand, false_operand)


def _predicate_type(pred: Any) -> Any:
    if pred is None or isinstance(pred, (str, bytes)) or callable(pred) and not hasattr(pred, "dtype"):
        raise TypeError(f"lax.cond: pred must be a boolean scalar, got {pred!r}")
    try:
        aval = typeof(pred)
    except TypeError as error:
        raise TypeError(f"lax.cond: pred must be a boolean scalar: {error}") from None
    if aval.shape != ():
        raise TypeError(f"lax.cond: pred must be a scalar, got an array of type {aval.str_short()}. Reduce it "
                        "(jnp.any, jnp.all), choose element by element with jnp.where, or map the cond with jax.vmap.")
    if not (dtypes.issubdtype(aval.dtype, np.bool_) or dtypes.issubdtype(aval.dtype, np.integer)
            or dtypes.issubdtype(aval.dtype, np.floating)):
        raise TypeError(f"lax.cond: pred must be a boolean or a real number, got {aval.str_short()}. Compare it, for "
                        "example x != 0.")
    return aval


def _truth(pred: Any, aval: Any) -> Any:
    """The number of the branch: 1 if the predicate holds."""
    if not isinstance(pred, Array):
        return np.asarray(bool(pred), np.int32)
    if aval.dtype != np.bool_:
        pred = ne(pred, np.zeros((), aval.dtype))
    return convert_element_type_p.bind(pred, new_dtype=np.dtype(np.int32), weak_type=False, sharding=None)


def _arrays(tree: Any) -> Any:
    return tree_map(lambda x: as_array(x, typeof(x)), tree)


# --- switch ---------------------------------------------------------------------------------------------------------

@api_boundary
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = _NOT_GIVEN) -> Any:
    """``branches[index](*operands)``, with ``index`` clamped to the number of branches.

    All functions are traced; only one of them runs. Under ``jax.vmap`` with an ``index`` that differs from example to
    example all run, and results are selected.

    Args:
      index: an integer scalar.
      branches: functions of the operands. Their results have one structure and equal shapes and dtypes.
      *operands: trees of arrays.
      operand: a single operand, by keyword; an older form.

    Returns:
      The result of the function that was chosen.

    Raises:
      ValueError: there are no branches.
      TypeError: ``index`` is not an integer scalar, or the results of the functions differ in structure or types.

    >>> from jax import lax
    >>> float(lax.switch(1, [lambda x: x, lambda x: 2 * x, lambda x: 3 * x], 5.))
    10.0
    """
    branches = tuple(branches)
    if operand is not _NOT_GIVEN:
        if operands:
            raise TypeError("lax.switch takes its operands by position or the keyword `operand`, not both")
        operands = (operand,)
    if not branches:
        raise ValueError("lax.switch needs at least one branch")
    for i, branch in enumerate(branches):
        check_callable("switch", f"branches[{i}]", branch)
    aval = typeof(index)
    if aval.shape != ():
        raise TypeError(f"lax.switch: index must be a scalar, got {aval.str_short()}. Map the switch with jax.vmap to "
                        "choose for each element.")
    if not dtypes.issubdtype(aval.dtype, np.integer):
        raise TypeError(f"lax.switch: index must be an integer, got {aval.str_short()}. Convert it, for example with "
                        "index.astype('int32').")
    last = len(branches) - 1
    if not last:
        return branches[0](*operands)
    if config.disable_jit.value and not isinstance(index, Tracer):
        return _arrays(branches[min(max(int(index), 0), last)](*operands))
    staged, leaves = _stage_branches("switch", branches, operands)
    _check_branches("switch", branches, [f"branches[{i}]" for i in range(last + 1)], staged)
    return _bind(staged, _clamped(index, aval, last), leaves)


def _clamped(index: Any, aval: Any, last: int) -> Any:
    if not isinstance(index, Array):
        return np.asarray(min(max(int(index), 0), last), np.int32)
    if aval.dtype.itemsize < 4 or aval.dtype != np.int32:
        # Clamped first: a wide or unsigned index must not wrap, and a narrow one may not reach the last branch.
        top = min(last, np.iinfo(aval.dtype).max)
        index = clamp(host_constant(0, aval.dtype), index, host_constant(top, aval.dtype))
        return convert_element_type_p.bind(index, new_dtype=np.dtype(np.int32), weak_type=False, sharding=None)
    return clamp(np.int32(0), index, np.int32(last))


# --- staging --------------------------------------------------------------------------------------------------------

def _stage_branches(api: str, funs: Sequence[Callable[..., Any]], args: Any) -> tuple[list[Staged], list[Any]]:
    leaves, tree = tree_flatten(args)
    leaves, avals = operands(api, "operands", tree, leaves)
    staged = [stage(api, fun, tree, avals) for fun in funs]
    if use.begun:
        for fun, s in zip(funs, staged, strict=True):
            check_references(api, fun, s.consts, leaves, tree)
    return staged, leaves


def _check_branches(api: str, funs: Sequence[Any], names: Sequence[str], staged: Sequence[Staged]) -> None:
    """Raises unless all branches return one structure of equal types."""
    first = staged[0]
    for i in range(1, len(staged)):
        other = staged[i]
        pair, functions = (names[0], names[i]), f"{names[0]} is {describe(funs[0])}, {names[i]} is {describe(funs[i])}"
        if first.out_tree != other.out_tree:
            lines = [f"  {d.describe(pair)}" for d in differences(marked(first.out_tree), marked(other.out_tree))][:3]
            raise TypeError(f"lax.{api}: all branches must return trees of one structure, but two differ ({functions})."
                            "\n" + "\n".join(lines) + f"\n  {pair[0]} returns {first.out_tree}\n  {pair[1]} returns "
                            f"{other.out_tree}\nReturn the same structure from both.")
        a, b = first.jaxpr.out_avals, other.jaxpr.out_avals
        wrong = [j for j, (x, y) in enumerate(zip(a, b, strict=True)) if not same_type(x, y)]
        if wrong:
            lines = [f"  result{leaf_path(first.out_tree, j)}: {a[j].str_short()} from {pair[0]}, {b[j].str_short()} "
                     f"from {pair[1]}: {type_difference(a[j], b[j])}" for j in wrong[:8]]
            raise TypeError(f"lax.{api}: all branches must return the same types, but two differ ({functions}).\n"
                            + "\n".join(lines) + "\nConvert or broadcast the results of one branch, for example with "
                            "x.astype(...) or jnp.broadcast_to(x, ...).")


def _bind(staged: Sequence[Staged], index: Any, leaves: Sequence[Any], **params: Any) -> Any:
    """Applies the primitive to branches that close over different values: each gets all of them."""
    position: dict[int, int] = {}
    consts: list[Any] = []
    for s in staged:
        for c in s.consts:
            if id(c) not in position:
                position[id(c)] = len(consts)
                consts.append(c)
    if not consts:
        branches = [s.jaxpr for s in staged]
    else:
        avals = tuple([typeof(c) for c in consts])
        branches = [_with_consts(s.jaxpr, tuple([position[id(c)] for c in s.consts]), avals) for s in staged]
    branches = _join_weak_types(branches)
    outs = cond_p.bind(index, *consts, *leaves, branches=tuple(branches), **params)
    return tree_unflatten(staged[0].out_tree, outs)


@weak_cache(context=no_context)
def _with_consts(closed: ClosedJaxpr, places: tuple[int, ...], avals: tuple[Any, ...]) -> ClosedJaxpr:
    """The branch as a function of the constants of all branches; its own are at ``places``."""
    jaxpr = closed.jaxpr
    own, rest = jaxpr.invars[:len(places)], jaxpr.invars[len(places):]
    found = dict(zip(places, own, strict=True))
    invars = [found.get(i) or Var(a) for i, a in enumerate(avals)]
    return ClosedJaxpr(jaxpr.replace(invars=[*invars, *rest], effects=jaxpr.effects), closed.consts)


def _join_weak_types(branches: list[ClosedJaxpr]) -> list[ClosedJaxpr]:
    """Results that are weakly typed in some branches only are not weakly typed."""
    weak = [{a.weak_type for a in column} for column in zip(*[b.out_avals for b in branches], strict=True)]
    strong = tuple([len(kinds) > 1 for kinds in weak])
    return [_strengthened(b, strong) for b in branches] if True in strong else branches


@weak_cache(context=no_context)
def _strengthened(closed: ClosedJaxpr, strong: tuple[bool, ...]) -> ClosedJaxpr:
    jaxpr = closed.jaxpr
    eqns, outvars = list(jaxpr.eqns), list(jaxpr.outvars)
    for i, (v, s) in enumerate(zip(jaxpr.outvars, strong, strict=True)):
        if not s or not v.aval.weak_type:
            continue
        aval = v.aval.strip_weak_type()
        if type(v) is Literal:
            outvars[i] = Literal(host_constant(v.val, aval.dtype), aval)
            continue
        outvars[i] = Var(aval)
        params = {"new_dtype": aval.dtype, "weak_type": False, "sharding": None}
        eqns.append(new_jaxpr_eqn([v], [outvars[i]], convert_element_type_p, params, source_info=no_source))
    return ClosedJaxpr(jaxpr.replace(eqns=eqns, outvars=outvars, effects=jaxpr.effects), closed.consts)


# --- the primitive --------------------------------------------------------------------------------------------------

# Operands: the number of the branch (int32, in range), then those of every branch. `branches_platforms`, where present,
# names the platforms each branch is for (None: any other); the others need not have lowering rules here.
cond_p = Primitive("cond", multiple_results=True)
cond_p.abstract_cache = None


def _abstract(*avals: Any, branches: tuple[ClosedJaxpr, ...], **params: Any) -> Any:
    effects = branches[0].effects
    for b in branches[1:]:
        if b.effects:
            effects = effects | b.effects
    if effects and use.begun:
        effects = shifted(effects, 1)
    return [v.aval for v in branches[0].jaxpr.outvars], effects


def _lower(ctx: LoweringContext, index: Any, *args: Any, branches: tuple[ClosedJaxpr, ...],
           branches_platforms: Any = None) -> list[Any]:
    inner = ctx.replace(name_stack=(*ctx.name_stack, "cond"))
    effects = frozenset().union(*[b.effects for b in branches])
    ordered = sorted(ordered_effects.filter_in(effects), key=str) if effects else []
    tokens = ctx.tokens_in.subset(ordered) if ordered else no_tokens

    def run(branch: ClosedJaxpr) -> list[Any]:
        outs, after = emit_with_tokens(inner, branch.jaxpr, branch.consts, args, tokens)
        return [*((after if e in after else tokens).get(e) for e in ordered), *outs]

    if branches_platforms is not None:
        results = run(branches[platform_position(ctx, branches_platforms)])
    elif len(branches) == 1:
        results = run(branches[0])
    else:
        types = [*(tokens.get(e).type for e in ordered), *(ir_type(a) for a in ctx.avals_out)]
        fills = [lambda branch=b: run(branch) for b in branches]
        results = hlo.case(index, fills, types)
    if ordered:
        ctx.set_tokens_out(TokenSet(zip(ordered, results, strict=False)))
    return results[len(ordered):]


cond_p.def_effectful_abstract_eval(_abstract)
rules.discharge_rules[cond_p] = discharge_cond(cond_p)
lift_rules[cond_p] = lambda params, lift, refs: (
    dict(params, branches=tuple([lift(b, refs) for b in params["branches"]])), 1)
cond_p.def_impl(eager_calls(cond_p, "branches"))
register_lowering(cond_p, _lower, cacheable=False)
inner_bodies[cond_p] = (("branches",), False)


# --- platform_dependent ---------------------------------------------------------------------------------------------

# The number of the entry of `platforms` (tuples of names, None for any other) that the program is compiled for.
platform_index_p = Primitive("platform_index")


@api_boundary
def platform_dependent(*args: Any, default: Callable[..., Any] | None = None,
                       **per_platform: Callable[..., Any]) -> Any:
    """The result of the function for the platform that the program is compiled for.

    Args:
      *args: trees of arrays.
      default: the function for platforms that are not named.
      **per_platform: functions by platform: ``cpu``, ``cuda``, ``rocm``, ``tpu``, or ``gpu`` for both kinds of GPU.

    Returns:
      The result. All functions are traced, so their results have one structure and equal types, but only the one
      that is chosen is compiled.

    Raises:
      TypeError: results that differ in structure or types.
      NotImplementedError: the program is compiled for a platform that has no function.

    >>> from jax import lax
    >>> float(lax.platform_dependent(1., cpu=lambda x: x + 1., default=lambda x: x))
    2.0
    """
    names = [*per_platform, *(["default"] if default is not None else [])]
    funs = [*per_platform.values(), *([default] if default is not None else [])]
    if not funs:
        raise ValueError("lax.platform_dependent needs at least one function, by platform or as default")
    for name, fun in zip(names, funs, strict=True):
        check_callable("platform_dependent", name, fun)
    if not per_platform:
        return funs[0](*args)
    platforms = tuple([("cuda", "rocm") if p == "gpu" else (p,) for p in per_platform])
    if default is not None:
        platforms = (*platforms, None)  # type: ignore[assignment]
    if config.disable_jit.value:
        return _arrays(funs[_position(platforms, (backend.lowering_platform(None),))](*args))
    staged, leaves = _stage_branches("platform_dependent", funs, args)
    _check_branches("platform_dependent", funs, names, staged)
    index = platform_index_p.bind(platforms=platforms)
    return _bind(staged, index, leaves, branches_platforms=platforms)


def platform_position(ctx: LoweringContext, platforms: Any) -> int:
    """Which entry of ``platforms`` the code under construction belongs to."""
    return _position(platforms, ctx.platforms)


def _position(platforms: Any, current: Sequence[str]) -> int:
    found = set()
    for platform in current:
        places = [i for i, names in enumerate(platforms) if names is None or platform in names]
        if not places:
            known = ", ".join(p for names in platforms for p in names or ())
            raise NotImplementedError(f"lax.platform_dependent has no function for the platform {platform!r} (it has "
                                      f"them for: {known}); add one, or a default")
        found.add(places[0])
    if len(found) > 1:
        raise NotImplementedError(f"lax.platform_dependent chooses different functions for the platforms "
                                  f"{', '.join(current)}; lower for each platform separately")
    return found.pop()


platform_index_p.def_abstract_eval(lambda platforms: ShapedArray((), np.dtype(np.int32)))
register_lowering(platform_index_p, lambda ctx, platforms: [
    hlo.scalar_constant(platform_position(ctx, platforms), np.int32)], cacheable=False)
