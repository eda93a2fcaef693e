"""Modules as portable artifacts: writing, reading, putting one into another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax._base import _jaxlib
from jax._base._jaxlib import mlir_io
from jax._runtime.ffi import register_targets
from jax.export._checks import custom_call_targets


def write_module(module: Any) -> bytes:
    """``module`` as a portable artifact, in the oldest version that can say it, up to twelve weeks back.

    Releases with that version, and all later ones, can read it.
    """
    dialect = _jaxlib.stablehlo
    kinds = dialect.StablehloCompatibilityRequirement
    for kind in (kinds.WEEK_12, kinds.WEEK_4):
        try:
            return mlir_io.serialize_portable_artifact(module, dialect.get_version_from_compatibility_requirement(kind))
        except (ValueError, _jaxlib.JaxRuntimeError):
            continue  # it has an operation that is younger
    return mlir_io.serialize_portable_artifact(module, dialect.get_current_version())


def read_module(blob: bytes, context: Any) -> Any:
    """The MLIR module in a portable artifact.

    Raises:
      ValueError: it is of a later version.
    """
    try:
        return _jaxlib.stablehlo.deserialize_portable_artifact(context, blob)
    except (ValueError, _jaxlib.JaxRuntimeError) as error:
        raise ValueError(f"the exported program cannot be read by this jaxlib, which has StableHLO "
                         f"{_jaxlib.stablehlo.get_current_version()}: a later version may have written it. Upgrade "
                         f"jaxlib, or export it with an earlier one ({error})") from error


def move_functions(blob: bytes, module: Any, context: Any, rename: Callable[[str], str]) -> str:
    """Adds the functions of an artifact to ``module``, privately and under other names; returns that of its ``main``.

    ``rename`` gives names that ``module`` does not have.
    """
    ir = _jaxlib.ir
    loaded = read_module(blob, context)
    register_targets(custom_call_targets(loaded))
    root, functions = loaded.operation, list(loaded.body.operations)
    old = [ir.StringAttr(f.attributes["sym_name"]).value for f in functions]
    between = [f"function {i} of the artifact" for i in range(len(old))]  # new names may be old ones of other functions
    new = [rename(name) for name in old]
    for have, want in ((old, between), (between, new)):
        for f, a, b in zip(functions, have, want, strict=True):
            ir.SymbolTable.replace_all_symbol_uses(a, b, root)
            ir.SymbolTable.set_symbol_name(f, b)
    for f in functions:
        f.attributes["sym_visibility"] = ir.StringAttr.get("private", context)
        f.operation.detach_from_parent()
        module.body.append(f)
    return new[old.index("main")]


def join_platforms(blobs: Sequence[bytes]) -> bytes:
    """One program from one for each platform. Its ``main`` takes the number of the platform before the other arguments."""
    ir = _jaxlib.ir
    context = _jaxlib.new_mlir_context()
    with context, ir.Location.unknown(context):
        module = ir.Module.create()
        mains: dict[bytes, str] = {}
        for blob in blobs:
            if blob not in mains:
                suffix = f"_{len(mains)}"
                mains[blob] = move_functions(blob, module, context, lambda name, suffix=suffix: name + suffix)
        branches = [mains[blob] for blob in blobs]
        typ = next(ir.TypeAttr(f.attributes["function_type"]).value for f in module.body.operations
                   if ir.StringAttr(f.attributes["sym_name"]).value == branches[0])
        typ = ir.FunctionType(typ)
        number = ir.RankedTensorType.get((), ir.IntegerType.get_signless(32))
        attrs = {"sym_name": ir.StringAttr.get("main"), "sym_visibility": ir.StringAttr.get("public"),
                 "function_type": ir.TypeAttr.get(ir.FunctionType.get([number, *typ.inputs], typ.results)),
                 "arg_attrs": ir.ArrayAttr.get([
                     ir.DictAttr.get({"jax.global_constant": ir.StringAttr.get("_platform_index")}),
                     *(ir.DictAttr.get({}) for _ in typ.inputs)])}
        function = ir.Operation.create("func.func", (), (), attrs, None, 1, ip=ir.InsertionPoint(module.body))
        block = ir.Block.create_at_start(function.regions[0], [number, *typ.inputs])
        with ir.InsertionPoint(block):
            choice = ir.Operation.create("stablehlo.case", typ.results, [block.arguments[0]], None, None, len(branches))
            ir.Operation.create("func.return", (), list(choice.results))
        for region, name in zip(choice.regions, branches, strict=True):
            with ir.InsertionPoint(ir.Block.create_at_start(region, [])):
                call = ir.Operation.create("func.call", typ.results, list(block.arguments)[1:],
                                           {"callee": ir.FlatSymbolRefAttr.get(name)})
                ir.Operation.create("stablehlo.return", (), list(call.results))
        module.operation.verify()
        return write_module(module)
