"""Pallas: kernels written in Python, which see blocks of arrays as mutable references.

:func:`pallas_call` runs a kernel once for each point of a grid. In interpret mode (``interpret=True``), which works on every
platform, that is a loop that XLA compiles. Kernels are not compiled for a backend by themselves yet.
"""

from jax._api.indexing import Slice as Slice
from jax._base.config import pallas_enable_debug_checks as enable_debug_checks  # noqa: F401
from jax.experimental.pallas import _transforms as _transforms
from jax.experimental.pallas._call import pallas_call as pallas_call
from jax.experimental.pallas._control import loop as loop
from jax.experimental.pallas._control import when as when
from jax.experimental.pallas._cores import kernel as kernel
from jax.experimental.pallas._cost import estimate_cost as estimate_cost
from jax.experimental.pallas._debug import debug_check as debug_check
from jax.experimental.pallas._debug import debug_print as debug_print
from jax.experimental.pallas._debug import delay as delay
from jax.experimental.pallas._dims import BlockDim as BlockDim
from jax.experimental.pallas._dims import Blocked as Blocked
from jax.experimental.pallas._dims import BoundedSlice as BoundedSlice
from jax.experimental.pallas._dims import Element as Element
from jax.experimental.pallas._dims import Indirect as Indirect
from jax.experimental.pallas._dims import Squeezed as Squeezed
from jax.experimental.pallas._dims import squeezed as squeezed
from jax.experimental.pallas._export import lower_as_mlir as lower_as_mlir
from jax.experimental.pallas._export import pallas_export_experimental as pallas_export_experimental
from jax.experimental.pallas._grid import num_programs as num_programs
from jax.experimental.pallas._grid import program_id as program_id
from jax.experimental.pallas._helpers import align_to as align_to
from jax.experimental.pallas._helpers import cdiv as cdiv
from jax.experimental.pallas._helpers import empty_like as empty_like
from jax.experimental.pallas._helpers import multiple_of as multiple_of
from jax.experimental.pallas._helpers import next_power_of_2 as next_power_of_2
from jax.experimental.pallas._helpers import strides_from_shape as strides_from_shape
from jax.experimental.pallas._memory import DeviceIdType as DeviceIdType
from jax.experimental.pallas._memory import MemoryRef as MemoryRef
from jax.experimental.pallas._memory import MemorySpace as MemorySpace
from jax.experimental.pallas._memory import semaphore as semaphore
from jax.experimental.pallas._primitive import pallas_call_p as pallas_call_p
from jax.experimental.pallas._scoped import empty_ref_like as empty_ref_like
from jax.experimental.pallas._scoped import get_global as get_global
from jax.experimental.pallas._scoped import run_scoped as run_scoped
from jax.experimental.pallas._scoped import select_ref as select_ref
from jax.experimental.pallas._scoped import with_scoped as with_scoped
from jax.experimental.pallas._semaphores import semaphore_read as semaphore_read
from jax.experimental.pallas._semaphores import semaphore_signal as semaphore_signal
from jax.experimental.pallas._semaphores import semaphore_wait as semaphore_wait
from jax.experimental.pallas._slices import ds as ds
from jax.experimental.pallas._slices import dslice as dslice
from jax.experimental.pallas._specs import BlockSpec as BlockSpec
from jax.experimental.pallas._specs import Buffered as Buffered
from jax.experimental.pallas._specs import CompilerParams as CompilerParams
from jax.experimental.pallas._specs import CostEstimate as CostEstimate
from jax.experimental.pallas._specs import GridSpec as GridSpec
from jax.experimental.pallas._specs import RevisitMode as RevisitMode
from jax.experimental.pallas._specs import no_block_spec as no_block_spec

# Memory wherever the compiler puts it: ``pl.ANY(shape, dtype)`` is a type of scratch memory.
ANY = MemorySpace.ANY
