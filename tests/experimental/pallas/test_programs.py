"""Kernels that are written anew for every call: the same program is one program."""

import functools

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import _programs

B, S = pl.BlockSpec, jax.ShapeDtypeStruct
X = jnp.arange(4.)


def program(f, *operands):
    (eqn,) = jax.make_jaxpr(f)(*operands).eqns
    return eqn.params["jaxpr"]


def scaled(factor, block=2, index=0, **settings):
    def kernel(x, out):
        out[...] = lax.fori_loop(0, 2, lambda i, c: c * factor, x[...])

    spec = B((block,), lambda i: i + index)
    return pl.pallas_call(kernel, S((4,), jnp.float32), grid=2, in_specs=[spec], out_specs=spec, interpret=True, **settings)


@pytest.mark.quick
def test_equal_programs_are_one():
    same = program(scaled(3.), X)
    assert program(scaled(3.), X) is same and program(scaled(3.0), np.ones(4, np.float32)) is same
    for other in (scaled(4.), scaled(3., 4), scaled(3., index=1), scaled(3., name="other"), scaled(np.float32(2))):
        assert program(other, X) is not same
    assert program(scaled(0.), X) is not program(scaled(-0.), X)
    assert program(scaled(float("nan")), X) is program(scaled(float("nan")), X)
    jax.clear_caches()
    assert program(scaled(3.), X) is not same
    assert scaled(3.)(X).tolist() == [0., 9., 18., 27.] and scaled(4.)(X).tolist() == [0., 16., 32., 48.]


def test_programs_are_forgotten_when_there_are_many(monkeypatch):
    monkeypatch.setattr(_programs, "_MOST_PROGRAMS", 5)
    for i in range(20):
        assert program(scaled(float(i)), X) is program(scaled(float(i)), X)
        assert sum(map(len, _programs._programs.values())) <= 5


def test_a_program_is_compiled_once():
    def kernel(x, out, *, power):
        out[...] = x[...] ** power

    def call(power, x):
        return pl.pallas_call(functools.partial(kernel, power=power), S(x.shape, x.dtype), interpret=True)(x)

    compiled = []

    def listen(event, duration, **kwargs):
        if event.endswith("backend_compile_duration"):
            compiled.append(kwargs)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        assert call(2, X).tolist() == [0., 1., 4., 9.]
        assert len(compiled) == 1
        for _ in range(3):
            assert call(2, X).tolist() == [0., 1., 4., 9.]
        assert len(compiled) == 1
        assert call(3, X).tolist() == [0., 1., 8., 27.] and call(2, X[:2]).tolist() == [0., 1.]
        del compiled[:]
        first = jax.vmap(functools.partial(call, 2))(X[None])
        made = len(compiled)
        assert jax.vmap(functools.partial(call, 2))(X[None]).tolist() == first.tolist() and len(compiled) == made
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


def test_kernels_that_are_no_functions():
    class Add:
        def __init__(self, n):
            self.n = n

        def __call__(self, x, out):
            out[...] = x[...] + self.n

    for n in (1., 2.):
        assert pl.pallas_call(Add(n), S((4,), jnp.float32), interpret=True)(X).tolist() == (np.arange(4) + n).tolist()


def test_options_are_part_of_a_program():
    def check(x, out):
        out[...] = x[...]
        pl.debug_check(x[0] > 5, "too small")

    call = pl.pallas_call(check, S((4,), jnp.float32), interpret=True)
    call(X)
    with pl.enable_debug_checks(True), pytest.raises(ValueError, match="too small"):
        jax.block_until_ready(call(X))
    call(X)
