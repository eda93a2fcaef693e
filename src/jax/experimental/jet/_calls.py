"""Derivatives of higher order through calls, branches and loops: what these hold is expanded, once for each kind of use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._api.call_primitives import call_p, closed_call_p
from jax._api.jit_primitive import call_params, jit_p
from jax._api.remat_primitive import remat_p
from jax._base.caching import weak_cache
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr, Var
from jax._language.staging import trace_to_jaxpr
from jax.experimental.jet._rules import order_of, symbolic
from jax.experimental.jet._series import expand, instantiated, jet_rules, zero_series
from jax.lax import cond_p, scan_p, while_p
from jax.lax._control_common import Marks, either, permuted, pieces, settle

Outs = tuple[list[Any], list[Any]]


def marks_of(series: Sequence[Any]) -> tuple[bool, ...]:
    """Which of the series are not those of constants."""
    return tuple([s is not zero_series for s in series])


def flattened(series: Sequence[Any]) -> list[Any]:
    """The derivatives of what is not constant, one after another."""
    return [t for s in series if s is not zero_series for t in s]


def gathered(terms: Sequence[Any], marks: Sequence[bool], order: int) -> list[Any]:
    """The inverse of :func:`flattened`."""
    found = iter(terms)
    return [[next(found) for _ in range(order)] if m else zero_series for m in marks]


def expanded(closed: ClosedJaxpr, order: int, marks: Sequence[bool], force: Sequence[bool] | bool = False,
             ) -> tuple[ClosedJaxpr, Marks]:
    """The program on curves, and which of its results are not constant (at least those of ``force``).

    It takes all values and then the derivatives of the arguments of ``marks``, and returns the same of its results.
    """
    forced = (force,) * len(closed.jaxpr.outvars) if isinstance(force, bool) else tuple(force)
    return _expanded(closed, order, tuple(marks), forced)


@weak_cache
def _expanded(closed: ClosedJaxpr, order: int, marks: tuple[bool, ...], force: tuple[bool, ...],
              ) -> tuple[ClosedJaxpr, Marks]:
    n = len(closed.in_avals)
    out_marks: Marks = []

    def run(*args: Any) -> list[Any]:
        series = gathered(args[n:], marks, order)
        outs, terms = expand(lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), order, args[:n], series)
        terms = [instantiated(o, s, order) if f else s for o, s, f in zip(outs, terms, force, strict=True)]
        out_marks[:] = marks_of(terms)
        return [*outs, *flattened(terms)]

    tangents = [a.to_tangent_aval() for a, m in zip(closed.in_avals, marks, strict=True) if m for _ in range(order)]
    jaxpr, consts = trace_to_jaxpr(run, [*closed.in_avals, *tangents],
                                   closed.jaxpr.debug_info._replace(arg_names=None, traced_for="jet"))
    return ClosedJaxpr(jaxpr, consts), out_marks


def _split(outs: Sequence[Any], marks: Sequence[bool], order: int) -> Outs:
    return list(outs[:len(marks)]), gathered(outs[len(marks):], marks, order)


@symbolic
def _jit(primals: Any, series: Any, *, jaxpr: ClosedJaxpr, name: str, **params: Any) -> Outs:
    order = order_of(series)
    new, marks = expanded(jaxpr, order, marks_of(series))
    return _split(jit_p.bind(*primals, *flattened(series), **call_params(new, name, params)), marks, order)


@symbolic
def _checkpoint(primals: Any, series: Any, *, jaxpr: ClosedJaxpr, **params: Any) -> Outs:
    order = order_of(series)
    new, marks = expanded(jaxpr, order, marks_of(series))
    return _split(remat_p.bind(*primals, *flattened(series), jaxpr=new, **params), marks, order)


def _call(prim: Any) -> Any:
    @symbolic
    def rule(primals: Any, series: Any, *, call_jaxpr: Any, **params: Any) -> Outs:
        closed = prim.program(call_jaxpr)
        return expand(lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), order_of(series), primals, series)
    return rule


@symbolic
def _cond(primals: Any, series: Any, *, branches: tuple[ClosedJaxpr, ...], **params: Any) -> Outs:
    order = order_of(series)
    marks = marks_of(series[1:])
    reached = [expanded(b, order, marks)[1] for b in branches]
    joined = reached[0]
    for found in reached[1:]:
        joined = either(joined, found)
    new = tuple([expanded(b, order, marks, joined)[0] for b in branches])
    return _split(cond_p.bind(*primals, *flattened(series[1:]), branches=new, **params), joined, order)


def _settled(closed: ClosedJaxpr, order: int, before: Marks, init: Marks, after: Marks) -> tuple[Marks, ClosedJaxpr, Marks]:
    """Which parts of a loop's carry are not constant, its body on curves, and which of the body's results are not."""
    num_carry = len(init)
    num_rest = len(closed.jaxpr.outvars) - num_carry

    def attempt(carry: Marks, force: bool) -> tuple[Any, Marks]:
        forced = [*(carry if force else [False] * num_carry), *[False] * num_rest]
        new, out = expanded(closed, order, [*before, *carry, *after], forced)
        return (new, out), out[:num_carry]

    carry, (new, out) = settle(init, init, attempt)
    return carry, new, out


def _init_terms(init: Sequence[Any], series: Sequence[Any], carry: Marks, order: int) -> list[Any]:
    return [t for x, s, m in zip(init, series, carry, strict=True) if m for t in instantiated(x, s, order)]


@symbolic
def _scan(primals: Any, series: Any, *, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, **params: Any) -> Outs:
    order = order_of(series)
    of_consts, of_init, of_xs = pieces(marks_of(series), num_consts, num_carry)
    carry, new, out = _settled(jaxpr, order, of_consts, of_init, of_xs)
    num_ys = len(out) - num_carry
    extra_consts, extra_carry, extra_ys = order * sum(of_consts), order * sum(carry), order * sum(out[num_carry:])
    body = _grouped(new, len(jaxpr.jaxpr.invars), (num_consts, num_carry), (extra_consts, extra_carry),
                    len(out), (num_carry,), (extra_carry,))
    consts, init, xs = pieces(primals, num_consts, num_carry)
    s_consts, s_init, s_xs = pieces(series, num_consts, num_carry)
    terms = _init_terms(init, s_init, carry, order)
    outs = scan_p.bind(*consts, *flattened(s_consts), *init, *terms, *xs, *flattened(s_xs), jaxpr=body,
                       num_consts=num_consts + extra_consts, num_carry=num_carry + extra_carry, **params)
    last, t_last, ys, t_ys = pieces(outs, num_carry, extra_carry, num_ys)
    assert len(t_ys) == extra_ys
    return [*last, *ys], gathered([*t_last, *t_ys], [*carry, *out[num_carry:]], order)


def _grouped(new: ClosedJaxpr, num_in: int, sizes: Sequence[int], extra: Sequence[int], num_out: int,
             out_sizes: Sequence[int], out_extra: Sequence[int]) -> ClosedJaxpr:
    """The program with the derivatives of each group of arguments (and results) behind the group."""
    def order(total: int, n: int, sizes: Sequence[int], extra: Sequence[int]) -> list[int]:
        values, terms = pieces(range(n), *sizes), pieces(range(n, total), *extra)
        return [i for v, t in zip(values, terms, strict=True) for i in (*v, *t)]
    return permuted(new, order(len(new.jaxpr.invars), num_in, sizes, extra),
                    order(len(new.jaxpr.outvars), num_out, out_sizes, out_extra))


@symbolic
def _while(primals: Any, series: Any, *, cond_jaxpr: ClosedJaxpr, cond_nconsts: int, body_jaxpr: ClosedJaxpr,
           body_nconsts: int, **params: Any) -> Outs:
    order = order_of(series)
    _, of_consts, of_init = pieces(marks_of(series), cond_nconsts, body_nconsts)
    carry, new, _ = _settled(body_jaxpr, order, of_consts, of_init, [])
    extra = order * sum(of_consts)
    body = _grouped(new, len(body_jaxpr.jaxpr.invars), (body_nconsts,), (extra,), len(carry), (), ())
    cond_consts, consts, init = pieces(primals, cond_nconsts, body_nconsts)
    _, s_consts, s_init = pieces(series, cond_nconsts, body_nconsts)
    terms = _init_terms(init, s_init, carry, order)
    unused = [Var(v.aval) for v in body.jaxpr.invars[len(body.jaxpr.invars) - len(terms):]]
    cond = ClosedJaxpr(cond_jaxpr.jaxpr.replace(invars=[*cond_jaxpr.jaxpr.invars, *unused]), cond_jaxpr.consts)
    outs = while_p.bind(*cond_consts, *consts, *flattened(s_consts), *init, *terms, cond_jaxpr=cond,
                        cond_nconsts=cond_nconsts, body_jaxpr=body, body_nconsts=body_nconsts + extra, **params)
    return _split(outs, carry, order)


jet_rules.update({jit_p: _jit, remat_p: _checkpoint, cond_p: _cond, scan_p: _scan, while_p: _while,
                  call_p: _call(call_p), closed_call_p: _call(closed_call_p)})
