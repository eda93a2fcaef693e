"""View on arrays and on how they are put together of parts."""

from __future__ import annotations

from jax._api.assembly import make_array_from_callback as make_array_from_callback
from jax._api.assembly import make_array_from_process_local_data as make_array_from_process_local_data
from jax._api.assembly import make_array_from_single_device_arrays as make_array_from_single_device_arrays
from jax._runtime.array import ArrayImpl as ArrayImpl
from jax._runtime.array import Shard as Shard

__all__ = ["ArrayImpl", "Shard", "make_array_from_callback", "make_array_from_process_local_data",
           "make_array_from_single_device_arrays"]
