"""Structures of arguments and results as JSON, and the classes that users have made known for it."""

from __future__ import annotations

import base64
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from jax._tree_nodes import registry
from jax.tree_util import tree_structure

_Class = TypeVar("_Class", bound=type)


class _Known(NamedTuple):
    name: str
    nodetype: type
    to_bytes: Callable[[Any], bytes | bytearray]
    from_bytes: Callable[[bytes], Any]
    from_children: Callable[[Any, Sequence[Any]], Any] | None


_by_type: dict[type, _Known] = {}
_by_name: dict[str, _Known] = {}


def register_pytree_node_serialization(
    nodetype: _Class, *, serialized_name: str, serialize_auxdata: Callable[[Any], bytes | bytearray],
    deserialize_auxdata: Callable[[bytes], Any], from_children: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> _Class:
    """Makes a container class part of what can be serialised by :meth:`Exported.serialize`.

    Args:
      nodetype: the class. To be used in arguments it is also registered as a container (:mod:`jax.tree_util`).
      serialized_name: stands for it in the bytes. A process that deserialises registers a class under the same name.
      serialize_auxdata: makes bytes of the metadata that flattening an instance gives.
      deserialize_auxdata: the inverse.
      from_children: makes an instance of metadata and children, to be given where the class is no registered container.

    Returns:
      The class.

    Raises:
      ValueError: the class or the name is registered already.
    """
    known = _by_type.get(nodetype)
    if known is not None:
        raise ValueError(f"{nodetype} is registered for serialization already, under the name {known.name!r}")
    known = _by_name.get(serialized_name)
    if known is not None:
        raise ValueError(f"the name {serialized_name!r} is registered for serialization already, for {known.nodetype}")
    if not isinstance(serialized_name, str) or not callable(serialize_auxdata) or not callable(deserialize_auxdata):
        raise TypeError("register_pytree_node_serialization takes the name as text and two functions; got "
                        f"{serialized_name!r}, {serialize_auxdata!r} and {deserialize_auxdata!r}")
    _by_type[nodetype] = _by_name[serialized_name] = _Known(
        serialized_name, nodetype, serialize_auxdata, deserialize_auxdata, from_children)
    return nodetype


def register_namedtuple_serialization(nodetype: _Class, *, serialized_name: str) -> _Class:
    """Makes a class of named tuples part of what can be serialised.

    Args:
      nodetype: made by ``collections.namedtuple`` or ``typing.NamedTuple``.
      serialized_name: see :func:`register_pytree_node_serialization`.

    Raises:
      ValueError: for another class, and where class or name are registered already.
    """
    if not _is_namedtuple(nodetype):
        raise ValueError(f"{nodetype} is no class of named tuples; use jax.export.register_pytree_node_serialization")
    return register_pytree_node_serialization(
        nodetype, serialized_name=serialized_name, serialize_auxdata=lambda _: b"",
        deserialize_auxdata=lambda _: nodetype, from_children=lambda _, children: nodetype(*children))


def _is_namedtuple(cls: Any) -> bool:
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")


# --- to JSON --------------------------------------------------------------------------------------------------------

def encode(tree: Any) -> Any:
    """A tree definition as JSON: ``"*"`` for a leaf, else ``[kind, ..., children]``.

    Raises:
      ValueError: for a class that has not been registered.
    """
    data = tree.node_data()
    if data is None:
        return "*"
    cls, aux = data
    children = [encode(c) for c in tree.children()]
    if cls is type(None):
        return ["none"]
    if cls is tuple or cls is list:
        return [cls.__name__, children]
    if cls is dict or cls is OrderedDict:
        return [cls.__name__, [_encode_key(k) for k in aux], children]
    known = _by_type.get(cls)
    if known is None:
        how = "register_namedtuple_serialization" if _is_namedtuple(cls) else "register_pytree_node_serialization"
        raise ValueError(f"{cls.__module__}.{cls.__qualname__} is part of the arguments or results and is not registered "
                         f"for serialization; register it with jax.export.{how}")
    return ["custom", known.name, base64.b64encode(bytes(known.to_bytes(aux))).decode(), children]


def _encode_key(key: Any) -> Any:
    if type(key) in (str, int, bool, float):
        return key
    raise ValueError(f"dictionaries with keys of type {type(key).__name__} cannot be serialised, got the key {key!r}; use "
                     "text or numbers")


# --- and back -------------------------------------------------------------------------------------------------------

def decode(node: Any) -> Any:
    """The inverse of :func:`encode`.

    Raises:
      ValueError: for a name that has not been registered.
    """
    return tree_structure(_built(node))


def _built(node: Any) -> Any:
    if node == "*":
        return 0
    kind = node[0]
    if kind == "none":
        return None
    children = [_built(c) for c in node[-1]]
    if kind == "tuple":
        return tuple(children)
    if kind == "list":
        return children
    if kind in ("dict", "OrderedDict"):
        return (dict if kind == "dict" else OrderedDict)(zip(node[1], children, strict=True))
    known = _by_name.get(node[1])
    if known is None:
        raise ValueError(f"the exported function takes or returns containers that were registered as {node[1]!r}, and no "
                         "class is registered under this name here; register it with "
                         "jax.export.register_pytree_node_serialization or register_namedtuple_serialization")
    aux = known.from_bytes(base64.b64decode(node[2]))
    if known.from_children is not None:
        return known.from_children(aux, children)
    return registry[known.nodetype].from_iter(aux, children)
