"""``jet`` itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from jax._api.common import FlatFun, check_callable, check_leaf_types
from jax._base.source import api_boundary
from jax._ground.structural import zeros_of
from jax._language.avals import typeof
from jax.dtypes import float0
from jax.experimental.jet import _calls  # noqa: F401  (the rules of calls, branches and loops)
from jax.experimental.jet._rules import scaled
from jax.experimental.jet._series import expand, instantiated, zero_series, zero_term
from jax.lax import convert_element_type, div, full_like
from jax.numpy import can_cast
from jax.tree_util import tree_flatten, tree_structure, tree_unflatten


@api_boundary
def jet(fun: Callable[..., Any], primals: Sequence[Any], series: Sequence[Any], factorial_scaled: bool = True) -> Any:
    """The value of ``fun`` and its derivatives up to some order along curves: Taylor-mode differentiation.

    Where an argument ``x`` moves along ``x(t)`` with ``x(0)`` its primal and ``x^(k)(0)`` entry ``k - 1`` of its series, the
    result ``y(t) = fun(x(t))`` comes as ``y(0)`` and the list of ``y^(k)(0)``. The cost grows with the square of the order
    for arithmetic, exponentials, sines and cosines, and with its cube for most other functions; that of nested ``jvp`` grows
    exponentially.

    Args:
      fun: a function of (trees of) arrays.
      primals: a tuple (or list) of arguments of floating-point or complex dtypes.
      series: for each of ``primals`` a tuple (or list) of derivatives, of its tree structure, shapes and dtypes, all of one
        length, the order. ``zero_term`` stands for a derivative that is zero, ``zero_series`` for those of a constant, as
        integers are.
      factorial_scaled: whether series are derivatives; else they are coefficients of Taylor polynomials, smaller by ``k!``.

    Returns:
      ``(output, series)``: for each leaf of the output a list of its derivatives; for integers, zeros of dtype ``float0``.

    Raises:
      TypeError: structures or dtypes do not match; ``fun`` uses a function with a ``custom_vjp`` rule.
      ValueError: the numbers of primals, of derivatives or shapes do not match.
      NotImplementedError: ``fun`` uses a primitive that has neither an entry in ``jet_rules`` nor a jvp rule.

    Rules of ``jax.custom_jvp`` functions are used, and are differentiated further where the order asks for it. Operations
    without an entry of their own are expanded through their jvp rules. The method is propagation of Taylor series (Griewank
    and Walther, Evaluating Derivatives, chapter 13; Bettencourt, Johnson and Duvenaud, 2019).

    >>> import jax.numpy as jnp
    >>> from jax.experimental.jet import jet
    >>> y, (dy, d2y) = jet(lambda x: x ** 3, (2.,), ([1., 0.],))
    >>> print(y, dy, d2y)
    8.0 12.0 12.0
    """
    check_callable(fun, "jet")
    for name, given in (("primals", primals), ("series", series)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"jet takes {name} as a tuple or list with one entry for each argument of the function, got "
                            f"{given!r} of type {type(given).__name__}")
    if len(primals) != len(series):
        raise ValueError(f"jet: {len(primals)} primals were given with {len(series)} series; there must be one for each")
    leaves, tree = tree_flatten((tuple(primals), {}))
    check_leaf_types(leaves, tree, "primal ", "jet")
    order = _order(series)
    flat_series = [s for i, p in enumerate(primals) for s in _leaf_series(i, p, series[i])]
    if not factorial_scaled:
        flat_series = [s if s is zero_series else [scaled(math.factorial(k + 1), t) for k, t in enumerate(s)]
                       for s in flat_series]
    flat = FlatFun(fun, tree)
    if order == 0:
        flat_series = [zero_series] * len(leaves)
    outs, found = expand(flat, order, leaves, flat_series)
    avals = check_leaf_types(outs, flat.out_tree, "output ", "jet")
    terms = [_instantiated(o, a, s, order, factorial_scaled) for o, a, s in zip(outs, avals, found, strict=True)]
    return tree_unflatten(flat.out_tree, outs), tree_unflatten(flat.out_tree, terms)


def _order(series: Sequence[Any]) -> int:
    lengths = []
    for i, s in enumerate(series):
        if s is zero_series:
            continue
        try:
            lengths.append(len(s))
        except TypeError:
            raise TypeError(f"jet: the series of argument {i} must be a tuple or list of derivatives, or zero_series; got "
                            f"{s!r} of type {type(s).__name__}") from None
    if len(set(lengths)) > 1:
        raise ValueError(f"jet: series must be of one length, the order, but those given are of lengths {lengths}. Fill up "
                         "the shorter ones with jet.zero_term.")
    return lengths[0] if lengths else 0


def _leaf_series(i: int, primal: Any, series: Any) -> list[Any]:
    """The derivatives of each leaf of one argument."""
    leaves, tree = tree_flatten(primal)
    if series is zero_series:
        return [zero_series] * len(leaves)
    columns: list[list[Any]] = [[] for _ in leaves]
    for k, term in enumerate(series):
        if term is zero_term:
            found = [zero_term] * len(leaves)
        else:
            found, got = tree_flatten(term)
            if got != tree:
                raise TypeError(f"jet: derivative {k + 1} of argument {i} has the structure {got}, the argument "
                                f"{tree_structure(primal)}; they must be equal. The series of an argument is a list of such "
                                "trees.")
        for column, leaf, t in zip(columns, leaves, found, strict=True):
            column.append(_checked(i, k + 1, leaf, t))
    return [zero_series if all(t is zero_term for t in column) else instantiated(leaf, column, len(column))
            for leaf, column in zip(leaves, columns, strict=True)]


def _checked(i: int, k: int, primal: Any, term: Any) -> Any:
    want = typeof(primal).to_tangent_aval()
    if term is zero_term:
        return term
    try:
        got = typeof(term)
    except TypeError as error:
        raise TypeError(f"jet: derivative {k} of argument {i}: {error}") from None
    if want.dtype == float0:
        if got.dtype == float0:
            return zero_term
        raise TypeError(f"jet: argument {i} of type {typeof(primal).str_short()} has no derivatives; make it "
                        "floating-point, or give jet.zero_series for it")
    if got.shape != want.shape:
        raise ValueError(f"jet: derivative {k} of argument {i} has the shape {got.shape}, the argument {want.shape}; they "
                         "must be equal")
    if got.dtype == want.dtype:
        return term
    if not got.weak_type and not can_cast(got.dtype, want.dtype):
        raise TypeError(f"jet: derivative {k} of argument {i} has the dtype {got.dtype}, the argument {want.dtype}; convert "
                        "it, for example jnp.asarray(derivative, primal.dtype)")
    return convert_element_type(term, want.dtype)


def _instantiated(out: Any, aval: Any, series: Any, order: int, factorial_scaled: bool) -> list[Any]:
    if series is zero_series:
        return [zeros_of(aval.to_tangent_aval())] * order if order else []
    if factorial_scaled:
        return list(series)
    return [t if k == 0 else div(t, full_like(t, math.factorial(k + 1))) for k, t in enumerate(series)]
