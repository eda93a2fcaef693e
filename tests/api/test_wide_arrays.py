"""64-bit arrays that are met after 64-bit types have been switched off again keep their width.

Python numbers have the default width in eager operations, so the ones here are exact in it.
"""

import warnings

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax

with jax.enable_x64(True):
    A = jnp.array([0.3, 1.1, 2.7])
    S = jnp.array(1.7)
    M = jnp.array([[3.1, 1.0], [1.0, 2.3]])
    C = jnp.array([1 + 2j, 3.5 - 1j])
    I = jnp.array([2, 0, 1])  # noqa: E741
    K = jnp.array(1)

FUNCTIONS = {
    "scalar": lambda: A * 2,
    "float scalar": lambda: 0.125 - A / 3,
    "power": lambda: A ** 2.5 + 2 ** A,
    "maximum": lambda: jnp.maximum(A, 1),
    "numpy": lambda: A + np.float64(0.125),
    "numpy array": lambda: A * np.linspace(0, 1, 3),
    "mean": lambda: jnp.mean(A),
    "std": lambda: jnp.std(A),
    "median": lambda: jnp.quantile(A, 0.5),
    "softmax": lambda: jax.nn.softmax(A),
    "gelu": lambda: jax.nn.gelu(A),
    "logsumexp": lambda: jax.nn.logsumexp(A),
    "where": lambda: jnp.where(A > 1, A, 0.125),
    "nan_to_num": lambda: jnp.nan_to_num(A, nan=0.125),
    "like": lambda: jnp.zeros_like(A) + jnp.full_like(A, 0.125),
    "mod": lambda: A % 0.75,
    "index": lambda: A[K],
    "gather": lambda: A[I],
    "take": lambda: jnp.take(A, I),
    "negative": lambda: A[-1],
    "set": lambda: A.at[K].set(0.125),
    "add": lambda: A.at[0].add(0.125),
    "solve": lambda: jnp.linalg.solve(M, A[:2]),
    "inv": lambda: jnp.linalg.inv(M),
    "eigh": lambda: jnp.linalg.eigh(M)[0],
    "complex": lambda: jnp.abs(C * 2.125) + 0.125,
    "fft": lambda: jnp.fft.fft(A).real,
    "grad": lambda: jax.grad(lambda x: (x * x * 0.125).sum())(A),
    "grad of mean": lambda: jax.grad(lambda x: jnp.mean(jnp.sin(x)))(A),
    "grad of relu": lambda: jax.grad(lambda x: (jax.nn.relu(x) * 0.125).sum())(A),
    "grad of max": lambda: jax.grad(lambda x: jnp.max(x))(A),
    "grad of index": lambda: jax.grad(lambda x: x[K] * 0.125)(A),
    "grad of scan": lambda: jax.grad(lambda a: lax.scan(lambda c, x: (c * x + 0.125, c), a[0], a)[0])(A),
    "grad of checkpoint": lambda: jax.grad(jax.checkpoint(lambda x: jnp.sin(x * 2.125).sum()))(A),
    "jacobians": lambda: jax.jacfwd(jnp.sin)(A) + jax.jacrev(jnp.cos)(A),
    "hessian": lambda: jax.hessian(lambda x: (x ** 3 * 0.125).sum())(A),
    "jvp": lambda: jax.jvp(lambda x: x * 0.125, (A,), (A,))[1],
    "vmap": lambda: jax.vmap(lambda x: x * 0.125 + jnp.where(x > 1, x, 0.125))(A),
    "vmap of grad": lambda: jax.vmap(jax.grad(lambda x: x * x * 0.125))(A),
    "scan": lambda: lax.scan(lambda c, x: (c + x * 0.125, c), S, A),
    "scan from a number": lambda: lax.scan(lambda c, x: (c + x, c), 0., A)[0],
    "scan over nothing": lambda: lax.scan(lambda c, x: (c + A[0], c), S, None, length=2),
    "map": lambda: lax.map(lambda x: x * 0.125, A),
    "fori": lambda: lax.fori_loop(0, K, lambda i, c: c * 0.125, S),
    "while": lambda: lax.while_loop(lambda c: c < 5.125, lambda c: c * 1.125, S),
    "cond": lambda: lax.cond(True, lambda x: x * 0.125, lambda x: x, S),
    "switch": lambda: lax.switch(K, [lambda x: x, lambda x: x * 0.125], S),
    "segments": lambda: jax.ops.segment_sum(A, I, 3),
    "integers": lambda: (I // 2, I % 2, I << 40, jnp.bincount(I)[0], jnp.sum(I)),
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.quick) if n in ("scalar", "grad", "scan") else n
                                  for n in FUNCTIONS])
@pytest.mark.parametrize("staged", [False, True])
def test_results_are_those_of_64_bit_types(name, staged):
    fun = FUNCTIONS[name]
    with jax.enable_x64(True):
        want = jax.tree.map(np.asarray, fun())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = jax.jit(fun)() if staged else fun()
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        if name not in ("median", "integers") and w.dtype != np.int32:
            assert g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=1e-14)


def test_arguments_and_closed_over_values_agree():
    def fun(x):
        return (x * 0.125).sum() + lax.fori_loop(0, 3, lambda i, c: c * 1.125 + i, x[0])
    want = fun(A)
    assert want.dtype == np.float64
    assert fun(A) == jax.jit(fun)(A) == jax.jit(lambda: fun(A))() == jax.jit(fun).lower(A).compile()(A)


@pytest.mark.quick
def test_numbers_of_users_are_still_narrow():
    assert jnp.asarray(np.float64(0.1)).dtype == np.float32
    assert (jnp.arange(3.) * np.float64(2)).dtype == np.float32
    with pytest.warns(UserWarning, match="truncated to dtype float32"):
        assert jnp.zeros(3, np.float64).dtype == np.float32
    with pytest.raises(TypeError, match="mul requires arguments of one dtype, got float64, float32"):
        lax.mul(A, jnp.arange(3.))


def test_keys_from_64_bit_seeds():
    with jax.enable_x64(True):
        want = jax.random.key_data(jax.random.key(I[0]))
    np.testing.assert_array_equal(jax.random.key_data(jax.random.key(I[0])), want)
