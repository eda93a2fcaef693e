"""``jax.scipy.sparse``: iterative solvers. For sparse arrays see :mod:`jax.experimental.sparse`."""

from jax.scipy.sparse import linalg as linalg
