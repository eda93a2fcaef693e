"""View on the part of the library that hides internal frames in tracebacks."""

from __future__ import annotations

from collections.abc import Iterator, MutableSequence
from types import FrameType
from typing import Any

from jax._base import source
from jax._base.source import api_boundary as api_boundary
from jax._base.source import filter_traceback as filter_traceback
from jax._base.source import register_exclusion as register_exclusion


def include_frame(f: FrameType) -> bool:
    """Whether a frame is shown in tracebacks: one of the user's program."""
    return not source.is_internal_file(f.f_code.co_filename)


class _ExcludedPaths(MutableSequence[str]):
    """The files and directories whose frames are hidden. Changes take effect at once."""

    def __len__(self) -> int:
        return len(source.excluded_paths())

    def __getitem__(self, index: Any) -> Any:
        return source.excluded_paths()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        del self[index]
        self.insert(index, value)

    def __delitem__(self, index: Any) -> None:
        source.unregister_exclusion(source.excluded_paths()[index])

    def __contains__(self, path: Any) -> bool:
        return any(p == path for p in source.excluded_paths())

    def __iter__(self) -> Iterator[str]:
        return iter(source.excluded_paths())

    def insert(self, index: int, value: str) -> None:
        source.register_exclusion(value)


_exclude_paths = _ExcludedPaths()
