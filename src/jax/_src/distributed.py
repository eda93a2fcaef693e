"""View on what this process knows of others."""

from __future__ import annotations

from typing import Any

from jax._runtime.processes import processes as _processes


class State:
    """The client of the coordination service (None in a single process), and where this process stands."""

    @property
    def client(self) -> Any:
        return _processes.client

    @property
    def process_id(self) -> int:
        return _processes.process_id

    @property
    def num_processes(self) -> int:
        return _processes.count


global_state = State()
