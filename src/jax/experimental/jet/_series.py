"""The trace of Taylor mode: values with the derivatives, up to some order, of the curve that they move along.

A rule for every primitive with a jvp rule comes for free. Along a curve ``x(t)``, ``y = f(x)`` has the derivative
``y'(t) = jvp_f(x(t))[x'(t)]``, so the derivatives of ``y`` up to order ``n`` are those of the jvp rule, applied to curves
``x`` and ``x'``, up to order ``n - 1`` (:func:`expand_jvp`). What rules meet again on the way down (``sin`` asks for
``cos``, which asks for ``sin``) is computed once, so that costs grow with a power of the order and not exponentially.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._ground.structural import instantiate_zeros
from jax._language import rules
from jax._language.avals import typeof
from jax._language.primitive import abstract_eval
from jax._language.trace import Trace, Tracer, current_trace, run_in, run_rule
from jax._language.zeros import Zero
from jax._transforms.jvp import apply_custom_jvp, concrete_of
from jax.dtypes import float0


class ZeroTerm:
    """A derivative that is zero."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "zero_term"


class ZeroSeries:
    """The derivatives of a constant."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "zero_series"


zero_term = ZeroTerm()
zero_series = ZeroSeries()

# (primals, series, **params) -> (out, series of out), lists of both with ``multiple_results``. Each of ``series`` is a list
# of as many derivatives as the order says. Those of constants are lists of zeros, or ``zero_series`` for rules that have an
# attribute ``symbolic_zeros``; ``zero_series`` may come out.
jet_rules: dict[Any, Callable[..., Any]] = {}


class JetTracer(Tracer):
    """A value, ``primal``, and the derivatives ``terms`` of its curve; Python may look at the value where it is known."""

    __slots__ = ("primal", "terms", "aval")

    def __init__(self, trace: Trace, primal: Any, terms: Any) -> None:
        self._trace = trace
        self.primal = primal
        self.terms = terms
        self.aval = typeof(primal)

    def _concrete(self) -> Any:
        return concrete_of(self.primal)

    def _origin_msg(self) -> str:
        return self.primal._origin_msg() if isinstance(self.primal, Tracer) else ""


class JetTrace(Trace):
    """Applies the rules for derivatives up to ``order``; operations on constants go to the parent unchanged."""

    __slots__ = ("tag", "parent", "order", "finished", "memo")

    def __init__(self, tag: Any, parent_trace: Trace, order: int, memo: dict[Any, Any] | None = None) -> None:
        self.tag = tag
        self.parent = parent_trace
        self.order = order
        self.staged = parent_trace.staged
        self.finished = False
        self.memo = memo

    def is_finished(self) -> bool:
        return self.finished

    @property
    def parent_trace(self) -> Trace:
        """The trace that the derivatives are computed under."""
        return self.parent

    def to_primal_terms_pair(self, value: Any) -> tuple[Any, Any]:
        """A value and its derivatives, ``zero_series`` for a constant."""
        if type(value) is JetTracer and value._trace is self:
            terms = value.terms
            if terms is not zero_series and any([t is zero_term for t in terms]):
                terms = [zeros_like(value.primal) if t is zero_term else t for t in terms]
            return value.primal, terms
        return value, zero_series

    def split(self, args: Sequence[Any]) -> tuple[list[Any], list[Any], bool]:
        pairs = [self.to_primal_terms_pair(x) for x in args]
        series = [s for _, s in pairs]
        return [p for p, _ in pairs], series, any([s is not zero_series for s in series])

    def wrap(self, primal: Any, series: Any) -> Any:
        return primal if series is zero_series else JetTracer(self, primal, series)

    def process(self, prim: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        primals, series, active = self.split(args)
        if not active:
            return run_rule(self.parent, prim.bind, tuple(primals), params)
        key = None if self.memo is None or prim.ref_primitive else _memo_key(prim, self.order, primals, series, params)
        found = None if key is None or self.memo is None else self.memo.get(key)
        if found is None:
            out, terms = run_rule(self.parent, apply_rule, (prim, self.order, primals, series, params, self.memo), {})
            if key is not None and self.memo is not None:
                self.memo[key] = out, terms, primals, series  # the operands too: their addresses are in the key
        else:
            out, terms = found[:2]
        if prim.multiple_results:
            return [self.wrap(p, s) for p, s in zip(out, terms, strict=True)]
        return self.wrap(out, terms)

    def custom_jvp(self, prim: Any, fun: Any, jvp: Any, args: Any, params: dict[str, Any]) -> Any:
        primals, series, active = self.split(args)
        if not active:
            return run_in(self.parent, prim.bind, fun, jvp, *primals, **params)

        def rule(primals: Any, tangents: Any) -> Any:
            return apply_custom_jvp(jvp, primals, tangents, params)
        outs, terms = run_in(self.parent, expand_jvp, rule, True, self.order, primals, series, {}, self.memo)
        return [self.wrap(p, s) for p, s in zip(outs, terms, strict=True)]

    def custom_vjp(self, prim: Any, fun: Any, fwd: Any, bwd: Any, args: Any, params: dict[str, Any]) -> Any:
        primals, _, active = self.split(args)
        if not active:
            return run_in(self.parent, prim.bind, fun, fwd, bwd, *primals, **params)
        raise TypeError(f"jet: {params.get('name', 'a function')} has a custom_vjp rule only, which says nothing of "
                        "derivatives along a curve. Define its derivative with jax.custom_jvp.")


def _memo_key(prim: Any, order: int, primals: Any, series: Any, params: dict[str, Any]) -> Any:
    ids = tuple([id(p) if s is zero_series else (id(p), *map(id, s)) for p, s in zip(primals, series, strict=True)])
    key = (prim, order, ids, *params.items())
    try:
        hash(key)
    except TypeError:  # a parameter of somebody else's that cannot be hashed
        return None
    return key


def zeros_like(x: Any) -> Any:
    """Zeros of the tangent type of ``x``."""
    return instantiate_zeros(Zero.from_primal_value(x))


def instantiated(primal: Any, series: Any, order: int) -> Any:
    """The derivatives as a list of arrays."""
    if series is zero_series:
        return [zeros_like(primal)] * order if order else []
    return [zeros_like(primal) if t is zero_term else t for t in series]


def apply_rule(prim: Any, order: int, primals: Sequence[Any], series: Sequence[Any], params: dict[str, Any],
               memo: dict[Any, Any] | None = None) -> tuple[Any, Any]:
    """The results of a primitive and their derivatives, under the current trace."""
    rule = jet_rules.get(prim)
    if rule is not None:
        if not getattr(rule, "symbolic_zeros", False):
            series = [instantiated(p, s, order) for p, s in zip(primals, series, strict=True)]
        return rule(tuple(primals), tuple(series), **params)
    jvp = rules.primitive_jvps.get(prim)
    if jvp is not None:
        return expand_jvp(jvp, prim.multiple_results, order, primals, series, params, memo)
    outs, _ = abstract_eval(prim, tuple([typeof(p) for p in primals]), params)
    listed = outs if prim.multiple_results else [outs]
    if any(a.to_tangent_aval().dtype != float0 for a in listed):
        raise NotImplementedError(
            f"jet: the primitive {prim.name!r} has neither a jet nor a jvp rule. Wrap its use in jax.custom_jvp, or "
            "register a rule: jax.experimental.jet.jet_rules[prim], or one through jax.interpreters.ad")
    out = prim.bind(*primals, **params)
    return out, [zero_series] * len(listed) if prim.multiple_results else zero_series


def expand(fun: Callable[..., Sequence[Any]], order: int, primals: Sequence[Any], series: Sequence[Any],
           memo: dict[Any, Any] | None = None) -> tuple[list[Any], list[Any]]:
    """Runs ``fun``, from leaves to leaves, on curves; ``zero_series`` for constants goes in and comes out."""
    if order == 0:
        outs = list(fun(*primals))
        return outs, [zero_series] * len(outs)
    trace = JetTrace(None, current_trace.get(), order, memo)
    args = [trace.wrap(p, s) for p, s in zip(primals, series, strict=True)]
    try:
        outs = run_in(trace, fun, *args)  # type: ignore[assignment]
    finally:
        trace.finished = True
    found, terms, _ = trace.split(outs)
    return found, terms


def expand_jvp(rule: Callable[..., Any], multiple: bool, order: int, primals: Sequence[Any], series: Sequence[Any],
               params: dict[str, Any], memo: dict[Any, Any] | None = None) -> tuple[Any, Any]:
    """The results of a primitive and their derivatives, by its jvp rule (see above)."""
    n, memo = len(primals), {} if memo is None else memo
    active = [s is not zero_series for s in series]
    nonzero: list[bool] = []

    def run(*leaves: Any) -> list[Any]:
        given = iter(leaves[n:])
        tangents = [next(given) if a else Zero.from_primal_value(p) for p, a in zip(primals, active, strict=True)]
        out, tangent = rule(list(leaves[:n]), tangents, **params)
        outs, found = (out, tangent) if multiple else ([out], [tangent])
        nonzero[:] = [type(t) is not Zero and typeof(t).dtype != float0 for t in found]
        return [*outs, *(t for t, nz in zip(found, nonzero, strict=True) if nz)]

    curves = [s for s in series if s is not zero_series]
    values, terms = expand(run, order - 1, [*primals, *(s[0] for s in curves)],
                           [*(s if s is zero_series else s[:-1] for s in series), *(s[1:] for s in curves)], memo)
    m = len(nonzero)
    tangents = iter(zip(values[m:], terms[m:], strict=True))
    result: list[Any] = []
    for nz in nonzero:
        if nz:
            first, rest = next(tangents)
            result.append([first, *instantiated(first, rest, order - 1)])
        else:
            result.append(zero_series)
    return (values[:m], result) if multiple else (values[0], result[0])
