"""How arrays lie in the memory of devices."""

from __future__ import annotations

from jax._runtime.layout import Format as Format
from jax._runtime.layout import Layout as Layout

DeviceLocalLayout = Layout
__all__ = ["DeviceLocalLayout", "Format", "Layout"]
