"""Keys: making them, their dtype, arrays of them, and what they are used for besides drawing numbers."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax, random

pytestmark = pytest.mark.quick

KEY = random.key(0)
KEYS = random.split(KEY, (2, 3))
IMPLS = ["threefry2x32", "rbg", "unsafe_rbg"]


def words(keys):
    return np.asarray(random.key_data(keys))


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    np.testing.assert_array_equal(words(a), words(b))


# --- seeds ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("seed", "expected"), [
    (0, [0, 0]), (5, [0, 5]), (-1, [0, 2**32 - 1]), (2**32 + 7, [0, 7]), (2**63 - 1, [0, 2**32 - 1]),
    (np.uint32(5), [0, 5]), (np.int8(-3), [0, 2**32 - 3]), (np.int64(2**33 + 5), [0, 5]), (True, [0, 1]),
])
def test_seeds(seed, expected):
    assert words(random.key(seed)).tolist() == expected
    assert np.asarray(random.PRNGKey(seed)).tolist() == expected


@pytest.mark.parametrize(("seed", "expected"), [
    (-1, [2**32 - 1, 2**32 - 1]), (2**32 + 7, [1, 7]), (np.int64(2**33 + 5), [2, 5]), (np.int32(-3), [0, 2**32 - 3]),
])
def test_wide_seeds(seed, expected):
    with jax.enable_x64(True):
        assert words(random.key(seed)).tolist() == expected


@pytest.mark.parametrize("impl", IMPLS)
def test_traced_seeds(impl):
    eager = random.key(7, impl=impl)
    same(jax.jit(lambda s: random.key(s, impl=impl))(7), eager)
    same(random.key(jnp.asarray(7), impl=impl), eager)
    same(jax.vmap(lambda s: random.key(s, impl=impl))(jnp.arange(5, 9))[2], eager)
    assert jax.make_jaxpr(random.key)(0).eqns[0].primitive.name == "random_seed"


def test_seed_offset():
    jax.config.update("jax_random_seed_offset", 7)
    try:
        assert words(random.key(3)).tolist() == [0, 10]
        assert words(jax.jit(random.key)(3)).tolist() == [0, 10]
        assert words(random.key(jnp.uint32(3))).tolist() == [0, 10]
    finally:
        jax.config.update("jax_random_seed_offset", 0)


@pytest.mark.parametrize(("seed", "error", "match"), [
    (1.0, TypeError, "a seed is an integer"), ([0], TypeError, "a seed is an integer"), ("0", TypeError, "integer"),
    (jnp.arange(3), TypeError, "jax.random.split"), (KEY, TypeError, "got a key"), (2**70, OverflowError, "64 bits"),
])
def test_bad_seeds(seed, error, match):
    with pytest.raises(error, match=match):
        random.key(seed)
    with pytest.raises(error, match=match):
        random.PRNGKey(seed)


def test_bad_generators():
    with pytest.raises(ValueError, match="threefry2x32"):
        random.key(0, impl="mersenne")
    with pytest.raises(TypeError, match="name or a key dtype"):
        random.key(0, impl=3)
    with pytest.raises(ValueError, match="not both"):
        random.key(0, impl="rbg", dtype=KEY.dtype)


# --- dtype and type -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("impl", IMPLS)
def test_dtype(impl):
    key = random.key(0, impl=impl)
    assert key.dtype == random.key_dtype(impl) and hash(key.dtype) == hash(random.key_dtype(impl))
    assert random.key_impl(key) == impl
    assert jnp.issubdtype(key.dtype, jax.dtypes.prng_key) and jnp.issubdtype(key.dtype, jax.dtypes.extended)
    assert not jnp.issubdtype(key.dtype, np.number)
    assert pickle.loads(pickle.dumps(key.dtype)) == key.dtype
    assert (key.dtype == KEY.dtype) == (impl == "threefry2x32")
    assert random.key(0, dtype=key.dtype).dtype == key.dtype


def test_array_attributes():
    assert isinstance(KEYS, jax.Array)
    assert (KEYS.shape, KEYS.ndim, KEYS.size, KEYS.nbytes, KEYS.itemsize, len(KEYS)) == ((2, 3), 2, 6, 48, 8, 2)
    assert str(KEY.dtype) == "key<fry>" and "key<fry>" in repr(KEYS) and "overlaying" in f"{KEY}"
    assert KEYS.devices() == {jax.devices()[0]} and KEYS.is_fully_addressable
    (shard,) = KEYS.addressable_shards
    same(shard.data, KEYS)
    assert shard.index == (slice(None),) * 2
    assert jax.typeof(KEYS).str_short() == "key<fry>[2,3]"


def test_life():
    key = random.key(5)
    same(pickle.loads(pickle.dumps(KEYS)), KEYS)
    for other in (copy.copy(key), copy.deepcopy(key), key.copy(), jax.device_put(key, jax.devices()[0]),
                  jax.device_get(key), jax.block_until_ready(key), random.clone(key)):
        same(other, key)
    key.delete()
    assert key.is_deleted()


def test_key_data_round_trip():
    same(random.wrap_key_data(random.key_data(KEYS)), KEYS)
    rbg = random.key(3, impl="rbg")
    same(random.wrap_key_data(np.asarray(random.key_data(rbg)), impl="rbg"), rbg)
    for bad in ([0, 1], jnp.zeros((2, 3), jnp.uint32), jnp.zeros(2, jnp.int32)):
        with pytest.raises(TypeError, match="uint32"):
            random.wrap_key_data(bad)


@pytest.mark.parametrize("use", [bool, int, float, hash, np.asarray, len, list, lambda k: k.item(), lambda k: k + 1,
                                 lambda k: k.astype(jnp.float32), lambda k: k < k, lambda k: jnp.sum(k)])
def test_keys_are_no_numbers(use):
    with pytest.raises((TypeError, ValueError)):
        use(KEY)


# --- arrays of keys -------------------------------------------------------------------------------------------------

STRUCTURAL = {
    "index": lambda k: k[1], "index pair": lambda k: k[1, 2], "slice": lambda k: k[:, 1:], "new axis": lambda k: k[None],
    "ellipsis": lambda k: k[..., -1], "gather": lambda k: k[jnp.array([1, 0])],
    "mask": lambda k: k[np.array([True, False])], "reshape": lambda k: k.reshape(3, 2), "ravel": lambda k: k.ravel(),
    "transpose": lambda k: k.T, "stack": lambda k: jnp.stack([k, k[::-1]]), "concatenate": lambda k: jnp.concatenate([k, k]),
    "broadcast": lambda k: jnp.broadcast_to(k[0], (4, 3)), "expand": lambda k: jnp.expand_dims(k, 1),
    "where": lambda k: jnp.where(jnp.array([[True], [False]]), k, k[::-1]), "flip": lambda k: jnp.flip(k, 0),
    "roll": lambda k: jnp.roll(k, 1, 1), "tile": lambda k: jnp.tile(k, (2, 1)), "take": lambda k: jnp.take(k, 1, axis=0),
    "set": lambda k: k.at[0].set(k[1]), "update": lambda k: lax.dynamic_update_slice(k, k[:1], (1, 0)),
    "dynamic slice": lambda k: lax.dynamic_slice(k, (0, 1), (2, 2)), "repeat": lambda k: k.repeat(2, 0),
}


@pytest.mark.parametrize("name", STRUCTURAL)
def test_structural_operations(name):
    """Operations on keys are those on their positions."""
    fun = STRUCTURAL[name]
    positions = jnp.arange(6).reshape(2, 3)
    want = np.asarray(fun(positions))
    flat = words(KEYS).reshape(6, 2)
    for got in (fun(KEYS), jax.jit(fun)(KEYS)):
        assert got.shape == want.shape
        np.testing.assert_array_equal(words(got), flat[want])


def test_comparison():
    assert (KEYS == KEYS).all() and not (KEYS != KEYS).any()
    assert (KEYS == KEYS[0]).tolist() == [[True] * 3, [False] * 3]
    with pytest.raises((TypeError, ValueError)):
        jnp.stack([KEY, random.key(0, impl="rbg")])
    assert jnp.zeros_like(KEYS).dtype == KEYS.dtype


def test_iteration():
    same(jnp.stack(list(KEYS[0])), KEYS[0])
    a, b = random.split(KEY)
    same(jnp.stack([a, b]), random.split(KEY))


def test_control_flow():
    def step(key, _):
        key, sub = random.split(key)
        return key, random.normal(sub)

    final, drawn = lax.scan(step, KEY, None, length=3)
    key = KEY
    for x in drawn:
        key, want = step(key, None)
        np.testing.assert_allclose(x, want, rtol=1e-6)
    same(final, key)
    same(lax.fori_loop(0, 3, lambda i, k: random.fold_in(k, i), KEY),
         random.fold_in(random.fold_in(random.fold_in(KEY, 0), 1), 2))
    same(lax.cond(True, lambda k: random.split(k)[1], lambda k: k, KEY), random.split(KEY)[1])
    same(lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, random.split(c[1])[0]), (0, KEY))[1],
         random.split(random.split(KEY)[0])[0])
    np.testing.assert_allclose(lax.map(random.normal, KEYS[0]), [random.normal(k) for k in KEYS[0]], rtol=1e-6)


def test_transformations_of_keys():
    same(jax.jit(lambda k: k)(KEY), KEY)
    same(jax.vmap(lambda k: k)(KEYS), KEYS)
    same(jax.vmap(random.split, out_axes=1)(KEYS[0]), jnp.stack([random.split(k) for k in KEYS[0]], 1))
    assert jax.eval_shape(random.split, KEY).dtype == KEY.dtype
    compiled = jax.jit(random.normal).lower(jax.ShapeDtypeStruct((), KEY.dtype)).compile()
    np.testing.assert_array_equal(compiled(KEY), jax.jit(random.normal)(KEY))
    np.testing.assert_allclose(jax.grad(jax.checkpoint(lambda x, k: x * random.normal(k)))(2.0, KEY),
                               random.normal(KEY), rtol=1e-6)


def test_keys_have_float0_tangents():
    assert jax.grad(random.normal, allow_int=True)(KEY).dtype == jax.dtypes.float0
    assert jax.vjp(random.normal, KEY)[1](1.0)[0].dtype == jax.dtypes.float0
    zero = np.zeros((), jax.dtypes.float0)
    value, tangent = jax.jvp(random.normal, (KEY,), (zero,))
    assert tangent == 0 and value == random.normal(KEY)
    with pytest.raises(TypeError, match="key<fry>"):
        jax.grad(random.normal)(KEY)


# --- split and fold_in ----------------------------------------------------------------------------------------------

def test_split_shapes():
    for num, shape in ((2, (2,)), (0, (0,)), ((), ()), ((2, 3), (2, 3)), ([2, 2], (2, 2)), (np.int64(3), (3,))):
        assert random.split(KEY, num).shape == shape
    same(random.split(KEY, 6).reshape(2, 3), random.split(KEY, (2, 3)))
    for bad, error in ((2.0, TypeError), (-1, TypeError)):
        with pytest.raises(error):
            random.split(KEY, bad)


def test_fold_in_data():
    same(random.fold_in(KEY, 2**32 + 5), random.fold_in(KEY, 5))
    same(random.fold_in(KEY, -1), random.fold_in(KEY, 2**32 - 1))
    same(random.fold_in(KEY, jnp.int8(5)), random.fold_in(KEY, 5))
    same(jax.jit(random.fold_in)(KEY, 5), random.fold_in(KEY, 5))
    for bad in (1.0, jnp.arange(3)):
        with pytest.raises(TypeError, match="fold_in"):
            random.fold_in(KEY, bad)


@pytest.mark.parametrize("fun", [random.split, lambda k: random.fold_in(k, 3), random.normal,
                                 lambda k: random.randint(k, (2,), 0, 9)])
def test_misused_keys(fun):
    with pytest.raises(ValueError, match="vmap"):
        fun(KEYS)
    with pytest.raises(ValueError, match="vmap"):
        fun(random.split(random.PRNGKey(0)))
    for bad in ([0, 1], 0, jnp.zeros(3, jnp.uint32), jnp.zeros(2, jnp.int32), None):
        with pytest.raises(TypeError, match="jax.random.key"):
            fun(bad)


def test_numpy_raw_keys():
    raw = np.array([0, 3], np.uint32)
    np.testing.assert_array_equal(random.normal(raw), random.normal(random.key(3)))
    np.testing.assert_array_equal(random.split(raw), random.split(random.PRNGKey(3)))


# --- options --------------------------------------------------------------------------------------------------------

def test_default_generator():
    with jax.default_prng_impl("rbg"):
        assert random.key_impl(random.key(0)) == "rbg"
        assert random.PRNGKey(0).shape == (4,)
        assert random.uniform(random.PRNGKey(0)).shape == ()


def test_legacy_key_option():
    raw = random.PRNGKey(0)
    with jax.legacy_prng_key("error"):
        with pytest.raises(ValueError, match="jax.random.key"):
            random.normal(raw)
        random.normal(KEY)
    with jax.legacy_prng_key("warn"), pytest.warns(UserWarning, match="jax_legacy_prng_key=warn"):
        random.normal(raw)


def test_custom_prng_option():
    with jax.enable_custom_prng(True):
        same(random.PRNGKey(3), random.key(3))


# --- generators of one's own ----------------------------------------------------------------------------------------

def test_new_generator():
    from jax.extend import random as xrandom

    counter = xrandom.define_prng_impl(
        key_shape=(1,), seed=lambda seed: jnp.uint32(seed)[None],
        split=lambda key, shape: key + jnp.arange(1, np.prod(shape, dtype=int) + 1, dtype=jnp.uint32).reshape(*shape, 1),
        random_bits=lambda key, width, shape: (key[0] + jnp.arange(np.prod(shape, dtype=int), dtype=jnp.uint32))
        .reshape(shape).astype(f"uint{width}"),
        fold_in=lambda key, data: key + data, name="counter", tag="cnt")
    key = random.key(10, impl=counter)
    assert str(key.dtype) == "key<cnt>" and words(key).tolist() == [10]
    assert random.key(10, impl="counter").dtype == key.dtype and random.key_impl(key) == "counter"
    assert words(random.split(key, (2, 2))).ravel().tolist() == [11, 12, 13, 14]
    assert words(random.fold_in(key, 5)).tolist() == [15]
    assert random.bits(key, (3,)).tolist() == [10, 11, 12]
    assert jax.vmap(lambda k: random.bits(k, (2,)))(random.split(key)).tolist() == [[11, 12], [12, 13]]
    assert jax.jit(jax.vmap(lambda k: random.fold_in(k, 1)))(random.split(key)).shape == (2,)
    assert words(xrandom.seed_with_impl(counter, 4)).tolist() == [4]
    assert words(xrandom.random_seed(jnp.arange(3), counter)).tolist() == [[0], [1], [2]]


def test_cipher():
    """The published test vectors of Threefry-2x32 with 20 rounds."""
    from jax.extend.random import threefry2x32_p, threefry_2x32

    ones = 2**32 - 1
    for key, counter, expected in (
            ([0, 0], [0, 0], [0x6B200159, 0x99BA4EFE]),
            ([ones, ones], [ones, ones], [0x1CB996FC, 0xBB002BE7]),
            ([0x13198A2E, 0x03707344], [0x243F6A88, 0x85A308D3], [0xC4923A9C, 0x483DF7A0])):
        got = threefry_2x32(np.array(key, np.uint32), np.array(counter, np.uint32))
        assert np.asarray(got).tolist() == expected
        pair = threefry2x32_p.bind(*np.array([*key, *counter], np.uint32))
        assert [int(x) for x in pair] == expected
    odd = threefry_2x32(np.zeros(2, np.uint32), jnp.arange(6, dtype=jnp.uint32).reshape(2, 3))
    assert odd.shape == (2, 3)
    with pytest.raises(TypeError, match="uint32"):
        threefry_2x32(np.zeros(2, np.uint32), jnp.arange(6))


@pytest.mark.quick
@pytest.mark.parametrize("data", [3, -1, 2**33 + 3, np.int8(3), np.uint32(3)], ids=repr)
def test_fold_in_of_mapped_keys(data):
    keys = jax.random.split(jax.random.key(0), 2)
    want = [jax.random.key_data(jax.random.fold_in(k, data)).tolist() for k in keys]
    for mapped in (jax.vmap(lambda k: jax.random.fold_in(k, data)), jax.jit(jax.vmap(lambda k: jax.random.fold_in(k, data))),
                   lambda ks: jax.lax.map(lambda k: jax.random.fold_in(k, data), ks)):
        assert jax.random.key_data(mapped(keys)).tolist() == want
