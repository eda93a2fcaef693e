"""Attributes for the compiler: pairs of strings on the operations of a program, for XLA's passes and tools that read it.

In StableHLO they are ``mhlo.frontend_attributes``. What an attribute does is up to the compiler; results stay the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from contextlib import ContextDecorator
from typing import Any

from jax._api.call_primitives import CallPrimitive, register_call_primitive_rules
from jax._api.common import FlatFun, check_callable, flatten_args
from jax._base import _jaxlib, config
from jax._base.source import Tags, api_boundary, extend_names
from jax._language import rules
from jax._language.primitive import Primitive
from jax._lowering.emit import add_frontend_attributes
from jax._lowering.rules import call_bodies, fusible, register_lowering
from jax._lowering.subprograms import call_jaxpr
from jax.tree_util import tree_map, tree_unflatten

_Items = tuple[tuple[str, str | None], ...]


def _text(api: str, key: Any, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise TypeError(f"{api}: the value of {key!r} must be a string, a number or a boolean, got {value!r} of type "
                    f"{type(value).__name__}")


def _items(api: str, metadata: Mapping[str, Any], removable: bool = False) -> _Items:
    for key in metadata:
        if not isinstance(key, str):
            raise TypeError(f"{api}: names of attributes are strings, got {key!r}")
    return tuple([(k, None if v is None and removable else _text(api, k, v)) for k, v in sorted(metadata.items())])


# --- in a block, or on a value --------------------------------------------------------------------------------------

class _Attributes(ContextDecorator):
    """The operations of a block, or of the calls of a function, have attributes."""

    def __init__(self, items: _Items) -> None:
        self._tags = Tags(items)
        self._entered: list[tuple[Any, Any]] = []

    def _recreate_cm(self) -> _Attributes:
        return _Attributes(self._tags.items)

    def __enter__(self) -> None:
        names = extend_names(self._tags)
        names.__enter__()
        # What is traced depends on them, so they are part of the keys of caches.
        self._entered.append((names, config.operation_tags.swap_local((config.operation_tags.value, self._tags))))

    def __exit__(self, *exc_info: object) -> None:
        names, previous = self._entered.pop()
        config.operation_tags.swap_local(previous)
        names.__exit__(*exc_info)


_no_value = object()


@api_boundary
def set_xla_metadata(x: Any = _no_value, **kwargs: Any) -> Any:
    """Attributes on operations: of a block, of a function's calls, or on the operation that computes a value.

    Args:
      x: a tree of arrays; without it the result is a context manager, which decorates functions, too.
      **kwargs: the attributes. Values are strings, numbers or booleans (``"true"`` or ``"false"``); in a block, ``None``
        takes an outer attribute away.

    Returns:
      The context manager, or ``x``, equal to what was given. What computes ``x`` has the attributes when the program is
      compiled; arguments and concrete arrays are computed by no operation and stay as they are.

    Raises:
      TypeError: a value is of another type.

    Operations that differentiation makes of those in a block have the attributes too; those on a value have derivatives
    without. Functions under ``jit`` are traced again when they are called in a block with other attributes.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental.xla_metadata import set_xla_metadata
    >>> @jax.jit
    ... def f(x):
    ...     with set_xla_metadata(part="head"):
    ...         return jnp.sin(x)
    >>> 'part = "head"' in f.lower(1.).as_text()
    True
    """
    if x is _no_value:
        return _Attributes(_items("set_xla_metadata", kwargs, removable=True))
    items = _items("set_xla_metadata", kwargs)
    if callable(x):
        raise TypeError(f"set_xla_metadata: the first argument is a tree of arrays, got the function {x!r}. To decorate it, "
                        "call set_xla_metadata(name=value)(function).")
    return tree_map(lambda v: xla_metadata_value_p.bind(v, xla_metadata_kvs=items), x)


xla_metadata_value_p = Primitive("xla_metadata_value")
xla_metadata_value_p.def_impl(lambda x, *, xla_metadata_kvs: x)
xla_metadata_value_p.def_abstract_eval(lambda x, *, xla_metadata_kvs: x)


def _lower_value(ctx: Any, x: Any, *, xla_metadata_kvs: _Items) -> list[Any]:
    if not isinstance(x.owner, _jaxlib.ir.Block):  # then it is an argument
        add_frontend_attributes(x.owner.operation, {k: v for k, v in xla_metadata_kvs if v is not None})
    return [x]


register_lowering(xla_metadata_value_p, _lower_value, cacheable=False)
fusible[xla_metadata_value_p] = 0
rules.primitive_jvps[xla_metadata_value_p] = lambda primals, tangents, **params: (
    xla_metadata_value_p.bind(*primals, **params), tangents[0])
rules.primitive_transposes[xla_metadata_value_p] = lambda ct, x, **params: [ct]
rules.primitive_batchers[xla_metadata_value_p] = lambda args, dims, **params: (
    xla_metadata_value_p.bind(*args, **params), dims[0])


def fuse_limit() -> Any:
    """A context manager: XLA is asked not to fuse across the borders of the block (attribute ``FUSE_LIMIT``).

    Compilers that do not know the attribute, as the one for CPUs, take no notice of it.

    >>> from jax.experimental.xla_metadata import fuse_limit
    >>> with fuse_limit():
    ...     pass
    """
    return _Attributes((("FUSE_LIMIT", "true"),))


# --- on calls -------------------------------------------------------------------------------------------------------

xla_metadata_call_p = CallPrimitive("xla_metadata_call")
register_call_primitive_rules(xla_metadata_call_p, "xla_metadata_call")


def _lower_call(ctx: Any, *values: Any, call_jaxpr: Any, xla_metadata: _Items, ad_metadata: Any) -> Any:
    return lower_call(ctx, "xla_metadata_call", call_jaxpr, values, {k: v for k, v in xla_metadata if v is not None})


lower_call = call_jaxpr


def _of_derivative(params: dict[str, Any]) -> dict[str, Any]:
    found = params["ad_metadata"]
    return params if found == "same" else dict(params, xla_metadata=() if found == "drop" else found, ad_metadata="same")


register_lowering(xla_metadata_call_p, _lower_call, cacheable=False)
call_bodies[xla_metadata_call_p] = "call_jaxpr"
xla_metadata_call_p.of_derivative = _of_derivative


@api_boundary
def xla_metadata_call(f: Callable[..., Any] | None = None, **meta: Any) -> Any:
    """``f`` as a call with attributes: those of :func:`xla_metadata_call2`, given by name.

    >>> import jax
    >>> from jax.experimental.xla_metadata import xla_metadata_call
    >>> g = xla_metadata_call(lambda x: x + 1, part="head")
    >>> print(jax.make_jaxpr(g)(1.).eqns[0].params["xla_metadata"])
    (('part', 'head'),)
    """
    return xla_metadata_call2(f, meta)


@api_boundary
def xla_metadata_call2(f: Any = None, metadata: Mapping[str, Any] | None = None, ad_metadata: Any = "same") -> Any:
    """``f`` as a call with attributes, which XLA hands on to the operations inside when it inlines the call.

    Nothing is traced again because of them.

    Args:
      f: a function of trees of arrays; without it (or with the attributes in its place) the result is a decorator.
      metadata: the attributes. Values are strings, numbers or booleans (``"true"`` or ``"false"``).
      ad_metadata: those of the calls that reverse-mode differentiation and linearization make of it: ``"same"``, ``"drop"``
        for none, or a dict. Under ``jax.jvp`` value and tangent are one call, with ``metadata``.

    Raises:
      TypeError: an attribute is of another type, ``f`` is no function, or ``ad_metadata`` something else.

    >>> import jax, jax.numpy as jnp
    >>> from jax.experimental.xla_metadata import xla_metadata_call2
    >>> g = xla_metadata_call2(jnp.sin, {"part": "head"}, ad_metadata="drop")
    >>> print(g(0.))
    0.0
    """
    if f is None or isinstance(f, Mapping):
        if f is not None and metadata is not None:
            raise TypeError("xla_metadata_call2: attributes were given twice, in place of the function and as metadata")
        return functools.partial(xla_metadata_call2, metadata=f if metadata is None else metadata, ad_metadata=ad_metadata)
    check_callable(f, "xla_metadata_call")
    items = _items("xla_metadata_call", metadata or {})
    if isinstance(ad_metadata, Mapping):
        ad_metadata = _items("xla_metadata_call", ad_metadata)
    elif ad_metadata not in ("same", "drop"):
        raise TypeError(f"xla_metadata_call: ad_metadata must be 'same', 'drop', or a dict of attributes, got "
                        f"{ad_metadata!r}")

    @functools.wraps(f)
    @api_boundary
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = flatten_args(args, kwargs)
        flat = FlatFun(f, tree)
        outs = xla_metadata_call_p.bind(flat, *leaves, xla_metadata=items, ad_metadata=ad_metadata)
        return tree_unflatten(flat.out_tree, outs)
    return call


def must_fuse_call(identifier: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: XLA is asked to compute the whole of a function's call in one fusion (attribute ``MUST_FUSE``).

    Compilers that know the attribute refuse programs in which they cannot; others, as the one for CPUs, take no notice.

    Args:
      identifier: a number or string; calls with the same one share a fusion.

    >>> import jax.numpy as jnp
    >>> from jax.experimental.xla_metadata import must_fuse_call
    >>> print(must_fuse_call(1)(lambda x: jnp.square(x).sum())(jnp.ones(2)))
    2.0
    """
    return functools.partial(xla_metadata_call2, metadata={"MUST_FUSE": identifier})
