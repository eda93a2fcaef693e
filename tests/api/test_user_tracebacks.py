"""What a newcomer sees of a failure: the own lines, and none of the library's, where the library was entered."""

import traceback

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax._base import source


def _internal_frames(f):
    with pytest.raises(Exception) as caught:
        f()
    frames = traceback.extract_tb(caught.value.__traceback__)
    return [f"{x.filename}:{x.lineno}" for x in frames if source.is_internal_file(x.filename)]


def _branches(x):
    return x if x > 0 else -x


FAILURES = {
    "in a jitted function": lambda: jax.jit(_branches)(1.0),
    "in a jitted function of a NumPy array": lambda: jax.jit(_branches)(np.float32(1.0)),
    "argument of a jitted function": lambda: jax.jit(_branches)("hello"),
    "in a mapped function": lambda: jax.vmap(_branches)(jnp.ones(2)),
    "an operator": lambda: jnp.ones(3) + jnp.ones(4),
    "a reflected operator": lambda: np.ones(3) @ jnp.ones(4),
    "an element-wise function": lambda: jnp.add(jnp.ones(3), jnp.ones(4)),
    "a function of one array": lambda: jnp.sin("a"),
    "a reduction": lambda: jnp.sum(jnp.ones(3), axis=5),
    "a statistic": lambda: jnp.var(jnp.ones(3), axis=5),
    "a product": lambda: jnp.matmul(jnp.ones((2, 3)), jnp.ones((2, 3))),
    "joining": lambda: jnp.concatenate([jnp.ones(3), jnp.ones((3, 3))]),
    "creation": lambda: jnp.zeros("a"),
    "a method": lambda: jnp.ones(3).reshape(5),
    "a method that reduces": lambda: jnp.ones(3).sum(axis=5),
    "an index": lambda: jnp.ones(3)["a"],
    "an update": lambda: jnp.ones(3).at[0].set(jnp.ones(7)),
    "linear algebra": lambda: jnp.linalg.solve(jnp.ones((2, 3)), jnp.ones(2)),
    "a transform": lambda: jnp.fft.fft(jnp.ones(3), axis=4),
    "nn": lambda: jax.nn.softmax(jnp.ones(3), axis=4),
    "random": lambda: jax.random.normal(jax.random.key(0), "a"),
    "segments": lambda: jax.ops.segment_sum(jnp.ones(3), jnp.ones(3)),
}


def _text(x):
    return {"a": "hello", "b": x}


def _two_scopes(x):
    with jax.named_scope("foo"), jax.named_scope("bar"):
        return jnp.sin(x)


MESSAGES = {
    "key + 1": (lambda: jax.random.key(0) + 1, TypeError, ["add does not take", "key<fry>, int32", "jax.random.split"]),
    "2 * key": (lambda: 2. * jax.random.key(0), TypeError, ["multiply does not take", "float32, key<fry>"]),
    "key < array": (lambda: jax.jit(lambda k: k < jnp.ones(2))(jax.random.key(0)), TypeError, ["less does not take"]),
    "keys @ keys": (lambda: jax.random.split(jax.random.key(0)) @ jax.random.split(jax.random.key(0)), TypeError,
                    ["operands of dtypes key<fry> and key<fry> cannot be multiplied"]),
    "tangent of another dtype": (lambda: jax.jvp(jnp.sin, (1.,), (1,)), TypeError,
                                 ["of dtype float32 needs a tangent of dtype float32", "got 1 of dtype int32"]),
    "tangent of another width": (lambda: jax.jvp(jnp.sin, (jnp.float16(1),), (1.,)), TypeError, ["dtype float16, got 1.0"]),
    "complex tangent": (lambda: jax.jvp(jnp.sin, (1.,), (1j,)), TypeError, ["dtype float32, got 1j of dtype complex64"]),
    "float0": (lambda: jax.jvp(jnp.sin, (1.,), (np.zeros((), jax.dtypes.float0),)), TypeError, ["must have dtype float32"]),
    "jit of None": (lambda: jax.jit(None), TypeError, ["jit takes a function", "got None"]),
    "jit of None with options": (lambda: jax.jit(None, static_argnums=0), TypeError, ["jit takes a function"]),
    "vmap to text": (lambda: jax.vmap(_text)(jnp.ones(3)), TypeError, ["vmap of _text: the output ['a']", "'hello'"]),
    "shape": (lambda: jax.jit(lambda count: jnp.zeros((2, count)))(3), TypeError,
              ["shapes must be sequences of integers", "the argument count", "static_argnums", "test_user_tracebacks.py"]),
    "slice": (lambda: jax.jit(lambda x, count: x[:count])(jnp.ones(3), 2), IndexError,
              ["slice bounds", "axis 0", "the argument count", "dynamic_slice_in_dim", "test_user_tracebacks.py"]),
    "item": (lambda: jax.jit(lambda x: x.item())(1.0), jax.errors.ConcretizationTypeError,
             [".item() needs a concrete value", "the argument x"]),
    "tolist": (lambda: jax.jit(lambda x: x.tolist())(1.0), jax.errors.ConcretizationTypeError, [".tolist() needs"]),
    "format": (lambda: jax.jit(lambda x: f"{x:.2f}")(1.0), TypeError,
               ["'.2f'", "the argument x", 'jax.debug.print("{x:.2f}", x=x)']),
    "gradient of an integer": (lambda: jax.grad(lambda p, q: p["w"] * q["b"][1], argnums=(1, 0))(
        {"w": 1.0}, {"b": [1.0, 2]}), TypeError, ["got i32[] (2) for q['b'][1]", "1.0 instead of 1"]),
    "argnums as text": (lambda: jax.grad(lambda x: x, argnums="x")(1.0), TypeError, ["grad: argnums", "'x'"]),
    "argnums as float": (lambda: jax.grad(lambda x: x, argnums=0.0)(1.0), TypeError, ["grad: argnums", "0.0"]),
    "static names": (lambda: jax.jit(lambda x: x, static_argnames=0), TypeError, ["jit: static_argnames", "got 0"]),
    "eval_shape": (lambda: jax.eval_shape(lambda x: x, "a"), TypeError, ["eval_shape of <lambda>: the argument x"]),
    "all_to_all": (lambda: jax.vmap(lambda x: lax.all_to_all(x, "i", 0, 0), axis_name="i")(jnp.ones((3, 4))), ValueError,
                   ["all_to_all: axis 0 of (4,) must have the size 3", "tiled=True"]),
    "all_to_all of scalars": (lambda: jax.vmap(lambda x: lax.all_to_all(x, "i", 0, 0), axis_name="i")(jnp.ones(3)),
                              ValueError, ["all_to_all: split_axis=0", "shape ()"]),
    "classes": (lambda: jax.nn.one_hot(jnp.arange(3), 3.5), TypeError, ["num_classes", "3.5 of type float"]),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_name_the_argument_and_the_remedy(name):
    f, kind, parts = MESSAGES[name]
    with pytest.raises(kind) as caught:
        f()
    for part in parts:
        assert part in str(caught.value)


def test_known_values_are_formatted():
    seen = []
    jax.grad(lambda x: (seen.append(f"{x:.2f}"), x)[1])(1.5)
    assert seen == ["1.50"]


@pytest.mark.parametrize("name", FAILURES)
def test_no_frames_of_the_library(name):
    assert _internal_frames(FAILURES[name]) == []


@pytest.mark.quick
def test_jit_without_a_function_is_a_decorator():
    assert jax.jit(static_argnums=0)(lambda n: jnp.ones(n))(3).shape == (3,)
    assert jax.jit()(jnp.sin)(0.) == 0


def test_tangents_of_the_right_dtype_are_taken():
    for primal, tangent in [(1., np.float32(1)), (1., np.float64(1)), (1j, 1j), (jnp.float16(1), np.float16(1))]:
        assert jax.jvp(lambda x: 2 * x, (primal,), (tangent,))[1] == 2 * tangent
    out = jax.jvp(lambda x: x, (1,), (np.zeros((), jax.dtypes.float0),))[1]
    assert out.dtype == jax.dtypes.float0


@pytest.mark.quick
def test_names_of_scopes_as_text():
    def names(fun, x):
        return {str(eqn.source_info.name_stack) for eqn in jax.make_jaxpr(fun)(x).eqns}
    assert names(_two_scopes, 1.) == {"foo/bar"}
    assert names(jnp.sin, 1.) == {""}
    assert "foo/bar" in names(jax.grad(_two_scopes), 1.)
    assert names(jax.vmap(_two_scopes), jnp.ones(2)) == {"foo/bar"}


@pytest.mark.quick
def test_public_functions_are_pickled_by_name():
    import pickle
    for fun in (jnp.concatenate, jnp.sum, jnp.linalg.inv, jax.random.normal, jax.nn.softmax, jnp.fft.fft):
        assert pickle.loads(pickle.dumps(fun)) is fun
