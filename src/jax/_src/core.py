"""View on :mod:`jax.core` and :mod:`jax.extend.core`."""

from __future__ import annotations

from typing import Any

from jax._language.avals import AbstractToken as AbstractToken
from jax._language.avals import AbstractValue as AbstractValue
from jax._language.avals import ShapedArray as ShapedArray
from jax._language.avals import abstract_token as abstract_token
from jax._language.avals import aval_makers as pytype_aval_mappings  # noqa: F401
from jax._language.avals import physical_aval as physical_aval
from jax._language.avals import typeof as get_aval  # noqa: F401
from jax._language.avals import typeof as typeof
from jax._language.effects import Effect as Effect
from jax._language.effects import no_effects as no_effects
from jax._language.evaluation import eval_jaxpr as eval_jaxpr
from jax._language.evaluation import jaxpr_as_fun as jaxpr_as_fun
from jax._language.jaxpr import ClosedJaxpr as ClosedJaxpr
from jax._language.jaxpr import DebugInfo as DebugInfo
from jax._language.jaxpr import DropVar as DropVar
from jax._language.jaxpr import Jaxpr as Jaxpr
from jax._language.jaxpr import JaxprEqn as JaxprEqn
from jax._language.jaxpr import Literal as Literal
from jax._language.jaxpr import Var as Var
from jax._language.jaxpr import jaxprs_in_params as jaxprs_in_params
from jax._language.jaxpr import new_jaxpr_eqn as new_jaxpr_eqn
from jax._language.jaxpr import subjaxprs as subjaxprs
from jax._language.primitive import Primitive as Primitive
from jax._language.trace import Trace as Trace
from jax._language.trace import Tracer as Tracer
from jax._language.trace import TraceTag as TraceTag
from jax._language.trace import concrete_or_error as concrete_or_error
from jax._language.trace import entering as set_current_trace  # noqa: F401
from jax._language.trace import is_bottom as trace_state_clean  # noqa: F401
from jax._language.trace import take_current_trace as take_current_trace
from jax._language.typecheck import JaxprTypeError as JaxprTypeError
from jax._language.typecheck import check_jaxpr as check_jaxpr
from jax._transforms.batch_jaxpr import mapped_aval as mapped_aval
from jax._transforms.batch_jaxpr import unmapped_aval as unmapped_aval

Atom = Var | Literal


def full_lower(val: Any) -> Any:
    """``val``, as the value below the traces that do not concern it."""
    return val.full_lower() if isinstance(val, Tracer) else val
