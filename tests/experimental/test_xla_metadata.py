"""Attributes for the compiler: on which operations they are, and that caches know of them."""

import pytest

import jax
import jax.numpy as jnp
from jax.experimental.scheduling_groups import scheduling_group
from jax.experimental.xla_metadata import (
    fuse_limit,
    must_fuse_call,
    set_xla_metadata,
    xla_metadata_call,
    xla_metadata_call2,
)

X = jnp.ones(3)


def attributes(fun, *args):
    """The operations with attributes of the program, and which."""
    found = []
    for line in jax.jit(fun).lower(*args).as_text().splitlines():
        if "mhlo.frontend_attributes" in line:
            op = line.split("=", 1)[1].split()[0].removeprefix("stablehlo.").split("(")[0]
            found.append((op, line.split("mhlo.frontend_attributes = {")[1].split("}")[0]))
    return found


@pytest.mark.quick
def test_operations_of_a_block():
    def f(x):
        with set_xla_metadata(part="head", n=3, on=True):
            y = jnp.sin(x)
            with set_xla_metadata(part="inner", n=None):
                y = jnp.exp(y)
        return jnp.cos(y)
    assert attributes(f, X) == [("sine", 'n = "3", on = "true", part = "head"'),
                                ("exponential", 'on = "true", part = "inner"')]
    eqn = jax.make_jaxpr(f)(X).eqns[0]
    assert eqn.ctx.xla_metadata == {"n": "3", "on": "true", "part": "head"}
    assert eqn.replace(effects=frozenset()).ctx == eqn.ctx
    assert "part" not in str(jax.make_jaxpr(f)(X).pretty_print(name_stack=True))
    assert float(f(X)[0]) == float(jax.jit(f)(X)[0])


def test_they_follow_derivatives_loops_and_calls():
    def f(x):
        with set_xla_metadata(a="b"):
            return jnp.sin(x).sum()
    assert ("cosine", 'a = "b"') in attributes(jax.grad(f), X)

    def loop(x):
        with set_xla_metadata(a="b"):
            return jax.lax.scan(lambda c, _: (jnp.sin(c), None), x, None, 3)[0]
    assert {op for op, _ in attributes(loop, X)} >= {"sine"}

    @jax.jit
    def inner(x):
        return jnp.sin(x)
    inner(X)  # traced without

    def outer(x):
        with set_xla_metadata(a="b"):
            y = inner(x)
        return inner(y)
    assert [op for op, _ in attributes(outer, X)] == ["call", "sine"]


def test_eager_operations_and_decorators():
    count = []

    @jax.jit
    def f(x):
        count.append(x)
        return x + 1
    f(X)
    for _ in range(2):
        with set_xla_metadata(a="b"):
            assert f(X).tolist() == [2, 2, 2] and jnp.sin(0.0) == 0
    f(X)
    assert len(count) == 2
    assert attributes(set_xla_metadata(a="b")(lambda x: jnp.sin(x)), X) == [("sine", 'a = "b"')]
    assert attributes(fuse_limit()(lambda x: jnp.sin(x)), X) == [("sine", 'FUSE_LIMIT = "true"')]


def test_values():
    def f(x):
        y, z = set_xla_metadata((jnp.sin(x) * 2, x), a="b")
        return y * z
    assert attributes(f, X) == [("multiply", 'a = "b"')]
    assert attributes(jax.vmap(f), X) == [("multiply", 'a = "b"')]
    assert jnp.allclose(jax.grad(lambda x: f(x).sum())(X), 2 * (jnp.cos(X) + jnp.sin(X)))
    assert jnp.allclose(jax.jvp(f, (X,), (X,))[1], 2 * (jnp.cos(X) + jnp.sin(X)))
    assert set_xla_metadata(3.0, a="b") == 3.0


@pytest.mark.quick
def test_calls():
    tagged = xla_metadata_call2(lambda x, *, n=2: {"y": jnp.sin(x) * n}, {"a": 1}, ad_metadata={"a": "derivative"})
    assert attributes(lambda x: tagged(x)["y"], X) == [("call", 'a = "1"')]
    grad = jax.grad(lambda x: tagged(x, n=3)["y"].sum())
    assert attributes(grad, X) == [("call", 'a = "1"'), ("call", 'a = "derivative"')]
    assert jnp.allclose(jax.vmap(grad)(X[None])[0], 3 * jnp.cos(X))
    dropped = xla_metadata_call2({"a": 1}, ad_metadata="drop")(jnp.sin)
    assert attributes(jax.grad(lambda x: dropped(x).sum()), X) == [("call", 'a = "1"')]
    same = xla_metadata_call(jnp.sin, a=1)
    assert attributes(jax.grad(lambda x: same(x).sum()), X) == [("call", 'a = "1"')] * 2
    assert attributes(must_fuse_call(4)(jnp.sin), X) == [("call", 'MUST_FUSE = "4"')]
    assert attributes(scheduling_group("g")(jnp.sin), X) == [("call", 'scheduling_group = "g"')]
    assert xla_metadata_call(a=2)(jnp.negative)(1) == -1


@pytest.mark.parametrize("call, text", [
    (lambda: set_xla_metadata(a=[1]), "set_xla_metadata: the value of 'a' must be a string"),
    (lambda: set_xla_metadata(1.0, a=None), "the value of 'a' must be a string"),
    (lambda: set_xla_metadata(jnp.sin, a=1), r"got the function.*set_xla_metadata\(name=value\)\(function\)"),
    (lambda: xla_metadata_call2(jnp.sin, {1: "a"}), "names of attributes are strings, got 1"),
    (lambda: xla_metadata_call2(jnp.sin, {}, ad_metadata="other"), "'same', 'drop', or a dict of attributes, got 'other'"),
    (lambda: xla_metadata_call(3, a=1), "takes a function"),
])
def test_misuse(call, text):
    with pytest.raises(TypeError, match=text):
        call()
