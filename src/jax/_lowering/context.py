"""What a lowering knows while it runs: the MLIR context, the module being built, the equation at hand.

An MLIR context keeps every type, attribute and location it has ever made. One context therefore serves many modules
(types and attributes are then found in Python dictionaries) but not all of them: it retires after a number of modules.
A context belongs to one lowering at a time, because contexts without thread support are fast and not thread-safe.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from jax._base import _jaxlib, caching, config, source
from jax._language.axes import axis_env

_MODULES_PER_CONTEXT = 64
_EQUATIONS_PER_CONTEXT = 20000
_active = threading.local()


class MlirState:
    """One MLIR context with what has been made in it."""

    __slots__ = ("context", "types", "elements", "attrs", "locations", "unknown", "names", "frames",
                 "modules", "equations", "loops", "inner_barriers")

    def __init__(self) -> None:
        self.context = _jaxlib.new_mlir_context()
        self.types: dict[Any, Any] = {}
        self.elements: dict[Any, Any] = {}
        self.attrs: dict[Any, Any] = {}
        self.names: dict[Any, str] = {}
        self.unknown = _jaxlib.ir.Location.unknown(self.context)
        self.frames: Any = None
        self.locations: Callable[[Any], Any] = lambda traceback: self.unknown
        self.modules = 0
        self.equations = 0
        self.loops = 0  # how many loops the insertion point is in
        self.inner_barriers: list[Any] = []  # optimization barriers within loops

    def follow_config(self) -> None:
        """Makes :attr:`locations` (traceback -> location) show as many frames as the options say."""
        frames = (config.traceback_in_locations_limit.value, config.include_full_tracebacks_in_locations.value,
                  config.hlo_source_file_canonicalization_regex.value)
        if frames != self.frames:
            self.frames = frames
            self.locations = _traceback_locations(self.context, *frames[:2])


def _traceback_locations(mlir_context: Any, limit: int, stacks: bool) -> Callable[[Any], Any]:
    """Converts captured tracebacks to MLIR locations: the user's innermost frames, or just one of them."""
    if limit == 0:
        unknown = _jaxlib.ir.Location.unknown(mlir_context)
        return lambda traceback: unknown
    frames = 1 if not stacks else limit if limit > 0 else 1000
    return _jaxlib.mlir_ext.TracebackToLocationCache(source.location_file, frames, mlir_context).get


_idle: list[MlirState] = []
_idle_lock = threading.Lock()


def _drop_idle() -> None:
    with _idle_lock:
        _idle.clear()


caching.register_cache(_drop_idle, name="jax._lowering.context.idle")


def take_state() -> MlirState:
    """A context for the caller's exclusive use; :func:`give_back_state` makes it available to others."""
    with _idle_lock:
        state = _idle.pop() if _idle else None
    if state is None:
        state = MlirState()
    state.follow_config()
    return state


def give_back_state(state: MlirState) -> None:
    """Allows reuse of a context. No module, operation or value of it may be used any more."""
    if state.modules < _MODULES_PER_CONTEXT and state.equations < _EQUATIONS_PER_CONTEXT:
        with _idle_lock:
            if len(_idle) < 4:
                _idle.append(state)


@contextmanager
def activate(state: MlirState) -> Iterator[MlirState]:
    """Makes ``state`` the current one in this thread, for builders and for code that uses MLIR's bindings directly."""
    previous = getattr(_active, "state", None)
    _active.state = state
    try:
        with state.context, state.unknown:
            yield state
    finally:
        _active.state = previous


def current_state() -> MlirState:
    """The state that builders use in this thread."""
    state = getattr(_active, "state", None)
    if state is None:
        raise RuntimeError("no lowering is under way in this thread: StableHLO is built inside lowering rules only")
    return state


class TokenSet:
    """The tokens of ordered effects at one point of a program."""

    __slots__ = ("_tokens",)

    def __init__(self, tokens: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = ()) -> None:
        self._tokens = dict(tokens)

    @classmethod
    def create(cls, effects: Iterable[Any]) -> TokenSet:
        """A new token for each effect."""
        ir, state = _jaxlib.ir, current_state()
        token_type = _jaxlib.stablehlo.TokenType.get(state.context)
        make = ir.Operation.create
        return cls({e: make("stablehlo.create_token", (token_type,), ()).result for e in effects})

    def get(self, effect: Any) -> Any:
        return self._tokens[effect]

    def effects(self) -> tuple[Any, ...]:
        return tuple(self._tokens)

    def items(self) -> Iterable[tuple[Any, Any]]:
        return self._tokens.items()

    def tokens(self) -> list[Any]:
        return list(self._tokens.values())

    def subset(self, effects: Iterable[Any]) -> TokenSet:
        return TokenSet({e: self._tokens[e] for e in effects})

    def update_tokens(self, other: TokenSet) -> TokenSet:
        return TokenSet({**self._tokens, **other._tokens})

    def __len__(self) -> int:
        return len(self._tokens)

    def __contains__(self, effect: Any) -> bool:
        return effect in self._tokens


no_tokens = TokenSet()


class ModuleContext:
    """The module under construction and what belongs to it as a whole."""

    __slots__ = ("state", "context", "module", "body", "platforms", "name", "functions", "used_names", "axis_env",
                 "keepalives", "host_callbacks", "channels", "big_consts", "backend", "lowering_parameters", "spread",
                 "fenced", "overrides")

    def __init__(self, state: MlirState, platforms: tuple[str, ...], name: str) -> None:
        self.state = state
        self.context = state.context
        self.module = _jaxlib.ir.Module.create(state.unknown)
        self.body = self.module.body
        self.platforms = platforms
        self.name = name
        self.functions: dict[Any, Any] = {}
        self.used_names: dict[str, int] = {}
        self.axis_env = axis_env.get()
        self.keepalives: list[Any] = []
        self.host_callbacks: list[Any] = []
        self.channels = 0
        self.big_consts: dict[Any, Any] = {}
        self.backend: Any = None
        self.lowering_parameters: dict[str, Any] = {}
        self.overrides: dict[Any, Any] = {}  # rules for this module alone
        self.fenced = False  # whether it relies on barriers that hold until operations have been fused
        self.spread: Any = None  # where the program runs, if that is not one device

    def fresh_symbol(self, name: str) -> str:
        """A symbol not used in the module so far, like ``name``."""
        clean = "".join(ch if ch.isalnum() or ch in "_.$" else "_" for ch in name) or "f"
        if clean[0].isdigit():
            clean = "_" + clean
        seen = self.used_names.get(clean)
        self.used_names[clean] = 0 if seen is None else seen + 1
        if seen is None:
            return clean
        return self.fresh_symbol(f"{clean}_{seen}")

    def add_keepalive(self, obj: Any) -> None:
        """Keeps ``obj`` alive as long as the executable."""
        self.keepalives.append(obj)

    def add_host_callback(self, callback: Any) -> None:
        self.host_callbacks.append(callback)

    def new_channel(self) -> int:
        self.channels += 1
        return self.channels


class Scope:
    """One function of the module: where its large constants are found, and what it is split over.

    ``manual`` is a mesh with the axes over which the function is written for one part (inside of ``shard_map``).
    """

    __slots__ = ("consts", "manual")

    def __init__(self, manual: Any = None) -> None:
        self.consts: dict[int, Any] = {}
        self.manual = manual


class LoweringContext:
    """What a lowering rule receives as its first argument.

    ``tokens_in`` holds the tokens of the equation's ordered effects; a rule that has any calls
    :meth:`set_tokens_out`.
    """

    __slots__ = ("module_context", "primitive", "avals_in", "avals_out", "tokens_in", "tokens_out", "name_stack", "eqn",
                 "scope", "_platforms")

    def __init__(self, module_context: ModuleContext, primitive: Any, avals_in: Any, avals_out: Any,
                 tokens_in: TokenSet, name_stack: Any, eqn: Any, scope: Scope,
                 platforms: tuple[str, ...] | None = None) -> None:
        self.module_context = module_context
        self.primitive = primitive
        self.avals_in = avals_in
        self.avals_out = avals_out
        self.tokens_in = tokens_in
        self.tokens_out: TokenSet | None = None
        self.name_stack = name_stack
        self.eqn = eqn
        self.scope = scope
        self._platforms = platforms

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platforms this code is for (one, unless lowering for several at once)."""
        return self.module_context.platforms if self._platforms is None else self._platforms

    @property
    def platform(self) -> str:
        """The one platform this code is for."""
        platforms = self.platforms
        if len(platforms) != 1:
            raise NotImplementedError(f"{self.primitive} chooses by platform and is lowered for {platforms} at once; "
                                      "lower for one platform at a time")
        return platforms[0]

    @property
    def source_info(self) -> Any:
        return None if self.eqn is None else self.eqn.source_info

    def set_tokens_out(self, tokens: TokenSet) -> None:
        self.tokens_out = tokens

    def replace(self, **changes: Any) -> LoweringContext:
        """A copy with some fields changed."""
        new = object.__new__(LoweringContext)
        for field in LoweringContext.__slots__:
            setattr(new, field, getattr(self, field))
        for field, value in changes.items():
            setattr(new, "_platforms" if field == "platforms" else field, value)
        return new

    def is_forward_compat(self) -> bool:
        return False
