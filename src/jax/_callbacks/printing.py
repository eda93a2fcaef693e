"""``jax.debug.print``."""

from __future__ import annotations

import logging
import string
from typing import Any, NamedTuple

import numpy as np

from jax._base.source import api_boundary
from jax._callbacks.debugging import watch

logger = logging.getLogger("jax.debug")
_PRINT_OPTIONS = frozenset(("edgeitems", "threshold", "floatmode", "precision", "suppress", "linewidth", "nanstr",
                            "infstr", "sign"))


@api_boundary
def debug_print(fmt: str, *args: Any, ordered: bool = False, partitioned: bool = False, skip_format_check: bool = False,
                _use_logging: bool = False, **kwargs: Any) -> None:
    """Prints values of a running program.

    Args:
      fmt: text with replacement fields as in ``str.format``: ``"loss {:.3f} at {step}"``. Do not make it an f-string:
        that shows the value while tracing, where it has none.
      args: what the fields stand for: trees of arrays and anything else.
      ordered: print in the order of the program. Otherwise lines may come in any order.
      partitioned: on several devices, print once for each with its own part.
      skip_format_check: do not check that ``args`` and ``kwargs`` are all used and named in ``fmt``.
      kwargs: what the named fields stand for.

    Under transformations it sees the values of the original function, as :func:`jax.debug.callback` describes.
    NumPy's print options apply as they were set where ``print`` was called.

    Raises:
      TypeError: ``fmt`` is not a string.
      ValueError: arguments that no field refers to.
      KeyError, IndexError: fields without an argument.

    >>> import jax
    >>> jax.debug.print("x = {x}, y = {}", 2, x=1.5)
    x = 1.5, y = 2
    """
    if not isinstance(fmt, str):
        raise TypeError(f"debug.print takes a format string first, got {type(fmt).__name__}: write "
                        'jax.debug.print("{}", x)')
    if not skip_format_check:
        _check_fields(fmt, args, kwargs)
    options = tuple((k, v) for k, v in np.get_printoptions().items() if k in _PRINT_OPTIONS)
    watch(_Printer(fmt, options, bool(_use_logging)), args, kwargs, ordered, partitioned)


class _Printer(NamedTuple):
    """Formats its arguments and prints them, under the print options of NumPy that held where the program was made."""

    fmt: str
    options: tuple[tuple[str, Any], ...]
    to_log: bool

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        with np.printoptions(**dict(self.options)):
            text = self.fmt.format(*args, **kwargs)
        if self.to_log:
            logger.info(text)
        else:
            print(text)

    @property
    def __name__(self) -> str:
        return f"debug.print({self.fmt!r})"


class _FieldChecker(string.Formatter):
    """Formats to nothing, and reports arguments that no field uses."""

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [f"number {i}" for i in range(len(args)) if i not in used_args]
        unused += [repr(k) for k in kwargs if k not in used_args]
        if unused:
            raise ValueError(f"debug.print: the format string does not use the argument(s) {', '.join(unused)}. Refer to "
                             "positional arguments by {} and to others by {name}; skip_format_check=True allows formats "
                             "that do not use all.")

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
        first = field_name.split(".")[0].split("[")[0]
        key: Any = int(first) if first.isdigit() else first
        self.get_value(key, args, kwargs)
        return None, key

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return value

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""


def _check_fields(fmt: str, args: Any, kwargs: Any) -> None:
    try:
        _FieldChecker().vformat(fmt, args, kwargs)
    except KeyError as error:
        given = ", ".join(kwargs) or "none"
        raise KeyError(f"debug.print: the format string has a field {error.args[0]!r}, and there is no argument of that "
                       f"name (given: {given})") from None
    except IndexError:
        raise IndexError(f"debug.print: the format string {fmt!r} has fields for more than the {len(args)} positional "
                         "argument(s)") from None


__all__ = ["debug_print"]
