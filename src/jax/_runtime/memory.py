"""When memory runs out: the program that asked for it, who holds it, and what can be done."""

from __future__ import annotations

import collections
import math
import os
import sys
from typing import Any

from jax._base import source
from jax._base._jaxlib import xla

from . import memory_options, nvml

_MARK = "RESOURCE_EXHAUSTED"
_CODE = 8  # of this kind of error, in all of XLA's interfaces
_SHOWN = 8


def is_exhausted(error: BaseException) -> bool:
    """Whether an error says that memory ran out. Some paths in jaxlib raise it as a ValueError."""
    return isinstance(error, (xla.JaxRuntimeError, ValueError)) and str(error).startswith(_MARK) and \
        "\nLive arrays hold" not in str(error)


def explained(error: Exception, device: Any, executable: Any = None) -> Exception:
    """``error`` itself, or, when it says that memory ran out, one that says who holds it and what to do.

    ``executable`` is the program that was to run, if it was one.
    """
    if not is_exhausted(error):
        return error
    try:
        parts = [str(error), program_memory(executable), held_memory(device), *_others(device), _remedies(device)]
        text = "\n".join(filter(None, parts))
    except Exception:  # the report must never hide what it is about
        return error
    return xla.JaxRuntimeError(text, _CODE)


def program_memory(executable: Any) -> str:
    """What a program needs: arguments, results, temporary values, in bytes."""
    where = source.summarize(source.current())
    if executable is None:
        return f"It was asked for at {where}."
    text = f"The program is jit of {executable.name or 'an unnamed function'}, called at {where}"
    try:
        stats = executable.loaded.get_compiled_memory_stats()
    except xla.JaxRuntimeError:
        return text + "."
    needs = [f"{readable(stats.argument_size_in_bytes)} of arguments", f"{readable(stats.output_size_in_bytes)} of results"]
    if stats.alias_size_in_bytes:
        needs.append(f"of which {readable(stats.alias_size_in_bytes)} take the place of donated arguments")
    needs.append(f"{readable(stats.temp_size_in_bytes)} of temporary values")
    return f"{text}. It needs {', '.join(needs)}."


def held_memory(device: Any, most: int = _SHOWN) -> str:
    """A table of the arrays that live on ``device``: the largest groups of equal ones first, and where they were made."""
    sizes: collections.Counter[str] = collections.Counter()
    members: dict[str, list[Any]] = {}
    for x in device.client.live_arrays():
        if x.is_deleted() or device not in x.sharding.device_set:
            continue
        size = x.dtype.itemsize * math.prod(x.sharding.shard_shape(x.shape))
        kind = x.aval.str_short()
        sizes[kind] += size
        members.setdefault(kind, []).append(x)
    lines = [f"Live arrays hold {readable(sizes.total())} of {device}'s memory{_allocator_text(device)}"]
    for kind, size in sizes.most_common(most):
        places = collections.Counter(source.summarize(x.traceback) for x in members[kind])
        made = ", ".join(place if len(places) == 1 else f"{place} ({n})" for place, n in places.most_common(2))
        more = f" and {len(places) - 2} other places" if len(places) > 2 else ""
        lines.append(f"  {readable(size):>10}  {len(members[kind])} x {kind}, made at {made}{more}")
    rest = len(sizes) - most
    if rest > 0:
        lines.append(f"  and {rest} more kinds")
    return "\n".join(lines)


def _allocator_text(device: Any) -> str:
    stats = device.memory_stats() or {}
    if "bytes_in_use" not in stats:
        return ":"
    limit = f" of {readable(stats['bytes_limit'])}" if stats.get("bytes_limit") else ""
    return f" ({readable(stats['bytes_in_use'])}{limit} are in use with temporaries and programs):"


def _others(device: Any) -> list[str]:
    """Who else needs memory of the same kind."""
    if device.platform == "gpu":
        return _others_on_gpu(device)
    if device.platform == "cpu":
        return _machine_memory()
    return []


def _others_on_gpu(device: Any) -> list[str]:
    lines = []
    gpu = nvml.gpu_of(device.local_hardware_id or 0)
    if gpu is not None:
        lines.append(f"The GPU ({gpu.name}) has {readable(gpu.total)}, {readable(gpu.used)} of it taken.")
        for holder in gpu.holders:
            if holder.pid != os.getpid():
                size = "an unknown part" if holder.size is None else readable(holder.size)
                lines.append(f"  process {holder.pid} holds {size}: {holder.name}")
        if gpu.drives_display:
            lines.append("  It drives a display, which needs memory too.")
    if "tensorflow" in sys.modules:
        lines.append("TensorFlow is loaded in this process and takes memory of the same GPU: "
                     "tf.config.set_visible_devices([], 'GPU') keeps it off.")
    return lines


def _machine_memory() -> list[str]:
    found = {}
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                name, _, rest = line.partition(":")
                found[name] = int(rest.split()[0]) << 10
        return [f"The machine has {readable(found['MemTotal'])} of memory, {readable(found['MemAvailable'])} of it "
                "available."]
    except (OSError, KeyError, ValueError, IndexError):
        return []


def _remedies(device: Any) -> str:
    advice = ("To need less: drop references to arrays or call .delete() on them, donate arguments that are not "
              "needed afterwards (jax.jit(..., donate_argnums=...)), recompute instead of storing "
              "(jax.checkpoint), or use smaller batches.")
    if device.platform == "gpu":
        advice += (f"\nSettings in force: {memory_options.described()}. A larger XLA_PYTHON_CLIENT_MEM_FRACTION lets this "
                   "process use more of the GPU; XLA_PYTHON_CLIENT_PREALLOCATE=false leaves what it does not need to other "
                   "programs; XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async suffers less from fragments, and platform shows how "
                   "much is really needed. Set them before the first operation.")
    return advice


def readable(size: float) -> str:
    """A number of bytes with a unit."""
    if size < 1024:
        return f"{size:.0f} B"
    exponent = min(int(math.log(size, 1024)), 4)
    return f"{size / 1024**exponent:.1f} {'KMGT'[exponent - 1]}iB"
