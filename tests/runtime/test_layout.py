"""Layouts as data."""

from __future__ import annotations

import numpy as np
import pytest

import jax
from jax._runtime.layout import Format, Layout
from jax._runtime.transfer import to_device

pytestmark = pytest.mark.quick


def test_layouts():
    layout = Layout((0, 1))
    assert layout == Layout([0, 1]) and hash(layout) == hash(Layout((0, 1))) and layout != Layout((1, 0))
    assert repr(layout) == "Layout(major_to_minor=(0, 1), tiling=None, sub_byte_element_size_in_bits=0)"
    assert layout.update(major_to_minor=(1, 0)) == Layout((1, 0))
    assert layout.to_xla() == "{1,0}"
    assert repr(Layout.AUTO) == "AUTO"
    layout.check_compatible_aval((2, 3))
    with pytest.raises(ValueError, match="2 dimensions"):
        layout.check_compatible_aval((2,))


def test_formats():
    x = to_device(np.ones((2, 3), np.float32))
    assert x.format == x.copy().format
    assert x.format.layout.major_to_minor == (0, 1) and x.format.sharding == x.sharding
    assert to_device(x, placement=x.format).committed
    assert repr(Format()) == "Format(layout=None, sharding=None)"
    assert Format(Layout.AUTO).layout is Layout.AUTO
    with pytest.raises(ValueError, match="sharding"):
        Format(Layout((0, 1)))
    with pytest.raises(TypeError, match="layout"):
        Format(3)
    with pytest.raises(TypeError, match="sharding"):
        Format(None, x.device)


def test_layouts_that_are_not_row_major_are_refused():
    x = to_device(np.ones((2, 3), np.float32))
    here = x.sharding
    swapped = Format(Layout((1, 0)), here)
    for call in (lambda: jax.device_put(x, swapped), lambda: jax.device_put(np.ones((2, 3)), swapped),
                 lambda: jax.jit(lambda x: x, out_shardings=swapped), lambda: jax.jit(lambda x: x, in_shardings=swapped),
                 lambda: jax.jit(lambda x: jax.device_put(x, swapped))(x),
                 lambda: jax.make_array_from_callback((2, 3), swapped, lambda index: np.ones((2, 3)))):
        with pytest.raises(NotImplementedError, match=r"row-major order.*\(1, 0\).*transpose"):
            call()
    with pytest.raises(ValueError, match=r"3 dimensions.*\(2, 3\)"):
        jax.device_put(x, Format(Layout((0, 1, 2)), here))
    for form in (Format(Layout((0, 1)), here), Format(Layout.AUTO, here), Format(None, here)):
        assert jax.device_put(np.ones((2, 3)), form).committed
        y = jax.jit(lambda x: x + 1, in_shardings=form, out_shardings=form)(x)
        assert y.committed and y.tolist() == [[2.0] * 3] * 2
    assert jax.jit(lambda x: x + 1, in_shardings=Format(Layout.AUTO))(x).tolist() == [[2.0] * 3] * 2
