"""Exchange of arrays with other libraries by DLPack."""

from jax._runtime.dlpack import from_dlpack as from_dlpack
from jax._runtime.dlpack import is_supported_dtype as is_supported_dtype
