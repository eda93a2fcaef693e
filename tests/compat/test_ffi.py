"""Compiled functions of other languages, with LAPACK's as the example."""

from __future__ import annotations

import ctypes
import os

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import ffi

A = jnp.array([[4.0, 1.0], [1.0, 3.0]])


COLUMN_MAJOR = {"input_layouts": [(1, 0)], "output_layouts": [(1, 0), ()]}


def cholesky(a, **kwargs):
    jnp.linalg.cholesky(jnp.ones((1, 1)))  # registers the kernels
    out = (jax.ShapeDtypeStruct(a.shape, a.dtype), jax.ShapeDtypeStruct(a.shape[:-2], np.int32))
    lower, _ = ffi.ffi_call("lapack_spotrf_ffi", out, **COLUMN_MAJOR, **kwargs)(a, uplo=np.uint8(ord("L")))
    return jnp.tril(lower)


@pytest.mark.quick
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_a_call(wrap):
    found = wrap(cholesky)(A)
    assert np.allclose(found, np.linalg.cholesky(A), atol=1e-6)


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all"])
def test_batches(method):
    batch = jnp.stack([A, 2 * A])
    found = jax.vmap(lambda a: cholesky(a, vmap_method=method))(batch)
    assert np.allclose(found, np.linalg.cholesky(batch), atol=1e-6)


def test_attributes_and_options_in_the_program():
    call = ffi.ffi_call("target", A, input_output_aliases={0: 0}, has_side_effect=True)
    text = jax.jit(lambda a: call(a, i=3, f=np.float32(2.5), b=True, s="q", arr=np.arange(3))).lower(A).as_text()
    for piece in ("i = 3 : i64", "f = 2.500000e+00 : f32", "b = true", 's = "q"', "dense<[0, 1, 2]>", "operand_index = 0",
                  "has_side_effect = true"):
        assert piece in text
    old = ffi.ffi_call("target", A, custom_call_api_version=2, legacy_backend_config="abc")
    assert 'backend_config = "abc"' in jax.jit(old).lower(A).as_text()


def test_misuse():
    with pytest.raises(ValueError, match="vmap_method"):
        ffi.ffi_call("target", A, vmap_method="fast")
    with pytest.raises(NotImplementedError, match="vmap_method"):
        jax.vmap(cholesky)(A[None])
    with pytest.raises(ValueError, match="cannot be differentiated"):
        jax.grad(lambda a: cholesky(a).sum())(A)
    with pytest.raises(jax.errors.JaxRuntimeError, match="not_there"):
        ffi.ffi_call("not_there", A)(A)
    with pytest.raises(ValueError, match="no order of the 2 dimensions"):
        ffi.ffi_call("target", A, input_layouts=[(0, 0)])(A)


def test_rules_for_primitives():
    from jax.extend.core import Primitive
    from jax.interpreters import mlir
    prim = Primitive("test_potrf")
    prim.multiple_results = True
    prim.def_abstract_eval(lambda a, uplo: [a, a.update(shape=(), dtype=np.dtype("int32"))])
    mlir.register_lowering(prim, ffi.ffi_lowering(
        "lapack_spotrf_ffi", operand_layouts=[(1, 0)], result_layouts=[(1, 0), ()]))
    jnp.linalg.cholesky(A)
    assert np.allclose(np.tril(prim.bind(A, uplo=np.uint8(ord("L")))[0]), np.linalg.cholesky(A), atol=1e-6)


def test_helpers():
    assert os.path.isdir(ffi.include_dir())
    assert type(ffi.pycapsule(ctypes.CDLL(None).malloc)).__name__ == "PyCapsule"
