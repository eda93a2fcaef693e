"""Layouts as data."""

from __future__ import annotations

import numpy as np
import pytest

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
