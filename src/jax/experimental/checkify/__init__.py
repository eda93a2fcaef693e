"""Checks at run time in functions that are compiled, differentiated and batched.

:func:`checkify` makes of a function one that returns an error beside its result; :func:`check` states conditions.
"""

from jax.experimental.checkify import _automatic, _calls, _control, _parts  # noqa: F401  (they enter their rules)
from jax.experimental.checkify._check import check as check
from jax.experimental.checkify._check import check_error as check_error
from jax.experimental.checkify._check import debug_check as debug_check
from jax.experimental.checkify._errors import BatchedError as BatchedError
from jax.experimental.checkify._errors import DivisionByZeroError as DivisionByZeroError
from jax.experimental.checkify._errors import Error as Error
from jax.experimental.checkify._errors import ErrorCategory as ErrorCategory
from jax.experimental.checkify._errors import FailedCheckError as FailedCheckError
from jax.experimental.checkify._errors import JaxException as JaxException
from jax.experimental.checkify._errors import JaxRuntimeError as JaxRuntimeError
from jax.experimental.checkify._errors import NaNError as NaNError
from jax.experimental.checkify._errors import OOBError as OOBError
from jax.experimental.checkify._errors import all_checks as all_checks
from jax.experimental.checkify._errors import automatic_checks as automatic_checks
from jax.experimental.checkify._errors import div_checks as div_checks
from jax.experimental.checkify._errors import float_checks as float_checks
from jax.experimental.checkify._errors import index_checks as index_checks
from jax.experimental.checkify._errors import init_error as init_error
from jax.experimental.checkify._errors import nan_checks as nan_checks
from jax.experimental.checkify._errors import user_checks as user_checks
from jax.experimental.checkify._interpret import checkify as checkify
