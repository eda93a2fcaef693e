"""``jax.export``: programs that outlive the process that made them.

``export(jax.jit(f))(*types)`` lowers a function to StableHLO, in a form that stays readable over versions, and gives an
:class:`Exported`. That can be called, differentiated, looked at and serialised; :func:`deserialize` reads it back, maybe in
another process, on another machine, under a later version.
"""

from jax.export._calls import call_exported_p as _call_exported_p  # noqa: F401  (its rules are entered)
from jax.export._checks import DisabledSafetyCheck as DisabledSafetyCheck
from jax.export._exported import Exported as Exported
from jax.export._exported import maximum_supported_calling_convention_version as maximum_supported_calling_convention_version
from jax.export._exported import minimum_supported_calling_convention_version as minimum_supported_calling_convention_version
from jax.export._making import default_export_platform as default_export_platform
from jax.export._making import export as export
from jax.export._reading import deserialize as deserialize
from jax.export._symbolic import SymbolicScope as SymbolicScope
from jax.export._symbolic import is_symbolic_dim as is_symbolic_dim
from jax.export._symbolic import symbolic_args_specs as symbolic_args_specs
from jax.export._symbolic import symbolic_dim_bounds as symbolic_dim_bounds
from jax.export._symbolic import symbolic_shape as symbolic_shape
from jax.export._trees import register_namedtuple_serialization as register_namedtuple_serialization
from jax.export._trees import register_pytree_node_serialization as register_pytree_node_serialization
