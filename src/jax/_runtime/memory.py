"""Memory of devices: options read from the environment, and who holds it when it runs out."""

from __future__ import annotations

import collections
import math
import os
from collections.abc import Mapping
from typing import Any

from jax._base._jaxlib import xla

_ALLOCATORS = ("default", "bfc", "platform", "cuda_async", "vmm")
_YES = frozenset(("1", "true", "yes", "on"))
_NO = frozenset(("0", "false", "no", "off"))


def _flag(name: str, text: str) -> bool:
    word = text.strip().lower()
    if word in _YES:
        return True
    if word in _NO:
        return False
    raise ValueError(f"{name}={text!r} is neither true nor false; use 'true' or 'false'")


def _fraction(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    # A fraction above one is legitimate: devices with unified memory may be oversubscribed.
    if not value > 0.0 or value == float("inf"):
        raise ValueError(f"{name}={text!r} is not a fraction of the device's memory; use a positive number such as 0.5")
    return value


def _memory_fraction(env: Mapping[str, str]) -> float | None:
    names = ("XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION")
    given = {n: _fraction(n, env[n]) for n in names if env.get(n)}
    if len(set(given.values())) > 1:
        raise ValueError(" and ".join(f"{n}={env[n]}" for n in given) + " contradict each other; set one of them")
    return next(iter(given.values()), None)


def client_options(env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Options for a GPU client from the ``XLA_PYTHON_CLIENT_*`` environment variables.

    Raises:
      ValueError: when a variable has a value that cannot be meant, naming it and what is accepted.
    """
    env = os.environ if env is None else env
    options: dict[str, Any] = {}
    name = "XLA_PYTHON_CLIENT_ALLOCATOR"
    allocator = env.get(name, "").strip().lower() or "default"
    if allocator not in _ALLOCATORS:
        raise ValueError(f"{name}={env[name]!r} is no allocator; use one of {', '.join(_ALLOCATORS)}")
    options["allocator"] = allocator
    fraction = _memory_fraction(env)
    if fraction is not None:
        options["memory_fraction"] = fraction
    name = "XLA_PYTHON_CLIENT_PREALLOCATE"
    if env.get(name):
        options["preallocate"] = _flag(name, env[name])
    name = "XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB"
    if env.get(name):
        try:
            megabytes = int(env[name])
        except ValueError:
            megabytes = -1
        if megabytes < 0:
            raise ValueError(f"{name}={env[name]!r} is not a size; use a whole number of megabytes, such as 64")
        options["collective_memory_size"] = megabytes << 20
    for name, option in (("XLA_PYTHON_CLIENT_ABORT_COLLECTIVES_ON_FAILURE", "abort_collectives_on_failure"),
                         ("XLA_PYTHON_CLIENT_USE_TFRT_GPU_CLIENT", "use_tfrt_gpu_client")):
        if env.get(name):
            options[option] = _flag(name, env[name])
    return options


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
