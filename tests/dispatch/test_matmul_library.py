"""The library that multiplies matrices is chosen by their sizes; the products are the same."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax._base import config
from jax._dispatch import matmul_library
from jax.extend.core import Primitive
from jax.interpreters import mlir

pytestmark = pytest.mark.quick
EIGEN = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_REDUCE"}


def chosen(f, *shapes, dtype=jnp.float32):
    return matmul_library.options(jax.make_jaxpr(f)(*(jax.ShapeDtypeStruct(s, dtype) for s in shapes)).jaxpr)


@pytest.mark.parametrize("x, y, expected", [
    ((256, 128), (128, 128), EIGEN),
    ((512, 64), (64, 256), EIGEN),  # 2**23
    ((8, 64, 64), (64, 256), EIGEN),
    ((16, 64), (64, 256), {}),  # few
    ((16, 1024), (1024, 256), {}),  # few rows
    ((4096, 64), (64, 10), {}),  # few columns
    ((512, 512), (512, 512), {}),  # many
    ((0, 128), (128, 128), {}),
])
def test_sizes(x, y, expected):
    assert chosen(lambda x, y: jnp.tensordot(x, y, 1), x, y) == expected


def test_other_types_and_programs():
    assert chosen(jnp.matmul, (256, 128), (128, 128), dtype=jnp.bfloat16) == {}
    assert chosen(jnp.matmul, (256, 128), (128, 128), dtype=jnp.int32) == {}
    assert chosen(jnp.matmul, (4, 256, 128), (4, 128, 128)) == {}  # a batch of products
    assert chosen(lambda x: jnp.sin(x) + 1, (256, 128)) == {}


@pytest.mark.parametrize("name", ["dot_general", "scan"])
def test_other_primitives_of_these_names(name):
    ours = Primitive(name)
    ours.def_abstract_eval(lambda x: x)
    mlir.register_lowering(ours, mlir.lower_fun(lambda x: x * 2, multiple_results=False))
    np.testing.assert_array_equal(jax.jit(lambda x: ours.bind(x) + 1)(np.ones((8, 8), np.float32)), np.full((8, 8), 3))


def test_the_greater_part_decides():
    def f(count):
        def several(x, y, small):
            for _ in range(count):
                x = jnp.tanh(x @ y)
            return x, jnp.einsum("ij,kj->ik", small, small)
        return several
    assert chosen(f(4), (256, 128), (128, 128), (512, 100)) == {}  # 4 * 2**22 against 26e6
    assert chosen(f(20), (256, 128), (128, 128), (512, 100)) == EIGEN


def test_calls_and_loops_count():
    def loop(x, y, z):
        x, _ = lax.scan(lambda c, _: (jax.jit(jnp.tanh)(c @ y), None), x, None, length=20)
        return x, z @ z.T
    assert chosen(loop, (256, 128), (128, 128), (512, 100)) == EIGEN
    assert chosen(lambda *args: jax.jit(loop)(*args), (256, 128), (128, 128), (512, 100)) == EIGEN


def test_the_option_and_flags_of_the_user(monkeypatch):
    with config.cpu_choose_matmul_library(False):
        assert chosen(jnp.matmul, (256, 128), (128, 128)) == {}
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_experimental_ynn_fusion_type=dot")
    assert chosen(jnp.matmul, (256, 128), (128, 128)) == {}


def test_products_are_the_same():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((256, 128), np.float32), rng.standard_normal((128, 128), np.float32)

    def loss(x, y):
        return jnp.sum(jnp.tanh(x @ y / 12) @ y.T)
    def in_ynn(f):
        return f.lower(x, y).compile().as_text().count("__ynn_fusion")
    ours = jax.jit(jax.value_and_grad(loss, (0, 1)))
    with config.cpu_choose_matmul_library(False):
        default = jax.jit(jax.value_and_grad(loss, (0, 1)))
        in_default, others = in_ynn(default), default(x, y)
    assert in_ynn(ours) <= in_default - 3  # the products
    for a, b in zip(jax.tree.leaves(ours(x, y)), jax.tree.leaves(others), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(jax.jit(jnp.matmul)(x, y), x.astype(np.float64) @ y, atol=1e-4)
    own = jax.jit(jnp.matmul, compiler_options={"xla_cpu_experimental_ynn_fusion_type": ""})  # for no reductions either
    np.testing.assert_allclose(own(x, y), x.astype(np.float64) @ y, atol=1e-4)
