"""Minimisation by quasi-Newton methods (Nocedal and Wright, "Numerical Optimization", 2nd ed., 2006, chapters 6, 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jax import dtypes, lax
from jax import numpy as jnp
from jax._api.grad import value_and_grad
from jax._api.staged import eval_shape
from jax.scipy.optimize._line_search import search

_OPTIONS = {
    "bfgs": {"gtol": 1e-5, "norm": np.inf, "maxiter": None, "line_search_maxiter": 10},
    "l-bfgs-experimental-do-not-rely-on-this": {"gtol": 1e-5, "norm": np.inf, "maxiter": None, "maxls": 20, "maxcor": 10},
}


class OptimizeResults(NamedTuple):
    """What :func:`minimize` returns.

    Attributes:
      x: the solution.
      success: whether the gradient became small enough.
      status: 0 for success; 1: too many iterations; 3: no step downhill was found (with rounding, none may exist).
      fun, jac: the function's value and gradient there.
      hess_inv: an approximation of the inverse Hessian; None for limited memory.
      nfev, njev: how often the function and its gradient were evaluated.
      nit: the number of iterations.
    """
    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


def minimize(fun: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), *, method: str, tol: float | None = None,
             options: Mapping[str, Any] | None = None) -> OptimizeResults:
    """Minimises a function of several variables, within ``jit`` if need be.

    Args:
      fun: ``fun(x, *args)`` is a real scalar. It must be differentiable.
      x0: where to start, of shape ``(n,)``. Integers are converted to floats.
      args: a tuple of further arguments.
      method: ``"BFGS"``, in any case. (Also ``"l-bfgs-experimental-do-not-rely-on-this"``, with limited memory.)
      tol: the same as the option ``gtol``.
      options: ``gtol`` (1e-5: the norm of the gradient that ends the iteration), ``norm`` (inf: its order), ``maxiter``
        (``200 n``) and ``line_search_maxiter`` (10); with limited memory instead of that ``maxls`` (20) and ``maxcor``
        (10: how many steps are remembered).

    Returns:
      :class:`OptimizeResults`. The iterations cannot be differentiated in reverse mode; see ``lax.custom_root`` for the
      derivative of a solution.

    Raises:
      ValueError: for other methods and for ``x0`` that is no vector.
      TypeError: when ``args`` is no tuple, for unknown options, complex numbers, and when ``fun`` gives no real scalar.

    Deviations from SciPy: no ``jac``, ``hess``, ``bounds``, ``constraints`` and ``callback``. A line search in which no
    step meets Wolfe's conditions may still go downhill; then the iteration goes on.

    >>> import jax.numpy as jnp
    >>> result = minimize(lambda x: jnp.sum((x - 1.0) ** 2), jnp.zeros(2), method="BFGS")
    >>> [round(v, 3) for v in result.x.tolist()], bool(result.success)
    ([1.0, 1.0], True)
    """
    if not isinstance(args, tuple):
        raise TypeError(f"args argument to jax.scipy.optimize.minimize must be a tuple, got {args!r}")
    name = method.lower() if isinstance(method, str) else method
    if name not in _OPTIONS:
        raise ValueError(f"Method {method!r} not recognized: jax.scipy.optimize.minimize has 'BFGS'")
    settings = dict(_OPTIONS[name])
    given = dict(options or {})
    unknown = sorted(set(given) - set(settings))
    if unknown:
        raise TypeError(f"jax.scipy.optimize.minimize: {method} has no option {', '.join(unknown)}; it has "
                        f"{', '.join(settings)}")
    if tol is not None:
        settings["gtol"] = tol
    settings |= given
    x0 = jnp.asarray(x0)
    x0 = x0.astype(dtypes.to_inexact_dtype(x0.dtype))
    if jnp.issubdtype(x0.dtype, jnp.complexfloating):
        raise TypeError("jax.scipy.optimize.minimize: x0 must be real; take real and imaginary parts as variables")
    if x0.ndim != 1:
        raise ValueError(f"jax.scipy.optimize.minimize: x0 must have one axis, got shape {x0.shape}; see "
                         "jax.flatten_util.ravel_pytree")
    out = eval_shape(fun, x0, *args)
    if getattr(out, "shape", None) != () or not jnp.issubdtype(out.dtype, jnp.floating):
        raise TypeError(f"jax.scipy.optimize.minimize: fun must give a real scalar, got {out}")
    slopes = value_and_grad(fun)
    solver = _bfgs if name == "bfgs" else _limited_memory
    return solver(lambda x: slopes(x, *args), x0, settings)


class _State(NamedTuple):
    x: Any
    value: Any
    gradient: Any
    memory: Any  # of past steps, in the form of the method
    iterations: Any
    evaluations: Any
    stuck: Any


def _iterate(fun: Any, x0: Any, settings: dict[str, Any], searches: int, memory: Any, direct: Any, learn: Any) -> Any:
    """Steps along ``direct(memory, gradient, iterations)`` until the gradient is small."""
    limit = 200 * x0.shape[0] if settings["maxiter"] is None else settings["maxiter"]

    def small(gradient: Any) -> Any:
        return jnp.linalg.norm(gradient, ord=settings["norm"]) <= settings["gtol"]

    def unfinished(s: _State) -> Any:
        return ~small(s.gradient) & (s.iterations < limit) & ~s.stuck

    def step(s: _State) -> _State:
        direction = direct(s.memory, s.gradient)
        # rounding may have left a direction uphill: then straight down
        direction = jnp.where(jnp.dot(direction, s.gradient) < 0, direction, -s.gradient)
        size = jnp.linalg.norm(s.gradient)
        first = jnp.where(s.iterations == 0, jnp.minimum(1, 1 / jnp.where(size > 0, size, 1)), 1).astype(s.value.dtype)
        found = search(fun, s.x, direction, s.value, s.gradient, first, searches)
        usable = found.good | found.downhill
        x, value, gradient = (jnp.where(usable, new, old) for new, old in
                              ((found.x, s.x), (found.value, s.value), (found.gradient, s.gradient)))
        memory = learn(s.memory, x - s.x, gradient - s.gradient, s.iterations)
        return _State(x, value, gradient, memory, s.iterations + 1, s.evaluations + found.evaluations, ~usable)

    value, gradient = fun(x0)
    none = jnp.zeros((), int)
    start = _State(x0, value, gradient, memory, none, none + 1, jnp.isnan(value))
    end = lax.while_loop(unfinished, step, start)
    success = small(end.gradient)
    status = jnp.where(success, 0, jnp.where(end.stuck, 3, 1)).astype(int)
    return end, success, status


def _bfgs(fun: Any, x0: Any, settings: dict[str, Any]) -> OptimizeResults:
    identity = jnp.eye(x0.shape[0], dtype=x0.dtype)

    def learn(inverse: Any, s: Any, y: Any, iterations: Any) -> Any:
        sy, yy = jnp.dot(s, y), jnp.dot(y, y)
        fine = sy > 0  # else there is no positive definite matrix for it
        rho = 1 / jnp.where(fine, sy, 1)
        # before the first update a multiple of the identity that has the right size
        known = jnp.where((iterations == 0) & fine, sy / jnp.where(yy > 0, yy, 1), 1) * inverse
        left = identity - rho * jnp.outer(s, y)
        return jnp.where(fine, left @ known @ left.T + rho * jnp.outer(s, s), inverse)

    searches = settings["line_search_maxiter"]
    end, success, status = _iterate(fun, x0, settings, searches, identity, lambda h, g: -(h @ g), learn)
    return OptimizeResults(end.x, success, status, end.value, end.gradient, end.memory, end.evaluations, end.evaluations,
                           end.iterations)


def _limited_memory(fun: Any, x0: Any, settings: dict[str, Any]) -> OptimizeResults:
    n, m = x0.shape[0], settings["maxcor"]
    memory = (jnp.zeros((m, n), x0.dtype), jnp.zeros((m, n), x0.dtype), jnp.zeros(m, x0.dtype))  # newest last

    def learn(memory: Any, s: Any, y: Any, iterations: Any) -> Any:
        del iterations
        sy = jnp.dot(s, y)
        fine = sy > 0
        rho = 1 / jnp.where(fine, sy, 1)
        return tuple(jnp.where(fine, jnp.concatenate([old[1:], jnp.asarray(new)[None]]), old)
                     for old, new in zip(memory, (s, y, rho), strict=True))

    def direct(memory: Any, gradient: Any) -> Any:
        steps, changes, rhos = memory

        def down(q: Any, past: Any) -> Any:
            s, y, rho = past
            alpha = rho * jnp.dot(s, q)
            return q - alpha * y, alpha

        def up(r: Any, past: Any) -> Any:
            s, y, rho, alpha = past
            return r + s * (alpha - rho * jnp.dot(y, r)), None

        q, alphas = lax.scan(down, gradient, memory, reverse=True)
        yy = jnp.dot(changes[-1], changes[-1])
        size = jnp.where(yy > 0, 1 / jnp.where(yy > 0, rhos[-1] * yy, 1), 1)
        r, _ = lax.scan(up, size * q, (steps, changes, rhos, alphas))
        return -r

    end, success, status = _iterate(fun, x0, settings, settings["maxls"], memory, direct, learn)
    return OptimizeResults(end.x, success, status, end.value, end.gradient, None, end.evaluations, end.evaluations,
                           end.iterations)
