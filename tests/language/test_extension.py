"""A library from outside adds a fused multiply-add, by the documented tables alone, and takes it everywhere."""

from __future__ import annotations

import numpy as np
import pytest

import jax
from jax import lax
from jax import numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Primitive, check_jaxpr
from jax.interpreters import ad, batching, mlir

pytestmark = pytest.mark.quick
fma_p = Primitive("fma")


def fma(x, y, z):
    return fma_p.bind(x, y, z)


@fma_p.def_abstract_eval
def _abstract(x, y, z):
    if not x.shape == y.shape == z.shape:
        raise TypeError(f"fma needs equal shapes, got {x.shape}, {y.shape}, {z.shape}")
    return ShapedArray(x.shape, x.dtype)


def _jvp(primals, tangents):
    x, y, z = primals
    tx, ty, tz = map(ad.instantiate_zeros, tangents)
    return fma(x, y, z), fma(tx, y, fma(x, ty, tz))


def _transpose(ct, x, y, z):
    zero = ad.zeros_like_jaxval(ct)
    if ad.is_undefined_primal(x):
        return fma(ct, y, zero), None, ct
    return None, fma(x, ct, zero), ct


def _batch(args, dims):
    size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
    return fma(*[batching.bdim_at_front(x, d, size) for x, d in zip(args, dims, strict=True)]), 0


def _lower(ctx, x, y, z):
    assert ctx.avals_in[0].shape == ctx.avals_out[0].shape
    return [mlir.hlo.AddOp(mlir.hlo.MulOp(x, y), z).result]


ad.primitive_jvps[fma_p] = _jvp
ad.primitive_transposes[fma_p] = _transpose
batching.primitive_batchers[fma_p] = _batch
mlir.register_lowering(fma_p, _lower)


def f(x):
    return fma(x, jnp.sin(x), x)


def df(x):
    return np.sin(x) + x * np.cos(x) + 1


X = np.linspace(0, 1, 4, dtype=np.float32)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.checkpoint])
def test_every_transformation(wrap):
    g = wrap(f)
    x = X[2]
    np.testing.assert_allclose(g(x), x * np.sin(x) + x, rtol=1e-6)
    np.testing.assert_allclose(jax.jvp(g, (x,), (x,))[1], df(x) * x, rtol=1e-6)
    np.testing.assert_allclose(jax.grad(g)(x), df(x), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.grad(g))(x), df(x), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(jax.grad(g))(x), 2 * np.cos(x) - x * np.sin(x), rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(g)(X), X * np.sin(X) + X, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(jax.grad(g))(X), df(X), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(lambda x: jax.vmap(g)(x).sum())(X), df(X), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.jit(jax.grad(g))))(X), df(X), rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(fma, (0, None, None))(X, np.float32(2), np.float32(1)), 2 * X + 1)


def test_in_loops():
    run = lambda x: lax.scan(lambda c, _: (fma(c, c, x), c), x, None, length=3)[0]  # noqa: E731
    want = (run(X[1] + 1e-3) - run(X[1] - 1e-3)) / 2e-3
    np.testing.assert_allclose(jax.grad(run)(X[1]), want, rtol=1e-2)


def test_checks_and_lowering():
    check_jaxpr(jax.make_jaxpr(jax.grad(f))(1.0))
    assert "stablehlo.multiply" in jax.jit(f).lower(1.0).as_text()
    with pytest.raises(TypeError, match="fma needs equal shapes"):
        fma(X, X[:2], X)


def test_platform_rules_and_functions_as_rules():
    twice_p = Primitive("twice")
    twice_p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(twice_p, mlir.lower_fun(lambda x: x + x, multiple_results=False))
    assert float(jax.jit(twice_p.bind)(3.0)) == 6.0
    mlir.register_lowering(twice_p, mlir.lower_fun(lambda x: x * 100, multiple_results=False), platform="cpu")
    assert float(jax.jit(lambda x: twice_p.bind(x))(3.0)) == 300.0


def test_several_results_and_python_implementation():
    split_p = Primitive("split_sign")
    split_p.multiple_results = True
    split_p.def_abstract_eval(lambda x: [x, x])
    split_p.def_impl(lambda x: [np.maximum(x, 0), np.minimum(x, 0)])
    batching.defvectorized(split_p)
    up, down = split_p.bind(np.float32(-2))
    assert up == 0 and down == -2
    assert len(jax.make_jaxpr(split_p.bind)(1.0).out_avals) == 2


def test_helpers_that_fill_tables():
    cube_p = Primitive("cube")
    cube_p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(cube_p, mlir.lower_fun(lambda x: x * x * x, multiple_results=False))
    ad.defjvp(cube_p, lambda t, x: 3 * x * x * t)
    batching.defvectorized(cube_p)
    assert float(jax.grad(cube_p.bind)(2.0)) == 12.0
    np.testing.assert_allclose(jax.vmap(jax.grad(cube_p.bind))(X), 3 * X ** 2)
    linear_p = Primitive("negated")
    linear_p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(linear_p, mlir.lower_fun(lambda x: -x, multiple_results=False))
    ad.deflinear2(linear_p, lambda ct, x: [linear_p.bind(ct)])
    assert float(jax.grad(linear_p.bind)(2.0)) == -1.0


def test_missing_rules_say_which():
    bare_p = Primitive("bare")
    with pytest.raises(NotImplementedError, match="no abstract evaluation rule"):
        jax.make_jaxpr(bare_p.bind)(1.0)
    bare_p.def_abstract_eval(lambda x: x)
    with pytest.raises(NotImplementedError, match="'bare' has no lowering rule"):
        jax.jit(bare_p.bind)(1.0)
    with pytest.raises(NotImplementedError, match="'bare'.*no jvp rule"):
        jax.grad(bare_p.bind)(1.0)
    with pytest.raises(NotImplementedError, match="'bare'.*no batching rule"):
        jax.vmap(bare_p.bind)(X)
