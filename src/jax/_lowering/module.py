"""A closed jaxpr becomes a module with one public function, ``main``."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from jax._base import _jaxlib, config
from jax._language.avals import AbstractToken, physical_aval
from jax._language.effects import lowerable_effects, ordered_effects
from jax._language.jaxpr import ClosedJaxpr
from jax._lowering.barriers import settle
from jax._lowering.consts import captured_consts
from jax._lowering.context import (
    LoweringContext,
    MlirState,
    ModuleContext,
    Scope,
    TokenSet,
    activate,
    give_back_state,
    no_tokens,
    take_state,
)
from jax._lowering.emit import emit_with_tokens
from jax._lowering.manual import Region
from jax._lowering.passes import run_passes
from jax._lowering.passes.pieces import compiles_without_optimising
from jax._lowering.shardings import is_spread, sharding_attr
from jax._lowering.subprograms import build_function
from jax._lowering.types import bool_attr, i32_attr, ir_type, string_attr, tensor_type
from jax.dtypes import ExtendedDType


class LoweredModule:
    """A StableHLO module and how its ``main`` is called.

    Arguments of ``main``: one ``pred[0]`` per ordered effect, the large closed-over arrays, then the arguments of the
    program that are kept. Results: one ``pred[0]`` per ordered effect, then the program's results.

    Attributes:
      module: the MLIR module. :meth:`release` returns its context to the pool.
      captured: the large closed-over arrays.
      const_args: the arrays that carry them, in argument order.
      kept_var_idx: positions of the program's arguments that ``main`` takes.
      donated: for each argument of ``main`` whether its buffer may be reused.
      unused_donations: positions of donated arguments whose buffers fit no result.
      fenced: whether it relies on barriers that hold until operations have been fused.
      light: whether it does so little that it may be compiled without optimisations.
      in_pieces: whether it was last compiled to take its scratch memory in pieces.
      ordered_effects, unordered_effects: what running the program does besides computing.
      pure: for programs on references, which references they are (``_dispatch.references.Pure``).
      host_callbacks, keepalives: objects that must live as long as the executable.
    """

    __slots__ = ("module", "state", "name", "platforms", "captured", "const_args", "const_avals", "kept_var_idx",
                 "donated", "unused_donations", "ordered_effects", "unordered_effects", "host_callbacks", "keepalives",
                 "debug_info", "in_avals", "out_avals", "timing", "pure", "fenced", "light", "in_pieces", "_text")

    def __init__(self, mod: ModuleContext, closed: ClosedJaxpr, in_avals: Sequence[Any]) -> None:
        self.module: Any = mod.module
        self.state: MlirState | None = mod.state
        self.timing: Any = None  # for whoever compiles it: what the steps so far took
        self.name = mod.name
        self.platforms = mod.platforms
        self.debug_info = closed.jaxpr.debug_info
        self.in_avals = list(in_avals)
        self.out_avals = closed.out_avals
        self.host_callbacks = mod.host_callbacks
        self.keepalives = mod.keepalives
        self.fenced = False
        self.in_pieces = False
        self.light = False
        self.captured: list[Any] = []
        self.const_args: list[Any] = []
        self.const_avals: list[Any] = []
        self.kept_var_idx: tuple[int, ...] = ()
        self.donated: list[bool] = []
        self.unused_donations: list[int] = []
        self.ordered_effects: list[Any] = []
        self.unordered_effects: list[Any] = []
        self.pure: Any = None
        self._text: dict[bool, str] = {}

    def as_text(self, debug_info: bool = False) -> str:
        """The module in MLIR's textual form, with source locations if asked."""
        if debug_info not in self._text:
            self._check_held()
            self._text[debug_info] = self.module.operation.get_asm(enable_debug_info=debug_info)
        return self._text[debug_info]

    def as_bytecode(self) -> bytes:
        """The module in MLIR's binary form."""
        self._check_held()
        out = io.BytesIO()
        self.module.operation.write_bytecode(file=out)
        return out.getvalue()

    @property
    def arg_names(self) -> tuple[str, ...] | None:
        """How the user knows the program's arguments, if that was recorded."""
        return argument_names(self.debug_info)

    def _check_held(self) -> None:
        if self.module is None:
            raise RuntimeError(f"the module of {self.name} has been released")

    def release(self) -> None:
        """Drops the module and lends its context to the next lowering. Nobody may hold parts of the module."""
        state, self.state, self.module = self.state, None, None
        if state is not None:
            give_back_state(state)


def lower_jaxpr_to_module(
    closed: ClosedJaxpr,
    name: str,
    platforms: Sequence[str],
    *,
    donated: Sequence[bool] | None = None,
    keep_unused: bool = False,
    arg_names: Sequence[str] | None = None,
    result_names: Sequence[str] | None = None,
    arg_attrs: Sequence[dict[str, Any]] | None = None,
    num_replicas: int = 1,
    num_partitions: int = 1,
    backend: Any = None,
    spread: Any = None,
    mesh: Any = None,
    overrides: dict[Any, Any] | None = None,
) -> LoweredModule:
    """Lowers ``closed`` for ``platforms``; see :class:`LoweredModule` for the calling convention.

    Args:
      name: of the function that was staged.
      donated: which arguments' buffers the results may be written to.
      keep_unused: keep arguments that nothing reads.
      arg_names, result_names: shown in the text.
      arg_attrs: attributes (as text) per argument of the program, such as shardings.
      spread: the devices of the program and the shardings of its arguments and results, where there are several.
      mesh: named axes that collectives of the program refer to; it is written for one part.
      overrides: lowering rules of primitives that go before those that are registered.

    Raises:
      NotImplementedError: when a primitive has no rule for the platforms.
      ValueError: when an effect cannot be compiled.
    """
    platforms = tuple(platforms)
    _check_effects(closed, name)
    in_avals = closed.in_avals
    divided = spread is not None or mesh is not None
    program = run_passes(closed, platforms, divided)
    state = take_state()
    state.modules += 1
    with activate(state):
        mod = ModuleContext(state, platforms, name)
        mod.backend = backend
        mod.overrides = overrides or {}
        mod.spread = spread
        if spread is not None:
            num_partitions = len(spread.devices)
        lowered = LoweredModule(mod, program, in_avals)
        _plan_arguments(lowered, program, donated, keep_unused)
        mod.module.operation.attributes["sym_name"] = string_attr(f"jit_{_symbol(name)}")
        for key, value in (("mhlo.num_replicas", num_replicas), ("mhlo.num_partitions", num_partitions)):
            mod.module.operation.attributes[key] = i32_attr(value)
        region = None if mesh is None else Region(mod, mesh, frozenset(mesh.axis_names))
        _build_main(lowered, mod, program, arg_names, result_names, arg_attrs, region)
        settle(mod)
        lowered.fenced = mod.fenced
        lowered.light = platforms == ("cpu",) and not divided and config.cpu_group_pieces.value \
            and compiles_without_optimising(closed, program)
        if config.enable_checks.value:
            mod.module.operation.verify()
    return lowered


def argument_names(info: Any) -> tuple[str, ...] | None:
    """The names in a jaxpr's debug info, which are made when first asked for."""
    names = info.arg_names
    return names() if callable(names) else names


def _symbol(name: str) -> str:
    return "".join(ch if ch.isalnum() or ch in "_." else "_" for ch in name)


def _check_effects(closed: ClosedJaxpr, name: str) -> None:
    if any([isinstance(a, AbstractToken) for a in (*closed.in_avals, *closed.out_avals)]):
        raise TypeError(f"the program {name} takes or returns a token. Tokens order operations inside of one program; "
                        "return arrays, and make tokens inside with jax.lax.create_token.")
    if closed.effects:
        refused = lowerable_effects.filter_not_in(closed.effects)
        if refused:
            raise ValueError(f"the program {name} has effects that cannot be compiled: {', '.join(map(str, refused))}")


def _plan_arguments(lowered: LoweredModule, program: ClosedJaxpr, donated: Sequence[bool] | None,
                    keep_unused: bool) -> None:
    jaxpr = program.jaxpr
    ordered = set(ordered_effects.filter_in(jaxpr.effects))
    lowered.ordered_effects = sorted(ordered, key=str)
    lowered.unordered_effects = sorted((e for e in jaxpr.effects if e not in ordered), key=str)
    captured = captured_consts(program)
    lowered.captured = [value for value, _ in captured]
    lowered.const_args = [v.dtype.unwrap(v) if isinstance(v.dtype, ExtendedDType) else v for v in lowered.captured]
    lowered.const_avals = [aval for _, aval in captured]
    if keep_unused:
        kept = range(len(jaxpr.invars))
    else:
        used = set(jaxpr.outvars)
        for eqn in jaxpr.eqns:
            used.update(eqn.invars)
        kept = [i for i, v in enumerate(jaxpr.invars) if v in used]  # type: ignore[assignment]
    lowered.kept_var_idx = tuple(kept)
    leading = len(lowered.ordered_effects) + len(captured)
    lowered.donated = [False] * leading + [bool(donated[i]) if donated else False for i in lowered.kept_var_idx]


def _build_main(lowered: LoweredModule, mod: ModuleContext, program: ClosedJaxpr, arg_names: Sequence[str] | None,
                result_names: Sequence[str] | None, arg_attrs: Sequence[dict[str, Any]] | None, region: Any) -> None:
    jaxpr, kept = program.jaxpr, lowered.kept_var_idx
    effects, captured = lowered.ordered_effects, lowered.captured
    flag = tensor_type((0,), bool)
    in_types = [flag] * len(effects) + [ir_type(a) for a in lowered.const_avals]
    in_types += [ir_type(jaxpr.invars[i].aval) for i in kept]
    out_types = [flag] * len(effects) + [ir_type(a) for a in program.out_avals]
    first = len(effects) + len(captured)

    def fill(args: Sequence[Any]) -> Sequence[Any]:
        scope = Scope(region)
        scope.consts = {id(value): args[len(effects) + i] for i, value in enumerate(captured)}
        ctx = LoweringContext(mod, None, program.in_avals, program.out_avals, no_tokens, (f"jit({mod.name})",), None,
                              scope)
        values: list[Any] = [None] * len(jaxpr.invars)
        for i, position in enumerate(kept):
            values[position] = args[first + i]
        outs, _ = emit_with_tokens(ctx, jaxpr, program.consts, values, TokenSet.create(effects))
        # The flags only tie one execution to the next: they are ready when the whole program has run.
        return [*args[:len(effects)], *outs]

    build_function(mod, "main", in_types, out_types, fill, public=True,
                   arg_attrs=_with_shardings(mod, _argument_attrs(lowered, program, first, arg_attrs, is_spread(mod)),
                                             _argument_shardings(lowered, mod, program)),
                   result_attrs=_with_shardings(mod, _result_attrs(len(effects), result_names),
                                                _result_shardings(lowered, mod, program)),
                   arg_locations=_argument_locations(mod, first, kept, arg_names))


def _argument_locations(mod: ModuleContext, first: int, kept: Sequence[int], names: Sequence[str] | None) -> Any:
    unknown = mod.state.unknown
    if names is None:
        return None
    name = _jaxlib.ir.Location.name
    return [unknown] * first + [name(names[i], unknown, mod.context) if i < len(names) and names[i] else unknown
                                for i in kept]


def _result_attrs(leading: int, names: Sequence[str] | None) -> list[dict[str, Any]] | None:
    if names is None:
        return None
    return [{} for _ in range(leading)] + [{"jax.result_info": string_attr(n)} if n else {} for n in names]


Sharded = Sequence[tuple[Any, int]]  # sharding (None: open) and number of dimensions of the plain array


def _argument_shardings(lowered: LoweredModule, mod: ModuleContext, program: ClosedJaxpr) -> Sharded:
    if not is_spread(mod):
        return ()
    spread = mod.spread
    found = [(spread.everywhere(), 1) for _ in lowered.ordered_effects]
    found += [(spread.const_sharding(c), len(a.shape))
              for c, a in zip(lowered.const_args, map(physical_aval, lowered.const_avals), strict=True)]
    return found + [(spread.in_shardings[i], _rank(program.jaxpr.invars[i].aval)) for i in lowered.kept_var_idx]


def _result_shardings(lowered: LoweredModule, mod: ModuleContext, program: ClosedJaxpr) -> Sharded:
    if not is_spread(mod):
        return ()
    found = [(mod.spread.everywhere(), 1) for _ in lowered.ordered_effects]
    return found + [(s, _rank(a)) for s, a in zip(mod.spread.out_shardings, program.out_avals, strict=True)]


def _rank(aval: Any) -> int:
    return len(getattr(physical_aval(aval), "shape", ()))


def _with_shardings(mod: ModuleContext, attrs: list[dict[str, Any]] | None, shardings: Sharded) -> Any:
    if not shardings:
        return attrs
    attrs = [{} for _ in shardings] if attrs is None else attrs
    for found, (sharding, ndim) in zip(attrs, shardings, strict=True):
        if sharding is not None:
            found["sdy.sharding"] = sharding_attr(mod, sharding, ndim)
    return attrs


def _argument_attrs(lowered: LoweredModule, program: ClosedJaxpr, first: int, extra: Sequence[dict[str, Any]] | None,
                    spread: bool) -> list[dict[str, Any]] | None:
    """Donation: the result an argument's buffer is reused for where types match, else XLA may choose.

    In a program that is ``spread``, which result fits depends on how the compiler splits it.
    """
    if extra is None and not any(lowered.donated):
        return None
    parse = _jaxlib.ir.Attribute.parse
    attrs: list[dict[str, Any]] = [{} for _ in lowered.donated]
    free: dict[Any, list[int]] = {}
    for j, aval in enumerate(program.out_avals):
        free.setdefault(_buffer_kind(aval), []).append(j + len(lowered.ordered_effects))
    for i, position in enumerate(lowered.kept_var_idx):
        k = first + i
        if extra is not None and extra[position]:
            attrs[k].update({n: parse(text) for n, text in extra[position].items()})
        if lowered.donated[k]:
            aval = lowered.in_avals[position]
            fits = free.get(_buffer_kind(aval))
            if fits:
                result = fits.pop(0)
                attrs[k].update({"jax.buffer_donor": bool_attr(True)} if spread else
                                {"tf.aliasing_output": i32_attr(result)})
            else:
                attrs[k]["jax.buffer_donor"] = bool_attr(True)
                lowered.unused_donations.append(position)
    return attrs


def _buffer_kind(aval: Any) -> Any:
    plain = physical_aval(aval)
    return (getattr(plain, "shape", None), getattr(plain, "dtype", None))
