"""Functions that say themselves how they are split over devices."""

from jax.experimental.custom_partitioning._partition import custom_partitioning as custom_partitioning
from jax.experimental.custom_partitioning._rules import BATCHING as BATCHING
from jax.experimental.custom_partitioning._rules import ArrayMapping as ArrayMapping
from jax.experimental.custom_partitioning._rules import CompoundFactor as CompoundFactor
from jax.experimental.custom_partitioning._rules import SdyShardingRule as SdyShardingRule

__all__ = ["BATCHING", "ArrayMapping", "CompoundFactor", "SdyShardingRule", "custom_partitioning"]
