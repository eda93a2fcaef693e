"""Programs in the manner of the public tutorials on primitives and on interpreters of jaxprs."""

from functools import wraps

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax._src import effects
from jax._src.lib.mlir.dialects import hlo
from jax.extend import core
from jax.interpreters import ad, batching, mlir

fused_p = core.Primitive("fused_multiply_add")


def fused(x, y, z):
    return fused_p.bind(x, y, z)


def _pushed(primals, tangents):
    x, y, z = primals
    xt, yt, zt = (jnp.zeros_like(x) if type(t) is ad.Zero else t for t in tangents)
    return fused(x, y, z), fused(xt, y, fused(x, yt, zt))


def _pulled(ct, x, y, z):
    if ad.is_undefined_primal(x):
        return fused(ct, y, jnp.zeros_like(y)), None, ct
    return None, fused(x, ct, jnp.zeros_like(x)), ct


fused_p.def_impl(lambda x, y, z: np.add(np.multiply(x, y), z))
fused_p.def_abstract_eval(lambda x, y, z: jax.core.ShapedArray(x.shape, x.dtype))
mlir.register_lowering(fused_p, lambda ctx, x, y, z: [hlo.AddOp(hlo.MulOp(x, y), z).result], platform="cpu")
ad.primitive_jvps[fused_p] = _pushed
ad.primitive_transposes[fused_p] = _pulled
batching.primitive_batchers[fused_p] = lambda args, dims: (fused(*args), dims[0])


def test_a_primitive_of_ones_own():
    def f(a, b):
        return fused(a, a, b)
    x = jnp.arange(1.0, 4.0)
    assert float(f(2.0, 10.0)) == float(jax.jit(f)(2.0, 10.0)) == 14.0
    assert float(jax.grad(f)(2.0, 10.0)) == float(jax.jit(jax.grad(f))(2.0, 10.0)) == 4.0
    assert [float(v) for v in jax.jvp(f, (2.0, 10.0), (1.0, 1.0))] == [14.0, 5.0]
    np.testing.assert_array_equal(jax.jit(jax.vmap(f))(x, x), x * x + x)
    np.testing.assert_array_equal(jax.grad(lambda x: jax.vmap(f)(x, x).sum())(x), 2 * x + 1)


INVERSES = {lax.exp_p: jnp.log, lax.tanh_p: jnp.arctanh}


def _inverse(fun):
    @wraps(fun)
    def inverted(y):
        closed = jax.make_jaxpr(fun)(y)
        env = dict(zip(closed.jaxpr.outvars, [y], strict=True))
        for eqn in reversed(closed.jaxpr.eqns):
            env[eqn.invars[0]] = INVERSES[eqn.primitive](env[eqn.outvars[0]])
        return env[closed.jaxpr.invars[0]]
    return inverted


def test_an_interpreter_that_runs_backwards():
    inverse = _inverse(lambda x: jnp.exp(jnp.tanh(x)))
    np.testing.assert_allclose(inverse(jnp.exp(jnp.tanh(0.5))), 0.5, rtol=1e-5)
    y = np.array([1.2, 1.5])
    want = 1 / (y * (1 - np.log(y) ** 2))
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(inverse)))(y.astype(np.float32)), want, rtol=1e-5)


def test_an_effect_of_ones_own():
    class Noise(effects.Effect):
        pass

    noisy_p = core.Primitive("noisy")
    noisy_p.def_effectful_abstract_eval(lambda x: (x, {Noise()}))
    mlir.register_lowering(noisy_p, lambda ctx, x: [x])
    with pytest.raises(ValueError, match="effects that cannot be compiled"):
        jax.jit(lambda x: noisy_p.bind(x))(1.0)
    effects.lowerable_effects.add_type(Noise)
    assert float(jax.jit(lambda x: noisy_p.bind(x) + 1)(1.0)) == 2.0


@pytest.mark.parametrize("name", ["ClosedJaxpr", "DropVar", "Effect", "Jaxpr", "JaxprEqn", "Primitive", "concrete_or_error",
                                  "gensym", "jaxpr_as_fun", "new_jaxpr_eqn", "no_effects", "subjaxprs", "valid_jaxtype"])
def test_names_that_moved_are_found_in_both_places(name):
    assert getattr(jax.core, name) is getattr(core, name)


def test_unknown_names():
    assert not hasattr(jax.core, "no_such_name")
    assert jax.core.is_constant_shape((2, 3))
