"""Trees of Python containers: flattening, mapping, key paths, and how to make a class a container.

A *pytree* is a tuple, named tuple, list, dict, ``OrderedDict``, ``defaultdict``, ``None`` (a container of
nothing), an instance of a registered class, or anything else, which is a *leaf*. Functions of this library
take and return pytrees of arrays. Dicts are flattened in the order of their sorted keys, an ``OrderedDict``
in its own.

All registered classes are in jaxlib's default registry, which the compiled fast paths read as well.
"""

from __future__ import annotations

import copyreg
import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from jax import _tree_compare as _compare
from jax._base._jaxlib import pytree as _pytree
from jax._tree_nodes import (
    default_registry,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
)
from jax._tree_nodes import registry as _registry

__all__ = [
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "Partial", "PyTreeDef",
    "SequenceKey", "_registry", "all_leaves", "build_tree", "default_registry", "flatten_one_level",
    "flatten_one_level_with_keys", "is_tree_node", "keystr", "register_dataclass", "register_pytree_node",
    "register_pytree_node_class", "register_pytree_with_keys", "register_pytree_with_keys_class",
    "register_static", "tree_all",
    "tree_broadcast", "tree_flatten", "tree_flatten_with_path", "tree_leaves", "tree_leaves_with_path",
    "tree_map", "tree_map_with_path", "tree_reduce", "tree_reduce_associative", "tree_structure",
    "tree_transpose", "tree_unflatten", "treedef_children", "treedef_is_leaf", "treedef_tuple",
]  # fmt: skip

if TYPE_CHECKING:
    PyTreeDef = Any
else:
    PyTreeDef = _pytree.PyTreeDef
SequenceKey = _pytree.SequenceKey
DictKey = _pytree.DictKey
GetAttrKey = _pytree.GetAttrKey
FlattenedIndexKey = _pytree.FlattenedIndexKey

# jaxlib's classes come without docstrings.
PyTreeDef.__doc__ = "The structure of a tree: its containers without their leaves. Hashes and compares by value."
SequenceKey.__doc__ = "A step of a key path into a list or tuple: ``idx`` is the position."
DictKey.__doc__ = "A step of a key path into a dict: ``key`` is the key."
GetAttrKey.__doc__ = "A step of a key path to an attribute: ``name`` is its name."
FlattenedIndexKey.__doc__ = "A step of a key path into a class registered without keys: ``key`` counts its children."

# What a step of a key path may be: anything that hashes.
KeyEntry = TypeVar("KeyEntry", bound=Hashable)
# The way from the root of a tree to a leaf.
KeyPath = tuple[Any, ...]
_UNSET: Any = object()


def _the_default_registry() -> Any:
    return default_registry


# Lets a PyTreeDef whose metadata can be pickled be pickled: its registry is named, not copied.
copyreg.pickle(type(default_registry), lambda registry: (_the_default_registry, ()))


# --- flattening and building --------------------------------------------------------------------------------


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
        raise TypeError("tree_unflatten takes a PyTreeDef, then the leaves; the first argument is a "
                        f"{type(treedef).__name__}.")
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
        raise ValueError(f"flatten_one_level: {tree!r} is a leaf; it has no children.")
    return found


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Any]:
    """Like :func:`flatten_one_level`, with ``(key, child)`` in place of each child."""
    found = _compare.children_with_keys(tree)
    if found is None:
        raise ValueError(f"flatten_one_level_with_keys: {tree!r} is a leaf; it has no children.")
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
    attribute = _ATTRIBUTE_OF_KEY.get(type(key))
    return str(key) if attribute is None else str(getattr(key, attribute))


_ATTRIBUTE_OF_KEY = {SequenceKey: "idx", DictKey: "key", GetAttrKey: "name", FlattenedIndexKey: "key"}


# --- structures ---------------------------------------------------------------------------------------------


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


# --- mapping and reducing -----------------------------------------------------------------------------------


def tree_map(
    f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
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


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
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
            raise ValueError("tree_transpose: the outer structure has no leaves to take the inner structure "
                             "from; give inner_treedef.")
        inner_treedef = tree_structure(subtrees[0])
    width = inner_treedef.num_leaves
    if len(leaves) != outer_treedef.num_leaves * width:
        raise TypeError(f"tree_transpose: the tree has {len(leaves)} leaves, not {outer_treedef.num_leaves} "
                        f"times {width}. Its structure is {treedef}; the outer one is {outer_treedef}, the "
                        f"inner one {inner_treedef}.")
    return inner_treedef.unflatten([outer_treedef.unflatten(leaves[i::width]) for i in range(width)])


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """A tree with the structure of ``full_tree`` in which each leaf of ``prefix_tree`` is repeated throughout
    the subtree that ``full_tree`` has in its place.

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


# --- partial application ------------------------------------------------------------------------------------


class _Opaque:
    """A callable behind a plain object. ``functools.partial`` merges with a partial that it is given, which
    would make the inner arguments children of a ``Partial``; it leaves this one alone."""

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
    """A ``functools.partial`` that is a container of its arguments: a function with data that can pass
    through transformations, for instance as an argument of a compiled function.

    Args:
      func: the function; it is metadata, so it is compared by ``==`` when compiled functions look for a
      match.
        When it is a partial itself, its own arguments belong to the metadata.
      *args: leading arguments, the children.
      **kw: keyword arguments, children as well.

    >>> import jax
    >>> double = jax.tree_util.Partial(lambda factor, x: factor * x, 2.0)
    >>> jax.tree_util.tree_leaves(double), double(4.0)
    ([2.0], 8.0)
    """

    def __new__(cls, func: Callable[..., Any], *args: Any, **kw: Any) -> Partial:
        if isinstance(func, functools.partial):
            func = _Opaque(func)
        return super().__new__(cls, func, *args, **kw)


register_pytree_node(
    Partial,
    lambda p: ((p.args, p.keywords), p.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)
