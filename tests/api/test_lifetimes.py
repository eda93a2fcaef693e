"""What caches and programs keep alive: not the functions they came from, nor the traced values these closed over."""

import functools
import gc
import weakref

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax


def _sin(x):
    return jnp.sin(x)


TRANSFORMED = {
    "jit": jax.jit,
    "lower": lambda f: jax.jit(f).lower,
    "grad of jit": lambda f: jax.grad(jax.jit(f)),
    "static arguments": lambda f: functools.partial(jax.jit(lambda x, n: f(x) * n, static_argnums=1), n=2),
    "checkpoint": jax.checkpoint,
    "grad of checkpoint": lambda f: jax.grad(jax.checkpoint(f)),
    "vmap of jit": lambda f: lambda x: jax.vmap(jax.jit(f))(jnp.stack([x, x])),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2),
    "cond": lambda f: lambda x: lax.cond(x > 0, f, jnp.cos, x),
    "shard_map": lambda f: jax.shard_map(f, mesh=jax.make_mesh((1,), ("i",)), in_specs=jax.P(), out_specs=jax.P()),
    "while": lambda f: lambda x: lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, f(c[1])), (0, x)),
}


SHAPE = jax.ShapeDtypeStruct((), np.float32)
CALLBACKS = {
    "pure_callback": lambda x, keep: jax.pure_callback(lambda a: (keep, a)[1], SHAPE, x),
    "io_callback": lambda x, keep: jax.experimental.io_callback(lambda a: (keep, a)[1], SHAPE, x),
    "ordered io_callback": lambda x, keep: jax.experimental.io_callback(lambda a: (keep, a)[1], SHAPE, x, ordered=True),
    "debug.callback": lambda x, keep: jax.debug.callback(lambda a: keep and None, x),
}


@pytest.mark.parametrize("name", CALLBACKS)
def test_callbacks_of_functions_that_are_gone_are_freed(name):
    alive = weakref.WeakSet()

    def run():
        class Kept:
            pass

        keep = Kept()
        alive.add(keep)
        jax.block_until_ready(jax.jit(lambda x: CALLBACKS[name](x, keep))(0.5))

    for _ in range(30):
        run()
    jax.effects_barrier()
    gc.collect()
    assert len(alive) < 20  # XLA gives the last ones back later, from its own threads


@pytest.mark.parametrize("name", TRANSFORMED)
def test_functions_and_what_they_close_over_are_freed(name):
    x = jnp.float32(0.5)

    def make():
        table = jnp.arange(7.0) + 1

        def f(x):
            return _sin(x) + 0 * table[0]
        return f, weakref.ref(f), weakref.ref(table)

    f, function, array = make()
    TRANSFORMED[name](f)(x)
    del f
    gc.collect()
    assert function() is None
    assert array() is None


def test_names_of_a_function_that_is_gone():
    def make(scale):
        return lambda first, second: first["w"] * second * scale

    function = make(2.0)
    traced = jax.jit(function).trace({"w": 1.0}, 2.0)
    jaxpr, info = traced.jaxpr, traced.jaxpr.jaxpr.debug_info
    code = function.__code__
    alive = weakref.ref(function)
    del traced, function
    gc.collect()
    assert alive() is None
    assert [info.arg_name(i) for i in range(2)] == ["first['w']", "second"]
    assert info.source_text() == f"<lambda> at {code.co_filename}:{code.co_firstlineno}"
    assert len(jaxpr.eqns) == 2


def _doubled():
    f = jax.custom_vjp(lambda x: 2 * x)
    f.defvjp(lambda x: (2 * x, None), lambda _, g: (2 * g,))
    return f


def _doubled_forward():
    f = jax.custom_jvp(lambda x: 2 * x)
    f.defjvp(lambda primals, tangents: (2 * primals[0], 2 * tangents[0]))
    return f


CLOSING_OVER_TRACERS = {
    "checkpoint": (lambda x: jax.checkpoint(lambda y: y * x)(3.0), 3.0),
    "jit": (lambda x: jax.jit(lambda y: y * x)(3.0), 3.0),
    "custom_vjp in a scan": (lambda x: lax.scan(lambda c, _: (_doubled()(c), None), x, None, length=2)[0], 4.0),
    "custom_jvp in a scan": (lambda x: lax.scan(lambda c, _: (_doubled_forward()(c), None), x, None, length=2)[0], 4.0),
    "custom_vjp in a checkpoint": (lambda x: jax.checkpoint(lambda y: _doubled()(y * x))(3.0), 6.0),
}


@pytest.mark.parametrize("name", CLOSING_OVER_TRACERS)
def test_values_that_do_not_leave_are_no_leaks(name):
    f, slope = CLOSING_OVER_TRACERS[name]
    with jax.checking_leaks():
        np.testing.assert_allclose(jax.jit(f)(1.5), 1.5 * slope)
        np.testing.assert_allclose(jax.grad(f)(1.5), slope)
        np.testing.assert_allclose(jax.jit(jax.grad(f))(1.5), slope)
        np.testing.assert_allclose(jax.vmap(f)(jnp.arange(2.0)), [0, slope])


kept = []


def _keep(x):
    kept.append(x * 2)
    return x


LEAKS = {
    "jit": lambda: jax.jit(_keep)(1.0),
    "grad": lambda: jax.grad(_keep)(1.0),
    "vjp": lambda: jax.vjp(_keep, 1.0),
    "jvp": lambda: jax.jvp(_keep, (1.0,), (1.0,)),
    "vmap": lambda: jax.vmap(_keep)(jnp.ones(2)),
    "scan": lambda: lax.scan(lambda c, _: (_keep(c), None), 1.0, None, length=2),
}


@pytest.mark.parametrize("name", LEAKS)
def test_values_that_leave_are_leaks(name):
    kept.clear()
    with jax.checking_leaks(), pytest.raises(jax.errors.UnexpectedTracerError, match="leaked 1 traced value"):
        LEAKS[name]()
    with pytest.raises(jax.errors.UnexpectedTracerError, match="had finished"):
        kept.pop() + 1
