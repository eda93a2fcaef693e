"""Platforms, their clients and their devices.

A client is made when a device is first needed, never at import. Which platforms are tried is decided by
``jax_platforms`` (``JAX_PLATFORMS``): a comma-separated list, the first of which is the default. Unset, every
platform that was found is tried and the one of highest priority that starts is the default; the CPU always is there.
"""

from __future__ import annotations

import copyreg
import logging
import os
import re
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jax._base import _jaxlib, config
from jax._base._jaxlib import xla
from jax.sharding import Sharding, SingleDeviceSharding

from . import cuda, host_memory, late, memory_options
from .layout import Format
from .processes import processes

logger = logging.getLogger("jax.backend")

Client = xla.Client
Device = xla.Device


class Platform(NamedTuple):
    """A way to make a client. ``optional`` platforms may fail to start without an error."""

    name: str
    make: Callable[[], Any]
    priority: int
    optional: bool


_lock = threading.RLock()
_platforms: dict[str, Platform] = {}
_clients: dict[str, Any] | None = None
_failures: dict[str, str] = {}
_default: Any = None
_sharding_of: dict[Any, Any] = {}
_on_clear: list[Callable[[], None]] = []

# "gpu" is not the name of one platform but of several.
_ALIASES = {"gpu": ("cuda", "rocm"), "cuda": ("cuda",), "rocm": ("rocm",)}
_ACCELERATORS = frozenset((*_ALIASES, "tpu"))


def register_platform(name: str, make: Callable[[], Any], *, priority: int = 0, optional: bool = True) -> None:
    """Adds a platform. ``make()`` returns a client; the platform of highest priority that starts is the default."""
    with _lock:
        if _clients is not None:
            raise RuntimeError(f"the platform {name!r} was registered after devices were first used; register it "
                               "before, or call jax.clear_backends()")
        _platforms[name] = Platform(name, make, priority, optional)


def on_clear(action: Callable[[], None]) -> None:
    """Calls ``action`` whenever the clients are dropped: caches that hold devices register here."""
    _on_clear.append(action)


def _cpu_count() -> int | None:
    """How many devices the CPU shall show itself as; None leaves it to XLA_FLAGS."""
    count = config.num_cpu_devices.value
    if count == 0 or count < -1:
        raise ValueError(f"jax_num_cpu_devices={count}: use a positive number, or -1 for the default")
    found = re.search(r"--xla_force_host_platform_device_count=(\d+)", os.environ.get("XLA_FLAGS", ""))
    if count > 0 and found and int(found[1]) != count:
        raise ValueError(f"jax_num_cpu_devices={count} and XLA_FLAGS={found[0]!r} contradict each other; set one")
    return count if count > 0 else None


def _make_cpu() -> Any:
    host_memory.tune()
    collectives = processes.collectives() if processes.collectives is not None else None
    return _jaxlib.xla_client.make_cpu_client(
        asynchronous=config.cpu_enable_async_dispatch.value,
        distributed_client=processes.client,
        node_id=processes.process_id,
        num_nodes=processes.count,
        collectives=collectives,
        num_devices=_cpu_count(),
        get_local_topology_timeout_minutes=config.cpu_get_local_topology_timeout_minutes.value,
        get_global_topology_timeout_minutes=config.cpu_get_global_topology_timeout_minutes.value,
    )


register_platform("cpu", _make_cpu, priority=0, optional=False)


def _wanted() -> list[str] | None:
    """The platforms that the user named, or None."""
    text = config.platforms.value
    if not text:
        return None
    names: list[str] = []
    for name in str(text).split(","):
        name = name.strip().lower()
        if name:
            names.extend(n for n in _ALIASES.get(name, (name,)) if n not in names)
    return names or None


def _start(platform: Platform) -> Any:
    logger.debug("starting the %s client", platform.name)
    client = platform.make()
    if client is None:
        raise RuntimeError("it has no device")
    if client.device_count() == 0:
        raise RuntimeError("it found no device")
    return client


def _start_named(names: list[str], raw: str) -> dict[str, Any]:
    started: dict[str, Any] = {}
    for name in names:
        platform = _platforms.get(name)
        if platform is None:
            _failures[name] = f"no such platform is installed (known: {', '.join(sorted(_platforms))})"
            continue
        try:
            started[name] = _start(platform)
        except memory_options.BadSetting as e:
            raise ValueError(str(e)) from None
        except Exception as e:
            _failures[name] = str(e)
            logger.info("the platform %s did not start: %s", name, e)
    for word in filter(None, (w.strip().lower() for w in raw.split(","))):
        group = _ALIASES.get(word, (word,))
        if any(n in started for n in group):
            continue
        reasons = "; ".join(f"{n}: {_failures.get(n, 'unknown')}" for n in group)
        message = (f"jax_platforms={raw!r} asks for {word!r}, which did not start ({reasons}). Install what it "
                   "needs, or choose platforms by JAX_PLATFORMS=... (for instance 'cpu').")
        # A list such as "cuda,cpu" means: a GPU if there is one. A misspelt name is an error all the same.
        if not started or word not in _ACCELERATORS:
            raise RuntimeError(message)
        logger.warning("%s", message)
    return started


def _start_found() -> dict[str, Any]:
    started: dict[str, Any] = {}
    for platform in sorted(_platforms.values(), key=lambda p: -p.priority):
        try:
            started[platform.name] = _start(platform)
        except memory_options.BadSetting as e:
            # Whoever set something wrong for a GPU would not want to run without it.
            raise ValueError(str(e)) from None
        except Exception as e:
            if not platform.optional:
                raise
            _failures[platform.name] = str(e)
            logger.warning("the platform %s is installed but did not start and is left out: %s", platform.name, e)
    return started


def clients() -> dict[str, Any]:
    """The clients by platform name, made now if need be; the first one is the default."""
    global _clients, _default
    found = _clients
    if found is not None:
        return found
    with _lock:
        if _clients is None:
            # XLA logs its start-up at a level that is of no use to users, unless they ask for it.
            os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
            late.remember()
            _discover()
            names = _wanted()
            started = _start_found() if names is None else _start_named(names, str(config.platforms.value))
            _default = next(iter(started.values()))
            _clients = started
        return _clients


def _warn_of_fork() -> None:
    if _clients is not None:
        warnings.warn("os.fork() is called after the first operation of JAX, whose threads the new process will lack: it "
                      "waits forever if it uses JAX. Start processes with multiprocessing.get_context('spawn') instead.",
                      RuntimeWarning, stacklevel=2)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_warn_of_fork)


def _discover() -> None:
    if "cuda" not in _platforms:
        make = cuda.find()
        if make is not None:
            _platforms["cuda"] = Platform("cuda", make, 100, True)
        elif not config.platforms.value and cuda.present():
            logger.warning("this machine has an NVIDIA GPU, and the CUDA plugin that would use it is not installed: "
                           "programs run on the CPU. Install it with: pip install 'jax[cuda13]'. JAX_PLATFORMS=cpu says "
                           "that the CPU is meant.")


def get_backend(platform: Any = None) -> Any:
    """The client of ``platform``: a name such as ``"cpu"`` or ``"gpu"``, a client, or None for the default.

    Raises:
      RuntimeError: when there is no such platform, saying why and which there are.
    """
    late.check()
    if platform is None:
        found = clients()
        name = config.platform_name.value
        if not name:
            return _default
        platform = name
    elif not isinstance(platform, str):
        return platform
    found = clients()
    for name in _ALIASES.get(platform.lower(), (platform.lower(),)):
        if name in found:
            return found[name]
    why = "; ".join(_failures[n] for n in _ALIASES.get(platform, (platform,)) if n in _failures)
    raise RuntimeError(f"there is no platform {platform!r} here{': ' + why if why else ''}. "
                       f"Platforms in use: {', '.join(found)}")


def backends_are_initialized() -> bool:
    """Whether clients have been made."""
    return _clients is not None


def started_clients() -> dict[str, Any]:
    """The clients made so far, by platform."""
    return dict(_clients or {})


def default_backend() -> str:
    """Name of the default platform: ``"cpu"``, ``"gpu"`` or ``"tpu"``."""
    return get_backend().platform


def canonical_platform(name: str) -> str:
    """``name`` as lowering rules know it: CUDA and ROCm apart, everything else by its own name."""
    if name == "gpu":
        for candidate in ("cuda", "rocm"):
            if candidate in clients():
                return candidate
        return "cuda"
    return name


def lowering_platform(device: Any = None) -> str:
    """The platform name for which a program that runs on ``device`` (default: the default one) is lowered."""
    client = (device or default_device()).client
    for name, known in clients().items():
        if known is client:
            return name
    return canonical_platform(client.platform)


# --- devices -----------------------------------------------------------------------------------------------


def devices(backend: Any = None) -> list[Any]:
    """All devices of a platform, those of other processes too.

    Args:
      backend: ``"cpu"``, ``"gpu"`` ...; the default platform if None.
    """
    return get_backend(backend).devices()


def local_devices(process_index: int | None = None, backend: Any = None,
                  host_id: int | None = None) -> list[Any]:
    """The devices of one process, by default of this one."""
    client = get_backend(backend)
    wanted = host_id if process_index is None else process_index
    if wanted is None or wanted == client.process_index():
        return client.local_devices()
    found = [d for d in client.devices() if d.process_index == wanted]
    if not found:
        raise ValueError(f"there is no process {wanted}; the processes are {process_indices(backend)}")
    return found


def device_count(backend: Any = None) -> int:
    """Number of devices, those of other processes included."""
    return int(get_backend(backend).device_count())


def local_device_count(backend: Any = None) -> int:
    """Number of devices of this process."""
    return int(get_backend(backend).local_device_count())


def process_index(backend: Any = None) -> int:
    """Index of this process among all."""
    return get_backend(backend).process_index()


def process_indices(backend: Any = None) -> list[int]:
    """Indices of all processes, in order."""
    return sorted({d.process_index for d in devices(backend)})


def process_count(backend: Any = None) -> int:
    """Number of processes."""
    return max(process_indices(backend)) + 1


def default_device() -> Any:
    """The device on which programs run whose arguments name none: ``jax_default_device``, else the first one."""
    chosen = _chosen.value
    if chosen is None:
        return _first_device or _find_first_device()
    if isinstance(chosen, str):
        try:
            return get_backend(chosen).local_devices()[0]
        except RuntimeError as error:
            raise RuntimeError(f"jax_default_device is {chosen!r}: {error}") from None
    if isinstance(chosen, Device):
        return chosen
    if isinstance(chosen, Sharding) and len(chosen.device_set) == 1:
        return next(iter(chosen.device_set))
    raise ValueError(f"jax_default_device must be a device, the name of a platform or None, not {chosen!r}")


_chosen = config.default_device
_first_device: Any = None


def _find_first_device() -> Any:
    global _first_device
    with _lock:
        _first_device = get_backend().local_devices()[0]
        return _first_device


def device_sharding(device: Any) -> Any:
    """The :class:`SingleDeviceSharding` of ``device``, always the same object."""
    found = _sharding_of.get(device)
    if found is None:
        found = _sharding_of.setdefault(device, SingleDeviceSharding(device))
    return found


def default_sharding() -> Any:
    """The sharding of :func:`default_device`."""
    return device_sharding(default_device())


def as_sharding(placement: Any) -> Any:
    """The sharding meant by a device, a sharding, a layout format, or None (the default device)."""
    if placement is None:
        return default_sharding()
    if isinstance(placement, Sharding):
        # Shardings by position are no classes of jaxlib's.
        return placement.plain() if hasattr(placement, "plain") else placement
    if isinstance(placement, Device):
        return device_sharding(placement)
    inner = placement.placement("sharding") if isinstance(placement, Format) else getattr(placement, "sharding", None)
    if isinstance(inner, Sharding):
        return inner
    raise TypeError(f"a device or a sharding is needed here, not {placement!r} of type {type(placement).__name__}")


def clear_backends() -> None:
    """Drops all clients. Arrays made so far keep theirs; what comes next gets new ones."""
    global _clients, _default, _first_device
    with _lock:
        _clients = None
        late.forget()
        _first_device = None
        _default = None
        _failures.clear()
        _sharding_of.clear()
        xla.PjitFunctionCache.clear_all()
        for action in _on_clear:
            action()


def live_arrays(platform: Any = None) -> list[Any]:
    """All arrays that are alive on a platform."""
    return get_backend(platform).live_arrays()


def _find_device(platform: str, id_: int) -> Any:
    for device in devices(platform):
        if device.id == id_:
            return device
    raise RuntimeError(f"a pickled object refers to device {id_} of platform {platform!r}, which is not here")


copyreg.pickle(Device, lambda d: (_find_device, (d.platform, d.id)))


def devices_of(items: Sequence[Any]) -> list[Any]:
    """The devices on which committed arrays among ``items`` live, without repetition."""
    found: list[Any] = []
    for x in items:
        if isinstance(x, xla.ArrayImpl) and x._committed:
            for d in x._sharding._device_assignment:
                if d not in found:
                    found.append(d)
    return found
