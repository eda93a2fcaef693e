"""View on shardings; jaxlib asks here for the sharding of arrays that it makes itself (DLPack, CUDA array interface)."""

from jax.sharding import GSPMDSharding as GSPMDSharding
from jax.sharding import NamedSharding as NamedSharding
from jax.sharding import SingleDeviceSharding as SingleDeviceSharding
from jax.sharding import make_single_device_sharding as make_single_device_sharding
