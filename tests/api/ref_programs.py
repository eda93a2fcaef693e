"""Pairs of functions from a vector of three to a vector of three: one with references, one without."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax


def _overwriting(x):
    ref = jax.new_ref(jnp.zeros(3))
    ref[0] = x[0]
    ref[1:] = jnp.sin(x[1:])
    ref[...] = ref[...] * ref[...]
    ref[2] += x[0] * x[1]
    return jax.freeze(ref)


def _overwriting_pure(x):
    y = jnp.concatenate([x[:1], jnp.sin(x[1:])])
    y = y * y
    return y.at[2].add(x[0] * x[1])


def _two_references(x):
    a, b = jax.new_ref(x), jax.new_ref(jnp.ones(3))
    old = jax.ref.swap(a, 1, x[2] * 2.0)
    jax.ref.addupdate(b, jnp.array([0, 0, 2]), x)
    b.at[1:].at[0][...] = old * x[0]
    return a[::-1] * b[...]


def _two_references_pure(x):
    a = x.at[1].set(x[2] * 2.0)
    b = jnp.ones(3).at[jnp.array([0, 0, 2])].add(x).at[1].set(x[1] * x[0])
    return a[::-1] * b


def _scan(x):
    ref = jax.new_ref(x)
    total = jax.new_ref(0.0)

    def body(carry, row):
        ref[...] = ref[...] * jnp.cos(row) + carry
        jax.ref.addupdate(total, ..., ref[0])
        return carry + row, ref[1]
    _, ys = lax.scan(body, 0.5, x)
    return ref[...] + ys * total[...]


def _scan_pure(x):
    def body(carry, row):
        c, r, t = carry
        r = r * jnp.cos(row) + c
        return (c + row, r, t + r[0]), r[1]
    (_, r, t), ys = lax.scan(body, (0.5, x, 0.0), x)
    return r + ys * t


def _fori_rows(x):
    ref = jax.new_ref(jnp.zeros(3))

    def body(i, carry):
        ref[i] = jnp.sin(carry) + ref[i - 1]
        return carry * x[i]
    lax.fori_loop(0, 3, body, x[0])
    return ref[...]


def _fori_rows_pure(x):
    def body(i, state):
        carry, r = state
        return carry * x[i], r.at[i].set(jnp.sin(carry) + r[i - 1])
    return lax.fori_loop(0, 3, body, (x[0], jnp.zeros(3)))[1]


def _cond(x):
    ref = jax.new_ref(x)
    lax.cond(x[0] > 0.5, lambda: ref.set(ref[...] * x), lambda: None)
    kept = lax.switch(1, [lambda: ref[0], lambda: ref.swap(x[2], 1), lambda: 0.0])
    return ref[...] + kept


def _cond_pure(x):
    y = lax.cond(x[0] > 0.5, lambda: x * x, lambda: x)
    return y.at[1].set(x[2]) + y[1]


def _calls(x):
    ref = jax.new_ref(x)

    @jax.jit
    def double(scale):
        ref[...] = ref[...] * scale
        own = jax.new_ref(scale)
        own[...] += 1.0
        return jax.freeze(own)
    y = double(x[0])

    @jax.checkpoint
    def shifted(z):
        ref[0] = jnp.sin(ref[0] + z)
        return ref[1] * z
    return ref[...] * y + shifted(x[2]) + ref[0]


def _calls_pure(x):
    r = x * x[0]
    y = x[0] + 1.0
    base = r * y
    s0 = jnp.sin(r[0] + x[2])
    return base + r[1] * x[2] + s0


def _nested_loops(x):
    ref = jax.new_ref(jnp.ones((3, 3)))

    def outer(carry, i):
        own = jax.new_ref(carry)

        def inner(j, c):
            ref[i, j] = ref[i, j] * own[...] + x[j]
            own[...] = jnp.sin(own[...])
            return c
        lax.fori_loop(0, 3, inner, 0)
        return own[...], None
    last, _ = lax.scan(outer, x[1], jnp.arange(3))
    return ref[...].sum(0) * last


def _nested_loops_pure(x):
    def outer(carry, i):
        c, r = carry

        def inner(j, state):
            c, r = state
            return jnp.sin(c), r.at[i, j].set(r[i, j] * c + x[j])
        return lax.fori_loop(0, 3, inner, (c, r)), None
    (last, r), _ = lax.scan(outer, (x[1], jnp.ones((3, 3))), jnp.arange(3))
    return r.sum(0) * last


def _untouched(x):
    ref, count = jax.new_ref(x), jax.new_ref(0)
    count[...] += 1
    own = jax.empty_ref(jax.ShapeDtypeStruct((3,), x.dtype))
    own[...] = ref[...] * count[...]
    out = own[...]
    jax.free_ref(own)
    return out * x


PROGRAMS = {
    "overwriting": (_overwriting, _overwriting_pure),
    "two references": (_two_references, _two_references_pure),
    "scan": (_scan, _scan_pure),
    "rows of a loop": (_fori_rows, _fori_rows_pure),
    "cond": (_cond, _cond_pure),
    "calls": (_calls, _calls_pure),
    "nested loops": (_nested_loops, _nested_loops_pure),
    "integers and free": (_untouched, lambda x: x * x),
}
