"""What widely used libraries rely on without the documentation saying so."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero, zero_from_primal
from jax.interpreters import ad

X = jnp.arange(3.0)
STRUCT = jax.ShapeDtypeStruct((3,), np.float32)


def test_unmapped_arguments_of_vmap_may_be_anything():
    assert np.allclose(jax.vmap(lambda x, f, s: f(x) * len(s), in_axes=(0, None, None))(X, jnp.sin, "ab"), 2 * np.sin(X))


def test_static_arguments_of_checkpoint_need_not_be_hashable():
    f = jax.checkpoint(lambda options, x: jnp.sin(x) * options["k"], static_argnums=0)
    assert np.isclose(jax.grad(lambda x: f({"k": 2.0}, x))(0.0), 2.0)
    assert np.isclose(jax.grad(lambda x: f({"k": 3.0}, x))(0.0), 3.0)


def test_none_belongs_to_the_structure_of_custom_jvp_outputs():
    f = jax.custom_jvp(lambda tree: tree)
    f.defjvp(lambda primals, tangents: (primals[0], tangents[0]), symbolic_zeros=True)
    out, tangent = jax.jvp(lambda x: f((None, x)), (1.0,), (2.0,))
    assert out[0] is None and tangent[0] is None and float(tangent[1]) == 2.0


def test_zeros_of_trees():
    tree = {"a": X, "b": (1, None)}
    zeros = zero_from_primal(tree)
    assert np.array_equal(zeros["a"], np.zeros(3)) and zeros["b"][0].dtype == jax.float0
    assert type(zero_from_primal(tree, symbolic_zeros=True)["a"]) is SymbolicZero


@pytest.mark.quick
def test_structs_have_types_and_no_values():
    assert jax.typeof(STRUCT) == jax.typeof(X)
    out = jax.eval_shape(lambda x: {"a": STRUCT, "b": x}, STRUCT)
    assert out["a"].shape == out["b"].shape == (3,)
    for use in (lambda: jax.jit(lambda: STRUCT)(), lambda: jax.jit(lambda x: x + 1)(STRUCT), lambda: jnp.add(STRUCT, 1)):
        with pytest.raises(TypeError, match="no value"):
            use()


def test_integers_out_of_custom_vjp_are_not_differentiated():
    @jax.custom_vjp
    def f(x):
        return x * 2, jnp.int32(3)
    f.defvjp(lambda x: (f(x), None), lambda _, cts: (cts[0] * 2,))

    def g(x):
        y, n = f(x)
        assert not isinstance(n, ad.JVPTracer) and "Linearize" not in type(n).__name__
        return y
    assert float(jax.grad(g)(1.0)) == 2.0


def test_traces_are_compared_by_what_their_tracers_share():
    def f(x):
        top = jax.extend.core.find_top_trace((x,))
        assert isinstance(x, ad.JVPTracer) and x._trace.main is top.main
        return x
    jax.jvp(f, (1.0,), (1.0,))


def test_known_values_are_computed_at_once_while_tracing():
    def f(x):
        with jax.ensure_compile_time_eval():
            known = jnp.sum(jnp.arange(4)) + 1
            assert not isinstance(known, jax.core.Tracer) and int(known) == 7
            mixed = x + known
            assert isinstance(mixed, jax.core.Tracer)
        return mixed
    assert float(jax.jit(f)(1.0)) == 8.0
    assert float(jax.grad(f)(1.0)) == 1.0
    assert np.allclose(jax.vmap(f)(X), X + 7)


def test_pmap_on_one_device():
    f = jax.pmap(lambda x, s: x / jax.lax.psum(x, "i") * s, axis_name="i", static_broadcasted_argnums=1)
    assert np.allclose(f(jnp.ones((1, 2)), 3.0), 3 * np.ones((1, 2)))
    assert np.allclose(jax.pmap(lambda x, y: x * y, in_axes=(0, None))(jnp.ones((1, 2)), 2.0), 2 * np.ones((1, 2)))
    too_many = jnp.ones((jax.local_device_count() + 1, 2))
    with pytest.raises(ValueError, match="one example to each device"):
        jax.pmap(jnp.sin)(too_many)


def test_custom_jvp_functions_of_tangents():
    """A rule may apply a function with a rule of its own to tangents, also inside jit; reverse mode transposes it."""
    @jax.custom_jvp
    def pair(p, t):
        return jnp.sin(p), t * jnp.cos(p)
    pair.defjvp(lambda ps, ts: (pair(*ps), (jnp.cos(ps[0]) * ts[0], ts[1] * jnp.cos(ps[0]))))

    @jax.custom_jvp
    def f(x):
        return jnp.sin(x)
    f.defjvp(lambda ps, ts: jax.jit(pair)(ps[0], ts[0]))
    for wrap in (lambda g: g, jax.jit):
        assert np.isclose(wrap(jax.grad(f))(1.0), np.cos(1.0))
        assert np.isclose(wrap(jax.grad(jax.checkpoint(f)))(1.0), np.cos(1.0))
        assert np.allclose(wrap(jax.vmap(jax.grad(f)))(X), np.cos(X))
        assert float(jax.linear_transpose(wrap(lambda t: pair(0.0, t)[1]), 1.0)(2.0)[0]) == 2.0


def test_disable_jit_takes_its_keyword():
    with jax.disable_jit(disable=True):
        assert jax.config.jax_disable_jit
        with jax.disable_jit(disable=False):
            assert not jax.config.jax_disable_jit


@pytest.mark.parametrize("f", [
    lambda x, axes: jnp.expand_dims(x, axes).ndim == 5,
    lambda x, axes: jnp.sum(x, axes).shape == (4,),
    lambda x, axes: jnp.std(x, axes).shape == (4,),
    lambda x, axes: jnp.squeeze(x[:1, :1], axes).shape == (4,),
    lambda x, axes: jnp.flip(x, axes)[0, 0, 0] == x[1, 2, 0],
    lambda x, axes: jnp.roll(x, (1, 1), axes).shape == x.shape,
    lambda x, axes: jnp.size(x, axes) == 6,
])
def test_axes_may_be_a_range(f):
    assert f(jnp.arange(24.0).reshape(2, 3, 4), range(2))


def test_sizes_of_what_is_no_array():
    with pytest.warns(DeprecationWarning, match="no array"):
        assert jnp.shape(None) == ()
    with pytest.warns(DeprecationWarning, match="no array"):
        assert jnp.ndim([[1, 2]]) == 2
    with pytest.warns(DeprecationWarning, match="no array"):
        assert jnp.size([[1, 2]]) == 2
