"""References that a function makes itself do not show: transformations see a pure function."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import checkify
from tests.api.ref_programs import PROGRAMS

X = jnp.array([0.7, -0.4, 1.3])
BATCH = jnp.array([[0.7, -0.4, 1.3], [0.2, 0.9, -0.6]])


def _loss(f):
    return lambda x: (f(x) * jnp.arange(1.0, 4.0)).sum()


TRANSFORMATIONS = {
    "eager": lambda f: f(X),
    "jit": lambda f: jax.jit(f)(X),
    "grad": lambda f: jax.grad(_loss(f))(X),
    "jit of grad": lambda f: jax.jit(jax.grad(_loss(f)))(X),
    "grad of jit": lambda f: jax.grad(_loss(jax.jit(f)))(X),
    "jvp": lambda f: jax.jvp(f, (X,), (X * 2.0,)),
    "jvp of jit": lambda f: jax.jvp(jax.jit(f), (X,), (X * 2.0,)),
    "vjp": lambda f: jax.vjp(f, X)[1](jnp.array([1.0, -2.0, 0.5])),
    "linearize": lambda f: jax.linearize(f, X)[1](X * 2.0),
    "vmap": lambda f: jax.vmap(f)(BATCH),
    "vmap along axis 1": lambda f: jax.vmap(f, in_axes=1, out_axes=1)(BATCH.T),
    "vmap of jit": lambda f: jax.vmap(jax.jit(f))(BATCH),
    "jit of vmap of grad": lambda f: jax.jit(jax.vmap(jax.grad(_loss(f))))(BATCH),
    "grad of vmap": lambda f: jax.grad(lambda b: jax.vmap(f)(b).sum())(BATCH),
    "jacrev": lambda f: jax.jacrev(f)(X),
    "jacfwd": lambda f: jax.jacfwd(f)(X),
    "hessian": lambda f: jax.hessian(_loss(f))(X),
    "grad of checkpoint": lambda f: jax.grad(_loss(jax.checkpoint(f)))(X),
    "jit of grad of checkpoint": lambda f: jax.jit(jax.grad(_loss(jax.checkpoint(f))))(X),
    "scan": lambda f: lax.scan(lambda c, x: (f(c) * 0.1, f(x)), X, BATCH),
    "grad of scan": lambda f: jax.grad(lambda x: lax.scan(lambda c, b: (f(c) * 0.1, c[0]), x, BATCH)[1].sum())(X),
    "grad of cond": lambda f: jax.grad(lambda x: lax.cond(x[0] > 0, _loss(f), lambda x: x.sum(), x))(X),
    "grad of while": lambda f: jax.jvp(lambda x: lax.while_loop(
        lambda s: s[0] < 2, lambda s: (s[0] + 1, f(s[1]) * 0.3), (0, x))[1], (X,), (X,)),
}


# All pairs hold; these meet every program in four, and every transformation in one or two of them.
PAIRS = [(name, how) for i, name in enumerate(PROGRAMS) for j, how in enumerate(TRANSFORMATIONS) if (i + j) % 6 == 0]


@pytest.mark.parametrize(("name", "how"), PAIRS)
def test_a_function_with_references_of_its_own_is_pure(name, how):
    with_refs, pure = PROGRAMS[name]
    found, expected = TRANSFORMATIONS[how](with_refs), TRANSFORMATIONS[how](pure)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5), found, expected)


def test_runtime_checks_look_into_reads_and_writes():
    def f(x, i):
        ref = jax.new_ref(x)
        ref[...] = jnp.log(ref[...])
        return ref[i]
    checked = checkify.checkify(jax.jit(f), errors=checkify.float_checks | checkify.index_checks)
    assert checked(X + 1.0, 1)[0].get() is None
    assert "nan" in checked(X, 1)[0].get()
    assert "out-of-bounds" in checked(X + 1.0, 5)[0].get()
