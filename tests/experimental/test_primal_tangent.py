"""Dtypes whose tangents have a dtype of one's own choice."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import EArray, primal_tangent_dtype

DTYPE = primal_tangent_dtype(jnp.int8, jnp.bfloat16)
RAW = np.arange(12, dtype=np.int8).reshape(4, 3)


def raw(x):
    return np.asarray(lax.convert_element_type(x, np.int8))


@jax.custom_vjp
def dequantised(q):
    return lax.convert_element_type(q, jnp.int8).astype(jnp.bfloat16) * 0.5


dequantised.defvjp(lambda q: (dequantised(q), None), lambda _, ct: (ct * 0.5,))


@pytest.mark.quick
def test_the_dtype():
    assert DTYPE == primal_tangent_dtype("int8", jnp.bfloat16) and hash(DTYPE) == hash(pickle.loads(pickle.dumps(DTYPE)))
    assert DTYPE != primal_tangent_dtype(jnp.int8, jnp.float32) and str(DTYPE) == "PrimalTangentDType{i8/bf16}"
    assert str(primal_tangent_dtype(jnp.int8, jnp.float32, "weights")) == "weights"
    assert (DTYPE.primal_dtype, DTYPE.tangent_dtype) == (np.dtype(np.int8), jnp.dtype(jnp.bfloat16))
    assert jax.dtypes.issubdtype(DTYPE, jax.dtypes.extended) and not jax.dtypes.issubdtype(DTYPE, np.number)
    assert jax.core.ShapedArray((2,), DTYPE).to_tangent_aval() == jax.core.ShapedArray((2,), jnp.dtype(jnp.bfloat16))
    for bad, text in ((("int8", "int8"), "floating or complex"), ((jax.dtypes.float0, "float32"), "primal dtype must be")):
        with pytest.raises(TypeError, match=text):
            primal_tangent_dtype(*bad)


def test_values():
    q = lax.convert_element_type(RAW, DTYPE)
    assert isinstance(q, jax.Array) and isinstance(q, EArray) and q.dtype == DTYPE and q.shape == (4, 3) and q.nbytes == 12
    assert q.devices() == {jax.devices()[0]} and "overlaying" in repr(q)
    for f in (lambda q: q[1:, ::2], lambda q: q.reshape(12), lambda q: q.T, lambda q: jnp.concatenate([q, q]),
              lambda q: q[jnp.array([2, 0])], lambda q: jax.vmap(lambda r: r[::-1])(q),
              lambda q: lax.scan(lambda c, r: (c, r), 0, q)[1], lambda q: lax.cond(True, lambda q: q, lambda q: q[::-1], q)):
        want = f(jnp.asarray(RAW))
        for got in (f(q), jax.jit(f)(q)):
            assert got.dtype == DTYPE and np.array_equal(raw(got), want)
    assert [raw(r).tolist() for r in q] == RAW.tolist() and len(q) == 4
    for other in (copy.deepcopy(q), pickle.loads(pickle.dumps(q)), jax.device_put(q), q.copy()):
        assert other.dtype == DTYPE and np.array_equal(raw(other), RAW)
    for bad, text in ((lambda: lax.convert_element_type(q, jnp.bfloat16), "cannot be converted"),
                      (lambda: lax.convert_element_type(jnp.float32(1), DTYPE), "cannot be converted"),
                      (lambda: q + q, "add"), (lambda: np.asarray(q), "no NumPy form")):
        with pytest.raises(TypeError, match=text):
            bad()


def test_derivatives():
    q = lax.convert_element_type(RAW, DTYPE)
    out, back = jax.vjp(dequantised, q)
    (ct,) = back(jnp.ones_like(out))
    assert ct.dtype == jnp.bfloat16 and np.array_equal(ct, np.full((4, 3), 0.5))

    @jax.jit
    def slope(q, x):
        return jax.vjp(lambda q: (dequantised(q[1:]) @ x).sum(), q)[1](jnp.ones((), jnp.bfloat16))[0]
    x = jnp.arange(3, dtype=jnp.bfloat16)
    assert np.array_equal(slope(q, x), np.array([[0] * 3] + [[0, 0.5, 1]] * 3))
    rows = jax.vmap(lambda r: jax.vjp(lambda r: (dequantised(r) * x).sum(), r)[1](jnp.ones((), jnp.bfloat16))[0])(q)
    assert np.array_equal(rows, np.array([[0, 0.5, 1]] * 4))
    wide = primal_tangent_dtype(jnp.float8_e4m3fn, jnp.float32)  # conversions pass tangents on
    p = lax.convert_element_type(jnp.ones(3, jnp.float8_e4m3fn), wide)
    _, t = jax.jvp(lambda p: lax.convert_element_type(p, jnp.float8_e4m3fn), (p,), (jnp.full(3, 2.0, jnp.float32),))
    assert t.dtype == jnp.float8_e4m3fn and t.tolist() == [2, 2, 2]
