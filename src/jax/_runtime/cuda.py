"""NVIDIA GPUs: finding the PJRT plugin without importing it, and starting its client."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import logging
import os
from collections.abc import Callable
from typing import Any

from jax._base import _jaxlib, config
from jax._base._jaxlib import xla

from . import memory_options
from .processes import processes

logger = logging.getLogger("jax.backend")
_GENERATIONS = (13, 12)


def _library(generation: int) -> str | None:
    """Path of the plugin's shared library, from the package that ships it."""
    override = os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "")
    for pair in filter(None, override.split(",")):
        name, _, path = pair.partition(":")
        if name == "cuda":
            return path
    try:
        spec = importlib.util.find_spec(f"jax_plugins.xla_cuda{generation}")
    except ImportError:
        return None
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = os.path.join(folder, "xla_cuda_plugin.so")
        if os.path.exists(path):
            return path
    return None


def find() -> Callable[[], Any] | None:
    """How to make the client, or None when no plugin is installed."""
    for generation in _GENERATIONS:
        path = _library(generation)
        if path is not None:
            return functools.partial(_make, path, generation)
    return None


def present() -> bool:
    """Whether the machine has an NVIDIA GPU with its driver. No library is loaded to find out."""
    try:
        return bool(os.listdir("/proc/driver/nvidia/gpus"))
    except OSError:
        return os.path.exists("/dev/nvidia0")


def options() -> dict[str, Any]:
    """The client's options: memory, visible devices, number of processes."""
    found = {"platform_name": "cuda", **memory_options.client_options()}
    visible = config.cuda_visible_devices.value
    if visible not in ("all", "", None):
        try:
            found["visible_devices"] = [int(x) for x in str(visible).split(",")]
        except ValueError:
            raise memory_options.BadSetting(
                f"jax_cuda_visible_devices={visible!r} is not a comma-separated list of numbers") from None
    if processes.count > 1:
        found.update(node_id=processes.process_id, num_nodes=processes.count)
    found.update(_extra_options(config.pjrt_client_create_options.value))
    return found


def _extra_options(text: str | None) -> dict[str, Any]:
    """``jax_pjrt_client_create_options``: pairs ``name:value`` between semicolons."""
    found: dict[str, Any] = {}
    for pair in filter(None, (text or "").split(";")):
        name, colon, value = pair.partition(":")
        if not colon:
            raise memory_options.BadSetting(
                f"jax_pjrt_client_create_options has {pair!r}, which is not of the form name:value")
        found[name.strip()] = _literal(value.strip())
    return found


def _literal(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _check_versions(generation: int) -> None:
    """Raises unless the plugin's packages belong to the jaxlib in use: they share types that change between versions."""
    from importlib import metadata  # slow to load, and needed only where a plugin is
    for name in (f"jax-cuda{generation}-pjrt", f"jax-cuda{generation}-plugin"):
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        if version != _jaxlib.jaxlib_version_string:
            raise RuntimeError(f"{name} {version} does not belong to jaxlib {_jaxlib.jaxlib_version_string}. Install "
                               f"matching ones: pip install 'jax[cuda{generation}]'")


def _make(path: str, generation: int) -> Any:
    settings = options()  # first: a bad value must not leave a half-loaded plugin behind
    _check_versions(generation)
    if not xla.pjrt_plugin_loaded("cuda"):
        c_api = xla.load_pjrt_plugin("cuda", path, None)
        _register_kernels(f"jax_cuda{generation}_plugin", c_api)
    if not xla.pjrt_plugin_initialized("cuda"):
        xla.initialize_pjrt_plugin("cuda")
    return xla.get_c_api_client("cuda", settings, processes.client)


def _register_kernels(package: str, c_api: Any) -> None:
    """Makes the custom-call kernels of the plugin's package (linear algebra, PRNG ...) known to XLA."""
    try:
        extension = importlib.import_module(f"{package}.cuda_plugin_extension")
    except ImportError:
        logger.warning("the package %s is missing: linear algebra and sparse kernels for GPUs are not available. "
                       "Install it with: pip install %s", package, package.replace("_", "-"))
        return
    client = _jaxlib.xla_client
    client.register_custom_call_handler("CUDA", functools.partial(extension.register_custom_call_target, c_api))
    client.register_custom_type_handler("CUDA", functools.partial(extension.register_custom_type, c_api))
    for name, value in extension.ffi_types().items():
        client.register_custom_type(name, value, platform="CUDA")
    for name, value in extension.ffi_handlers().items():
        client.register_custom_call_target(name, value, platform="CUDA", api_version=1)
