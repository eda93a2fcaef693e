"""View: jaxlib's ``NamedSharding`` has its arguments checked by ``check_pspec`` of this module."""

from jax.sharding._placements import check_spec as check_pspec

__all__ = ["check_pspec"]
