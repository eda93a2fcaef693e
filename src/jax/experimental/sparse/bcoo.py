"""The BCOO format: batches of arrays in coordinate format. An index."""

from jax.experimental._reexports import reexporting
from jax.experimental.sparse import _bcoo_operators as _bcoo_operators
from jax.experimental.sparse._bcoo_layout import BCOO as BCOO
from jax.experimental.sparse._bcoo_layout import BCOOProperties as BCOOProperties
from jax.experimental.sparse._bcoo_layout import Buffer as Buffer
from jax.experimental.sparse._bcoo_layout import bcoo_eliminate_zeros as bcoo_eliminate_zeros
from jax.experimental.sparse._bcoo_layout import bcoo_extract as bcoo_extract
from jax.experimental.sparse._bcoo_layout import bcoo_fromdense as bcoo_fromdense
from jax.experimental.sparse._bcoo_layout import bcoo_sort_indices as bcoo_sort_indices
from jax.experimental.sparse._bcoo_layout import bcoo_sum_duplicates as bcoo_sum_duplicates
from jax.experimental.sparse._bcoo_layout import bcoo_todense as bcoo_todense
from jax.experimental.sparse._bcoo_layout import bcoo_update_layout as bcoo_update_layout
from jax.experimental.sparse._bcoo_products import bcoo_conv_general_dilated as bcoo_conv_general_dilated
from jax.experimental.sparse._bcoo_products import bcoo_dot_general as bcoo_dot_general
from jax.experimental.sparse._bcoo_products import bcoo_dot_general_sampled as bcoo_dot_general_sampled
from jax.experimental.sparse._bcoo_products import bcoo_multiply_dense as bcoo_multiply_dense
from jax.experimental.sparse._bcoo_products import bcoo_multiply_sparse as bcoo_multiply_sparse
from jax.experimental.sparse._bcoo_shape import bcoo_broadcast_in_dim as bcoo_broadcast_in_dim
from jax.experimental.sparse._bcoo_shape import bcoo_concatenate as bcoo_concatenate
from jax.experimental.sparse._bcoo_shape import bcoo_dynamic_slice as bcoo_dynamic_slice
from jax.experimental.sparse._bcoo_shape import bcoo_gather as bcoo_gather
from jax.experimental.sparse._bcoo_shape import bcoo_reduce_sum as bcoo_reduce_sum
from jax.experimental.sparse._bcoo_shape import bcoo_reshape as bcoo_reshape
from jax.experimental.sparse._bcoo_shape import bcoo_rev as bcoo_rev
from jax.experimental.sparse._bcoo_shape import bcoo_slice as bcoo_slice
from jax.experimental.sparse._bcoo_shape import bcoo_squeeze as bcoo_squeeze
from jax.experimental.sparse._bcoo_shape import bcoo_transpose as bcoo_transpose

__getattr__ = reexporting(__name__, "ad api_util batching config core dispatch jnp lax mlir pe tree_util")
