"""The bare builder: operations by name.

``ir.Operation.create`` costs about a third of the generated classes. Nothing checks operands here; XLA's verifier does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jax._base import _jaxlib
from jax._lowering.context import current_state


def _first_create(*args: Any, **kwargs: Any) -> Any:
    """The MLIR bindings are loaded by the first call, not at import."""
    global create
    create = _jaxlib.ir.Operation.create
    return create(*args, **kwargs)


create: Callable[..., Any] = _first_create


def op(name: str, result_types: Sequence[Any], operands: Sequence[Any], attrs: dict[str, Any] | None = None,
       regions: int = 0) -> Any:
    """The operation ``name`` (``"stablehlo.add"``); its values are ``.results``, its regions ``.regions``."""
    return create(name, result_types, operands, attrs, None, regions)


def op1(name: str, result_type: Any, operands: Sequence[Any], attrs: dict[str, Any] | None = None) -> Any:
    """The value of an operation with one result."""
    return create(name, (result_type,), operands, attrs).result


def opn(name: str, result_types: Sequence[Any], operands: Sequence[Any],
        attrs: dict[str, Any] | None = None) -> list[Any]:
    """The values of an operation."""
    return list(create(name, result_types, operands, attrs).results)


def region_op(name: str, result_types: Sequence[Any], operands: Sequence[Any], attrs: dict[str, Any] | None,
              regions: Sequence[tuple[Sequence[Any], Callable[..., Any]]]) -> list[Any]:
    """An operation with regions: for each the types of its arguments and ``fill(*args) -> value or values``.

    Where the functions that fill them are known to write the same for the same types, the operation is copied from one
    written before, which costs a fraction.
    """
    keys = tuple([_code_key(fill) for _, fill in regions])
    if None in keys:
        return list(_write(name, result_types, operands, attrs, regions).results)
    cached = current_state().attrs
    key = (name, keys, *result_types, *[x.type for x in operands], *(attrs.values() if attrs else ()))
    model = cached.get(key)
    if model is None:
        model = cached[key] = _model(name, result_types, [x.type for x in operands], attrs, regions)
    copy = model[0].clone()
    own = copy.operands
    for i, x in enumerate(operands):
        own[i] = x
    copy.location = _jaxlib.ir.Location.current
    return list(copy.results)


def _write(name: str, result_types: Sequence[Any], operands: Sequence[Any], attrs: dict[str, Any] | None,
           regions: Sequence[tuple[Sequence[Any], Callable[..., Any]]]) -> Any:
    operation = create(name, result_types, operands, attrs, None, len(regions))
    for region, (arg_types, fill) in zip(operation.regions, regions, strict=True):
        fill_region(region, arg_types, fill)
    return operation


def _code_key(fill: Any) -> Any:
    """What determines the code that ``fill`` writes, or None: it can refer to values from outside of the region."""
    operation = getattr(fill, "operation", None)
    if operation is not None:
        return operation
    args: tuple[Any, ...] = ()
    if type(fill) is functools.partial and not fill.keywords:
        fill, args = fill.func, fill.args
    if getattr(fill, "__closure__", fill) is not None or "<" in fill.__qualname__:
        return None
    key = (fill, args)
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _model(name: str, result_types: Sequence[Any], operand_types: Sequence[Any], attrs: dict[str, Any] | None,
           regions: Sequence[tuple[Sequence[Any], Callable[..., Any]]]) -> tuple[Any, Any]:
    """The operation on arguments of a function that belongs to no module, and that function, which holds it."""
    ir, unknown = _jaxlib.ir, current_state().unknown
    holder = create("func.func", (), (), None, None, 1, unknown, False)
    block = ir.Block.create_at_start(holder.regions[0], list(operand_types), [unknown] * len(operand_types))
    with unknown, ir.InsertionPoint(block):
        return _write(name, result_types, list(block.arguments), attrs, regions), holder


def fill_region(region: Any, arg_types: Sequence[Any], fill: Callable[..., Any]) -> None:
    """Gives ``region`` one block whose terminator returns what ``fill`` returns."""
    ir = _jaxlib.ir
    here = ir.Location.current
    block = ir.Block.create_at_start(region, list(arg_types), [here] * len(arg_types))
    with ir.InsertionPoint(block):
        out = fill(*block.arguments)
        create("stablehlo.return", (), [out] if isinstance(out, ir.Value) else list(out))


def unary(name: str) -> Callable[[Any], Any]:
    """The builder of an operation whose result has its operand's type. ``.operation`` is the operation's name."""
    def build(x: Any) -> Any:
        return create(name, (x.type,), (x,)).result
    return _named(build, name)


def binary(name: str) -> Callable[[Any, Any], Any]:
    """The builder of an operation on two operands of one type with that result."""
    def build(x: Any, y: Any) -> Any:
        return create(name, (x.type,), (x, y)).result
    return _named(build, name)


def _named(build: Any, name: str) -> Any:
    build.operation = name
    build.__name__ = build.__qualname__ = name.split(".")[1].rstrip("_")
    build.__doc__ = f"``{name}``, element by element."
    return build
