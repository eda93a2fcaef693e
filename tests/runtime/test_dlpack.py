"""Exchange with other libraries."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import jax.dlpack
from jax._base import config
from jax._runtime.dlpack import DLDeviceType
from jax._runtime.transfer import to_device
from jax.dlpack import from_dlpack

pytest.importorskip("jax.core")  # jaxlib makes the avals of imported arrays from there
pytestmark = pytest.mark.quick


@pytest.fixture
def matrix():
    return to_device(np.arange(6, dtype=np.float32).reshape(2, 3))


def aligned(n):
    raw = np.zeros(n + 16, np.float32)
    offset = (-raw.ctypes.data % 64) // 4
    return raw[offset : offset + n]


def test_to_numpy_without_a_copy(matrix):
    value = np.from_dlpack(matrix)
    assert value.ctypes.data == matrix.unsafe_buffer_pointer()
    np.testing.assert_array_equal(value, np.arange(6).reshape(2, 3))
    assert matrix.__dlpack_device__() == (DLDeviceType.kDLCPU, 0)


def test_from_numpy_without_a_copy():
    value = aligned(8)
    x = from_dlpack(value, copy=False)
    assert x.unsafe_buffer_pointer() == value.ctypes.data
    assert from_dlpack(value, copy=True).unsafe_buffer_pointer() != value.ctypes.data


def test_round_trip(matrix):
    assert from_dlpack(matrix).unsafe_buffer_pointer() == matrix.unsafe_buffer_pointer()
    assert from_dlpack(matrix, copy=True).unsafe_buffer_pointer() != matrix.unsafe_buffer_pointer()
    assert from_dlpack(matrix, device=matrix.device).tolist() == matrix.tolist()
    small = to_device(np.ones(3, ml_dtypes.bfloat16))
    assert from_dlpack(small).dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize("make", [
    lambda v: v, lambda v: v.T, lambda v: v[:, ::2], lambda v: v[::-1], lambda v: v[:0], lambda v: v[0, 0, ...],
])
def test_any_strides(make):
    value = make(np.arange(24, dtype=np.float32).reshape(4, 6))
    x = from_dlpack(value)
    np.testing.assert_array_equal(np.asarray(x), value)
    assert x.format.layout.major_to_minor == tuple(range(x.ndim))


def test_wide_types_are_narrowed_unless_enabled():
    assert from_dlpack(np.arange(3)).dtype == np.int32
    assert from_dlpack(np.arange(3.0)).dtype == np.float32
    with pytest.raises(OverflowError):
        from_dlpack(np.array([2**40]))
    with pytest.raises(ValueError, match="copy=False"):
        from_dlpack(aligned(8).view(np.float64), copy=False)
    with config.enable_x64(True):
        assert from_dlpack(np.array([2**40])).tolist() == [2**40]


def test_refusals(matrix):
    with pytest.raises(TypeError, match="__dlpack__"):
        from_dlpack([1.0])
    with pytest.raises(TypeError, match="capsule"):
        from_dlpack(matrix.__dlpack__())
    with pytest.raises(ValueError, match="copy=False"):
        from_dlpack(np.ones((3, 4), np.float32).T, copy=False)
    with pytest.raises(BufferError, match="float8"):
        to_device(np.ones(2, ml_dtypes.float8_e5m2)).__dlpack__()
    gone = matrix.copy()
    gone.delete()
    with pytest.raises(RuntimeError, match="has been deleted"):
        gone.__dlpack__()


def test_several_devices_are_refused(four_devices):
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    x = to_device(np.ones(4, np.float32), placement=NamedSharding(Mesh(four_devices, "x"), PartitionSpec("x")))
    with pytest.raises(BufferError, match="addressable_shards"):
        x.__dlpack__()
    assert np.from_dlpack(x.addressable_shards[0].data).tolist() == [1]


def test_supported_types():
    assert jax.dlpack.is_supported_dtype(np.float32) and jax.dlpack.is_supported_dtype(ml_dtypes.bfloat16)
    assert not jax.dlpack.is_supported_dtype(ml_dtypes.int4)
