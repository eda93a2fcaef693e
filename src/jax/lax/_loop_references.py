"""References in loops and branches: their values become parts of the carry, and results of the branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax._base.caching import no_context, weak_cache
from jax._language.avals import typeof
from jax._language.discharge import Cell, Discharged, discharged
from jax._language.effects import writes
from jax._language.jaxpr import ClosedJaxpr, Var
from jax._language.refs import check_aliasing, is_ref_type, operations
from jax.lax._control_common import describe, leaf_path, permuted, pieces, without
from jax.tree_util import tree_unflatten

Marks = tuple[bool, ...]


def check_references(api: str, fun: Any, consts: Sequence[Any], leaves: Sequence[Any], tree: Any,
                     name: Callable[[str], str] = lambda path: f"operands{path}") -> None:
    """Raises when a traced function gets one reference in two ways."""
    check_aliasing([*consts, *leaves], len(consts), f"lax.{api}", lambda: describe(fun),
                   lambda i: name(leaf_path(tree, i)))


def refuse_references(api: str, what: str, avals: Sequence[Any], remedy: str) -> None:
    """Raises if a reference is where a loop needs an array."""
    for a in avals:
        if is_ref_type(a):
            raise TypeError(f"lax.{api}: {what} holds a reference of type {a.str_short()}, and must consist of arrays. "
                            f"{remedy}")


def refuse_writes(api: str, fun: Any, closed: ClosedJaxpr) -> None:
    """Raises if the condition of a loop changes a reference."""
    if writes(closed.effects):
        raise ValueError(f"lax.{api}: the condition {describe(fun)} changes a reference. A condition may only read; write "
                         "in the body of the loop.")


def _values(args: Sequence[Any], places: Sequence[int]) -> list[Any]:
    return [args[i].value if type(args[i]) is Cell else args[i] for i in places]


def _store(args: Sequence[Any], places: Sequence[int], values: Sequence[Any]) -> None:
    for i, new in zip(places, values, strict=True):
        args[i].value = new


def along_references(adapt: Any, init: Any, leaves: Sequence[Any], tree: Any, length: int,
                     reverse: bool) -> tuple[Any, Any, list[Any]]:
    """A scan along arrays of which some are in references as one along the others.

    The body gets a view of a row of each reference. Returned: what adapts the caller's function to it, the first carry,
    which starts with a counter, and the other arrays.
    """
    marks = [is_ref_type(typeof(x)) for x in leaves]
    step = -1 if reverse else 1

    def adapted(f: Callable[..., Any]) -> Callable[..., Any]:
        body = adapt(f)

        def with_rows(carry: Any, rows: Any) -> Any:
            i, inner = carry
            given = iter(rows)
            x = [operations["at"](leaf)[i] if m else next(given) for leaf, m in zip(leaves, marks, strict=True)]
            new, y = body(inner, tree_unflatten(tree, x))
            return (i + step, new), y
        return with_rows

    return adapted, (np.int32(length - 1 if reverse else 0), init), without(leaves, marks)


# --- scan --------------------------------------------------------------------------------------------------------------

@weak_cache(context=no_context)
def _pure_scan(closed: ClosedJaxpr, marks: Marks, num_consts: int,
               num_carry: int) -> tuple[ClosedJaxpr, list[int], tuple[int, ...]]:
    """The body with changed references at the end of the carry; which constants stay, and which do not."""
    pure = discharged(closed, marks)
    consts, carry, xs = pieces(range(len(marks)), num_consts, num_carry)
    kept = [i for i in consts if i not in pure.changed]
    num_outs = len(closed.jaxpr.outvars)
    last = range(num_outs, num_outs + len(pure.changed))
    body = permuted(pure.closed, [*kept, *carry, *pure.changed, *xs],
                    [*range(num_carry), *last, *range(num_carry, num_outs)])
    return body, kept, pure.changed


def discharge_scan(prim: Any) -> Callable[..., Any]:
    """The rule of ``scan``."""
    def rule(args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        num_consts, num_carry = params["num_consts"], params["num_carry"]
        body, kept, changed = _pure_scan(params["jaxpr"], tuple([type(x) is Cell for x in args]), num_consts, num_carry)
        _, carry, xs = pieces(args, num_consts, num_carry)
        outs = prim.bind(*_values(args, kept), *carry, *_values(args, changed), *xs,
                         **dict(params, jaxpr=body, num_consts=len(kept), num_carry=num_carry + len(changed)))
        last, new, ys = pieces(outs, num_carry, len(changed))
        _store(args, changed, new)
        return [*last, *ys]
    return rule


# --- while -------------------------------------------------------------------------------------------------------------

@weak_cache(context=no_context)
def _pure_while(body: ClosedJaxpr, cond: ClosedJaxpr, body_marks: Marks, cond_marks: Marks, shared: tuple[int | None, ...],
                body_nconsts: int) -> tuple[ClosedJaxpr, ClosedJaxpr, list[int], list[int], tuple[int, ...]]:
    """Body and condition with changed references at the end of the carry.

    ``shared`` says for each constant of the condition which constant of the body is the same reference. Also returned:
    the constants of both that stay, and those of the body that do not.
    """
    pure = discharged(body, body_marks)
    consts, carry = pieces(range(len(body_marks)), body_nconsts)
    kept = [i for i in consts if i not in pure.changed]
    new_body = permuted(pure.closed, [*kept, *carry, *pure.changed])
    check = discharged(cond, cond_marks).closed
    jaxpr = check.jaxpr
    n = len(shared)
    place = {k: i for i, k in enumerate(shared) if k in pure.changed}
    kept_cond = [i for i in range(n) if i not in place.values()]
    state = [jaxpr.invars[place[k]] if k in place else Var(body.in_avals[k].inner_aval) for k in pure.changed]
    invars = [*(jaxpr.invars[i] for i in kept_cond), *jaxpr.invars[n:], *state]
    new_cond = ClosedJaxpr(jaxpr.replace(invars=invars, effects=jaxpr.effects,
                                         debug_info=jaxpr.debug_info._replace(arg_names=None)), check.consts)
    return new_body, new_cond, kept, kept_cond, pure.changed


def discharge_while(prim: Any) -> Callable[..., Any]:
    """The rule of ``while``."""
    def rule(args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        of_cond, of_body, init = pieces(args, params["cond_nconsts"], params["body_nconsts"])
        place = {id(x): i for i, x in enumerate(of_body) if type(x) is Cell}
        shared = tuple([place.get(id(x)) for x in of_cond])
        body_marks = tuple([type(x) is Cell for x in (*of_body, *init)])
        cond_marks = tuple([type(x) is Cell for x in (*of_cond, *init)])
        body, cond, kept, kept_cond, changed = _pure_while(
            params["body_jaxpr"], params["cond_jaxpr"], body_marks, cond_marks, shared, len(of_body))
        outs = prim.bind(*_values(of_cond, kept_cond), *_values(of_body, kept), *init, *_values(of_body, changed),
                         body_jaxpr=body, body_nconsts=len(kept), cond_jaxpr=cond, cond_nconsts=len(kept_cond))
        last, new = pieces(outs, len(init))
        _store(of_body, changed, new)
        return last
    return rule


# --- cond --------------------------------------------------------------------------------------------------------------

@weak_cache(context=no_context)
def _pure_branches(first: ClosedJaxpr, others: tuple[ClosedJaxpr, ...],
                   marks: Marks) -> tuple[tuple[ClosedJaxpr, ...], tuple[int, ...]]:
    """The branches, all of which return the last values of what any of them changes."""
    pures = [discharged(b, marks) for b in (first, *others)]
    changed = tuple(sorted({i for p in pures for i in p.changed}))
    return tuple([_returning(p, changed) for p in pures]), changed


def _returning(pure: Discharged, changed: tuple[int, ...]) -> ClosedJaxpr:
    jaxpr = pure.closed.jaxpr
    n = len(jaxpr.outvars) - len(pure.changed)
    last = dict(zip(pure.changed, jaxpr.outvars[n:], strict=True))
    outvars = [*jaxpr.outvars[:n], *(last.get(i, jaxpr.invars[i]) for i in changed)]
    return ClosedJaxpr(jaxpr.replace(outvars=outvars, effects=jaxpr.effects), pure.closed.consts)


def discharge_cond(prim: Any) -> Callable[..., Any]:
    """The rule of ``cond``."""
    def rule(args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        index, *operands = args
        first, *others = params["branches"]
        branches, changed = _pure_branches(first, tuple(others), tuple([type(x) is Cell for x in operands]))
        outs = prim.bind(index, *_values(operands, range(len(operands))), **dict(params, branches=branches))
        n = len(outs) - len(changed)
        _store(operands, changed, outs[n:])
        return outs[:n]
    return rule


__all__ = ["along_references", "check_references", "discharge_cond", "discharge_scan", "discharge_while",
           "refuse_references", "refuse_writes"]
