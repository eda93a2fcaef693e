"""Traces are written and can be read; annotations are in them; memory profiles; the server; misuse."""

import glob
import gzip
import json
import threading
import urllib.error
import urllib.request

import pytest

import jax
import jax.numpy as jnp
from jax import profiler


def _events(folder, names):
    """Metadata of events by name."""
    (path,) = glob.glob(f"{folder}/plugins/profile/*/*.xplane.pb")
    data = profiler.ProfileData.from_file(path)
    return {e.name: dict(e.stats) for plane in data.planes for line in plane.lines for e in line.events if e.name in names}


@pytest.mark.filterwarnings("ignore:builtin type .* has no __module__")  # of jaxlib, which aborts if it is an error
def test_a_trace_contains_annotations_and_programs(tmp_path):
    @profiler.annotate_function(name="loading", source="disk")
    def load():
        return 3
    options = profiler.ProfileOptions()
    options.python_tracer_level = 0
    with profiler.trace(tmp_path, create_perfetto_trace=True, profiler_options=options):
        with profiler.TraceAnnotation("outer", batch=7):
            assert load() == 3
        with profiler.StepTraceAnnotation("train", step_num=12):
            jax.jit(lambda x: jnp.sin(x) @ x)(jnp.ones((8, 8))).block_until_ready()
    events = _events(tmp_path, {"outer", "loading", "train"})
    assert set(events) == {"outer", "loading", "train"}
    assert int(events["outer"]["batch"]) == 7 and events["loading"]["source"] == "disk"
    assert int(events["train"]["step_num"]) == 12 and "_r" in events["train"]
    (path,) = glob.glob(f"{tmp_path}/plugins/profile/*/perfetto_trace.json.gz")
    with gzip.open(path) as source:
        names = {e.get("name") for e in json.load(source)["traceEvents"]}
    assert {"outer", "train"} <= names


def test_one_trace_at_a_time(tmp_path):
    with pytest.raises(RuntimeError, match="no trace is being recorded"):
        profiler.stop_trace()
    profiler.start_trace(str(tmp_path))
    try:
        with pytest.raises(RuntimeError, match="recorded already.*stop_trace"):
            profiler.start_trace(tmp_path)
    finally:
        profiler.stop_trace()
    with pytest.raises(TypeError, match="ProfileOptions"):
        profiler.start_trace(tmp_path, profiler_options={"level": 1})
    with pytest.raises(ZeroDivisionError), profiler.trace(tmp_path):  # an error ends the trace
        raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="no trace"):
        profiler.stop_trace()


def test_the_link_is_served_until_it_is_fetched(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(profiler, "_PORT", 0)
    servers = []

    class Server(profiler.http.server.HTTPServer):
        def __init__(self, *args):
            super().__init__(*args)
            servers.append(self)
            ready.set()
    ready, fetched = threading.Event(), []
    monkeypatch.setattr(profiler.http.server, "HTTPServer", Server)

    def browser():
        ready.wait(60)
        base = f"http://127.0.0.1:{servers[0].server_port}"
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{base}/other")
        with urllib.request.urlopen(f"{base}/perfetto_trace.json.gz") as answer:
            fetched.append((answer.headers["Access-Control-Allow-Origin"], gzip.decompress(answer.read())))
    thread = threading.Thread(target=browser)
    thread.start()
    with profiler.trace(tmp_path, create_perfetto_link=True):
        pass
    thread.join(60)
    origin, body = fetched[0]
    assert origin == "https://ui.perfetto.dev" and b"traceEvents" in body
    assert "https://ui.perfetto.dev/#!/?url=http://127.0.0.1" in capsys.readouterr().out


@pytest.mark.quick
def test_annotations_without_a_trace():
    @profiler.annotate_function
    def f(x, *, y):
        """Doc."""
        return x + y
    assert f(1, y=2) == 3 and f.__doc__ == "Doc." and f.__name__ == "f"
    with profiler.TraceAnnotation("span") as span, profiler.StepTraceAnnotation("step", step_num=1):
        assert not span.is_enabled()
    with pytest.raises(TypeError, match="takes a function"):
        profiler.annotate_function(3)


def test_device_memory_profiles(tmp_path):
    held = jnp.ones(1000)
    profile = gzip.decompress(profiler.device_memory_profile())
    assert b"test_profiler.py" in profile and b"test_device_memory_profiles" in profile
    profiler.save_device_memory_profile(tmp_path / "memory.prof", "cpu")
    assert gzip.decompress((tmp_path / "memory.prof").read_bytes())
    with pytest.raises(RuntimeError, match="fortran"):
        profiler.device_memory_profile("fortran")
    del held


def test_server():
    with pytest.raises(ValueError, match="no server"):
        profiler.stop_server()
    server = profiler.start_server(0)
    try:
        assert type(server).__name__ == "ProfilerServer"
        with pytest.raises(ValueError, match="has a server already"):
            profiler.start_server(0)
    finally:
        del server
        profiler.stop_server()


def test_names_of_the_readers_load_on_demand():
    assert profiler.ProfilePlane.__name__ == "ProfilePlane" and profiler.ProfileEvent.__name__ == "ProfileEvent"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        profiler.nothing  # noqa: B018
