"""The base class of sparse arrays."""

from __future__ import annotations

import math
from typing import Any

from jax._api.placement import block_until_ready
from jax.tree_util import tree_leaves


class JAXSparse:
    """A sparse array: some entries with their places. The rest is zero.

    Formats are pytrees; their arrays are the leaves. What a format cannot do raises ``NotImplementedError``.
    """

    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 100

    data: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array that this stands for."""
        raise NotImplementedError(f"{type(self).__name__}.shape")

    @property
    def nse(self) -> int:
        """The number of stored entries (of each batch)."""
        raise NotImplementedError(f"{type(self).__name__}.nse")

    @property
    def dtype(self) -> Any:
        """The dtype of the entries."""
        return self.data.dtype

    @property
    def size(self) -> int:
        """The number of elements, stored or not."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def T(self) -> Any:
        """The array with its axes in reversed order."""
        return self.transpose()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            described = f"{self.dtype}[{', '.join(map(str, self.shape))}], nse={self.nse}"
        except Exception:  # leaves need not be arrays: transformations of trees put all kinds of things there
            return f"{name}(<{', '.join(type(leaf).__name__ for leaf in tree_leaves(self))}>)"
        return f"{name}({described}{self._layout()})"

    def _layout(self) -> str:
        return ""

    def block_until_ready(self) -> Any:
        """Waits for the entries; returns the array."""
        block_until_ready(tree_leaves(self))
        return self

    def _refuse(self, name: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__}.{name} is not supported; BCOO has the most operations, and "
                                   ".todense() gives a dense array")

    def todense(self) -> Any:
        """The dense array."""
        raise self._refuse("todense")

    def transpose(self, axes: Any = None) -> Any:
        """The array with its axes in another order, reversed by default."""
        raise self._refuse("transpose")

    def sum(self, *args: Any, **kwargs: Any) -> Any:
        """The sum over axes."""
        raise self._refuse("sum")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{type(self).__name__} is not converted to a dense array unasked; use .todense()")


def _refusing(name: str) -> Any:
    def method(self: JAXSparse, *args: Any) -> Any:
        raise self._refuse(name)
    method.__name__ = name
    return method


for _name in ("neg", "pos", "abs", "invert", "matmul", "rmatmul", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv",
              "rtruediv", "floordiv", "rfloordiv", "mod", "rmod", "pow", "rpow", "lt", "le", "gt", "ge", "eq", "ne",
              "getitem", "iter"):
    setattr(JAXSparse, f"__{_name}__", _refusing(f"__{_name}__"))
JAXSparse.__hash__ = None  # type: ignore[assignment]
