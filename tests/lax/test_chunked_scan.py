"""`lax.associative_scan` of some thousand elements: chunks, on CPUs."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax._base.config import cpu_group_pieces
from jax.lax import _chunked_scan as chunks

N = chunks.CHUNK * chunks.FEWEST_CHUNKS
X = np.random.default_rng(5).integers(-9, 9, N + 300).astype(np.float32)  # sums are exact


def loops(fun, *args):
    return jax.jit(fun).lower(*args).as_text().count("stablehlo.while")


def sums(x, **how):
    return lax.associative_scan(jnp.add, x, **how)


@pytest.mark.quick
@pytest.mark.parametrize("n", [N, N + 1, N + 255, N + 256])
def test_prefixes(n):
    assert loops(sums, X[:n]) == 1
    np.testing.assert_array_equal(jax.jit(sums)(X[:n]), np.cumsum(X[:n]))


def test_eager_reverse_and_axes():
    np.testing.assert_array_equal(sums(jnp.asarray(X)), np.cumsum(X))
    np.testing.assert_array_equal(jax.jit(lambda x: sums(x, reverse=True))(X), np.cumsum(X[::-1])[::-1])
    wide = X[:N].reshape(-1, 4)
    assert loops(sums, wide) == 1
    np.testing.assert_array_equal(jax.jit(sums)(wide), np.cumsum(wide, 0))
    np.testing.assert_array_equal(jax.jit(lambda x: sums(x, axis=1))(X[None, :N]), np.cumsum(X[None, :N], 1))
    np.testing.assert_array_equal(jax.jit(lambda x: sums(x, axis=-1))(X[:4400].reshape(2, -1)),
                                  np.cumsum(X[:4400].reshape(2, -1), 1))


@pytest.mark.parametrize("fn, host, x", [
    (jnp.maximum, np.maximum, X), (lax.min, np.minimum, X), (jnp.bitwise_xor, np.bitwise_xor, X.astype(np.int32)),
    (jnp.add, np.add, X.astype(np.int8)), (jnp.logical_or, np.logical_or, X[::-1] > 8), (jnp.add, np.add, X * (1 + 2j)),
], ids=["maximum", "min", "bitwise_xor", "add-int8", "logical_or", "add-complex"])
def test_operations_and_dtypes(fn, host, x):
    x = np.asarray(x, np.complex64) if x.dtype.kind == "c" else x
    assert loops(lambda x: lax.associative_scan(fn, x), x) == 1
    got = jax.jit(lambda x: lax.associative_scan(fn, x))(x)
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got, host.accumulate(x, dtype=x.dtype))


def test_rounding_and_special_values():
    x = np.random.default_rng(6).standard_normal(N).astype(np.float32)
    want = np.cumsum(x.astype(np.float64))
    np.testing.assert_allclose(jax.jit(sums)(x), want, atol=64 * np.finfo(np.float32).eps * np.abs(x).sum() / 16)
    x[700] = np.nan
    got = np.asarray(jax.jit(sums)(x))
    assert not np.isnan(got[:700]).any() and np.isnan(got[700:]).all()


def test_not_commutative():
    def later(a, b):
        return jnp.where(b != 0, b, a)

    def second(a, b):
        return b

    x = np.where(np.arange(N) % 7 == 3, X[:N], 0)
    want = x[np.maximum.accumulate(np.where(x != 0, np.arange(N), 0))]
    np.testing.assert_array_equal(jax.jit(lambda x: lax.associative_scan(later, x))(x), want)
    np.testing.assert_array_equal(jax.jit(lambda x: lax.associative_scan(second, x))(x), x)


@pytest.mark.quick
def test_what_is_not_chunked():
    assert loops(sums, X[:N - 1]) == 0  # short
    assert loops(sums, jax.ShapeDtypeStruct((chunks.LARGEST,), np.float32)) == 0  # large
    assert loops(lambda x: lax.associative_scan(lambda a, b: a + b + a * b, x), X) == 0  # several operations
    assert loops(lambda x: lax.associative_scan(lambda a, b: (a[0] + b[0], a[1] * b[1]), (x, x)), X) == 0
    assert loops(lambda x: lax.associative_scan(jnp.matmul, x), jax.ShapeDtypeStruct((N, 2, 2), np.float32)) == 0
    assert loops(jax.vmap(sums), np.stack([X, X])) == 0
    with cpu_group_pieces(False):
        assert loops(sums, X) == 0


def test_derivatives():
    def f(x):
        return (sums(x) * jnp.arange(x.size)).sum()

    want = np.cumsum(np.arange(N, dtype=np.float64)[::-1])[::-1]
    np.testing.assert_allclose(jax.jit(jax.grad(f))(X[:N]), want, rtol=1e-5)
    np.testing.assert_array_equal(jax.jit(lambda x, t: jax.jvp(sums, (x,), (t,))[1])(X, X), np.cumsum(X))
    np.testing.assert_array_equal(jax.jit(jax.vmap(sums))(np.stack([X, -X])), np.stack([np.cumsum(X), -np.cumsum(X)]))


def test_closed_over_values_and_loops():
    def f(x, y):
        return lax.associative_scan(lambda a, b: jnp.maximum(a, b), x + y) + lax.associative_scan(
            lambda a, b: a + b, x)

    np.testing.assert_array_equal(jax.jit(f)(X, np.float32(2)), np.maximum.accumulate(X + 2) + np.cumsum(X))
    np.testing.assert_array_equal(jax.jit(lambda x: lax.fori_loop(0, 2, lambda i, x: sums(x), x))(X),
                                  np.cumsum(np.cumsum(X)))
    limit = jnp.float32(3)
    got = jax.jit(lambda x, c: lax.associative_scan(lambda a, b: jnp.where(c > limit, a + b, a + b), x))(X, 4.0)
    np.testing.assert_array_equal(got, np.cumsum(X))


def test_checked_programs():
    with jax.enable_checks(True):
        np.testing.assert_array_equal(jax.jit(lambda x: sums(x) * 1)(X), np.cumsum(X))


def test_exported_programs_are_in_logarithmic_depth():
    from jax import export

    assert "while" not in export.export(jax.jit(sums))(jax.ShapeDtypeStruct(X.shape, X.dtype)).mlir_module()
