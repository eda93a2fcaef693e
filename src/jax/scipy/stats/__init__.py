"""``jax.scipy.stats``: distributions and descriptive statistics. Modules load when they are first used.

A distribution is a module of functions (``norm.logpdf``, ``poisson.pmf`` ...). Beyond the support densities are 0; NaN
stands for the result where a parameter is not one of the distribution's (a negative scale, say) and where an operand is
NaN. Float16 and bfloat16 are computed in float32.
"""

import importlib as _importlib
from typing import Any as _Any

_modules = frozenset({
    "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma", "gennorm", "geom",
    "gumbel_l", "gumbel_r", "laplace", "logistic", "multinomial", "multivariate_normal", "nbinom", "norm", "pareto",
    "poisson", "t", "truncnorm", "uniform", "vonmises", "wrapcauchy",
})
_homes = {"gaussian_kde": "_density_estimate", "mode": "_ranks", "rankdata": "_ranks", "sem": "_ranks"}


def __getattr__(name: str) -> _Any:
    if name in _modules:
        return _importlib.import_module(f"jax.scipy.stats.{name}")
    if name in _homes:
        return getattr(_importlib.import_module(f"jax.scipy.stats.{_homes[name]}"), name)
    raise AttributeError(f"module 'jax.scipy.stats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_modules, *_homes})
