"""The rules of :func:`sparsify` for branches and loops.

What comes out of branches, and what a loop carries, has one layout: promises that do not hold everywhere are given up, and
branches that store fewer entries than others are filled up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from jax import lax
from jax._api.staged import eval_shape
from jax._language.jaxpr import ClosedJaxpr
from jax.experimental.sparse._bcoo_layout import BCOO, entries, make
from jax.experimental.sparse._bcoo_shape import padded
from jax.experimental.sparse._sparsify_rules import on_arrays, run_on_arrays
from jax.tree_util import tree_map


def _layout(x: Any) -> Any:
    return (x.n_batch, x.n_sparse, x.n_dense) if isinstance(x, BCOO) else None


def _in_common(name: str, forms: Sequence[Any]) -> Any:
    """What arrays of one shape and dtype can all be turned into."""
    first = forms[0]
    if len(set(map(_layout, forms))) > 1:
        raise NotImplementedError(f"sparse rule for {name} is not implemented for values that are stored in different ways: "
                                  f"{', '.join(map(str, forms))}; see sparse.todense() and update_layout()")
    if not isinstance(first, BCOO):
        return first
    widest = max(forms, key=lambda x: x.nse)
    sorted_, unique = (all(getattr(x, flag) for x in forms) for flag in ("indices_sorted", "unique_indices"))
    return BCOO.tree_unflatten((widest._tail, sorted_, unique), (widest.data, widest.indices))


def _turned_into(x: Any, form: Any) -> Any:
    """``x`` with the promises of ``form``, and with as many entries."""
    if not isinstance(x, BCOO):
        return x
    if x.nse == form.nse:
        return make(x.data, x.indices, x.shape, like=form)
    data, indices = padded(*entries(x), form.nse - x.nse, x.n_batch, x._sparse_shape)
    return make(data, indices, x.shape, like=form)


@on_arrays("cond")
def _cond(index: Any, *operands: Any, branches: Sequence[ClosedJaxpr], **params: Any) -> list[Any]:
    del params
    if isinstance(index, BCOO):
        raise NotImplementedError("sparse rule for cond is not implemented for a sparse predicate; use sparse.todense()")
    runs = [partial(_run, b) for b in branches]
    forms = [_in_common("cond", outs) for outs in zip(*[eval_shape(run, *operands) for run in runs], strict=True)]

    def branch(run: Callable[..., Any], *args: Any) -> list[Any]:
        return _kept(run(*args), forms)
    return lax.switch(index, [partial(branch, run) for run in runs], *operands)


def _run(closed: ClosedJaxpr, *args: Any) -> list[Any]:
    return run_on_arrays(closed, args)


def _carried(name: str, step: Callable[..., Sequence[Any]], carry: Sequence[Any], xs: Any = ()) -> list[Any]:
    """The first values that a loop carries, with no promises but those that each step, ``step(carry, xs)``, keeps."""
    if not any(isinstance(x, BCOO) for x in carry):
        return list(carry)
    forms = list(carry)
    while True:
        after = eval_shape(step, forms, xs)
        for x, y in zip(forms, after, strict=True):
            if isinstance(x, BCOO) and isinstance(y, BCOO) and x.nse != y.nse:
                raise NotImplementedError(f"sparse rule for {name} is not implemented for a body that changes how many "
                                          f"entries are stored, here from {x} to {y}; a loop carries arrays of one size")
        new = [_in_common(name, pair) for pair in zip(forms, after, strict=True)]
        if [_promises(x) for x in new] == [_promises(x) for x in forms]:
            return _kept(carry, new)
        forms = new


def _promises(x: Any) -> Any:
    return (x.indices_sorted, x.unique_indices) if isinstance(x, BCOO) else None


def _kept(values: Sequence[Any], forms: Sequence[Any]) -> list[Any]:
    """The results of a step, with the promises of what goes into it."""
    return [_turned_into(x, form) for x, form in zip(values, forms, strict=True)]


@on_arrays("while")
def _while(*args: Any, cond_jaxpr: ClosedJaxpr, cond_nconsts: int, body_jaxpr: ClosedJaxpr, body_nconsts: int,
           **params: Any) -> list[Any]:
    del params
    cond_consts, body_consts = args[:cond_nconsts], args[cond_nconsts:cond_nconsts + body_nconsts]

    def step(carry: Sequence[Any], xs: Any = ()) -> list[Any]:
        return run_on_arrays(body_jaxpr, [*body_consts, *carry])
    first = _carried("while", step, args[cond_nconsts + body_nconsts:])
    return lax.while_loop(lambda carry: run_on_arrays(cond_jaxpr, [*cond_consts, *carry])[0],
                          lambda carry: _kept(step(carry), first), first)


@on_arrays("scan")
def _scan(*args: Any, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, length: int, reverse: bool, unroll: Any,
          **params: Any) -> list[Any]:
    del params
    consts, carry, xs = args[:num_consts], args[num_consts:num_consts + num_carry], args[num_consts + num_carry:]
    if any(isinstance(x, BCOO) and not x.n_batch for x in xs):
        raise NotImplementedError("sparse rule for scan is not implemented for operands whose leading axis is sparse; see "
                                  "update_layout(n_batch=1)")

    def one(carry: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
        return run_on_arrays(jaxpr, [*consts, *carry, *xs])
    example = eval_shape(lambda xs: tree_map(lambda leaf: leaf[0], xs), list(xs)) if length else list(xs)
    first = _carried("scan", lambda carry, xs: one(carry, xs)[:num_carry], carry, example) if length else list(carry)

    def body(carry: Any, xs: Any) -> tuple[Any, Any]:
        outs = one(carry, xs)
        return _kept(outs[:num_carry], first), outs[num_carry:]
    carry, ys = lax.scan(body, first, list(xs), length=length, reverse=reverse, unroll=unroll)
    return [*carry, *ys]
