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
}


MESSAGES = {
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
