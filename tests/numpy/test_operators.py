"""Operators and methods of arrays and tracers."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import jax
import jax.numpy as jnp

BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge", "eq", "ne"]
BITWISE = ["and_", "or_", "xor", "lshift", "rshift"]
UNARY = ["neg", "pos", "abs"]


def _agrees(got, want):
    assert got.dtype.kind == want.dtype.kind
    np.testing.assert_allclose(np.asarray(got, np.float64), np.asarray(want, np.float64), rtol=1e-6)


@pytest.mark.parametrize("name", BINARY + BITWISE)
def test_binary_operators(name):
    op = getattr(operator, name)
    dtype = np.int32 if name in BITWISE else np.float32
    x, y = np.array([[1, 2, 3], [3, 2, 1]], dtype), np.array([[2, 2, 1]], dtype)
    a, b = jnp.asarray(x), jnp.asarray(y)
    want = op(x, y)
    for got in (op(a, b), op(a, y), op(x, b), jax.jit(op)(a, b), jax.vmap(op, (0, None))(a, b[0]),
                jax.jit(lambda b: op(x, b))(b)):
        assert isinstance(got, jax.Array)
        _agrees(got, want)
    _agrees(op(a, 2), op(x, 2))
    _agrees(op(2, a), op(2, x))
    _agrees(jax.jit(lambda a: op(2, a))(a), op(2, x))
    _agrees(op(np.float32(2) if dtype == np.float32 else np.int32(2), a), op(dtype(2), x))


@pytest.mark.parametrize("name", UNARY)
def test_unary_operators(name):
    op = getattr(operator, name)
    x = np.array([1.5, -2.0], np.float32)
    _agrees(op(jnp.asarray(x)), op(x))
    _agrees(jax.jit(op)(x), op(x))
    assert (~jnp.array([True, False])).tolist() == [False, True] and (~jnp.array([1])).tolist() == [-2]


def test_divmod_round_and_matmul():
    x = jnp.array([5.5, -5.5])
    assert [v.tolist() for v in divmod(x, 2)] == [v.tolist() for v in np.divmod(np.array([5.5, -5.5]), 2)]
    assert [v.tolist() for v in divmod(7, jnp.array([2]))] == [[3], [1]]
    assert round(x).tolist() == [6.0, -6.0] and round(x, 0).tolist() == [6.0, -6.0]
    assert float(x @ x) == 60.5 and (np.ones((2, 2)) @ x).tolist() == [0.0, 0.0]


class Foreign:
    def __radd__(self, other):
        return "radd"

    def __rmatmul__(self, other):
        return "rmatmul"

    def __eq__(self, other):
        return "eq"

    __hash__ = None

    def __gt__(self, other):
        return "gt"


@pytest.mark.quick
def test_deferral_to_foreign_types():
    x = jnp.ones(2)
    assert x + Foreign() == "radd" and x @ Foreign() == "rmatmul"
    assert (x == Foreign()) == "eq" and (x < Foreign()) == "gt"
    with pytest.raises(TypeError, match="unsupported operand"):
        x - Foreign()
    with pytest.raises(TypeError, match="unsupported operand"):
        x + None
    with pytest.raises(TypeError, match="unsupported operand"):
        x + "text"
    assert (x == None) is False and (x != "a") is True  # noqa: E711 - the operator is what is tested


@pytest.mark.quick
def test_lists_get_the_remedy():
    x = jnp.ones(2)
    for compute in (lambda: x + [1, 2], lambda: [1, 2] - x, lambda: x * (1, 2), lambda: x < [1, 2], lambda: x @ [1, 2],
                    lambda: jax.jit(lambda x: x + [1, 2])(x), lambda: jnp.add([1, 2], x), lambda: jnp.sin([1.0]),
                    lambda: jnp.sum([x, x]), lambda: jax.jit(lambda x: jnp.exp([x, x]))(x)):
        with pytest.raises(TypeError, match=r"list|tuple") as error:
            compute()
        assert "jnp.array" in str(error.value)


def test_objects_that_convert_themselves():
    class Wrapped:
        def __jax_array__(self):
            return jnp.arange(2.0)

    x = jnp.ones(2)
    for got in (x + Wrapped(), jnp.add(x, Wrapped()), jax.jit(lambda x: x + Wrapped())(x)):
        assert got.tolist() == [1.0, 2.0]
    assert float(jnp.sum(Wrapped())) == 1.0 and jnp.exp(Wrapped()).shape == (2,)


@pytest.mark.quick
def test_arrays_are_immutable():
    x = jnp.ones(2)
    with pytest.raises(TypeError, match=r"x\.at\[index\]\.set"):
        x[0] = 1.0
    y = x
    y += 1
    assert x.tolist() == [1.0, 1.0] and y.tolist() == [2.0, 2.0]


METHODS = {
    "sum": (), "prod": (), "mean": (), "std": (), "var": (), "max": (), "min": (), "ptp": (), "any": (), "all": (),
    "argmax": (), "argmin": (), "cumsum": (0,), "cumprod": (1,), "round": (1,), "clip": (-1, 1), "conj": (),
    "conjugate": (), "ravel": (), "flatten": (), "reshape": (3, 2), "transpose": (1, 0), "swapaxes": (0, 1),
    "squeeze": (), "astype": ("float16",), "copy": (), "repeat": (2,), "dot": (np.ones(3, np.float32),), "sort": (),
    "argsort": (), "take": (np.array([0, 2]),), "diagonal": (), "trace": (), "nonzero": (),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    x = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    args = METHODS[name]
    want = np.transpose(x).copy() if name == "transpose" else \
        np.ptp(x) if name == "ptp" else np.sort(x) if name == "sort" else getattr(x, name)(*args)
    got = getattr(jnp.asarray(x), name)(*args)
    for g, w in zip(got if name == "nonzero" else [got], want if name == "nonzero" else [want], strict=True):
        assert g.shape == np.shape(w)
        np.testing.assert_allclose(g, w, rtol=1e-3 if name == "astype" else 1e-5, atol=1e-6)
    if name != "nonzero":
        staged = jax.jit(lambda x: getattr(x, name)(*args))(x)
        np.testing.assert_allclose(staged, got, rtol=1e-5, atol=1e-6)


def test_reductions_take_the_axis_arguments():
    x = jnp.arange(6.0).reshape(2, 3)
    assert x.sum(1, keepdims=True).shape == (2, 1) and x.max(axis=0).tolist() == [3, 4, 5]
    assert x.mean(where=x > 2).tolist() == 4.0 and x.any(axis=-1).tolist() == [True, True]


@pytest.mark.quick
def test_attributes():
    x = jnp.arange(6.0).reshape(2, 3)
    for v in (x, None):
        def check(v):
            assert v.T.shape == (3, 2) and v.mT.shape == (3, 2) and v.real.dtype == np.float32
            assert v.itemsize == 4 and v.nbytes == 24 and v.size == 6 and v.ndim == 2
            return v.imag
        assert (check(x) if v is not None else jax.jit(check)(x)).tolist() == [[0.0] * 3] * 2
    assert (x + 1j).imag.tolist() == [[1.0] * 3] * 2
    with pytest.raises(ValueError, match="two dimensions"):
        _ = jnp.ones(3).mT
    assert x.__array_namespace__() is jnp
    with pytest.raises(ValueError, match="2024.12"):
        x.__array_namespace__(api_version="1999")


def test_view():
    rng = np.random.default_rng(0)
    for source, target in [("float32", "int32"), ("float32", "uint8"), ("uint8", "float32"), ("int16", "int64"),
                           ("complex64", "float32"), ("float32", "complex64"), ("bool", "uint8"), ("uint8", "bool")]:
        if target == "int64":
            continue
        x = rng.integers(0, 2, (2, 8)).astype(source)
        assert jnp.asarray(x).view(target).tolist() == x.view(target).tolist(), (source, target)
    with pytest.raises(ValueError, match="whole elements"):
        jnp.ones(3, "uint8").view("uint16")
    with pytest.raises(ValueError, match="another size"):
        jnp.float32(1).view("uint8")
    with pytest.raises(NotImplementedError, match="type="):
        jnp.ones(2).view(type=np.ndarray)


def test_astype():
    x = jnp.array([0.0, 1.7, -2.5])
    assert x.astype(int).tolist() == [0, 1, -2] and x.astype(bool).tolist() == [False, True, True]
    assert x.astype(None).dtype == np.float32 and x.astype(x.dtype) is x and x.astype(x.dtype, copy=True) is not x
    with pytest.warns(np.exceptions.ComplexWarning):
        (x + 1j).astype(float)
    assert jnp.astype(1, "float16").dtype == np.float16


def test_contains_and_iteration():
    x = jnp.arange(3)
    assert 2 in x and 5 not in x and [int(v) for v in x] == [0, 1, 2]
    with pytest.raises(NotImplementedError, match="ravel"):
        _ = x.flat


@pytest.mark.parametrize("name", ["devices", "delete", "is_deleted", "on_device_size_in_bytes", "tobytes",
                                  "unsafe_buffer_pointer"])
def test_what_only_arrays_with_a_value_have(name):
    def f(x):
        assert not hasattr(x, name)
        return getattr(x, name)()

    with pytest.raises(AttributeError, match=rf"the attribute '{name}' of a traced array is not known while.*f32\[3\]"):
        jax.jit(f)(jnp.ones(3))
    getattr(jnp.ones(3), name)()
    key = jax.random.key(0)
    if name == "tobytes":
        with pytest.raises(AttributeError, match="'KeyArray' object has no attribute 'tobytes'"):
            getattr(key, name)
    else:
        getattr(key, name)()
