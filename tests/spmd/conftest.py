"""Eight CPU devices of a client of their own: the process's default client stays as it is."""

from __future__ import annotations

import numpy as np
import pytest

import jax
from jax._base import _jaxlib


@pytest.fixture(scope="session")
def devices():
    return _jaxlib.xla_client.make_cpu_client(num_devices=8).devices()


@pytest.fixture(scope="session")
def mesh(devices):
    """Two by four devices."""
    return jax.sharding.Mesh(np.array(devices).reshape(2, 4), ("x", "y"))


@pytest.fixture(scope="session")
def over(mesh):
    """``over("x", None)`` is the sharding over the mesh."""
    return lambda *entries: jax.NamedSharding(mesh, jax.P(*entries))
