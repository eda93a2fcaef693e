"""Rules for derivatives of higher order: of functions of one number, of linear and bilinear operations, of quotients."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import jax.numpy as jnp
from jax import lax
from jax._api.sharding_constraints import sharding_constraint_p
from jax._ground.families import like
from jax._ground.structural import add_any_p, broadcast_in_dim_p, convert_element_type_p, reduce_sum_p, transpose_p
from jax._language.avals import typeof
from jax._language.trace import is_bottom
from jax.dtypes import float0
from jax.experimental.jet._series import expand, instantiated, jet_rules, zero_series, zeros_like

Rule = Callable[..., Any]


def fact(n: Any) -> Any:
    """The factorial of ``n``, a whole number or an array of such, as floating-point numbers.

    >>> from jax.experimental.jet import fact
    >>> float(fact(4))
    24.0
    """
    if isinstance(n, (int, np.integer, np.ndarray)) or is_bottom():
        exact = np.vectorize(lambda k: float(math.factorial(int(k))), otypes=[np.float64])(np.asarray(n))
        return jnp.asarray(exact, dtype=float)
    return lax.round(lax.exp(lax.lgamma(lax.convert_element_type(n, jnp.result_type(float)) + 1)))


def scaled(number: int, x: Any) -> Any:
    """``number * x``."""
    return x if number == 1 else lax.mul(x, like(x, number))


def total(terms: Sequence[Any]) -> Any:
    """The sum."""
    return functools.reduce(add_any_p.bind, terms)


def order_of(series: Sequence[Any]) -> int:
    """How many derivatives there are."""
    return next(len(s) for s in series if s is not zero_series)


def symbolic(rule: Rule) -> Rule:
    """Marks a rule as one that takes ``zero_series``."""
    rule.symbolic_zeros = True  # type: ignore[attr-defined]
    return rule


# --- functions of one number -----------------------------------------------------------------------------------------

def def_deriv(prim: Any, deriv: Callable[[Any], Any]) -> None:
    """Gives an element-wise primitive of one operand the rule that follows from its derivative, a function of numbers.

    It need not be one with a jvp rule: those have the rule that follows from it.
    """
    jet_rules[prim] = functools.partial(deriv_prop, prim, deriv)


def deriv_prop(prim: Any, deriv: Callable[[Any], Any], primals_in: Sequence[Any], series_in: Sequence[Any],
               **params: Any) -> tuple[Any, Any]:
    """The rule of a function with the derivative ``deriv``: ``y' = deriv(x) x'``, and so on by Leibniz' rule.

    >>> import jax.numpy as jnp
    >>> from jax import lax
    >>> from jax.experimental import jet
    >>> [float(t) for t in jet.deriv_prop(lax.neg_p, lambda x: jnp.float32(-1), (2.,), ([1., 0.],))[1]]
    [-1.0, 0.0]
    """
    (x,), (terms,) = primals_in, series_in
    out = prim.bind(x, **params)
    if terms is zero_series:
        return out, zero_series
    terms = list(terms)
    n = len(terms)
    (slope,), (slopes,) = expand(lambda v: [deriv(v)], n - 1, [x], [terms[:-1]])
    curve = [slope, *instantiated(slope, slopes, n - 1)]
    return out, leibniz(lax.mul, curve, terms)


def leibniz(multiply: Callable[[Any, Any], Any], xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
    """The derivatives, from the zeroth on, of a product of curves with these derivatives."""
    return [total([scaled(math.comb(k, j), multiply(xs[j], ys[k - j])) for j in range(k + 1)]) for k in range(len(xs))]


def def_comp(prim: Any, comp: Callable[..., Any], **kwargs: Any) -> None:
    """Gives a primitive the rule of a function that computes the same: ``comp(*operands, **params, **kwargs)``."""
    def rule(primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        def run(*args: Any) -> list[Any]:
            out = comp(*args, **params, **kwargs)
            return list(out) if prim.multiple_results else [out]
        outs, terms = expand(run, order_of(series_in), primals_in, series_in)
        return (outs, terms) if prim.multiple_results else (outs[0], terms[0])
    jet_rules[prim] = symbolic(rule)


# --- constant and linear ones ----------------------------------------------------------------------------------------

def defzero(prim: Any) -> None:
    """Says that the results of a primitive are constant wherever they have derivatives."""
    jet_rules[prim] = symbolic(functools.partial(zero_prop, prim))


def zero_prop(prim: Any, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """The rule of primitives with constant results."""
    out = prim.bind(*primals_in, **params)
    return out, [zero_series] * len(out) if prim.multiple_results else zero_series


def deflinear(prim: Any) -> None:
    """Says that a primitive is linear in its operands that have derivatives, taken together; integers are fixed."""
    jet_rules[prim] = symbolic(functools.partial(linear_prop, prim))


def linear_prop(prim: Any, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """The rule of linear primitives, which are applied to derivatives as they are to values.

    >>> from jax import lax
    >>> from jax.experimental import jet
    >>> [float(t) for t in jet.linear_prop(lax.neg_p, (2.,), ([1., 0.5],))[1]]
    [-1.0, -0.5]
    """
    out = prim.bind(*primals_in, **params)
    outs = out if prim.multiple_results else [out]
    fixed = [_has_no_derivative(x) for x in primals_in]
    if all(s is zero_series for s in series_in) or all(map(_has_no_derivative, outs)):
        return out, [zero_series] * len(outs) if prim.multiple_results else zero_series
    order = order_of(series_in)
    zeros = [zeros_like(x) if s is zero_series and not f else None for x, s, f in
             zip(primals_in, series_in, fixed, strict=True)]
    terms = [prim.bind(*[x if f else z if s is zero_series else s[k] for x, s, f, z in
                         zip(primals_in, series_in, fixed, zeros, strict=True)], **params) for k in range(order)]
    if not prim.multiple_results:
        return out, terms
    return out, [zero_series if _has_no_derivative(o) else list(found)
                 for o, found in zip(outs, zip(*terms, strict=True), strict=True)]


def _has_no_derivative(x: Any) -> bool:
    return typeof(x).to_tangent_aval().dtype == float0


# Of what moves, adds up or converts numbers. Primitives that pad with a value of their own, or pick by comparing, have jvp
# rules that know how derivatives differ in that, and follow from these.
for _prim in (
    add_any_p, broadcast_in_dim_p, convert_element_type_p, reduce_sum_p, transpose_p, sharding_constraint_p,
    lax.neg_p, lax.add_p, lax.sub_p, lax.reshape_p, lax.squeeze_p, lax.rev_p, lax.copy_p, lax.real_p, lax.imag_p, lax.conj_p,
    lax.complex_p, lax.select_n_p, lax.slice_p, lax.pad_p, lax.concatenate_p, lax.split_p, lax.stack_p, lax.unstack_p,
    lax.tile_p, lax.cumsum_p, lax.fft_p, lax.dynamic_slice_p, lax.dynamic_update_slice_p, lax.reduce_window_sum_p,
):
    deflinear(_prim)


# --- products and quotients ------------------------------------------------------------------------------------------

def defbilinear(prim: Any) -> None:
    """Says that a primitive is linear in each of its two operands."""
    jet_rules[prim] = symbolic(functools.partial(bilinear_prop, prim))


def bilinear_prop(prim: Any, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """The rule of products."""
    (x, y), (xs, ys) = primals_in, series_in
    out = prim.bind(x, y, **params)
    if xs is zero_series:
        return out, zero_series if ys is zero_series else [prim.bind(x, t, **params) for t in ys]
    if ys is zero_series:
        return out, [prim.bind(t, y, **params) for t in xs]
    return out, leibniz(lambda a, b: prim.bind(a, b, **params), [x, *xs], [y, *ys])[1:]


for _prim in (lax.mul_p, lax.dot_general_p, lax.conv_general_dilated_p):
    defbilinear(_prim)


@symbolic
def _div(primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """From ``x = q y``: each derivative of ``x`` has the one of ``q`` that is looked for as its last term."""
    (x, y), (xs, ys) = primals_in, series_in
    out = lax.div_p.bind(x, y, **params)
    if ys is zero_series:
        return out, [lax.div_p.bind(t, y, **params) for t in xs]
    found = [out]
    for k in range(1, len(ys) + 1):
        known = total([scaled(math.comb(k, j), lax.mul(found[j], ys[k - j - 1])) for j in range(k)])
        rest = lax.neg(known) if xs is zero_series else lax.sub(xs[k - 1], known)
        found.append(lax.div_p.bind(rest, y, **params))
    return out, found[1:]


jet_rules[lax.div_p] = _div
def_comp(lax.square_p, lambda x: lax.mul(x, x))


def _power(x: Any, *, y: int) -> Any:
    if y < 0:
        return lax.div(like(x, 1), _power(x, y=-y))
    out = None
    while y:  # by the binary digits of the exponent; the derivatives of products are right at zero, too
        if y & 1:
            out = x if out is None else lax.mul(out, x)
        y >>= 1
        if y:
            x = lax.mul(x, x)
    return lax.full_like(x, 1) if out is None else out


def_comp(lax.integer_pow_p, _power)


# --- solutions of linear differential equations ----------------------------------------------------------------------

def _exp(primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """From ``y' = y x'``: one pass, where the rule that follows from the jvp rule takes one for each order."""
    (x,), (terms,) = primals_in, series_in
    found = [lax.exp_p.bind(x, **params)]
    for k in range(len(terms)):
        found.append(_last_of_product(found, terms, k))
    return found[0], found[1:]


def _last_of_product(xs: Sequence[Any], ys: Sequence[Any], k: int) -> Any:
    return total([scaled(math.comb(k, j), lax.mul(xs[j], ys[k - j])) for j in range(k + 1)])


def _def_pair(first: Any, second: Any, negative: bool) -> None:
    """``f' = g x'`` and ``g' = f x'``, or ``-f x'``: sines and cosines, circular and hyperbolic, together."""
    def rule(which: int, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        (x,), (terms,) = primals_in, series_in
        fs, gs = [first.bind(x, **params)], [second.bind(x, **params)]
        for k in range(len(terms)):
            f, g = _last_of_product(gs, terms, k), _last_of_product(fs, terms, k)
            fs.append(f)
            gs.append(lax.neg(g) if negative else g)
        found = (fs, gs)[which]
        return found[0], found[1:]
    jet_rules[first] = functools.partial(rule, 0)
    jet_rules[second] = functools.partial(rule, 1)


jet_rules[lax.exp_p] = _exp
_def_pair(lax.sin_p, lax.cos_p, True)
_def_pair(lax.sinh_p, lax.cosh_p, False)
