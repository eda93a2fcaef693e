"""``make_mesh``: a grid of devices with named axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax._base.source import api_boundary
from jax._runtime import backend
from jax.sharding import AxisType, Mesh


@api_boundary
def make_mesh(axis_sizes: Sequence[int], axis_names: Sequence[Any], axis_types: Any = None, *,
              devices: Sequence[Any] | None = None) -> Mesh:
    """A mesh of devices, in the order in which neighbours are close to each other.

    Args:
      axis_sizes: the length of each axis.
      axis_names: the name of each axis.
      axis_types: an :class:`jax.sharding.AxisType` for each axis, by default ``Explicit``. Shardings over explicit axes
        are not part of array types here: the compiler arranges what programs do not say, as over ``Auto`` axes.
      devices: the devices to use, by default the first ones of the default platform.

    Raises:
      ValueError: more devices are needed than there are; names and sizes of different number.

    >>> import jax
    >>> jax.make_mesh((1, 1), ("data", "model")).shape["data"]
    1
    """
    sizes = tuple(int(n) for n in axis_sizes)
    names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
    if len(sizes) != len(names):
        raise ValueError(f"make_mesh: there are {len(sizes)} axis sizes {sizes} and {len(names)} axis names {names}")
    have = list(backend.devices() if devices is None else devices)
    needed = math.prod(sizes)
    if needed > len(have):
        hint = "" if devices is not None or have[0].platform != "cpu" else \
            " jax.config.update('jax_num_cpu_devices', n), before the first operation, makes n devices of the CPU."
        raise ValueError(f"make_mesh: a mesh of shape {sizes} takes {needed} devices, and there are {len(have)}.{hint}")
    types = (AxisType.Explicit,) * len(sizes) if axis_types is None else axis_types
    return Mesh(np.array(have[:needed], dtype=object).reshape(sizes), names, types)


__all__ = ["make_mesh"]
