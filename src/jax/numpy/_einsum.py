"""Sums of products in Einstein's notation."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from jax import lax
from jax._api.composite import composite
from jax._api.sharding_constraints import laid_out
from jax._ground.structural import permute, sum_axes
from jax._language import dims
from jax._language.avals import typeof
from jax.lax._precision import canonical_precision
from jax.numpy._contraction import contract, dot_general
from jax.numpy._products import operands as promoted
from jax.numpy._products import requested
from jax.numpy._promotion import check_arraylike, refuse_out, unwrap

Labels = tuple[Hashable, ...]
Path = tuple[tuple[int, ...], ...]


def einsum(subscripts: Any, /, *operands: Any, out: None = None, optimize: Any = "auto", precision: Any = None,
           preferred_element_type: Any = None, _dot_general: Callable[..., Any] | None = None,
           out_sharding: Any = None) -> Any:
    """The sum of products that ``subscripts`` describes, such as ``"bij,bjk->bik"``.

    Args:
      subscripts: a letter for each axis of each operand, commas between operands, and after ``->`` those of the result.
        Products are summed over all others. Without ``->`` the result has the letters that occur once, in alphabetical
        order. ``...`` stands for axes that are broadcast together. A letter twice in one operand takes its diagonal.
      *operands: the arrays. Instead of ``subscripts``, arrays and lists of integers (their axes) can alternate, with
        the list for the result last.
      out: not supported.
      optimize: the order in which pairs are multiplied: ``"auto"``, ``"optimal"``, ``"greedy"`` and other names that
        opt_einsum knows, False for left to right, or a path as :func:`einsum_path` returns it.
      precision, preferred_element_type: as for ``jnp.matmul``.
      _dot_general: a function in place of ``lax.dot_general``, for products of two operands.
      out_sharding: how the result is laid out over devices: a sharding, or a spec over the current mesh.

    Raises:
      ValueError: for subscripts that do not fit the operands; the message shows the shapes.
      TypeError: for operands that are no arrays.

    >>> import jax.numpy as jnp
    >>> jnp.einsum("ij,j->i", jnp.array([[1, 2], [3, 4]]), jnp.array([1, 10])).tolist()
    [21, 43]
    """
    refuse_out("einsum", out)
    if out_sharding is not None:
        out = einsum(subscripts, *operands, out=out, optimize=optimize,
                     precision=precision, preferred_element_type=preferred_element_type, _dot_general=_dot_general)
        return laid_out(out, out_sharding, "jnp.einsum")
    spec, arrays = _read_call(subscripts, operands)
    shapes = []
    for i, x in enumerate(arrays):
        aval = getattr(x, "aval", None)
        if aval is None:
            check_arraylike("einsum", x)
            x = arrays[i] = unwrap(x)
            aval = typeof(x)
        shapes.append(aval.shape)
    plan = _plan(spec, tuple(shapes), _hashable(optimize))
    return _einsum(arrays, plan=plan, precision=canonical_precision(precision),
                   preferred_element_type=requested("einsum", preferred_element_type), dot=_dot_general)


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> tuple[list[Any], Any]:
    """The order in which :func:`einsum` multiplies pairs, and a table of what that costs (from opt_einsum).

    Returns:
      ``(path, info)``: a list of the positions of operands to multiply, for ``einsum(..., optimize=path)``, and an
      object that prints as a table. NumPy's list starts with the string ``"einsum_path"``, this one does not.
    """
    import opt_einsum  # only here and for three operands or more
    spec, arrays = _read_call(subscripts, operands)
    shapes = tuple([typeof(unwrap(x)).shape for x in arrays])
    labels, out = _resolve(spec, shapes)
    names: dict[Hashable, str] = {}
    text = [_letters(k, names) for k in (*labels, out)]
    optimize = {True: "optimal", False: "auto"}.get(optimize, optimize) if isinstance(optimize, bool) else optimize
    path, info = opt_einsum.contract_path(f"{','.join(text[:-1])}->{text[-1]}", *shapes, shapes=True, optimize=optimize)
    return list(path), info


def _letters(labels: Labels, names: dict[Hashable, str]) -> str:
    import opt_einsum  # as above
    return "".join([names.setdefault(k, opt_einsum.get_symbol(len(names))) for k in labels])


# --- reading subscripts ---------------------------------------------------------------------------------------------

def _read_call(subscripts: Any, operands: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """``(spec, arrays)``; the spec is hashable, a tuple of labels for each operand and one, or None, for the result.

    The label Ellipsis stands for any number of axes.
    """
    if isinstance(subscripts, str):
        return _read_text(subscripts), list(operands)
    items = [subscripts, *operands]
    arrays, lists = items[:len(items) // 2 * 2:2], items[1::2]
    out = _read_list(items[-1]) if len(items) % 2 else None
    return (tuple([_read_list(k) for k in lists]), out), arrays


def _read_list(labels: Any) -> Labels:
    try:
        return tuple([k if k is Ellipsis else operator.index(k) for k in labels])
    except TypeError:
        raise ValueError(f"einsum: axes are given as lists of integers, got {labels!r}") from None


@functools.lru_cache(1024)
def _read_text(subscripts: str) -> Any:
    text = "".join(subscripts.split())
    left, arrow, right = text.partition("->")
    inputs = tuple([_read_labels(k, subscripts) for k in left.split(",")])
    return inputs, _read_labels(right, subscripts) if arrow else None


def _read_labels(text: str, subscripts: str) -> Labels:
    before, dots, after = text.partition("...")
    for c in before + after:
        if not c.isalpha():
            raise ValueError(f"einsum: {c!r} in subscripts {subscripts!r} is not a letter, ',', '->' or one '...' for "
                             "each operand")
    return (*before, *((Ellipsis,) if dots else ()), *after)


def _resolve(spec: Any, shapes: tuple[Any, ...]) -> tuple[list[Labels], Labels]:
    """The labels of operands and result with numbered labels in place of Ellipsis; sizes are checked."""
    inputs, out = spec
    if len(inputs) != len(shapes):
        raise ValueError(f"einsum: subscripts {_show(spec)} are for {len(inputs)} operands, got {len(shapes)} of shapes "
                         f"{', '.join(map(str, shapes))}")
    resolved = []
    widest = 0
    for labels, shape in zip(inputs, shapes, strict=True):
        dots = Ellipsis in labels
        extra = len(shape) - len(labels) + dots
        if extra < 0 or (extra > 0 and not dots):
            raise ValueError(f"einsum: in subscripts {_show(spec)}, {_text(labels)!r} names {len(labels) - dots} axes "
                             f"and the operand has shape {shape}")
        resolved.append(_fill(labels, extra))
        widest = max(widest, extra if dots else 0)
    filled = [("...", k) for k in range(widest - 1, -1, -1)]
    every = [k for labels in inputs for k in labels if k is not Ellipsis]
    if out is None:
        once = sorted([k for k in set(every) if every.count(k) == 1])  # type: ignore[type-var]
        result: Labels = (*filled, *once)
    else:
        unknown = [k for k in out if k is not Ellipsis and k not in every]
        if unknown or len(set(out)) != len(out):
            raise ValueError(f"einsum: in subscripts {_show(spec)} the result names "
                             + (f"{unknown[0]!r}, which no operand has" if unknown else "an axis twice"))
        result = _fill(out, widest)
    _check_sizes(spec, resolved, shapes)
    return resolved, result


def _fill(labels: Labels, extra: int) -> Labels:
    """Axes behind an ellipsis are numbered from the last one, as they are broadcast."""
    if Ellipsis not in labels:
        return labels
    i = labels.index(Ellipsis)
    return (*labels[:i], *[("...", k) for k in range(extra - 1, -1, -1)], *labels[i + 1:])


def _check_sizes(spec: Any, inputs: Sequence[Labels], shapes: tuple[Any, ...]) -> None:
    sizes: dict[Hashable, Any] = {}
    for labels, shape in zip(inputs, shapes, strict=True):
        for k, n in zip(labels, shape, strict=True):
            have = sizes.setdefault(k, n)
            if dims.is_one(have):
                sizes[k] = n
            elif not dims.is_one(n) and not dims.dim_eq(n, have):
                name = k if isinstance(k, str | int) else "an axis of '...'"
                raise ValueError(f"einsum: in subscripts {_show(spec)} with operands of shapes "
                                 f"{', '.join(map(str, shapes))}, {name} has sizes {have} and {n}")


def _text(labels: Labels) -> str:
    return "".join(["..." if k is Ellipsis else str(k) if isinstance(k, str) else f"[{k}]" for k in labels])


def _show(spec: Any) -> str:
    inputs, out = spec
    return repr(",".join(map(_text, inputs)) + ("" if out is None else f"->{_text(out)}"))


# --- planning -------------------------------------------------------------------------------------------------------

def _hashable(optimize: Any) -> Any:
    return tuple([x if isinstance(x, str) else tuple(x) for x in optimize]) if isinstance(optimize, list) else optimize


@functools.lru_cache(4096)
def _plan(spec: Any, shapes: tuple[Any, ...], optimize: Any) -> tuple[tuple[Labels, ...], Labels, Path, bool]:
    """``(labels of operands, labels of the result, pairs to multiply, whether an operand has a label twice)``.

    The product of a pair is appended to the operands that are left.
    """
    labels, out = _resolve(spec, shapes)
    repeated = any(len(set(k)) != len(k) for k in labels)
    return tuple(labels), out, _path(labels, out, shapes, optimize), repeated


def _path(labels: list[Labels], out: Labels, shapes: tuple[Any, ...], optimize: Any) -> Path:
    n = len(labels)
    if type(optimize) is tuple:
        steps = optimize[1:] if optimize and optimize[0] == "einsum_path" else optimize
        return _in_pairs(steps, n)
    if n <= 2 or optimize is False:
        return tuple([(0, 1)] + [(k, 0) for k in range(n - 2, 0, -1)]) if n > 1 else ()
    import opt_einsum  # only for three operands or more, which have an order to choose
    names: dict[Hashable, str] = {}
    text = ",".join([_letters(k, names) for k in labels]) + "->" + _letters(out, names)
    known = tuple([tuple([d if dims.is_static(d) else 8 for d in s]) for s in shapes])
    how = "optimal" if optimize is True else optimize
    path, _ = opt_einsum.contract_path(text, *known, shapes=True, optimize=how)
    return _in_pairs(path, n)


def _in_pairs(steps: Sequence[Sequence[int]], n: int) -> Path:
    """A path with the products of three operands and more written as products of two."""
    out: list[tuple[int, ...]] = []
    for step in steps:
        chosen = sorted(step, reverse=True)
        n -= len(chosen) - 1
        if len(chosen) < 2:
            out.append(tuple(chosen))
            continue
        out.append((chosen[0], chosen[1]))
        for k, c in enumerate(chosen[2:]):  # the product so far is the last
            out.append((n + len(chosen) - 3 - k, c))
    return tuple(out)


# --- running --------------------------------------------------------------------------------------------------------

@functools.partial(composite, static_argnames=("plan", "precision", "preferred_element_type", "dot"))
def _einsum(arrays: list[Any], plan: Any, precision: Any, preferred_element_type: Any, dot: Any) -> Any:
    arrays, common = promoted("einsum", *arrays)
    dtype = preferred_element_type or common
    labels, out, path, repeated = plan
    multiply = dot_general if dot is None else functools.partial(_custom_dot, dot)
    if len(labels) == 2 and not repeated:
        return contract(arrays[0], labels[0], arrays[1], labels[1], out, precision, dtype, multiply)
    live = [_diagonals(x, k) for x, k in zip(arrays, labels, strict=True)]
    for step in path:
        chosen = [live.pop(i) for i in sorted(step, reverse=True)]
        if len(chosen) == 1:
            live.append(chosen[0])
            continue
        (y, ky), (x, kx) = chosen  # operands stay in the order in which they were given
        if not live:
            return contract(x, kx, y, ky, out, precision, dtype, multiply)
        needed = {k for _, kept in live for k in kept}.union(out)
        keep = tuple([k for k in _merged(kx, ky) if k in needed])
        live.append((contract(x, kx, y, ky, keep, precision, dtype, multiply), keep))
    ((x, kept),) = live
    gone = [i for i, k in enumerate(kept) if k not in out]
    x, kept = sum_axes(x, gone), tuple([k for k in kept if k in out])
    x = permute(x, [kept.index(k) for k in out])
    return lax.convert_element_type(x, dtype) if typeof(x).dtype != dtype else x


def _custom_dot(dot: Callable[..., Any], x: Any, y: Any, numbers: Any, precision: Any, dtype: Any) -> Any:
    return dot(x, y, numbers, precision=precision, preferred_element_type=dtype)


def _merged(kx: Labels, ky: Labels) -> list[Hashable]:
    """Labels of a product in the order in which ``dot_general`` has them: shared ones first."""
    return [*[k for k in kx if k in ky], *[k for k in kx if k not in ky], *[k for k in ky if k not in kx]]


def _diagonals(x: Any, labels: Labels) -> tuple[Any, Labels]:
    """``x`` with each label once."""
    for k in labels:
        while labels.count(k) > 1:
            i = labels.index(k)
            j = labels.index(k, i + 1)
            x = _diagonal(x, i, j)
            labels = (*[c for d, c in enumerate(labels) if d not in (i, j)], k)
    return x, labels


def _diagonal(x: Any, i: int, j: int) -> Any:
    """The diagonal along two axes, which becomes the last axis: every (n+1)th element of the flattened square."""
    shape = typeof(x).shape
    n = shape[i] if not dims.is_one(shape[i]) else shape[j]
    if not dims.is_one(n) and (dims.is_one(shape[i]) or dims.is_one(shape[j])):  # an axis of size 1 is broadcast
        other = i if dims.is_one(shape[i]) else j
        return _move_last(lax.squeeze(x, (other,)), (j if other == i else i) - ((j if other == i else i) > other))
    rest = [d for d in range(len(shape)) if d not in (i, j)]
    x = permute(x, [*rest, i, j])
    lead = tuple([shape[d] for d in rest])
    flat = lax.reshape(x, (*lead, n * n))
    return lax.slice_in_dim(flat, 0, None, n + 1, len(lead))


def _move_last(x: Any, axis: int) -> Any:
    return permute(x, [*[d for d in range(len(typeof(x).shape)) if d != axis], axis])
