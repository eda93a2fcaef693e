"""What decides whether a stored executable may be used: the program, how it is compiled, by what, and for which machine."""

from __future__ import annotations

import functools
import hashlib
import json
import platform
from collections.abc import Sequence
from typing import Any

from jax._base import config
from jax._base._jaxlib import jaxlib_version_string, xla

# What XLA writes on the side, and where: it changes no program.
_WRITTEN_ASIDE = {
    "xla_dump_to": "", "xla_dump_hlo_module_re": "", "xla_dump_hlo_pass_re": "", "xla_dump_hlo_as_text": False,
    "xla_dump_hlo_as_proto": False, "xla_dump_hlo_as_dot": False, "xla_dump_hlo_as_html": False,
    "xla_dump_hlo_as_url": False, "xla_dump_hlo_as_long_text": False, "xla_dump_hlo_snapshots": False,
    "xla_dump_fusion_visualization": False, "xla_dump_max_hlo_modules": -1, "xla_dump_module_metadata": False,
    "xla_dump_compress_protos": False, "xla_gpu_dump_autotune_logs_to": "", "xla_gpu_dump_autotune_results_to": "",
    "xla_gpu_kernel_cache_file": "", "xla_gpu_per_fusion_autotune_cache_dir": "",
}  # fmt: skip


def key_parts(module: Any, devices: Sequence[Any], options: Any) -> dict[str, str]:
    """Everything that a compiled program depends on, by name; long parts as hashes."""
    return {
        "program": _digest(_module_bytes(module)),
        "compile options and XLA flags": _digest(_option_bytes(options)),
        **environment_parts(devices),
    }


def environment_parts(devices: Sequence[Any]) -> dict[str, str]:
    """The parts that do not depend on the program: what an executable was made by, and for which machine."""
    client = devices[0].client
    return {
        "jaxlib": jaxlib_version_string,
        "compiler": f"{client.platform} {client.platform_version}",
        "devices": _topology(client, devices),
        "machine": _machine() if client.platform == "cpu" else "",
    }


def key_of(parts: dict[str, str]) -> str:
    """The key under which a program with these parts is stored."""
    return _digest(json.dumps(parts, sort_keys=True).encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _module_bytes(module: Any) -> bytes:
    """The module without source locations, which change with every edit of a file."""
    if isinstance(module, bytes):
        return module
    if isinstance(module, str):
        return module.encode()
    with_locations = config.compilation_cache_include_metadata_in_key.value
    return module.operation.get_asm(enable_debug_info=with_locations, binary=True)


def _option_bytes(options: Any) -> bytes:
    """The options in a form that is the same in every process."""
    plain = xla.CompileOptions.ParseFromString(options.SerializeAsString())
    # A protocol buffer keeps these in the order of a hash table, which differs from run to run.
    overrides = sorted(plain.env_option_overrides)
    plain.env_option_overrides = []
    debug = plain.executable_build_options.debug_options
    for name, value in _WRITTEN_ASIDE.items():
        if hasattr(debug, name):
            setattr(debug, name, value)
    return plain.SerializeAsString() + repr(overrides).encode()


def _topology(client: Any, devices: Sequence[Any]) -> str:
    kinds = ", ".join(sorted({d.device_kind for d in devices}))
    return f"{len(devices)} of {client.device_count()} ({kinds}), {1 + max(d.process_index for d in devices)} processes"


@functools.cache
def _machine() -> str:
    """The CPU's model and instruction sets: code for one may not run on another that sees the same directory."""
    found = [platform.machine(), platform.processor()]
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if name.strip() in ("model name", "flags", "Features", "CPU part"):
                    found.append(" ".join(sorted(value.split())))
                if not line.strip():
                    break  # the other cores are of the same kind
    except OSError:
        pass  # not Linux
    return _digest("\n".join(found).encode())
