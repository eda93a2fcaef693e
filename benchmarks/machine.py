"""What a results file says of the machine: enough to judge ratios by, nothing that tells whose it is."""

from __future__ import annotations

import os
import platform


def describe() -> dict[str, object]:
    """Model of the CPU, cores this process may use, memory, operating system."""
    return {
        "cpu": _field("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "architecture": platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": _memory(),
        "system": platform.system(),
    }


def _memory() -> int | None:
    total = _field("/proc/meminfo", "MemTotal")  # "16303428 kB"
    return round(int(total.split()[0]) / 2**20) if total else None


def _field(path: str, name: str) -> str:
    """The value of the first line ``name: value`` of a file of the kernel's, '' where there is none."""
    try:
        with open(path) as lines:
            return next((v.strip() for k, _, v in (line.partition(":") for line in lines) if k.strip() == name), "")
    except OSError:
        return ""  # not Linux
