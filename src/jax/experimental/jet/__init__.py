"""Taylor-mode differentiation: values and derivatives of higher order along curves, in one evaluation.

``jet`` is the function. The rules of primitives are in ``jet_rules``: ``def_deriv``, ``deflinear``, ``defzero`` and
``def_comp`` enter some; a rule of another kind is ``rule(primals, series, **params) -> (out, series of out)``. A primitive
with a jvp rule needs none.
"""

import importlib as _importlib
from typing import Any as _Any

from jax.experimental.jet._function import jet as jet
from jax.experimental.jet._rules import def_comp as def_comp
from jax.experimental.jet._rules import def_deriv as def_deriv
from jax.experimental.jet._rules import deflinear as deflinear
from jax.experimental.jet._rules import defzero as defzero
from jax.experimental.jet._rules import deriv_prop as deriv_prop
from jax.experimental.jet._rules import fact as fact
from jax.experimental.jet._rules import linear_prop as linear_prop
from jax.experimental.jet._rules import zero_prop as zero_prop
from jax.experimental.jet._series import JetTrace as JetTrace
from jax.experimental.jet._series import JetTracer as JetTracer
from jax.experimental.jet._series import ZeroSeries as ZeroSeries
from jax.experimental.jet._series import ZeroTerm as ZeroTerm
from jax.experimental.jet._series import jet_rules as jet_rules
from jax.experimental.jet._series import zero_series as zero_series
from jax.experimental.jet._series import zero_term as zero_term

# Modules that are known to be looked for here.
_modules = {
    "ad_util": "jax._src.ad_util", "api_util": "jax.api_util", "core": "jax.core", "dispatch": "jax._src.dispatch",
    "jnp": "jax.numpy", "lax": "jax.lax", "lax_internal": "jax.lax", "lu": "jax.extend.linear_util",
    "pe": "jax.interpreters.partial_eval", "pjit": "jax._src.pjit", "sharding_impls": "jax._src.sharding_impls",
}


def __getattr__(name: str) -> _Any:
    if name in _modules:
        return _importlib.import_module(_modules[name])
    raise AttributeError(f"module 'jax.experimental.jet' has no attribute {name!r}")


__all__ = ["jet"]
