"""Random numbers from explicit keys.

A key made by :func:`key` determines all that is drawn from it; :func:`split` and :func:`fold_in` make new keys. The same
key gives the same numbers on every device, and under every transformation.
"""

from typing import Any as _Any

from jax._base.source import make_boundaries as _make_boundaries
from jax._dispatch.checks import key_followers as _key_followers
from jax.random._continuous import cauchy as cauchy
from jax.random._continuous import double_sided_maxwell as double_sided_maxwell
from jax.random._continuous import exponential as exponential
from jax.random._continuous import gumbel as gumbel
from jax.random._continuous import laplace as laplace
from jax.random._continuous import logistic as logistic
from jax.random._continuous import lognormal as lognormal
from jax.random._continuous import maxwell as maxwell
from jax.random._continuous import pareto as pareto
from jax.random._continuous import rayleigh as rayleigh
from jax.random._continuous import triangular as triangular
from jax.random._continuous import truncated_normal as truncated_normal
from jax.random._continuous import wald as wald
from jax.random._continuous import weibull_min as weibull_min
from jax.random._counting import binomial as binomial
from jax.random._counting import geometric as geometric
from jax.random._counting import multinomial as multinomial
from jax.random._counting import poisson as poisson
from jax.random._discrete import categorical as categorical
from jax.random._discrete import choice as choice
from jax.random._discrete import permutation as permutation
from jax.random._gamma import ball as ball
from jax.random._gamma import beta as beta
from jax.random._gamma import chisquare as chisquare
from jax.random._gamma import dirichlet as dirichlet
from jax.random._gamma import f as f
from jax.random._gamma import gamma as gamma
from jax.random._gamma import generalized_normal as generalized_normal
from jax.random._gamma import loggamma as loggamma
from jax.random._gamma import random_gamma_p as random_gamma_p
from jax.random._gamma import t as t
from jax.random._keys import PRNGKey as PRNGKey
from jax.random._keys import clone as clone
from jax.random._keys import fold_in as fold_in
from jax.random._keys import key as key
from jax.random._keys import key_data as key_data
from jax.random._keys import key_dtype as key_dtype
from jax.random._keys import key_impl as key_impl
from jax.random._keys import split as split
from jax.random._keys import wrap_key_data as wrap_key_data
from jax.random._multivariate import multivariate_normal as multivariate_normal
from jax.random._multivariate import orthogonal as orthogonal
from jax.random._uniform import bernoulli as bernoulli
from jax.random._uniform import bits as bits
from jax.random._uniform import normal as normal
from jax.random._uniform import rademacher as rademacher
from jax.random._uniform import randint as randint
from jax.random._uniform import uniform as uniform


def _follow_call(*call: _Any) -> _Any:
    from jax.random import _following  # only under jax_debug_key_reuse
    return _following.follow_call(*call)


_key_followers.append(_follow_call)

_make_boundaries(globals())
