"""View on the default random generator."""

from jax.random._impls import threefry2x32_p as threefry2x32_p
from jax.random._impls import threefry_fold_in as threefry_fold_in
from jax.random._impls import threefry_random_bits as threefry_random_bits
from jax.random._impls import threefry_seed as threefry_seed
from jax.random._impls import threefry_split as threefry_split
