"""Functions written for one part of their arguments, run on many devices at once: ``shard_map``, ``smap``, ``pmap``."""
