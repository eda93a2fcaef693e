"""``jax.debug.breakpoint``: a small debugger for terminals, on values of a running program."""

from __future__ import annotations

import cmd
import linecache
import pprint
import sys
import traceback
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import Any

from jax._base.source import api_boundary, is_user_file
from jax._callbacks.debugging import watch
from jax._callbacks.function import HostFunction, result_types, split_arguments
from jax._callbacks.pure import pure_callback_p
from jax._language.avals import typeof
from jax._language.trace import Tracer
from jax.tree_util import default_registry, tree_map, tree_unflatten


@api_boundary
def breakpoint(*, backend: str | None = None, filter_frames: bool = True,  # noqa: A001 - the documented name
               num_frames: int | None = None, ordered: bool = False, token: Any = None, **kwargs: Any) -> Any:
    """Stops a running program, and opens a debugger on the values of the variables where this was called.

    The debugger looks at the Python frames in which the program was traced, with the values that their variables have
    at run time. Its commands: ``p expression``, ``pp expression``, ``l`` (source), ``bt``, ``u`` and ``d`` (frames),
    ``a`` (variables), ``c`` (continue), ``q`` (quit: an error in the program).

    Args:
      backend: accepted for compatibility; there is one debugger, for terminals.
      filter_frames: leave out frames inside of this library.
      num_frames: how many frames to capture, the innermost first; all by default.
      ordered: stop in the order of the program.
      token: an array (or tree of arrays) that is returned unchanged once the debugger is left; what uses it happens
        afterwards.
      kwargs: ``stdin`` and ``stdout``, files in place of the terminal.

    Returns:
      ``token``.
    """
    frames, values = _capture(sys._getframe(1), filter_frames, num_frames)
    session = _Session(frames, **kwargs)
    if token is None:
        watch(session, (values,), {}, ordered)
        return None

    def after(value: Any, given: Any) -> Any:
        session(given)
        return value

    avals, out_tree = result_types("debug.breakpoint", tree_map(typeof, token))
    arrays, tree, fixed = split_arguments((token, values), {})
    outs = pure_callback_p.bind(*arrays, callback=HostFunction(after, tree, fixed), result_avals=avals, sharding=None,
                                vmap_method="sequential")
    return tree_unflatten(out_tree, outs)


class DebuggerQuit(RuntimeError):
    """The program was stopped in the debugger."""


class _Place:
    """A frame of the traced program, without its variables."""

    __slots__ = ("file_name", "line", "function", "names")

    def __init__(self, frame: FrameType) -> None:
        self.file_name = frame.f_code.co_filename
        self.line = frame.f_lineno
        self.function = frame.f_code.co_name
        self.names = frame.f_globals

    def __str__(self) -> str:
        return f"{self.file_name}({self.line}) {self.function}"


def _capture(frame: FrameType | None, only_user: bool, limit: int | None) -> tuple[list[_Place], list[dict[str, Any]]]:
    """The frames from ``frame`` outwards, and the variables of each."""
    places: list[_Place] = []
    variables: list[dict[str, Any]] = []
    while frame is not None and (limit is None or len(places) < limit):
        if not only_user or is_user_file(frame.f_code.co_filename):
            places.append(_Place(frame))
            known = dict(frame.f_locals)
            if frame.f_code.co_name == "<module>":
                known = {}  # found through the globals
            variables.append({k: _presentable(v) for k, v in known.items()})
        frame = frame.f_back
    return places, variables


class _Opaque:
    """A variable that is shown, and not looked into for arrays."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _presentable(value: Any) -> Any:
    """A variable as what may be passed to the debugger: trees that contain traced values as they are, others opaque."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about other people's variables
        tracers = _tracers_in(value)
    if not tracers:
        return _Opaque(value)
    return _Opaque(repr(value)) if any(x._trace.is_finished() for x in tracers) else value


_DEEPEST, _LARGEST = 100, 100_000  # levels and nodes of trees that are looked into


def _tracers_in(tree: Any) -> list[Tracer]:
    """The traced values in a tree; none if it contains itself, is very large, or cannot be taken apart."""
    tracers: list[Tracer] = []
    inside: set[int] = set()  # the nodes on the way to the present one
    left: list[tuple[Any, bool]] = [(tree, False)]
    seen = 0
    while left:
        node, is_done = left.pop()
        if is_done:
            inside.discard(id(node))
        elif isinstance(node, Tracer):
            tracers.append(node)
        else:
            try:
                found = default_registry.flatten_one_level(node)
                children = [] if found is None else list(found[0])
            except Exception:  # noqa: BLE001 whatever functions of other people raise
                return []
            if not children:
                continue
            seen += len(children)
            if id(node) in inside or len(inside) >= _DEEPEST or seen > _LARGEST:
                return []
            inside.add(id(node))
            left += [(node, True), *((child, False) for child in children)]
    return tracers


class _Session(cmd.Cmd):
    """The debugger, opened each time that the program comes by."""

    prompt = "(jdb) "
    use_rawinput = False

    def __init__(self, places: Sequence[_Place], stdin: Any = None, stdout: Any = None) -> None:
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is None
        self.places = places
        self.variables: Sequence[dict[str, Any]] = ()
        self.at = 0

    @property
    def __name__(self) -> str:
        return "debug.breakpoint"

    def __call__(self, variables: Sequence[dict[str, Any]]) -> None:
        self.variables = [{k: v.value if isinstance(v, _Opaque) else v for k, v in frame.items()} for frame in variables]
        self.at = 0
        self._show_place()
        self.cmdloop()

    def _say(self, text: str) -> None:
        self.stdout.write(text + "\n")
        self.stdout.flush()

    def _show_place(self) -> None:
        if not self.places:
            self._say("> (no frames were captured)")
            return
        place = self.places[self.at]
        self._say(f"> {place}\n-> {linecache.getline(place.file_name, place.line).strip()}")

    def _evaluate(self, expression: str) -> Any:
        if not self.places:
            return eval(expression, {})
        return eval(expression, self.places[self.at].names, self.variables[self.at])

    def _show(self, expression: str, form: Any) -> None:
        try:
            self._say(form(self._evaluate(expression)))
        except Exception as error:
            self._say("*** " + "".join(traceback.format_exception_only(error)).strip())

    def default(self, line: str) -> bool | None:  # type: ignore[override]
        """Anything that is no command is evaluated."""
        if line == "EOF":
            return self.do_continue("")
        self._show(line, repr)
        return None

    def emptyline(self) -> bool:
        """An empty line does nothing."""
        return False

    def do_p(self, line: str) -> None:
        """p expression: its value."""
        self._show(line, repr)

    def do_pp(self, line: str) -> None:
        """pp expression: its value, on several lines."""
        self._show(line, pprint.pformat)

    def do_args(self, line: str) -> None:
        """a(rgs): the variables of this frame."""
        for name, value in self.variables[self.at].items() if self.places else ():
            self._say(f"{name} = {value!r}")

    def do_list(self, line: str) -> None:
        """l(ist): the source around the line."""
        if self.places:
            place = self.places[self.at]
            for n in range(max(1, place.line - 5), place.line + 6):
                text = linecache.getline(place.file_name, n)
                if text:
                    self._say(f"{n:4d} {'->' if n == place.line else '  '} {text.rstrip()}")

    def do_where(self, line: str) -> None:
        """w(here), bt: all frames, the innermost last."""
        for i in reversed(range(len(self.places))):
            self._say(f"{'>' if i == self.at else ' '} {self.places[i]}")

    def do_up(self, line: str) -> None:
        """u(p): to the calling frame."""
        self._go(self.at + 1, "Oldest frame")

    def do_down(self, line: str) -> None:
        """d(own): to the called frame."""
        self._go(self.at - 1, "Newest frame")

    def _go(self, to: int, end: str) -> None:
        if 0 <= to < len(self.places):
            self.at = to
            self._show_place()
        else:
            self._say(f"*** {end}")

    def do_continue(self, line: str) -> bool:
        """c(ontinue): let the program run on."""
        return True

    def do_quit(self, line: str) -> bool:
        """q(uit): stop the program with an error."""
        raise DebuggerQuit("the program was stopped in jax.debug.breakpoint")

    do_a, do_l, do_w, do_bt, do_u, do_d, do_c, do_q = (do_args, do_list, do_where, do_where, do_up, do_down, do_continue,
                                                       do_quit)


__all__ = ["DebuggerQuit", "breakpoint"]
