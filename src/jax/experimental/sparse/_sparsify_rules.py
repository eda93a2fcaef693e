"""What primitives do to sparse values: the rules of :func:`sparsify`, by the names of primitives. Those of branches and
loops are in ``_sparsify_control``.

A rule is ``(spenv, *values, **params) -> values``. Most act on BCOO arrays and are written on these; those for which it
matters whether operands are stored at the same places look at the references.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import lax
from jax._ground.structural import deflinear
from jax._language import rules as rules_of_operations
from jax._language.evaluation import bind_eqn
from jax._language.jaxpr import ClosedJaxpr, Literal
from jax._language.primitive import Primitive
from jax._language.trace import Tracer
from jax._lowering.rules import register_lowering
from jax.experimental.sparse import _bcoo_operators as ops
from jax.experimental.sparse import bcoo
from jax.experimental.sparse._bcoo_layout import BCOO, with_data
from jax.experimental.sparse._environment import (
    SparsifyEnv,
    SparsifyValue,
    array_to_spvalue,
    spvalue_to_array,
)
from jax.experimental.sparse.bcsr import BCSR

Rule = Callable[..., list[SparsifyValue]]
rules: dict[str, Rule] = {}

_DENSE = frozenset("acos acosh cos cosh digamma eq erfc exp exp2 ge gt le lgamma log logistic lt ne pow rsqrt".split())


def rule_for(name: str) -> Rule:
    """The rule of a primitive for operands of which some are sparse.

    Raises:
      NotImplementedError: it has none.
    """
    if (rule := rules.get(name)) is not None:
        return rule
    if name in _DENSE:
        raise NotImplementedError(
            f"sparse rule for {name} is not implemented because it would result in dense output. If this is your intent, "
            "use sparse.todense() to convert your arguments to dense matrices.")
    raise NotImplementedError(f"sparse rule for {name} is not implemented.")


def on_values(*names: str) -> Callable[[Rule], Rule]:
    """Enters a rule on values."""
    def enter(rule: Rule) -> Rule:
        rules.update(dict.fromkeys(names, rule))
        return rule
    return enter


def on_arrays(*names: str, keeps_bcsr: bool = False) -> Callable[[Callable[..., Any]], Rule]:
    """Enters a rule written on arrays: dense ones, and BCOO arrays, into which BCSR arrays are converted. With
    ``keeps_bcsr`` the result has the format of the first operand."""
    def enter(compute: Callable[..., Any]) -> Rule:
        @functools.wraps(compute)
        def rule(spenv: SparsifyEnv, *values: SparsifyValue, **params: Any) -> list[SparsifyValue]:
            outs = compute(*[_coordinates(spvalue_to_array(spenv, v)) for v in values], **params)
            if keeps_bcsr and values[0].is_bcsr():
                outs = [BCSR.from_bcoo(x) if isinstance(x, BCOO) and x.n_sparse == 2 else x for x in outs]
            return [array_to_spvalue(spenv, x) for x in outs]
        return on_values(*names)(rule)
    return enter


def _coordinates(x: Any) -> Any:
    return x.to_bcoo() if isinstance(x, BCSR) else x


def _only_defaults(name: str, params: dict[str, Any]) -> None:
    given = {k: v for k, v in params.items() if v is not None}
    if given:
        raise NotImplementedError(f"sparse rule for {name} is not implemented with {given}.")


# --- element by element ---------------------------------------------------------------------------------------------

def _with_entries(spenv: SparsifyEnv, like: SparsifyValue, data: Any) -> list[SparsifyValue]:
    """Other entries at the same places."""
    return [spenv.sparse(like.shape, data, indices_ref=like.indices_ref, indptr_ref=like.indptr_ref,
                         indices_sorted=like.indices_sorted, unique_indices=like.unique_indices)]


def _keeps_zero(name: str, linear: bool) -> None:
    primitive = getattr(lax, f"{name}_p")
    of_sums = on_arrays(name, keeps_bcsr=True)(
        lambda x, **params: [ops.unary(lambda data: primitive.bind(data, **params))(x)])

    @on_values(name)
    def rule(spenv: SparsifyEnv, x: SparsifyValue, **params: Any) -> list[SparsifyValue]:
        if linear or x.unique_indices:
            return _with_entries(spenv, x, primitive.bind(spenv.data(x), **params))
        return of_sums(spenv, x, **params)  # entries at equal places are added first


for _name in ("neg", "real", "imag", "conj", "copy"):
    _keeps_zero(_name, linear=True)
for _name in ("abs", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "convert_element_type", "erf", "expm1", "floor",
              "log1p", "reduce_precision", "round", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh"):
    _keeps_zero(_name, linear=False)


@on_arrays("integer_pow", keeps_bcsr=True)
def _integer_pow(x: BCOO, *, y: int) -> list[Any]:
    if y <= 0:
        raise NotImplementedError(f"sparse rule for integer_pow with the exponent {y}, which would result in dense output")
    return [ops.power(x, y)]


@on_arrays("stop_gradient", keeps_bcsr=True)
def _stop_gradient(x: BCOO, **params: Any) -> list[Any]:
    del params
    return [with_data(x, lax.stop_gradient(x.data))]


def _same_places(x: SparsifyValue, y: SparsifyValue) -> bool:
    return x.is_sparse() and (x.shape, x.indices_ref, x.indptr_ref) == (y.shape, y.indices_ref, y.indptr_ref)


def _sum(name: str, combine: Callable[[Any, Any], Any], negate: bool) -> None:
    def of_arrays(x: Any, y: Any, **params: Any) -> list[Any]:
        _only_defaults(name, params)
        return [ops.add(x, (ops.negative(y) if isinstance(y, BCOO) else -y) if negate else y)]
    elsewhere = on_arrays(name)(of_arrays)

    @on_values(name)
    def rule(spenv: SparsifyEnv, x: SparsifyValue, y: SparsifyValue, **params: Any) -> list[SparsifyValue]:
        if _same_places(x, y):  # they need not be stored twice
            _only_defaults(name, params)
            both = x._replace(indices_sorted=x.indices_sorted or y.indices_sorted,
                              unique_indices=x.unique_indices or y.unique_indices)
            return _with_entries(spenv, both, combine(spenv.data(x), spenv.data(y)))
        return elsewhere(spenv, x, y, **params)


_sum("add", lax.add, False)
_sum("add_any", lax.add, False)
_sum("sub", lax.sub, True)


@on_arrays("mul")
def _products(x: Any, y: Any, **params: Any) -> list[Any]:
    _only_defaults("mul", params)
    return [ops.multiply(x, y)]


@on_values("mul")
def _mul(spenv: SparsifyEnv, x: SparsifyValue, y: SparsifyValue, **params: Any) -> list[SparsifyValue]:
    _only_defaults("mul", params)
    if _same_places(x, y) and (x.unique_indices or y.unique_indices):
        both = x._replace(unique_indices=True, indices_sorted=x.indices_sorted or y.indices_sorted)
        return _with_entries(spenv, both, lax.mul(spenv.data(x), spenv.data(y)))
    sparse, factor = (x, y) if x.is_sparse() else (y, x)
    if factor.is_dense() and not factor.ndim:
        return _with_entries(spenv, sparse, spenv.data(sparse) * spenv.data(factor))
    return _products(spenv, x, y)


@on_arrays("div", keeps_bcsr=True)
def _div(x: Any, y: Any, **params: Any) -> list[Any]:
    _only_defaults("div", params)
    if isinstance(y, BCOO):
        raise NotImplementedError("Division by a sparse array is not implemented because it would result in dense output. "
                                  "If this is your intent, use sparse.todense() to convert your arguments to a dense array.")
    return [ops.divide(x, y)]


def _bound(name: str, keeps: Callable[[Any], bool]) -> None:
    """The greater or the smaller of elements and a number, where that keeps zeros."""
    @on_arrays(name, keeps_bcsr=True)
    def rule(x: Any, y: Any) -> list[Any]:
        sparse, bound = (x, y) if isinstance(x, BCOO) else (y, x)
        if isinstance(bound, BCOO | Tracer) or np.ndim(bound) or not keeps(bound):
            raise NotImplementedError(f"sparse rule for {name} is not implemented but for a number that is known and leaves "
                                      f"zeros what they are: other results would be dense.")
        return [ops.unary(lambda data: getattr(lax, name)(data, bound))(sparse)]


_bound("max", lambda bound: bool(bound <= 0))
_bound("min", lambda bound: bool(bound >= 0))


# --- products, sums, shapes -----------------------------------------------------------------------------------------

@on_arrays("dot_general")
def _dot_general(x: Any, y: Any, *, dimension_numbers: Any, precision: Any, preferred_element_type: Any,
                 **params: Any) -> list[Any]:
    _only_defaults("dot_general", params)
    return [bcoo.bcoo_dot_general(x, y, dimension_numbers=dimension_numbers, precision=precision,
                                  preferred_element_type=preferred_element_type)]


@on_arrays("conv_general_dilated")
def _conv(x: Any, y: Any, **params: Any) -> list[Any]:
    if not (isinstance(x, BCOO) and isinstance(y, BCOO)):
        raise NotImplementedError("sparse rule for conv_general_dilated is not implemented for a sparse and a dense "
                                  "operand.")
    names = ("window_strides", "padding", "lhs_dilation", "rhs_dilation", "dimension_numbers", "feature_group_count",
             "batch_group_count", "precision", "preferred_element_type")
    return [bcoo.bcoo_conv_general_dilated(x, y, **{k: params[k] for k in names if k in params})]


@on_arrays("reduce_sum")
def _reduce_sum(x: BCOO, *, axes: Sequence[int], **params: Any) -> list[Any]:
    _only_defaults("reduce_sum", params)
    out = bcoo.bcoo_reduce_sum(x, axes=axes)
    return [out if out.ndim else out.todense()]


@on_arrays("transpose")
def _transpose(x: BCOO, *, permutation: Sequence[int]) -> list[Any]:
    return [bcoo.bcoo_transpose(x, permutation=permutation)]


@on_arrays("reshape")
def _reshape(x: BCOO, *, new_sizes: Sequence[int], dimensions: Any = None, **params: Any) -> list[Any]:
    _only_defaults("reshape", params)
    return [bcoo.bcoo_reshape(x, new_sizes=new_sizes, dimensions=dimensions)]


@on_arrays("squeeze")
def _squeeze(x: BCOO, *, dimensions: Sequence[int]) -> list[Any]:
    return [bcoo.bcoo_squeeze(x, dimensions=dimensions)]


@on_arrays("broadcast_in_dim", keeps_bcsr=True)
def _broadcast_in_dim(x: BCOO, *extra: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int],
                      **params: Any) -> list[Any]:
    del extra  # sizes of dimensions that are not known
    _only_defaults("broadcast_in_dim", params)
    return [bcoo.bcoo_broadcast_in_dim(x, shape=shape, broadcast_dimensions=broadcast_dimensions)]


@on_arrays("slice")
def _slice(x: BCOO, *, start_indices: Any, limit_indices: Any, strides: Any) -> list[Any]:
    return [bcoo.bcoo_slice(x, start_indices=start_indices, limit_indices=limit_indices, strides=strides)]


@on_arrays("dynamic_slice")
def _dynamic_slice(x: BCOO, *starts: Any, slice_sizes: Any) -> list[Any]:
    return [bcoo.bcoo_dynamic_slice(x, starts, slice_sizes)]


@on_arrays("rev")
def _rev(x: BCOO, *, dimensions: Any) -> list[Any]:
    return [bcoo.bcoo_rev(x, dimensions)]


@on_arrays("gather")
def _gather(x: BCOO, start: Any, *, dimension_numbers: Any, slice_sizes: Any, mode: Any, fill_value: Any,
            **params: Any) -> list[Any]:
    if isinstance(start, BCOO):
        raise NotImplementedError("sparse rule for gather is not implemented for sparse indices; use sparse.todense()")
    return [bcoo.bcoo_gather(x, start, dimension_numbers, slice_sizes, mode=mode, fill_value=fill_value)]


@on_arrays("concatenate", keeps_bcsr=True)
def _concatenate(*operands: Any, dimension: int) -> list[Any]:
    if not all(isinstance(x, BCOO) for x in operands):
        raise NotImplementedError("sparse rule for concatenate is not implemented for sparse and dense operands together.")
    return [bcoo.bcoo_concatenate(operands, dimension=dimension)]


@on_arrays("stack")
def _stack(*operands: Any, axis: int) -> list[Any]:
    if not all(isinstance(x, BCOO) for x in operands):
        raise NotImplementedError("sparse rule for stack is not implemented for sparse and dense operands together.")
    shape = operands[0].shape
    sizes, places = (*shape[:axis], 1, *shape[axis:]), [d + (d >= axis) for d in range(len(shape))]
    return [bcoo.bcoo_concatenate([bcoo.bcoo_broadcast_in_dim(x, shape=sizes, broadcast_dimensions=places)
                                   for x in operands], dimension=axis)]


def _cut(x: BCOO, sizes: Sequence[int], axis: int) -> list[BCOO]:
    ends = np.cumsum(sizes).tolist()
    return [bcoo.bcoo_slice(x, start_indices=[end - n if d == axis else 0 for d in range(x.ndim)],
                            limit_indices=[end if d == axis else m for d, m in enumerate(x.shape)])
            for n, end in zip(sizes, ends, strict=True)]


@on_arrays("split")
def _split(x: BCOO, *, sizes: Sequence[int], axis: int) -> list[Any]:
    return list(_cut(x, sizes, axis))


@on_arrays("unstack")
def _unstack(x: BCOO, *, axis: int) -> list[Any]:
    parts = [bcoo.bcoo_squeeze(part, dimensions=[axis]) for part in _cut(x, (1,) * x.shape[axis], axis)]
    return [part if part.ndim else part.todense() for part in parts]


# --- to dense arrays ------------------------------------------------------------------------------------------------

# What ``sparse.todense`` is in functions under sparsify, where sparse values look like dense arrays: the identity of these.
todense_p = Primitive("todense")
todense_p.def_abstract_eval(lambda x: x)
register_lowering(todense_p, lambda ctx, x: x)
deflinear(todense_p, lambda ct, x: [ct])
rules_of_operations.primitive_batchers[todense_p] = lambda args, dims: (todense_p.bind(*args), dims[0])


@on_arrays("todense")
def _todense(x: BCOO) -> list[Any]:
    return [bcoo.bcoo_todense(x)]


# --- programs within programs ---------------------------------------------------------------------------------------

def eval_sparse(jaxpr: Any, consts: Sequence[Any], spvalues: Sequence[SparsifyValue],
                spenv: SparsifyEnv) -> list[SparsifyValue]:
    """Runs a program on values of which some are sparse.

    Args:
      jaxpr: a program on dense arrays.
      consts: its constants.
      spvalues: its arguments, which refer into ``spenv``.
      spenv: gets the buffers of all that is computed.

    Raises:
      NotImplementedError: for operations on sparse values that have no rule.
    """
    known = dict(zip(jaxpr.constvars, [array_to_spvalue(spenv, c) for c in consts], strict=True))
    known.update(zip(jaxpr.invars, spvalues, strict=True))

    def read(atom: Any) -> SparsifyValue:
        return spenv.dense(atom.val) if type(atom) is Literal else known[atom]
    for eqn in jaxpr.eqns:
        outs = apply(spenv, eqn.primitive, [read(v) for v in eqn.invars], eqn.params, functools.partial(bind_eqn, eqn))
        known.update(zip(eqn.outvars, outs, strict=True))
    return [read(v) for v in jaxpr.outvars]


def apply(spenv: SparsifyEnv, primitive: Any, values: Sequence[SparsifyValue], params: dict[str, Any],
          bind: Callable[[Sequence[Any]], Any]) -> list[SparsifyValue]:
    """One operation: by ``bind`` on the dense arrays if all operands are dense, else by its rule."""
    if any(v.is_sparse() for v in values):
        return rule_for(primitive.name)(spenv, *values, **params)
    out = bind([spenv.data(v) for v in values])
    return [spenv.dense(x) for x in (out if primitive.multiple_results else [out])]


def run_on_arrays(closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    """:func:`eval_sparse` in an environment of its own."""
    spenv = SparsifyEnv()
    outs = eval_sparse(closed.jaxpr, closed.consts, [array_to_spvalue(spenv, x) for x in args], spenv)
    return [spvalue_to_array(spenv, v) for v in outs]


@on_values("jit", "pjit")
def _jit(spenv: SparsifyEnv, *values: SparsifyValue, jaxpr: ClosedJaxpr, **params: Any) -> list[SparsifyValue]:
    del params
    return eval_sparse(jaxpr.jaxpr, jaxpr.consts, values, spenv)


@on_values("custom_jvp_call", "custom_vjp_call", "remat2", "checkpoint")
def _call(spenv: SparsifyEnv, *values: SparsifyValue, **params: Any) -> list[SparsifyValue]:
    inner = next((params[k] for k in ("call_jaxpr", "fun_jaxpr", "jaxpr") if k in params), None)
    if inner is None:
        raise NotImplementedError("sparse rule for a function with a derivative of its own is not implemented.")
    closed = inner if isinstance(inner, ClosedJaxpr) else ClosedJaxpr(inner, ())
    return eval_sparse(closed.jaxpr, closed.consts, values, spenv)
