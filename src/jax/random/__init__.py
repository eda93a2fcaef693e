"""Random numbers from explicit keys.

A key made by :func:`key` determines all that is drawn from it; :func:`split` and :func:`fold_in` make new keys. The same
key gives the same numbers on every device, and under every transformation.
"""

from jax.random._keys import PRNGKey as PRNGKey
from jax.random._keys import clone as clone
from jax.random._keys import fold_in as fold_in
from jax.random._keys import key as key
from jax.random._keys import key_data as key_data
from jax.random._keys import key_dtype as key_dtype
from jax.random._keys import key_impl as key_impl
from jax.random._keys import split as split
from jax.random._keys import wrap_key_data as wrap_key_data
from jax.random._uniform import bernoulli as bernoulli
from jax.random._uniform import bits as bits
from jax.random._uniform import normal as normal
from jax.random._uniform import rademacher as rademacher
from jax.random._uniform import randint as randint
from jax.random._uniform import uniform as uniform
