"""``jax.test_util``: derivatives against differences."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.test_util import check_grads, check_jvp, check_vjp


@pytest.mark.parametrize("f, args", [
    (jnp.sin, (1.0,)), (lambda x, n: x * n, (jnp.ones(3), 3)), (lambda d: {"y": jnp.outer(d["a"], d["b"])},
                                                                ({"a": jnp.arange(2.0), "b": jnp.ones(3)},)),
    (jnp.sin, (1.0 + 2.0j,)), (lambda x: jnp.real(x) * jnp.imag(x), (jnp.array([1 + 2j, 3 - 1j]),)),
    (lambda x: x * x, (jnp.ones(2),))])
def test_right_derivatives_pass(f, args):
    check_grads(f, args, order=2)


def test_low_precision_is_checked_loosely():
    check_grads(lambda x: x * x, (jnp.ones(2, jnp.bfloat16),), order=1)


@pytest.mark.parametrize("modes", ["fwd", "rev", ("fwd", "rev")])
def test_wrong_derivatives_are_found(modes):
    @jax.custom_jvp
    def f(x):
        return jnp.sin(x)
    f.defjvp(lambda p, t: (f(*p), 1.1 * jnp.cos(p[0]) * t[0]))
    with pytest.raises(AssertionError, match="mode"):
        check_grads(f, (1.0,), 1, modes)


def test_wrong_second_derivatives_are_found():
    @jax.custom_jvp
    def cosine(x):
        return jnp.cos(x)
    cosine.defjvp(lambda p, t: (cosine(*p), t[0]))

    @jax.custom_jvp
    def f(x):
        return jnp.sin(x)
    f.defjvp(lambda p, t: (f(*p), cosine(p[0]) * t[0]))
    check_grads(f, (1.0,), 1)
    with pytest.raises(AssertionError, match="of the derivative"):
        check_grads(f, (1.0,), 2)


def test_double_precision_is_checked_strictly():
    with jax.enable_x64(True):
        check_grads(jnp.exp, (np.float64(0.3),), order=2, atol=1e-7, rtol=1e-7)


def test_given_derivatives():
    check_jvp(jnp.sin, lambda p, t: (jnp.sin(*p), jnp.cos(*p) * t[0]), (1.0,))
    check_vjp(jnp.sin, lambda x: (jnp.sin(x), lambda ct: (jnp.cos(x) * ct,)), (1.0,))
    with pytest.raises(AssertionError, match="the value"):
        check_jvp(jnp.sin, lambda p, t: (jnp.cos(*p), t[0]), (1.0,))
    with pytest.raises(ValueError, match="'fwd' and 'rev'"):
        check_grads(jnp.sin, (1.0,), 1, modes=["backwards"])
