"""Settings that are read when the clients are made: whoever changes one of them afterwards is told so, once."""

from __future__ import annotations

import os
from typing import Any

from jax._base import config, source

# Environment variables, and what they decide.
_VARIABLES = {
    "XLA_PYTHON_CLIENT_PREALLOCATE": "whether a share of the GPU's memory is taken at first use",
    "XLA_PYTHON_CLIENT_MEM_FRACTION": "which share of the GPU's memory is taken",
    "XLA_CLIENT_MEM_FRACTION": "which share of the GPU's memory is taken",
    "XLA_PYTHON_CLIENT_ALLOCATOR": "how the GPU's memory is handed out",
    "XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB": "how much memory is set aside for collective operations",
    "XLA_FLAGS": "how XLA compiles, and how many devices the CPU shows itself as",
    "JAX_PLATFORMS": "which platforms are used, and which one is the default",
    "CUDA_VISIBLE_DEVICES": "which GPUs are used",
}
_OPTIONS = {
    config.xla_python_client_preallocate: _VARIABLES["XLA_PYTHON_CLIENT_PREALLOCATE"],
    config.xla_python_client_mem_fraction: _VARIABLES["XLA_PYTHON_CLIENT_MEM_FRACTION"],
    config.xla_python_client_allocator: _VARIABLES["XLA_PYTHON_CLIENT_ALLOCATOR"],
    config.xla_python_client_collective_mem_size_mb: _VARIABLES["XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB"],
    config.platforms: _VARIABLES["JAX_PLATFORMS"],
    config.num_cpu_devices: "how many devices the CPU shows itself as",
    config.cuda_visible_devices: "which GPUs are used",
    config.pjrt_client_create_options: "what else the platform's client is told",
    config.cpu_enable_async_dispatch: "whether programs on the CPU run in the background",
    config.cpu_retained_memory: "how much freed memory of the host stays with the process",
    config.cpu_collectives_implementation: "what carries collective operations between processes on CPUs",
}

_before: tuple[list[Any], list[Any]] | None = None


def _now() -> tuple[list[Any], list[Any]]:
    get = os.environ.get
    return [get(name) for name in _VARIABLES], [option.get_global() for option in _OPTIONS]


def remember() -> None:
    """Notes the settings with which clients are about to be made."""
    global _before
    for option in _OPTIONS:
        if option is config.platforms:
            option.refresh()
    _before = _now()


def forget() -> None:
    """The clients are dropped: the next ones are made with the settings of then."""
    global _before
    _before = None


def check() -> None:
    """Warns of settings that have been changed since the clients were made."""
    global _before
    if _before is None or (now := _now()) == _before:
        return
    before, _before = _before, now
    lines = []
    for name, old, new in zip(_VARIABLES, before[0], now[0], strict=True):
        if old != new:
            lines.append(f"the environment variable {name} was {_quoted(old)} and is {_quoted(new)} now; it decides "
                         f"{_VARIABLES[name]}")
    for option, old, new in zip(_OPTIONS, before[1], now[1], strict=True):
        if old != new:
            lines.append(f"the option {option.name} was {old!r} and is {new!r} now; it decides {_OPTIONS[option]}")
    source.warn("too late: devices are in use already, and this is read when they are first used:\n"
                + "\n".join(f"  {line}" for line in lines)
                + "\nIt has no effect in this process. Set it before the first operation, best before jax is imported.")


def _quoted(text: str | None) -> str:
    return "not set" if text is None else repr(text)
