"""The transformations as users call them: ``jit``, ``grad``, ``vmap`` and their kin."""
