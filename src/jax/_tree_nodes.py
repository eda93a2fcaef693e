"""How classes become containers: the registration half of :mod:`jax.tree_util`."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from jax._base._jaxlib import pytree as _pytree

# The registry of container classes that all functions of this library use.
default_registry = _pytree.default_registry()
DictKey = _pytree.DictKey

_T = TypeVar("_T")
_Class = TypeVar("_Class", bound=type)


class NodeFunctions(NamedTuple):
    """How instances of a registered class are taken apart, ``to_iter(x) -> (children, metadata)``, and put
    together, ``from_iter(metadata, children)``."""

    to_iter: Callable[[Any], tuple[Iterable[Any], Any]]
    from_iter: Callable[[Any, Iterable[Any]], Any]


registry: dict[type, NodeFunctions] = {
    tuple: NodeFunctions(lambda x: (x, None), lambda _, children: tuple(children)),
    list: NodeFunctions(lambda x: (x, None), lambda _, children: list(children)),
    dict: NodeFunctions(default_registry.flatten_one_level, lambda ks, xs: dict(zip(ks, xs, strict=True))),
    type(None): NodeFunctions(lambda _: ((), None), lambda _, __: None),
}


def register_pytree_node(
    nodetype: type[_T],
    flatten_func: Callable[[_T], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Any], _T],
    flatten_with_keys_func: Callable[[_T], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Make a class a container.

    Args:
      nodetype: the class. Subclasses of it are not registered with it.
      flatten_func: takes an instance; returns its children and metadata that hashes and compares by value.
      unflatten_func: takes metadata and children; returns an instance. The children may be anything, not only
        arrays, so it should not convert or check them.
      flatten_with_keys_func: like ``flatten_func``, with ``(key, child)`` for each child.

    Raises:
      ValueError: when the class is registered already.
    """
    if not isinstance(nodetype, type):
        raise TypeError(f"register_pytree_node takes a class; got {nodetype!r}.")
    default_registry.register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)
    registry[nodetype] = NodeFunctions(flatten_func, unflatten_func)


def register_pytree_node_class(cls: _Class) -> _Class:
    """Class decorator: make a class a container by its methods ``tree_flatten(self)``, which returns children
    and metadata, and ``tree_unflatten(cls, metadata, children)``, a class method.

    >>> import jax
    >>> @jax.tree_util.register_pytree_node_class
    ... class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    ...     def tree_flatten(self):
    ...         return (self.a, self.b), None
    ...     @classmethod
    ...     def tree_unflatten(cls, metadata, children):
    ...         return cls(*children)
    >>> jax.tree_util.tree_leaves(Pair(1, (2, 3)))
    [1, 2, 3]
    """
    register_pytree_node(cls, lambda x: x.tree_flatten(), cls.tree_unflatten)  # type: ignore[attr-defined]
    return cls


def register_pytree_with_keys(
    nodetype: type[_T],
    flatten_with_keys: Callable[[_T], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_func: Callable[[Any, Any], _T],
    flatten_func: Callable[[_T], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Make a class a container whose children have names in key paths.

    Args:
      nodetype: the class.
      flatten_with_keys: takes an instance; returns ``(key, child)`` pairs and metadata.
      unflatten_func: takes metadata and children; returns an instance.
      flatten_func: returns children and metadata, faster; by default made from ``flatten_with_keys``.
    """
    if flatten_func is None:
        def flatten_func(node: _T) -> tuple[Iterable[Any], Any]:
            pairs, metadata = flatten_with_keys(node)
            return [child for _, child in pairs], metadata
    register_pytree_node(nodetype, flatten_func, unflatten_func, flatten_with_keys)


def register_pytree_with_keys_class(cls: _Class) -> _Class:
    """Class decorator: like :func:`register_pytree_node_class`, by ``tree_flatten_with_keys`` (pairs of key
    and child, and metadata) and ``tree_unflatten``; ``tree_flatten`` is used where there is one."""
    plain = (lambda x: x.tree_flatten()) if hasattr(cls, "tree_flatten") else None
    unflatten = cls.tree_unflatten  # type: ignore[attr-defined]
    register_pytree_with_keys(cls, lambda x: x.tree_flatten_with_keys(), unflatten, plain)
    return cls


def register_dataclass(
    nodetype: _Class, data_fields: Sequence[str] | None = None, meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> _Class:
    """Make a dataclass, or a class like one, a container.

    Its constructor is called with all fields as keyword arguments whenever a tree is rebuilt, so it should
    not convert or check what it gets.

    Args:
      nodetype: the class.
      data_fields: names of the fields that are children. Left out (together with ``meta_fields``) for a
        dataclass, these are all fields that the constructor takes, without those declared with
        ``jax.tree.static()`` (``metadata={'static': True}``).
      meta_fields: names of the fields that are metadata: they must hash and compare by value.
      drop_fields: fields of a dataclass that are in neither and take their defaults.

    Returns:
      The class, so that this is also a decorator.

    Raises:
      ValueError: when the names are not those of the fields, or the class is registered already.
      TypeError: when only one of the lists is given, or none for a class that is no dataclass.

    >>> import jax, dataclasses
    >>> @jax.tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     w: object
    ...     name: str = jax.tree.static(default='layer')
    >>> jax.tree_util.tree_map(lambda w: 2 * w, Layer(3, 'first'))
    Layer(w=6, name='first')
    """
    if (data_fields is None) != (meta_fields is None):
        raise TypeError("register_dataclass takes both data_fields and meta_fields, or neither; got "
                        f"data_fields={data_fields}, meta_fields={meta_fields}.")
    if not isinstance(nodetype, type):
        raise TypeError(f"register_dataclass takes a class; got {nodetype!r}.")
    if data_fields is None or meta_fields is None:
        data, meta = _fields_of_dataclass(nodetype, drop_fields)
    else:
        data, meta = tuple(data_fields), tuple(meta_fields)
        _check_field_names(nodetype, data, meta, drop_fields)
    default_registry.register_dataclass_node(nodetype, list(data), list(meta))
    registry[nodetype] = NodeFunctions(
        lambda x: (tuple(getattr(x, name) for name in data), tuple(getattr(x, name) for name in meta)),
        lambda metadata, children: nodetype(**dict(zip(data, children, strict=True)),
                                            **dict(zip(meta, metadata, strict=True))))
    return nodetype


def _fields_of_dataclass(nodetype: type, dropped: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not dataclasses.is_dataclass(nodetype):
        raise TypeError(f"register_dataclass: {nodetype.__name__} is not a dataclass, so data_fields and "
                        "meta_fields must be given (a dataclass decorator goes below this one).")
    fields = [f for f in dataclasses.fields(nodetype) if f.init and f.name not in dropped]
    return (tuple(f.name for f in fields if not f.metadata.get("static", False)),
            tuple(f.name for f in fields if f.metadata.get("static", False)))


def _check_field_names(
    nodetype: type, data: Iterable[str], meta: Iterable[str], dropped: Iterable[str]
) -> None:
    twice = set(data) & set(meta)
    if twice:
        raise ValueError(f"register_dataclass: {sorted(twice)} of {nodetype.__name__} are in data_fields and "
                         "in meta_fields.")
    if not dataclasses.is_dataclass(nodetype):
        return
    wanted = {f.name for f in dataclasses.fields(nodetype) if f.init}
    given = set(data) | set(meta)
    unknown, missing = given - wanted, wanted - given - set(dropped)
    if unknown:
        raise ValueError(f"register_dataclass: {nodetype.__name__}() takes no fields named "
                         f"{sorted(unknown)}; it takes {sorted(wanted)}.")
    if missing:
        raise ValueError(f"register_dataclass: the fields {sorted(missing)} of {nodetype.__name__} are "
                         "neither in data_fields nor in meta_fields; name them in drop_fields to leave them "
                         "at their defaults.")


def register_static(cls: _Class) -> _Class:
    """Class decorator: make instances containers of nothing that are their own metadata. They must hash and
    compare by value; they pass through transformations unseen and are part of the key of compiled
    functions."""
    register_pytree_node(cls, lambda x: ((), x), lambda metadata, _: metadata)
    return cls


def _keys_of(mapping: Any) -> list[Any]:
    return [DictKey(key) for key in mapping]


register_pytree_with_keys(
    OrderedDict,
    lambda x: (tuple(zip(_keys_of(x), x.values(), strict=True)), tuple(x)),
    lambda keys, values: OrderedDict(zip(keys, values, strict=True)),
    lambda x: (tuple(x.values()), tuple(x)),
)


def _flatten_defaultdict(x: Any) -> tuple[tuple[Any, ...], Any]:
    keys = tuple(sorted(x))
    return tuple(x[key] for key in keys), (x.default_factory, keys)


def _flatten_defaultdict_with_keys(x: Any) -> tuple[Any, Any]:
    values, metadata = _flatten_defaultdict(x)
    return tuple(zip(_keys_of(metadata[1]), values, strict=True)), metadata


register_pytree_with_keys(
    defaultdict,
    _flatten_defaultdict_with_keys,
    lambda metadata, values: defaultdict(metadata[0], zip(metadata[1], values, strict=True)),
    _flatten_defaultdict,
)
