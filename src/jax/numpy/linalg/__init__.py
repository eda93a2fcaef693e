"""``jax.numpy.linalg``: NumPy's linear algebra on JAX arrays. An index; one line for each name.

Functions of matrices take stacks of them, in the last two axes. What NumPy raises ``LinAlgError`` for (a singular
matrix, one that is not positive definite) gives infinities or NaN here, as values are not known while tracing.
"""

from jax._base.source import make_boundaries as _make_boundaries
from jax.numpy.linalg._determinants import det as det
from jax.numpy.linalg._determinants import slogdet as slogdet
from jax.numpy.linalg._factors import cholesky as cholesky
from jax.numpy.linalg._factors import eig as eig
from jax.numpy.linalg._factors import eigh as eigh
from jax.numpy.linalg._factors import eigvals as eigvals
from jax.numpy.linalg._factors import eigvalsh as eigvalsh
from jax.numpy.linalg._factors import qr as qr
from jax.numpy.linalg._factors import svd as svd
from jax.numpy.linalg._factors import svdvals as svdvals
from jax.numpy.linalg._norms import cond as cond
from jax.numpy.linalg._norms import matrix_norm as matrix_norm
from jax.numpy.linalg._norms import matrix_rank as matrix_rank
from jax.numpy.linalg._norms import norm as norm
from jax.numpy.linalg._norms import vector_norm as vector_norm
from jax.numpy.linalg._solving import inv as inv
from jax.numpy.linalg._solving import lstsq as lstsq
from jax.numpy.linalg._solving import matrix_power as matrix_power
from jax.numpy.linalg._solving import pinv as pinv
from jax.numpy.linalg._solving import solve as solve
from jax.numpy.linalg._solving import tensorinv as tensorinv
from jax.numpy.linalg._solving import tensorsolve as tensorsolve
from jax.numpy.linalg._standard import cross as cross
from jax.numpy.linalg._standard import diagonal as diagonal
from jax.numpy.linalg._standard import matmul as matmul
from jax.numpy.linalg._standard import matrix_transpose as matrix_transpose
from jax.numpy.linalg._standard import multi_dot as multi_dot
from jax.numpy.linalg._standard import outer as outer
from jax.numpy.linalg._standard import tensordot as tensordot
from jax.numpy.linalg._standard import trace as trace
from jax.numpy.linalg._standard import vecdot as vecdot

_make_boundaries(globals())
