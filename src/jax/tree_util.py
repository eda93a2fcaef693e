"""Trees of Python containers: flattening, mapping, key paths, and how to make a class a container.

A *pytree* is a tuple, named tuple, list, dict, ``OrderedDict``, ``defaultdict``, ``None`` (a container of nothing),
an instance of a registered class, or anything else, which is a *leaf*. Functions of this library take and return
pytrees of arrays. Dicts are flattened in the order of their sorted keys, an ``OrderedDict`` in its own order.

All registered classes are in jaxlib's default registry, which the compiled fast paths read as well.
"""

from __future__ import annotations

import copyreg
import dataclasses
import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from jax import _tree_compare as _compare
from jax._base._jaxlib import pytree as _pytree

__all__ = [
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "Partial", "PyTreeDef", "SequenceKey",
    "all_leaves", "build_tree", "default_registry", "flatten_one_level", "flatten_one_level_with_keys",
    "is_tree_node", "keystr", "register_dataclass", "register_pytree_node", "register_pytree_node_class",
    "register_pytree_with_keys", "register_pytree_with_keys_class", "register_static", "tree_all",
    "tree_broadcast", "tree_flatten", "tree_flatten_with_path", "tree_leaves", "tree_leaves_with_path", "tree_map",
    "tree_map_with_path", "tree_reduce", "tree_reduce_associative", "tree_structure", "tree_transpose",
    "tree_unflatten", "treedef_children", "treedef_is_leaf", "treedef_tuple",
]  # fmt: skip

PyTreeDef = _pytree.PyTreeDef
SequenceKey = _pytree.SequenceKey
DictKey = _pytree.DictKey
GetAttrKey = _pytree.GetAttrKey
FlattenedIndexKey = _pytree.FlattenedIndexKey
default_registry = _pytree.default_registry()

KeyEntry = TypeVar("KeyEntry", bound=Hashable)
KeyPath = tuple[Any, ...]
_T = TypeVar("_T")
_Class = TypeVar("_Class", bound=type)
_UNSET: Any = object()


def _default_registry() -> Any:
    return default_registry


# Lets a PyTreeDef of picklable metadata be pickled: its registry is named, not copied.
copyreg.pickle(_pytree.PyTreeRegistry, lambda registry: (_default_registry, ()))


# --- flattening and building ---------------------------------------------------------------------------------


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a tree, and its structure.

    Args:
      tree: the tree.
      is_leaf: asked for each node, the root first; True makes that node a leaf.

    Returns:
      The list of leaves in traversal order, and the structure from which :func:`tree_unflatten` rebuilds.

    >>> import jax
    >>> leaves, treedef = jax.tree_util.tree_flatten({'b': (1, None), 'a': 2})
    >>> leaves
    [2, 1]
    """
    try:
        return default_registry.flatten(tree, is_leaf)
    except ValueError as error:
        raise _compare.explain_unsortable(tree, error) from None


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The tree with structure ``treedef`` and these leaves, in the order of :func:`tree_flatten`.

    Raises:
      ValueError: when there are too few or too many leaves.
    """
    if type(treedef) is not PyTreeDef:
        raise TypeError(f"tree_unflatten takes a PyTreeDef, then the leaves; got {type(treedef).__name__} first.")
    return treedef.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of a tree, in traversal order. See :func:`tree_flatten`."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> PyTreeDef:
    """The structure of a tree. See :func:`tree_flatten`."""
    return tree_flatten(tree, is_leaf)[1]


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Like :func:`tree_flatten`, with ``(key path, leaf)`` in place of each leaf.

    A key path is a tuple of ``SequenceKey``, ``DictKey``, ``GetAttrKey``, of ``FlattenedIndexKey`` where a
    class was registered without keys, or of what the class gives. ``keystr`` makes text of it.

    Args:
      tree: the tree.
      is_leaf: as in :func:`tree_flatten`.
      is_leaf_takes_path: call ``is_leaf(path, node)`` instead of ``is_leaf(node)``.
    """
    if is_leaf is None or is_leaf_takes_path:
        predicate = is_leaf
    else:
        def predicate(path: KeyPath, node: Any) -> bool:
            return is_leaf(node)
    return default_registry.flatten_with_path(tree, predicate)


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """The ``(key path, leaf)`` pairs of a tree. See :func:`tree_flatten_with_path`."""
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Any]:
    """The children of the root of a tree, and its metadata (the keys of a dict, for instance).

    Raises:
      ValueError: when ``tree`` is a leaf.
    """
    found = default_registry.flatten_one_level(tree)
    if found is None:
        raise ValueError(f"flatten_one_level: a {_compare.type_name(type(tree))} is a leaf; it has no children.")
    return found


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Any]:
    """Like :func:`flatten_one_level`, with ``(key, child)`` in place of each child."""
    found = _compare.children_with_keys(tree)
    if found is None:
        raise ValueError(
            f"flatten_one_level_with_keys: a {_compare.type_name(type(tree))} is a leaf; it has no children.")
    return found


def all_leaves(iterable: Iterable[Any], is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether every element is a leaf. ``None`` is not: it is a container of nothing.

    Args:
      iterable: the elements.
      is_leaf: makes elements for which it is True leaves.
    """
    if is_leaf is not None:
        iterable = [x for x in iterable if not is_leaf(x)]
    return _pytree.all_leaves(default_registry, iterable)


def is_tree_node(typ: Any) -> bool:
    """Whether instances of the class ``typ`` are containers rather than leaves."""
    return isinstance(typ, type) and default_registry.is_node(typ)


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """Text of a key path, such as ``"[0]['a'].x"``.

    Args:
      keys: the path.
      simple: bare names: ``0``, ``a``, ``x``.
      separator: put between the keys.

    >>> import jax
    >>> [(path, _)] = jax.tree_util.tree_leaves_with_path({'a': [1]})
    >>> jax.tree_util.keystr(path), jax.tree_util.keystr(path, simple=True, separator='/')
    ("['a'][0]", 'a/0')
    """
    return separator.join(map(_bare_name if simple else str, keys))


def _bare_name(key: Any) -> str:
    for cls, attribute in ((SequenceKey, "idx"), (DictKey, "key"), (GetAttrKey, "name"), (FlattenedIndexKey, "key")):
        if isinstance(key, cls):
            return str(getattr(key, attribute))
    return str(key)


# --- structures ----------------------------------------------------------------------------------------------


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple whose elements have the given structures."""
    return _pytree.treedef_tuple(default_registry, list(treedefs))


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children of the root."""
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether the structure is a single node: a leaf, or a container without children such as ``None``."""
    return treedef.num_nodes == 1


def build_tree(treedef: PyTreeDef, xs: Any) -> Any:
    """The tree with structure ``treedef`` whose leaves are those of ``xs``, an equally nested iterable."""
    return treedef.from_iterable_tree(xs)


# --- mapping and reducing ------------------------------------------------------------------------------------


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Apply ``f`` to each leaf.

    Args:
      f: takes one leaf of ``tree`` and what each of ``rest`` has in its place.
      tree: the tree whose structure the result has.
      *rest: trees that have the structure of ``tree`` or go on where it has leaves.
      is_leaf: makes nodes of ``tree`` leaves, as in :func:`tree_flatten`.

    Raises:
      ValueError: when a tree of ``rest`` has another structure; the message says where.

    >>> import jax
    >>> jax.tree_util.tree_map(lambda x, y: x + y, {'a': 1, 'b': 2}, {'a': 10, 'b': 20})
    {'a': 11, 'b': 22}
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten(map(f, leaves))
    columns = _columns("tree_map", tree, leaves, treedef, rest, is_leaf)
    return treedef.unflatten(map(f, *columns))


def tree_map_with_path(
    f: Callable[..., Any], tree: Any, *rest: Any,
    is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False,
) -> Any:
    """Like :func:`tree_map`; ``f`` takes the key path of the leaf first.

    >>> import jax
    >>> jax.tree_util.tree_map_with_path(lambda path, x: jax.tree_util.keystr(path), {'a': [1, 2]})
    {'a': ["['a'][0]", "['a'][1]"]}
    """
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    paths = [path for path, _ in pairs]
    columns = _columns("tree_map_with_path", tree, [leaf for _, leaf in pairs], treedef, rest, is_leaf,
                       is_leaf_takes_path)
    return treedef.unflatten(map(f, paths, *columns))


def _columns(
    where: str, tree: Any, leaves: list[Any], treedef: PyTreeDef, rest: Sequence[Any], is_leaf: Any,
    takes_path: bool = False,
) -> list[list[Any]]:
    columns = [leaves]
    for i, other in enumerate(rest):
        try:
            columns.append(treedef.flatten_up_to(other))
        except (ValueError, TypeError) as error:
            names = ("the first tree", f"tree {i + 2}")
            raise _compare.prefix_error(where, tree, other, names, error, is_leaf, takes_path) from None
    return columns


def tree_reduce(
    function: Callable[[Any, Any], Any], tree: Any, initializer: Any = _UNSET,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """``functools.reduce`` over the leaves, from the left.

    Raises:
      TypeError: when there are no leaves and no ``initializer``.
    """
    leaves = tree_leaves(tree, is_leaf)
    if initializer is _UNSET:
        return functools.reduce(function, leaves)
    return functools.reduce(function, leaves, initializer)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any], tree: Any, *, identity: Any = _UNSET,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Combine the leaves in a balanced way: n leaves take about log2(n) steps one after the other.

    Args:
      operation: an associative function of two leaves. The order of the leaves is kept.
      tree: the tree.
      identity: the result when there are no leaves; not used otherwise.
      is_leaf: as in :func:`tree_flatten`.

    Raises:
      TypeError: when there are no leaves and no ``identity``.
    """
    leaves = tree_leaves(tree, is_leaf)
    if not leaves:
        if identity is _UNSET:
            raise TypeError("tree_reduce_associative: the tree has no leaves and no identity was given.")
        return identity

    def combine(low: int, high: int) -> Any:
        if high - low == 1:
            return leaves[low]
        middle = (low + high) // 2
        return operation(combine(low, middle), combine(middle, high))

    return combine(0, len(leaves))


def tree_all(tree: Any, *, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether all leaves are true; yes, when there are none."""
    return all(tree_leaves(tree, is_leaf))


def tree_transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any) -> Any:
    """Turn a tree of trees inside out: a list of dicts into a dict of lists, for instance.

    Args:
      outer_treedef: the outer structure.
      inner_treedef: the structure that each leaf of the outer one holds; None: that of the first of them.
      pytree_to_transpose: the tree.

    Returns:
      A tree with the inner structure outside and the outer structure inside.

    Raises:
      TypeError: when the tree does not have as many leaves as these structures.

    >>> import jax
    >>> outer, inner = (jax.tree_util.tree_structure(t) for t in ([0, 0], {'a': 0, 'b': 0}))
    >>> jax.tree_util.tree_transpose(outer, inner, [{'a': 1, 'b': 2}, {'a': 3, 'b': 4}])
    {'a': [1, 3], 'b': [2, 4]}
    """
    leaves, treedef = tree_flatten(pytree_to_transpose)
    if inner_treedef is None:
        subtrees = outer_treedef.flatten_up_to(pytree_to_transpose)
        if not subtrees:
            raise ValueError("tree_transpose: the outer structure has no leaves to take the inner structure from; "
                             "give inner_treedef.")
        inner_treedef = tree_structure(subtrees[0])
    width = inner_treedef.num_leaves
    if len(leaves) != outer_treedef.num_leaves * width:
        raise TypeError(f"tree_transpose: the tree has {len(leaves)} leaves, not {outer_treedef.num_leaves} times "
                        f"{width}. Its structure is {treedef}; the outer one is {outer_treedef}, the inner one "
                        f"{inner_treedef}.")
    return inner_treedef.unflatten([outer_treedef.unflatten(leaves[i::width]) for i in range(width)])


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """A tree with the structure of ``full_tree`` in which each leaf of ``prefix_tree`` is repeated throughout the
    subtree that ``full_tree`` has in its place.

    Args:
      prefix_tree: a tree whose structure ends at the latest where that of ``full_tree`` does.
      full_tree: the tree with the structure of the result.
      is_leaf: makes nodes of ``prefix_tree`` leaves; ``full_tree`` is flattened without it.

    Raises:
      ValueError: when the one is no prefix of the other; the message says where.

    >>> import jax
    >>> jax.tree_util.tree_broadcast((0, 1), ({'a': 5, 'b': 6}, 7))
    ({'a': 0, 'b': 0}, 1)
    """
    leaves = broadcast_prefix(prefix_tree, full_tree, is_leaf, where="tree_broadcast")
    return tree_structure(full_tree).unflatten(leaves)


def broadcast_prefix(
    prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None, *,
    where: str = "broadcast_prefix", names: tuple[str, str] = ("the prefix tree", "the full tree"),
) -> list[Any]:
    """The leaves of :func:`tree_broadcast`: one for each leaf of ``full_tree``.

    Args:
      prefix_tree, full_tree, is_leaf: as there.
      where: the function named in the error.
      names: what the trees are called in the error.
    """
    leaves, treedef = tree_flatten(prefix_tree, is_leaf)
    try:
        subtrees = treedef.flatten_up_to(full_tree)
    except (ValueError, TypeError) as error:
        raise _compare.prefix_error(where, prefix_tree, full_tree, names, error, is_leaf) from None
    out: list[Any] = []
    for leaf, subtree in zip(leaves, subtrees, strict=True):
        out.extend([leaf] * tree_structure(subtree).num_leaves)
    return out


def broadcast_prefix_to(
    prefix_tree: Any, treedef: PyTreeDef, is_leaf: Callable[[Any], bool] | None = None, *,
    where: str = "broadcast_prefix", names: tuple[str, str] = ("the prefix tree", "the full tree"),
) -> list[Any]:
    """Like :func:`broadcast_prefix`, for a full tree of which only the structure is at hand."""
    full = treedef.unflatten([_Placeholder()] * treedef.num_leaves)
    return broadcast_prefix(prefix_tree, full, is_leaf, where=where, names=names)


class _Placeholder:
    """Stands for an array in a tree that was made from its structure."""

    def __repr__(self) -> str:
        return "*"


# --- registration --------------------------------------------------------------------------------------------


class NodeFunctions(NamedTuple):
    """How instances of a registered class are taken apart, ``to_iter(x) -> (children, metadata)``, and put
    together, ``from_iter(metadata, children)``."""

    to_iter: Callable[[Any], tuple[Iterable[Any], Any]]
    from_iter: Callable[[Any, Iterable[Any]], Any]


_registry: dict[type, NodeFunctions] = {
    tuple: NodeFunctions(lambda x: (x, None), lambda _, children: tuple(children)),
    list: NodeFunctions(lambda x: (x, None), lambda _, children: list(children)),
    dict: NodeFunctions(default_registry.flatten_one_level, lambda keys, xs: dict(zip(keys, xs, strict=True))),
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
    _registry[nodetype] = NodeFunctions(flatten_func, unflatten_func)


def register_pytree_node_class(cls: _Class) -> _Class:
    """Class decorator: make a class a container by its methods ``tree_flatten(self) -> (children, metadata)`` and
    ``tree_unflatten(cls, metadata, children)``, a class method.

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
    """Class decorator: like :func:`register_pytree_node_class`, by ``tree_flatten_with_keys`` (pairs of key and
    child, and metadata) and ``tree_unflatten``; ``tree_flatten`` is used where there is one."""
    plain = (lambda x: x.tree_flatten()) if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(cls, lambda x: x.tree_flatten_with_keys(), cls.tree_unflatten, plain)  # type: ignore
    return cls


def register_dataclass(
    nodetype: _Class, data_fields: Sequence[str] | None = None, meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> _Class:
    """Make a dataclass, or a class like one, a container.

    Its constructor is called with all fields as keyword arguments whenever a tree is rebuilt, so it should not
    convert or check what it gets.

    Args:
      nodetype: the class.
      data_fields: names of the fields that are children. Left out (together with ``meta_fields``) for a dataclass,
        these are all fields that the constructor takes, without those declared with ``jax.tree.static()``
        (``metadata={'static': True}``).
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
    _registry[nodetype] = NodeFunctions(
        lambda x: (tuple(getattr(x, name) for name in data), tuple(getattr(x, name) for name in meta)),
        lambda metadata, children: nodetype(**dict(zip(data, children, strict=True)),
                                            **dict(zip(meta, metadata, strict=True))))
    return nodetype


def _fields_of_dataclass(nodetype: type, dropped: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not dataclasses.is_dataclass(nodetype):
        raise TypeError(f"register_dataclass: {nodetype.__name__} is not a dataclass, so data_fields and meta_fields "
                        "must be given (a dataclass decorator goes below this one).")
    fields = [f for f in dataclasses.fields(nodetype) if f.init and f.name not in dropped]
    return (tuple(f.name for f in fields if not f.metadata.get("static", False)),
            tuple(f.name for f in fields if f.metadata.get("static", False)))


def _check_field_names(nodetype: type, data: Iterable[str], meta: Iterable[str], dropped: Iterable[str]) -> None:
    twice = set(data) & set(meta)
    if twice:
        raise ValueError(f"register_dataclass: {sorted(twice)} of {nodetype.__name__} cannot be both data and meta.")
    if not dataclasses.is_dataclass(nodetype):
        return
    wanted = {f.name for f in dataclasses.fields(nodetype) if f.init}
    given = set(data) | set(meta)
    unknown, missing = given - wanted, wanted - given - set(dropped)
    if unknown:
        raise ValueError(f"register_dataclass: {nodetype.__name__}() takes no fields named {sorted(unknown)}; it takes "
                         f"{sorted(wanted)}.")
    if missing:
        raise ValueError(f"register_dataclass: the fields {sorted(missing)} of {nodetype.__name__} are neither in "
                         "data_fields nor in meta_fields; name them in drop_fields to leave them at their defaults.")


def register_static(cls: _Class) -> _Class:
    """Class decorator: make instances containers of nothing that are their own metadata. They must hash and compare
    by value; they pass through transformations unseen and are part of the key of compiled functions."""
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


# --- partial application -------------------------------------------------------------------------------------


class _Opaque:
    """A callable behind a plain object. ``functools.partial`` merges with a partial that it is given, which would
    make the inner arguments children of a ``Partial``; it leaves this one alone."""

    __slots__ = ("fun",)

    def __init__(self, fun: Callable[..., Any]):
        self.fun = fun

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fun(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return self.fun == other.fun if isinstance(other, _Opaque) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fun)

    def __repr__(self) -> str:
        return repr(self.fun)


class Partial(functools.partial):
    """A ``functools.partial`` that is a container of its arguments: a function with data that can pass through
    transformations, for instance as an argument of a compiled function.

    Args:
      func: the function; it is metadata, so it is compared by ``==`` when compiled functions look for a match. When it
        is a partial itself, its own arguments belong to the metadata.
      *args: leading arguments, the children.
      **kw: keyword arguments, children as well.

    >>> import jax
    >>> double = jax.tree_util.Partial(lambda factor, x: factor * x, 2.0)
    >>> jax.tree_util.tree_leaves(double), double(4.0)
    ([2.0], 8.0)
    """

    def __new__(cls, func: Callable[..., Any], *args: Any, **kw: Any) -> Partial:
        return super().__new__(cls, _Opaque(func) if isinstance(func, functools.partial) else func, *args, **kw)


register_pytree_node(
    Partial,
    lambda p: ((p.args, p.keywords), p.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)
