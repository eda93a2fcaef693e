"""Levels of effort of the compiler."""

import enum


class CompilerEffortLevel(enum.Enum):
    """How much effort XLA puts into a program: more takes longer to compile and should give better code.

    The option ``jax_optimization_level`` takes the names, as do the options of single programs
    (``jit(f, compiler_options={"optimization_level": jax.CompilerEffortLevel.O1.name})``); the values are XLA's numbers.

    >>> import jax
    >>> jax.CompilerEffortLevel.O1.value
    19
    """

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39


__all__ = ["CompilerEffortLevel"]
