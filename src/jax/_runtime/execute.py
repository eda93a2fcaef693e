"""Running compiled programs: arguments in, arrays out."""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax import dtypes
from jax._base import config, host_calls
from jax._base._jaxlib import jaxlib_version, xla
from jax._language.avals import ShapedArray, physical_aval

from . import array, backend, donations, transfer
from .failures import surfaced

logger = logging.getLogger("jax.run")
ArrayImpl = xla.ArrayImpl
_MANY_PENDING = 32
_FLAG = np.dtype(bool)
_SKIP_CHECKS = {"_skip_checks": True} if jaxlib_version < (0, 11) else {}


def result_handler(aval: Any, sharding: Any, committed: bool) -> Any:
    """jaxlib's object that makes a value of a program's output."""
    dtype = getattr(aval, "dtype", None)
    if dtype == dtypes.float0:
        zeros = np.zeros(aval.shape, dtypes.float0)
        flags = ShapedArray(aval.shape, _FLAG)
        return xla.array_result_handler(flags, sharding, committed, **_SKIP_CHECKS).wrap(lambda _: zeros)
    if isinstance(dtype, dtypes.ExtendedDType):
        return xla.array_result_handler(physical_aval(aval), sharding, committed, **_SKIP_CHECKS).wrap(dtype.wrap)
    return xla.array_result_handler(aval, sharding, committed, **_SKIP_CHECKS)


def _plain_array(x: Any) -> Any:
    """The array that carries ``x`` in a program: of typed keys, their bits."""
    return x if type(x) is ArrayImpl else x.aval.dtype.unwrap(x)


class Executable:
    """A compiled program with what is needed to call it.

    Args:
      loaded: jaxlib's loaded executable.
      in_avals: abstract values of the arguments of :meth:`call`.
      out_avals: abstract values of the results.
      in_shardings: one per *kept* argument; by default that of the single device the program is for.
      out_shardings: one per result; the same default.
      kept: positions of the arguments that the program takes (unused ones are dropped when it was lowered).
      consts: arrays that the program takes before the arguments (large constants of the traced function).
      donated: positions of arguments whose memory the program takes over.
      ordered_effects: effects whose tokens the program takes first and returns first.
      has_unordered_effects: whether the program has effects that a barrier must wait for.
      keepalive: objects that must live as long as the program (host callbacks).
      arg_names: what to call the arguments in messages.
      name: of the program.
      home: the sharding of values that are the same everywhere; by default that of the single device.
      const_shardings: one per constant; by default ``home``.
      spread: whether its results are tied to the devices of a mesh, whatever the arguments are.
    """

    __slots__ = ("loaded", "in_avals", "out_avals", "in_shardings", "out_shardings", "kept", "consts", "donated",
                 "ordered_effects", "has_unordered_effects", "keepalive", "arg_names", "name", "device", "waits",
                 "home", "spread", "_handlers", "_plain", "__weakref__")

    def __init__(self, loaded: Any, *, in_avals: Sequence[Any], out_avals: Sequence[Any], in_shardings: Any = None,
                 out_shardings: Any = None, kept: Sequence[int] | None = None, consts: Sequence[Any] = (),
                 donated: Sequence[int] = (), ordered_effects: Sequence[Any] = (),
                 has_unordered_effects: bool = False, keepalive: Any = None,
                 arg_names: Sequence[str] | None = None, name: str = "", home: Any = None,
                 const_shardings: Sequence[Any] | None = None, spread: bool = False) -> None:
        self.loaded = loaded
        self.in_avals = tuple(in_avals)
        self.out_avals = tuple(out_avals)
        self.kept = tuple(kept) if kept is not None else tuple(range(len(self.in_avals)))
        self.device = loaded.local_devices()[0]
        here = self.home = backend.device_sharding(self.device) if home is None else home
        self.spread = spread
        self.in_shardings = tuple(in_shardings) if in_shardings is not None else (here,) * len(self.kept)
        self.out_shardings = tuple(out_shardings) if out_shardings is not None else (here,) * len(self.out_avals)
        with transfer.explicit():
            self.consts = [_plain_array(transfer.to_device(c, None, s, committed=False))
                           for c, s in zip(consts, const_shardings or (here,) * len(consts), strict=True)]
        self.donated = frozenset(donated)
        self.ordered_effects = tuple(ordered_effects)
        self.has_unordered_effects = has_unordered_effects
        self.keepalive = keepalive
        self.arg_names = tuple(arg_names) if arg_names is not None else None
        self.name = name
        # On a CPU a limited number of programs may be under way. If programs that call Python counted among them while
        # they wait for their turn, those that a callback runs might never start.
        # Programs over several CPU devices meet in collectives, one thread for each device; with many under way at once
        # each has some of the threads, and none has all.
        several = len(loaded.local_devices()) > 1
        self.waits = self.device.platform == "cpu" and (keepalive is not None or several)
        self._handlers: list[Any] = [None, None]
        self._plain = not (self.ordered_effects or has_unordered_effects)

    # --- calling ------------------------------------------------------------------------------------------------------

    def call(self, args: Sequence[Any], committed: bool | None = None) -> list[Any]:
        """Runs the program.

        Args:
          args: one value per argument (unused ones too): arrays, NumPy arrays or scalars.
          committed: whether the results are tied to their devices; by default when an argument is.

        Returns:
          The results as a list of arrays. They may still be being computed.

        Raises:
          RuntimeError: when an argument has been deleted or donated.
        """
        if config.no_execution.value:
            raise RuntimeError(f"jax_no_execution forbids to run {self.name or 'a program'} here")
        if committed is None:
            committed = any(type(x) is ArrayImpl and x._committed for x in args)
        inputs = self.prepare(args)
        try:
            if self._plain:
                outs = self.loaded.execute_sharded(inputs).consume_with_handlers(self.handlers(committed))
            else:
                outs = self._call_with_effects(inputs, committed)
            if self.waits:
                xla.batched_block_until_ready([x for x in outs if type(x) is ArrayImpl])
            return outs
        except (xla.JaxRuntimeError, ValueError) as error:
            better = donations.explained(error, args, self.donated, self._argument, self.name or "the program")
            if better is not error:
                raise better from None
            for x in inputs:
                x._check_alive()
            if self.ordered_effects:
                tokens.chain().forget_failed()
            raise surfaced(error, self.device, self)  # noqa: B904 - it has its own cause

    __call__ = call

    def prepare(self, args: Sequence[Any]) -> list[Any]:
        """Constants and kept arguments as arrays where the program wants them."""
        inputs = list(self.consts)
        for position, sharding in zip(self.kept, self.in_shardings, strict=True):
            x = args[position]
            if type(x) is ArrayImpl:
                have = x._sharding
                if have is sharding or have == sharding:
                    inputs.append(x)
                    continue
                x._check_alive()
            inputs.append(self._place(x, position, sharding))
        return inputs

    def _place(self, x: Any, position: int, sharding: Any) -> Any:
        """An argument that is not where the program wants it, or not an array at all."""
        aval = self.in_avals[position]
        dtype = aval.dtype
        if dtype == dtypes.float0:
            # Programs have no type without bits: these are carried by flags that nobody reads.
            return transfer.to_device(np.zeros(aval.shape, bool), None, sharding, committed=True)
        if isinstance(dtype, dtypes.ExtendedDType):
            # The program takes the plain array that carries the value.
            if type(x) is not ArrayImpl:
                x = dtype.unwrap(x)
            aval = physical_aval(aval)
            if x._sharding == sharding:
                return x
        name = self.arg_names[position] if self.arg_names is not None else ""
        return transfer.to_device(x, aval, sharding, committed=True, name=name)

    def handlers(self, committed: bool) -> list[Any]:
        """Result handlers, made once for each kind of commitment."""
        found = self._handlers[committed]
        if found is None:
            found = self._handlers[committed] = [
                result_handler(a, s, committed) for a, s in zip(self.out_avals, self.out_shardings, strict=True)]
        return found

    def _call_with_effects(self, inputs: list[Any], committed: bool) -> list[Any]:
        n = len(self.ordered_effects)
        chain = tokens.chain()
        with chain.lock if n else _no_lock:
            leading = [chain.get(e, self.in_token_sharding()) for e in self.ordered_effects]
            results = self.loaded.execute_sharded([*leading, *inputs], with_tokens=self.has_unordered_effects)
            handlers = [result_handler(token_aval, self.in_token_sharding(), False) for _ in range(n)]
            outs = results.consume_with_handlers([*handlers, *self.handlers(committed)])
            for effect, token in zip(self.ordered_effects, outs[:n], strict=True):
                chain.current[effect] = token
        if self.has_unordered_effects:
            if self.waits:
                results.consume_token().block_until_ready()
            else:
                chain.add_pending(results.consume_token())
        if self.waits and n:
            xla.batched_block_until_ready(outs[:n])
        return outs[n:]

    def _argument(self, position: int) -> str:
        """What the argument at ``position`` is called in messages."""
        return self.arg_names[position] if self.arg_names is not None else f"number {position}"

    def in_token_sharding(self) -> Any:
        """Where the tokens of ordered effects live."""
        return self.home

    def new_bytes(self) -> int:
        """How much memory the program allocates when it runs; 0 where XLA does not say."""
        try:
            stats = self.loaded.get_compiled_memory_stats()
        except xla.JaxRuntimeError:
            return 0
        return stats.output_size_in_bytes - stats.alias_size_in_bytes + stats.temp_size_in_bytes

    # --- what others ask ----------------------------------------------------------------------------------------------

    def check_avals(self, avals: Sequence[Any]) -> None:
        """Raises TypeError unless arguments of these types can be passed."""
        if len(avals) != len(self.in_avals):
            raise TypeError(f"{self.name or 'the compiled function'} takes {len(self.in_avals)} arrays, "
                            f"and {len(avals)} were given")
        for i, (have, want) in enumerate(zip(avals, self.in_avals, strict=True)):
            if have.shape != want.shape or have.dtype != want.dtype:
                raise TypeError(f"{self.name or 'the compiled function'} was compiled for an argument {self._argument(i)} "
                                f"of type {want.str_short()}, and {have.str_short()} was given. Compiled functions take "
                                "only the types they were compiled for: convert the argument, or call the jitted function.")


# --- effects -----------------------------------------------------------------------------------------------

token_aval = ShapedArray((0,), _FLAG)


class Chain:
    """The last token of every ordered effect, and what unordered effects are still running."""

    __slots__ = ("lock", "current", "pending")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.current: dict[Any, Any] = {}
        self.pending: list[Any] = []

    def get(self, effect: Any, sharding: Any) -> Any:
        """The token that the next program with ``effect`` takes.

        Raises:
          Exception: that of an earlier program with this effect, if nobody has been told of it.
        """
        token = self.current.get(effect)
        failure = None if token is None else _failure_of(token)
        if failure is not None:
            del self.current[effect]
            if host_calls.is_news(failure):
                raise failure
            token = None
        if token is None:
            token = transfer.put_host(np.zeros((0,), bool), token_aval, sharding, False, may_alias=True)
        elif token._sharding != sharding:
            token.block_until_ready()
            token = transfer.to_device(token, None, sharding, committed=False)
        return token

    def add_pending(self, token: Any) -> None:
        """Remembers the token of a program with unordered effects, and waits for an old one when there are many."""
        self.pending.append(token)
        if len(self.pending) > _MANY_PENDING:
            try:
                _wait(self.pending.pop(0))
            except (xla.JaxRuntimeError, ValueError) as error:
                if host_calls.is_news(error):
                    raise surfaced(error)  # noqa: B904 - it has its own cause

    def forget_failed(self) -> None:
        """Drops the tokens of programs that have failed, so that the next program starts anew."""
        with self.lock:
            self.current = {e: t for e, t in self.current.items() if _failure_of(t) is None}

    def barrier(self) -> None:
        """Waits for all effects of programs that have been started; raises the first error that nobody has seen."""
        with self.lock:
            current, self.current = self.current, {}
            pending, self.pending = self.pending, []
        first: BaseException | None = None
        for token in (*current.values(), *pending):
            try:
                _wait(token)
            except (xla.JaxRuntimeError, ValueError) as error:
                if host_calls.is_news(error) is not False:
                    first = first or error
        if first is not None:
            raise surfaced(first)

    def clear(self) -> None:
        """Forgets all tokens."""
        with self.lock:
            self.current.clear()
            self.pending.clear()


class Tokens(Chain):
    """The chain of the process. Functions that programs call have chains of their own.

    The program that calls such a function has not finished, and neither has its token: a program run by the function
    that waited for it would wait forever.
    """

    __slots__ = ()

    def chain(self) -> Chain:
        """The chain to be used in this thread."""
        call = host_calls.under_way()
        if call is None:
            return self
        found: Chain | None = call.get("chain")
        if found is None:
            found = call["chain"] = Chain()
        return found


def finish_host_call(call: dict[Any, Any]) -> None:
    """Hands what a function called by a program has started over to the process, whose barrier waits for it."""
    chain: Chain | None = call.get("chain")
    if chain is not None:
        with tokens.lock:
            tokens.pending.extend((*chain.current.values(), *chain.pending))


def _wait(token: Any) -> None:
    """Waits for a token; its error is raised as XLA has it."""
    if type(token) is ArrayImpl:
        xla.batched_block_until_ready([token])
    else:
        token.block_until_ready()


def _failure_of(token: Any) -> Exception | None:
    """The error of the program that a token comes from, if it has failed by now."""
    if token.is_ready():
        try:
            _wait(token)
        except Exception as error:
            return error
    return None


class _NoLock:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: Any) -> None:
        return None


_no_lock = _NoLock()
tokens = Tokens()
backend.on_clear(tokens.clear)


def effects_barrier() -> None:
    """Waits until the effects (callbacks, prints) of all programs started so far have happened.

    Raises:
      Exception: the first error among them.
    """
    tokens.chain().barrier()


def _barrier_at_exit() -> None:
    """What has been printed from programs shall appear although nobody waits for their results."""
    try:
        tokens.barrier()
    except Exception as error:
        logger.error("a program failed, and nobody waited for its results: %s", error)


atexit.register(_barrier_at_exit)


def block_until_ready(arrays: Sequence[Any]) -> None:
    """Waits until every array of ``arrays`` has been computed; values of other kinds are passed over."""
    waiting = [x for x in arrays if type(x) is ArrayImpl]
    for x in waiting:
        if x.is_deleted():
            raise RuntimeError(array.gone_message(x))
    try:
        xla.batched_block_until_ready(waiting)
    except (xla.JaxRuntimeError, ValueError) as error:
        raise surfaced(error, next(iter(waiting[0].devices())))  # noqa: B904 - it has its own cause
    for x in arrays:
        if type(x) is not ArrayImpl:
            wait = getattr(x, "block_until_ready", None)
            if wait is not None:
                wait()
