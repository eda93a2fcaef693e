"""Where in the user's program something happened, and the names of the scopes it happened in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from jax._base import source as _source
from jax._base.source import is_user_file as is_user_filename  # noqa: F401
from jax._base.source import register_exclusion as register_exclusion
from jax._base.source import register_inclusion as register_inclusion
from jax._base.source import user_frame as user_frame
from jax._base.source import user_frames as user_frames
from jax._language.jaxpr import SourceInfo as SourceInfo


class NameStack(NamedTuple):
    """The names of nested scopes and transformations, the outermost first."""

    stack: tuple[Any, ...] = ()

    def extend(self, name: str) -> NameStack:
        """With a scope inside."""
        return NameStack((*self.stack, name))

    def transform(self, transform_name: str) -> NameStack:
        """Inside a transformation."""
        return NameStack((_source.Transform(transform_name), *self.stack))

    def __str__(self) -> str:
        return _source.render_names(self.stack)


def current() -> SourceInfo:
    """The place of the caller: its stack, and the names around it."""
    return SourceInfo(_source.current(), _source.current_names())


def new_source_info() -> SourceInfo:
    """No place at all."""
    return SourceInfo(None, _source.NameStack())


def new_name_stack(name: str = "") -> NameStack:
    """A stack of one name, or of none."""
    return NameStack((name,) if name else ())


def current_name_stack() -> NameStack:
    """The names around the caller."""
    return NameStack(_source.current_names())


@contextmanager
def extend_name_stack(name: str) -> Iterator[NameStack]:
    """One more scope in a block; :func:`jax.named_scope` does this for programs."""
    with _source.extend_names(name):
        yield current_name_stack()


@contextmanager
def transform_name_stack(name: str) -> Iterator[NameStack]:
    """One more transformation in a block."""
    with _source.extend_names(_source.Transform(name)):
        yield current_name_stack()


@contextmanager
def set_name_stack(name_stack: NameStack) -> Iterator[None]:
    """Other names in a block."""
    with _source.extend_names(*name_stack.stack, replace=True):
        yield


def reset_name_stack() -> Any:
    """No names in a block."""
    return set_name_stack(NameStack())


@contextmanager
def user_context(traceback: Any, *, name_stack: NameStack | None = None) -> Iterator[None]:
    """Operations traced in the block are said to come from the place ``traceback`` (as :func:`current` has it)."""
    names = () if name_stack is None else name_stack.stack
    with _source.user_context((traceback, names)):
        yield


def summarize(source_info: Any, num_frames: int = 1) -> str:
    """The user's innermost lines of a place, as ``file.py:12 (function)``."""
    traceback = getattr(source_info, "traceback", source_info)
    frames = _source.user_frames(traceback, num_frames)
    return "\n".join(map(str, frames)) if frames else "unknown"


__all__ = ["NameStack", "SourceInfo", "current", "current_name_stack", "extend_name_stack", "is_user_filename",
           "new_name_stack", "new_source_info", "register_exclusion", "register_inclusion", "reset_name_stack",
           "set_name_stack", "summarize", "transform_name_stack", "user_context", "user_frame", "user_frames"]
