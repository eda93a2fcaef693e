"""JAX, implemented independently on XLA: composable transformations of NumPy-like programs.

This package is fleetjax, an implementation of the JAX API written from scratch. ``jax.numpy`` has the array functions,
``jax.lax`` the primitives below them; ``jit``, ``grad`` and ``vmap`` transform functions of arrays.
"""

import importlib as _importlib
from typing import Any as _Any

from jax._api.forward import jvp as jvp
from jax._api.grad import grad as grad
from jax._api.grad import value_and_grad as value_and_grad
from jax._api.jit import jit as jit
from jax._api.linear import linear_transpose as linear_transpose
from jax._api.linear import linearize as linearize
from jax._api.placement import block_until_ready as block_until_ready
from jax._api.placement import copy_to_host_async as copy_to_host_async
from jax._api.placement import device_get as device_get
from jax._api.placement import device_put as device_put
from jax._api.placement import device_put_replicated as device_put_replicated
from jax._api.placement import device_put_sharded as device_put_sharded
from jax._api.placement import live_arrays as live_arrays
from jax._api.reverse import fwd_and_bwd as fwd_and_bwd
from jax._api.reverse import vjp as vjp
from jax._api.staged import ensure_compile_time_eval as ensure_compile_time_eval
from jax._api.staged import eval_shape as eval_shape
from jax._api.staged import make_jaxpr as make_jaxpr
from jax._api.staged import named_call as named_call
from jax._api.vmap import vmap as vmap
from jax._base._jaxlib import Array as Array
from jax._base._jaxlib import Device as Device
from jax._base.caching import clear_caches as clear_caches
from jax._base.config import allow_f16_reductions as allow_f16_reductions
from jax._base.config import array_garbage_collection_guard as array_garbage_collection_guard
from jax._base.config import auto_pcast as auto_pcast
from jax._base.config import check_tracer_leaks as check_tracer_leaks
from jax._base.config import checking_leaks as checking_leaks
from jax._base.config import config as config
from jax._base.config import debug_infs as debug_infs
from jax._base.config import debug_key_reuse as debug_key_reuse
from jax._base.config import debug_nans as debug_nans
from jax._base.config import default_device as default_device
from jax._base.config import default_matmul_precision as default_matmul_precision
from jax._base.config import default_prng_impl as default_prng_impl
from jax._base.config import disable_jit as disable_jit
from jax._base.config import enable_checks as enable_checks
from jax._base.config import enable_custom_prng as enable_custom_prng
from jax._base.config import enable_custom_vjp_by_custom_transpose as enable_custom_vjp_by_custom_transpose
from jax._base.config import enable_x64 as enable_x64
from jax._base.config import explain_cache_misses as explain_cache_misses
from jax._base.config import jax2tf_associative_scan_reductions as jax2tf_associative_scan_reductions
from jax._base.config import legacy_prng_key as legacy_prng_key
from jax._base.config import log_compiles as log_compiles
from jax._base.config import make_user_context as make_user_context
from jax._base.config import no_execution as no_execution
from jax._base.config import no_tracing as no_tracing
from jax._base.config import numpy_dtype_promotion as numpy_dtype_promotion
from jax._base.config import numpy_rank_promotion as numpy_rank_promotion
from jax._base.config import remove_size_one_mesh_axis_from_type as remove_size_one_mesh_axis_from_type
from jax._base.config import softmax_custom_jvp as softmax_custom_jvp
from jax._base.config import thread_guard as thread_guard
from jax._base.config import threefry_partitionable as threefry_partitionable
from jax._base.config import transfer_guard as transfer_guard
from jax._base.config import transfer_guard_device_to_device as transfer_guard_device_to_device
from jax._base.config import transfer_guard_device_to_host as transfer_guard_device_to_host
from jax._base.config import transfer_guard_host_to_device as transfer_guard_host_to_device
from jax._base.source import named_scope as named_scope
from jax._dispatch import eager as _eager  # noqa: F401  (installs the evaluation of operations on concrete values)
from jax._language.avals import typeof as typeof
from jax._runtime.backend import default_backend as default_backend
from jax._runtime.backend import device_count as device_count
from jax._runtime.backend import devices as devices
from jax._runtime.backend import local_device_count as local_device_count
from jax._runtime.backend import local_devices as local_devices
from jax._runtime.backend import process_count as process_count
from jax._runtime.backend import process_index as process_index
from jax._runtime.backend import process_indices as process_indices
from jax._runtime.execute import effects_barrier as effects_barrier
from jax.ad_checkpoint import checkpoint as checkpoint
from jax.ad_checkpoint import checkpoint_policies as checkpoint_policies
from jax.ad_checkpoint import remat as remat
from jax.custom_derivatives import closure_convert as closure_convert
from jax.custom_derivatives import custom_gradient as custom_gradient
from jax.custom_derivatives import custom_jvp as custom_jvp
from jax.custom_derivatives import custom_vjp as custom_vjp
from jax.dtypes import float0 as float0
from jax.sharding import NamedSharding as NamedSharding
from jax.sharding import PartitionSpec as P  # noqa: F401
from jax.stages import ShapeDtypeStruct as ShapeDtypeStruct
from jax.version import __version__ as __version__
from jax.version import __version_info__ as __version_info__

# Names that load on first use: subpackages, and functions that need jax.numpy.
_lazy_attributes = {
    "Ref": "jax.ref",
    "empty_ref": "jax.ref",
    "free_ref": "jax.ref",
    "freeze": "jax.ref",
    "new_ref": "jax.ref",
    "CompilerEffortLevel": "jax._api.compiler_levels",
    "Inline": "jax._api.statics",
    "Shard": "jax._runtime.array",
    "custom_remat": "jax._custom_remat",
    "ds": "jax._api.indexing",
    "get_abstract_mesh": "jax.sharding",
    "get_mesh": "jax.sharding",
    "hessian": "jax._jacobian",
    "host_count": "jax._api.environment",
    "host_id": "jax._api.environment",
    "host_ids": "jax._api.environment",
    "jacfwd": "jax._jacobian",
    "jacobian": "jax._jacobian",
    "jacrev": "jax._jacobian",
    "make_array_from_callback": "jax._api.assembly",
    "make_array_from_process_local_data": "jax._api.assembly",
    "make_array_from_single_device_arrays": "jax._api.assembly",
    "make_mesh": "jax._api.meshes",
    "pmap": "jax._spmd.pmap",
    "print_environment_info": "jax._api.environment",
    "pure_callback": "jax._callbacks.pure",
    "xla_computation": "jax._api.xla_computation",
    "reshard": "jax.sharding",
    "set_mesh": "jax.sharding",
    "shard_map": "jax._spmd.shard_map",
    "smap": "jax._spmd.shard_map",
    "spmd_mode": "jax._api.environment",
    "use_abstract_mesh": "jax.sharding",
}
_lazy_modules = frozenset({
    "_src",
    "ad",
    "ad_checkpoint",
    "api_util",
    "core",
    "custom_batching",
    "custom_derivatives",
    "custom_transpose",
    "debug",
    "distributed",
    "dlpack",
    "dtypes",
    "errors",
    "example_libraries",
    "experimental",
    "export",
    "extend",
    "ffi",
    "flatten_util",
    "image",
    "interpreters",
    "lax",
    "lib",
    "memory",
    "monitoring",
    "nn",
    "numpy",
    "ops",
    "profiler",
    "random",
    "ref",
    "scipy",
    "sharding",
    "stages",
    "tree",
    "tree_util",
    "typing",
    "util",
    "version",
})


def __getattr__(name: str) -> _Any:
    if name in _lazy_modules:
        return _importlib.import_module(f"jax.{name}")
    home = _lazy_attributes.get(name)
    if home:
        value = getattr(_importlib.import_module(home), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'jax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_lazy_attributes, *_lazy_modules})


_importlib.import_module("jax.numpy")  # gives arrays their operators and methods
