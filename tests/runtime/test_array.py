"""What an array answers about itself without computing."""

from __future__ import annotations

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import jax
from jax._base._jaxlib import xla
from jax._language.avals import ShapedArray
from jax._runtime.transfer import to_device

pytestmark = pytest.mark.quick


@pytest.fixture
def vector():
    return to_device(np.array([1.0, 2.0], np.float32))


@pytest.fixture
def matrix():
    return to_device(np.arange(6, dtype=np.float32).reshape(2, 3))


def test_type(matrix):
    assert matrix.shape == (2, 3)
    assert matrix.dtype == np.float32
    assert (matrix.ndim, matrix.size, matrix.nbytes, matrix.itemsize) == (2, 6, 24, 4)
    assert len(matrix) == 2
    assert isinstance(matrix, xla.Array)
    assert matrix.weak_type is False
    assert to_device(2.0).weak_type is True


@pytest.mark.parametrize(("value", "text"), [
    (np.array([1.0, 2.0], np.float32), "Array([1., 2.], dtype=float32)"),
    (np.float32(3), "Array(3., dtype=float32)"),
    (2.0, "Array(2., dtype=float32, weak_type=True)"),
    (3, "Array(3, dtype=int32, weak_type=True)"),
    (True, "Array(True, dtype=bool)"),
    (np.zeros((2, 0), np.float32), "Array([], shape=(2, 0), dtype=float32)"),
    (np.zeros(0, np.int8), "Array([], shape=(0,), dtype=int8)"),
    (np.ones(3, ml_dtypes.bfloat16), "Array([1, 1, 1], dtype=bfloat16)"),
    (np.array([1 + 2j], np.complex64), "Array([1.+2.j], dtype=complex64)"),
    (np.arange(6, dtype=np.float32).reshape(2, 3),
     "Array([[0., 1., 2.],\n       [3., 4., 5.]], dtype=float32)"),
    (np.ones(20, np.float32), f"Array([{', '.join(['1.'] * 17)},\n       1., 1., 1.], dtype=float32)"),
    (np.arange(17, dtype=np.float32) + 10,
     "Array([10., 11., 12., 13., 14., 15., 16., 17., 18., 19., 20., 21., 22.,\n"
     "       23., 24., 25., 26.], dtype=float32)"),
    (np.array([1.25, 2.5, 3.75, 4.125, 5.0625, 6.03125, 7.125, 8.5], np.float32),
     "Array([1.25   , 2.5    , 3.75   , 4.125  , 5.0625 , 6.03125, 7.125  ,\n"
     "       8.5    ], dtype=float32)"),
])
def test_repr(value, text):
    assert repr(to_device(value)) == text


def test_repr_of_large_arrays_is_short():
    assert "..." in repr(to_device(np.zeros((1000, 1000), np.float32)))


def test_str_and_format(vector):
    assert str(vector) == "[1. 2.]"
    assert f"{vector}" == "[1. 2.]"
    assert f"{to_device(2.0):.2f}" == "2.00"


@pytest.mark.parametrize("convert", [float, int, complex])
def test_scalar_conversions(convert, vector):
    assert convert(to_device(np.float32(3))) == convert(3)
    with pytest.raises(TypeError, match=r"shape \(2,\)"):
        convert(vector)


def test_truth_value(vector):
    assert bool(to_device(np.float32(1)))
    assert not bool(to_device(np.zeros((1, 1), np.float32)))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(vector)
    with pytest.raises(ValueError, match="empty"):
        bool(to_device(np.zeros(0, np.float32)))


def test_index():
    assert range(5)[to_device(3)] == 3
    assert [10, 20][to_device(np.uint8(1))] == 20
    for bad in (np.float32(1), np.array([1])):
        with pytest.raises(TypeError, match="index"):
            range(5)[to_device(bad)]


def test_hash_names_the_remedy(vector):
    with pytest.raises(TypeError, match=r"unhashable type.*id\(x\)"):
        hash(vector)


def test_item_and_lists(vector, matrix):
    assert to_device(np.float32(1.5)).item() == 1.5
    assert vector.item(1) == 2.0
    assert matrix.item(1, 2) == matrix.item((1, 2)) == 5.0
    assert type(vector.item(0)) is float
    assert matrix.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert to_device(2.0).tolist() == 2.0
    with pytest.raises(ValueError, match="size 1"):
        vector.item()
    with pytest.raises(IndexError):
        matrix.item(7)
    with pytest.raises(TypeError, match="without dimensions"):
        len(to_device(2.0))


def test_iteration(matrix):
    rows = list(matrix)
    assert [r.tolist() for r in rows] == [[0, 1, 2], [3, 4, 5]]
    assert all(isinstance(r, xla.ArrayImpl) for r in rows)
    assert [r.tolist() for r in reversed(matrix)] == [[3, 4, 5], [0, 1, 2]]
    assert [x.item() for x in rows[0]] == [0, 1, 2]
    with pytest.raises(TypeError, match="iteration"):
        iter(to_device(2.0))
    assert list(to_device(np.zeros((0, 2), np.float32))) == []


def test_numpy_conversion(vector):
    value = np.asarray(vector)
    assert value.dtype == np.float32 and not value.flags.writeable
    assert value.ctypes.data == vector.unsafe_buffer_pointer()  # no copy on CPUs
    assert np.array(vector).flags.writeable
    assert np.asarray(vector, dtype=np.float64).dtype == np.float64
    np.asarray(vector, copy=False)
    with pytest.raises(ValueError, match="copy"):
        np.asarray(vector, dtype=np.float64, copy=False)
    assert memoryview(vector).nbytes == 8
    assert vector.tobytes() == value.tobytes()
    assert type(np.sin(vector)) is np.ndarray


@given(npst.arrays(st.sampled_from([np.float32, np.int32, np.bool_, np.uint8, np.complex64, np.float16]),
                   npst.array_shapes(min_dims=0, min_side=0)))
def test_round_trip_through_the_device(value):
    x = to_device(value)
    assert x.shape == value.shape
    np.testing.assert_array_equal(np.asarray(x), value)


@pytest.mark.parametrize("name", ["int4", "uint4", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_round_trip_of_small_types(name):
    value = np.array([0, 1, 2], getattr(ml_dtypes, name))
    np.testing.assert_array_equal(np.asarray(to_device(value)), value)


@pytest.mark.parametrize("value", [2.0, np.arange(3, dtype=np.int8), np.ones((2, 2), ml_dtypes.bfloat16)])
def test_pickle_keeps_value_and_weak_type(value):
    x = to_device(value)
    y = pickle.loads(pickle.dumps(x))
    assert y.aval is x.aval
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x))


def test_copies_have_their_own_memory(vector):
    for made in (vector.copy(), copy.copy(vector), copy.deepcopy(vector)):
        assert made.tolist() == [1.0, 2.0]
        assert made.unsafe_buffer_pointer() != vector.unsafe_buffer_pointer()
        assert made.committed == vector.committed
    nested = copy.deepcopy({"a": [vector, vector]})
    assert nested["a"][0] is nested["a"][1]


def test_placement(vector):
    device = vector.device
    assert vector.devices() == {device}
    assert vector.sharding.device_set == {device}
    assert vector.is_fully_addressable and vector.is_fully_replicated
    (shard,) = vector.addressable_shards
    assert (shard.device, shard.index, shard.replica_id) == (device, (slice(None),), 0)
    assert shard.data.tolist() == [1.0, 2.0]
    assert vector.addressable_data(0).tolist() == [1.0, 2.0]
    assert repr(shard) == (f"Shard(device={device!r}, index=(slice(None, None, None),), replica_id=0, "
                           "data=[1. 2.])")
    assert vector.format.layout.major_to_minor == (0,)
    assert vector.on_device_size_in_bytes() == 8


def test_waiting(vector):
    assert vector.block_until_ready() is vector
    assert vector.is_ready()
    vector.copy_to_host_async()


def test_deletion():
    x = to_device(np.ones(3, np.float32))
    x.delete()
    x.delete()
    assert x.is_deleted()
    assert x.shape == (3,)
    for use in (repr, str, np.asarray, list, lambda x: x.tolist(), lambda x: x.block_until_ready(),
                lambda x: x.copy(), lambda x: x.unsafe_buffer_pointer(), lambda x: x.addressable_shards,
                lambda x: x.is_ready(), pickle.dumps, lambda x: to_device(x, placement=x.device)):
        with pytest.raises(RuntimeError, match=r"has been deleted.*f32\[3\]"):
            use(x)


def test_a_view_of_the_value_outlives_the_array():
    x = to_device(np.arange(100, dtype=np.float32))
    value = np.asarray(x)
    x.delete()
    np.testing.assert_array_equal(value, np.arange(100))


def test_attributes_that_do_not_exist(vector):
    assert not hasattr(vector, "no_such_name")
    assert not hasattr(vector, "__cuda_array_interface__")


def test_assembly_from_pieces(four_devices):
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    sharding = NamedSharding(Mesh(four_devices, "x"), PartitionSpec("x"))
    pieces = [to_device(np.full(2, i, np.float32), placement=d) for i, d in enumerate(four_devices)]
    aval = ShapedArray((8,), np.dtype("float32"))
    x = xla.ArrayImpl(aval, sharding, pieces[::-1], True)
    assert x.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    with pytest.raises(ValueError, match="one piece for each device"):
        xla.ArrayImpl(aval, sharding, pieces[:3], True)
    with pytest.raises(ValueError, match="pieces of shape"):
        xla.ArrayImpl(ShapedArray((4,), np.dtype("float32")), sharding, pieces, True)


def test_values_on_a_mesh_of_one_device():
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x",))
    x = jax.device_put(np.arange(3.0, dtype=np.float32), jax.NamedSharding(mesh, jax.P("x")))
    assert x.tolist() == [0.0, 1.0, 2.0] and float(x[1]) == 1.0
    assert [shard.data.tolist() for shard in x.addressable_shards] == [[0.0, 1.0, 2.0]]


def test_reading_what_ran_out_of_memory_raises(run_python):
    """The program fails in the background; asked for its value, jaxlib would end the process."""
    done = run_python("""
import jax, jax.numpy as jnp
y = jax.jit(lambda x: jnp.sort(x[:, None] * x))(jnp.ones(30_000_000))
for read in (str, lambda y: y.tolist()):
    try:
        read(y)
    except jax.errors.JaxRuntimeError as error:
        print("RESOURCE_EXHAUSTED" in str(error))
""")
    assert done.stdout.split() == ["True", "True"]
