"""Classes whose objects live on the hosts of devices."""

from __future__ import annotations

import functools
from typing import Any

from jax.experimental.colocated_python.func import ColocatedFunction
from jax.experimental.colocated_python.obj_backend import Instance


def wrap_class(cls: type) -> type:
    """A class with the constructor and the public methods of ``cls``, which are colocated functions on one object."""
    class Colocated:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self._instance = Instance(lambda: cls(*args, **kwargs))

        def __getattr__(self, name: str) -> Any:
            method = None if name.startswith("_") else getattr(cls, name, None)
            if not callable(method):
                raise AttributeError(f"the colocated class {cls.__name__} has no public method {name!r}; attributes of the "
                                     "object can be read in its methods")

            @functools.wraps(method)
            def call(*args: Any, **kwargs: Any) -> Any:
                return method(self._instance.get(), *args, **kwargs)
            found = self.__dict__[name] = ColocatedFunction(call)
            return found

    functools.update_wrapper(Colocated, cls, updated=())
    return Colocated


__all__ = ["wrap_class"]
