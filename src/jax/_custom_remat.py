"""``custom_remat``: functions that say themselves what rematerialisation keeps and how it computes the rest again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jax._api.checkpoint_policies import ambient_policy, keep
from jax._api.common import check_callable
from jax._api.forward import jvp
from jax._api.statics import complete_names, signature_of
from jax._base.source import api_boundary
from jax.custom_derivatives import custom_jvp, linear_call
from jax.tree_util import tree_flatten, tree_structure


def custom_remat(f: Callable[..., Any], f_fwd: Callable[..., Any], f_rem: Callable[..., Any], f_bwd: Callable[..., Any], *,
                 static_argnums: int | Sequence[int] = (), static_argnames: str | Sequence[str] = ()) -> Callable[..., Any]:
    """``f`` with rules of its own for reverse-mode differentiation and rematerialisation.

    Where a policy of :func:`jax.checkpoint` chooses among the values that a function computes, these rules say what is kept
    and how the rest comes back. What ``f_fwd`` saves is kept under every enclosing ``checkpoint``, whatever its policy.

    Args:
      f: the function, for evaluation and for forward-mode differentiation.
      f_fwd: ``(policy, *args) -> (out, res)``: the output, and what to keep (``None`` for nothing). ``policy`` is that of
        the enclosing :func:`jax.checkpoint`; outside of one, a policy that keeps everything.
      f_rem: ``(res, *args) -> (out, res2)``: in the backward pass, the output again and what ``f_bwd`` needs.
      f_bwd: ``(res2, out_cotangent) -> cotangents``, a tuple with one for each argument of ``f`` (None: zero).
      static_argnums, static_argnames: arguments that are Python values, as for :func:`jax.jit`. The rules get them in their
        places; their cotangents are None.

    Raises:
      TypeError: a rule that is no function, or that returns something of another form.

    >>> import jax, jax.numpy as jnp
    >>> f = jax.custom_remat(jnp.sin, lambda policy, x: (jnp.sin(x), None), lambda res, x: (jnp.sin(x), jnp.cos(x)),
    ...                      lambda cos, ct: (ct * cos,))
    >>> float(jax.grad(jax.checkpoint(f))(0.0))
    1.0
    """
    for rule, name in ((f, "f"), (f_fwd, "f_fwd"), (f_rem, "f_rem"), (f_bwd, "f_bwd")):
        if not callable(rule):
            raise TypeError(f"custom_remat: {name} must be a function, got {rule!r} of type {type(rule).__name__}")
    check_callable(f, "custom_remat")
    nums, names = complete_names("static", signature_of(f), static_argnums if static_argnums != () else None,
                                 static_argnames if static_argnames != () else None, "custom_remat")

    @functools.wraps(f)
    @api_boundary
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if kwargs and not set(kwargs) <= set(names):
            raise TypeError(f"custom_remat: the arguments {sorted(set(kwargs) - set(names))} must be passed by position, as "
                            "the rules take them so")
        fixed = {i % len(args): args[i] for i in nums if -len(args) <= i < len(args)}
        rules = _Rules(f, f_fwd, f_rem, f_bwd, fixed, len(args), kwargs)
        return rules.call(*[x for i, x in enumerate(args) if i not in fixed])
    return wrapped


class _Rules:
    """The rules as functions of the differentiable arguments."""

    def __init__(self, f: Any, f_fwd: Any, f_rem: Any, f_bwd: Any, fixed: dict[int, Any], count: int,
                 kwargs: dict[str, Any]) -> None:
        self.f = f
        self.f_fwd = f_fwd
        self.f_rem = f_rem
        self.f_bwd = f_bwd
        self.fixed = fixed
        self.count = count
        self.kwargs = kwargs
        self.call = custom_jvp(self.value)
        self.call.defjvp(self.derivative)

    def full(self, dynamic: Sequence[Any]) -> list[Any]:
        rest = iter(dynamic)
        return [self.fixed[i] if i in self.fixed else next(rest) for i in range(self.count)]

    def value(self, *dynamic: Any) -> Any:
        return self.f(*self.full(dynamic), **self.kwargs)

    def derivative(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        policy = ambient_policy.value
        made = _pair("f_fwd", self.f_fwd(_keeps_all if policy is None else policy, *self.full(primals), **self.kwargs))
        out, res = made[0], keep(made[1])
        tangent = linear_call(self.forward, self.backward, (res, tuple(primals)), tuple(tangents))
        return out, tangent

    def forward(self, residuals: Any, tangents: Any) -> Any:
        return jvp(self.value, residuals[1], tangents)[1]

    def backward(self, residuals: Any, ct: Any) -> Any:
        res, primals = residuals
        _, needed = _pair("f_rem", self.f_rem(res, *self.full(primals), **self.kwargs))
        cts = self.f_bwd(needed, ct)
        if not isinstance(cts, (tuple, list)) or len(cts) != self.count:
            raise TypeError(f"custom_remat: f_bwd must return a tuple with one cotangent for each of the {self.count} "
                            f"arguments, got {_brief(cts)}")
        found = [c for i, c in enumerate(cts) if i not in self.fixed]
        return tuple(_filled(c, p) for c, p in zip(found, primals, strict=True))


def _filled(ct: Any, primal: Any) -> Any:
    """A cotangent, with zeros where the rule gave None."""
    from jax.numpy import zeros_like  # only rules that leave cotangents out need it
    if ct is None:
        from jax.tree_util import tree_map  # as above
        return tree_map(zeros_like, primal)
    if tree_structure(ct) != tree_structure(primal):
        raise TypeError(f"custom_remat: f_bwd returned a cotangent of the structure {tree_structure(ct)} for an argument of "
                        f"the structure {tree_structure(primal)}")
    return ct


def _keeps_all(prim: Any, *avals: Any, **params: Any) -> bool:
    return True


def _pair(name: str, made: Any) -> Any:
    if not isinstance(made, (tuple, list)) or len(made) != 2:
        raise TypeError(f"custom_remat: {name} must return a pair (out, residuals), got {_brief(made)}")
    return made


def _brief(x: Any) -> str:
    leaves = tree_flatten(x)[0]
    return f"a {type(x).__name__} of {len(x)}" if isinstance(x, (tuple, list)) else \
        f"a {type(x).__name__}" if len(leaves) != 1 else f"a value of type {type(leaves[0]).__name__}"


__all__ = ["custom_remat"]
