"""Memory options of accelerator clients, read from the environment and checked before a client is made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

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
