"""Fixtures of the runtime's tests: several CPU devices, and programs written as StableHLO text."""

from __future__ import annotations

import numpy as np
import pytest

import jax  # noqa: F401  (installs what arrays need)
from jax._base import _jaxlib
from jax._language.avals import ShapedArray
from jax._runtime import backend
from jax._runtime import compile as compiling
from jax._runtime.execute import Executable


@pytest.fixture(scope="session")
def four_devices():
    """Four CPU devices of a client of their own: the process's default client stays as it is."""
    return _jaxlib.xla_client.make_cpu_client(num_devices=4).devices()


def module_text(operands: str, results: str, body: str) -> str:
    return f"module @m {{ func.func public @main({operands}) -> ({results}) {{ {body} }} }}"


def binary(op: str, dtype: str = "f32", shape: str = "", attrs: str = "") -> str:
    """``op(a, b)`` for two operands of one type."""
    t = f"tensor<{shape}{dtype}>"
    return module_text(f"%a: {t} {attrs}, %b: {t}", t, f"%0 = stablehlo.{op} %a, %b : {t} return %0 : {t}")


@pytest.fixture
def make_executable():
    """An executable for ``op(a, b)`` on the default device."""

    def make(op: str = "subtract", dtype: str = "float32", shape: tuple[int, ...] = (), attrs: str = "", **kwargs):
        short = {"float32": "f32", "int32": "i32"}[dtype]
        text = binary(op, short, "".join(f"{n}x" for n in shape), attrs)
        loaded = compiling.compile_module(text, [kwargs.pop("device", None) or backend.default_device()])
        aval = ShapedArray(shape, np.dtype(dtype))
        n = 2 - len(kwargs.get("consts", ()))
        return Executable(loaded, in_avals=kwargs.pop("in_avals", [aval] * n), out_avals=[aval], **kwargs)

    return make
