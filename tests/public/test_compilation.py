"""Types described, names of scopes under transformations, stages and caches: behaviour and misuse by name."""

from __future__ import annotations

import copy
import functools
import pickle

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec, SingleDeviceSharding

pytestmark = pytest.mark.quick

X = np.arange(3, dtype=np.float32)


def scaled(x):
    with jax.named_scope("block"):
        return jnp.sin(x) * x


def test_described_types():
    described = jax.ShapeDtypeStruct((2, 3), "float32", weak_type=True)
    assert (described.shape, described.dtype) == ((2, 3), np.float32)
    assert (described.ndim, described.size, len(described)) == (2, 6, 2)
    assert described != described.update(weak_type=False) == jax.ShapeDtypeStruct((2, 3), np.float32)
    for same in (copy.deepcopy(described), pickle.loads(pickle.dumps(described))):
        assert same == described and hash(same) == hash(described)
    assert jax.ShapeDtypeStruct((2,), "int8", sharding=PartitionSpec()).sharding == PartitionSpec()
    assert jax.eval_shape(lambda x: {"y": x @ x.T}, described)["y"].shape == (2, 2)
    tied = jax.device_put(X, jax.devices()[0])
    assert jax.ShapeDtypeStruct.like(tied) == jax.ShapeDtypeStruct((3,), "float32", sharding=tied.sharding)
    assert jax.ShapeDtypeStruct.like(jnp.asarray(X)).sharding is None and jax.ShapeDtypeStruct.like(1).weak_type
    with pytest.raises(TypeError, match="'text' of type str"):
        jax.ShapeDtypeStruct.like("text")
    with pytest.raises(RuntimeError, match=r"cannot be changed; make another: s\.update\(shape=\(4,\)\)"):
        described.shape = (4,)
    with pytest.raises(ValueError, match="dtype must be given"):
        jax.ShapeDtypeStruct((2,), None)
    with pytest.raises(ValueError, match="sharding must be .* got .*Device"):
        jax.ShapeDtypeStruct((2,), "int8", sharding=jax.devices()[0])
    with pytest.raises(TypeError, match="without axes"):
        len(jax.ShapeDtypeStruct((), "int8"))
    with pytest.raises(ValueError, match=r"no fields \['size'\]"):
        described.update(size=3)


@pytest.mark.parametrize("transform", [
    lambda f: f, lambda f: jax.grad(lambda x: f(x).sum()), lambda f: jax.vmap(f), lambda f: jax.vmap(jax.grad(f)),
    lambda f: lambda x: jax.jvp(f, (x,), (x,)), lambda f: jax.checkpoint(f), lambda f: jax.jit(f),
])
def test_named_scopes_stay_under_transformations(transform):
    f = transform(scaled)
    assert "block" in jax.make_jaxpr(f)(X).pretty_print(name_stack=True)
    lowered = jax.jit(f).lower(X)
    assert "block" in lowered.as_text(debug_info=True) and "block" in lowered.compile().as_text()


def test_named_call():
    f = jax.named_call(jnp.sin, name="wave")
    assert str(jax.make_jaxpr(f)(1.0).eqns[0].source_info.name_stack) == "wave"
    with pytest.raises(TypeError, match="named_call takes a function as its first argument, got 3"):
        jax.named_call(3)
    with pytest.raises(TypeError, match="named_call: name must be a string, got 3"):
        jax.named_call(jnp.sin, name=3)


def test_disable_jit_reaches_control_flow():
    traced = []
    seen = lambda x: traced.append(isinstance(x, jax.core.Tracer)) or x  # noqa: E731
    run = jax.jit(lambda x: (lax.scan(lambda c, y: (seen(c) + y, c), 0.0, x)[0], lax.cond(True, seen, seen, x),
                             lax.while_loop(lambda c: c < 2, lambda c: seen(c) + 1, 0)))
    with jax.disable_jit():
        assert float(run(X)[0]) == 3.0 and not any(traced)
        with jax.disable_jit(False):
            run(X)
    assert traced[-1]
    with pytest.raises(ValueError, match="jax_disable_jit takes True or False; got 'x'"):
        jax.disable_jit("x")


@pytest.mark.parametrize("call, message", [
    (lambda f: f.lower("text"), "the argument x has the value 'text' of type str"),
    (lambda f: f.trace("text"), "the argument x has the value 'text' of type str"),
    (lambda f: f.eval_shape("text"), "the argument x has the value 'text' of type str"),
    (lambda f: f.lower(X, X), "takes 1 positional argument but 2 were given"),
    (lambda f: f.lower(X)(X), "'Lowered' object is not callable"),
    (lambda f: jax.typeof("text"), "'text' of type str"),
    (lambda f: jax.typeof([X]), r"jnp\.stack"),
    (lambda f: jax.make_jaxpr(3), "make_jaxpr takes a function as its first argument, got 3"),
    (lambda f: jax.eval_shape(3), "eval_shape takes a function as its first argument, got 3"),
    (lambda f: jax.xla_computation(3), "xla_computation takes a function as its first argument, got 3"),
])
@pytest.mark.filterwarnings("ignore:jax.xla_computation is deprecated:DeprecationWarning")
def test_misuse_of_stages(call, message):
    with pytest.raises(TypeError, match=message):
        call(jax.jit(scaled))


def test_caches_are_cleared():
    runs = []
    f = jax.jit(lambda x: runs.append(1) or x)
    other = jax.jit(lambda x: runs.append(2) or x)
    for clear in (f.clear_cache, jax.clear_caches):
        f(X), f(X), other(X)
        clear()
    f(X), other(X)
    assert runs == [1, 2, 1, 1, 2]
    with pytest.raises(TypeError, match="argument"):
        jax.clear_caches(f)


def test_waiting():
    tree = {"x": jnp.asarray(X) + 1, "n": 1, "s": "text"}
    assert jax.block_until_ready(tree) is tree
    assert jax.jit(lambda x: jax.block_until_ready(x) + 1)(X).tolist() == [1, 2, 3]
    tree["x"].delete()
    with pytest.raises(RuntimeError, match=r"deleted.*f32\[3\]"):
        jax.block_until_ready(tree)


def test_what_is_known_while_tracing():
    @functools.partial(jax.jit, static_argnames="n")
    def f(x, n):
        with jax.ensure_compile_time_eval():
            total = jnp.arange(n).sum()
            assert int(total) == n * (n - 1) // 2
        return x * total
    assert float(f(2.0, 4)) == 12.0

    @jax.jit
    def wrong(x):
        with jax.ensure_compile_time_eval():
            return bool(x > 0)
    with pytest.raises(jax.errors.TracerBoolConversionError, match="truth value"):
        wrong(1.0)


def test_the_backend_by_name():
    assert jax.default_backend() == jax.devices()[0].client.platform
    compiled = jax.jit(scaled).lower(X).compile()
    assert compiled.output_shardings == SingleDeviceSharding(jax.devices()[0])
    with pytest.raises(RuntimeError, match="no platform 'nowhere'"):
        jax.devices("nowhere")
