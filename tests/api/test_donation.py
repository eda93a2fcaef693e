"""Arguments whose memory a program takes over: what is said about using them again."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp


def _step(state, batch):
    return {"w": state["w"] + batch}


@pytest.mark.parametrize("warm", [False, True], ids=["first call", "repeated call"])
def test_the_same_array_donated_and_kept(warm):
    step = jax.jit(_step, donate_argnums=0)
    if warm:
        step({"w": jnp.ones(3)}, jnp.ones(3))
    a = jnp.ones(3)
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        step({"w": a}, a)
    message = str(caught.value)
    assert message.startswith("_step takes over the memory of its argument state['w'] (f32[3])")
    assert "the same array as batch" in message and "jnp.copy" in message
    assert message.count("_step takes over") == 1
    np.testing.assert_array_equal(step({"w": a}, jnp.copy(a))["w"], 2 * np.ones(3))


@pytest.mark.parametrize("as_names", [False, True])
def test_a_donated_array_is_passed_again(as_names):
    step = jax.jit(_step, donate_argnames="state") if as_names else jax.jit(_step, donate_argnums=0)
    a = jnp.ones(3)
    step({"w": a}, jnp.ones(3))
    assert a.is_deleted()
    with pytest.raises(RuntimeError, match=r"was donated to a compiled function.*passed to _step as state\['w'\]"):
        step({"w": a}, jnp.ones(3))
    with pytest.raises(RuntimeError, match=r"was donated to a compiled function.*passed to _step as batch"):
        step({"w": jnp.ones(3)}, batch=a)


def test_functions_that_donate_are_jitted_functions():
    def fresh(state, batch):
        return _step(state, batch)
    step = jax.jit(fresh, donate_argnums=0)
    assert step.__name__ == "fresh" and step.__wrapped__ is fresh
    compiled = step.lower({"w": jnp.ones(3)}, jnp.ones(3)).compile()
    np.testing.assert_array_equal(compiled({"w": jnp.ones(3)}, jnp.ones(3))["w"], 2 * np.ones(3))
    step({"w": jnp.ones(3)}, jnp.ones(3))
    assert step._cache_size() == 1
    with pytest.raises(ZeroDivisionError):
        jax.jit(lambda x: 1 / 0, donate_argnums=0)(1.0)
