"""Options that decide which numbers come out: dtypes, precision, random streams, checks on values."""

from __future__ import annotations

import enum as _enum

from jax._base import option as _o
from jax._base._jaxlib import jax_jit as _jax_jit


class NumpyDtypePromotion(_enum.StrEnum):
    """How operands of different dtypes combine."""

    STANDARD = "standard"
    STRICT = "strict"


class LegacyPrngKeyState(_enum.StrEnum):
    """What happens to a raw uint32 key given to ``jax.random``."""

    ALLOW = "allow"
    WARN = "warn"
    ERROR = "error"


class ExplicitX64Mode(_enum.IntEnum):
    """What happens when a program names a 64-bit dtype while ``jax_enable_x64`` is off."""

    WARN = 1
    ERROR = 2
    ALLOW = 3


MATMUL_PRECISIONS = (
    "default", "high", "highest", "bfloat16", "tensorfloat32", "float32",
    "ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY", "ANY_F8_ANY_F8_ANY_FAST_ACCUM",
    "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16", "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6",
    "BF16_BF16_F32_X9", "TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64",
)  # fmt: skip

enable_x64 = _o.declare(
    "jax_enable_x64",
    False,
    _o.BOOL,
    "Keep 64-bit dtypes. While off, Python numbers and 64-bit inputs become their 32-bit counterparts.",
    traced=True,
)
_jax_jit.set_enable_x64_state(enable_x64)

explicit_x64_dtypes = _o.declare(
    "jax_explicit_x64_dtypes",
    ExplicitX64Mode.WARN,
    _o.member_of(ExplicitX64Mode),
    "What to do when a 64-bit dtype is asked for by name while jax_enable_x64 is off: 'warn' and use 32 "
    "bits, 'error', or 'allow' the 64-bit result.",
    traced=True,
)
numpy_dtype_promotion = _o.declare(
    "jax_numpy_dtype_promotion",
    NumpyDtypePromotion.STANDARD,
    _o.member_of(NumpyDtypePromotion),
    "'standard' combines operands of different dtypes by JAX's promotion lattice; 'strict' refuses unless "
    "the other operand is a Python scalar (weakly typed).",
    traced=True,
)
numpy_rank_promotion = _o.declare(
    "jax_numpy_rank_promotion",
    "allow",
    _o.one_of("allow", "warn", "raise"),
    "What jax.numpy does when operands of different ranks (scalars apart) would be broadcast together.",
    traced=True,
)
default_matmul_precision = _o.declare(
    "jax_default_matmul_precision",
    None,
    _o.optional(_o.one_of(*MATMUL_PRECISIONS)),
    "Precision of float32 matrix products and convolutions that name none: a general level, an input format "
    "or a dot algorithm. None leaves the choice to the platform.",
    traced=True,
)
allow_f16_reductions = _o.declare(
    "jax_allow_f16_reductions",
    True,
    _o.BOOL,
    "Let sums over float16 and bfloat16 accumulate in that dtype where the caller asked for it; off, they "
    "accumulate in float32.",
    traced=True,
)
softmax_custom_jvp = _o.declare(
    "jax_softmax_custom_jvp",
    False,
    _o.BOOL,
    "Differentiate jax.nn.softmax by a rule of its own that reuses the output.",
    traced=True,
    inert="softmax always has such a rule.",
)
enable_custom_vjp_by_custom_transpose = _o.declare(
    "jax_enable_custom_vjp_by_custom_transpose",
    False,
    _o.BOOL,
    "Build custom_vjp on custom_transpose.",
    inert="custom_vjp has one implementation here, whose results are the same.",
)

# --- random numbers -----------------------------------------------------------------------------------------

default_prng_impl = _o.declare(
    "jax_default_prng_impl",
    "threefry2x32",
    _o.one_of("threefry2x32", "threefry4x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32"),
    "Generator behind keys that name none.",
    traced=True,
)
random_seed_offset = _o.declare(
    "jax_random_seed_offset", 0, _o.INT, "Added to every integer seed given to jax.random.", traced=True
)
legacy_prng_key = _o.declare(
    "jax_legacy_prng_key",
    LegacyPrngKeyState.ALLOW,
    _o.member_of(LegacyPrngKeyState),
    "Whether raw uint32 keys are accepted by jax.random: 'allow', 'warn' or 'error'.",
)
enable_custom_prng = _o.declare(
    "jax_enable_custom_prng",
    False,
    _o.BOOL,
    "Make jax.random.PRNGKey return typed keys.",
    traced=True,
)
debug_key_reuse = _o.declare(
    "jax_debug_key_reuse",
    False,
    _o.BOOL,
    "Follow typed keys through programs and raise KeyReuseError where one is consumed twice.",
    traced=True,
)
threefry_partitionable = _o.declare(
    "jax_threefry_partitionable",
    True,
    _o.BOOL,
    "Generate threefry bits so that each element depends on its own position only, which shards without "
    "communication. Off gives the older streams.",
    traced=True,
)
threefry_gpu_kernel_lowering = _o.declare(
    "jax_threefry_gpu_kernel_lowering",
    False,
    _o.BOOL,
    "Lower threefry on GPUs to jaxlib's hand-written kernel: less to compile, no fusion.",
    traced=True,
)
high_dynamic_range_gumbel = _o.declare(
    "jax_high_dynamic_range_gumbel",
    False,
    _o.BOOL,
    "Draw Gumbel noise from twice as many bits, so that very rare events keep their probability.",
    traced=True,
)

# --- checks on values ---------------------------------------------------------------------------------------

debug_nans = _o.declare(
    "jax_debug_nans",
    False,
    _o.BOOL,
    "Look for NaN in the results of every operation and compiled call, and raise FloatingPointError naming "
    "the operation that made it.",
    jit_key=True,
)
debug_infs = _o.declare(
    "jax_debug_infs", False, _o.BOOL, "As jax_debug_nans, for infinities.", jit_key=True
)
error_checking_behavior_nan = _o.declare(
    "jax_error_checking_behavior_nan",
    "ignore",
    _o.one_of("ignore", "raise"),
    "Whether jax.numpy records a device-side error for results that are NaN (jax.experimental.error_check).",
    traced=True,
)
error_checking_behavior_divide = _o.declare(
    "jax_error_checking_behavior_divide",
    "ignore",
    _o.one_of("ignore", "raise"),
    "Whether jax.numpy records a device-side error for division by zero (jax.experimental.error_check).",
    traced=True,
)
error_checking_behavior_oob = _o.declare(
    "jax_error_checking_behavior_oob",
    "ignore",
    _o.one_of("ignore", "raise"),
    "Whether jax.numpy records a device-side error for indices out of bounds (jax.experimental.error_check).",
    traced=True,
)
check_static_indices = _o.declare(
    "jax_check_static_indices",
    False,
    _o.BOOL,
    "Raise when an index known while tracing is out of bounds.",
    traced=True,
)
use_hlo_logistic_lowering = _o.declare(
    "jax_use_hlo_logistic_lowering",
    None,
    _o.optional(_o.BOOL),
    "Lower logistic to one StableHLO operation (True) or spell it out (False); None lets the platform "
    "choose.",
    traced=True,
)
