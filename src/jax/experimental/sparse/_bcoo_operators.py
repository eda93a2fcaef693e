"""Operators and methods of BCOO arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jax import numpy as jnp
from jax.experimental.sparse._bcoo_layout import (
    BCOO,
    bcoo_sum_duplicates,
    bcoo_todense,
    bcoo_update_layout,
    entries,
    make,
    with_data,
)
from jax.experimental.sparse._bcoo_products import bcoo_dot_general, bcoo_multiply_dense, bcoo_multiply_sparse
from jax.experimental.sparse._bcoo_shape import bcoo_broadcast_in_dim, bcoo_reshape, bcoo_transpose
from jax.experimental.sparse._bcoo_shape import total as _total
from jax.experimental.sparse._formats import JAXSparse
from jax.experimental.sparse.util import compiled
from jax.numpy._promotion import is_arraylike


def _usable(other: Any) -> bool:
    return isinstance(other, BCOO) or not isinstance(other, JAXSparse) and is_arraylike(other)


@compiled()
def add(a: Any, b: Any) -> Any:
    """The sum: a BCOO array of two BCOO arrays, else a dense array."""
    if isinstance(a, BCOO) and isinstance(b, BCOO):
        if a.shape != b.shape:
            shape = np.broadcast_shapes(a.shape, b.shape)
            a, b = (bcoo_broadcast_in_dim(m, shape=shape, broadcast_dimensions=range(len(shape) - m.ndim, len(shape)))
                    for m in (a, b))
        if (a.n_batch, a.n_dense) != (b.n_batch, b.n_dense):
            a, b = (bcoo_update_layout(m, n_batch=min(a.n_batch, b.n_batch), n_dense=min(a.n_dense, b.n_dense))
                    for m in (a, b))
        (x, i), (y, j) = entries(a), entries(b)
        n = a.n_batch
        return make(jnp.concatenate([x, y], axis=n), jnp.concatenate([i, j], axis=n), a.shape)
    sparse, dense = (a, b) if isinstance(a, BCOO) else (b, a)
    if np.broadcast_shapes(sparse.shape, jnp.shape(dense)) != jnp.shape(dense):
        raise NotImplementedError(f"the sum of a BCOO array of shape {sparse.shape} and a dense array of shape "
                                  f"{jnp.shape(dense)} is a dense array larger than the latter; if you want it, use "
                                  "todense()")
    return bcoo_todense(sparse) + dense


def negative(a: BCOO) -> BCOO:
    """``-a``."""
    return with_data(a, -a.data)


def multiply(a: Any, b: Any) -> BCOO:
    """The product element by element, a BCOO array."""
    if isinstance(a, BCOO) and isinstance(b, BCOO):
        return bcoo_multiply_sparse(a, b)
    sparse, dense = (a, b) if isinstance(a, BCOO) else (b, a)
    shape = np.broadcast_shapes(sparse.shape, jnp.shape(dense))
    if shape != sparse.shape:
        sparse = bcoo_broadcast_in_dim(sparse, shape=shape,
                                       broadcast_dimensions=range(len(shape) - sparse.ndim, len(shape)))
    return with_data(sparse, bcoo_multiply_dense(sparse, dense))


def divide(a: BCOO, b: Any) -> BCOO:
    """``a / b`` for a dense ``b``, where it is stored."""
    b = jnp.asarray(b)
    if b.ndim:
        return multiply(a, 1 / b)
    return with_data(a, a.data / b)


def unary(fun: Any) -> Any:
    """A function with ``fun(0) == 0`` that is not linear, on the elements of a BCOO array."""
    def on_elements(a: BCOO, *args: Any, **kwargs: Any) -> BCOO:
        a = a if a.unique_indices else bcoo_sum_duplicates(a, nse=a.nse)
        return with_data(a, fun(a.data, *args, **kwargs))
    return on_elements


def power(a: BCOO, exponent: Any) -> BCOO:
    """``a ** exponent`` for a positive integer."""
    exponent = operator.index(exponent)
    if exponent < 1:
        raise NotImplementedError(f"a BCOO array to the power {exponent} would be dense; use todense()")
    return unary(lambda x: x**exponent)(a)


def matmul(a: Any, b: Any) -> Any:
    """``a @ b``, a BCOO array if both are; stacks of matrices are broadcast as by ``jnp.matmul``."""
    for x in (a, b):
        if not jnp.ndim(x) if not isinstance(x, BCOO) else not x.ndim:
            raise TypeError("matmul: scalars are not allowed; use *")
    left, right = len(a.shape), len(b.shape)
    contract = ([left - 1], [max(right - 2, 0)])
    lead_a, lead_b = a.shape[:-2], b.shape[:-2]
    if lead_a and lead_b:
        lead = np.broadcast_shapes(lead_a, lead_b)
        a, b = _broadcast(a, (*lead, *a.shape[-2:])), _broadcast(b, (*lead, *b.shape[-2:]))
        n = len(lead)
        return bcoo_dot_general(a, b, dimension_numbers=(([n + 1], [n]), (range(n), range(n))))
    out = bcoo_dot_general(a, b, dimension_numbers=(contract, ([], [])))
    if lead_b and left == 2:  # (rows, *lead, columns)
        order = [*range(1, len(lead_b) + 1), 0, len(lead_b) + 1]
        if isinstance(out, BCOO):
            return bcoo_transpose(bcoo_update_layout(out, n_batch=0), permutation=order)
        return jnp.transpose(out, order)
    return out


def _broadcast(x: Any, shape: tuple[int, ...]) -> Any:
    if x.shape == shape:
        return x
    if isinstance(x, BCOO):
        return bcoo_broadcast_in_dim(x, shape=shape, broadcast_dimensions=range(len(shape) - x.ndim, len(shape)))
    return jnp.broadcast_to(x, shape)


def _operator(fun: Any, flip: bool = False) -> Any:
    def method(self: BCOO, other: Any) -> Any:
        if not _usable(other):
            return NotImplemented
        return fun(other, self) if flip else fun(self, other)
    return method


def _iterate(self: BCOO) -> Any:
    if not self.ndim:
        raise TypeError("iteration over a 0-d array")
    return (self[i] for i in range(self.shape[0]))


def _transpose(self: BCOO, axes: Any = None) -> BCOO:
    """The array with its axes in another order, by default reversed (which dense and batch axes may forbid)."""
    return bcoo_transpose(self, permutation=range(self.ndim)[::-1] if axes is None else axes)


def _reshape(self: BCOO, *args: Any, **kwargs: Any) -> BCOO:
    """The array in another shape, given as a tuple or as integers; see :func:`bcoo_reshape`."""
    new = args[0] if len(args) == 1 and not hasattr(args[0], "__index__") else args
    return bcoo_reshape(self, new_sizes=new, **kwargs)


def _quotient(self: BCOO, other: Any) -> Any:
    return NotImplemented if isinstance(other, JAXSparse) or not is_arraylike(other) else divide(self, other)


def install() -> None:
    """Puts operators and methods on the class."""
    methods = {
        "__neg__": negative, "__pos__": lambda self: self, "__abs__": unary(jnp.abs),
        "__add__": _operator(add), "__radd__": _operator(add, True), "__mul__": _operator(multiply),
        "__rmul__": _operator(multiply, True), "__matmul__": _operator(matmul), "__rmatmul__": _operator(matmul, True),
        "__sub__": _operator(lambda a, b: add(a, -b)), "__rsub__": _operator(lambda a, b: add(a, negative(b)), True),
        "__truediv__": _quotient, "__pow__": power, "__iter__": _iterate,
        "transpose": _transpose, "reshape": _reshape, "sum": _total,
    }
    for name, method in methods.items():
        setattr(BCOO, name, method)


install()
