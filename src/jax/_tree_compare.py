"""Where and how two trees differ, and the messages that say so. Used only when something went wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from jax._base._jaxlib import pytree as _pytree

_registry = _pytree.default_registry()
Path = tuple[Any, ...]


class Difference(NamedTuple):
    """One place in which two trees differ: the key path, and what each tree has there."""

    path: Path
    left: str
    right: str
    detail: str = ""

    def describe(self, names: tuple[str, str]) -> str:
        at = f"at key path {''.join(map(str, self.path))}" if self.path else "at the root"
        text = f"{at}, {names[0]} has {self.left} and {names[1]} has {self.right}"
        return f"{text} ({self.detail})" if self.detail else text


def type_name(cls: type) -> str:
    module = cls.__module__
    return cls.__qualname__ if module in ("builtins", "collections") else f"{module}.{cls.__qualname__}"


def children_with_keys(tree: Any) -> tuple[Any, Any] | None:
    """The (key, child) pairs and the metadata of the root; None for a leaf."""
    found = _registry.flatten_one_level_with_keys(tree)
    if found is not None and isinstance(tree, tuple) and hasattr(type(tree), "_fields"):
        # Some versions of jaxlib give every element of a named tuple the key of the first.
        keys = [_pytree.GetAttrKey(name) for name in type(tree)._fields]
        return list(zip(keys, tree, strict=True)), found[1]
    return found


def differences(
    left: Any, right: Any, is_leaf: Callable[..., bool] | None = None, *, prefix: bool = False,
    takes_path: bool = False,
) -> Iterator[Difference]:
    """The places in which the structures of two trees differ.

    Args:
      left, right: the trees.
      is_leaf: makes nodes leaves: those of ``left`` alone if ``prefix``, else of both.
      prefix: ``right`` may go on where ``left`` has leaves.
      takes_path: ``is_leaf(path, node)``.
    """

    def at(path: Path, a: Any, b: Any) -> Iterator[Difference]:
        def leaf(x: Any) -> bool:
            if is_leaf is not None and (is_leaf(path, x) if takes_path else is_leaf(x)):
                return True
            return not _registry.is_node(type(x))

        if leaf(a):
            if not prefix and not leaf(b):
                yield Difference(path, _what(a, leaf=True), _what(b))
            return
        if (not prefix and leaf(b)) or type(a) is not type(b):
            yield Difference(path, _what(a), _what(b))
            return
        pairs_a, meta_a = children_with_keys(a)  # type: ignore[misc]
        pairs_b, meta_b = children_with_keys(b)  # type: ignore[misc]
        pairs_a, pairs_b = list(pairs_a), list(pairs_b)
        if len(pairs_a) != len(pairs_b) or not _same(meta_a, meta_b):
            yield _different_nodes(path, a, b, pairs_a, pairs_b, meta_a, meta_b)
            return
        for (key, child_a), (_, child_b) in zip(pairs_a, pairs_b, strict=True):
            yield from at((*path, key), child_a, child_b)

    return at((), left, right)


def _same(meta_a: Any, meta_b: Any) -> bool:
    return meta_a is meta_b or bool(meta_a == meta_b)


def _what(x: Any, leaf: bool = False) -> str:
    if x is None:
        return "None"
    name = type_name(type(x))
    if isinstance(x, (list, tuple, dict)) and not leaf:
        return f"a {name} of length {len(x)}"
    return f"a {name}" if not leaf and _registry.is_node(type(x)) else f"a leaf ({name})"


def _different_nodes(
    path: Path, a: Any, b: Any, pairs_a: list[Any], pairs_b: list[Any], meta_a: Any, meta_b: Any
) -> Difference:
    if isinstance(a, dict):
        return Difference(path, f"a {type_name(type(a))} with keys {_shorten(list(a))}",
                          f"one with keys {_shorten(list(b))}", _key_detail(a, b))
    if len(pairs_a) != len(pairs_b):
        name = type_name(type(a))
        noun = "length" if isinstance(a, (list, tuple)) else "number of children"
        return Difference(path, f"a {name} of {noun} {len(pairs_a)}", f"one of {noun} {len(pairs_b)}")
    return Difference(path, f"a {type_name(type(a))} with metadata {_shorten(meta_a)}",
                      f"one with metadata {_shorten(meta_b)}", _metadata_detail(meta_a, meta_b))


def _key_detail(a: dict[Any, Any], b: dict[Any, Any]) -> str:
    missing = [k for k in a if k not in b]
    extra = [k for k in b if k not in a]
    parts = []
    if missing:
        parts.append(f"missing: {', '.join(map(repr, missing[:8]))}")
    if extra:
        parts.append(f"unexpected: {', '.join(map(repr, extra[:8]))}")
    return "; ".join(parts) or "the order of the keys or the default factory differs"


def _metadata_detail(meta_a: Any, meta_b: Any) -> str:
    if isinstance(meta_a, tuple) and isinstance(meta_b, tuple) and len(meta_a) == len(meta_b) > 1:
        different = [i for i, (x, y) in enumerate(zip(meta_a, meta_b, strict=True)) if not _same(x, y)]
        return f"they differ in item {', '.join(map(str, different))}"
    return ""


def _shorten(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 200 else text[:197] + "..."


def prefix_error(
    where: str, prefix: Any, full: Any, names: tuple[str, str], cause: Exception, is_leaf: Any = None,
    takes_path: bool = False,
) -> ValueError:
    """The error that says why ``prefix`` is no prefix of ``full``."""
    found = next(differences(prefix, full, is_leaf, prefix=True, takes_path=takes_path), None)
    reason = str(cause) if found is None else found.describe(names)
    return ValueError(f"{where}: the structures of the trees do not match: {reason}.")


def structure_error(
    where: str, left: Any, right: Any, names: tuple[str, str], limit: int = 3
) -> TypeError:
    """The error that says in which places two trees that should have equal structures differ."""
    found = list(differences(left, right))
    lines = "".join(f"\n  {d.describe(names)}" for d in found[:limit])
    more = f"\n  and in {len(found) - limit} more places" if len(found) > limit else ""
    return TypeError(f"{where}: the structures of the trees differ:{lines}{more}")


def explain_unsortable(tree: Any, cause: Exception) -> Exception:
    """``cause``, or, if a dict whose keys cannot be ordered is behind it, an error that names the dict."""

    def search(path: Path, node: Any) -> tuple[Path, Any] | None:
        if isinstance(node, dict):
            try:
                sorted(node)
            except TypeError:
                return path, node
        if not _registry.is_node(type(node)):
            return None
        try:
            pairs = children_with_keys(node)
        except Exception:
            return None
        for key, child in pairs[0] if pairs else ():
            found = search((*path, key), child)
            if found is not None:
                return found
        return None

    found = search((), tree)
    if found is None:
        return cause
    path, node = found
    at = f" at key path {''.join(map(str, path))}" if path else ""
    kinds = ", ".join(sorted({type_name(type(k)) for k in node}))
    return ValueError(f"the keys of the dict{at} cannot be put in order (their types are {kinds}), so it "
                      "cannot be flattened. Use keys of one type, or a collections.OrderedDict.")
