"""Ordinary differential equations: an adaptive Runge-Kutta solver whose gradients come from the adjoint equation.

Methods: the pair of order 5(4) of J. R. Dormand and P. J. Prince, A family of embedded Runge-Kutta formulae (1980), with
the interpolant of order 4 and the choice of steps of E. Hairer, S. P. Norsett and G. Wanner, Solving Ordinary
Differential Equations I (1993), II.4 to II.6. The adjoint equation: L. S. Pontryagin et al. (1962), as used by R. T. Q.
Chen et al., Neural Ordinary Differential Equations (2018).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from jax import core as core  # this and custom_derivatives are listed among the names of this module
from jax import custom_derivatives as custom_derivatives
from jax import dtypes, lax
from jax import numpy as jnp
from jax._api.common import check_callable
from jax._api.reverse import vjp
from jax._api.staged import eval_shape
from jax._api.vmap import vmap
from jax._base.source import api_boundary
from jax._language.avals import typeof
from jax.custom_derivatives import closure_convert, custom_vjp, zero_from_primal
from jax.flatten_util import ravel_pytree
from jax.tree_util import tree_leaves, tree_map

__all__ = ["odeint"]

# --- the Runge-Kutta pair -------------------------------------------------------------------------------------------

def _table(text: str) -> Any:
    """Fractions, one row per line, filled up with zeros on the right."""
    rows = [[float(Fraction(entry)) for entry in line.split()] for line in text.strip().splitlines()]
    width = max(map(len, rows))
    return np.array([row + [0.0] * (width - len(row)) for row in rows])


# Dormand and Prince, "A family of embedded Runge-Kutta formulae" (1980): after the place of each stage in the step, what it
# takes of the slopes of those before.
_TABLE = _table("""
    0     0            0             0            0         0             0      0
    1/5   1/5
    3/10  3/40         9/40
    4/5   44/45        -56/15        32/9
    8/9   19372/6561   -25360/2187   64448/6561   -212/729
    1     9017/3168    -355/33       46732/5247   49/176    -5103/18656
    1     35/384       0             500/1113     125/192   -2187/6784    11/84
""")
_NODES, _STAGES = _TABLE[:, 0], _TABLE[:, 1:]
_SOLUTION = _STAGES[6]
_ERROR = _SOLUTION - _table("5179/57600 0 7571/16695 393/640 -92097/339200 187/2100 1/40")[0]
# The interpolant in the middle of a step: half the solution, and what the continuous extension adds to it.
_EXTENSION = _table("-12715105075/11282082432 0 87487479700/32700410799 -10690763975/1880347072 "
                    "701980252875/199316789632 -1453857185/822651844 69997945/29380423")[0]
_FIRST, _LAST = np.eye(7)[0], np.eye(7)[6]
_MIDDLE = _SOLUTION / 2 + (_FIRST - _LAST) / 8 + _EXTENSION / 16


def runge_kutta_step(func: Callable[..., Any], y0: Any, f0: Any, t0: Any, dt: Any) -> tuple[Any, Any, Any, Any]:
    """One step of the pair.

    Args:
      func: ``(y, t) -> dy/dt`` on vectors.
      y0: the vector at ``t0``.
      f0: ``func(y0, t0)``.
      t0, dt: where the step begins, and its length.

    Returns:
      ``(y1, f1, error, k)``: the vector and derivative at ``t0 + dt``, an estimate of the error, and the derivatives at
      the seven stages.
    """
    y0, f0 = jnp.asarray(y0), jnp.asarray(f0)
    k = [f0]
    for i in range(1, 7):
        y = y0 + dt * _combine(_STAGES[i], k)
        k.append(func(y, t0 + _NODES[i].item() * dt))
    return y, k[6], dt * _combine(_ERROR, k), jnp.stack(k)


def _combine(weights: np.ndarray, k: Any) -> Any:
    """The sum of the stages with these weights."""
    terms = [w.item() * x for w, x in zip(weights, k, strict=False) if w]
    return functools.reduce(jnp.add, terms)


def fit_4th_order_polynomial(y0: Any, y1: Any, y_mid: Any, dy0: Any, dy1: Any, dt: Any) -> tuple[Any, ...]:
    """The quartic through values at both ends and in the middle of a step, with slopes at the ends.

    Returns:
      Its coefficients, highest power first, as a polynomial in the fraction of the step.
    """
    slope0, slope1 = dt * jnp.asarray(dy0), dt * jnp.asarray(dy1)
    a = 2 * (slope1 - slope0) - 8 * (y0 + y1) + 16 * y_mid
    b = 5 * slope0 - 3 * slope1 + 18 * y0 + 14 * y1 - 32 * y_mid
    c = slope1 - 4 * slope0 - 11 * y0 - 5 * y1 + 16 * y_mid
    return a, b, c, slope0, jnp.asarray(y0)


def interp_fit_dopri(y0: Any, y1: Any, k: Any, dt: Any) -> Any:
    """The interpolant of a step: coefficients as :func:`fit_4th_order_polynomial` gives them, stacked."""
    k = jnp.asarray(k)
    middle = y0 + dt * _combine(_MIDDLE, k)
    return jnp.stack(fit_4th_order_polynomial(y0, y1, middle, k[0], k[6], dt))


# --- the size of steps ----------------------------------------------------------------------------------------------

def abs2(x: Any) -> Any:
    """The squares of absolute values."""
    return x.real ** 2 + x.imag ** 2 if jnp.iscomplexobj(x) else x ** 2


def _norm(x: Any) -> Any:
    """The root of the mean square; its derivative is never asked for."""
    return jnp.sqrt(jnp.mean(abs2(x)))


def mean_error_ratio(error_estimate: Any, rtol: Any, atol: Any, y0: Any, y1: Any) -> Any:
    """The root mean square of errors in units of what the tolerances allow; a step is accepted up to 1."""
    allowed = atol + rtol * jnp.maximum(jnp.abs(y0), jnp.abs(y1))
    return _norm(error_estimate / allowed)


def initial_step_size(fun: Callable[..., Any], t0: Any, y0: Any, order: int, rtol: Any, atol: Any, f0: Any) -> Any:
    """A first step for a method of this order (Hairer, Norsett and Wanner, II.4).

    ``f0`` is ``fun(y0, t0)``.
    """
    scale = atol + jnp.abs(y0) * rtol
    size, slope = _norm(y0 / scale), _norm(f0 / scale)
    small = (size < 1e-5) | (slope < 1e-5)
    guess = jnp.where(small, 1e-6, 0.01 * size / jnp.where(small, 1, slope))
    f1 = fun(y0 + guess * f0, t0 + guess)
    bend = _norm((f1 - f0) / scale) / guess
    largest = jnp.maximum(slope, bend)
    flat = largest <= 1e-15
    step = jnp.where(flat, jnp.maximum(1e-6, guess * 1e-3), (0.01 / jnp.where(flat, 1, largest)) ** (1 / (order + 1)))
    return jnp.minimum(100 * guess, step)


def optimal_step_size(last_step: Any, mean_error_ratio: Any, safety: float = 0.9, ifactor: float = 10.0,
                      dfactor: float = 0.2, order: float = 5.0) -> Any:
    """The next step, given how the error of the last one compares with what is allowed.

    It grows by ``ifactor`` at most, and shrinks by ``dfactor`` at most, not at all after a step that was accepted.
    """
    ratio = jnp.asarray(mean_error_ratio)
    factor = safety * jnp.where(ratio == 0, 1, ratio) ** (-1 / order)
    least = jnp.where(ratio < 1, 1.0, dfactor)
    return last_step * jnp.where(ratio == 0, ifactor, jnp.clip(factor, least, ifactor))


# --- the solver -----------------------------------------------------------------------------------------------------

@api_boundary
def odeint(func: Callable[..., Any], y0: Any, t: Any, *args: Any, rtol: float = 1.4e-8, atol: float = 1.4e-8,
           mxstep: float = np.inf, hmax: float = np.inf) -> Any:
    """Solves ``dy/dt = func(y, t, *args)`` with ``y = y0`` at ``t[0]``.

    Args:
      func: from ``(y, t, *args)`` to the derivative, a tree like ``y``. It may close over arrays.
      y0: a tree of floating-point (also complex) arrays.
      t: a floating-point vector of times that increase, or decrease.
      *args: trees of arrays and numbers.
      rtol, atol: the relative and absolute error allowed in each step.
      mxstep: the largest number of steps between two times.
      hmax: the largest step.

    Returns:
      ``y`` at the times ``t``: a tree like ``y0`` with a new leading axis. It is NaN from the first time on that is not
      reached, because ``mxstep`` steps do not suffice or because the solution or its derivative is not finite.

    Raises:
      TypeError: arguments that are no arrays, values or times that are not floating-point, or a derivative of another
        structure, shape or dtype than ``y0``.
      ValueError: ``t`` is no vector, or empty.

    Gradients with respect to ``y0``, ``t``, ``args`` and what ``func`` closes over solve the adjoint equation backwards,
    with the same tolerances and in memory that does not grow with the number of steps. There is no forward mode
    (``jax.jvp``); ``jax.jacrev`` gives Jacobians.

    >>> import jax.numpy as jnp
    >>> y = odeint(lambda y, t: -y, jnp.array(1.), jnp.array([0., 1., 2.]))
    >>> jnp.allclose(y, jnp.exp(-jnp.arange(3.)), atol=1e-5).item()
    True
    """
    check_callable(func, "experimental.ode.odeint")
    y0, t = _check_state(y0), _check_times(t)
    for leaf in tree_leaves(args):
        try:
            typeof(leaf)
        except TypeError as error:
            raise TypeError(f"odeint: the arguments of {_name(func)} must be trees of arrays and numbers: {error} Close "
                            "over settings instead, for example with functools.partial.") from None
    _check_derivative(func, y0, t, args)
    # Times that decrease are those of the equation with time reversed.
    sign = jnp.where(t[-1] < t[0], -1, 1).astype(t.dtype)

    def forward(y: Any, s: Any, sign: Any, *args: Any) -> Any:
        return tree_map(lambda x: (sign * x).astype(x.dtype), func(y, sign * s, *args))
    converted, consts = closure_convert(forward, y0, t[0], sign, *args)
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not isinstance(value, (int, float, np.number)):
            raise TypeError(f"odeint: {name} must be a number, got {value!r}")
    return _solve(converted, (float(rtol), float(atol), float(mxstep), float(hmax)), y0, sign * t, sign, *args, *consts)


def _name(func: Any) -> str:
    return getattr(func, "__name__", None) or repr(func)


def _check_state(y0: Any) -> Any:
    leaves = tree_leaves(y0)
    for leaf in leaves:
        aval = typeof(leaf)
        if not dtypes.issubdtype(aval.dtype, np.inexact):
            raise TypeError(f"odeint: y0 must consist of floating-point arrays, got {aval.str_short()}; convert it, for "
                            "example with jnp.asarray(y0, float)")
    if not leaves:
        raise TypeError("odeint: y0 contains no arrays")
    return tree_map(jnp.asarray, y0)


def _check_times(t: Any) -> Any:
    aval = typeof(t)
    if not dtypes.issubdtype(aval.dtype, np.floating):
        raise TypeError(f"odeint: t must be a vector of floats, got {aval.str_short()}; convert it, for example with "
                        "jnp.asarray(t, float)")
    if len(aval.shape) != 1 or aval.shape[0] == 0:
        raise ValueError(f"odeint: t must be a vector with the time of y0 and those to solve for, got {aval.str_short()}")
    return jnp.asarray(t)


def _check_derivative(func: Any, y0: Any, t: Any, args: Any) -> None:
    expected = eval_shape(lambda y: y, y0)
    got = eval_shape(func, y0, t[0], *args)
    if _types(got) != _types(expected):
        raise TypeError(f"odeint: {_name(func)} must return a derivative with the structure, shapes and dtypes of y0, which "
                        f"are {_types(expected)}, but it returned {_types(got)}")


def _types(tree: Any) -> Any:
    return tree_map(lambda a: f"{a.dtype}{list(a.shape)}", tree)


def ravel_first_arg(f: Callable[..., Any], unravel: Callable[[Any], Any], debug_info: Any = None) -> Callable[..., Any]:
    """``f`` with its first argument and its result as vectors; ``unravel`` makes the argument of a vector.

    ``debug_info`` is accepted for compatibility: names for messages are found by themselves.
    """
    @functools.wraps(f)
    def on_vectors(y: Any, *args: Any) -> Any:
        return ravel_pytree(f(unravel(y), *args))[0]
    return on_vectors


def _solve(func: Callable[..., Any], options: tuple[float, ...], y0: Any, t: Any, *args: Any) -> Any:
    flat, unravel = ravel_pytree(y0)
    rows = _solve_flat(ravel_first_arg(func, unravel), options, flat, t, *args)
    return _each_row(unravel, rows)


def _each_row(unravel: Callable[[Any], Any], rows: Any) -> Any:
    return vmap(unravel)(rows)


@functools.partial(custom_vjp, nondiff_argnums=(0, 1))
def _solve_flat(func: Callable[..., Any], options: tuple[float, ...], y0: Any, t: Any, *args: Any) -> Any:
    rtol, atol, mxstep, hmax = options

    def f(y: Any, t: Any) -> Any:
        return func(y, t, *args)

    def advance(state: Any) -> Any:
        count, target, y, fy, t, dt, _, _ = state
        new, f_new, error, k = runge_kutta_step(f, y, fy, t, dt)
        ratio = mean_error_ratio(error, rtol, atol, y, new)
        accept = (ratio <= 1) & jnp.all(jnp.isfinite(f_new))
        proposed = jnp.where(jnp.isfinite(ratio), optimal_step_size(dt, ratio), dt * 0.2)
        step = jnp.where(accept, dt, 0).astype(t.dtype)
        piece = jnp.where(accept, interp_fit_dopri(y, new, k, dt).astype(y.dtype), state[7])
        y, fy = jnp.where(accept, new, y), jnp.where(accept, f_new, fy)
        last = jnp.where(accept, t, state[6])
        # Steps too small to change the time end the loop.
        dt = jnp.where(accept | (t + proposed > t), jnp.minimum(proposed, hmax), 0).astype(t.dtype)
        return count + 1, target, y, fy, t + step, dt, last, piece

    def unfinished(state: Any) -> Any:
        count, target, _, _, t, dt, _, _ = state
        return (t < target) & (count < mxstep) & (dt > 0)

    def reach(carry: Any, target: Any) -> Any:
        state = lax.while_loop(unfinished, advance, (jnp.zeros((), np.int32), target, *carry))
        _, _, y, fy, t, dt, last, piece = state
        fraction = jnp.where(t > last, (target - last) / jnp.where(t > last, t - last, 1), 0)
        out = jnp.where(t >= target, jnp.polyval(piece, fraction.astype(piece.dtype)), np.nan)
        return (y, fy, t, dt, last, piece), out

    fy = f(y0, t[0])
    dt = jnp.clip(initial_step_size(f, t[0], y0, 4, rtol, atol, fy), 0, hmax).astype(t.dtype)
    # The interpolant of no step at all is y0.
    piece = jnp.concatenate([jnp.zeros((4, *y0.shape), y0.dtype), y0[None]])
    _, rest = lax.scan(reach, (y0, fy, t[0], dt, t[0], piece), t[1:])
    return jnp.concatenate([y0[None], rest])


# --- gradients ------------------------------------------------------------------------------------------------------

def _forward(func: Any, options: Any, y0: Any, t: Any, *args: Any) -> Any:
    ys = _solve_flat(func, options, y0, t, *args)
    return ys, (ys, t, args)


def _backward(func: Callable[..., Any], options: tuple[float, ...], residuals: Any, g: Any) -> tuple[Any, ...]:
    """From the last time to the first, ``y`` and its adjoint are solved for, and what arguments contribute is summed.

    The adjoint ``a`` of ``y`` follows ``da/dt = -a df/dy``, and the gradient of the arguments grows by ``a df/dargs``.
    """
    ys, t, args = residuals
    leaves = tree_leaves(args)
    moving = [i for i, x in enumerate(leaves) if dtypes.issubdtype(typeof(x).dtype, np.inexact)]
    joined, split = ravel_pytree([jnp.asarray(leaves[i]) for i in moving])

    def with_arguments(flat: Any) -> Any:
        own = list(leaves)
        for i, x in zip(moving, split(flat), strict=True):
            own[i] = x
        return _like(args, own)

    def augmented(state: Any, s: Any, end: Any, joined: Any) -> Any:
        y, adjoint, _ = state  # time runs backwards: s = end - t
        dy, pull = vjp(lambda y, p: func(y, end - s, *with_arguments(p)), y, joined)
        dadjoint, dparams = pull(adjoint)
        return -dy, dadjoint, dparams

    def interval(carry: Any, piece: Any) -> Any:
        adjoint, params = carry
        y, begin, end, g_begin = piece
        states = _solve(augmented, options, (y, adjoint, params), jnp.stack([jnp.zeros_like(end), end - begin]), end, joined)
        _, adjoint, params = tree_map(lambda x: x[-1], states)
        return (adjoint + g_begin, params), None

    start = (g[-1], jnp.zeros_like(joined))
    (adjoint, params), _ = lax.scan(interval, start, (ys[1:], t[:-1], t[1:], g[:-1]), reverse=True)
    slopes = _slopes(func, ys, t, args)
    # Moving a time moves the solution along its slope; moving the first one moves all of it the other way.
    of_times = _real_products(g, slopes).at[0].set(-_real_products(adjoint - g[0], slopes[0])).astype(t.dtype)
    found: list[Any] = [None] * len(leaves)
    for i, x in zip(moving, split(params), strict=True):
        found[i] = x
    return adjoint, of_times, *_like_with_none(args, found)


def _slopes(func: Any, ys: Any, t: Any, args: Any) -> Any:
    return vmap(lambda y, s: func(y, s, *args))(ys, t)


def _real_products(g: Any, slopes: Any) -> Any:
    return (g * slopes).real.sum(-1)


def _like(tree: Any, leaves: Sequence[Any]) -> Any:
    rest = iter(leaves)
    return tree_map(lambda _: next(rest), tree)


def _like_with_none(args: tuple[Any, ...], found: Sequence[Any]) -> tuple[Any, ...]:
    """Cotangents of the arguments; those that are integers have none."""
    rest = iter(found)

    def pick(x: Any) -> Any:
        value = next(rest)
        return zero_from_primal(x) if value is None else value
    return tuple([tree_map(pick, a) for a in args])


_solve_flat.defvjp(_forward, _backward)
