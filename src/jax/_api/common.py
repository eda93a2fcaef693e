"""What the public transformations share: argument numbers, flattening, names for messages."""

from __future__ import annotations

import inspect
import itertools
import operator
import weakref
from collections.abc import Callable, Container, Sequence
from types import FunctionType, MethodType
from typing import Any

from jax._base import source as source_info
from jax._base._jaxlib import Array, PjitFunction
from jax._language.avals import typeof
from jax._language.jaxpr import DebugInfo
from jax.tree_util import keystr, tree_flatten, tree_flatten_with_path, tree_structure, tree_unflatten

Leaves = list[Any]


def check_callable(fun: Any, api: str) -> None:
    if not callable(fun):
        raise TypeError(f"{api} takes a function as its first argument, got {fun!r} of type {type(fun).__name__}")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(f"{api} cannot transform the generator function {fun!r}; return values instead of yielding")


def signature(fun: Callable[..., Any]) -> inspect.Signature:
    """``inspect.signature(fun)``, whose time doubles with each jitted function that wraps another: it asks them twice."""
    wrapper = (PjitFunction, FunctionType)
    while isinstance(fun, wrapper) and "__signature__" not in fun.__dict__ and hasattr(fun, "__wrapped__"):
        fun = fun.__wrapped__
    return inspect.signature(fun)


class FlatFun:
    """A function of pytrees as a function of leaves; remembers the structure of its result."""

    __slots__ = ("fun", "in_tree", "out_tree", "last_out")

    def __init__(self, fun: Callable[..., Any], in_tree: Any) -> None:
        self.fun = fun
        self.in_tree = in_tree
        self.out_tree: Any = None
        self.last_out: Leaves | None = None  # kept for the error message when an output is no array

    def __call__(self, *leaves: Any) -> Leaves:
        args, kwargs = tree_unflatten(self.in_tree, leaves)
        out, self.out_tree = tree_flatten(self.fun(*args, **kwargs))
        for x in out:
            if not isinstance(x, Array):
                self.last_out = out
                break
        return out


class FlatFunAux(FlatFun):
    """A :class:`FlatFun` for functions that return ``(out, aux)``; ``aux`` leaves come after ``out``'s."""

    __slots__ = ("aux_tree",)

    def __call__(self, *leaves: Any) -> Leaves:
        args, kwargs = tree_unflatten(self.in_tree, leaves)
        pair = self.fun(*args, **kwargs)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"with has_aux=True the function must return a pair (output, aux), got {_brief(pair)}")
        out, self.out_tree = tree_flatten(pair[0])
        aux, self.aux_tree = tree_flatten(pair[1])
        return [*out, *aux]


def _brief(x: Any) -> str:
    text = repr(x)
    return text if len(text) < 100 else f"a {type(x).__name__}"


def debug_info(fun: Any, in_tree: Any, traced_for: str) -> DebugInfo:
    """What messages say about a traced function; its pieces are computed when one is shown."""
    described = Described(fun)
    return DebugInfo(traced_for, described.source, lambda: described.arg_names(in_tree))


class Described:
    """What there is to say about a function, without keeping it alive.

    Traces are remembered for as long as the traced function lives; if they referred to it, it would live forever, with
    all that it closes over. When the function is gone, its code still tells its name, place and arguments.
    """

    __slots__ = ("_alive", "_bound", "_code", "_name")

    def __init__(self, fun: Any) -> None:
        try:
            self._alive: Callable[[], Any] = weakref.ref(fun)
        except TypeError:
            self._alive = lambda: fun
        self._code = getattr(fun, "__code__", None)
        self._bound = type(fun) is MethodType
        self._name = getattr(fun, "__name__", None) or type(fun).__name__

    def source(self) -> str:
        fun, code = self._alive(), self._code
        if fun is not None:
            return source_info.describe_function(fun)
        return self._name if code is None else f"{self._name} at {code.co_filename}:{code.co_firstlineno}"

    def parameters(self) -> list[str]:
        """The names of the positional parameters."""
        fun, code = self._alive(), self._code
        if fun is None:
            return [] if code is None else list(code.co_varnames[self._bound:code.co_argcount])
        try:
            return [p.name for p in signature(fun).parameters.values()
                    if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        except (TypeError, ValueError):
            return []

    def arg_names(self, in_tree: Any, taken: Container[int] = ()) -> tuple[str, ...]:
        """The names of the flat arguments, like ``params['w'][0]``; the positions ``taken`` are no part of the tree."""
        args_tree = in_tree.children()[0]
        parameters = self.parameters()
        left = (i for i in itertools.count() if i not in taken)
        names = [parameters[i] if i < len(parameters) else f"args[{i}]"
                 for i in itertools.islice(left, len(args_tree.children()))]
        out = []
        numbered = tree_unflatten(in_tree, list(range(in_tree.num_leaves)))
        for path, _ in tree_flatten_with_path(numbered)[0]:
            positional = getattr(path[0], "idx", None) == 0
            head = names[path[1].idx] if positional else str(getattr(path[1], "key", path[1]))
            out.append(head + keystr(path[2:]))
        return tuple(out)


def arg_names(fun: Any, in_tree: Any) -> tuple[str, ...]:
    """The names of the flat arguments, like ``params['w'][0]``."""
    return Described(fun).arg_names(in_tree)


def as_argnums(argnums: Any, api: str, name: str = "argnums") -> int | tuple[int, ...]:
    """``argnums`` as an integer or a tuple of integers; TypeError for anything else."""
    try:
        return operator.index(argnums)
    except TypeError:
        pass
    try:
        return tuple([operator.index(i) for i in argnums])
    except TypeError:
        raise TypeError(f"{api}: {name} must be an integer or a sequence of integers, got {argnums!r}") from None


def normalize_argnums(argnums: Any, num_args: int, api: str, name: str = "argnums") -> tuple[int, ...]:
    """``argnums`` (an int or a sequence) as a tuple of indices into ``num_args`` positional arguments."""
    checked = as_argnums(argnums, api, name)
    nums = (checked,) if isinstance(checked, int) else checked
    out = []
    for i in nums:
        if not -num_args <= i < num_args:
            raise TypeError(f"{api}: {name}={argnums} asks for positional argument {i}, but the function was called "
                            f"with {num_args} positional argument(s). Pass it positionally, not by keyword.")
        out.append(i % num_args)
    if len(set(out)) != len(out):
        raise ValueError(f"{api}: {name}={argnums} names an argument twice")
    return tuple(out)


def fix_arguments(fun: Callable[..., Any], dyn_nums: Sequence[int], args: Sequence[Any], kwargs: dict[str, Any],
                  ) -> tuple[Callable[..., Any], list[Any]]:
    """``fun`` as a function of the arguments at ``dyn_nums`` alone, and these arguments."""
    fixed = list(args)

    def partial(*dyn: Any) -> Any:
        full = list(fixed)
        for i, x in zip(dyn_nums, dyn, strict=True):
            full[i] = x
        return fun(*full, **kwargs)
    return partial, [args[i] for i in dyn_nums]


def flatten_args(args: Any, kwargs: Any) -> tuple[Leaves, Any]:
    return tree_flatten((args, kwargs))


def check_leaf_types(leaves: Sequence[Any], tree: Any, what: str, api: str) -> list[Any]:
    """The abstract values of leaves; the error for a wrong one names its path."""
    try:
        return [typeof(x) for x in leaves]
    except TypeError:
        pass
    for (path, _), leaf in zip(tree_flatten_with_path(tree_unflatten(tree, list(range(len(leaves)))))[0], leaves,
                               strict=True):
        try:
            typeof(leaf)
        except TypeError as err:
            raise TypeError(f"{api}: {what}{keystr(path)}: {err}") from None
    raise AssertionError("unreachable")


def flatten_axes(name: str, tree: Any, axes: Any, *, tupled_args: bool = False, leaf: str = "an int") -> list[Any]:
    """A prefix tree of axes (ints or ``None``), or of what ``leaf`` names, spread over the leaves of ``tree``."""
    out: list[Any] = []
    dummy = tree_unflatten(tree, [object()] * tree.num_leaves)
    try:
        _spread(axes, dummy, out)
        if len(out) != tree.num_leaves:
            raise ValueError
    except ValueError:
        hint = " A tuple gives one entry for each positional argument, a list is part of the tree." \
            if tupled_args else ""
        raise ValueError(f"{name} must be a prefix of the tree of values it describes: {leaf}, None, or a tree of "
                         f"them matching the start of {tree}; got {axes!r}.{hint}") from None
    return out


def _spread(axes: Any, sub: Any, out: list[Any]) -> None:
    is_none = lambda x: x is None  # noqa: E731
    if axes is None or tree_structure(axes, is_leaf=is_none).num_nodes == 1 and not _is_empty_node(axes):
        out.extend([axes] * len(tree_flatten(sub)[0]))
        return
    axis_children, axis_def = _one_level(axes)
    sub_children, sub_def = _one_level(sub)
    if axis_def != sub_def or len(axis_children) != len(sub_children):
        raise ValueError
    for a, s in zip(axis_children, sub_children, strict=True):
        _spread(a, s, out)


def _is_empty_node(x: Any) -> bool:
    return tree_structure(x).num_leaves == 0


def _one_level(x: Any) -> tuple[list[Any], Any]:
    children, tree = tree_flatten(x, is_leaf=lambda y: y is not x)
    return children, tree
