"""``jax_debug_key_reuse``: keys that are used again are found, and correct programs are left alone."""

import copy

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax, random
from jax.errors import KeyReuseError
from jax.random import _following


@pytest.fixture(autouse=True)
def following():
    with jax.debug_key_reuse(True):
        yield


def key():
    return random.key(0)


def fine(fun):
    """The program runs; and it does so again with new keys."""
    fun()
    fun()


def reused(fun, text="has been consumed before"):
    with pytest.raises(KeyReuseError, match=text):
        fun()


# --- one operation after the other ----------------------------------------------------------------------------------

@pytest.mark.quick
def test_a_key_can_be_consumed_once():
    k = key()
    random.normal(k)
    reused(lambda: random.uniform(k), r"(?s)passed to jax.random.uniform at .*first consumed by jax.random.normal at "
           r".*test_key_reuse.py.*jax.random.split.*jax.random.clone")
    reused(lambda: random.split(k), "passed to jax.random.split")
    with jax.debug_key_reuse(False):
        random.normal(k)
    reused(lambda: random.bits(k))


def test_what_does_not_consume():
    k = key()
    for _ in range(2):
        random.fold_in(k, 1)
        random.key_data(k)
        random.key_impl(k)
        repr(k)
        assert (k == k).all()
    random.normal(k)
    random.fold_in(k, 2)
    random.key_data(k)


def test_new_keys_are_new():
    k = key()
    twin = random.clone(k)
    a, b = random.split(k)
    for new in (a, b, twin, random.clone(k), random.fold_in(k, 1), random.wrap_key_data(random.key_data(k)), key()):
        random.normal(new)
        reused(lambda new=new: random.normal(new))


def test_raw_keys_are_not_followed():
    raw = random.PRNGKey(0)
    random.normal(raw)
    random.normal(raw)


# --- arrays ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("first, second, again", [
    (lambda ks: ks[0], lambda ks: ks[0], True), (lambda ks: ks[0], lambda ks: ks[1], False),
    (lambda ks: ks[-1], lambda ks: ks[3], True), (lambda ks: ks[jnp.int32(1)], lambda ks: list(ks)[1], True),
    (lambda ks: ks[1:3], lambda ks: ks[2], True), (lambda ks: ks[1:3], lambda ks: ks[3], False),
    (lambda ks: ks.reshape(2, 2)[1], lambda ks: ks[2], True), (lambda ks: ks.reshape(2, 2).T[0], lambda ks: ks[1], False),
    (lambda ks: ks[::-1][0], lambda ks: ks[3], True), (lambda ks: ks[jnp.array([0, 2])], lambda ks: ks[2], True),
    (lambda ks: jnp.concatenate([ks[:1], ks[3:]]), lambda ks: ks[3], True),
    (lambda ks: jnp.stack([ks[0], ks[1]]), lambda ks: ks[2], False), (lambda ks: ks, lambda ks: ks[1], True),
    (lambda ks: ks[2], lambda ks: ks, True), (lambda ks: jax.device_put(ks[0]), lambda ks: ks[0], True),
    (lambda ks: copy.copy(ks)[0], lambda ks: ks[0], True), (lambda ks: ks.at[0].set(key()), lambda ks: ks[0], False),
    (lambda ks: ks.at[0].set(key()), lambda ks: ks[1], True),
    (lambda ks: jnp.where(True, ks, ks[0]), lambda ks: ks[1], True),
    (lambda ks: ks[None, :, None][0], lambda ks: ks[1], True),
])
def test_elements_are_followed(first, second, again):
    def draw(keys):
        for _ in range(keys.ndim):
            keys = keys.reshape(-1)
        return jax.vmap(random.bits)(keys) if keys.ndim else random.bits(keys)
    ks = random.split(key(), 4)
    draw(first(ks))
    if again:
        reused(lambda: draw(second(ks)))
    else:
        draw(second(ks))


def test_a_key_twice_in_one_array():
    k = key()
    reused(lambda: jax.vmap(random.normal)(jnp.stack([k, k])), r"the key at index \(1,\) of an array")
    jax.vmap(random.normal)(jnp.broadcast_to(key(), (3,)))  # on purpose


def test_large_arrays_are_not_followed():
    ks = random.split(key(), 70000)
    jax.vmap(random.bits)(ks)
    jax.vmap(random.bits)(ks)


# --- programs -------------------------------------------------------------------------------------------------------

@jax.jit
def noise(k):
    return random.normal(k, (2,))


def test_programs_consume_their_arguments():
    k = key()
    noise(k)
    reused(lambda: noise(k), r"a key \(k of noise\) that has been consumed before is passed to jax.random.normal at .*"
           r"\(in noise, called at .*first consumed by the program noise")
    reused(lambda: random.normal(k))
    fine(lambda: jax.jit(lambda k: random.fold_in(k, 1))(key()))
    reused(lambda: jax.jit(lambda k: noise(k) + noise(k))(key()))
    reused(lambda: jax.jit(lambda k: (random.split(k), random.normal(k)))(key()))
    reused(lambda: jax.jit(lambda: random.normal(jnp.stack([key()] * 2)[0]) + random.normal(k))())
    same = key()
    reused(lambda: jax.jit(lambda a, b: random.normal(a) + random.normal(b))(same, same))


def test_keys_that_programs_return():
    k = key()
    assert random.normal(jax.jit(lambda k: k)(k)).shape == ()
    reused(lambda: random.normal(k))
    reused(lambda: random.normal(jax.jit(lambda k: (random.normal(k), k))(key())[1]))
    new, x = jax.jit(lambda k: (lambda a, b: (a, random.normal(b)))(*random.split(k)))(key())
    random.normal(new)
    reused(lambda: random.normal(new))
    ks = jax.jit(lambda k: random.split(k, 3)[::-1])(key())
    random.normal(ks[0])
    reused(lambda: random.normal(ks[0]))


def test_keys_that_are_chosen_while_a_program_runs_are_new():
    a, b = key(), key()
    chosen = jax.jit(lambda a, b, c: jnp.where(random.bits(c) > 5, a, b))(a, b, key())
    for k in (chosen, a, b):
        random.normal(k)


def test_messages_name_public_functions():
    k = key()
    random.choice(k, 5, (2,), p=jnp.ones(5) / 5)
    reused(lambda: random.permutation(k, 5), "passed to jax.random.permutation at .* consumed by jax.random.choice at")
    reused(lambda: random.uniform(k, (), jnp.float32, 1.0, 2.0), "passed to jax.random.uniform at")
    fine(lambda: random.choice(key(), jnp.arange(5), (2,), replace=False))


def test_closed_over_keys_are_found_at_the_second_call():
    k = key()
    f = jax.jit(lambda x: x + random.normal(k))
    f(1.0)
    reused(lambda: f(1.0), "a key that the function closes over, that has been consumed before")


STEP = 3


@pytest.mark.parametrize("loop, again", [
    (lambda k: lax.scan(lambda c, x: (c + random.normal(k), x), 0.0, jnp.arange(STEP)), True),
    (lambda k: lax.scan(lambda c, x: (c + random.normal(k), x), 0.0, jnp.arange(1)), False),
    (lambda k: lax.scan(lambda c, x: (c, random.normal(c)), k, None, length=STEP), True),
    (lambda k: lax.scan(lambda c, x: (lambda a, b: (a, random.normal(b)))(*random.split(c)), k, None, length=STEP), False),
    (lambda k: lax.scan(lambda c, x: ((c[1], c[0]), random.normal(c[0])), tuple(random.split(k)), None, length=3), True),
    (lambda k: lax.scan(lambda c, x: ((c[1], c[0]), random.normal(c[0])), tuple(random.split(k)), None, length=2), False),
    (lambda k: lax.scan(lambda c, x: (c, random.normal(x)), 0.0, random.split(k, 9)), False),
    (lambda k: lax.scan(lambda c, x: (c, random.normal(x)), 0.0, jnp.stack([k] * 9)), True),
    (lambda k: lax.fori_loop(0, STEP, lambda i, c: c + random.normal(random.fold_in(k, i)), 0.0), False),
    (lambda k: lax.while_loop(lambda s: s[1] < 3, lambda s: (s[0], s[1] + abs(random.normal(s[0]))), (k, 0.0)), True),
    (lambda k: lax.while_loop(lambda s: s[1] < 3, lambda s: (random.split(s[0])[0], s[1] + 1), (k, 0.0)), False),
    (lambda k: lax.while_loop(lambda s: random.normal(s) > 9, lambda s: s, k), True),
    (lambda k: lax.while_loop(lambda s: random.normal(s) > 9, lambda s: random.split(s)[0], k), True),
    (lambda k: lax.while_loop(lambda s: random.normal(random.fold_in(s, 0)) > 9, lambda s: random.split(s)[0], k), False),
    (lambda k: lax.cond(True, random.normal, lambda k: random.normal(k) + 1, k), False),
    (lambda k: lax.cond(True, lambda k: random.normal(k) + random.normal(k), lambda k: 0.0, k), True),
    (lambda k: (lax.cond(False, random.normal, lambda k: 0.0, k), random.normal(k)), True),
    (lambda k: random.normal(lax.cond(False, lambda k: k, lambda k: random.fold_in(k, 1), k)), False),
    (lambda k: random.normal(lax.cond(True, lambda k: (random.bits(k), k), lambda k: (random.bits(k), k), k)[1]), True),
    (lambda k: lax.map(lambda x: random.normal(random.fold_in(k, x)), jnp.arange(3)), False),
], ids=range(20))
def test_loops_and_branches(loop, again):
    for run in (loop, jax.jit(loop)):
        if again:
            reused(lambda run=run: run(key()))
        else:
            fine(lambda run=run: run(key()))


def test_the_error_says_that_a_loop_repeats():
    reused(lambda: lax.scan(lambda c, x: (c, random.normal(c)), key(), None, length=3),
           r"in another iteration of the scan at .*test_key_reuse.py.*the same operation, which runs again")


# --- transformations ------------------------------------------------------------------------------------------------

def test_transformations():
    k = key()
    jax.vmap(lambda x: x + random.normal(k))(jnp.arange(3.0))
    reused(lambda: jax.vmap(lambda x: x + random.normal(k))(jnp.arange(3.0)))
    for run in (lambda f: f, jax.jit):
        fine(lambda run=run: run(jax.grad(lambda x, k: x * random.normal(k)))(1.0, key()))
        fine(lambda run=run: run(jax.grad(jax.checkpoint(lambda x, k: jnp.sin(x * random.normal(k)))))(1.0, key()))
        fine(lambda run=run: run(jax.grad(lambda x, k: x * noise(k).sum()))(1.0, key()))
        fine(lambda run=run: run(jax.vmap(jax.grad(lambda x, k: x * random.normal(k))))(jnp.ones(2), random.split(key())))
        fine(lambda run=run: run(jax.hessian(lambda x, k: x ** 2 * random.normal(k)))(1.0, key()))
        reused(lambda run=run: run(jax.grad(lambda x, k: x * random.normal(k) * random.normal(k)))(1.0, key()))
        reused(lambda run=run: run(jax.vmap(lambda k: random.normal(k) + random.uniform(k)))(random.split(key())))


def test_parts_of_arrays_on_devices():
    ks = random.split(key(), 1)
    jax.pmap(random.normal)(ks)
    reused(lambda: jax.pmap(random.normal)(ks))
    reused(lambda: random.normal(ks[0]))
    reused(lambda: jax.pmap(lambda k: random.normal(k) + random.uniform(k))(random.split(key(), 1)))
    k = key()
    jax.pmap(lambda x: x + random.normal(k))(jnp.ones(1))
    reused(lambda: random.normal(k))


SAMPLERS = {
    "ball": (3,), "bernoulli": (), "beta": (0.5, 2.0), "binomial": (5.0, 0.3), "bits": (), "categorical": (np.zeros(3),),
    "cauchy": (), "chisquare": (2.0,), "choice": (np.arange(5.0), (2,)), "dirichlet": (np.ones(3),),
    "double_sided_maxwell": (0.0, 1.0), "exponential": (), "f": (2.0, 3.0), "gamma": (0.5,), "generalized_normal": (1.5,),
    "geometric": (0.3,), "gumbel": (), "laplace": (), "loggamma": (0.5,), "logistic": (), "lognormal": (), "maxwell": (),
    "multinomial": (3, np.ones(2) / 2), "multivariate_normal": (np.zeros(2), np.eye(2)), "normal": (), "orthogonal": (2,),
    "pareto": (2.0,), "permutation": (np.arange(4),), "poisson": (3.0,), "rademacher": (), "randint": ((2,), 0, 9),
    "rayleigh": (1.0,), "t": (3.0,), "triangular": (0.0, 0.5, 1.0), "truncated_normal": (-1.0, 1.0), "uniform": (),
    "wald": (1.0,), "weibull_min": (1.0, 2.0),
}


def _draw(name):
    return lambda k: getattr(random, name)(k, *SAMPLERS[name])


@pytest.mark.parametrize("name", ["normal", "poisson", "choice", "permutation"])
def test_samplers_consume_their_key_once(name):
    k = key()
    _draw(name)(k)
    reused(lambda: _draw(name)(k), "passed to jax.random")
    fine(lambda: jax.vmap(_draw(name))(random.split(key(), 1)))


@pytest.mark.parametrize("name", sorted(SAMPLERS))
def test_samplers_in_programs(name):
    """Programs are looked at without being compiled."""
    program, k = jax.make_jaxpr(_draw(name))(key()), key()
    outs = [None] * len(program.out_avals)
    _following.follow_call(program, [k], "draw")(outs)
    reused(lambda: _following.follow_call(program, [k], "draw"), "passed to jax.random.*first consumed by the program draw")


def test_the_switch_of_the_configuration():
    jax.config.update("jax_debug_key_reuse", True)
    try:
        k = key()
        random.normal(k)
        reused(lambda: random.normal(k))
    finally:
        jax.config.update("jax_debug_key_reuse", False)
