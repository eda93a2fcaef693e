"""View: jaxlib asks here for the sharding of arrays that it makes itself (DLPack, CUDA array interface)."""

from jax.sharding import make_single_device_sharding as make_single_device_sharding
