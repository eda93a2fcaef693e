"""Memory of devices: options read from the environment, and who holds it when it runs out."""

from __future__ import annotations

import collections
import math
from typing import Any

from jax._base._jaxlib import xla

# --- who holds it -----------------------------------------------------------------------------------------


def explained(error: Exception, device: Any) -> Exception:
    """``error`` itself, or, when it says that memory ran out, one that says who holds it and what to do."""
    if not isinstance(error, xla.JaxRuntimeError) or "RESOURCE_EXHAUSTED" not in str(error):
        return error
    try:
        text = f"{error}\n{held_memory(device)}\n{_remedies(device)}"
    except Exception:  # the report must never hide what it is about
        return error
    return xla.JaxRuntimeError(text, error.error_code)


def held_memory(device: Any, most: int = 8) -> str:
    """A table of the arrays that live on ``device``, the largest groups of equal ones first."""
    groups: collections.Counter[str] = collections.Counter()
    counts: collections.Counter[str] = collections.Counter()
    for x in device.client.live_arrays():
        if x.is_deleted() or device not in x.sharding.device_set:
            continue
        block = x.sharding.shard_shape(x.shape)
        size = x.dtype.itemsize
        for n in block:
            size *= n
        kind = x.aval.str_short()
        groups[kind] += size
        counts[kind] += 1
    total = readable(sum(groups.values()))
    lines = [f"Live arrays hold {total} of {device}'s memory{_allocator_text(device)}"]
    lines += [f"  {readable(size):>10}  {counts[kind]} x {kind}" for kind, size in groups.most_common(most)]
    rest = len(groups) - most
    if rest > 0:
        lines.append(f"  and {rest} more kinds")
    return "\n".join(lines)


def _allocator_text(device: Any) -> str:
    stats = device.memory_stats() or {}
    if "bytes_in_use" not in stats:
        return ":"
    limit = f" of {readable(stats['bytes_limit'])}" if stats.get("bytes_limit") else ""
    return f" ({readable(stats['bytes_in_use'])}{limit} are in use with temporaries and programs):"


def _remedies(device: Any) -> str:
    advice = ("To need less: drop references to arrays or call .delete() on them, donate arguments that are not "
              "needed afterwards (jax.jit(..., donate_argnums=...)), recompute instead of storing "
              "(jax.checkpoint), or use smaller batches.")
    if device.platform == "gpu":
        advice += (" On GPUs, XLA_PYTHON_CLIENT_MEM_FRACTION says which part of the memory may be used, and "
                   "XLA_PYTHON_CLIENT_PREALLOCATE=false leaves the rest to other programs.")
    return advice


def readable(size: float) -> str:
    """A number of bytes with a unit."""
    if size < 1024:
        return f"{size:.0f} B"
    exponent = min(int(math.log(size, 1024)), 4)
    return f"{size / 1024**exponent:.1f} {'KMGT'[exponent - 1]}iB"
