"""What a newcomer sees of a failure: the own lines, and none of the library's, where the library was entered."""

import traceback

import numpy as np
import pytest

import jax
import jax.numpy as jnp
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


@pytest.mark.parametrize("name", FAILURES)
def test_no_frames_of_the_library(name):
    assert _internal_frames(FAILURES[name]) == []
