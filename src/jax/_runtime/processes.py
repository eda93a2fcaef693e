"""What clients need to know of other processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Processes:
    """What the clients need to know of other processes; ``jax.distributed`` fills it before the first client."""

    client: Any = None
    process_id: int = 0
    count: int = 1
    collectives: Callable[[], Any] | None = None


processes = Processes()
