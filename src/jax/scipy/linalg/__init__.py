"""``jax.scipy.linalg``: SciPy's linear algebra on JAX arrays. An index; one line for each name.

What SciPy raises ``LinAlgError`` for gives infinities or NaN here, as values are not known while tracing.
"""

from jax.scipy.linalg._factors import eigh as eigh
from jax.scipy.linalg._factors import eigh_tridiagonal as eigh_tridiagonal
from jax.scipy.linalg._factors import hessenberg as hessenberg
from jax.scipy.linalg._factors import lu as lu
from jax.scipy.linalg._factors import polar as polar
from jax.scipy.linalg._factors import qr as qr
from jax.scipy.linalg._factors import qr_multiply as qr_multiply
from jax.scipy.linalg._factors import rsf2csf as rsf2csf
from jax.scipy.linalg._factors import schur as schur
from jax.scipy.linalg._factors import svd as svd
from jax.scipy.linalg._functions import expm as expm
from jax.scipy.linalg._functions import expm_frechet as expm_frechet
from jax.scipy.linalg._functions import funm as funm
from jax.scipy.linalg._functions import solve_sylvester as solve_sylvester
from jax.scipy.linalg._functions import sqrtm as sqrtm
from jax.scipy.linalg._solving import cho_factor as cho_factor
from jax.scipy.linalg._solving import cho_solve as cho_solve
from jax.scipy.linalg._solving import cholesky as cholesky
from jax.scipy.linalg._solving import det as det
from jax.scipy.linalg._solving import inv as inv
from jax.scipy.linalg._solving import lu_factor as lu_factor
from jax.scipy.linalg._solving import lu_solve as lu_solve
from jax.scipy.linalg._solving import solve as solve
from jax.scipy.linalg._solving import solve_triangular as solve_triangular
from jax.scipy.linalg._structured import block_diag as block_diag
from jax.scipy.linalg._structured import circulant as circulant
from jax.scipy.linalg._structured import companion as companion
from jax.scipy.linalg._structured import convolution_matrix as convolution_matrix
from jax.scipy.linalg._structured import dft as dft
from jax.scipy.linalg._structured import fiedler as fiedler
from jax.scipy.linalg._structured import fiedler_companion as fiedler_companion
from jax.scipy.linalg._structured import hadamard as hadamard
from jax.scipy.linalg._structured import hankel as hankel
from jax.scipy.linalg._structured import helmert as helmert
from jax.scipy.linalg._structured import hilbert as hilbert
from jax.scipy.linalg._structured import invhilbert as invhilbert
from jax.scipy.linalg._structured import invpascal as invpascal
from jax.scipy.linalg._structured import leslie as leslie
from jax.scipy.linalg._structured import pascal as pascal
from jax.scipy.linalg._structured import toeplitz as toeplitz
