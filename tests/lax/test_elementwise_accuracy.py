"""Errors of transcendental functions over the whole range of float32, in units of the last place of the truth.

The bounds are what is measured: three functions have values that the compiler computes to 2 ulp in most places only.
"""

import numpy as np
import pytest
from scipy import special

import jax
import jax.numpy as jnp

TINY = np.finfo(np.float32).tiny
# Ours, the truth in double precision, the bound, and how many in a thousand may be more than 2 ulp off.
FUNCTIONS = {
    "sin": (jnp.sin, np.sin, 0.6, 0), "cos": (jnp.cos, np.cos, 0.6, 0), "exp": (jnp.exp, np.exp, 5.5, 0.1),
    "log": (jnp.log, np.log, 1.5, 0), "tanh": (jnp.tanh, np.tanh, 4.5, 30), "expm1": (jnp.expm1, np.expm1, 6, 40),
    "log1p": (jnp.log1p, np.log1p, 2.6, 1), "logistic": (jax.nn.sigmoid, special.expit, 2.5, 0.1),
    "erf": (jax.lax.erf, special.erf, 5.5, 20), "exp2": (jnp.exp2, np.exp2, 1.1, 0), "log2": (jnp.log2, np.log2, 2.2, 0.1),
}  # fmt: skip


def numbers():
    """Bits evenly spread over all float32 numbers, and numbers of moderate size."""
    bits = np.arange(0, 2**32, 16411, dtype=np.uint64).astype(np.uint32).view(np.float32)
    rng = np.random.default_rng(0)
    moderate = np.concatenate([rng.uniform(-110, 110, 100_000), rng.normal(size=100_000)]).astype(np.float32)
    return np.concatenate([bits[np.isfinite(bits)], moderate])


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors(name, x64):
    function, truth, bound, often = FUNCTIONS[name]
    x = numbers()
    with jax.enable_x64(x64), np.errstate(all="ignore"):
        got = np.asarray(jax.jit(function)(x))
        want = truth(x.astype(np.float64))
        narrow = want.astype(np.float32)
        assert got.dtype == np.float32
        # XLA's CPU programs take subnormal numbers for zero.
        normal = (np.abs(x) >= TINY) & (np.abs(narrow) >= TINY) & np.isfinite(narrow)
        errors = (np.abs(got.astype(np.float64) - want) / np.spacing(np.abs(narrow)))[normal]
    assert errors.max() <= bound
    assert np.mean(errors > 2) <= often / 1000
    special_places = ~np.isfinite(narrow) & (np.abs(x) >= TINY)
    np.testing.assert_array_equal(got[special_places], narrow[special_places])


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_reductions(dtype):
    """Sums of a million numbers: compared with what double precision gives."""
    with jax.enable_x64(dtype == "float64"):
        x = jnp.asarray(np.random.default_rng(2).uniform(0, 2, 1_000_000).astype(np.float32) / 64, dtype)
        wide = np.asarray(x).astype(np.float64)
        eps = float(jnp.finfo(dtype).eps)
        for function, truth in ((jnp.sum, np.sum), (jnp.mean, np.mean), (jnp.var, np.var), (jnp.max, np.max),
                                (jax.nn.logsumexp, special.logsumexp)):
            if function is jax.nn.logsumexp and dtype == "float16":
                continue  # a million terms of about one are more than the largest number
            got = np.asarray(jax.jit(function)(x)).astype(np.float64)
            np.testing.assert_allclose(got, truth(wide), rtol=32 * eps, err_msg=function.__name__)
        got = np.asarray(jax.jit(jax.nn.softmax)(x.reshape(1000, 1000))).astype(np.float64)
        np.testing.assert_allclose(got, special.softmax(wide.reshape(1000, 1000), axis=-1), rtol=16 * eps, atol=1e-7)
