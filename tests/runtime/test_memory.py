"""Guards of transfers, and the report when memory runs out."""

from __future__ import annotations

import numpy as np
import pytest

from jax._base import _jaxlib, config
from jax._language.avals import ShapedArray
from jax._runtime import backend, memory, transfer
from jax._runtime import compile as compiling
from jax._runtime.execute import Executable
from jax._runtime.transfer import to_device
from tests.runtime.conftest import module_text

pytestmark = pytest.mark.quick


def test_sizes():
    assert [memory.readable(n) for n in (0, 1023, 1536, 3 << 20, 5 << 30, 7 << 40)] == [
        "0 B", "1023 B", "1.5 KiB", "3.0 MiB", "5.0 GiB", "7.0 TiB"]


def test_the_report_says_who_holds_the_memory():
    held = [to_device(np.ones((123, 457), np.float32)) for _ in range(3)]
    text = memory.held_memory(held[0].device, most=1000)
    assert "3 x f32[123,457]" in text
    assert memory.readable(3 * held[0].nbytes) in text
    held[0].delete()
    assert "2 x f32[123,457]" in memory.held_memory(held[1].device, most=1000)


def test_running_out_of_memory():
    huge = 10**13
    text = module_text("%a: tensor<f32>", f"tensor<{huge}xf32>",
                       f"%0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<{huge}xf32> "
                       f"return %0 : tensor<{huge}xf32>")
    loaded = compiling.compile_module(text, backend.devices()[:1])
    f = Executable(loaded, in_avals=[ShapedArray((), np.dtype("float32"))],
                   out_avals=[ShapedArray((huge,), np.dtype("float32"))])
    with pytest.raises(_jaxlib.JaxRuntimeError, match="(?s)RESOURCE_EXHAUSTED.*Live arrays hold.*donate"):
        f.call([1.0])[0].block_until_ready()


def test_other_errors_are_left_alone():
    error = _jaxlib.JaxRuntimeError("INTERNAL: no such luck", 13)
    assert memory.explained(error, backend.default_device()) is error
    assert memory.explained(ValueError("RESOURCE_EXHAUSTED"), backend.default_device()).__class__ is ValueError


def test_transfer_guards():
    x = to_device(np.ones((3, 2), np.float32))
    with config.transfer_guard_host_to_device("disallow"), config.transfer_guard_device_to_device("disallow"):
        with pytest.raises(_jaxlib.JaxRuntimeError, match="Disallowed host-to-device"):
            to_device(1.0)
        with transfer.explicit():
            assert to_device(1.0).item() == 1
        assert x.copy().tolist() == x.tolist() == [row.tolist() for row in x]
        with pytest.raises(_jaxlib.JaxRuntimeError):
            to_device(1.0)
    with config.transfer_guard_host_to_device("disallow_explicit"), transfer.explicit():
        with pytest.raises(_jaxlib.JaxRuntimeError, match="Disallowed"):
            to_device(1.0)


def test_fetching_many():
    x = to_device(np.arange(3, dtype=np.float32))
    value, other = transfer.all_to_host([x, "text"])
    assert value.tolist() == [0, 1, 2] and other == "text"
    assert transfer.to_host(x).tolist() == [0, 1, 2]
