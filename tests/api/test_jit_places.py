"""Where jitted functions run on one device, what the compiler is told, and what donation says."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.sharding import SingleDeviceSharding

pytestmark = pytest.mark.quick

VECTOR = np.ones(3, np.float32)


@pytest.fixture
def here():
    return SingleDeviceSharding(jax.devices()[0])


def test_device_and_backend_are_deprecated_and_work(here):
    device = jax.devices()[0]
    for options in ({"device": device}, {"backend": "cpu"}):
        with pytest.warns(DeprecationWarning, match="place the arguments of the function with jax.device_put"):
            f = jax.jit(lambda x: x + 1, **options)
        out = f(VECTOR)
        assert out.committed and out.devices() == {device}
    with pytest.warns(DeprecationWarning), pytest.raises(RuntimeError, match="no platform 'nothing' here"):
        jax.jit(lambda x: x, backend="nothing")
    with pytest.raises(ValueError, match="a device or a backend, not both"):
        jax.jit(lambda x: x, device=device, backend="cpu")
    with pytest.raises(ValueError, match="either a device or backend, or in_shardings and out_shardings"):
        jax.jit(lambda x: x, device=device, in_shardings=here)


def test_shardings_of_one_device(here):
    tree = {"c": VECTOR}
    for ins, outs in ((here, None), (None, here), (here, here), ((here, None), None), ((here, {"c": here}), (here, here)),
                      ((here, here), here), ([here, here], None), (jax.devices()[0], None)):
        a, b = jax.jit(lambda x, y: (x + y["c"], x), in_shardings=ins, out_shardings=outs)(VECTOR, tree)
        np.testing.assert_array_equal(a, 2 * VECTOR)
        assert a.committed and b.sharding == here
    compiled = jax.jit(lambda x: x, in_shardings=here).lower(VECTOR).compile()
    assert compiled.input_shardings == ((here,), {})


@pytest.mark.parametrize("build, message", [
    (lambda s: jax.jit(lambda x, y: x, in_shardings=(s, {"d": s}))(VECTOR, {"c": VECTOR}), "in_shardings must be a prefix"),
    (lambda s: jax.jit(lambda x, y: x, in_shardings=(s, s, s))(VECTOR, VECTOR), "a sharding, None, or a tree of them"),
    (lambda s: jax.jit(lambda x: (x, x), out_shardings=(s, s, s))(VECTOR), "jit: out_shardings must be a prefix"),
    (lambda s: jax.jit(lambda x: x, in_shardings=s)(x=VECTOR), "this call has keyword arguments"),
])
def test_trees_of_shardings_have_to_fit(here, build, message):
    with pytest.raises(ValueError, match=message):
        build(here)


def test_what_is_no_sharding():
    with pytest.raises(TypeError, match="'cpu' of type str is no sharding"):
        jax.jit(lambda x: x, in_shardings="cpu")


def test_several_devices(run_python):
    source = """
import jax, numpy as np
from jax.sharding import SingleDeviceSharding
a, b = jax.devices()
A, B = SingleDeviceSharding(a), SingleDeviceSharding(b)
f = jax.jit(lambda first: first + 1, in_shardings=B)
x = np.ones(3, np.float32)
assert f(x).devices() == {b}
assert f(jax.device_put(x, b)).devices() == {b}
try:
    f(jax.device_put(x, a))
except ValueError as error:
    print(error)
assert jax.jit(lambda x: x + 1, out_shardings=A)(x).devices() == {a}
try:
    jax.jit(lambda x: x, in_shardings=A, out_shardings=B)
except ValueError as error:
    print(error)
import warnings
warnings.simplefilter("ignore")
assert jax.jit(lambda x: x + 1, device=b)(jax.device_put(x, a)).devices() == {b}  # moves its arguments
"""
    text = run_python(source, env={"JAX_NUM_CPU_DEVICES": "2"}).stdout
    assert "its shardings say that it runs on cpu:1" in text or "runs on TFRT_CPU_1" in text
    assert "the argument first (f32[3]) is committed to" in text
    assert "name several devices" in text


def test_clear_cache_of_functions_with_shardings(here):
    runs = []
    f = jax.jit(lambda x: runs.append(1) or x, in_shardings=here)
    f(VECTOR), f(VECTOR)
    f.clear_cache()
    f(VECTOR)
    assert len(runs) == 2


# --- compiler options -----------------------------------------------------------------------------------------------

def test_compiler_options():
    f = jax.jit(lambda x: x + 1, compiler_options={"xla_cpu_enable_fast_math": True, "xla_embed_ir_in_executable": False})
    np.testing.assert_array_equal(f(VECTOR), 2 * VECTOR)
    np.testing.assert_array_equal(
        jax.jit(lambda x: x).lower(VECTOR).compile(compiler_options={"optimization_level": "O1"})(VECTOR), VECTOR)


@pytest.mark.parametrize("given, kind, message", [
    ({"xla_cpu_enable_fats_math": True}, ValueError, "no compiler option 'xla_cpu_enable_fats_math'.*Did you mean 'xla_cpu"),
    ({"xla_cpu_enable_fast_math": "maybe"}, ValueError, "a value that XLA cannot take.*'maybe' is not a valid bool"),
    ({"xla_cpu_enable_fast_math": [1]}, TypeError, r"the compiler option xla_cpu_enable_fast_math has the value \[1\]"),
    ({1: True}, TypeError, "has the key 1"),
    (3, TypeError, "compiler_options is a dict"),
])
def test_bad_compiler_options(given, kind, message):
    with pytest.raises(kind, match=message):
        jax.jit(lambda x: x, compiler_options=given)(VECTOR)


# --- donation -------------------------------------------------------------------------------------------------------

def test_donations_that_are_of_no_use_are_listed_by_name():
    f = jax.jit(lambda p, x: p["w"].sum() + x[:1], donate_argnums=(0, 1))
    with pytest.warns(UserWarning) as caught:
        f({"w": jnp.ones((2, 2))}, jnp.ones(3))
    (warning,) = caught
    text = str(warning.message)
    assert text.startswith("Some donated buffers were not usable: ")
    assert "p['w'] (f32[2,2])" in text and "x (f32[3])" in text and "jit of <lambda>" in text
    assert warning.filename == __file__


def test_host_values_may_be_donated():
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    mine = np.ones(3, np.float32)
    np.testing.assert_array_equal(f(mine), 2)
    np.testing.assert_array_equal(mine, 1)
    assert float(f(3.0)) == 4.0


def test_donation_inside_other_transformations_does_nothing():
    inner = jax.jit(lambda x: (x ** 2).sum(), donate_argnums=0)
    x = jnp.ones(3)
    np.testing.assert_array_equal(jax.grad(inner)(x), 2)
    np.testing.assert_array_equal(jax.jit(lambda y: inner(y) + y)(x), 4)
    assert not x.is_deleted()


@pytest.mark.parametrize("call", [lambda g, x: g(x, x), lambda g, x: (g(x + 0, x), g(x, x))])
def test_a_buffer_both_donated_and_used_is_named(call):
    g = jax.jit(lambda first, second: first + second, donate_argnums=0)
    with pytest.raises(RuntimeError, match="(?s)first.*donated.*second"):
        call(g, jnp.ones(3))


def test_the_same_buffer_donated_twice_is_named():
    h = jax.jit(lambda first, second: (first + 1, second + 1), donate_argnums=(0, 1))
    x = jnp.ones(3)
    with pytest.raises(RuntimeError, match="(?s)first.*donated.*second"):
        h(x, x)
