"""Listeners, and the events that the library records about its own work."""

import pytest

import jax
import jax.numpy as jnp
from jax import monitoring


@pytest.fixture(autouse=True)
def no_listeners():
    monitoring.clear_event_listeners()
    yield
    monitoring.clear_event_listeners()


@pytest.mark.quick
def test_listeners_get_what_is_recorded_until_they_are_removed():
    seen = []

    def listener(*args, **kwargs):
        seen.append((args, kwargs))
    kinds = [
        (monitoring.register_event_listener, monitoring.unregister_event_listener, monitoring.record_event, ()),
        (monitoring.register_event_duration_secs_listener, monitoring.unregister_event_duration_listener,
         monitoring.record_event_duration_secs, (1.5,)),
        (monitoring.register_event_time_span_listener, monitoring.unregister_event_time_span_listener,
         monitoring.record_event_time_span, (1.0, 2.0)),
        (monitoring.register_scalar_listener, monitoring.unregister_scalar_listener, monitoring.record_scalar, (7,)),
    ]
    for register, _, _, _ in kinds:
        register(listener)
    for _, unregister, record, values in kinds:
        seen.clear()
        record("/e", *values, run=1)
        assert seen == [(("/e", *values), {"run": 1})]
        unregister(listener)
        record("/e", *values)
        assert len(seen) == 1
        with pytest.raises(ValueError, match="is not registered"):
            unregister(listener)


def test_several_listeners_are_called_in_order_and_cleared():
    seen = []
    for i in range(3):
        monitoring.register_event_listener(lambda event, i=i: seen.append(i))
    monitoring.record_event("/e")
    assert seen == [0, 1, 2]
    monitoring.clear_event_listeners()
    monitoring.record_event("/e")
    assert seen == [0, 1, 2]


def test_misuse():
    with pytest.raises(TypeError, match="listener to durations must be a function, got 3"):
        monitoring.register_event_duration_secs_listener(3)

    def fails(event):
        raise KeyError(event)
    monitoring.register_event_listener(fails)
    with pytest.raises(KeyError, match="/e"):
        monitoring.record_event("/e")


STEPS = [f"/jax/core/compile/{step}_duration" for step in ("jaxpr_trace", "jaxpr_to_mlir_module", "backend_compile")]


def _record_all():
    durations, spans, events = [], [], []
    monitoring.register_event_duration_secs_listener(lambda e, seconds, **kw: durations.append((e, seconds, kw)))
    monitoring.register_event_time_span_listener(lambda e, begin, end, **kw: spans.append((e, end - begin)))
    monitoring.register_event_listener(lambda e, **kw: events.append(e))
    return durations, spans, events


def test_steps_of_compilation_are_recorded_once():
    durations, spans, _ = _record_all()

    @jax.jit
    def some_function(x):
        return jnp.sin(x) * 2
    some_function(1.0)
    own = [d for d in durations if "some_function" in d[2].get("fun_name", "")]
    assert [d[0] for d in own] == STEPS
    assert [d[2]["fun_name"] for d in own] == ["some_function", "jit(some_function)", "jit(some_function)"]
    assert all(d[1] >= 0 for d in own) and {s[0] for s in spans} == set(STEPS)
    durations.clear()
    some_function(2.0)
    assert not [d for d in durations if "some_function" in d[2].get("fun_name", "")]


def test_the_persistent_cache_is_recorded(tmp_path):
    durations, _, events = _record_all()
    settings = {"jax_compilation_cache_dir": str(tmp_path), "jax_persistent_cache_min_compile_time_secs": 0.0,
                "jax_persistent_cache_min_entry_size_bytes": 0}
    before = {name: getattr(jax.config, name) for name in settings}
    try:
        for name, value in settings.items():
            jax.config.update(name, value)
        f = jax.jit(lambda x: jnp.cos(x) * 3 - 0.123)
        for expected in ("cache_misses", "cache_hits"):
            events.clear()
            f(1.0)
            assert events == [f"/jax/compilation_cache/{e}" for e in ("compile_requests_use_cache", expected)]
            jax.clear_caches()
        assert "/jax/compilation_cache/cache_retrieval_time_sec" in [d[0] for d in durations]
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
