"""The user's place in the program: stacks, user frames, exclusions, replayed sources, names of scopes."""

from __future__ import annotations

import functools
import inspect
import threading

import numpy as np
import pytest

from jax._base import _jaxlib, config, source

pytestmark = pytest.mark.quick


def line():
    return inspect.currentframe().f_back.f_lineno


def compile_as(file_name, text):
    """Run ``text`` as if it were the file ``file_name``; its globals."""
    scope = {"source": source, "np": np}
    exec(compile(text, file_name, "exec"), scope)
    return scope


INTERNAL = source._PACKAGE + "/imagined/module.py"
LIBRARY = compile_as(INTERNAL, "def capture():\n    return source.capture()\ndef call(f):\n    return f()\n")


def test_the_innermost_user_frame_is_found():
    def user():
        return LIBRARY["capture"](), line()

    traceback, at = user()
    frame = source.user_frame(traceback)
    assert frame.file_name == __file__
    assert frame.line == at
    assert frame.function.endswith("user")
    assert frame.text() == "return LIBRARY[\"capture\"](), line()"
    assert source.summarize(traceback) == f"{__file__}:{at} ({frame.function})"
    assert frame.end_line == at and frame.end_column > frame.column > 0


def test_internal_frames_between_are_skipped():
    frames = source.user_frames(LIBRARY["call"](lambda: LIBRARY["call"](LIBRARY["capture"])))
    assert frames[0].function.endswith("<lambda>")
    assert frames[1].function == "test_internal_frames_between_are_skipped"
    assert not any(source.is_internal_file(frame.file_name) for frame in frames)
    assert len(source.user_frames(source.current(), limit=1)) == 1


def test_helpers_of_python_and_numpy_are_not_the_user():
    class Probed:
        def __array__(self, dtype=None, copy=None):
            self.seen = LIBRARY["capture"]()
            return np.zeros(3)

    # On the way: numpy's Python code, functools, and a frame of this test that __array__ itself is.
    probed = Probed()
    functools.reduce(lambda a, b: np.sum(b), [0, probed])
    names = [frame.function.split(".")[-1] for frame in source.user_frames(probed.seen)]
    assert names[:3] == ["__array__", "<lambda>", "test_helpers_of_python_and_numpy_are_not_the_user"]
    assert not source.is_user_file(np.sum.__wrapped__.__code__.co_filename)
    assert not source.is_user_file(functools.__file__)
    assert not source.is_user_file("<frozen importlib._bootstrap>")
    assert source.is_user_file("<stdin>")
    assert source.is_user_file(pytest.__file__)


def test_no_traceback():
    assert source.user_frame(None) is None
    assert source.user_frames(None) == []
    assert source.summarize(None) == "unknown"
    assert source.format_frames(None) == ""


def test_exclusion_and_inclusion(tmp_path):
    library = compile_as(str(tmp_path / "lib" / "code.py"), "def call(f):\n    return f()\n")
    example = compile_as(str(tmp_path / "lib" / "examples.py"), "def call(f):\n    return f()\n")
    assert source.user_frame(library["call"](source.current)).file_name.endswith("code.py")
    source.register_exclusion(str(tmp_path / "lib"))
    source.register_inclusion(str(tmp_path / "lib" / "examples.py"))
    assert source.user_frame(library["call"](source.current)).file_name == __file__
    assert source.user_frame(example["call"](source.current)).file_name.endswith("examples.py")
    assert source.is_user_file(str(tmp_path / "library_of_others.py"))


def test_capture_scope_cuts_stacks_off():
    def inner():
        return source.current()

    with source.capture_scope():
        short = inner()
    codes, _ = short.raw_frames()
    assert [code.co_name for code in codes] == ["inner"]


def test_format_frames_honours_the_limit():
    def outer():
        return LIBRARY["capture"]()

    text = source.format_frames(outer(), limit=2)
    assert text.splitlines()[1].strip() == "text = source.format_frames(outer(), limit=2)"
    assert text.splitlines()[-1].strip() == "return LIBRARY[\"capture\"]()"
    before = config.config.jax_tracer_error_num_traceback_frames
    config.config.update("jax_tracer_error_num_traceback_frames", 1)
    try:
        assert len(source.format_frames(outer()).splitlines()) == 2
    finally:
        config.config.update("jax_tracer_error_num_traceback_frames", before)


def test_describe_function():
    def f():
        pass

    at = f"{__file__}:{f.__code__.co_firstlineno}"
    assert source.describe_function(f) == f"f at {at}"
    assert source.describe_function(functools.partial(f)) == f"f at {at}"
    assert source.describe_function(source.api_boundary(f)) == f"f at {at}"
    assert source.describe_function(len) == "len"
    assert source.describe_function(functools.lru_cache(f)) == f"f at {at}"


def test_locations_name_user_files_only():
    traceback = LIBRARY["call"](LIBRARY["capture"])
    with _jaxlib.new_mlir_context() as context:
        cache = _jaxlib.mlir_ext.TracebackToLocationCache(source.location_file, 1, context)
        assert str(cache.get(traceback)).startswith(f'loc("test_locations_name_user_files_only"("{__file__}":')
    code = test_locations_name_user_files_only.__code__
    with config.hlo_source_file_canonicalization_regex(".*/"):
        assert source.location_file(code) == "test_source.py"


def test_replayed_sources_win_while_they_last():
    with source.capture_scope():
        old = source.current()
    with source.user_context((old, ("layer",))):
        assert source.capture() is old
        assert source.current_names() == ("layer",)
        with source.user_context((None, ())):
            assert source.capture() is not old
            assert source.current_names() == ("layer",)
    assert source.capture() is not old
    assert source.current_names() == ()


# --- names of scopes ----------------------------------------------------------------------------------------


def test_named_scope_nests_and_ends():
    with source.named_scope("a"):
        with source.named_scope("b"):
            assert source.current_names() == ("a", "b")
        assert source.current_names() == ("a",)
    assert source.current_names() == ()


def test_named_scope_ends_with_an_error():
    with pytest.raises(RuntimeError), source.named_scope("a"):
        raise RuntimeError
    assert source.current_names() == ()


def test_named_scope_as_decorator_is_reentrant():
    @source.named_scope("layer")
    def deep(n):
        """Doc."""
        return source.render_names(source.current_names()) if n == 0 else deep(n - 1)

    assert deep(2) == "layer/layer/layer"
    assert deep.__doc__ == "Doc."
    assert source.current_names() == ()


def test_named_scope_object_can_be_entered_twice():
    scope = source.named_scope("a")
    with scope, scope:
        assert source.current_names() == ("a", "a")
    assert source.current_names() == ()


def test_named_scope_wants_a_string():
    with pytest.raises(TypeError, match="takes a string; got 3 of type int"):
        source.named_scope(3)


def test_names_are_of_this_thread():
    seen = []
    with source.named_scope("a"):
        thread = threading.Thread(target=lambda: seen.append(source.current_names()))
        thread.start()
        thread.join()
    assert seen == [()]


def test_replacing_names():
    with source.named_scope("a"), source.extend_names("b", source.jvp, replace=True):
        assert source.current_names() == ("b", source.jvp)


@pytest.mark.parametrize(
    ("stack", "text"),
    [
        ((), ""),
        (("a",), "a"),
        (("a", "b"), "a/b"),
        ((source.jvp,), "jvp()"),
        ((source.jvp, "a"), "jvp(a)"),
        (("f", source.transpose, source.jvp, "a", "b"), "f/transpose(jvp(a/b))"),
        ((source.vmap, "a", source.Transform("checkpoint"), "b"), "vmap(a/checkpoint(b))"),
    ],
)
def test_rendering(stack, text):
    assert source.render_names(stack) == text


def test_transforms_compare_by_name_and_not_with_scopes():
    assert source.Transform("jvp") == source.jvp
    assert hash(source.Transform("jvp")) == hash(source.jvp)
    assert source.jvp != "jvp"
    assert repr(source.jvp) == "Transform('jvp')"
