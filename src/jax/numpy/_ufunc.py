"""``jnp.ufunc``: element-wise functions that can also reduce, accumulate, scatter and form outer products."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from jax._base.source import filter_traceback
from jax.numpy._promotion import check_arraylike, refuse_out

Method = Callable[..., Any]


# The methods that all ufuncs share, ``(ufunc, *arguments)``. They use reductions, which are made of ufuncs: the module
# that defines them (_ufunc_methods) fills the table in.
common_methods: dict[str, Callable[..., Any]] = {}
own_ufuncs: set[ufunc] = set()


class ufunc:
    """An element-wise function with the methods of :class:`numpy.ufunc`.

    Calls broadcast and promote like other functions. Deviations from NumPy: ``out=`` and, in calls, ``where=`` are not
    supported; ``at`` returns a new array and must be called with ``inplace=False``.

    Args:
      func: what computes the function from arrays.
      nin: number of array arguments.
      nout: number of results.
      name: shown in messages; by default that of ``func``.
      nargs: ``nin`` by default.
      identity: the value that leaves others unchanged, or None; what reductions of nothing give.
      call: used for calls instead of ``func``.
      reduce, accumulate, at, reduceat: faster implementations of these methods, with the arguments of the methods
        after the array.
    """

    def __init__(self, func: Method, /, nin: int, nout: int, *, identity: Any = None, name: str | None = None,
                 nargs: int | None = None, call: Method | None = None, at: Method | None = None,
                 reduce: Method | None = None, reduceat: Method | None = None, accumulate: Method | None = None,
                 ) -> None:
        self._func = func
        self._call = call or func
        self.__name__ = name or func.__name__.strip("_")
        self.__qualname__ = self.__name__
        self.__module__ = "jax.numpy"
        self.__doc__ = func.__doc__
        self._nin, self._nout, self._nargs = nin, nout, nin if nargs is None else nargs
        self._identity = identity
        self._methods = {"reduce": reduce, "accumulate": accumulate, "at": at, "reduceat": reduceat}

    nin = property(lambda self: self._nin, doc="Number of array arguments.")
    nout = property(lambda self: self._nout, doc="Number of results.")
    nargs = property(lambda self: self._nargs, doc="Number of arguments.")
    identity = property(lambda self: self._identity, doc="What leaves other values unchanged, or None.")

    def __call__(self, *args: Any, out: Any = None, where: Any = None) -> Any:
        try:
            if out is None and where is None and len(args) == self._nin:
                return self._call(*args)
            if out is not None:
                refuse_out(self.__name__, out)
            if where is not None:
                raise NotImplementedError(f"jnp.{self.__name__}: calls do not support where=; "
                                          f"use jnp.where(where, {self.__name__}(...), other).")
            raise TypeError(f"jnp.{self.__name__} takes {self._nin} array argument{'s' * (self._nin != 1)}, "
                            f"got {len(args)}")
        except Exception as error:
            filter_traceback(error)
            raise

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.__name__}'>"

    def __hash__(self) -> int:
        return hash((self._func, self.__name__, self._identity, self._nin, self._nout, self._call))

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ufunc) and \
            (self._func, self.__name__, self._identity, self._nin, self._nout, self._call) == \
            (other._func, other.__name__, other._identity, other._nin, other._nout, other._call)

    # -- methods of functions of two arguments --

    def _needs(self, method: str, nin: int, nout: int = 1) -> None:
        if self._nin != nin or self._nout != nout:
            raise ValueError(f"jnp.{self.__name__}.{method} needs a function of {nin} arguments with {nout} result, "
                             f"and this one has {self._nin} and {self._nout}")

    def reduce(self, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False,
               initial: Any = None, where: Any = None) -> Any:
        """The elements of ``a`` along ``axis`` combined from first to last.

        Args:
          a: an array.
          axis: an axis, a tuple of axes or None for all; several only for functions with an identity.
          dtype: dtype in which to compute.
          out: not supported.
          keepdims: keep reduced axes with size 1.
          initial: the value to begin with.
          where: which elements to take; needs ``initial`` or an identity.

        Raises:
          ValueError: when there is nothing to reduce and no identity.
        """
        self._needs("reduce", 2)
        refuse_out(f"{self.__name__}.reduce", out)
        check_arraylike(f"{self.__name__}.reduce", a)
        if where is not None and self._identity is None and initial is None:
            raise ValueError(f"jnp.{self.__name__}.reduce has no identity, so that initial= must be given with where=")
        fast = self._methods["reduce"]
        if fast is not None:
            return fast(a, axis=axis, dtype=dtype, keepdims=builtins.bool(keepdims), initial=initial, where=where)
        return common_methods["reduce"](self, a, axis, dtype, keepdims, initial, where)

    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """Along ``axis``, the reduction of every leading part of ``a``; of the shape of ``a``."""
        self._needs("accumulate", 2)
        refuse_out(f"{self.__name__}.accumulate", out)
        check_arraylike(f"{self.__name__}.accumulate", a)
        fast = self._methods["accumulate"]
        if fast is not None:
            return fast(a, axis=axis, dtype=dtype)
        return common_methods["accumulate"](self, a, axis, dtype)

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """``a`` with the function applied at ``indices``, once for every occurrence of an index.

        Args:
          a: an array.
          indices: an index, as in ``a[indices]``.
          b: the second operand, for functions of two.
          inplace: must be False: the updated array is returned.
        """
        if inplace:
            raise NotImplementedError(f"jnp.{self.__name__}.at cannot change an array in place; call it with "
                                      "inplace=False and use the result.")
        fast = self._methods["at"]
        if fast is not None:
            return fast(a, indices, b)
        return common_methods["at"](self, a, indices, b)

    def reduceat(self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """Reductions of the slices of ``a`` along ``axis`` that begin at each index and end before the next.

        Where an index is not smaller than the next one, the result is the element there, as in NumPy.
        """
        self._needs("reduceat", 2)
        refuse_out(f"{self.__name__}.reduceat", out)
        fast = self._methods["reduceat"]
        if fast is not None:
            return fast(a, indices, axis=axis, dtype=dtype)
        return common_methods["reduceat"](self, a, indices, axis, dtype)

    def outer(self, A: Any, B: Any, /) -> Any:
        """The function of every pair of elements: shape ``A.shape + B.shape``."""
        self._needs("outer", 2)
        check_arraylike(f"{self.__name__}.outer", A, B)
        return common_methods["outer"](self, A, B)


def ufunc_of(nin: int, *, identity: Any = None) -> Callable[[Callable[..., Any]], ufunc]:
    """Decorator that makes a :class:`ufunc` of a function of ``nin`` arrays, one of those of this package."""
    def decorate(func: Callable[..., Any]) -> ufunc:
        made = ufunc(func, nin, 1, identity=identity)
        own_ufuncs.add(made)
        return made
    return decorate
