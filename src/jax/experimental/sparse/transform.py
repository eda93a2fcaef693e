"""Functions of dense arrays, applied to sparse ones.

Sparse values are references into an environment of buffers (:class:`SparsifyEnv`), on which primitives act by the rules of
``_sparsify_rules``. There are two ways to find the primitives of a function: :func:`sparsify_raw` stages it on the types of
dense arrays and runs the program (:func:`eval_sparse`); :func:`sparsify_fun` runs it under a :class:`SparseTrace`. What
would make a dense array of a sparse one without being asked raises.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import numpy as jnp
from jax._api.common import debug_info
from jax._language.staging import trace_to_jaxpr
from jax._language.trace import Trace, Tracer, TraceTag, current_trace, run_in
from jax.experimental._reexports import reexporting
from jax.experimental.sparse import _sparsify_control as _sparsify_control  # enters its rules
from jax.experimental.sparse._bcoo_layout import BCOO
from jax.experimental.sparse._bcoo_shape import basic_index, part_at
from jax.experimental.sparse._environment import SparsifyEnv as SparsifyEnv
from jax.experimental.sparse._environment import SparsifyValue as SparsifyValue
from jax.experimental.sparse._environment import array_to_spvalue, is_sparse_array, is_value, spvalue_to_aval
from jax.experimental.sparse._environment import arrays_to_spvalues as arrays_to_spvalues
from jax.experimental.sparse._environment import spvalues_to_arrays as spvalues_to_arrays
from jax.experimental.sparse._environment import spvalues_to_avals as spvalues_to_avals
from jax.experimental.sparse._formats import JAXSparse
from jax.experimental.sparse._sparsify_rules import apply, todense_p
from jax.experimental.sparse._sparsify_rules import eval_sparse as eval_sparse
from jax.experimental.sparse.bcsr import BCSR, bcsr_concatenate
from jax.tree_util import tree_flatten, tree_structure, tree_unflatten


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """``f``, a function of dense arrays, as one that also takes and returns sparse arrays (BCOO, BCSR).

    Args:
      f: a function of pytrees of arrays, for example one of ``jax.numpy``. Inside it sparse arguments look like dense ones.
      use_tracer: how ``f`` is run. By default it is staged at the types of its arguments, and the program is run with sparse
        values. With ``use_tracer=True`` it runs on the arguments, with a :class:`SparseTracer` for each sparse one; then
        Python may look at values that are dense, also at those computed of sparse ones (``if x.sum() > 0``).

    BCSR arrays stay such where an operation acts on entries alone; otherwise results are in BCOO format. Derivative rules
    that ``f`` has of its own (``custom_jvp``, ``custom_vjp``) are not used for sparse values: derivatives with respect to
    what is stored are those of the operations.

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
        if use_tracer:
            leaves, tree = tree_flatten((args, kwargs), is_leaf=is_sparse_array)
            flat = _Flat(f, tree)
            outs = sparsify_fun(flat, leaves)
            return tree_unflatten(flat.out_tree, outs)
        spenv = SparsifyEnv()
        args, kwargs = arrays_to_spvalues(spenv, (args, kwargs))
        outs, out_tree = sparsify_raw(f)(spenv, *args, **kwargs)
        return tree_unflatten(out_tree, spvalues_to_arrays(spenv, outs))
    return wrapped


class _Flat:
    """A function of leaves; knows the structure of the result after a call."""

    out_tree: Any = None

    def __init__(self, f: Callable[..., Any], in_tree: Any) -> None:
        self.f = f
        self.in_tree = in_tree

    def __call__(self, *leaves: Any) -> list[Any]:
        args, kwargs = tree_unflatten(self.in_tree, leaves)
        out, self.out_tree = tree_flatten(self.f(*args, **kwargs))
        return out


# --- by way of a program --------------------------------------------------------------------------------------------

def sparsify_raw(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f``, a function of dense arrays, as one of values in an environment.

    Args:
      f: a function of pytrees of arrays.

    Returns:
      A function ``(spenv, *args, **kwargs) -> (values, out_tree)`` of trees of :class:`SparsifyValue`. Leaves that are no
      such values are passed to ``f`` as they are. ``out_tree`` is the structure of what ``f`` returned.

    >>> import jax.numpy as jnp
    >>> env = SparsifyEnv()
    >>> a = arrays_to_spvalues(env, BCOO.fromdense(jnp.array([0.0, 2.0])))
    >>> (out,), _ = sparsify_raw(jnp.sin)(env, a)
    >>> out.indices_ref == a.indices_ref
    True
    """
    @functools.wraps(f)
    def wrapped(spenv: SparsifyEnv, *spvalues: Any, **params: Any) -> tuple[list[SparsifyValue], Any]:
        leaves, tree = tree_flatten((spvalues, params), is_leaf=is_value)
        given = [x for x in leaves if is_value(x)]
        flat = _Flat(f, tree)

        def dense(*tracers: Any) -> list[Any]:
            rest = iter(tracers)
            return flat(*[next(rest) if is_value(x) else x for x in leaves])
        info = debug_info(f, tree_structure((spvalues, params), is_leaf=is_value), "sparsify")
        jaxpr, consts = trace_to_jaxpr(dense, [spvalue_to_aval(spenv, v) for v in given], info)
        return eval_sparse(jaxpr, consts, given, spenv), flat.out_tree
    return wrapped


# --- by way of a trace ----------------------------------------------------------------------------------------------

class SparseTracer(Tracer):
    """A sparse value where a function of dense arrays expects an array.

    Args:
      trace: the :class:`SparseTrace` that it belongs to.
      spvalue: the value, in the environment of the trace.
    """

    __slots__ = ("_spvalue",)

    def __init__(self, trace: SparseTrace, *, spvalue: SparsifyValue) -> None:
        self._trace = trace
        self._spvalue = spvalue

    @property
    def spenv(self) -> SparsifyEnv:
        """The environment that the value refers into."""
        return self._trace.spenv

    @property
    def aval(self) -> Any:
        """The type of the dense array that the value stands for."""
        return spvalue_to_aval(self.spenv, self._spvalue)

    def _concrete(self) -> Any:
        if self._spvalue.is_sparse():
            return None
        data = self.spenv.data(self._spvalue)
        return data._concrete() if isinstance(data, Tracer) else data

    def _origin_msg(self) -> str:
        return "It is a sparse array inside a function under sparsify; sparse.todense() makes a dense one of it."


class SparseTrace(Trace):
    """Applies primitives to sparse values by their rules, and to dense ones as its parent does.

    Args:
      parent_trace: the trace under which entries and indices are computed.
      tag: what its tracers are told by.
      spenv: the environment of its values.
    """

    __slots__ = ("parent", "tag", "spenv", "finished")

    def __init__(self, parent_trace: Trace, tag: TraceTag, spenv: SparsifyEnv) -> None:
        self.parent = parent_trace
        self.staged = parent_trace.staged
        self.tag = tag
        self.spenv = spenv
        self.finished = False

    @property
    def parent_trace(self) -> Trace:
        """The trace under which entries and indices are computed."""
        return self.parent

    def is_finished(self) -> bool:
        """Whether the function has run, so that its tracers are of no use."""
        return self.finished

    def _own(self, x: Any) -> bool:
        return isinstance(x, SparseTracer) and x._trace.tag is self.tag

    def to_sparse_tracer(self, val: Any) -> SparseTracer:
        """A value as a tracer of this trace."""
        return val if self._own(val) else SparseTracer(self, spvalue=array_to_spvalue(self.spenv, val))

    def wrap(self, value: SparsifyValue) -> Any:
        """A value as the function sees it: dense arrays as they are."""
        return self.spenv.data(value) if value.is_dense() else SparseTracer(self, spvalue=value)

    def process_primitive(self, prim: Any, tracers: Any, params: dict[str, Any]) -> Any:
        values = [self.to_sparse_tracer(x)._spvalue for x in tracers]
        outs = run_in(self.parent, apply, self.spenv, prim, values, params, lambda xs: prim.bind(*xs, **params))
        return [self.wrap(v) for v in outs] if prim.multiple_results else self.wrap(outs[0])

    def _dense(self, args: Any) -> list[Any] | None:
        """Dense arguments; None if there is a sparse one."""
        values = [self.to_sparse_tracer(x)._spvalue for x in args]
        return None if any(v.is_sparse() for v in values) else [self.spenv.data(v) for v in values]

    def custom_jvp(self, prim: Any, fun: Any, jvp: Any, args: Any, params: dict[str, Any]) -> Any:
        """A function with a jvp rule: the rule is for dense arguments."""
        dense = self._dense(args)
        return run_in(self, fun, *args) if dense is None else run_in(self.parent, prim.bind, fun, jvp, *dense, **params)

    def custom_vjp(self, prim: Any, fun: Any, fwd: Any, bwd: Any, args: Any, params: dict[str, Any]) -> Any:
        """A function with a vjp rule: the rule is for dense arguments."""
        dense = self._dense(args)
        return run_in(self, fun, *args) if dense is None else \
            run_in(self.parent, prim.bind, fun, fwd, bwd, *dense, **params)


def sparsify_fun(wrapped_fun: Any, args: Sequence[Any]) -> list[Any]:
    """Runs a function of leaves under a :class:`SparseTrace`.

    Args:
      wrapped_fun: a function, plain or wrapped (``jax.extend.linear_util``), that returns a list of leaves.
      args: arrays, of which some are sparse.

    Returns:
      The results, of which some may be sparse.
    """
    spenv = SparsifyEnv()
    trace = SparseTrace(current_trace.get(), TraceTag(), spenv)
    values = arrays_to_spvalues(spenv, list(args))
    try:
        outs = run_in(trace, getattr(wrapped_fun, "call_wrapped", wrapped_fun), *map(trace.wrap, values))
    finally:
        trace.finished = True
    return spvalues_to_arrays(spenv, [trace.to_sparse_tracer(x)._spvalue for x in outs])


# --- indexing with arrays -------------------------------------------------------------------------------------------

def impl(arr: Any, idx: Any, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None,
         fill_value: Any = None) -> Any:
    """``arr.at[idx].get(...)`` of a sparse array: what ``arr[idx]`` is for BCOO and BCSR arrays.

    Args:
      arr: a sparse array.
      idx: as for dense arrays: integers, slices, ``None``, ``...``, and arrays of integers or (known) booleans, of which
        those that vary become batch axes if they come first in the result, and sparse axes otherwise.
      indices_are_sorted, unique_indices: promises of which no use is made.
      mode, fill_value: what indices out of bounds mean; see :attr:`jax.numpy.ndarray.at`. They are clipped by default.
        ``mode="fill"`` is sparse for ``fill_value=0``.

    >>> import jax.numpy as jnp
    >>> a = BCOO.fromdense(jnp.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> impl(a, (jnp.array([0, 1]), jnp.array([1, 1]))).todense().tolist()
    [2.0, 0.0]
    """
    basic = basic_index(arr, idx) if isinstance(arr, BCOO) and mode is None and fill_value is None else None
    if basic is not None:
        return part_at(arr, basic)

    def take(dense: Any) -> Any:
        return dense.at[idx].get(indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, mode=mode,
                                 fill_value=fill_value)
    return sparsify(take)(arr)


def bcsr_impl(*a: Any, **k: Any) -> BCSR:
    """:func:`bcsr_concatenate`: BCSR arrays, ``(operands, dimension=...)``, joined along an axis."""
    return bcsr_concatenate(*a, **k)


def _item(self: Any, idx: Any) -> Any:
    return impl(self, idx)


def _rows(self: Any) -> Any:
    if not self.ndim:
        raise TypeError("iteration over a 0-d array")
    return (self[i] for i in range(self.shape[0]))


for _format in (BCOO, BCSR):
    _format.__getitem__ = _item  # type: ignore[attr-defined]
    _format.__iter__ = _rows  # type: ignore[attr-defined]


def todense(arr: Any) -> Any:
    """A sparse array as a dense one; a dense one as it is.

    In a function under :func:`sparsify` this is for the sparse values, too, which look like dense arrays there.

    >>> from jax import numpy as jnp
    >>> from jax.experimental import sparse
    >>> a = sparse.BCOO.fromdense(jnp.array([0.0, 2.0]))
    >>> sparse.sparsify(lambda x: sparse.todense(x) + 1)(a).tolist()
    [1.0, 3.0]
    """
    if isinstance(arr, Tracer):
        return todense_p.bind(arr)
    return arr.todense() if isinstance(arr, JAXSparse) else jnp.asarray(arr) if isinstance(arr, np.ndarray) else arr


__getattr__ = reexporting(__name__, "api_util config core ft jnp_indexing lax lu pe pjit pytree sharding_impls sparse "
                                    "tree_util")
