"""Several processes through the distributed runtime, and several devices of one process by options."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import jax
from jax import distributed

SRC = Path(__file__).resolve().parents[2] / "src"
PROGRAM = """
import sys
import numpy as np
import jax
jax.config.update("jax_num_cpu_devices", 2)
index, port = int(sys.argv[1]), sys.argv[2]
jax.distributed.initialize(f"localhost:{port}", 2, index, initialization_timeout=60)
from jax.experimental import multihost_utils as together
assert jax.distributed.is_initialized() and jax.process_count() == 2 and jax.process_index() == index
assert jax.device_count() == 4 and jax.local_device_count() == 2
mesh = jax.make_mesh((4,), ("x",))
rows = jax.NamedSharding(mesh, jax.P("x"))
a = jax.make_array_from_process_local_data(rows, np.arange(4.0, dtype=np.float32) + 10 * index)
assert a.shape == (8,) and not a.is_fully_addressable
whole = np.array([0, 1, 2, 3, 10, 11, 12, 13], np.float32)
assert float(a.sum()) == whole.sum()
assert together.process_allgather(a, tiled=True).tolist() == whole.tolist()
total = jax.shard_map(lambda v: jax.lax.psum(v, "x"), mesh=mesh, in_specs=jax.P("x"), out_specs=jax.P())(a)
assert total.tolist() == [24.0, 28.0]
own = jax.grad(lambda v: (v ** 2).sum())(a).addressable_shards
assert own[0].data.tolist() == (2 * whole[4 * index:4 * index + 2]).tolist()
assert together.process_allgather(np.float32(index)).tolist() == [0.0, 1.0]
assert together.broadcast_one_to_all(np.arange(2) + index).tolist() == [0, 1]
part = np.arange(4.0, dtype=np.float32) + 10 * index
b = together.host_local_array_to_global_array(part, mesh, jax.P("x"))
assert b.shape == (8,) and b.sharding == rows
assert together.global_array_to_host_local_array(b, mesh, jax.P("x")).tolist() == part.tolist()
assert together.ltg_abstract_eval(jax.typeof(part), global_mesh=mesh, pspec=jax.P("x")).shape == (8,)
together.sync_global_devices("here")
try:
    together.assert_equal(np.arange(2) + index, "the seeds differ")
except AssertionError as error:
    assert "the seeds differ" in str(error)
else:
    raise SystemExit("assert_equal let other values pass")
for misuse, message in ((lambda: np.asarray(a), "spans devices of other processes"),
                        (lambda: jax.pmap(lambda v: v)(np.ones(2)), "use jax.shard_map"),
                        (lambda: jax.distributed.initialize(f"localhost:{port}", 2, index), "called already")):
    try:
        misuse()
    except (RuntimeError, NotImplementedError) as error:
        assert message in str(error), error
    else:
        raise SystemExit("no error: " + message)
jax.distributed.shutdown()
print("done", index)
"""


def test_two_processes():
    with socket.socket() as s:
        s.bind(("localhost", 0))
        port = str(s.getsockname()[1])
    env = {**os.environ, "PYTHONPATH": str(SRC), "JAX_PLATFORMS": "cpu"}
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM, str(i), port], env=env, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
               for i in range(2)]
    try:
        outputs = [p.communicate(timeout=120)[0] for p in running]
    finally:
        for p in running:
            p.kill()
    for i, (p, text) in enumerate(zip(running, outputs, strict=True)):
        assert p.returncode == 0 and f"done {i}" in text, text


@pytest.mark.parametrize("env, before", [
    ({}, "jax.config.update('jax_num_cpu_devices', 3)"),
    ({"XLA_FLAGS": "--xla_force_host_platform_device_count=3"}, ""),
])
def test_several_devices_of_one_process(run_python, env, before):
    text = run_python(f"import jax\n{before}\n"
                      "print(jax.device_count(), len(jax.local_devices()), jax.local_device_count())", env=env)
    assert text.stdout.split() == ["3", "3", "3"]


@pytest.mark.quick
@pytest.mark.parametrize("arguments, message", [
    ({}, "coordinator_address is not given"),
    ({"coordinator_address": "here:1"}, "num_processes is not given.*JAX_NUM_PROCESSES"),
    ({"coordinator_address": "here", "num_processes": 1, "process_id": 0}, "host:port"),
    ({"coordinator_address": "here:1", "num_processes": 2, "process_id": 2}, "less than num_processes"),
    ({"cluster_detection_method": "magic"}, "'slurm', 'ompi', 'mpi4py'"),
])
def test_misuse(arguments, message, monkeypatch):
    monkeypatch.setattr(distributed.backend, "backends_are_initialized", lambda: False)
    with pytest.raises(ValueError, match=message):
        jax.distributed.initialize(**arguments)
    assert not jax.distributed.is_initialized()


@pytest.mark.quick
def test_initialize_comes_too_late():
    jax.devices()
    with pytest.raises(RuntimeError, match="before the first operation"):
        jax.distributed.initialize("localhost:1", 1, 0)
    jax.distributed.shutdown()  # nothing to do


@pytest.mark.quick
def test_clusters(monkeypatch):
    assert distributed.first_host("node[003-017,20]") == "node003"
    assert distributed.first_host("alpha,beta") == "alpha"
    for name, value in {"SLURM_JOB_ID": "4097", "SLURM_NTASKS": "4", "SLURM_PROCID": "2", "SLURM_LOCALID": "0",
                        "SLURM_STEP_NODELIST": "gpu[1-2]"}.items():
        monkeypatch.setenv(name, value)
    assert distributed._found(None, None, None, None, None) == ("gpu1:61441", 4, 2, [0])
    assert distributed._found("there:5", None, 1, None, "slurm") == ("there:5", 4, 1, [0])
    with pytest.raises(ValueError, match="Open MPI was asked for"):
        distributed._found(None, None, None, None, "ompi")
