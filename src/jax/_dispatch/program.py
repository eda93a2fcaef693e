"""Programs: a closed jaxpr lowered and compiled for a device, remembered as long as the jaxpr lives."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from jax import dtypes, monitoring
from jax._base import config, source
from jax._base._jaxlib import JaxRuntimeError, trace_context_names, xla
from jax._base.caching import trace_context, weak_cache
from jax._dispatch import checks, matmul_library, references, scratch, slow, spread
from jax._language.jaxpr import ClosedJaxpr
from jax._language.refs import Ref
from jax._lowering.barriers import BARRIER_PASS
from jax._lowering.module import LoweredModule, argument_names, lower_jaxpr_to_module
from jax._runtime import backend, memory
from jax._runtime.compile import compile_module
from jax._runtime.execute import Executable
from jax.sharding import SingleDeviceSharding

logger = logging.getLogger("jax.program")
ArrayImpl = xla.ArrayImpl


class ProgramKey(NamedTuple):
    """What a compiled program depends on besides its jaxpr and the configuration."""

    name: str
    donated: tuple[bool, ...]
    keep_unused: bool
    device: Any
    compiler_options: tuple[tuple[str, Any], ...]


def run_program(args: Sequence[Any], *, jaxpr: ClosedJaxpr, name: str, donated_invars: tuple[bool, ...] = (),
                keep_unused: bool = False, device: Any = None, compiler_options: tuple[tuple[str, Any], ...] = (),
                inline: bool = False) -> list[Any]:
    """Compiles ``jaxpr`` if need be and runs it on ``args``."""
    executable, committed = executable_for(
        args, jaxpr=jaxpr, name=name, donated_invars=donated_invars, keep_unused=keep_unused, device=device,
        compiler_options=compiler_options)
    finish = checks.follow_keys(jaxpr, args, name)
    outs = executable.call(args, committed)
    if finish is not None:
        finish(outs)
    if checks.enabled():
        checks.check_results(outs, f"jit of {name}", jaxpr, args)
    return outs


def executable_for(args: Sequence[Any], *, jaxpr: ClosedJaxpr, name: str, donated_invars: tuple[bool, ...] = (),
                   keep_unused: bool = False, device: Any = None,
                   compiler_options: tuple[tuple[str, Any], ...] = (), inline: bool = False) -> tuple[Any, bool]:
    """The executable for a call, and whether its results are tied to their device.

    Raises:
      ValueError: when arguments are committed to different devices.
    """
    pure = references.pure_program_for(jaxpr, args)
    if pure is not None:
        options = {"donated_invars": references.donations(pure, donated_invars), "keep_unused": keep_unused,
                   "device": references.placement_of(pure, device), "compiler_options": compiler_options}
        arrays = references.arrays_in(pure.operands(args, name))
        executable, committed = executable_for(arrays, jaxpr=pure.jaxpr, name=name, **options)
        if pure.closed_over or any([type(x) is Ref for x in args]):
            executable = references.ProgramOnReferences(executable, pure)
        return executable, committed
    committed = device is not None
    if type(device) is spread.Placement:
        return _spread_executable(args, jaxpr, name, donated_invars, keep_unused, compiler_options, device), True
    where = device
    for x in args:
        if type(x) is not ArrayImpl:
            dtype = getattr(x, "dtype", None)
            if not isinstance(dtype, dtypes.ExtendedDType):
                continue
            x = dtype.unwrap(x)
        if x._committed:
            sharding = x._sharding
            if type(sharding) is not SingleDeviceSharding:
                if device is None:
                    return _spread_executable(args, jaxpr, name, donated_invars, keep_unused, compiler_options), True
            elif sharding._device is not where:
                if where is None:
                    where = sharding._device
                elif device is None:
                    _refuse_devices(args, jaxpr, name)
            committed = True
    if where is None:
        where = backend.default_device()
    key = ProgramKey(name, _usable_donations(donated_invars), keep_unused, where, compiler_options)
    compiled: Executable | None = compiled_program(jaxpr, key)
    if compiled is None:  # the program itself asks for several devices
        return _spread_executable(args, jaxpr, name, donated_invars, keep_unused, compiler_options), True
    return compiled, committed


def _spread_executable(args: Sequence[Any], jaxpr: ClosedJaxpr, name: str, donated_invars: tuple[bool, ...],
                       keep_unused: bool, compiler_options: tuple[tuple[str, Any], ...],
                       placement: spread.Placement | None = None) -> Executable:
    place = spread.plan(args, jaxpr, name, placement)
    return spread_program(jaxpr, SpreadKey(name, _usable_donations(donated_invars), keep_unused, place,
                                           compiler_options))


def _usable_donations(donated: tuple[bool, ...]) -> tuple[bool, ...]:
    """Arguments stay where results are checked, so that the program can be run again to find a wrong operation."""
    return donated if True in donated and not checks.enabled() else ()


# Options that decide how programs are compiled and leave the traces as they are.
_COMPILED_BY = (config.optimization_level, config.memory_fitting_level, config.exec_time_optimization_effort,
                config.memory_fitting_effort, config.disable_most_optimizations, config.compiler_enable_remat_pass,
                config.cpu_fusion_fences, config.cpu_group_pieces,
                config.experimental_unsafe_xla_runtime_errors)


def compile_context() -> tuple[Any, ...]:
    """The options on which a compiled program depends."""
    return (*trace_context(), *[option.value for option in _COMPILED_BY])


class SpreadKey(NamedTuple):
    """:class:`ProgramKey` for programs over several devices."""

    name: str
    donated: tuple[bool, ...]
    keep_unused: bool
    place: spread.Spread
    compiler_options: tuple[tuple[str, Any], ...]


@weak_cache(context=compile_context)
def spread_program(jaxpr: ClosedJaxpr, key: SpreadKey) -> Executable:
    """The executable of a program over several devices, made at the first call."""
    platform = backend.lowering_platform(key.place.devices[0])
    lowered = lower_program(jaxpr, key.name, platforms=(platform,), donated=key.donated, keep_unused=key.keep_unused,
                            place=key.place)
    executable = compile_lowered(lowered, None, key.compiler_options, key.place)
    lowered.release()
    return executable


def _refuse_devices(args: Sequence[Any], jaxpr: ClosedJaxpr, name: str) -> None:
    info = jaxpr.jaxpr.debug_info
    lines = []
    for i, x in enumerate(args):
        if type(x) is ArrayImpl and x._committed:
            devices = x._sharding._device_assignment
            lines.append(f"  {info.arg_name(i)} ({x.aval.str_short()}) on {devices[0]}")
    raise ValueError(f"jit of {name}: its arguments are committed to different devices, and a program runs on one:\n"
                     + "\n".join(lines) + "\nMove them to one with jax.device_put(x, device).")


@weak_cache(context=compile_context)
def compiled_program(jaxpr: ClosedJaxpr, key: ProgramKey) -> Executable | None:
    """The executable for ``jaxpr``, made at the first call; None if the program asks for other devices than one."""
    if spread.place_in(jaxpr) is not None:
        return None
    if config.explain_cache_misses.value:
        _explain_miss(jaxpr, key)
    lowered = lower_program(jaxpr, key.name, platforms=(backend.lowering_platform(key.device),), donated=key.donated,
                            keep_unused=key.keep_unused)
    executable = compile_lowered(lowered, key.device, key.compiler_options)
    lowered.release()
    return executable


def lower_program(jaxpr: ClosedJaxpr, name: str, *, platforms: Sequence[str], donated: Sequence[bool] = (),
                  keep_unused: bool = False, result_names: Sequence[str] | None = None,
                  place: spread.Spread | None = None) -> LoweredModule:
    """Lowers ``jaxpr``, with names of arguments and under the logging and dumping options."""
    traced = jaxpr
    begin = time.perf_counter()
    pure = references.pure_program(jaxpr)
    if pure is not None:
        donated = references.donations(pure, donated)
        jaxpr = pure.jaxpr
        if result_names is not None:
            result_names = [*(f"ref {i}" for i in pure.changed), *result_names]
    lowered = lower_jaxpr_to_module(jaxpr, name, platforms, donated=donated or None, keep_unused=keep_unused,
                                    arg_names=argument_names(jaxpr.jaxpr.debug_info), result_names=result_names,
                                    spread=place)
    lowered.pure = pure
    seconds = time.perf_counter() - begin
    lowered.timing = slow.Timing(traced, seconds)
    log_step("lowered %s in %.4f s", name, seconds)
    monitoring.record_step("jaxpr_to_mlir_module", seconds, f"jit({name})")
    limit = config.captured_constants_warn_bytes.value
    if lowered.const_args and 0 <= limit < sum(x.nbytes for x in lowered.const_args):
        _warn_captured(lowered, jaxpr)
    if config.dump_ir_to.value:
        dump(lowered, jaxpr)
    return lowered


# For programs that do next to nothing, with many small pieces of data.
_UNOPTIMISED = {"xla_backend_optimization_level": 0, "xla_disable_hlo_passes": "fusion-wrapper"}


def _compile(lowered: LoweredModule, devices: Sequence[Any], compiler_options: Sequence[tuple[str, Any]],
             to_be_stored: bool) -> Any:
    options = dict(compiler_options)
    if lowered.light:
        options = {**_UNOPTIMISED, **options}
    elif lowered.timing is not None and len(devices) == 1 and devices[0].platform == "cpu":
        jaxpr = lowered.timing.jaxpr.jaxpr
        pieces = {} if to_be_stored else scratch.options(jaxpr)
        lowered.in_pieces = bool(pieces)
        options = {**matmul_library.options(jaxpr), **pieces, **options}

    def attempt(left_out: tuple[str, ...]) -> Any:
        return compile_module(lowered.module, devices, num_partitions=len(devices), compiler_options=options,
                              host_callbacks=lowered.host_callbacks, name=f"jit({lowered.name})",
                              storable=not lowered.keepalives, left_out=left_out)

    if not lowered.fenced:
        return attempt(())
    try:
        return attempt((BARRIER_PASS,))
    except JaxRuntimeError as error:
        # A lowering rule of a library has written a barrier of its own into a loop, where XLA cannot emit it.
        if "opt-barrier" not in str(error):
            raise
        return attempt(())


def compile_lowered(lowered: LoweredModule, device: Any = None,
                    compiler_options: Sequence[tuple[str, Any]] = (), place: spread.Spread | None = None, *,
                    to_be_stored: bool = False) -> Any:
    """Compiles a lowered module for ``device`` (by default the default one of the process), or for a place.

    XLA cannot serialise a program that takes its scratch memory in pieces; one that is ``to_be_stored`` does not.
    """
    devices: Sequence[Any] = [backend.default_device() if device is None else device] if place is None else place.devices
    if lowered.unused_donations:
        _warn_donations(lowered)
    begin = time.perf_counter()
    try:
        loaded = _compile(lowered, devices, compiler_options, to_be_stored or bool(config.compilation_cache_dir.value))
    except JaxRuntimeError as error:
        raise _located(memory.explained(error, devices[0]), lowered) from error
    seconds = time.perf_counter() - begin
    monitoring.record_step("backend_compile", seconds, f"jit({lowered.name})")
    if lowered.timing is not None:
        slow.report(lowered.name, lowered.timing, seconds)
    first = len(lowered.ordered_effects) + len(lowered.const_args)
    donated = [p for p, d in zip(lowered.kept_var_idx, lowered.donated[first:], strict=True) if d]
    executable = Executable(
        loaded, in_avals=lowered.in_avals, out_avals=lowered.out_avals, kept=lowered.kept_var_idx,
        consts=lowered.const_args, donated=donated, ordered_effects=lowered.ordered_effects,
        has_unordered_effects=bool(lowered.unordered_effects), keepalive=lowered.keepalives or None,
        arg_names=lowered.arg_names, name=lowered.name, **({} if place is None else place.boundary(lowered, loaded)))
    return executable if lowered.pure is None else references.ProgramOnReferences(executable, lowered.pure)


def _warn_donations(lowered: LoweredModule) -> None:
    info = lowered.debug_info
    listed = ", ".join(f"{info.arg_name(i)} ({lowered.in_avals[i].str_short()})" for i in lowered.unused_donations)
    # These first words are what programs filter warnings by.
    source.warn(f"Some donated buffers were not usable: {listed}, of jit of {lowered.name}. No result has their shape and "
                "dtype, so that their memory is freed instead of taken over. Do not donate them, or return values of their "
                "types.")


def _warn_captured(lowered: LoweredModule, jaxpr: ClosedJaxpr) -> None:
    frames = config.captured_constants_report_frames.value
    arrays = sorted(zip(lowered.const_args, lowered.const_avals, strict=True), key=lambda pair: -pair[0].nbytes)
    lines = []
    for value, aval in arrays[:10]:
        lines.append(f"  {aval.str_short()}, {value.nbytes:,} bytes")
        reader = _first_reader(jaxpr, value)
        if frames and reader is not None:
            lines.append(source.format_frames(reader.source_info.traceback, frames))
    total = sum(x.nbytes for x in lowered.const_args)
    source.warn(f"jit of {lowered.name} closes over {len(arrays)} arrays of {total:,} bytes together "
          "(jax_captured_constants_warn_bytes). They stay in memory as long as the function does; pass them as "
          "arguments if they change or are needed elsewhere:\n" + "\n".join(lines))


def _first_reader(jaxpr: ClosedJaxpr, value: Any) -> Any:
    for var, const in zip(jaxpr.jaxpr.constvars, jaxpr.consts, strict=True):
        if const is value:
            return next((e for e in jaxpr.jaxpr.eqns if var in e.invars), None)
    return None


def _located(error: Exception, lowered: LoweredModule) -> Exception:
    """XLA's error with the place in the user's program."""
    text = str(error)
    where = lowered.debug_info.source_text()
    found = re.search(r'(\S+):(\d+):\d+: error|source_file="([^"]+)" source_line=(\d+)', text)
    if found:
        where = f"{found[1] or found[3]}:{found[2] or found[4]}, in {where}"
    return type(error)(f"XLA could not compile {lowered.name} ({where}) for {', '.join(lowered.platforms)}:\n{text}")


# --- what the options ask to be told --------------------------------------------------------------------------------

def log_step(message: str, *details: Any) -> None:
    """A line about a step of compilation: a warning under ``jax_log_compiles``, else for debugging."""
    logger.log(logging.WARNING if config.log_compiles.value else logging.DEBUG, message, *details)


def _explain_miss(jaxpr: ClosedJaxpr, key: ProgramKey) -> None:
    """Why a program that has been compiled before is compiled again. Why it was traced is said where it was."""
    options = compile_context()
    reasons: list[list[str]] = [_differences(k, c, key, options) for k, c in _known_keys(jaxpr)]
    if reasons:
        nearest: list[str] = min(reasons, key=len)
        logger.warning("compiling %s (%s) again: %s", key.name, jaxpr.jaxpr.debug_info.source_text(),
                       "; ".join(nearest))


def _differences(old: ProgramKey, old_options: Any, new: ProgramKey, new_options: Any) -> list[str]:
    changed = [f"{field} was {a!r} and is {b!r}" for field, a, b in zip(new._fields, old, new, strict=True) if a != b]
    return changed + option_differences(old_options, new_options)


def option_differences(old: Any, new: Any) -> list[str]:
    """Which options two values of ``compile_context()``, or of ``trace_context()``, differ in."""
    names = (*trace_context_names(), *[option.name for option in _COMPILED_BY])
    return [f"the option {n} was {a!r} and is {b!r}" for n, a, b in zip(names, old, new, strict=False) if a != b]


def _known_keys(jaxpr: ClosedJaxpr) -> list[tuple[ProgramKey, Any]]:
    """The keys under which ``jaxpr`` has been compiled, with the options then in force."""
    entries: Any = compiled_program.cache_keys()
    return [(args[0], options) for ref, options, args, _ in entries if ref() is jaxpr]


_dumped = 0


def dump(lowered: LoweredModule, jaxpr: ClosedJaxpr) -> None:
    """Writes the program into the directory of ``jax_dump_ir_to``, in the forms of ``jax_dump_ir_modes``."""
    global _dumped
    folder = config.dump_ir_to.value
    if folder == "sponge":
        folder = os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR", "")
        if not folder:
            return
    os.makedirs(folder, exist_ok=True)
    modes = {m.strip() for m in config.dump_ir_modes.value.split(",")}
    stem = os.path.join(folder, f"{_dumped:05d}_jit_{re.sub(r'[^A-Za-z0-9_.-]', '_', lowered.name)}")
    _dumped += 1
    if "stablehlo" in modes:
        with open(f"{stem}.mlir", "w") as out:
            out.write(lowered.as_text(debug_info=config.include_debug_info_in_dumps.value))
    if "jaxpr" in modes:
        with open(f"{stem}.jaxpr.txt", "w") as out:
            out.write(jaxpr.pretty_print())
