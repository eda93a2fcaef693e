"""The options of a GPU client that concern memory, from ``jax.config`` and the ``XLA_PYTHON_CLIENT_*`` variables.

XLA takes 75% of a GPU's memory when its client is made, and hands out parts of it itself; see ``docs`` on GPU memory.
"""

from __future__ import annotations

import os
from typing import Any

from jax._base import config
from jax._base.settings import _memory

from . import nvml

DEFAULT_SHARE = 0.75
_OPTIONS = (config.xla_python_client_preallocate, config.xla_python_client_mem_fraction,
            config.xla_python_client_allocator, config.xla_python_client_collective_mem_size_mb)


class BadSetting(ValueError):
    """A setting of the user's that cannot be meant: not a reason to go on without the platform that it is for."""


def client_options() -> dict[str, Any]:
    """What the client of a GPU is told about memory. The environment is read now, so that it may change until then.

    Raises:
      ValueError: an option or variable has a value that cannot be meant, or two variables contradict each other.
    """
    try:
        return _client_options()
    except ValueError as error:
        raise BadSetting(str(error)) from None


def _client_options() -> dict[str, Any]:
    for option in _OPTIONS:
        option.refresh()
    options: dict[str, Any] = {"allocator": config.xla_python_client_allocator.value}
    share = _share()
    if share is not None:
        options["memory_fraction"] = share
    preallocate = config.xla_python_client_preallocate
    if preallocate.value != preallocate.default or preallocate.updated:
        options["preallocate"] = preallocate.value
    megabytes = config.xla_python_client_collective_mem_size_mb.value
    if megabytes is not None:
        options["collective_memory_size"] = megabytes << 20
    for name, told in (("XLA_PYTHON_CLIENT_ABORT_COLLECTIVES_ON_FAILURE", "abort_collectives_on_failure"),
                       ("XLA_PYTHON_CLIENT_USE_TFRT_GPU_CLIENT", "use_tfrt_gpu_client")):
        if os.environ.get(name):
            options[told] = _flag(name, os.environ[name])
    return options


def _flag(name: str, text: str) -> bool:
    word = text.strip().lower()
    if word in ("1", "true", "yes", "on", "0", "false", "no", "off"):
        return word in ("1", "true", "yes", "on")
    raise ValueError(f"{name}={text!r} is neither true nor false; use 'true' or 'false'")


def _share() -> float | None:
    option = config.xla_python_client_mem_fraction
    if not option.updated:
        given = {name: option.check(os.environ[name]) for name in option.env if os.environ.get(name)}
        if len(set(given.values())) > 1:
            raise ValueError(" and ".join(f"{n}={v}" for n, v in given.items()) + " contradict each other; set one of them")
    value = option.value
    return _share_of(value) if isinstance(value, str) else value


def _share_of(text: str) -> float:
    """The fraction that an amount such as ``8GiB`` is of the smallest GPU's memory: XLA knows fractions only."""
    wanted = _memory.amount(text)
    assert wanted is not None
    found = nvml.gpus()
    if not found:
        raise ValueError(f"xla_python_client_mem_fraction={text!r}: the driver's library (libnvidia-ml.so.1) is needed to "
                         "find what part of the memory that is, and it does not answer; give a fraction such as 0.5")
    smallest = min(found, key=lambda gpu: gpu.total)
    if wanted > smallest.total:
        raise ValueError(f"xla_python_client_mem_fraction={text!r} is more than the {smallest.total / 2**30:.1f} GiB that "
                         f"{smallest.name} has")
    return wanted / smallest.total


def described() -> str:
    """The settings in force, as an advice on them can quote them."""
    share = config.xla_python_client_mem_fraction.value
    preallocate = config.xla_python_client_preallocate.value
    return (f"XLA_PYTHON_CLIENT_MEM_FRACTION={DEFAULT_SHARE if share is None else share}, "
            f"XLA_PYTHON_CLIENT_PREALLOCATE={str(preallocate).lower()}, "
            f"XLA_PYTHON_CLIENT_ALLOCATOR={config.xla_python_client_allocator.value}")
