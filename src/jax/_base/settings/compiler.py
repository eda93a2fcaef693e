"""Options of compilation: effort, the persistent cache, profile-guided scheduling, export."""

from __future__ import annotations

from jax._base import option as _o

_LEVELS = ("UNKNOWN", "O0", "O1", "O2", "O3")

optimization_level = _o.declare(
    "jax_optimization_level",
    "UNKNOWN",
    _o.one_of(*_LEVELS),
    "How hard the compiler tries to make programs fast. UNKNOWN is its own default.",
    traced=True,
)
memory_fitting_level = _o.declare(
    "jax_memory_fitting_level",
    "O2",
    _o.one_of(*_LEVELS),
    "How hard the compiler tries to make programs fit into memory.",
    traced=True,
)
exec_time_optimization_effort = _o.declare(
    "jax_exec_time_optimization_effort",
    0.0,
    _o.FLOAT,
    "Older, finer form of jax_optimization_level: between -1.0 and 1.0.",
    traced=True,
)
memory_fitting_effort = _o.declare(
    "jax_memory_fitting_effort",
    0.0,
    _o.FLOAT,
    "Older, finer form of jax_memory_fitting_level: between -1.0 and 1.0.",
    traced=True,
)
disable_most_optimizations = _o.declare(
    "jax_disable_most_optimizations",
    False,
    _o.BOOL,
    "Compile quickly rather than well: for tests and for programs that run once.",
    traced=True,
    process_wide=True,
    jit_key=True,
)
compiler_enable_remat_pass = _o.declare(
    "jax_compiler_enable_remat_pass",
    True,
    _o.BOOL,
    "Let the compiler recompute values to save memory.",
    traced=True,
)
cpu_fusion_fences = _o.declare(
    "jax_cpu_fusion_fences",
    True,
    _o.BOOL,
    "On CPUs, keep values that several operations would otherwise compute again, each for itself. Deep programs compile "
    "and run several times faster; results differ by rounding.",
    traced=True,
)
cpu_group_pieces = _o.declare(
    "jax_cpu_group_pieces",
    True,
    _o.BOOL,
    "On CPUs, compile programs of many small pieces, such as an array split in hundreds of parts or hundreds of numbers put "
    "together, with a few kernels instead of one for each piece. They compile several times faster.",
    traced=True,
)
cpu_radix_sort = _o.declare(
    "jax_cpu_radix_sort",
    True,
    _o.BOOL,
    "On CPUs, sort long rows by counting digits instead of comparing elements, several times as fast; results are the same.",
    traced=True,
)
cpu_sorting_networks = _o.declare(
    "jax_cpu_sorting_networks",
    True,
    _o.BOOL,
    "On CPUs, sort many rows of up to some thousand elements at once, by networks of comparisons in vector instructions, "
    "several times as fast; results are the same.",
    traced=True,
)
cpu_choose_matmul_library = _o.declare(
    "jax_cpu_choose_matmul_library",
    True,
    _o.BOOL,
    "On CPUs, have the matrices of a program multiplied by that one of XLA's libraries (YNN, Eigen) which suits their "
    "sizes, instead of always by the first.",
    traced=True,
)
cpu_fast_trigonometry = _o.declare(
    "jax_cpu_fast_trigonometry",
    True,
    _o.BOOL,
    "On CPUs, compute sine, cosine and tangent of large arrays with polynomials, many times as fast as the C library; "
    "errors stay within 0.6 ulp, 0.8 for the tangent, and of double precision within 0.8 and 1.6.",
    traced=True,
)
cpu_fast_convolutions = _o.declare(
    "jax_cpu_fast_convolutions",
    True,
    _o.BOOL,
    "On CPUs, write convolutions for which the compiler has no good code, those in groups, with kernels of one pixel and of "
    "long sequences, as sums of products, several convolutions or matrix products. Many times as fast, forwards and "
    "backwards; results differ by rounding.",
    traced=True,
)
experimental_unsafe_xla_runtime_errors = _o.declare(
    "jax_experimental_unsafe_xla_runtime_errors",
    False,
    _o.BOOL,
    "Let a program running on a device stop with an error of its own.",
    traced=True,
)
xla_profile_version = _o.declare(
    "jax_xla_profile_version",
    0,
    _o.INT,
    "Version of the profiles that the compiler looks up; 0 for the latest.",
    traced=True,
)

# --- the persistent cache -----------------------------------------------------------------------------------

enable_compilation_cache = _o.declare(
    "jax_enable_compilation_cache",
    True,
    _o.BOOL,
    "Keep compiled programs on disk, if jax_compilation_cache_dir says where.",
)
compilation_cache_dir = _o.declare(
    "jax_compilation_cache_dir",
    None,
    _o.optional(_o.PATH),
    "Directory of compiled programs. None keeps none.",
)
compilation_cache_max_size = _o.declare(
    "jax_compilation_cache_max_size",
    -1,
    _o.INT,
    "The most bytes kept there; the least recently used programs go first. -1 for no limit.",
)
compilation_cache_check_contents = _o.declare(
    "jax_compilation_cache_check_contents",
    False,
    _o.BOOL,
    "Compile even on a hit, and raise when the result differs from what is stored.",
)
compilation_cache_include_metadata_in_key = _o.declare(
    "jax_compilation_cache_include_metadata_in_key",
    False,
    _o.BOOL,
    "Let source locations and names of operations count when programs are looked up.",
)
compilation_cache_expect_pgle = _o.declare(
    "jax_compilation_cache_expect_pgle",
    False,
    _o.BOOL,
    "Expect to find programs compiled with a profile, and warn when only an unprofiled one is there.",
)
persistent_cache_min_compile_time_secs = _o.declare(
    "jax_persistent_cache_min_compile_time_secs",
    0.0,  # elsewhere 1: storing takes a thirtieth of the time of even the smallest compilation
    _o.FLOAT,
    "Programs that compile faster than this many seconds are not stored; 0 stores all.",
)
persistent_cache_min_entry_size_bytes = _o.declare(
    "jax_persistent_cache_min_entry_size_bytes",
    0,
    _o.INT,
    "Programs smaller than this are not stored; 0 and -1 store all.",
)
persistent_cache_enable_xla_caches = _o.declare(
    "jax_persistent_cache_enable_xla_caches",
    "xla_gpu_per_fusion_autotune_cache_dir",
    _o.optional(_o.STR),
    "Which of XLA's own caches go into the same directory: 'all', 'none', or names of XLA flags, "
    "comma-separated.",
)
raise_persistent_cache_errors = _o.declare(
    "jax_raise_persistent_cache_errors",
    False,
    _o.BOOL,
    "Raise on errors of the cache (a full disk, a broken entry) instead of warning and compiling.",
)
remove_custom_partitioning_ptr_from_cache_key = _o.declare(
    "jax_remove_custom_partitioning_ptr_from_cache_key",
    False,
    _o.BOOL,
    "Leave the addresses of custom_partitioning callbacks out of the key, so that such programs are found "
    "again by other processes.",
)
share_binary_between_hosts = _o.declare(
    "jax_share_binary_between_hosts",
    False,
    _o.BOOL,
    "Compile in one process and send the program to the others.",
)
share_binary_between_hosts_timeout_ms = _o.declare(
    "jax_share_binary_between_hosts_timeout_ms",
    20 * 60 * 1000,
    _o.INT,
    "How long the others wait for it, in milliseconds.",
)

# --- profile-guided scheduling ------------------------------------------------------------------------------

enable_pgle = _o.declare(
    "jax_enable_pgle",
    False,
    _o.BOOL,
    "Profile the first runs of a program and compile it again with the measured latencies (GPU).",
    traced=True,
)
pgle_profiling_runs = _o.declare(
    "jax_pgle_profiling_runs", 3, _o.INT, "How many runs are profiled for that.", traced=True
)
pgle_aggregation_percentile = _o.declare(
    "jax_pgle_aggregation_percentile", 90, _o.INT, "Percentile of the measured times that is used."
)

# --- export -------------------------------------------------------------------------------------------------

export_calling_convention_version = _o.declare(
    "jax_export_calling_convention_version",
    10,
    _o.INT,
    "Calling convention of programs made by jax.export.",
)
export_ignore_forward_compatibility = _o.declare(
    "jax_export_ignore_forward_compatibility",
    False,
    _o.BOOL,
    "Let exported programs use custom calls that older consumers do not know yet.",
)
export_deserialize_expired_versions = _o.declare(
    "jax_export_deserialize_expired_versions",
    False,
    _o.BOOL,
    "Read exported programs of calling conventions that are no longer supported.",
)
serialization_version = _o.declare(
    "jax_serialization_version",
    0,
    _o.INT,
    "Former name of jax_export_calling_convention_version.",
    inert="set jax_export_calling_convention_version.",
)
_JAX2TF = "jax2tf is not part of this library."
jax2tf_associative_scan_reductions = _o.declare(
    "jax2tf_associative_scan_reductions",
    False,
    _o.BOOL,
    "Cumulative reductions as associative scans in jax2tf.",
    inert=_JAX2TF,
)
jax2tf_default_native_serialization = _o.declare(
    "jax2tf_default_native_serialization", True, _o.BOOL, "Native serialization in jax2tf.", inert=_JAX2TF
)

# --- lowering choices on accelerators, Pallas ---------------------------------------------------------------

bcoo_cusparse_lowering = _o.declare(
    "jax_bcoo_cusparse_lowering",
    False,
    _o.BOOL,
    "Lower BCOO products on NVIDIA GPUs to cuSPARSE.",
    traced=True,
)
use_magma = _o.declare(
    "jax_use_magma",
    "auto",
    _o.one_of("off", "on", "auto"),
    "Whether jax.numpy.linalg.eig on GPUs uses MAGMA: 'auto' when it is installed.",
    traced=True,
)
ragged_dot_use_ragged_dot_instruction = _o.declare(
    "jax_ragged_dot_use_ragged_dot_instruction",
    True,
    _o.BOOL,
    "Lower ragged_dot on TPUs to the CHLO operation.",
    traced=True,
    inert="TPUs are not a platform of this library.",
)
_INTERPRETED = "kernels are interpreted, and not compiled by themselves."
ragged_dot_use_gpu_pallas_triton_lowering = _o.declare(
    "jax_ragged_dot_use_gpu_pallas_triton_lowering",
    False,
    _o.BOOL,
    "Lower ragged_dot on GPUs to a Pallas kernel.",
    traced=True,
    inert=_INTERPRETED,
)
pallas_enable_debug_checks = _o.declare(
    "jax_pallas_enable_debug_checks", False, _o.BOOL, "Run pl.debug_check at run time.", traced=True
)
pallas_poison_buffers = _o.declare(
    "jax_pallas_poison_buffers",
    False,
    _o.BOOL,
    "Fill Pallas scratch buffers with NaN when allocated.",
    traced=True,
    inert="interpreted kernels do so in any case.",
)
pallas_use_mosaic_gpu = _o.declare(
    "jax_pallas_use_mosaic_gpu",
    False,
    _o.BOOL,
    "Lower Pallas kernels on GPUs through Mosaic.",
    traced=True,
    inert=_INTERPRETED,
)
_MOSAIC_TPU = "it concerns Pallas on TPUs, which are not a platform of this library."
pallas_auto_assign_collective_ids = _o.declare(
    "jax_pallas_auto_assign_collective_ids", "no", _o.STR, "Number collective kernels.", inert=_MOSAIC_TPU
)
pallas_auto_assign_collective_ids_limit = _o.declare(
    "jax_pallas_auto_assign_collective_ids_limit", 25, _o.INT, "The highest such number.", inert=_MOSAIC_TPU
)
mosaic_allow_hlo = _o.declare(
    "jax_mosaic_allow_hlo", False, _o.BOOL, "Allow StableHLO inside Mosaic kernels.", inert=_MOSAIC_TPU
)
refs_to_pins = _o.declare(
    "jax_refs_to_pins", False, _o.BOOL, "Turn references into pinned buffers.", traced=True,
    inert="references are discharged before lowering.",
)  # fmt: skip
