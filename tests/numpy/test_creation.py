"""Making arrays: values and dtypes against NumPy, weak types, errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._base.config import enable_x64
from tests import harness
from tests.ops import cases, derivative_cases
from tests.ops_arrays import MATRICES


@pytest.mark.parametrize("op, dtype", cases(MATRICES))
def test_values(op, dtype):
    harness.check_values(op, dtype)


@pytest.mark.parametrize("op, dtype", derivative_cases(MATRICES))
def test_derivatives(op, dtype):
    harness.check_jvp(op, dtype)
    harness.check_vjp(op, dtype)


@pytest.mark.parametrize("op, dtype", [pytest.param(op, np.dtype("float32"), id=op.name) for op in MATRICES])
def test_vmap(op, dtype):
    harness.check_vmap(op, dtype)


# --- array ------------------------------------------------------------------------------------------------------

VALUES = {
    "int": (3, "int32", True), "float": (2.5, "float32", True), "complex": (1j, "complex64", True),
    "bool": (True, "bool", False), "list": ([1, 2], "int32", False), "nested": ([[1, 2.5], [3, 4]], "float32", False),
    "booleans and integers": ([True, 2], "int32", False), "empty": ([], "float32", False),
    "empty nested": ([[], []], "float32", False), "tuple": ((1, 2), "int32", False), "range": (range(3), "int32",
                                                                                               False),
    "numpy": (np.arange(3, dtype="int16"), "int16", False), "float64": (np.arange(3.0), "float32", False),
    "numpy scalar": (np.float64(1), "float32", False), "memoryview": (memoryview(b"abc"), "uint8", False),
    "half and float": ([np.float16(1), 2.0], "float16", False),
    "numpy arrays": ([np.arange(2), np.arange(2.0)], "float32", False),
    "arrays": ([jnp.arange(2), jnp.arange(2.0)], "float32", False), "weak array": (jnp.asarray(1.0), "float32", True),
    "arrays and numbers": ([[jnp.float16(1), 2], [3, jnp.int8(4)]], "float16", False),
}


@pytest.mark.quick
@pytest.mark.parametrize("value, dtype, weak", VALUES.values(), ids=list(VALUES))
def test_array(value, dtype, weak):
    for make in (jnp.array, jnp.asarray, jax.jit(lambda: jnp.array(value)), jax.jit(lambda: jnp.asarray(value))):
        out = make(value) if make in (jnp.array, jnp.asarray) else make()
        assert out.dtype == dtype
        assert out.weak_type == weak
        np.testing.assert_array_equal(out, np.array(jax.tree_util.tree_map(np.asarray, value) if isinstance(value, list)
                                                    else value))


@pytest.mark.quick
def test_array_keeps_tracers_and_stacks_them():
    out = jax.jit(lambda x: jnp.array([[x, 1], [2, x]]))(3.0)
    np.testing.assert_array_equal(out, [[3, 1], [2, 3]])
    np.testing.assert_array_equal(jax.grad(lambda x: jnp.array([x, 2 * x, 1.0]).sum())(3.0), 3.0)
    assert jax.vmap(lambda x: jnp.array([x, 1]))(jnp.ones(4)).shape == (4, 2)


@pytest.mark.quick
def test_array_copies_and_asarray_does_not():
    x = jnp.arange(3)
    assert jnp.asarray(x) is x
    assert jnp.array(x).unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    assert jnp.asarray(x, copy=True).unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    source = np.arange(3)
    made = jnp.asarray(source)
    source[:] = 9
    np.testing.assert_array_equal(made, [0, 1, 2])
    assert jnp.array([1], ndmin=3).shape == (1, 1, 1)
    assert jnp.array(x, dtype=float).dtype == jnp.float32


class Convertible:
    def __jax_array__(self):
        return jnp.arange(3)


@pytest.mark.quick
def test_objects_that_convert_themselves():
    np.testing.assert_array_equal(jnp.asarray(Convertible()), [0, 1, 2])
    np.testing.assert_array_equal(jnp.array([Convertible(), Convertible()]), [[0, 1, 2]] * 2)


@pytest.mark.quick
@pytest.mark.parametrize("make, error, match", [
    (lambda: jnp.array("a"), TypeError, "not a valid JAX array type"),
    (lambda: jnp.array(b"abc"), TypeError, "not a valid JAX array type"),
    (lambda: jnp.array(None), ValueError, "None"), (lambda: jnp.array([1, None]), ValueError, "None"),
    (lambda: jnp.array(object()), TypeError, "object"), (lambda: jnp.array({1: 2}), TypeError, "dict"),
    (lambda: jnp.array(np.array(["a"])), TypeError, "dtype"),
    (lambda: jnp.array([[1, 2], [3]]), ValueError, "inhomogeneous"),
    (lambda: jnp.array(2**40), OverflowError, "jax_enable_x64"),
    (lambda: jnp.array([2**40]), OverflowError, "jax_enable_x64"),
    (lambda: jnp.array(np.array([2**40])), OverflowError, "jax_enable_x64"),
    (lambda: jnp.array([2**70]), OverflowError, None), (lambda: jnp.array([-1], dtype="uint8"), OverflowError, None),
    (lambda: jnp.array(300, dtype="uint8"), OverflowError, "uint8"),
    (lambda: jnp.array([1], order="F"), NotImplementedError, "order"), (lambda: jnp.zeros(-1), TypeError, "negative"),
    (lambda: jnp.zeros(2.5), TypeError, "integers"), (lambda: jax.jit(jnp.zeros)(3), TypeError, "static"),
    (lambda: jnp.full((2, 3), jnp.ones(2)), ValueError, r"\(2,\)"),
    (lambda: jnp.zeros_like([1]), TypeError, "jnp.array"),
    (lambda: jax.jit(jnp.arange)(3), jax.errors.ConcretizationTypeError, "size of the result"),
    (lambda: jnp.arange(3j), ValueError, "real"), (lambda: jnp.arange(jnp.ones(2)), ValueError, "scalars"),
    (lambda: jnp.arange(0, 1, 0), ZeroDivisionError, "step"), (lambda: jnp.linspace(0, 1, -1), ValueError, "negative"),
    (lambda: jnp.eye(2, k=1.5), ValueError, "integer"), (lambda: jnp.tril(jnp.ones(3)), ValueError, "two dimensions"),
    (lambda: jnp.diag(jnp.ones((2, 2, 2))), ValueError, "vector"),
    (lambda: jnp.diagonal(jnp.ones(3)), ValueError, "two"),
    (lambda: jnp.fill_diagonal(jnp.ones((2, 2)), 1), NotImplementedError, "inplace=False"),
    (lambda: jnp.meshgrid(jnp.ones((2, 2))), ValueError, "vectors"),
    (lambda: jnp.vander(jnp.ones((2, 2))), ValueError, "vector"),
    (lambda: jnp.fromiter(iter([1]), int), NotImplementedError, "np.fromiter"),
    (lambda: jnp.r_["1,2,3,x", 1], ValueError, "directive"),
])
def test_errors_name_the_remedy(make, error, match):
    with pytest.raises(error, match=match):
        make()


# --- constants and counting -------------------------------------------------------------------------------------

@pytest.mark.quick
def test_constants():
    for shape in (3, (2, 3), (), (0, 2), [2], np.array([2, 3])):
        want = tuple(np.zeros(shape).shape)
        for make in (jnp.zeros, jnp.ones, jnp.empty, jax.jit(lambda s=shape: jnp.ones(s)), lambda s: jnp.full(s, 7)):
            out = make(shape) if not hasattr(make, "lower") else make()
            assert out.shape == want
    assert jnp.zeros(2).dtype == jnp.float32 and jnp.ones(2, int).dtype == jnp.int32
    assert jnp.ones(2, "bfloat16").dtype == jnp.bfloat16
    assert jnp.full(2, 1).weak_type and not jnp.full(2, 1, int).weak_type
    np.testing.assert_array_equal(jnp.full((2, 3), jnp.arange(3)), np.full((2, 3), np.arange(3)))
    assert jnp.full(2, 1.5, int).dtype == jnp.int32


@pytest.mark.quick
def test_likes():
    x = jnp.ones((2, 3), "float16")
    assert jnp.zeros_like(x).dtype == jnp.float16 and jnp.ones_like(x, shape=4).shape == (4,)
    assert jnp.ones_like(1.0).weak_type and jnp.full_like(1, 2).weak_type
    assert jnp.full_like(x, 7, dtype=int).dtype == jnp.int32
    assert jnp.zeros_like(jax.ShapeDtypeStruct((2,), "int8")).dtype == jnp.int8
    np.testing.assert_array_equal(jnp.full_like(jnp.arange(3), 1.9), [1, 1, 1])


ARANGE = [(3,), (2, 7), (2, 7, 2), (7, 2, -2), (0,), (5, 2), (3.0,), (0.5, 2.0, 0.25), (1, 4, 0.5), (-3,), (1.5, 4.7,
                                                                                                            0.3),
          (np.int8(3),), (np.uint8(3), np.int16(5)), (2**31 - 3, 2**31 - 1)]


@pytest.mark.quick
@pytest.mark.parametrize("args", ARANGE)
def test_arange(args):
    want = np.arange(*args)
    for make in (jnp.arange, jax.jit(lambda: jnp.arange(*args))):
        out = make(*args) if make is jnp.arange else make()
        assert out.shape == want.shape and not out.weak_type
        np.testing.assert_allclose(out, want, rtol=1e-6)
    assert jnp.arange(*args, dtype="float16").dtype == jnp.float16


@pytest.mark.quick
def test_arange_of_narrow_floats_counts_on():
    assert jnp.arange(300, dtype="bfloat16")[-1] == jnp.bfloat16(299)
    np.testing.assert_array_equal(jnp.arange(5, 9, dtype="complex64"), np.arange(5, 9))
    with enable_x64(True):
        assert jnp.arange(2**33, 2**33 + 2).tolist() == [2**33, 2**33 + 1]
        assert jnp.arange(3).dtype == jnp.int64


@pytest.mark.quick
@pytest.mark.parametrize("num", [0, 1, 2, 5])
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace(num, endpoint):
    for dtype in (None, int, "float16"):
        want, want_step = np.linspace(-1, 6, num, endpoint, True, dtype)
        out, step = jnp.linspace(-1, 6, num, endpoint, True, dtype)
        np.testing.assert_allclose(out, want, rtol=1e-3 if dtype == "float16" else 1e-6)
        np.testing.assert_allclose(step, want_step, rtol=1e-6)
    assert jnp.linspace(0, 1, 3).dtype == jnp.float32
    ends = jnp.linspace(0.1, 0.7, 11)
    assert ends[0] == jnp.float32(0.1) and ends[-1] == jnp.float32(0.7)


@pytest.mark.quick
def test_identities_and_triangles():
    for args in ((3,), (2, 4), (4, 2, 1), (3, 3, -1), (2, 2, 5), (0,)):
        np.testing.assert_array_equal(jnp.eye(*args), np.eye(*args))
        np.testing.assert_array_equal(jnp.tri(*args), np.tri(*args))
    np.testing.assert_array_equal(jax.jit(lambda k: jnp.eye(3, k=k))(1), np.eye(3, k=1))
    assert jnp.identity(2, bool).dtype == jnp.bool_
    for got, want in ((jnp.tril_indices(3, 1, 4), np.tril_indices(3, 1, 4)), (jnp.triu_indices(3), np.triu_indices(3)),
                      (jnp.diag_indices(3), np.diag_indices(3)), (jnp.mask_indices(3, jnp.triu), np.mask_indices(3,
                                                                                                                 np.triu))):
        for g, w in zip(got, want, strict=True):
            np.testing.assert_array_equal(g, w)


@pytest.mark.quick
def test_grids():
    for key in (np.s_[0:3, 1:2:3j], np.s_[0:3], np.s_[0:2, 0:2.0]):
        np.testing.assert_allclose(jnp.mgrid[key], np.mgrid[key], rtol=1e-6)
        for g, w in zip(jnp.ogrid[key], np.ogrid[key], strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-6)
    np.testing.assert_array_equal(jnp.r_[1:3, 4, [5, 6]], np.r_[1:3, 4, [5, 6]])
    np.testing.assert_array_equal(jnp.r_["0,2", [1, 2], [3, 4]], np.r_["0,2", [1, 2], [3, 4]])
    np.testing.assert_array_equal(jnp.c_[[1, 2], [3, 4]], np.c_[[1, 2], [3, 4]])
    np.testing.assert_array_equal(jnp.indices((2, 3)), np.indices((2, 3)))
    np.testing.assert_array_equal(jnp.fromfunction(lambda i, j: i - j, (2, 3), dtype=int),
                                  np.fromfunction(np.subtract, (2, 3)))
    for sparse in (False, True):
        for indexing in ("ij", "xy"):
            for g, w in zip(jnp.meshgrid(np.arange(2), np.arange(3), np.arange(4), sparse=sparse, indexing=indexing),
                            np.meshgrid(np.arange(2), np.arange(3), np.arange(4), sparse=sparse, indexing=indexing),
                            strict=True):
                np.testing.assert_array_equal(g, w)


@pytest.mark.quick
def test_wide_dtypes_are_narrowed_with_a_warning():
    with pytest.warns(UserWarning, match="float64"):
        assert jnp.zeros(2, "float64").dtype == jnp.float32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jnp.zeros(2, float)
        jnp.arange(3, dtype=int)
    with enable_x64(True):
        assert jnp.zeros(2).dtype == jnp.float64 and jnp.array(1).dtype == jnp.int64


@pytest.mark.quick
def test_buffers_texts_and_files(tmp_path):
    np.testing.assert_array_equal(jnp.frombuffer(b"\x01\x02\x03", "uint8", count=2, offset=1), [2, 3])
    np.testing.assert_array_equal(jnp.fromstring("1 2", sep=" "), [1, 2])
    np.testing.assert_array_equal(jnp.from_dlpack(np.arange(3)), np.arange(3))
    x = jnp.arange(3, dtype="bfloat16")
    jnp.save(tmp_path / "x.npy", x)
    again = jnp.load(tmp_path / "x.npy")
    assert again.dtype == jnp.bfloat16 and isinstance(again, jax.Array)
    assert jnp.array_repr(jnp.arange(2)) == "Array([0, 1], dtype=int32)"
    assert jnp.array_str(jnp.arange(2)) == "[0 1]"
    assert jnp.shape(x) == (3,) and jnp.ndim(1) == 0 and jnp.size(jnp.ones((2, 3)), 1) == 3
    assert jnp.iterable(x) and not jnp.iterable(jnp.float32(1))


@pytest.mark.quick
def test_placement():
    device = jax.devices()[0]
    for made in (jnp.zeros(2, device=device), jnp.arange(3, device=device), jnp.array([1], device=device),
                 jnp.full(2, 1.0, device=device), jnp.linspace(0, 1, 3, device=device), jnp.eye(2, device=device)):
        assert made.devices() == {device} and made.committed
