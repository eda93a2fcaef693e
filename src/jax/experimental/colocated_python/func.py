"""Functions on the hosts of devices, and what is said of their calls beforehand."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jax._base.source import api_boundary
from jax.experimental.colocated_python.func_backend import Specialization, run


class ColocatedFunction:
    """A Python function that is called on the host of its arguments' devices."""

    def __init__(self, fun: Callable[..., Any], specialization: Specialization | None = None) -> None:
        functools.update_wrapper(self, fun)
        self._fun = fun
        self._specialization = specialization or Specialization()

    def specialize(self, in_specs: Any = None, out_specs_fn: Callable[..., Any] | None = None,
                   devices: Sequence[Any] | None = None) -> ColocatedFunction:
        """The function with more said of its calls.

        Args:
          in_specs: the types of the arguments, a tree of ``jax.ShapeDtypeStruct`` like ``(args, kwargs)``.
          out_specs_fn: a function from types of arguments to types, with shardings, of results.
          devices: where it runs, for functions without arguments.

        Raises:
          ValueError: it has been said before.
        """
        return ColocatedFunction(self._fun, self._specialization.refined(
            self._name, in_specs=in_specs, out_specs_fn=out_specs_fn, devices=devices))

    @property
    def _name(self) -> str:
        return f"the colocated function {getattr(self._fun, '__name__', self._fun)}"

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return run(self._fun, self._name, self._specialization, args, kwargs)


__all__ = ["ColocatedFunction", "Specialization"]
