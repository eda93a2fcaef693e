"""Several processes that compute together: each sees its own devices as local, and all of them as one set.

>>> import jax
>>> jax.distributed.is_initialized()
False
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import socket
from collections.abc import Sequence
from typing import Any

from jax._base import config
from jax._base._jaxlib import jaxlib_version, xla
from jax._runtime import backend
from jax._runtime.processes import processes

logger = logging.getLogger("jax.distributed")
_service: Any = None


def initialize(coordinator_address: str | None = None, num_processes: int | None = None, process_id: int | None = None,
               local_device_ids: int | Sequence[int] | None = None, cluster_detection_method: str | None = None,
               initialization_timeout: int = 300, heartbeat_timeout_seconds: int = 100, shutdown_timeout_seconds: int = 300,
               coordinator_bind_address: str | None = None, slice_index: int | None = None,
               partition_index: int | None = None,
               mtls_cert_file: str | None = None, mtls_key_file: str | None = None, mtls_ca_file: str | None = None,
               mtls_peer_uri_prefix: str | None = None, verify_secure_credentials: bool | None = None) -> None:
    """Connects this process with the others. To be called by every process, before the first operation.

    Afterwards :func:`jax.devices` lists the devices of all processes and :func:`jax.local_devices` those of this one.

    Args:
      coordinator_address: ``host:port`` of process 0, where the coordination service runs; by default the environment
        variable ``JAX_COORDINATOR_ADDRESS``, or what the cluster says.
      num_processes: how many processes there are; by default ``JAX_NUM_PROCESSES``, or what the cluster says.
      process_id: which of them this one is, from 0; by default ``JAX_PROCESS_ID``, or what the cluster says.
      local_device_ids: which GPUs of the machine this process uses; all by default.
      cluster_detection_method: ``"slurm"``, ``"ompi"`` or ``"mpi4py"`` to ask that, ``"deactivate"`` to ask none; by
        default Slurm and Open MPI are recognised by their environment variables.
      initialization_timeout: seconds to wait for all processes.
      heartbeat_timeout_seconds: after how many seconds of silence a process counts as lost.
      shutdown_timeout_seconds: how long to wait for the others at the end.
      coordinator_bind_address: where the service listens, by default at all addresses, with the coordinator's port.
      slice_index, partition_index: of devices in several slices; not supported.
      mtls_cert_file, mtls_key_file, mtls_ca_file, mtls_peer_uri_prefix, verify_secure_credentials: for encrypted
        connections, with jaxlib 0.11 or later; by default what the options ``jax_mtls_...`` say.

    Raises:
      RuntimeError: called twice, or after the first operation, or the others do not come.
      ValueError: an address, number or position is missing or wrong.
      NotImplementedError: what this version of jaxlib does not offer.
    """
    global _service
    if processes.client is not None:
        raise RuntimeError("jax.distributed.initialize has been called already; call it once in each process")
    if backend.backends_are_initialized():
        raise RuntimeError("jax.distributed.initialize must be called before the first operation and before jax.devices(): "
                           "the devices of this process have been set up already, without the other processes")
    if slice_index is not None or partition_index is not None:
        raise NotImplementedError("jax.distributed.initialize: slice_index and partition_index are not supported; lay the "
                                  "devices of slices out with a jax.sharding.Mesh")
    address, count, index, ids = _found(coordinator_address, num_processes, process_id, local_device_ids,
                                        cluster_detection_method)
    secured = _secured(mtls_cert_file, mtls_key_file, mtls_ca_file, mtls_peer_uri_prefix, verify_secure_credentials)
    if ids is not None:
        config.config.update("jax_cuda_visible_devices", ",".join(map(str, ids)))
    _warn_about_proxies()
    if index == 0:
        bind = coordinator_bind_address or "[::]:" + address.rsplit(":", 1)[1]
        logger.info("the coordination service listens at %s", bind)
        _service = xla.get_distributed_runtime_service(
            bind, count, heartbeat_timeout=heartbeat_timeout_seconds, cluster_register_timeout=initialization_timeout,
            shutdown_timeout=shutdown_timeout_seconds, **secured)
    client = xla.get_distributed_runtime_client(
        address, index, init_timeout=initialization_timeout, heartbeat_timeout=heartbeat_timeout_seconds,
        shutdown_timeout=shutdown_timeout_seconds, use_compression=True, **secured)
    try:
        client.connect()
    except Exception as error:
        if _service is not None:
            _service.shutdown()
            _service = None
        raise RuntimeError(f"jax.distributed.initialize: process {index} of {count} could not reach all others through "
                           f"{address} within {initialization_timeout} s: {error}") from error
    processes.client, processes.process_id, processes.count = client, index, count
    processes.collectives = _collectives
    atexit.register(shutdown)


def is_initialized() -> bool:
    """Whether this process is connected with others."""
    return processes.client is not None


def shutdown() -> None:
    """Ends the connection with the other processes; waits until they end theirs. Does nothing where there is none."""
    global _service
    client, processes.client = processes.client, None
    if client is not None:
        client.shutdown()
        processes.process_id, processes.count, processes.collectives = 0, 1, None
    if _service is not None:
        _service.shutdown()
        _service = None
    atexit.unregister(shutdown)


# --- where this process stands ---------------------------------------------------------------------------------------

def _found(address: str | None, count: int | None, index: int | None, ids: Any, method: str | None,
           ) -> tuple[str, int, int, list[int] | None]:
    address = address or os.environ.get("JAX_COORDINATOR_ADDRESS") or None
    count = _integer("JAX_NUM_PROCESSES") if count is None else count
    index = _integer("JAX_PROCESS_ID") if index is None else index
    if ids is None and os.environ.get("JAX_LOCAL_DEVICE_IDS"):
        ids = [int(x) for x in os.environ["JAX_LOCAL_DEVICE_IDS"].split(",")]
    if method not in (None, "slurm", "ompi", "mpi4py", "deactivate"):
        raise ValueError(f"jax.distributed.initialize: cluster_detection_method is 'slurm', 'ompi', 'mpi4py' or "
                         f"'deactivate', got {method!r}")
    if method != "deactivate" and None in (address, count, index):
        found = _cluster(method)
        if found is not None:
            address, count, index = address or found[0], found[1] if count is None else count, \
                found[2] if index is None else index
            ids = found[3] if ids is None else ids
    for value, name, variable in ((address, "coordinator_address", "JAX_COORDINATOR_ADDRESS"),
                                  (count, "num_processes", "JAX_NUM_PROCESSES"), (index, "process_id", "JAX_PROCESS_ID")):
        if value is None:
            raise ValueError(f"jax.distributed.initialize: {name} is not given and cannot be found out. Pass it, or set "
                             f"{variable}; clusters run by Slurm or Open MPI are recognised.")
    assert address is not None and count is not None and index is not None
    if not re.fullmatch(r".+:\d+", address):
        raise ValueError(f"jax.distributed.initialize: coordinator_address must be 'host:port', got {address!r}")
    if count < 1 or not 0 <= index < count:
        raise ValueError(f"jax.distributed.initialize: process_id must be at least 0 and less than num_processes, got "
                         f"{index} of {count}")
    return address, count, index, [ids] if isinstance(ids, int) else None if ids is None else list(ids)


def _integer(variable: str) -> int | None:
    text = os.environ.get(variable)
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"the environment variable {variable} must be an integer; it is {text!r}") from None


Place = tuple[str, int, int, list[int] | None]


def _cluster(method: str | None) -> Place | None:
    """What a cluster says of this process: address, number of processes, position, devices."""
    if method == "mpi4py":
        return _from_mpi4py()
    if method == "slurm" or method is None and "SLURM_JOB_ID" in os.environ and "SLURM_PROCID" in os.environ:
        return _from_slurm()
    if method == "ompi" or method is None and "OMPI_COMM_WORLD_SIZE" in os.environ:
        return _from_open_mpi()
    return None


def _needed(names: Sequence[str], what: str) -> list[str]:
    missing = [n for n in names if n not in os.environ]
    if missing:
        raise ValueError(f"jax.distributed.initialize: {what} was asked for, and its environment variables {missing} are "
                         "not set")
    return [os.environ[n] for n in names]


def _from_slurm() -> Place:
    job, size, rank, local = _needed(["SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID"], "Slurm")
    nodes = os.environ.get("SLURM_STEP_NODELIST") or os.environ.get("SLURM_JOB_NODELIST") or socket.gethostname()
    # One port for each job, so that jobs on one machine do not meet.
    return f"{first_host(nodes)}:{int(job) % 2 ** 12 + 65535 - 2 ** 12 + 1}", int(size), int(rank), [int(local)]


def first_host(nodes: str) -> str:
    """The first machine of a list as Slurm writes it: ``node[001-003,007],other``."""
    found = re.match(r"([^\[,]+)(?:\[([^\],-]+)[^\]]*\])?([^,\[]*)", nodes)
    if found is None:
        raise ValueError(f"jax.distributed.initialize: the list of machines {nodes!r} cannot be read")
    return "".join(part or "" for part in found.groups())


def _from_open_mpi() -> Place:
    size, rank, local = _needed(["OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"], "Open MPI")
    uri = os.environ.get("OMPI_MCA_orte_hnp_uri") or os.environ.get("PMIX_SERVER_URI2") or ""
    host = re.search(r"tcp(?:[46])?://\[?([^,:\];]+)", uri)
    if host is None:
        raise ValueError("jax.distributed.initialize: Open MPI does not say where its first process runs; pass "
                         "coordinator_address")
    job = re.match(r"\D*(\d+)", uri)
    return f"{host[1]}:{(int(job[1]) if job else 0) % 2 ** 12 + 65535 - 2 ** 12 + 1}", int(size), int(rank), [int(local)]


def _from_mpi4py() -> Place:
    try:
        from mpi4py import MPI  # only where it is asked for
    except ImportError as error:
        raise ImportError("cluster_detection_method='mpi4py' needs the package mpi4py") from error
    world = MPI.COMM_WORLD
    address = None
    if world.Get_rank() == 0:
        with socket.socket() as s:
            s.bind(("", 0))
            address = f"{socket.gethostname()}:{s.getsockname()[1]}"
    local = world.Split_type(MPI.COMM_TYPE_SHARED).Get_rank()
    return world.bcast(address, root=0), world.Get_size(), world.Get_rank(), [local]


def _secured(cert: str | None, key: str | None, ca: str | None, prefix: str | None, verify: bool | None) -> dict[str, Any]:
    given = {"mtls_cert_file": cert or config.mtls_cert_file.value, "mtls_key_file": key or config.mtls_key_file.value,
             "mtls_ca_file": ca or config.mtls_ca_file.value,
             "mtls_peer_uri_prefix": prefix or config.mtls_peer_uri_prefix.value,
             "verify_secure_credentials": (config.distributed_verify_secure_credentials.value or None) if verify is None
             else verify}
    found = {k: v for k, v in given.items() if v is not None}
    if found and jaxlib_version < (0, 11):
        raise NotImplementedError(f"jax.distributed.initialize: {', '.join(found)} need jaxlib 0.11 or later")
    return found


def _warn_about_proxies() -> None:
    if config.check_proxy_envs.value:
        proxies = [n for n in os.environ if n.lower() in ("http_proxy", "https_proxy") and os.environ[n]]
        if proxies:
            logger.warning("the environment variables %s may lead the traffic between processes through a proxy; if the "
                           "processes do not find each other, unset them (jax_check_proxy_envs=False ends this warning)",
                           proxies)


def _collectives() -> Any:
    """What carries collectives between the CPUs of processes."""
    kind = config.cpu_collectives_implementation.value
    if kind == "gloo":
        return xla.make_gloo_tcp_collectives(processes.client)
    if kind == "mpi":
        found = xla.make_mpi_collectives()
        found.Init()
        atexit.register(found.Finalize)
        return found
    if kind is not None:
        raise NotImplementedError(f"jax_cpu_collectives_implementation={kind!r} is not supported; 'gloo' and 'mpi' are")
    return None


__all__ = ["initialize", "is_initialized", "shutdown"]
