"""Exchange of arrays with other libraries by DLPack."""

from jax._runtime.dlpack import SUPPORTED_DTYPES as SUPPORTED_DTYPES
from jax._runtime.dlpack import from_dlpack as from_dlpack
from jax._runtime.dlpack import is_supported_dtype as is_supported_dtype
from jax._runtime.dlpack import to_dlpack as to_dlpack
