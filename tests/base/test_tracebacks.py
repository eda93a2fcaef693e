"""Errors leave the library without its own frames, in the way ``jax_traceback_filtering`` says."""

from __future__ import annotations

import inspect
import traceback

import pytest

from jax._base import source
from jax._base.config import traceback_filtering

pytestmark = pytest.mark.quick

LIBRARY = """
def inner(f):
    return f()

def fail():
    raise ValueError("bad shape")

@source.api_boundary
def call(f):
    "Calls f."
    return inner(f)

@source.api_boundary
def fail_here():
    return fail()

@source.api_boundary
def fail_while_handling():
    try:
        fail()
    except ValueError:
        raise KeyError("worse") from None

@source.api_boundary
def fail_because():
    try:
        fail()
    except ValueError as error:
        raise KeyError("worse") from error
"""


def library():
    scope = {"source": source}
    exec(compile(LIBRARY, source._PACKAGE + "/imagined/library.py", "exec"), scope)
    return scope


lib = library()


def user():
    return lib["call"](user_again)


def user_again():
    return lib["fail_here"]()


def caught(fun, *args):
    try:
        fun(*args)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def frames(error):
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


@pytest.mark.parametrize("mode", ["auto", "quiet_remove_frames", "remove_frames"])
def test_only_user_frames_remain(mode):
    with traceback_filtering(mode):
        error = caught(user)
    assert frames(error) == ["caught", "user", "user_again"]
    assert str(error) == "bad shape"


def test_off_keeps_everything():
    with traceback_filtering("off"):
        error = caught(user)
    inner = ["boundary", "call", "inner", "user_again", "boundary", "fail_here", "fail"]
    assert frames(error) == ["caught", "user", *inner]
    assert not hasattr(error, "__notes__")


def test_quiet_says_so_once():
    with traceback_filtering("quiet_remove_frames"):
        error = caught(user)
    (note,) = error.__notes__
    assert "JAX_TRACEBACK_FILTERING=off" in note
    assert error.__cause__ is None


def test_remove_frames_chains_the_full_traceback():
    with traceback_filtering("remove_frames"):
        error = caught(user)
    assert isinstance(error.__cause__, source.UnfilteredTraceback)
    assert frames(error.__cause__) == ["boundary", "fail_here", "fail"]
    assert "bad shape" in str(error.__cause__)
    assert not hasattr(error, "__notes__")


def test_hiding_marks_internal_frames_only():
    with traceback_filtering("tracebackhide"):
        error = caught(user)
    link, hidden, shown = error.__traceback__, [], []
    while link is not None:
        (hidden if link.tb_frame.f_locals.get("__tracebackhide__") else shown).append(link.tb_frame.f_code.co_name)
        link = link.tb_next
    assert shown == ["caught", "user", "user_again"]
    assert hidden == ["boundary", "call", "inner", "boundary", "fail_here", "fail"]


def test_auto_hides_under_ipython(monkeypatch):
    monkeypatch.setattr(source, "_under_ipython", lambda: True)
    error = caught(user)
    assert "boundary" in frames(error)


def test_chained_errors_are_filtered_too():
    error = caught(lib["fail_because"])
    assert frames(error) == ["caught"]
    assert frames(error.__cause__) == []
    error = caught(lib["fail_while_handling"])
    assert error.__suppress_context__
    assert frames(error) == ["caught"]


def test_errors_of_the_user_inside_are_untouched():
    def mine():
        raise ZeroDivisionError("mine")

    error = caught(lib["call"], mine)
    assert frames(error) == ["caught", "mine"]
    assert type(error) is ZeroDivisionError


def test_an_error_without_internal_frames_gets_no_note():
    error = caught(user_raises)
    source.filter_traceback(error)
    assert not hasattr(error, "__notes__")


def user_raises():
    raise RuntimeError("mine")


def test_circular_contexts_end():
    first, second = ValueError(1), ValueError(2)
    first.__context__, second.__context__ = second, first
    source.filter_traceback(first)


def test_interrupts_pass_unfiltered():
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as info:
        lib["call"](interrupt)
    assert "boundary" in [entry.name for entry in info.traceback]


def test_the_boundary_keeps_the_function_s_face():
    assert lib["call"].__name__ == "call"
    assert lib["call"].__doc__ == "Calls f."
    assert list(inspect.signature(lib["call"]).parameters) == ["f"]
