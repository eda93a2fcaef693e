"""Shardings as the compiler and serialised programs have them."""

from __future__ import annotations

from typing import Any

from jax._base import _jaxlib

GSPMDSharding = _jaxlib.xla.GSPMDSharding


def get_op_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """The ``OpSharding`` in serialised form.

    Raises:
      ValueError: the bytes are none.
    """
    out = _jaxlib.hlo.OpSharding()
    out.ParseFromString(sharding)
    return out


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """The ``HloSharding`` of an ``OpSharding`` in serialised form."""
    return _jaxlib.hlo.HloSharding.from_proto(get_op_sharding_from_serialized_proto(sharding))


def get_serialized_proto_from_hlo_sharding(sharding: Any) -> bytes:
    """An ``HloSharding`` as a serialised ``OpSharding``."""
    return sharding.to_proto().SerializeToString()


__all__ = ["GSPMDSharding", "get_hlo_sharding_from_serialized_proto", "get_op_sharding_from_serialized_proto",
           "get_serialized_proto_from_hlo_sharding"]
