"""Programs with loops and branches, written once for `jax.lax` and for the Python versions of `tests.lax.loops`.

Each takes the module-like object with `scan`, `cond`, ... and returns a function of the sample arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import jax
import jax.numpy as jnp
from jax import lax
from tests.lax import loops

LAX = lax
PYTHON = SimpleNamespace(scan=loops.scan, cond=loops.cond, switch=loops.switch, fori_loop=loops.fori_loop,
                         while_loop=loops.bounded_while(6))


class Program(NamedTuple):
    """A program, sample arguments, and what it is about."""

    name: str
    make: Callable[..., Any]
    args: tuple[Any, ...]


SCANS: list[Program] = []
BRANCHES: list[Program] = []
WHILES: list[Program] = []
MIXED: list[Program] = []


def program(group: list[Program], *shapes: Any) -> Callable[..., Any]:
    """Registers a program with normal random arguments of these shapes."""
    def register(make: Callable[..., Any]) -> Callable[..., Any]:
        rng = np.random.default_rng(len(make.__name__))
        group.append(Program(make.__name__, make, tuple(rng.normal(size=s) for s in shapes)))
        return make
    return register


# --- scans ------------------------------------------------------------------------------------------------------


@program(SCANS, 3, 3, (3, 3))
def recurrent(L):
    def f(w, h, xs):
        def body(h, x):
            h = jnp.tanh(h * w + x)
            return h, jnp.sin(h) * x
        return L.scan(body, h, xs)
    return f


@program(SCANS, 3, 3, (3, 3))
def counter_in_carry(L):
    def f(w, h, xs):
        def body(c, x):
            i, h = c
            return (i + 1, jnp.sin(h * w) + i * x), (h * x, i)
        return L.scan(body, (0, h), xs)
    return f


@program(SCANS, 3, 3, (3, 3))
def directions_and_unrolling(L):
    def f(w, h, xs):
        def body(h, x):
            h = jnp.sin(h * w + x)
            return h, h * x
        return [L.scan(body, h, xs, reverse=r, unroll=u) for r, u in ((True, 1), (False, 2))]
    return f


@program(SCANS, (3, 3), 3, (3, 3))
def parameters_in_carry(L):
    def f(w, h, xs):
        def body(c, x):
            p, h = c
            h = jnp.tanh(jnp.sum(jnp.cos(p) * h, 1) + x)
            return (p, h), h
        return L.scan(body, (w, h), xs)
    return f


@program(SCANS, 3, 3, (3, 3))
def derivative_spreads_through_carry(L):
    def f(w, h, xs):
        def body(c, x):
            a, b, d, e = c
            return (b, a * x, d + 1.0, e * 2.0), a + b * d + e
        return L.scan(body, (h, jnp.ones(3), jnp.ones(3), 0.5), xs * w)
    return f


@program(SCANS, 3, (3, 3))
def carry_starts_constant(L):
    def f(w, xs):
        def body(c, x):
            return (c[0] * w + x, 2.0 * c[1], c[2] + w[0]), None
        return L.scan(body, (jnp.zeros(3), jnp.ones(3), 0.0), xs)
    return f


@program(SCANS, 3, (2, 3, 3))
def nested(L):
    def f(w, xs):
        def outer(h, x):
            def inner(c, y):
                c = jnp.sin(c * w + y * h)
                return c, c * h
            c, ys = L.scan(inner, h, x)
            return c, jnp.sum(ys)
        return L.scan(outer, w, xs)
    return f


@program(SCANS, 3, (3, 3))
def unused_parts(L):
    def f(w, xs):
        def body(c, x):
            a, b, i = c
            return (jnp.sin(a * x), b * jnp.exp(w) * i, i + 1), (a * b, x * w)
        (a, _, _), (_, y) = L.scan(body, (w, w, 0), xs)
        return a, y
    return f


@program(SCANS, 3, (3, 3))
def rows_chosen_by_index(L):
    def f(w, xs):
        xs = jnp.asarray(xs)

        def body(c, i):
            return c * xs[i], xs[i] + c
        return L.scan(body, w, jnp.array([0, 2, 1, 0]))
    return f


@program(SCANS, 3, (3, 3))
def checkpointed_body(L):
    def f(w, xs):
        @jax.checkpoint
        def body(c, x):
            c = jnp.sin(jnp.sin(c * w) + x)
            return c, c * x
        return L.scan(body, w, xs)
    return f


@program(SCANS, 3, (3, 3))
def checkpointed_loop(L):
    def f(w, xs):
        def g(w, xs):
            def body(c, x):
                i, c = c
                c = jnp.sin(jnp.sin(c * w) + x) * i
                return (i + 1, c), c * x
            (_, c), ys = L.scan(body, (1.0, w), xs)
            return jnp.sin(c), ys
        return jax.checkpoint(g)(w, xs)
    return f


@program(SCANS, (3, 3), (3, 3))
def checkpointed_loop_with_policy(L):
    def f(w, xs):
        def g(w, xs):
            def body(c, x):
                k, c = c
                y = lax.dot_general(w, c, (((1,), (0,)), ((), ())))
                c = jnp.sin(y * k) + x
                return (k * 2.0, c), jnp.cos(y)
            return L.scan(body, (1.5, xs[0]), xs)
        return jax.checkpoint(g, policy=jax.checkpoint_policies.dots_saveable)(w, xs)
    return f


@program(SCANS, 3, (3, 3))
def jitted_body(L):
    def f(w, xs):
        @jax.jit
        def step(w, c, x):
            return jnp.sin(c * jnp.cos(w) + x), jnp.exp(w) * c
        return L.scan(lambda c, x: step(w, c, x), w, xs)
    return f


@program(SCANS, 3, (3, 3))
def jitted_loop(L):
    def f(w, xs):
        return jax.jit(lambda w, xs: L.scan(lambda c, x: (jnp.sin(c * jnp.cos(w) + x), c * w), w, xs))(w, xs)
    return f


@program(SCANS, 3, (3, 3))
def custom_jvp_in_body(L):
    @jax.custom_jvp
    def g(x, y):
        return jnp.sin(x) * y

    @g.defjvp
    def g_jvp(p, t):
        return g(*p), jnp.cos(p[0]) * p[1] * t[0] + jnp.sin(p[0]) * t[1]

    return lambda w, xs: L.scan(lambda c, x: (g(c, x), g(x, w)), w, xs)


@program(SCANS, 3, (3, 3))
def loop_over_tangents(L):
    """A custom rule whose loop carries primal values beside tangents: its linear part has to be found."""
    @jax.custom_jvp
    def g(x, y):
        return jnp.sin(x) * y

    @g.defjvp
    def g_jvp(p, t):
        def body(c, _):
            a, ta, s = c
            return (a * 1.5, ta + jnp.cos(a) * t[0] * s, s * s), None
        (a, ta, _), _ = L.scan(body, (p[0], 0 * t[0], p[1]), None, length=2)
        return g(*p), ta + jnp.sin(p[0]) * t[1] + a * t[1]

    return lambda w, xs: (g(w, xs[0]) * xs[1], L.scan(lambda c, x: (g(c, x), g(x, w)), w, xs))


@program(SCANS, 3, 3)
def fori(L):
    def f(w, h):
        return L.fori_loop(1, 4, lambda i, c: (jnp.sin(c[0]) * w + i, c[1] * c[0]), (w, h))
    return f


# --- branches ---------------------------------------------------------------------------------------------------


@program(BRANCHES, (), 3, 3)
def cond_on_value(L):
    def f(p, x, y):
        return L.cond(p > 0, lambda x: (jnp.sin(x) * y, x), lambda x: (jnp.exp(-x * x), x * x), x)
    return f


@program(BRANCHES, 3, (3, 3))
def switch_with_different_residuals(L):
    def f(w, xs):
        branches = [lambda w: jnp.sin(w) * xs[0], lambda w: jnp.exp(w * w) * jnp.cos(xs[1] * w), lambda w: xs[2] * 3.0,
                    lambda w: jnp.stack([w[0] * w[1], w[1], jnp.sum(xs)])]
        shift = (jnp.sum(w) > 100.0).astype(jnp.int32)
        return [L.switch(i + shift, branches, w) for i in (1, 2)]
    return f


@program(BRANCHES, 3, 3)
def cond_on_each_example(L):
    def f(x, y):
        def inner(y):
            return L.cond(y[1] > 0, lambda y: y * x, lambda y: jnp.cos(y), y)
        return L.cond(x[0] > 0, inner, lambda y: x + y, y)
    return f


@program(BRANCHES, 3, 3)
def derivative_in_one_branch(L):
    def f(x, y):
        return L.cond(x[0] < 0, lambda: (x * 2.0, 1.0), lambda: (jnp.zeros(3), jnp.sum(y)))
    return f


@program(BRANCHES, 3, 3)
def checkpointed_branches(L):
    def f(x, y):
        g = jax.checkpoint(lambda x, y: L.cond(y[0] > 0, lambda x: jnp.sin(jnp.sin(x)) * y, lambda x: x * y * y, x))
        return g(jnp.cos(x), y)
    return f


# --- loops of unknown length ------------------------------------------------------------------------------------


@program(WHILES, 3, 3)
def while_counts(L):
    def f(w, x):
        def body(c):
            i, a, b = c
            return i + 1, jnp.sin(a) * w, b * a + x
        return L.while_loop(lambda c: c[0] < 4, body, (0, w, x))
    return f


@program(WHILES, 3, 3)
def while_grows(L):
    def f(w, x):
        return L.while_loop(lambda c: jnp.sum(c[0] * c[0]) < 3.0,
                            lambda c: (c[0] * 1.7 + w * 0.1, c[1] * jnp.sin(x)), (w * 0.3, w))
    return f


@program(WHILES, 3, (3, 3))
def scan_in_cond_in_while(L):
    def f(w, xs):
        def body(c):
            i, a = c
            a = L.cond(jnp.sum(a) > 0, lambda a: L.scan(lambda c, x: (jnp.sin(c + x), c), a, xs)[0], lambda a: a * w, a)
            return i + 1, a
        return L.while_loop(lambda c: c[0] < 3, body, (0, w))
    return f


# --- mixtures that reverse mode goes through --------------------------------------------------------------------


@program(MIXED, 3, (3, 3))
def cond_in_scan(L):
    def f(w, xs):
        def body(c, x):
            c = L.cond(jnp.sum(c * x) > 0, lambda c: jnp.sin(c) * w, lambda c: jnp.exp(-c * c) + x, c)
            return c, c * 2
        return L.scan(body, w, xs)
    return f


@program(MIXED, 3, (3, 3))
def scan_in_cond(L):
    def f(w, xs):
        def loop(w):
            return L.scan(lambda c, x: (jnp.sin(c * x + w), c), w, xs)
        return [L.cond(p, loop, lambda w: (w * w, xs * w), w) for p in (jnp.sum(w) > 0, jnp.sum(w) < 0)]
    return f


@program(MIXED, 3, (3, 3))
def while_of_integers_in_scan(L):
    def f(w, xs):
        def body(c, x):
            k = L.while_loop(lambda k: k < 3, lambda k: k + 1, 0)
            return jnp.sin(c * w) * k, c * x
        return L.scan(body, w, xs)
    return f
