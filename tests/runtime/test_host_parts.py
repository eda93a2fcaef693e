"""Small parts of arrays that are read once or twice are copied by the host, and nothing is compiled."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._runtime import compile as compile_room
from jax._runtime import host_parts

INDICES = [np.s_[1], np.s_[-1], np.s_[1:], np.s_[:2], np.s_[1, 2], np.s_[:, 1:3], np.s_[..., 2], np.s_[None, 1:2],
           np.s_[::2], np.s_[:, ::-1], np.s_[1:1], np.s_[:, 3:1], np.s_[0, :, 1:4:2], np.s_[1, 2, 3],
           np.s_[-1, -2:, None, ::3]]


@pytest.fixture
def compiled(monkeypatch):
    """The programs that are compiled; nothing has been asked for before."""
    found = []
    real = compile_room.backend_compile_and_load
    monkeypatch.setattr(compile_room, "backend_compile_and_load", lambda *args: found.append(args) or real(*args))
    monkeypatch.setattr(host_parts, "_counts", {})
    return found


@pytest.mark.quick
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_first_and_later_calls_agree(index):
    host = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    x = jnp.asarray(host)
    for _ in range(host_parts.TIMES + 2):
        part = x[index]
        assert isinstance(part, jax.Array) and (part.dtype, part.weak_type, part.committed) == (x.dtype, False, False)
        np.testing.assert_array_equal(part, host[index])


@pytest.mark.quick
def test_thirty_slices_compile_nothing(compiled):
    x = jnp.asarray(np.arange(173, dtype=np.float32))
    parts = [x[i:2 * i + 3] for i in range(30)]
    assert not compiled
    assert all([p.tolist() == list(range(i, 2 * i + 3)) for i, p in enumerate(parts)])


def test_repeated_reads_are_compiled(compiled):
    x = jnp.asarray(np.arange(179, dtype=np.float32))
    for _ in range(host_parts.TIMES):
        x[3:9]
    assert not compiled
    x[3:9], x[3:9], x[4:10]
    assert len(compiled) == 1


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float16", "bfloat16", "complex64", "float8_e4m3fn"])
def test_dtypes(dtype):
    x = jnp.asarray(np.arange(9)).astype(dtype)
    for _ in range(host_parts.TIMES + 1):
        assert x[2:5].dtype == x.dtype
        np.testing.assert_array_equal(np.asarray(x[2:5]), np.asarray(x)[2:5])


def test_types_places_and_memory_of_the_result():
    weak = jax.lax.full((5,), 2.0)
    assert weak[1:3].weak_type == weak.weak_type
    x = jax.device_put(np.arange(6.0, dtype=np.float32), jax.devices()[0])
    part = x[1:4]
    assert part.committed and part.sharding == x.sharding
    moved = jax.jit(lambda x: x * 2, donate_argnums=0)(x)
    assert x.is_deleted() and part.tolist() == [1, 2, 3] and moved.tolist() == [0, 2, 4, 6, 8, 10]


def test_deleted_arrays_are_refused():
    x = jnp.arange(8.0)
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        x[1:3]


def test_large_parts_are_programs(compiled):
    x = jnp.zeros((3, host_parts.LARGEST), jnp.int8)
    compiled.clear()
    x[1:3]
    assert len(compiled) == 1


@pytest.mark.parametrize("options", [{"jax_debug_nans": True}, {"jax_log_compiles": True},
                                     {"jax_transfer_guard": "log"}], ids=str)
def test_options_that_want_programs(options, compiled):
    x = jax.block_until_ready(jnp.zeros(len(str(options)) + 200, jnp.int8))
    compiled.clear()
    old = {name: getattr(jax.config, name) for name in options}
    for name, value in options.items():
        jax.config.update(name, value)
    try:
        jax.block_until_ready(x[:10])
    finally:
        for name, value in old.items():
            jax.config.update(name, value)
    assert len(compiled) == 1


def test_under_transformations():
    x = jnp.arange(6.0)
    assert jax.grad(lambda x: x[2:4].sum())(x).tolist() == [0, 0, 1, 1, 0, 0]
    assert jax.vmap(lambda r: r[1])(x.reshape(2, 3)).tolist() == [1, 4]
    keys = jax.random.split(jax.random.key(0), 5)
    assert jax.random.key_data(keys[1:3]).tolist() == jax.random.key_data(keys)[1:3].tolist()
