"""``jax.core``: the parts of the language that libraries use by name."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from typing import Any

from jax._api.staged import ensure_compile_time_eval as ensure_compile_time_eval
from jax._language.avals import AbstractToken as AbstractToken
from jax._language.avals import AbstractValue as AbstractValue
from jax._language.avals import ShapedArray as ShapedArray
from jax._language.avals import aval_makers as pytype_aval_mappings  # noqa: F401
from jax._language.avals import typeof as get_aval  # noqa: F401
from jax._language.evaluation import eval_jaxpr as eval_jaxpr
from jax._language.jaxpr import Literal, Var
from jax._language.trace import Trace as Trace
from jax._language.trace import Tracer as Tracer
from jax._language.trace import bottom, entering, is_bottom

Atom = Var | Literal


@contextmanager
def eval_context() -> Any:
    """Operations inside run at once, on concrete values, whatever transformation is under way outside."""
    with entering(bottom):
        yield


def trace_state_clean() -> bool:
    """Whether no transformation is under way in this thread."""
    return is_bottom()


def is_constant_shape(shape: Any) -> bool:
    """Whether all sizes of a shape are integers, and none is symbolic."""
    return all(type(d) is int for d in shape)


def __getattr__(name: str) -> Any:
    # What has moved to jax.extend.core is still found here.
    if not name.startswith("_"):
        extend = importlib.import_module("jax.extend.core")
        if name in extend.__all__ or name in ("abstract_token", "primitives"):
            return getattr(extend, name)
    raise AttributeError(f"module 'jax.core' has no attribute {name!r}")


def max_dim(d1: Any, d2: Any) -> Any:
    """The larger of two dimensions."""
    return max(d1, d2)


def min_dim(d1: Any, d2: Any) -> Any:
    """The smaller of two dimensions."""
    return min(d1, d2)


__all__ = ["AbstractValue", "Atom", "ShapedArray", "Trace", "Tracer", "ensure_compile_time_eval", "eval_context",
           "eval_jaxpr", "max_dim", "min_dim", "trace_state_clean"]
