"""From a StableHLO module to an executable that is loaded on devices."""

from __future__ import annotations

import difflib
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jax import monitoring
from jax._base import _jaxlib, config
from jax._base._jaxlib import xla

from . import late

logger = logging.getLogger("jax.compile")

# Options of the compiler itself, as against those XLA knows as flags: name -> how it is set.
_BUILD_OPTIONS = ("exec_time_optimization_effort", "memory_fitting_effort", "optimization_level",
                  "memory_fitting_level")


def compile_options(devices: Sequence[Any], *, num_replicas: int = 1, num_partitions: int = 1,
                    compiler_options: Mapping[str, Any] | None = None, propagate_to_outputs: Any = False,
                    propagate_to_parameters: Any = False, left_out: Sequence[str] = ()) -> Any:
    """XLA's options for a program on ``devices``, in the order of replicas and then partitions.

    ``left_out`` are passes of XLA that are not to run.
    """
    options = xla.CompileOptions()
    options.num_replicas = num_replicas
    options.num_partitions = num_partitions
    grid = np.array([d.id for d in devices], dtype=np.int32).reshape(num_replicas, num_partitions)
    assignment = xla.DeviceAssignment.create(grid)
    options.device_assignment = assignment
    build = options.executable_build_options
    build.num_replicas = num_replicas
    build.num_partitions = num_partitions
    build.device_assignment = assignment
    spread = num_partitions > 1
    build.use_spmd_partitioning = spread
    build.use_shardy_partitioner = spread and config.use_shardy_partitioner.value
    if propagate_to_outputs is not False:
        build.allow_spmd_sharding_propagation_to_output = propagate_to_outputs
    if propagate_to_parameters is not False:
        build.allow_spmd_sharding_propagation_to_parameters = propagate_to_parameters
    _apply_config(options, build, left_out)
    if devices[0].platform == "gpu" and config.compilation_cache_dir.value:
        _cache().apply_xla_caches(build.debug_options)
    overrides = _split_options(build, compiler_options or {})
    if overrides:
        options.env_option_overrides = overrides
    return options


def _apply_config(options: Any, build: Any, left_out: Sequence[str]) -> None:
    debug = build.debug_options
    if not config.compiler_enable_remat_pass.value:
        left_out = (*left_out, "rematerialization")
    if left_out:
        debug.xla_disable_hlo_passes = ",".join(filter(None, (debug.xla_disable_hlo_passes, *left_out)))
    if config.disable_most_optimizations.value:
        debug.xla_backend_optimization_level = 0
        debug.xla_llvm_disable_expensive_passes = True
        debug.xla_test_all_input_layouts = False
    if config.xla_profile_version.value:
        options.profile_version = config.xla_profile_version.value
    for name in ("optimization_level", "memory_fitting_level"):
        _set_level(build, name, getattr(config, name).value)
    for name in ("exec_time_optimization_effort", "memory_fitting_effort"):
        if hasattr(build, name):  # newer versions of XLA have the levels only
            setattr(build, name, getattr(config, name).value)


# How XLA numbers its levels of effort.
_EFFORT = {"UNKNOWN": 0, "O0": 9, "O1": 19, "O2": 29, "O3": 39}


def _set_level(build: Any, name: str, level: Any) -> None:
    number = _EFFORT.get(level, level) if isinstance(level, str) else level
    if number not in _EFFORT.values():
        raise ValueError(f"the compiler option {name} is one of {', '.join(_EFFORT)}, not {level!r}")
    setattr(build, name, number)


def _split_options(build: Any, given: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Applies what belongs to the build and returns the rest: overrides of XLA's flags."""
    overrides = []
    for name, value in given.items():
        if not isinstance(name, str):
            raise TypeError(f"compiler options are named by strings, not by {name!r}")
        if name in _BUILD_OPTIONS and hasattr(build, name):
            if name.endswith("_level"):
                _set_level(build, name, value)
            else:
                setattr(build, name, float(value))
        elif name == "xla_disable_hlo_passes" and isinstance(value, str):
            debug = build.debug_options
            debug.xla_disable_hlo_passes = ",".join(filter(None, (debug.xla_disable_hlo_passes, value)))
        elif isinstance(value, (str, bool, int, float)):
            overrides.append((name, value))
        elif isinstance(value, (np.bool_, np.integer, np.floating)):
            overrides.append((name, value.item()))
        else:
            raise TypeError(f"the compiler option {name} has the value {value!r} of type {type(value).__name__}; "
                            "options are strings, booleans, integers or floats")
    return overrides


def compile_module(module: Any, devices: Sequence[Any], *, num_replicas: int = 1, num_partitions: int = 1,
                   compiler_options: Mapping[str, Any] | None = None, host_callbacks: Sequence[Any] = (),
                   options: Any = None, name: str = "", storable: bool = True, left_out: Sequence[str] = ()) -> Any:
    """Compiles a StableHLO module for ``devices`` and loads it there, or finds it in the persistent cache.

    Args:
      module: an MLIR module, its text, or its bytecode.
      devices: one device per partition.
      compiler_options: XLA's own options by name, values as XLA has them.
      host_callbacks: what the program calls back on the host.
      options: ready :func:`compile_options`, instead of the arguments above.
      name: of the program, for messages.
      storable: whether the program means the same in another process; not if it holds addresses of this one.
      left_out: passes of XLA that are not to run.

    Returns:
      jaxlib's loaded executable.

    Raises:
      ValueError: for options that XLA does not know or cannot take.
      JaxRuntimeError: when XLA fails.
    """
    late.check()
    if options is None:
        options = compile_options(devices, num_replicas=num_replicas, num_partitions=num_partitions,
                                  compiler_options=compiler_options, left_out=left_out)
    entry = None
    if config.compilation_cache_dir.value:
        monitoring.record_event("/jax/compilation_cache/compile_requests_use_cache")
        entry = _entry(module, devices, options, name, storable and not host_callbacks)
        found = None if entry is None else entry.load(devices, _prefetch().take(entry, devices))
        if found is not None:
            if config.compilation_cache_check_contents.value:
                _compare(found, backend_compile_and_load(
                    devices[0].client, module, xla.DeviceList(tuple(devices)), options, []), name)
            return found
    client = devices[0].client
    begin = time.perf_counter()
    try:
        loaded = backend_compile_and_load(client, module, xla.DeviceList(tuple(devices)), options, list(host_callbacks))
    except xla.JaxRuntimeError as e:
        better = _explain(e, compiler_options, name)
        if better is None:
            raise
        raise better from e
    seconds = time.perf_counter() - begin
    logger.log(logging.WARNING if config.log_compiles.value else logging.DEBUG,
               "compiled %s for %s in %.3f s", name or "a program", client.platform, seconds)
    if entry is not None:
        entry.store(loaded, seconds, bool(options.executable_build_options.fdo_profile))
    return loaded


def _cache() -> Any:
    from . import cache  # hashing and compression load only where programs are stored
    return cache


def _prefetch() -> Any:
    from . import prefetch  # likewise
    return prefetch


def _entry(module: Any, devices: Sequence[Any], options: Any, name: str, storable: bool) -> Any:
    """The place of a program in the persistent cache; None for programs that cannot be stored."""
    if not storable:
        logger.log(logging.WARNING if config.log_compiles.value else logging.DEBUG,
                   "persistent cache: %s is left out: it calls functions of this process", name or "a program")
        return None
    return _cache().entry(module, devices, options, name)


def _compare(stored: Any, fresh: Any, name: str) -> None:
    """Raises unless the stored program is what the compiler makes now (``jax_compilation_cache_check_contents``)."""
    old, new = canonical_text(stored), canonical_text(fresh)
    if old == new:
        return
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), "stored", "compiled now", lineterm="", n=0))
    raise RuntimeError(f"{name or 'a program'} was found in the persistent cache, and the compiler makes another program "
                       "of it now (jax_compilation_cache_check_contents):\n" + "\n".join(lines[:20]))


def backend_compile_and_load(backend: Any, module: Any, executable_devices: Any, options: Any,
                             host_callbacks: list[Any]) -> Any:
    """Asks a client to compile a module. Every compilation goes through this name, which libraries may replace."""
    if host_callbacks:
        return backend.compile_and_load(module, executable_devices, options, host_callbacks)
    return backend.compile_and_load(module, executable_devices, options)


def _explain(error: Exception, given: Mapping[str, Any] | None, name: str) -> Exception | None:
    """A clearer error for what can be told from XLA's message, or None."""
    text = str(error)
    at = f" (compiling {name})" if name else ""
    if "No such compile option" in text and given:
        unknown = [k for k in given if f"'{k}'" in text]
        known = [n for n in dir(xla.DebugOptions) if n.startswith("xla_")]
        near = difflib.get_close_matches(unknown[0], known, n=1) if unknown else []
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return ValueError(f"XLA has no compiler option {unknown[0] if unknown else text!r}{at}.{hint}")
    if "While setting option" in text and given:
        return ValueError(f"a compiler option has a value that XLA cannot take{at}: {text.split(': ', 1)[-1]}")
    return None


def compiled_text(loaded: Any) -> str:
    """The optimised program in HLO text."""
    return "\n\n".join(m.to_string() for m in loaded.hlo_modules())


def canonical_text(loaded: Any) -> str:
    """The optimised program with names and source locations left out: equal for programs that do the same."""
    how = _jaxlib.hlo.HloPrintOptions.canonical()
    how.print_large_constants = True
    return "\n\n".join(m.to_string(how) for m in loaded.hlo_modules())


def cost_analysis(loaded: Any) -> dict[str, Any]:
    """XLA's estimates for the program: floating-point operations, bytes accessed ..."""
    return loaded.cost_analysis()


def memory_analysis(loaded: Any) -> Any:
    """Sizes of the program's arguments, results, temporaries and code, in bytes; None where XLA has none."""
    try:
        return loaded.get_compiled_memory_stats()
    except xla.JaxRuntimeError:
        return None


def serialize(loaded: Any) -> bytes:
    """The executable as bytes, for :func:`deserialize` with the same version of jaxlib on equal devices."""
    return loaded.serialize()


def deserialize(data: bytes, devices: Sequence[Any], options: Any = None) -> Any:
    """An executable from :func:`serialize`, loaded on ``devices``."""
    return devices[0].client.deserialize_executable(data, xla.DeviceList(tuple(devices)), options)


def hlo_module_from_text(text: str) -> Any:
    """Parses HLO text."""
    return _jaxlib.hlo.hlo_module_from_text(text)
