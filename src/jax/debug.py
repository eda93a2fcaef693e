"""Looking into programs while they run: calls, printing, a debugger, where arrays are."""

from jax._callbacks.debugger import breakpoint as breakpoint  # noqa: A004 - the documented name
from jax._callbacks.debugging import DebugEffect as DebugEffect
from jax._callbacks.debugging import OrderedDebugEffect as OrderedDebugEffect
from jax._callbacks.debugging import debug_callback as callback
from jax._callbacks.debugging import inspect_array_sharding as inspect_array_sharding
from jax._callbacks.drawing import visualize_array_sharding as visualize_array_sharding
from jax._callbacks.drawing import visualize_sharding as visualize_sharding
from jax._callbacks.printing import debug_print as print  # noqa: A004 - as above

__all__ = ["DebugEffect", "OrderedDebugEffect", "breakpoint", "callback", "inspect_array_sharding", "print",
           "visualize_array_sharding", "visualize_sharding"]
