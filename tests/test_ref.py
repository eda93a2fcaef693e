"""``jax.ref`` on concrete references: NumPy's assignment is the model."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import jax
import jax.numpy as jnp

pytestmark = pytest.mark.filterwarnings("error")

INDICES = [
    0, -1, slice(1, None), slice(None, None, -2), (slice(None), 1), (Ellipsis, 2), (1, slice(0, 2)), (None,), (None, 1),
    np.array([2, 0]), (np.array([1, 1]), np.array([0, 3])), (slice(None), np.array([3, 0])), np.array([True, False, True]),
    (np.array([0, 2]), slice(None, None, 2)), (), Ellipsis, (np.array([[0], [2]]), np.array([1, 3])),
]


def model():
    return np.arange(12.0, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_reading_and_writing_are_those_of_numpy(index):
    array, ref = model(), jax.new_ref(model())
    np.testing.assert_array_equal(ref[index], array[index])
    part = np.linspace(20, 30, array[index].size, dtype=np.float32).reshape(array[index].shape)
    array[index], ref[index] = part, part
    np.testing.assert_array_equal(ref[...], array)
    array[index] = ref[index] = 7
    np.testing.assert_array_equal(ref[...], array)
    array[index] *= 3
    ref[index] *= 3
    np.testing.assert_array_equal(ref[...], array)
    old = jax.ref.swap(ref, index, -1.0)
    np.testing.assert_array_equal(old, array[index])
    array[index] = -1.0
    np.add.at(array, index, 2.0)
    jax.ref.addupdate(ref, index, 2.0)
    np.testing.assert_array_equal(ref[...], array)


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_programs_do_the_same(index):
    array = model()

    @jax.jit
    def program(ref, i):
        before = ref[index]
        ref[index] = before * 2.0 + 1.0
        ref.addupdate(5.0, index)
        ref[i] = ref.at[i].at[1:].get()[0]
        return before, ref.swap(0.0, index)

    ref = jax.new_ref(array)
    before, after = program(ref, 1)
    np.testing.assert_array_equal(before, array[index])
    array[index] = array[index] * 2 + 1
    np.add.at(array, index, 5.0)
    array[1] = array[1, 1]
    np.testing.assert_array_equal(after, array[index])
    array[index] = 0
    np.testing.assert_array_equal(ref[...], array)


@pytest.mark.quick
def test_arrays_read_before_and_used_after_stay_as_they_were():
    init = jnp.zeros(3)
    ref = jax.new_ref(init)
    whole, part = ref[...], ref[1:]
    ref[0] = 1.0
    ref.addupdate(1.0)
    jax.jit(lambda r: r.set(9.0, 1))(ref)
    new = jnp.full(3, 4.0)
    ref[...] = new
    ref[2] = 5.0
    for x, expected in ((init, 0), (whole, 0), (part, 0), (new, 4)):
        np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal(ref[...], [4, 4, 5])


@pytest.mark.quick
def test_what_references_say_of_themselves():
    ref = jax.new_ref(jnp.ones((2, 3), jnp.bfloat16))
    assert isinstance(ref, jax.Ref) and not isinstance(ref, jax.Array) and isinstance(ref.at[0], jax.Ref)
    assert (ref.shape, ref.dtype, ref.ndim, ref.size, len(ref)) == ((2, 3), jnp.bfloat16, 2, 6, 2)
    assert repr(jax.typeof(ref)) == "Ref{bfloat16[2,3]}" and jax.typeof(ref) is jax.ref.AbstractRef(jax.typeof(ref[...]))
    assert ref.sharding == ref[...].sharding and ref.committed is ref[...].committed
    assert repr(jax.new_ref(1.5)) == "Ref(1.5, dtype=float32)"
    assert repr(jax.new_ref(np.arange(4.0).reshape(2, 2))) == "Ref([[0., 1.],\n     [2., 3.]], dtype=float32)"
    assert not jax.new_ref(3)[...].weak_type
    assert jax.tree.leaves({"a": ref}) == [ref]
    assert "float32" in repr(jax.new_ref(jnp.ones(2)).at[0])
    assert jax.typeof(jax.new_ref(1.0, kind="sums")).kind == "sums"


def test_copies_are_references_of_their_own():
    ref = jax.new_ref(jnp.zeros(2))
    for other in (copy.copy(ref), copy.deepcopy(ref), pickle.loads(pickle.dumps(ref))):
        other[0] = 1.0
        assert float(other[0]) == 1.0 and float(ref[0]) == 0.0


DTYPES = [jnp.bfloat16, jnp.float16, jnp.int8, jnp.uint32, jnp.complex64, bool]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_dtypes(dtype):
    ref = jax.new_ref(jnp.zeros((2, 2), dtype))
    ref[0] = jnp.ones(2, dtype)
    jax.jit(lambda r: r.set(True, (1, 0)))(ref)
    assert ref[...].dtype == dtype
    np.testing.assert_array_equal(np.asarray(ref[...], complex), [[1, 1], [1, 0]])


def test_keys():
    def draw(ref):
        ref[...], key = jax.random.split(ref[...])
        return jax.random.uniform(key)
    one, other = jax.new_ref(jax.random.key(1)), jax.new_ref(jax.random.key(1))
    np.testing.assert_array_equal([draw(one), draw(one)], [jax.jit(draw)(other) for _ in range(2)])
    many = jax.new_ref(jax.random.split(jax.random.key(0), 2))
    expected = [draw(jax.new_ref(many[i])) for i in range(2)]
    np.testing.assert_array_equal(jax.vmap(draw)(many), expected)


def test_empty_arrays_and_scalars():
    ref = jax.new_ref(jnp.zeros((0, 3)))
    ref[:, 1] = 1.0
    assert ref[...].shape == (0, 3) and jax.jit(lambda r: r[:, 1])(ref).shape == (0,)
    scalar = jax.new_ref(2)
    scalar[...] += 1
    scalar[()] *= 2
    assert int(scalar[...]) == 6


def test_views():
    array, ref = model(), jax.new_ref(model())
    view = ref.at[1:].at[:, ::2]
    np.testing.assert_array_equal(view[...], array[1:, ::2])
    view[0] = 50.0
    view.addupdate(1.0)
    array[1:, ::2][0] = 50
    array[1:, ::2] += 1
    np.testing.assert_array_equal(ref[...], array)
    ref.at[...].T[1] = 3.0
    ref.at[0].reshape(2, 2).set(8.0, (slice(None), 0))
    array.T[1] = 3
    array[0].reshape(2, 2)[:, 0] = 8
    np.testing.assert_array_equal(ref[...], array)
    np.testing.assert_array_equal(ref.at[2].bitcast(jnp.int32)[...], array[2].view(np.int32))
    ref.at[2].bitcast(jnp.int32)[0] = 0
    assert float(ref[2, 0]) == 0.0
    jax.jit(lambda v: v.swap(v[...] * 2))(ref.at[1])
    np.testing.assert_array_equal(ref[1], array[1] * 2)


@pytest.mark.quick
def test_references_given_up():
    frozen, freed = jax.new_ref(jnp.arange(2)), jax.empty_ref(jax.ShapeDtypeStruct((2,), jnp.float32))
    np.testing.assert_array_equal(jax.freeze(frozen), [0, 1])
    jax.free_ref(freed)
    for ref, how in ((frozen, "was frozen"), (freed, "was freed")):
        for use in (lambda r: r[...], lambda r: r.set(1), lambda r: r.addupdate(1), jax.freeze, jax.free_ref,
                    lambda r: r.sharding, jax.jit(lambda r: r[0])):
            with pytest.raises(ValueError, match=how):
                use(ref)
        assert how in repr(ref)


@pytest.mark.parametrize("traced", [False, True])
def test_references_have_views_of_all_of_them(traced):
    def program(ref):
        ref.reshape(2, 6)[1, 0] = -1.0
        ref.T[0] = jnp.zeros(3)
        ref.transpose(1, 0)[1, 2] += 5.0
        ref.bitcast(jnp.int32)[0, 3] = 0
        return ref.reshape((4, 3)).T[...], ref[...].reshape(4, 3).T

    want = model()
    want.reshape(2, 6)[1, 0] = -1
    want.T[0] = 0
    want.T[1, 2] += 5
    want[0, 3] = 0
    ref = jax.new_ref(model())
    for got in (jax.jit(program) if traced else program)(ref):
        np.testing.assert_array_equal(got, want.reshape(4, 3).T)
    np.testing.assert_array_equal(ref[...], want)
    with pytest.raises(AttributeError, match="bitcast"):
        jax.jit(lambda x: x.bitcast)(1.0)


ERRORS = [
    (lambda r: r[3], IndexError, "index 3 is out of bounds for axis 0"),
    (lambda r: r[0, -5], IndexError, "index -5 is out of bounds for axis 1"),
    (lambda r: r[0, 0, 0], IndexError, "Too many indices"),
    (lambda r: r[1.0], TypeError, "integer or boolean"),
    (lambda r: r.set(jnp.ones(5), 0), ValueError, r"\(5,\).*cannot be broadcast.*\(4,\)|f32\[5\].*f32\[4\]"),
    (lambda r: r.set(1j), ValueError, "complex64 cannot be written to a reference of type Ref{f32"),
    (lambda r: r.set("a"), TypeError, "set of a reference of type Ref{f32.*'a'"),
    (lambda r: r.set(None, 0), TypeError, "None was given"),
    (lambda r: r.addupdate(np.ones(4, np.complex64), 0), ValueError, "complex64 cannot be written"),
    (lambda r: jnp.sin(r), TypeError, r"sin: operand 0 is a reference, of type Ref{f32\[3,4\]}.*ref\[\.\.\.\]"),
    (lambda r: r[...] + r, TypeError, "reference|unsupported operand"),
    (jax.new_ref, TypeError, "is a reference already"),
    (lambda r: jax.freeze(r.at[0]), TypeError, "whole reference"),
    (lambda r: jax.freeze(r[...]), TypeError, "takes a reference"),
    (lambda r: r.at[0].bitcast(jnp.int8), ValueError, "different sizes"),
]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(("use", "error", "message"), ERRORS, ids=range(len(ERRORS)))
def test_misuse(use, error, message, traced):
    def program(ref):
        use(ref)
    with pytest.raises(error, match=message):
        (jax.jit(program) if traced else program)(jax.new_ref(model()))


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: jax.new_ref([1.0]), TypeError, "new_ref: .*list"),
    (lambda: jax.new_ref(None), TypeError, "new_ref: .*None"),
    (lambda: jax.new_ref(1.0, pin=True), NotImplementedError, "leave pin out"),
    (lambda: jax.new_ref(1.0, memory_space="host"), NotImplementedError, "leave memory_space out"),
    (lambda: bool(jax.new_ref(1.0)), TypeError, "no truth value"),
    (lambda: list(jax.new_ref(jnp.ones(2))), TypeError, "cannot be iterated"),
    (lambda: np.asarray(jax.new_ref(1.0)), TypeError, "not an array"),
    (lambda: jax.ref.AbstractRef(3), TypeError, "made of the array's"),
    (lambda: jax.ref.AbstractRef(jax.typeof(1.0)).update(shape=(2,)).__setattr__("kind", 1), AttributeError, "immutable"),
])
def test_what_cannot_be_made(call, error, message):
    with pytest.raises(error, match=message):
        call()
