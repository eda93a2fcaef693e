"""``jax.experimental.sparse``: sparse arrays that pass through ``jit``, ``grad`` and ``vmap``. An index.

BCOO is the format for everything: batches of arrays in coordinate format, with arithmetic, indexing, products, and
:func:`sparsify` for functions of dense arrays. BCSR, CSR, CSC and COO store matrices; products with arrays are defined for
them. :func:`grad` and kin differentiate with respect to what is stored.
"""

from jax.experimental.sparse import linalg as linalg
from jax.experimental.sparse._formats import JAXSparse as JAXSparse
from jax.experimental.sparse.ad import grad as grad
from jax.experimental.sparse.ad import jacfwd as jacfwd
from jax.experimental.sparse.ad import jacobian as jacobian
from jax.experimental.sparse.ad import jacrev as jacrev
from jax.experimental.sparse.ad import value_and_grad as value_and_grad
from jax.experimental.sparse.api import empty as empty
from jax.experimental.sparse.api import eye as eye
from jax.experimental.sparse.api import todense as todense
from jax.experimental.sparse.bcoo import BCOO as BCOO
from jax.experimental.sparse.bcoo import bcoo_broadcast_in_dim as bcoo_broadcast_in_dim
from jax.experimental.sparse.bcoo import bcoo_concatenate as bcoo_concatenate
from jax.experimental.sparse.bcoo import bcoo_conv_general_dilated as bcoo_conv_general_dilated
from jax.experimental.sparse.bcoo import bcoo_dot_general as bcoo_dot_general
from jax.experimental.sparse.bcoo import bcoo_dot_general_sampled as bcoo_dot_general_sampled
from jax.experimental.sparse.bcoo import bcoo_dynamic_slice as bcoo_dynamic_slice
from jax.experimental.sparse.bcoo import bcoo_extract as bcoo_extract
from jax.experimental.sparse.bcoo import bcoo_fromdense as bcoo_fromdense
from jax.experimental.sparse.bcoo import bcoo_gather as bcoo_gather
from jax.experimental.sparse.bcoo import bcoo_multiply_dense as bcoo_multiply_dense
from jax.experimental.sparse.bcoo import bcoo_multiply_sparse as bcoo_multiply_sparse
from jax.experimental.sparse.bcoo import bcoo_reduce_sum as bcoo_reduce_sum
from jax.experimental.sparse.bcoo import bcoo_reshape as bcoo_reshape
from jax.experimental.sparse.bcoo import bcoo_rev as bcoo_rev
from jax.experimental.sparse.bcoo import bcoo_slice as bcoo_slice
from jax.experimental.sparse.bcoo import bcoo_sort_indices as bcoo_sort_indices
from jax.experimental.sparse.bcoo import bcoo_squeeze as bcoo_squeeze
from jax.experimental.sparse.bcoo import bcoo_sum_duplicates as bcoo_sum_duplicates
from jax.experimental.sparse.bcoo import bcoo_todense as bcoo_todense
from jax.experimental.sparse.bcoo import bcoo_transpose as bcoo_transpose
from jax.experimental.sparse.bcoo import bcoo_update_layout as bcoo_update_layout
from jax.experimental.sparse.bcsr import BCSR as BCSR
from jax.experimental.sparse.bcsr import bcsr_broadcast_in_dim as bcsr_broadcast_in_dim
from jax.experimental.sparse.bcsr import bcsr_concatenate as bcsr_concatenate
from jax.experimental.sparse.bcsr import bcsr_dot_general as bcsr_dot_general
from jax.experimental.sparse.bcsr import bcsr_extract as bcsr_extract
from jax.experimental.sparse.bcsr import bcsr_fromdense as bcsr_fromdense
from jax.experimental.sparse.bcsr import bcsr_sum_duplicates as bcsr_sum_duplicates
from jax.experimental.sparse.bcsr import bcsr_todense as bcsr_todense
from jax.experimental.sparse.coo import COO as COO
from jax.experimental.sparse.coo import coo_fromdense as coo_fromdense
from jax.experimental.sparse.coo import coo_matmat as coo_matmat
from jax.experimental.sparse.coo import coo_matvec as coo_matvec
from jax.experimental.sparse.coo import coo_todense as coo_todense
from jax.experimental.sparse.csr import CSC as CSC
from jax.experimental.sparse.csr import CSR as CSR
from jax.experimental.sparse.csr import csr_fromdense as csr_fromdense
from jax.experimental.sparse.csr import csr_matmat as csr_matmat
from jax.experimental.sparse.csr import csr_matvec as csr_matvec
from jax.experimental.sparse.csr import csr_todense as csr_todense
from jax.experimental.sparse.random import random_bcoo as random_bcoo
from jax.experimental.sparse.transform import SparseTracer as SparseTracer
from jax.experimental.sparse.transform import sparsify as sparsify
from jax.experimental.sparse.util import CuSparseEfficiencyWarning as CuSparseEfficiencyWarning
from jax.experimental.sparse.util import SparseEfficiencyError as SparseEfficiencyError
from jax.experimental.sparse.util import SparseEfficiencyWarning as SparseEfficiencyWarning
