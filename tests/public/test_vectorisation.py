"""Batches of what does not vary, and misuse of ``vmap``, ``vectorize``, callbacks and checks by name."""

from __future__ import annotations

import traceback

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import checkify, io_callback

pytestmark = pytest.mark.quick

X = np.arange(3, dtype=np.float32)
F32 = jax.ShapeDtypeStruct((), np.float32)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_constants_stay_weak(wrap):
    """A result that no example changes has the type that it has without ``vmap``."""
    out = wrap(jax.vmap(lambda x: (1, 2.0, x * 0 + 1)))(X)
    assert [o.weak_type for o in out] == [True, True, False] and [o.shape for o in out] == [(3,)] * 3
    assert (out[1] * jnp.ones(3, jnp.bfloat16)).dtype == jnp.bfloat16
    assert jax.vmap(lambda: 2.0, axis_size=2)().weak_type
    x, same = jax.vmap(lambda x: (x, 3.0), out_axes=(0, None))(X)
    assert x.shape == (3,) and np.shape(same) == ()


def raising(x):
    raise LookupError(f"no entry for {float(x)}")


CALLBACKS = {
    "pure_callback": lambda x: jax.pure_callback(raising, F32, x),
    "io_callback": lambda x: io_callback(raising, F32, x),
    "ordered io_callback": lambda x: io_callback(raising, F32, x, ordered=True),
    "debug.callback": lambda x: jax.debug.callback(raising, x),
}


@pytest.mark.parametrize("name", CALLBACKS)
def test_exceptions_of_repeated_calls(name):
    f = jax.jit(CALLBACKS[name])
    for value in (1.0, 2.0):
        with pytest.raises(LookupError) as caught:
            jax.block_until_ready(f(value))
            jax.effects_barrier()
        chain, error = [], caught.value
        while error is not None:
            chain.append(error)
            error = error.__cause__ or error.__context__
        own = [e for e in chain if type(e) is LookupError]
        assert own and str(own[-1].args[0]) == f"no entry for {value}"
        assert traceback.extract_tb(own[-1].__traceback__)[-1].name == "raising"


def check_fails(message, *args, **kwargs):
    err, _ = checkify.checkify(lambda x: (checkify.check(x > 5, message, *args, **kwargs), x)[1])(np.float32(1))
    err.throw()


MISUSE = {
    "vmap, function": (lambda: jax.vmap(3), TypeError, "vmap takes a function as its first argument, got 3"),
    "vmap, axis_name": (lambda: jax.vmap(jnp.sin, axis_name=["i"]), TypeError, r"axis_name must be hashable.*got \['i'\]"),
    "vmap, axis_size": (lambda: jax.vmap(jnp.sin, axis_size=4)(X), ValueError, "one size, got sizes 3, 4"),
    "vmap, sizes": (lambda: jax.vmap(lambda d, n: n)({"a": X}, X[:2]), ValueError,
                    r"size 3: axis 0 of d\['a'\] with shape \(3,\)\n  size 2: axis 0 of n with"),
    "vmap, output": (lambda: jax.vmap(lambda x: "text")(X), TypeError, "'text' of type str"),
    "vectorize, signature": (lambda: jnp.vectorize(jnp.sin, signature="(n)->(")(X), ValueError, "is no signature"),
    "vectorize, dimensions": (lambda: jnp.vectorize(jnp.dot, signature="(n),(n)->()")(X, X[:2]), ValueError,
                              "'n' has sizes 3 and 2"),
    "vectorize, excluded": (lambda: jnp.vectorize(jnp.sin, excluded=(-1,))(X), ValueError, "count from 0, got -1"),
    "pure_callback, function": (lambda: jax.pure_callback(3, F32), TypeError, "pure_callback takes a function"),
    "pure_callback, method": (lambda: jax.pure_callback(np.sin, F32, 1.0, vmap_method="all"), ValueError,
                              "one of 'sequential', 'sequential_unrolled', 'expand_dims', 'broadcast_all'"),
    "pure_callback, type": (lambda: jax.pure_callback(np.sin, 3, 1.0), TypeError, "3 of type int"),
    "pure_callback, grad": (lambda: jax.grad(lambda x: jax.pure_callback(np.sin, F32, x))(1.0), ValueError, "custom_jvp"),
    "io_callback, function": (lambda: io_callback(3, None), TypeError, "io_callback takes a function"),
    "io_callback, vmap": (lambda: jax.vmap(lambda x: io_callback(print, None, x, ordered=True))(X), ValueError, "no order"),
    "debug.callback": (lambda: jax.debug.callback(3, 1.0), TypeError, "debug.callback takes a function"),
    "debug.print": (lambda: jax.debug.print(3), TypeError, r'write jax\.debug\.print\("\{\}", x\)'),
    "debug.print, field": (lambda: jax.debug.print("{x}", 1), KeyError, "no argument of that name"),
    "debug.print, unused": (lambda: jax.jit(lambda x: jax.debug.print("x", x))(1), ValueError, "does not use"),
    "effects_barrier": (lambda: jax.effects_barrier(X), TypeError, "argument"),
    "checkify.check": (lambda: checkify.check(jnp.asarray(X) > 0, "m"), TypeError, r"boolean scalar, got bool\[3\]"),
    "checkify.check, message": (lambda: check_fails("v {}"), IndexError, "not given"),
    "checkify.check, values": (lambda: check_fails("v {v}", v="text"), TypeError, "'text' of type str"),
    "checkify.check, error": (lambda: check_fails("v is {v}", v=X), checkify.JaxRuntimeError, r"v is \[0\. 1\. 2\.\]"),
    "checkify.check_error": (lambda: checkify.check_error("e"), TypeError, "takes an Error.*got 'e' of type str"),
    "unbound axis": (lambda: lax.psum(X, "rows"), NameError, "axis name 'rows' is not bound"),
}


@pytest.mark.parametrize("name", MISUSE)
def test_misuse(name):
    call, error, message = MISUSE[name]
    with pytest.raises(error, match=message):
        call()


def test_ordered_prints_in_a_loop_a_batch_and_a_gradient(capsys):
    def body(c, x):
        jax.debug.print("{} {c}", x, c=c, ordered=True)
        return c + x, None

    jax.jit(lambda x: lax.scan(body, 0.0, x))(X)
    jax.effects_barrier()
    assert capsys.readouterr().out == "0.0 0.0\n1.0 0.0\n2.0 1.0\n"
    jax.vmap(lambda x: jax.debug.print("{}", x, ordered=True))(X)
    jax.effects_barrier()
    assert capsys.readouterr().out == "0.0\n1.0\n2.0\n"
    jax.grad(lambda x: lax.scan(body, 0.0, x)[0])(X)
    jax.effects_barrier()
    assert capsys.readouterr().out == "0.0 0.0\n1.0 0.0\n2.0 1.0\n"
