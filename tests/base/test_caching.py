"""Caches: hits, contexts, what keeps what alive, and emptying them all."""

from __future__ import annotations

import gc
import weakref

import pytest

from jax._base import caching, config

pytestmark = pytest.mark.quick


class Counter:
    def __init__(self):
        self.calls = 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return object()


def make_function():
    def function():
        return None

    return function


def test_cache_hits():
    count = Counter()
    cached = caching.cache(lambda *args, **kwargs: count(*args, **kwargs))
    assert cached(1, k=2) is cached(1, k=2)
    assert cached(1) is not cached(2)
    assert count.calls == 3


def test_cache_with_keywords_and_bound():
    count = Counter()

    @caching.cache(maxsize=1)
    def cached(x):
        return count(x)

    first = cached(1)
    cached(2)
    assert cached(1) is not first
    assert cached.cache_info().maxsize == 1


def test_cache_context():
    @caching.cache(context=config.trace_context)
    def cached(x):
        return config.enable_x64.value

    with config.enable_x64(True):
        assert cached(1) is True
    assert cached(1) is False
    with config.enable_x64(True):
        assert cached(1) is True
    assert cached.cache_info().misses == 2


def test_errors_are_not_cached():
    count = Counter()

    @caching.weak_cache
    def cached(fun):
        count()
        raise ValueError("no")

    fun = make_function()
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            cached(fun)
    assert count.calls == 2


def test_weak_cache_lets_its_key_go():
    @caching.weak_cache
    def cached(fun, x):
        return [x]

    fun = make_function()
    assert cached(fun, 1) is cached(fun, 1)
    assert cached(fun, 2) is not cached(fun, 1)
    assert cached.cache_info().currsize == 2
    dead = weakref.ref(fun)
    del fun
    gc.collect()
    assert dead() is None
    assert cached.cache_info().currsize == 0


def test_weak_cache_lets_its_values_go():
    @caching.weak_cache
    def cached(fun):
        return Counter()

    fun = make_function()
    value = weakref.ref(cached(fun))
    assert value() is not None
    del fun
    gc.collect()
    assert value() is None


def test_weak_cache_follows_options_unless_told_not_to():
    dependent = caching.weak_cache(lambda fun: config.enable_x64.value)
    independent = caching.weak_cache(lambda fun: config.enable_x64.value, context=caching.no_context)
    fun = make_function()
    assert (dependent(fun), independent(fun)) == (False, False)
    with config.enable_x64(True):
        assert (dependent(fun), independent(fun)) == (True, False)


def test_evicting_one_key():
    cached = caching.weak_cache(lambda fun: object())
    one, two = make_function(), make_function()
    first, second = cached(one), cached(two)
    cached.evict_weakref(one)
    assert cached(one) is not first
    assert cached(two) is second


def test_weak_cache_explains_misses():
    explained = []
    cached = caching.weak_cache(lambda fun, x: x, explain=lambda *args: explained.append(args))
    fun = make_function()
    cached(fun, 1)
    assert not explained
    with config.explain_cache_misses(True):
        cached(fun, 2)
        cached(fun, 2)
    ((entries, first, second),) = explained
    assert (first, second) == (fun, 2)
    assert [entry[2:] for entry in entries] == [((1,), {})]


def test_clear_caches_empties_all_kinds():
    plain = caching.cache(lambda x: object())
    weak = caching.weak_cache(lambda fun: object())
    keyed = caching.cache(lambda x: object(), context=config.trace_context)
    table = {"a": 1}
    caching.register_cache(table.clear, name="test table")
    fun = make_function()
    before = plain(1), weak(fun), keyed(1)
    caching.clear_caches()
    assert not table
    assert all(a is not b for a, b in zip(before, (plain(1), weak(fun), keyed(1)), strict=True))


def test_temporary_caches_leave_the_registry():
    names = caching.cache_names()

    def make():
        cached = caching.cache(lambda x: x)
        weak = caching.weak_cache(lambda f: 1)
        assert len(caching.cache_names()) == len(names) + 2
        return weakref.ref(cached), weakref.ref(weak)

    dead = make()
    gc.collect()
    assert [ref() for ref in dead] == [None, None]
    assert caching.cache_names() == names


def test_names_of_registered_caches_are_unique():
    caching.register_cache(lambda: None, name="twice")
    caching.register_cache(lambda: None, name="twice")
    assert {"twice", "twice#2"} <= set(caching.cache_names())
