"""Adding Python members to jaxlib's C++ classes."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

_NOT_MEMBERS = frozenset(("__module__", "__doc__", "__dict__", "__weakref__", "__qualname__", "__annotations__",
                          "__firstlineno__", "__static_attributes__"))


def graft_onto(*targets: type) -> Callable[[type], type]:
    """Class decorator: copies the members of a class onto ``targets``, C++ classes that Python can only extend.

    A class so decorated is never instantiated: it is the place where the members are written down.
    """

    def install(source: type) -> type:
        for target in targets:
            for name, member in vars(source).items():
                if name not in _NOT_MEMBERS:
                    setattr(target, name, _renamed(member, target))
        return source

    return install


def _renamed(member: Any, target: type) -> Any:
    if isinstance(member, types.FunctionType):
        member.__qualname__ = f"{target.__name__}.{member.__name__}"
    return member
