"""Options that decide how programs are traced and transformed, and what their types record."""

from __future__ import annotations

from jax._base import option as _o
from jax._base._jaxlib import jax_jit as _jax_jit

disable_jit = _o.declare(
    "jax_disable_jit",
    False,
    _o.BOOL,
    "Run functions under jit (and the bodies of structured control flow) as plain Python, for debugging.",
    traced=True,
    class_=_o.Switch,
)
_jax_jit.set_disable_jit_state(disable_jit)

check_tracer_leaks = _o.declare(
    "jax_check_tracer_leaks",
    False,
    _o.BOOL,
    "When a trace ends, look for tracers of it that are still alive and raise with where they were made. "
    "Slow.",
    jit_key=True,
)
enable_checks = _o.declare(
    "jax_enable_checks",
    False,
    _o.BOOL,
    "Typecheck every jaxpr that is made, and check internal invariants. Slow.",
)
no_tracing = _o.declare(
    "jax_no_tracing",
    False,
    _o.BOOL,
    "Raise where a function under jit would be traced anew: guards code that must not recompile.",
)
no_execution = _o.declare(
    "jax_no_execution",
    False,
    _o.BOOL,
    "Raise where a compiled program would run: guards code that should only trace.",
    jit_key=True,
)
eager_constant_folding = _o.declare(
    "eager_constant_folding",
    False,
    _o.BOOL,
    "Evaluate operations on constants while tracing instead of recording them.",
    traced=True,
)
mutable_array_checks = _o.declare(
    "jax_mutable_array_checks",
    True,
    _o.BOOL,
    "Check that mutable arrays are neither aliased nor leaked out of the function that made them.",
    traced=True,
)
captured_constants_warn_bytes = _o.declare(
    "jax_captured_constants_warn_bytes",
    2_000_000_000,
    _o.INT,
    "Warn when the arrays that a compiled function closes over exceed this many bytes together; -1 never "
    "warns.",
)
captured_constants_report_frames = _o.declare(
    "jax_captured_constants_report_frames",
    0,
    _o.INT,
    "How many stack frames that warning shows for each captured array; 0 for none, -1 for all.",
)
embedded_constants_max_bytes = _o.declare(
    "jax_embedded_constants_max_bytes",
    32,
    _o.INT,
    "Closed-over arrays of at most this many bytes are written into the module as literals; larger ones "
    "become arguments of the executable.",
    traced=True,
)
log_checkpoint_residuals = _o.declare(
    "jax_log_checkpoint_residuals",
    False,
    _o.BOOL,
    "Log what jax.checkpoint saves and what it recomputes, each time it decides.",
)
disable_bwd_checks = _o.declare(
    "jax_disable_bwd_checks",
    False,
    _o.BOOL,
    "Skip the check that a custom_vjp's backward function returns cotangents of the primal types.",
    traced=True,
)
use_direct_linearize = _o.declare(
    "jax_use_direct_linearize",
    True,
    _o.BOOL,
    "Linearize in one pass.",
    traced=True,
    inert="there is only that pass.",
)
use_simplified_jaxpr_constants = _o.declare(
    "jax_use_simplified_jaxpr_constants",
    False,
    _o.BOOL,
    "Keep closed-over arrays as literals in jaxprs.",
    traced=True,
    inert="where a constant lives in a jaxpr is fixed.",
)
scan3 = _o.declare(
    "jax_scan3", False, _o.BOOL, "Another implementation of scan.", traced=True, inert="there is one."
)
remat3 = _o.declare(
    "jax_remat3", False, _o.BOOL, "Another implementation of checkpoint.", traced=True, inert="there is one."
)
remat_barrier_no_cotangents = _o.declare(
    "jax_remat_barrier_no_cotangents",
    False,
    _o.BOOL,
    "Keep cotangents out of the barrier that holds checkpoint's recomputation back.",
    traced=True,
)
custom_jvp3 = _o.declare(
    "jax_custom_jvp3",
    False,
    _o.BOOL,
    "Another implementation of custom_jvp.",
    traced=True,
    inert="there is one.",
)
custom_vjp3 = _o.declare(
    "jax_custom_vjp3",
    False,
    _o.BOOL,
    "Another implementation of custom_vjp.",
    traced=True,
    inert="there is one.",
)
use_rgv3 = _o.declare(
    "jax_use_rgv3", True, _o.BOOL, "A form of replica groups in collectives.", traced=True,
    inert="the form follows the jaxlib in use.",
)  # fmt: skip
use_emit_pipeline_primitive = _o.declare(
    "jax_use_emit_pipeline_primitive",
    False,
    _o.BOOL,
    "Keep a Pallas pipeline as one operation of the jaxpr.",
    traced=True,
    inert="pipelines are traced through.",
)

# --- meshes and types ---------------------------------------------------------------------------------------

check_vma = _o.declare(
    "check_vma",
    False,
    _o.BOOL,
    "Record in the types inside shard_map along which mesh axes a value varies, and check it.",
    traced=True,
)
auto_pcast = _o.declare(
    "jax_auto_pcast",
    True,
    _o.BOOL,
    "Insert the casts that make operands vary along the same mesh axes.",
    traced=True,
)
remove_size_one_mesh_axis_from_type = _o.declare(
    "jax_remove_size_one_mesh_axis_from_type",
    False,
    _o.BOOL,
    "Leave mesh axes of size one out of the shardings that types record.",
    traced=True,
)
disallow_mesh_context_manager = _o.declare(
    "jax_disallow_mesh_context_manager",
    False,
    _o.BOOL,
    "Refuse `with mesh:`, so that only jax.set_mesh and jax.sharding.use_mesh set the current mesh.",
)
disable_vmap_shmap_error = _o.declare(
    "jax_disable_vmap_shmap_error",
    False,
    _o.BOOL,
    "Let vmap with spmd_axis_name pass over shard_map even where the axis is already used inside.",
)
raise_on_ppermute_sort_diff = _o.declare(
    "jax_raise_on_ppermute_sort_diff",
    True,
    _o.BOOL,
    "Raise when the same ppermute lists its pairs in different orders in different processes.",
)
use_shardy_partitioner = _o.declare(
    "jax_use_shardy_partitioner",
    True,
    _o.BOOL,
    "Write shardings in the Shardy dialect and partition with it; off, GSPMD.",
    traced=True,
)
use_cpp_shard_args = _o.declare(
    "jax_use_cpp_shard_args",
    False,
    _o.BOOL,
    "Place arguments of compiled calls in C++ where jaxlib can.",
)
