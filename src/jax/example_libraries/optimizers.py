"""First-order optimizers as triples of functions.

``init_fun, update_fun, get_params = adam(1e-3)``, and then::

    state = init_fun(params)
    state = update_fun(step, gradient, state)
    params = get_params(state)

``params`` is a tree of arrays, ``step`` the number of the step counted from zero. The functions are pure, so they can be
used under ``jax.jit``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jax import dtypes, lax
from jax import numpy as jnp
from jax import tree_util as tree_util  # listed among the names of this module
from jax._language.avals import typeof
from jax.tree_util import (
    register_pytree_node,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_structure,
    tree_unflatten,
)

__all__ = [
    "JoinPoint", "Optimizer", "OptimizerState", "adagrad", "adam", "adamax", "clip_grads", "constant",
    "exponential_decay", "inverse_time_decay", "l2_norm", "make_schedule", "momentum", "nesterov", "optimizer",
    "pack_optimizer_state", "piecewise_constant", "polynomial_decay", "rmsprop", "rmsprop_momentum", "sgd", "sm3",
    "unpack_optimizer_state",
]

Schedule = Callable[[Any], Any]


class OptimizerState(NamedTuple):
    """The state of an optimizer: for each parameter the leaves of its own state, and the structures of all of it."""

    packed_state: tuple[list[Any], ...]
    tree_def: Any
    subtree_defs: tuple[Any, ...]


register_pytree_node(OptimizerState, lambda s: ((s.packed_state,), (s.tree_def, s.subtree_defs)),
                     lambda static, children: OptimizerState(children[0], *static))


class Optimizer(NamedTuple):
    """``init_fn(params) -> state``, ``update_fn(step, gradient, state) -> state``, ``params_fn(state) -> params``."""

    init_fn: Callable[[Any], OptimizerState]
    update_fn: Callable[[Any, Any, OptimizerState], OptimizerState]
    params_fn: Callable[[OptimizerState], Any]


def optimizer(opt_maker: Callable[..., tuple[Callable[..., Any], ...]]) -> Callable[..., Optimizer]:
    """Decorator that makes an optimizer of trees from one of single arrays.

    Args:
      opt_maker: takes settings and returns three functions: ``init(x) -> state``, ``update(step, gradient, state) ->
        state`` and ``get_params(state) -> x``. States are trees of arrays.

    Returns:
      A function of the same settings that returns an :class:`Optimizer`.

    >>> import jax.numpy as jnp
    >>> @optimizer
    ... def descent(rate):
    ...     return lambda x: x, lambda step, g, x: x - rate * g, lambda x: x
    >>> init_fun, update_fun, get_params = descent(0.5)
    >>> get_params(update_fun(0, {"w": jnp.ones(2)}, init_fun({"w": jnp.zeros(2)})))["w"].tolist()
    [-0.5, -0.5]
    """
    @functools.wraps(opt_maker)
    def make(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def init_fn(params: Any) -> OptimizerState:
            leaves, tree = tree_flatten(params)
            return _packed([init(jnp.asarray(x)) for x in leaves], tree)

        def update_fn(step: Any, grads: Any, state: OptimizerState) -> OptimizerState:
            leaves, tree = tree_flatten(grads)
            if tree != state.tree_def:
                raise TypeError(f"the optimizer was initialised with parameters of the structure {state.tree_def}, and its "
                                f"update function got gradients of the structure {tree}; they must be equal")
            new = _packed([update(step, g, s) for g, s in zip(leaves, _states(state), strict=True)], tree)
            if new.subtree_defs != state.subtree_defs:
                raise TypeError(f"the update function of the optimizer {opt_maker.__name__} must keep the structure of its "
                                f"state, which was {state.subtree_defs}; it returned {new.subtree_defs}")
            return new

        def params_fn(state: OptimizerState) -> Any:
            return tree_unflatten(state.tree_def, [get_params(s) for s in _states(state)])

        return Optimizer(init_fn, update_fn, params_fn)
    return make


def _packed(states: Sequence[Any], tree: Any) -> OptimizerState:
    pairs = [tree_flatten(s) for s in states]
    return OptimizerState(tuple([leaves for leaves, _ in pairs]), tree, tuple([d for _, d in pairs]))


def _states(state: OptimizerState) -> list[Any]:
    return [tree_unflatten(d, leaves) for d, leaves in zip(state.subtree_defs, state.packed_state, strict=True)]


# --- optimizers -----------------------------------------------------------------------------------------------------

@optimizer
def sgd(step_size: Any) -> Any:
    """Gradient descent. ``step_size`` is a number or a schedule, a function of the step, here and below."""
    rate = make_schedule(step_size)
    return lambda x: x, lambda i, g, x: x - rate(i) * g, lambda x: x


@optimizer
def momentum(step_size: Any, mass: Any) -> Any:
    """Gradient descent with momentum: the velocity is ``mass`` times the last one plus the gradient."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * velocity, velocity
    return _beside_zeros, update, _first


@optimizer
def nesterov(step_size: Any, mass: Any) -> Any:
    """Nesterov's accelerated gradient, in the form with the gradient at the current parameters."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * (mass * velocity + g), velocity
    return _beside_zeros, update, _first


@optimizer
def adagrad(step_size: Any, momentum: Any = 0.9) -> Any:
    """Adagrad (Duchi, Hazan and Singer, 2011) with momentum: steps scaled by the root of the sum of squared gradients."""
    rate = make_schedule(step_size)

    def init(x: Any) -> Any:
        return x, jnp.zeros_like(x), jnp.zeros_like(x)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, total, velocity = state
        total = total + g * g
        velocity = momentum * velocity + (1 - momentum) * g * _inverse_root(total)
        return x - rate(i) * velocity, total, velocity
    return init, update, _first


@optimizer
def rmsprop(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8) -> Any:
    """RMSProp (Tieleman and Hinton, 2012): steps scaled by a running mean, of decay ``gamma``, of squared gradients."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean = state
        mean = gamma * mean + (1 - gamma) * g * g
        return x - rate(i) * g / jnp.sqrt(mean + eps), mean
    return _beside_zeros, update, _first


@optimizer
def rmsprop_momentum(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8, momentum: Any = 0.9) -> Any:
    """:func:`rmsprop` with momentum on its steps."""
    rate = make_schedule(step_size)

    def init(x: Any) -> Any:
        return x, jnp.zeros_like(x), jnp.zeros_like(x)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, step = state
        mean = gamma * mean + (1 - gamma) * g * g
        step = momentum * step + rate(i) * g / jnp.sqrt(mean + eps)
        return x - step, mean, step
    return init, update, _first


@optimizer
def adam(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Any:
    """Adam (Kingma and Ba, 2015): running means of gradients and of their squares, corrected for their start at zero."""
    rate = make_schedule(step_size)

    def init(x: Any) -> Any:
        return x, jnp.zeros_like(x), jnp.zeros_like(x)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, square = state
        mean = b1 * mean + (1 - b1) * g
        square = b2 * square + (1 - b2) * g * g
        step = (mean / _started(b1, i, mean)) / (jnp.sqrt(square / _started(b2, i, square)) + eps)
        return x - rate(i) * step, mean, square
    return init, update, _first


@optimizer
def adamax(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Any:
    """Adamax (Kingma and Ba, 2015, section 7): :func:`adam` with a decaying maximum in place of the root mean square."""
    rate = make_schedule(step_size)

    def init(x: Any) -> Any:
        return x, jnp.zeros_like(x), jnp.zeros_like(x)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, largest = state
        mean = b1 * mean + (1 - b1) * g
        largest = jnp.maximum(b2 * largest, jnp.abs(g))
        return x - rate(i) / _started(b1, i, mean) * mean / (largest + eps), mean, largest
    return init, update, _first


@optimizer
def sm3(step_size: Any, momentum: Any = 0.9) -> Any:
    """SM3 (Anil, Gupta, Koren and Singer, 2019): Adagrad with one accumulator per row of each axis, not per element."""
    rate = make_schedule(step_size)

    def init(x: Any) -> Any:
        rows = [jnp.zeros(n, x.dtype) for n in x.shape] or [jnp.zeros((), x.dtype)]
        return x, jnp.zeros_like(x), rows

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity, rows = state
        ndim = x.ndim
        spread = [lax.broadcast_in_dim(r, x.shape, (axis,) if ndim else ()) for axis, r in enumerate(rows)]
        bound = functools.reduce(jnp.minimum, spread) + g * g
        velocity = momentum * velocity + (1 - momentum) * g * _inverse_root(bound)
        rows = [jnp.max(bound, [a for a in range(ndim) if a != axis]) for axis in range(max(ndim, 1))]
        return x - rate(i) * velocity, velocity, rows
    return init, update, _first


def _beside_zeros(x: Any) -> Any:
    return x, jnp.zeros_like(x)


def _first(state: Any) -> Any:
    return state[0]


def _inverse_root(x: Any) -> Any:
    positive = x > 0
    return jnp.where(positive, 1 / jnp.sqrt(jnp.where(positive, x, 1)), 0)


def _started(decay: Any, step: Any, like: Any) -> Any:
    """How much weight a running mean with this decay has given to what it has seen up to a step."""
    return 1 - jnp.asarray(decay, like.real.dtype) ** (step + 1)


# --- step sizes -----------------------------------------------------------------------------------------------------

def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """A schedule, from one or from a number.

    Raises:
      TypeError: it is neither.
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    try:
        aval = typeof(scalar_or_schedule)
    except TypeError:
        aval = None
    if aval is None or aval.shape:
        raise TypeError(f"a step size must be a number or a function of the step, got {scalar_or_schedule!r}")
    return constant(scalar_or_schedule)


def constant(step_size: Any) -> Schedule:
    """The same step size at all steps."""
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """``step_size * decay_rate ** (i / decay_steps)``."""
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False) -> Schedule:
    """``step_size / (1 + decay_rate * i / decay_steps)``; with ``staircase`` the quotient is rounded down."""
    def schedule(i: Any) -> Any:
        periods = jnp.floor(i / decay_steps) if staircase else i / decay_steps
        return step_size / (1 + decay_rate * periods)
    return schedule


def polynomial_decay(step_size: Any, decay_steps: Any, final_step_size: Any, power: Any = 1.0) -> Schedule:
    """From ``step_size`` to ``final_step_size`` in ``decay_steps`` steps, along ``(1 - i / decay_steps) ** power``."""
    def schedule(i: Any) -> Any:
        left = 1 - jnp.minimum(i, decay_steps) / decay_steps
        return final_step_size + (step_size - final_step_size) * left ** power
    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """``values[0]`` up to step ``boundaries[0]``, then ``values[1]`` up to step ``boundaries[1]``, and so on.

    Raises:
      ValueError: the boundaries are no vector with one entry less than ``values``, or do not increase.
    """
    edges, levels = np.asarray(boundaries), jnp.asarray(values)
    if edges.ndim != 1 or levels.ndim != 1 or len(edges) + 1 != len(levels):
        raise ValueError(f"piecewise_constant needs a vector of boundaries and one of values with one entry more, got the "
                         f"shapes {edges.shape} and {levels.shape}")
    if (np.diff(edges) <= 0).any():
        raise ValueError(f"piecewise_constant: the boundaries must increase, got {edges.tolist()}")
    return lambda i: levels[jnp.sum(i > jnp.asarray(edges))]


# --- gradients ------------------------------------------------------------------------------------------------------

def l2_norm(tree: Any) -> Any:
    """The root of the sum of the squares of all elements of a tree of arrays."""
    leaves = [jnp.asarray(x) for x in tree_leaves(tree)]
    return jnp.sqrt(sum(jnp.sum(jnp.abs(x) ** 2 if dtypes.issubdtype(x.dtype, np.complexfloating) else x * x)
                        for x in leaves))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """A tree of gradients scaled down to the norm ``max_norm`` if its :func:`l2_norm` is larger.

    >>> import jax.numpy as jnp
    >>> [round(float(x), 3) for x in clip_grads(jnp.array([3., 4.]), 1.)]
    [0.6, 0.8]
    """
    norm = l2_norm(grad_tree)
    small = norm <= max_norm
    scale = jnp.where(small, 1, max_norm / jnp.where(small, 1, norm))
    return tree_map(lambda g: (g * scale).astype(jnp.asarray(g).dtype), grad_tree)


# --- states as trees of the parameters ------------------------------------------------------------------------------

class JoinPoint:
    """Marks where, in a tree of parameters, the state of a parameter begins. Not a tree itself."""

    __slots__ = ("subtree",)

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __iter__(self) -> Any:
        yield self.subtree

    def __repr__(self) -> str:
        return f"JoinPoint({self.subtree!r})"


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """A state as a tree like the parameters, with a :class:`JoinPoint` around the state of each of them.

    The result can be serialized; :func:`pack_optimizer_state` is the inverse.
    """
    return tree_unflatten(opt_state.tree_def, [JoinPoint(s) for s in _states(opt_state)])


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """The state of an optimizer from what :func:`unpack_optimizer_state` has made of it.

    Raises:
      TypeError: a leaf is no :class:`JoinPoint`.
    """
    points, tree = tree_flatten(marked_pytree)
    for p in points:
        if not isinstance(p, JoinPoint):
            raise TypeError("pack_optimizer_state takes a tree of JoinPoints, as unpack_optimizer_state returns, and found "
                            f"a leaf of type {type(p).__name__} in {tree_structure(marked_pytree)}")
    return _packed([p.subtree for p in points], tree)
