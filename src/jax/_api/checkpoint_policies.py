"""What rematerialisation keeps: names for values, and policies about them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jax._base.option import internal_state
from jax._ground.structural import deflinear
from jax._language import rules
from jax._language.avals import typeof
from jax._language.primitive import Primitive
from jax._lowering.rules import fusible, register_lowering
from jax.tree_util import tree_leaves, tree_map


class Offloadable(NamedTuple):
    """A policy's answer: keep the value, in the memory ``dst`` until it is needed in ``src`` again."""

    src: str
    dst: str


class _Answer:
    __slots__ = ("name", "keep")

    def __init__(self, name: str, keep: bool) -> None:
        self.name = name
        self.keep = keep

    def __bool__(self) -> bool:
        return self.keep

    def __repr__(self) -> str:
        return self.name


# A policy's answer: compute the value again in the backward pass.
Recompute = _Answer("Recompute", False)
# A policy's answer: keep the value.
Saveable = _Answer("Saveable", True)

# --- names for values ----------------------------------------------------------------------------------------------

name_p = Primitive("name")
name_p.def_abstract_eval(lambda x, name: x)
name_p.def_impl(lambda x, name: x)
register_lowering(name_p, lambda ctx, x, name: [x])
fusible[name_p] = 0
deflinear(name_p, lambda ct, x, name: [ct])
rules.primitive_jvps[name_p] = lambda primals, tangents, name: (name_p.bind(primals[0], name=name), tangents[0])
rules.primitive_batchers[name_p] = lambda args, dims, name: (name_p.bind(args[0], name=name), dims[0])


def _check_names(api: str, names: Any) -> frozenset[str]:
    if isinstance(names, str):
        raise TypeError(f"{api} takes names in a sequence, got the string {names!r}; write [{names!r}]")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{api} takes names as strings, got {name!r} of type {type(name).__name__}")
    return frozenset(names)


def checkpoint_name(x: Any, name: str) -> Any:
    """``x``, its arrays known to policies of :func:`checkpoint` as ``name``.

    Raises:
      TypeError: ``name`` is no string, or a leaf of ``x`` no array.
    """
    _check_names("checkpoint_name", (name,))
    for leaf in tree_leaves(x):
        typeof(leaf)
    return tree_map(lambda leaf: name_p.bind(leaf, name=name), x)


def checkpoint_name_fwd(x: Any, name: str) -> Any:
    """:func:`checkpoint_name`, for use in forward rules of custom derivatives."""
    return checkpoint_name(x, name)


# --- values that are always kept ------------------------------------------------------------------------------------

keep_p = Primitive("keep")
keep_p.def_abstract_eval(lambda x: x)
keep_p.def_impl(lambda x: x)
register_lowering(keep_p, lambda ctx, x: [x])
deflinear(keep_p, lambda ct, x: [ct])
rules.primitive_batchers[keep_p] = lambda args, dims: (keep_p.bind(args[0]), dims[0])
# Whatever the policy says: the result is saved if it is known.
rules.partial_eval_rules[keep_p] = lambda policy, unknown, eqn: \
    (None, eqn, [True], []) if unknown[0] else (eqn, None, [False], [eqn.outvars[0]])


def keep(x: Any) -> Any:
    """``x``, its arrays kept by every :func:`checkpoint`."""
    return tree_map(keep_p.bind, x)


# The policy of the ``checkpoint`` that is being differentiated; None outside of one.
ambient_policy = internal_state("checkpoint_policy", None, jit_key=False)

# --- policies -------------------------------------------------------------------------------------------------------

def everything_saveable(*_: Any, **__: Any) -> bool:
    """Keeps every value, as without rematerialisation."""
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """Keeps the arguments only and computes everything again: the default."""
    return False


def dots_saveable(prim: Any, *_: Any, **params: Any) -> bool:
    """Keeps the results of matrix products and convolutions."""
    return prim.name in ("dot_general", "conv_general_dilated", "ragged_dot_general")


def dots_with_no_batch_dims_saveable(prim: Any, *_: Any, **params: Any) -> bool:
    """Keeps the results of matrix products without batch dimensions (weights times activations)."""
    return prim.name == "dot_general" and not any(params["dimension_numbers"][1])


def save_only_these_names(*names_which_can_be_saved: str) -> Callable[..., bool]:
    """Keeps values named by :func:`checkpoint_name`, if among these."""
    names = _check_names("save_only_these_names", names_which_can_be_saved)
    return _named_policy(("only", names), lambda name: name in names)


def save_any_names_but_these(*names_not_to_save: str) -> Callable[..., bool]:
    """Keeps named values, except these."""
    names = _check_names("save_any_names_but_these", names_not_to_save)
    return _named_policy(("but", names), lambda name: name not in names)


@functools.lru_cache(maxsize=512)
def _memo_policy(key: Any) -> list[Any]:
    return []


def _named_policy(key: Any, accepts: Callable[[str], bool]) -> Callable[..., bool]:
    """One function object per meaning, so that caches keyed on policies hit."""
    memo = _memo_policy(key)
    if not memo:
        def policy(prim: Any, *_: Any, **params: Any) -> bool:
            return prim is name_p and accepts(params["name"])
        memo.append(policy)
    return memo[0]


def save_anything_except_these_names(*names_not_to_save: str) -> Callable[..., bool]:
    """Keeps every value, named or not, except those with these names."""
    names = _check_names("save_anything_except_these_names", names_not_to_save)

    def policy(prim: Any, *_: Any, **params: Any) -> bool:
        return not (prim is name_p and params["name"] in names)
    memo = _memo_policy(("except", names))
    if not memo:
        memo.append(policy)
    return memo[0]


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Callable[..., Any]:
    """Moves the results of matrix products without batch dimensions to another memory and keeps them there."""
    def policy(prim: Any, *avals: Any, **params: Any) -> Any:
        if dots_with_no_batch_dims_saveable(prim, *avals, **params):
            return Offloadable(offload_src, offload_dst)
        return Recompute
    return policy


def save_and_offload_only_these_names(*, names_which_can_be_saved: Sequence[str],
                                      names_which_can_be_offloaded: Sequence[str], offload_src: str,
                                      offload_dst: str) -> Callable[..., Any]:
    """Keeps some named values in place and others in another memory."""
    saved, moved = (_check_names("save_and_offload_only_these_names", names)
                    for names in (names_which_can_be_saved, names_which_can_be_offloaded))
    both = saved & moved
    if both:
        raise ValueError(f"the names {sorted(both)} are both to be saved and to be offloaded; choose one")

    def policy(prim: Any, *_: Any, **params: Any) -> Any:
        if prim is name_p and params["name"] in saved:
            return Saveable
        if prim is name_p and params["name"] in moved:
            return Offloadable(offload_src, offload_dst)
        return Recompute
    return policy


def save_from_both_policies(policy_1: Callable[..., Any], policy_2: Callable[..., Any]) -> Callable[..., Any]:
    """Keeps what either policy keeps."""
    for policy in (policy_1, policy_2):
        if not callable(policy):
            raise TypeError("save_from_both_policies takes two policies, see jax.checkpoint_policies; got "
                            f"{policy!r} of type {type(policy).__name__}")

    def either(prim: Any, *args: Any, **params: Any) -> Any:
        return policy_1(prim, *args, **params) or policy_2(prim, *args, **params)
    return either


class CheckpointPolicies:
    """The policies by name; ``jax.checkpoint_policies``."""

    everything_saveable = staticmethod(everything_saveable)
    nothing_saveable = staticmethod(nothing_saveable)
    dots_saveable = staticmethod(dots_saveable)
    checkpoint_dots = staticmethod(dots_saveable)
    dots_with_no_batch_dims_saveable = staticmethod(dots_with_no_batch_dims_saveable)
    checkpoint_dots_with_no_batch_dims = staticmethod(dots_with_no_batch_dims_saveable)
    offload_dot_with_no_batch_dims = staticmethod(offload_dot_with_no_batch_dims)
    save_only_these_names = staticmethod(save_only_these_names)
    save_any_names_but_these = staticmethod(save_any_names_but_these)
    save_anything_except_these_names = staticmethod(save_anything_except_these_names)
    save_and_offload_only_these_names = staticmethod(save_and_offload_only_these_names)
    save_from_both_policies = staticmethod(save_from_both_policies)


checkpoint_policies = CheckpointPolicies()
