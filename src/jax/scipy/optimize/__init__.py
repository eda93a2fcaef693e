"""``jax.scipy.optimize``: minimisation of functions of several variables. An index."""

from jax.scipy.optimize._minimize import OptimizeResults as OptimizeResults
from jax.scipy.optimize._minimize import minimize as minimize
