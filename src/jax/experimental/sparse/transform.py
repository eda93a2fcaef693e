"""Functions of dense arrays, applied to sparse ones.

:func:`sparsify` stages a function on the types of dense arrays and runs its equations with sparse values, by the rules of
this module. What would make a dense array of a sparse one without being asked raises.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import lax
from jax import numpy as jnp
from jax._api.staged import make_jaxpr
from jax._language.evaluation import bind_eqn
from jax._language.jaxpr import ClosedJaxpr, Literal
from jax.experimental.sparse import _bcoo_operators as ops
from jax.experimental.sparse import bcoo
from jax.experimental.sparse._bcoo_layout import BCOO, with_data
from jax.experimental.sparse._formats import JAXSparse
from jax.experimental.sparse.bcsr import BCSR
from jax.tree_util import tree_flatten, tree_unflatten

_Rule = Callable[..., list[Any]]
_rules: dict[str, _Rule] = {}


def _is_sparse(x: Any) -> bool:
    return isinstance(x, JAXSparse)


class _Abstract:
    """A sparse argument, as the dense array that it stands for."""

    def __init__(self, x: JAXSparse) -> None:
        self.shape, self.dtype = x.shape, x.dtype


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """``f``, a function of dense arrays, as one that also takes and returns sparse arrays (BCOO).

    Args:
      f: a function of pytrees of arrays, for example one of ``jax.numpy``. Inside it sparse arguments look like dense ones.
      use_tracer: has no effect on results: there is one implementation, which stages the function.

    Raises (when called):
      NotImplementedError: for operations that have no sparse rule, most of them because the result would be dense.

    >>> import jax.numpy as jnp
    >>> a = BCOO.fromdense(jnp.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> sparsify(jnp.sin)(a)
    BCOO(float32[2, 2], nse=2)
    >>> sparsify(lambda a, v: jnp.dot(a, v) + v)(a, jnp.ones(2)).tolist()
    [3.0, 2.0]
    """
    if not isinstance(use_tracer, bool):
        raise TypeError(f"sparsify: use_tracer must be a boolean, got {use_tracer!r}")

    @functools.wraps(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = tree_flatten((args, kwargs), is_leaf=_is_sparse)
        out_tree: Any = None

        def flat(*dense: Any) -> list[Any]:
            nonlocal out_tree
            args, kwargs = tree_unflatten(tree, dense)
            out, out_tree = tree_flatten(f(*args, **kwargs))
            return out
        closed = make_jaxpr(flat)(*[_Abstract(x) if _is_sparse(x) else x for x in leaves])
        return tree_unflatten(out_tree, eval_sparse(closed, leaves))
    return wrapped


def eval_sparse(closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    """Runs a program with values of which some are sparse."""
    jaxpr = closed.jaxpr
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    for eqn in jaxpr.eqns:
        values = [v.val if type(v) is Literal else env[v] for v in eqn.invars]
        if not any(map(_is_sparse, values)):
            out = bind_eqn(eqn, values)
            outs = out if eqn.primitive.multiple_results else [out]
        else:
            rule = _rules.get(eqn.primitive.name)
            if rule is None:
                raise NotImplementedError(_missing(eqn.primitive.name))
            outs = rule(*[_bcoo(v) for v in values], **eqn.params)
        env.update(zip(eqn.outvars, outs, strict=True))
    return [v.val if type(v) is Literal else env[v] for v in jaxpr.outvars]


def _bcoo(x: Any) -> Any:
    if isinstance(x, BCSR):
        return x.to_bcoo()
    if isinstance(x, JAXSparse) and not isinstance(x, BCOO):
        raise NotImplementedError(f"sparsify: {type(x).__name__} arrays are not supported; use BCOO")
    return x


_DENSE = frozenset("acos acosh cos cosh digamma eq erfc exp exp2 ge gt le lgamma log logistic lt ne pow rsqrt".split())


def _missing(name: str) -> str:
    if name in _DENSE:
        return (f"sparse rule for {name} is not implemented because it would result in dense output. If this is your "
                "intent, use sparse.todense() to convert your arguments to dense matrices.")
    return f"sparse rule for {name} is not implemented."


# --- element by element ---------------------------------------------------------------------------------------------


def _rule(*names: str) -> Callable[[_Rule], _Rule]:
    def enter(rule: _Rule) -> _Rule:
        _rules.update(dict.fromkeys(names, rule))
        return rule
    return enter


def _keeps_zero(primitive: Any, linear: bool) -> _Rule:
    def on_data(x: Any, **params: Any) -> Any:
        return primitive.bind(x, **params)
    apply = ops.unary(on_data)

    def rule(x: BCOO, **params: Any) -> list[Any]:
        return [with_data(x, on_data(x.data, **params)) if linear else apply(x, **params)]
    return rule


for _name in ("neg", "real", "imag", "conj", "copy"):
    _rules[_name] = _keeps_zero(getattr(lax, f"{_name}_p"), linear=True)
for _name in ("abs", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "convert_element_type", "erf", "expm1", "floor",
              "log1p", "reduce_precision", "round", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh"):
    _rules[_name] = _keeps_zero(getattr(lax, f"{_name}_p"), linear=False)


@_rule("integer_pow")
def _integer_pow(x: BCOO, *, y: int) -> list[Any]:
    if y <= 0:
        raise NotImplementedError(f"sparse rule for integer_pow with the exponent {y}, which would result in dense output")
    return [ops.power(x, y)]


@_rule("stop_gradient")
def _stop_gradient(x: BCOO, **params: Any) -> list[Any]:
    del params
    return [with_data(x, lax.stop_gradient(x.data))]


@_rule("add", "add_any")
def _add(x: Any, y: Any, **params: Any) -> list[Any]:
    _only_defaults("add", params)
    return [ops.add(x, y)]


@_rule("sub")
def _sub(x: Any, y: Any, **params: Any) -> list[Any]:
    _only_defaults("sub", params)
    if x is y and isinstance(x, BCOO):  # the same places: they need not be stored twice
        return [with_data(x, x.data - y.data)]
    return [ops.add(x, ops.negative(y) if isinstance(y, BCOO) else -y)]


@_rule("mul")
def _mul(x: Any, y: Any, **params: Any) -> list[Any]:
    _only_defaults("mul", params)
    return [ops.multiply(x, y)]


@_rule("div")
def _div(x: Any, y: Any, **params: Any) -> list[Any]:
    _only_defaults("div", params)
    if isinstance(y, BCOO):
        raise NotImplementedError("Division by a sparse array is not implemented because it would result in dense output. "
                                  "If this is your intent, use sparse.todense() to convert your arguments to a dense array.")
    return [ops.divide(x, y)]


# --- products, sums, shapes -----------------------------------------------------------------------------------------


@_rule("dot_general")
def _dot_general(x: Any, y: Any, *, dimension_numbers: Any, precision: Any, preferred_element_type: Any,
                 **params: Any) -> list[Any]:
    _only_defaults("dot_general", params)
    return [bcoo.bcoo_dot_general(x, y, dimension_numbers=dimension_numbers, precision=precision,
                                  preferred_element_type=preferred_element_type)]


@_rule("conv_general_dilated")
def _conv(x: Any, y: Any, **params: Any) -> list[Any]:
    if not (isinstance(x, BCOO) and isinstance(y, BCOO)):
        raise NotImplementedError("sparse rule for conv_general_dilated is not implemented for a sparse and a dense "
                                  "operand.")
    names = ("window_strides", "padding", "lhs_dilation", "rhs_dilation", "dimension_numbers", "feature_group_count",
             "batch_group_count", "precision", "preferred_element_type")
    return [bcoo.bcoo_conv_general_dilated(x, y, **{k: params[k] for k in names if k in params})]


def _only_defaults(name: str, params: dict[str, Any]) -> None:
    given = {k: v for k, v in params.items() if v is not None}
    if given:
        raise NotImplementedError(f"sparse rule for {name} is not implemented with {given}.")


@_rule("reduce_sum")
def _reduce_sum(x: BCOO, *, axes: Sequence[int], **params: Any) -> list[Any]:
    _only_defaults("reduce_sum", params)
    out = bcoo.bcoo_reduce_sum(x, axes=axes)
    return [out if out.ndim else out.todense()]


@_rule("transpose")
def _transpose(x: BCOO, *, permutation: Sequence[int]) -> list[Any]:
    return [bcoo.bcoo_transpose(x, permutation=permutation)]


@_rule("reshape")
def _reshape(x: BCOO, *, new_sizes: Sequence[int], dimensions: Any = None, **params: Any) -> list[Any]:
    _only_defaults("reshape", params)
    return [bcoo.bcoo_reshape(x, new_sizes=new_sizes, dimensions=dimensions)]


@_rule("squeeze")
def _squeeze(x: BCOO, *, dimensions: Sequence[int]) -> list[Any]:
    return [bcoo.bcoo_squeeze(x, dimensions=dimensions)]


@_rule("broadcast_in_dim")
def _broadcast_in_dim(x: BCOO, *extra: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int],
                      **params: Any) -> list[Any]:
    del extra  # sizes of dimensions that are not known
    _only_defaults("broadcast_in_dim", params)
    return [bcoo.bcoo_broadcast_in_dim(x, shape=shape, broadcast_dimensions=broadcast_dimensions)]


@_rule("slice")
def _slice(x: BCOO, *, start_indices: Any, limit_indices: Any, strides: Any) -> list[Any]:
    return [bcoo.bcoo_slice(x, start_indices=start_indices, limit_indices=limit_indices, strides=strides)]


@_rule("dynamic_slice")
def _dynamic_slice(x: BCOO, *starts: Any, slice_sizes: Any) -> list[Any]:
    return [bcoo.bcoo_dynamic_slice(x, starts, slice_sizes)]


@_rule("rev")
def _rev(x: BCOO, *, dimensions: Any) -> list[Any]:
    return [bcoo.bcoo_rev(x, dimensions)]


@_rule("gather")
def _gather(x: BCOO, start: Any, *, dimension_numbers: Any, slice_sizes: Any, **params: Any) -> list[Any]:
    # operations of jax.numpy have made indices fit, or ask for a filling that can then be of no use
    del params
    return [bcoo.bcoo_gather(x, start, dimension_numbers, slice_sizes)]


@_rule("concatenate")
def _concatenate(*operands: Any, dimension: int) -> list[Any]:
    if not all(isinstance(x, BCOO) for x in operands):
        raise NotImplementedError("sparse rule for concatenate is not implemented for sparse and dense operands together.")
    return [bcoo.bcoo_concatenate(operands, dimension=dimension)]


# --- programs within programs ---------------------------------------------------------------------------------------


@_rule("jit", "pjit")
def _jit(*args: Any, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
    del params
    return eval_sparse(jaxpr, args)


@_rule("custom_jvp_call", "custom_vjp_call", "remat2", "checkpoint")
def _call(*args: Any, **params: Any) -> list[Any]:
    inner = next((params[k] for k in ("call_jaxpr", "fun_jaxpr", "jaxpr") if k in params), None)
    if inner is None:
        raise NotImplementedError("sparse rule for a function with a derivative of its own is not implemented.")
    return eval_sparse(inner if isinstance(inner, ClosedJaxpr) else ClosedJaxpr(inner, ()), args)


@_rule("cond")
def _cond(index: Any, *operands: Any, branches: Sequence[ClosedJaxpr], **params: Any) -> list[Any]:
    del params
    return lax.switch(index, [functools.partial(lambda b, *xs: eval_sparse(b, xs), b) for b in branches], *operands)


@_rule("while")
def _while(*args: Any, cond_jaxpr: ClosedJaxpr, cond_nconsts: int, body_jaxpr: ClosedJaxpr, body_nconsts: int,
           **params: Any) -> list[Any]:
    del params
    cond_consts, body_consts = args[:cond_nconsts], args[cond_nconsts:cond_nconsts + body_nconsts]
    return lax.while_loop(lambda carry: eval_sparse(cond_jaxpr, [*cond_consts, *carry])[0],
                          lambda carry: eval_sparse(body_jaxpr, [*body_consts, *carry]),
                          list(args[cond_nconsts + body_nconsts:]))


@_rule("scan")
def _scan(*args: Any, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, length: int, reverse: bool, unroll: Any,
          **params: Any) -> list[Any]:
    del params
    consts, carry, xs = args[:num_consts], args[num_consts:num_consts + num_carry], args[num_consts + num_carry:]
    if any(isinstance(x, BCOO) and not x.n_batch for x in xs):
        raise NotImplementedError("sparse rule for scan is not implemented for operands whose leading axis is sparse; see "
                                  "update_layout(n_batch=1)")

    def body(carry: Any, xs: Any) -> tuple[Any, Any]:
        outs = eval_sparse(jaxpr, [*consts, *carry, *xs])
        return outs[:num_carry], outs[num_carry:]
    carry, ys = lax.scan(body, list(carry), list(xs), length=length, reverse=reverse, unroll=unroll)
    return [*carry, *ys]


def todense(arr: Any) -> Any:
    """A sparse array as a dense one; a dense one as it is."""
    return arr.todense() if isinstance(arr, JAXSparse) else jnp.asarray(arr) if isinstance(arr, np.ndarray) else arr
