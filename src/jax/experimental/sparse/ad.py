"""Derivatives with respect to sparse arrays: of what is stored, with the places as they are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jax import numpy as jnp
from jax._api import grad as _grad
from jax._jacobian import jacfwd as _jacfwd
from jax._jacobian import jacrev as _jacrev
from jax.experimental._reexports import reexporting
from jax.experimental.sparse._bcoo_layout import BCOO
from jax.experimental.sparse._formats import JAXSparse
from jax.tree_util import tree_flatten, tree_map, tree_unflatten


def is_sparse(x: Any) -> bool:
    """Whether ``x`` is a sparse array."""
    return isinstance(x, JAXSparse)


def _with_data(x: Any, data: Any) -> Any:
    """A sparse array like ``x`` with other data; the data themselves for dense ``x``."""
    if not is_sparse(x):
        return data
    leaves, tree = tree_flatten(x)
    return tree_unflatten(tree, [data, *leaves[1:]])


def flatten_fun_for_sparse_ad(fun: Callable[..., Any], argnums: int | Sequence[int], args: Sequence[Any]) -> tuple[Any, ...]:
    """A function of what can be differentiated.

    Returns:
      ``(fun_of_data, data, rebuild)``: ``data`` lists for each of ``argnums`` the dense leaves and the data of sparse ones,
      ``fun_of_data(*data)`` calls ``fun``, and ``rebuild`` makes of such lists (after a function of a leaf and what
      has come of it) arguments again.
    """
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    numbers = [n % len(args) for n in numbers]
    split = {n: tree_flatten(args[n], is_leaf=is_sparse) for n in numbers}

    def call(*data: Any) -> Any:
        full = list(args)
        for n, parts in zip(numbers, data, strict=True):
            leaves, tree = split[n]
            full[n] = tree_unflatten(tree, [_with_data(x, d) for x, d in zip(leaves, parts, strict=True)])
        return fun(*full)

    def rebuild(results: Sequence[Any], make: Callable[[Any, Any], Any] = _with_data) -> Any:
        out = tuple(tree_unflatten(split[n][1], [make(x, d) for x, d in zip(split[n][0], parts, strict=True)])
                    for n, parts in zip(numbers, results, strict=True))
        return out[0] if isinstance(argnums, int) else out
    data = [[x.data if is_sparse(x) else x for x in split[n][0]] for n in numbers]
    return call, data, rebuild


def value_and_grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Any:
    """Like :func:`jax.value_and_grad`, where arguments may be sparse; their gradients have the same places.

    >>> import jax.numpy as jnp
    >>> a = BCOO.fromdense(jnp.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> value, slope = value_and_grad(lambda a, v: (a @ v).sum())(a, jnp.array([3.0, 4.0]))
    >>> slope.todense().tolist()
    [[0.0, 4.0], [3.0, 0.0]]
    """
    @functools.wraps(fun)
    def wrapped(*args: Any, **call_kwargs: Any) -> Any:
        called = functools.partial(fun, **call_kwargs) if call_kwargs else fun
        call, data, rebuild = flatten_fun_for_sparse_ad(called, argnums, args)
        value, slopes = _grad.value_and_grad(call, argnums=tuple(range(len(data))), has_aux=has_aux, **kwargs)(*data)
        return value, rebuild(slopes)
    return wrapped


def grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Any:
    """Like :func:`jax.grad`, where arguments may be sparse; their gradients have the same places."""
    both = value_and_grad(fun, argnums, has_aux, **kwargs)

    @functools.wraps(fun)
    def wrapped(*args: Any, **call_kwargs: Any) -> Any:
        value, slopes = both(*args, **call_kwargs)
        return (slopes, value[1]) if has_aux else slopes
    return wrapped


def _jacobian(transform: Any, name: str, fun: Callable[..., Any], argnums: Any, has_aux: bool, kwargs: Any) -> Any:
    @functools.wraps(fun)
    def wrapped(*args: Any, **call_kwargs: Any) -> Any:
        def checked(*args: Any) -> Any:
            out = fun(*args, **call_kwargs)
            leaves = tree_flatten(out[0] if has_aux else out, is_leaf=is_sparse)[0]
            if any(map(is_sparse, leaves)):
                raise NotImplementedError(f"sparse.{name}: the function must return dense arrays; use todense()")
            return out
        call, data, rebuild = flatten_fun_for_sparse_ad(checked, argnums, args)
        out = transform(call, argnums=tuple(range(len(data))), has_aux=has_aux, **kwargs)(*data)
        slopes, aux = out if has_aux else (out, None)
        result = tree_map(lambda parts: rebuild(parts.value, _with_jacobian), _transposed(slopes, data),
                          is_leaf=lambda x: isinstance(x, _Parts))
        return (result, aux) if has_aux else result
    return wrapped


class _Parts:
    """The derivatives of one result with respect to all data."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _transposed(slopes: Any, data: Any) -> Any:
    """For each leaf of the result the lists of derivatives."""
    outer = tree_flatten(data)[1]
    tops, tree = tree_flatten(slopes, is_leaf=lambda x: _matches(x, outer))
    return tree_unflatten(tree, [_Parts(list(x)) for x in tops])


def _matches(x: Any, outer: Any) -> bool:
    if not isinstance(x, tuple | list):
        return False
    return tree_flatten([list(p) if isinstance(p, tuple | list) else p for p in x])[1] == outer


def _with_jacobian(x: Any, slopes: Any) -> Any:
    """The derivatives with respect to a sparse array: a batch of sparse arrays, over the axes of the result."""
    if not is_sparse(x):
        return slopes
    if not isinstance(x, BCOO):
        raise NotImplementedError(f"derivatives of arrays with respect to {type(x).__name__} arrays; use BCOO")
    lead = slopes.shape[:slopes.ndim - x.data.ndim]
    indices = jnp.broadcast_to(x.indices, (*lead, *x.indices.shape))
    return BCOO((slopes, indices), shape=(*lead, *x.shape), indices_sorted=x.indices_sorted, unique_indices=x.unique_indices)


def jacfwd(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Any:
    """Like :func:`jax.jacfwd`, where arguments may be BCOO arrays; the result is then a batch of such arrays, over the
    axes of the function's result, which must be dense."""
    return _jacobian(_jacfwd, "jacfwd", fun, argnums, has_aux, kwargs)


def jacrev(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Any:
    """Like :func:`jax.jacrev`, where arguments may be BCOO arrays; as :func:`jacfwd`."""
    return _jacobian(_jacrev, "jacrev", fun, argnums, has_aux, kwargs)


jacobian = jacrev


__getattr__ = reexporting(__name__, "core tree_util")
