"""View on :mod:`jax.dtypes`."""

from __future__ import annotations

from jax.dtypes import DType as DType
from jax.dtypes import ExtendedDType as ExtendedDType
from jax.dtypes import TypePromotionError as TypePromotionError
from jax.dtypes import bfloat16 as bfloat16
from jax.dtypes import canonicalize_dtype as canonicalize_dtype
from jax.dtypes import dtype as dtype
from jax.dtypes import extended as extended
from jax.dtypes import finfo as finfo
from jax.dtypes import float0 as float0
from jax.dtypes import iinfo as iinfo
from jax.dtypes import is_weakly_typed as is_weakly_typed
from jax.dtypes import isdtype as isdtype
from jax.dtypes import issubdtype as issubdtype
from jax.dtypes import prng_key as prng_key
from jax.dtypes import promote_types as promote_types
from jax.dtypes import result_type as result_type
from jax.dtypes import supports_inf as supports_inf
from jax.dtypes import to_complex_dtype as to_complex_dtype
from jax.dtypes import to_inexact_dtype as to_inexact_dtype
