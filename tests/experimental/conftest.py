"""Eight CPU devices of a client of their own: the process's default client stays as it is."""

from __future__ import annotations

import pytest

from jax._base import _jaxlib


@pytest.fixture(scope="session")
def devices():
    return _jaxlib.xla_client.make_cpu_client(num_devices=8).devices()
