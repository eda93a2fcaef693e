"""matmul, dot, einsum and kin: values, derivatives, jaxprs, errors."""

from __future__ import annotations

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._base.config import enable_x64
from tests import harness
from tests.ops import Op, cases, derivative_cases, number

D, C = "float64", "complex128"


def _pair(name, fn, reference, left, right, dtypes=(D, "float32"), order=1, **settings):
    return Op(f"{name}-{left}-{right}", fn, (number(shape=left), number(shape=right)), dtypes, reference, tol=10,
              order=order, **settings)


MATMUL = [_pair("matmul", jnp.matmul, np.matmul, s, t) for s, t in [
    ((3, 4), (4, 5)), ((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (6, 4, 5)), ((1, 3, 4), (1, 4, 5)), ((4,), (2, 4, 5)), ((5, 1, 3, 4), (1, 2, 4, 6)), ((3, 0), (0, 2)),
]]
OTHERS = [
    _pair("dot", jnp.dot, np.dot, (2, 3, 4), (5, 4, 3)),
    _pair("dot", jnp.dot, np.dot, (), (3,)),
    _pair("vdot", jnp.vdot, np.vdot, (3, 4), (2, 6), (C,)),
    _pair("inner", jnp.inner, np.inner, (3, 4), (2, 5, 4)),
    _pair("outer", jnp.outer, np.outer, (3, 2), (4,)),
    _pair("tensordot", jnp.tensordot, np.tensordot, (2, 3, 4), (3, 4, 5)),
    _pair("tensordot-axes", lambda a, b: jnp.tensordot(a, b, ((1, -1), (1, 0))),
          lambda a, b: np.tensordot(a, b, ((1, -1), (1, 0))), (2, 3, 4), (4, 3, 5)),
    _pair("kron", jnp.kron, np.kron, (2, 3), (3, 1, 2)),
    _pair("cross", jnp.cross, np.cross, (4, 3), (4, 3), order=2),
    _pair("cross-axis", lambda a, b: jnp.cross(a, b, axis=0), lambda a, b: np.cross(a, b, axis=0), (3, 4), (3, 4)),
    _pair("vecdot", jnp.vecdot, np.vecdot, (2, 3), (2, 3), (C,)),
    _pair("vecdot-axis", lambda a, b: jnp.vecdot(a, b, axis=1), lambda a, b: np.vecdot(a, b, axis=1), (2, 3, 4),
          (2, 3, 1)),
    _pair("matvec", jnp.matvec, lambda a, b: np.einsum("...ij,...j", a, b), (2, 3, 4), (2, 4), (C,)),
    _pair("vecmat", jnp.vecmat, lambda a, b: np.einsum("...i,...ij", np.conj(a), b), (2, 3), (2, 3, 4), (C,)),
    _pair("convolve", jnp.convolve, np.convolve, (3,), (5,), (D, C)),
    _pair("convolve-same", lambda a, v: jnp.convolve(a, v, "same"), lambda a, v: np.convolve(a, v, "same"), (6,), (4,)),
    _pair("correlate", lambda a, v: jnp.correlate(a, v, "full"), lambda a, v: np.correlate(a, v, "full"), (3,), (4,), (C,)),
]
EVERY = MATMUL + OTHERS


@pytest.mark.quick
@pytest.mark.parametrize(("op", "dtype"), cases(EVERY))
def test_values(op, dtype):
    harness.check_values(op, dtype)


@pytest.mark.parametrize(("op", "dtype"), derivative_cases(EVERY))
def test_jvp(op, dtype):
    harness.check_jvp(op, dtype)


@pytest.mark.parametrize(("op", "dtype"), derivative_cases(EVERY))
def test_vjp(op, dtype):
    harness.check_vjp(op, dtype)


@pytest.mark.parametrize("op", EVERY, ids=lambda op: op.name)
def test_vmap(op):
    harness.check_vmap(op, op.dtypes[0])


@pytest.mark.parametrize("sizes", [((4, 3), (2, 3)), ((2, 3), (4, 2)), ((5, 4), (1, 2))])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_of_any_length(sizes, mode):
    rng = np.random.default_rng(0)
    for m, n in sizes:
        a, v = rng.normal(size=m).astype("f"), rng.normal(size=n).astype("f")
        np.testing.assert_allclose(jnp.convolve(a, v, mode), np.convolve(a, v, mode), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(jnp.correlate(a, v, mode), np.correlate(a, v, mode), rtol=1e-5, atol=1e-6)


# --- einsum ---------------------------------------------------------------------------------------------------------

EINSUMS = [
    ("ij,jk->ik", (3, 4), (4, 5)), ("ij,jk->ki", (3, 4), (4, 5)), ("ij,jk", (3, 4), (4, 5)), ("ii", (3, 3)),
    ("ii->i", (3, 3)), ("iji->j", (3, 4, 3)), ("iii->i", (3, 3, 3)), ("...ij,...jk->...ik", (2, 3, 4), (4, 5)),
    ("...ij,...jk", (2, 1, 3, 4), (5, 4, 2)), ("ij->", (2, 3)), ("ba", (2, 3)), ("i,j->ji", (2,), (3,)),
    ("ij,ij->ij", (2, 3), (2, 3)), ("bij,bjk,k->i", (2, 3, 4), (2, 4, 5), (5,)),
    ("ab,bc,cd,de->ae", (2, 3), (3, 4), (4, 5), (5, 6)), ("i,i,i->", (4,), (4,), (4,)),
    ("bhqd,bkhd->bhqk", (2, 3, 4, 5), (2, 6, 3, 5)), ("ij,k->j", (2, 3), (4,)), (",i->i", (), (3,)),
    ("iij,jk->k", (3, 3, 4), (4, 5)), ("i...->...", (2, 3)), ("...,...", (2, 3), (3,)), ("ij, jk -> ik", (3, 1), (4, 5)),
]


@pytest.mark.parametrize("case", EINSUMS, ids=lambda c: c[0])
def test_einsum(case):
    text, *shapes = case
    rng = np.random.default_rng(0)
    with enable_x64(True):
        arrays = [rng.normal(size=s) for s in shapes]
        want = np.einsum(text, *arrays)
        fn = lambda *xs: jnp.einsum(text, *xs)  # noqa: E731
        for got in (fn(*arrays), jax.jit(fn)(*arrays), jnp.einsum(text, *arrays, optimize=False)):
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
        tangents = [rng.normal(size=s) for s in shapes]
        _, slope = jax.jvp(fn, tuple(arrays), tuple(tangents))
        parts = [np.einsum(text, *[t if i == k else a for i, a in enumerate(arrays)]) for k, t in enumerate(tangents)]
        np.testing.assert_allclose(slope, sum(parts), rtol=1e-12, atol=1e-12)
        ct = rng.normal(size=want.shape)
        grads = jax.vjp(fn, *arrays)[1](ct)
        np.testing.assert_allclose(sum(np.sum(g * t) for g, t in zip(grads, tangents, strict=True)), np.sum(ct * slope),
                                   rtol=1e-10)


def test_einsum_takes_lists_of_axes_and_paths():
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=s).astype("f") for s in ((2, 3), (3, 4), (4, 2)))
    np.testing.assert_allclose(jnp.einsum(a, [0, 1], b, [1, 2], [2, 0]), (a @ b).T, rtol=1e-5)
    np.testing.assert_allclose(jnp.einsum(a, [0, 1], b, [1, 2]), a @ b, rtol=1e-5)
    path, info = jnp.einsum_path("ij,jk,kl->il", a, b, c)
    assert all(isinstance(step, tuple) for step in path) and "scaling" in str(info).lower()
    for steps in (path, ["einsum_path", *path]):
        np.testing.assert_allclose(jnp.einsum("ij,jk,kl->il", a, b, c, optimize=steps), a @ b @ c, rtol=1e-5, atol=1e-6)


def test_einsum_uses_the_given_product():
    seen = []

    def product(x, y, numbers, precision=None, preferred_element_type=None):
        seen.append(numbers)
        return jax.lax.dot_general(x, y, numbers, precision, preferred_element_type)
    jnp.einsum("ij,jk->ik", np.ones((2, 3), "f"), np.ones((3, 4), "f"), _dot_general=product)
    assert seen == [(((1,), (0,)), ((), ()))]


# --- what is staged -------------------------------------------------------------------------------------------------

@pytest.mark.quick
@pytest.mark.parametrize("fn", [lambda a, b: a @ b, jnp.dot, lambda a, b: jnp.einsum("ij,jk->ik", a, b)])
def test_a_product_is_one_equation(fn):
    jaxpr = jax.make_jaxpr(fn)(np.ones((3, 4), "f"), np.ones((4, 5), "f"))
    (eqn,) = jaxpr.jaxpr.eqns
    assert eqn.primitive.name == "dot_general"
    assert eqn.params["dimension_numbers"] == (((1,), (0,)), ((), ()))
    assert eqn.params["preferred_element_type"] == np.float32


def test_operands_are_exchanged_rather_than_transposed():
    jaxpr = jax.make_jaxpr(lambda a, b: jnp.einsum("ij,jk->ki", a, b))(np.ones((3, 4), "f"), np.ones((4, 5), "f"))
    assert [e.primitive.name for e in jaxpr.jaxpr.eqns] == ["dot_general"]


def test_dtypes_of_products():
    assert jnp.matmul(np.ones((2, 2), bool), np.ones((2, 2), bool)).dtype == bool
    assert jnp.dot(np.ones((2, 2), np.int8), np.ones((2, 2), np.float16)).dtype == np.float16
    assert (np.int8(2) * jnp.ones((2,), np.int8)).dtype == np.int8
    assert jnp.matmul(np.ones((2, 2), np.int8), np.ones((2, 2), np.int8), preferred_element_type=np.int32).dtype == np.int32
    assert (jnp.ones((2, 2), jnp.bfloat16) @ jnp.ones((2, 2), jnp.bfloat16)).dtype == jnp.bfloat16
    half = jnp.ones((2, 2), jnp.bfloat16)
    assert jnp.einsum("ij,jk", half, half, preferred_element_type=np.float32).dtype == np.float32


@pytest.mark.quick
@pytest.mark.parametrize(("fn", "shapes", "error"), [
    (jnp.matmul, ((3, 4), (3, 4)), TypeError), (lambda a, b: jnp.asarray(a) @ b, ((3, 4), (3, 4)), TypeError),
    (jnp.matmul, ((2, 3, 4), (3, 4, 5)), ValueError), (jnp.dot, ((3,), (4,)), TypeError),
    (jnp.inner, ((3, 4), (2, 5)), TypeError), (jnp.tensordot, ((3,), (3,)), TypeError),
    (lambda a, b: jnp.einsum("ij,jk", a, b), ((3, 4), (3, 4)), ValueError), (jnp.matvec, ((3, 4), (3,)), ValueError),
    (jnp.cross, ((4,), (4,)), ValueError),
])
def test_mismatches_show_both_shapes(fn, shapes, error):
    a, b = (np.ones(s, "f") for s in shapes)
    for call in (fn, jax.jit(fn)):
        with pytest.raises(error) as raised:
            call(a, b)
        for s in shapes:
            assert str(s) in str(raised.value)


def test_operands_must_be_arrays():
    with pytest.raises(TypeError, match="jnp.array"):
        jnp.matmul([1, 2], jnp.ones(2))
    with pytest.raises(ValueError, match="0-d"):
        jnp.matmul(1.0, np.ones(2))
    with pytest.raises(ValueError, match="names 'q'"):
        jnp.einsum("ij,jk->iq", np.ones((2, 2)), np.ones((2, 2)))
    with pytest.raises(ValueError, match="for 2 operands, got 1"):
        jnp.einsum("ij,jk", np.ones((2, 2)))


def test_products_never_promote_ranks_silently():
    with jax.numpy_rank_promotion("raise"):
        assert (jnp.ones((2, 3, 4)) @ jnp.ones((4, 5))).shape == (2, 3, 5)
        assert jnp.kron(jnp.ones((2, 3)), jnp.ones(2)).shape == (2, 6)
        assert jnp.outer(jnp.ones(2), jnp.ones(3)).shape == (2, 3)
        with pytest.raises(ValueError, match="differ in rank"):
            jnp.vecdot(np.ones((2, 3), "f"), np.ones(3, "f"))
