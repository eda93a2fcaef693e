"""Options about devices, transfers, memory and processes."""

from __future__ import annotations

from typing import Any as _Any

from jax._base import option as _o
from jax._base._jaxlib import Device as _Device
from jax._base._jaxlib import Sharding as _Sharding
from jax._base._jaxlib import guard_lib as _guards
from jax._base.settings import _memory


def _parse_device(value: _Any) -> _Any:
    if isinstance(value, (str, _Device)) or hasattr(value, "device_kind"):
        return value
    if isinstance(value, _Sharding) and len(value.device_set) == 1:
        return value
    raise ValueError


_DEVICE = _o.Kind("a device (jax.devices()[0]), a sharding of one device or the name of a platform ('cpu', 'gpu')",
                  _parse_device, str)

platforms = _o.declare(
    "jax_platforms",
    None,
    _o.optional(_o.STR),
    "Comma-separated platforms that may be used, the default one first. None tries accelerators, then the "
    "CPU.",
    process_wide=True,
    read_late=True,
)
platform_name = _o.declare(
    "jax_platform_name", "", _o.STR, "Former way to choose the default platform; use jax_platforms.",
    process_wide=True,
)  # fmt: skip
xla_backend = _o.declare(
    "jax_xla_backend", "", _o.STR, "Former name of jax_platforms.", process_wide=True,
    inert="use jax_platforms.",
)  # fmt: skip
backend_target = _o.declare(
    "jax_backend_target", "", _o.STR, "Address of a remote compiler service.", process_wide=True,
    inert="there is no such service; programs run on local devices.",
)  # fmt: skip
default_device = _o.declare(
    "jax_default_device",
    None,
    _o.optional(_DEVICE),
    "Where arrays are made and programs run when no argument says otherwise. None is the first device of the "
    "default platform.",
    traced=True,
)
pjrt_client_create_options = _o.declare(
    "jax_pjrt_client_create_options",
    None,
    _o.optional(_o.STR),
    "Options for the platform's PJRT client, as 'name:value;name:value'.",
    process_wide=True,
)
cuda_visible_devices = _o.declare(
    "jax_cuda_visible_devices", "all", _o.STR, "Which NVIDIA GPUs to use: 'all' or comma-separated numbers.",
    process_wide=True,
)  # fmt: skip
rocm_visible_devices = _o.declare(
    "jax_rocm_visible_devices", "all", _o.STR, "Which AMD GPUs to use: 'all' or comma-separated numbers.",
    process_wide=True,
)  # fmt: skip
oneapi_visible_devices = _o.declare(
    "jax_oneapi_visible_devices", "all", _o.STR, "Which Intel GPUs to use: 'all' or comma-separated numbers.",
    process_wide=True,
)  # fmt: skip
num_cpu_devices = _o.declare(
    "jax_num_cpu_devices",
    -1,
    _o.INT,
    "How many devices the CPU shows itself as; -1 is one, or what XLA_FLAGS says. Set it before first use.",
    process_wide=True,
)
cpu_enable_async_dispatch = _o.declare(
    "jax_cpu_enable_async_dispatch",
    True,
    _o.BOOL,
    "Run programs on the CPU in the background; off, calls return when the result is there.",
    process_wide=True,
)
mock_num_gpu_processes = _o.declare(
    "mock_num_gpu_processes", 0, _o.INT, "Pretend that this many processes hold GPUs; 0 for none.",
    process_wide=True,
)  # fmt: skip
mock_gpu_topology = _o.declare(
    "jax_mock_gpu_topology",
    "",
    _o.STR,
    "Pretend a GPU cluster: 'slices x hosts per slice x devices per host'.",
    process_wide=True,
)  # fmt: skip
sort_devices_by_process_index = _o.declare(
    "jax_sort_devices_by_process_index",
    True,
    _o.BOOL,
    "List devices process by process; off, by their ids alone.",
    process_wide=True,
)
debug_leaked_clients_on_clear_backends = _o.declare(
    "jax_debug_leaked_clients_on_clear_backends",
    False,
    _o.BOOL,
    "Raise when a client is still referred to after the backends were cleared.",
)

# --- memory of GPU clients: the environment variables of XLA's Python client, and options to match ----------

xla_python_client_preallocate = _o.declare(
    "xla_python_client_preallocate",
    True,
    _o.BOOL,
    "Take a share of the GPU's memory at first use; off, memory is taken as it is needed.",
    process_wide=True,
    read_late=True,
)
xla_python_client_mem_fraction = _o.declare(
    "xla_python_client_mem_fraction",
    None,
    _o.optional(_memory.SHARE),
    "That share, as a fraction of all the memory that the GPU has, or as an amount ('8GiB'). None is 0.75.",
    process_wide=True,
    read_late=True,
    env=("XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"),
)
xla_python_client_allocator = _o.declare(
    "xla_python_client_allocator",
    "default",
    _memory.ALLOCATOR,
    "The allocator of GPU memory: 'bfc' keeps what it has taken and hands out parts ('default' is the same), 'platform' "
    "asks the driver for each array and gives it back at once (slow; for finding out how much a program needs), "
    "'cuda_async' uses CUDA's own pool, 'vmm' maps virtual memory.",
    process_wide=True,
    read_late=True,
)
xla_python_client_collective_mem_size_mb = _o.declare(
    "xla_python_client_collective_mem_size_mb",
    None,
    _o.optional(_memory.MEGABYTES),
    "Megabytes set aside for collective operations between GPUs.",
    process_wide=True,
    read_late=True,
)

cpu_retained_memory = _o.declare(
    "jax_cpu_retained_memory",
    "512MiB",
    _memory.AMOUNT,
    "On Linux, how much freed memory stays with the process, where the next run of a program finds it, instead of going "
    "back to the operating system, which would have to clear it again. Blocks of more than half of that are given back at "
    "once. Programs whose intermediate values need no more than that, and in all threads together a sixteenth of the "
    "machine's memory, take them in pieces that threads keep. 0 leaves the C library's allocator as it is; so do MALLOC_* "
    "variables.",
    process_wide=True,
)

# --- guards -------------------------------------------------------------------------------------------------

_GUARD_LEVELS = _o.optional(_o.one_of("allow", "log", "disallow", "log_explicit", "disallow_explicit"))
_DIRECTIONS = ("host_to_device", "device_to_device", "device_to_host")


def _guard(direction: str) -> _o.Option:
    option = _o.declare(
        f"jax_transfer_guard_{direction}",
        None,
        _GUARD_LEVELS,
        f"What happens on an implicit {direction.replace('_', '-')} transfer ('allow', 'log', 'disallow'), "
        "or on an explicit one as well ('log_explicit', 'disallow_explicit'). None is 'allow'.",
    )

    def level(value: _Any) -> _Any:
        return None if value is None or value is _o.UNSET else _guards.TransferGuardLevel[value.upper()]

    option.hook(
        lambda value: setattr(_guards.global_state(), direction, level(value)),
        lambda value: setattr(_guards.thread_local_state(), direction, level(value)),
    )
    return option


transfer_guard_host_to_device = _guard("host_to_device")
transfer_guard_device_to_device = _guard("device_to_device")
transfer_guard_device_to_host = _guard("device_to_host")
_all_guards = (transfer_guard_host_to_device, transfer_guard_device_to_device, transfer_guard_device_to_host)

transfer_guard_all = _o.declare(
    "jax_transfer_guard",
    None,
    _GUARD_LEVELS,
    "Sets the guards of all three directions at once; read them one by one.",
)


def _set_all_guards(value: str | None) -> None:
    for option in _all_guards:
        option.set(value)


transfer_guard_all.hook(_set_all_guards)

array_garbage_collection_guard = _o.declare(
    "jax_array_garbage_collection_guard",
    None,
    _o.optional(_o.one_of("allow", "log", "fatal")),
    "What happens when an array is freed by Python's cycle collector rather than when its last reference "
    "goes: 'log' or 'fatal' help to find cycles that hold device memory. None is 'allow'.",
)


def _gc_level(value: _Any) -> _Any:
    return None if value is None or value is _o.UNSET else _guards.GarbageCollectionGuardLevel[value.upper()]


array_garbage_collection_guard.hook(
    lambda value: setattr(_guards.global_state(), "garbage_collect_array", _gc_level(value)),
    lambda value: setattr(_guards.thread_local_state(), "garbage_collect_array", _gc_level(value)),
)

thread_guard = _o.declare(
    "jax_thread_guard",
    False,
    _o.BOOL,
    "Raise when a program that runs on several processes is started from another thread than the one that "
    "set this guard.",
)
thread_guard.hook(
    _guards.update_thread_guard_global_state,
    lambda value: _guards.update_thread_guard_global_state(
        thread_guard.get_global() if value is _o.UNSET else value
    ),
)

# --- several processes --------------------------------------------------------------------------------------

cpu_collectives_implementation = _o.declare(
    "jax_cpu_collectives_implementation",
    "gloo",
    _o.optional(_o.one_of("gloo", "mpi", "megascale")),
    "What carries collective operations between processes on CPUs.",
    process_wide=True,
)
cpu_get_local_topology_timeout_minutes = _o.declare(
    "jax_cpu_get_local_topology_timeout_minutes",
    2,
    _o.INT,
    "How long each process may take to say what it has.",
    process_wide=True,
)  # fmt: skip
cpu_get_global_topology_timeout_minutes = _o.declare(
    "jax_cpu_get_global_topology_timeout_minutes",
    5,
    _o.INT,
    "How long all of them may take; more than the local one.",
    process_wide=True,
)  # fmt: skip
enable_recoverability = _o.declare(
    "jax_enable_recoverability",
    False,
    _o.BOOL,
    "Let the remaining processes go on when one fails.",
    process_wide=True,
)
enable_preemption_service = _o.declare(
    "jax_enable_preemption_service",
    True,
    _o.BOOL,
    "Tell processes of a coming preemption (multihost_utils.reached_preemption_sync_point).",
    process_wide=True,
)
distributed_verify_secure_credentials = _o.declare(
    "jax_distributed_verify_secure_credentials", False, _o.BOOL, "Verify the peers of secured connections.",
    process_wide=True,
)  # fmt: skip
mtls_ca_file = _o.declare(
    "jax_mtls_ca_file",
    None,
    _o.optional(_o.STR),
    "Authority certificates for connections between processes.",
    process_wide=True,
)  # fmt: skip
mtls_cert_file = _o.declare(
    "jax_mtls_cert_file", None, _o.optional(_o.STR), "This process's certificate.", process_wide=True
)
mtls_key_file = _o.declare(
    "jax_mtls_key_file", None, _o.optional(_o.STR), "This process's private key.", process_wide=True
)
mtls_peer_uri_prefix = _o.declare(
    "jax_mtls_peer_uri_prefix", None, _o.optional(_o.STR), "What the peers' names have to start with.",
    process_wide=True,
)  # fmt: skip
force_dcn_cross_host_transfers = _o.declare(
    "jax_force_dcn_cross_host_transfers",
    False,
    _o.BOOL,
    "Move arrays between processes over sockets even where the platform has a way of its own.",
    process_wide=True,
)
cross_host_transfer_socket_address = _o.declare(
    "jax_cross_host_transfer_socket_address", "", _o.STR, "Address on which such transfers are announced.",
    process_wide=True,
)  # fmt: skip
cross_host_transport_addresses = _o.declare(
    "jax_cross_host_transport_addresses", "", _o.STR, "Comma-separated addresses over which they run.",
    process_wide=True,
)  # fmt: skip
cross_host_transfer_timeout_seconds = _o.declare(
    "jax_cross_host_transfer_timeout_seconds", None, _o.optional(_o.INT), "How long one waits for its peer.",
    process_wide=True,
)  # fmt: skip
cross_host_transfer_transfer_size = _o.declare(
    "jax_cross_host_transfer_transfer_size", None, _o.optional(_o.INT), "Bytes per piece of a transfer.",
    process_wide=True,
)  # fmt: skip
