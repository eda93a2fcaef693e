"""Sharding rules as text.

The notation is that of ``einsum`` with names of any length, and with products of factors::

    rule      = arrays "->" arrays
    arrays    = array { "," array }
    array     = [ "..." ] { dimension }
    dimension = factor | "(" factor { factor } ")"

Spaces separate factors and mean nothing else. An array without dimensions is a scalar.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from jax.experimental.custom_partitioning._rules import BATCHING, ArrayMapping, CompoundFactor, SdyShardingRule

_MARKS = ("->", BATCHING, ",", "(", ")")
_END = ""


def parse_rule(text: str, special: dict[str, Sequence[str]], sizes: dict[str, int]) -> SdyShardingRule:
    """A rule from text, such as ``"... i k, ... k j -> ... i j"``.

    Args:
      text: the rule.
      special: factors with a role, by the keyword arguments of :class:`SdyShardingRule`.
      sizes: of factors that are found in products only.

    Raises:
      ValueError: the text is something else, or the rule contradicts itself.
    """
    reader = _Reader(text)
    operands = reader.arrays()
    if reader.symbol != "->":
        reader.refuse()
    reader.advance()
    results = reader.arrays()
    if reader.symbol != _END:
        reader.refuse()
    return SdyShardingRule(operands, results, **special, **sizes)


class _Reader:
    """A place in the text, and the symbol there."""

    def __init__(self, text: str) -> None:
        self.text = text
        if text.count("->") != 1:
            raise ValueError(f"the sharding rule {text!r} is not of the form 'operands -> results'")
        self.end = 0
        self.symbol = _END
        self.advance()

    def advance(self) -> str:
        """Goes to the next symbol; returns the one that was here."""
        passed, text = self.symbol, self.text
        at = self.end
        while at < len(text) and text[at].isspace():
            at += 1
        self.symbol = next((mark for mark in _MARKS if text.startswith(mark, at)), _END)
        if not self.symbol and at < len(text):
            stop = at + 1
            if _in_name(text[at]):
                while stop < len(text) and _in_name(text[stop]):
                    stop += 1
            self.symbol = text[at:stop]
        self.end = at + len(self.symbol)
        return passed

    def arrays(self) -> list[ArrayMapping]:
        found = [self.array()]
        while self.symbol == ",":
            self.advance()
            found.append(self.array())
        return found

    def array(self) -> ArrayMapping:
        dimensions: list[Any] = []
        while self.symbol not in (",", "->", _END):
            if self.symbol == BATCHING:
                dimensions.append(self.advance())
            else:
                dimensions.append(self.product() if self.symbol == "(" else self.factor())
        return ArrayMapping(*dimensions)

    def product(self) -> Any:
        opening = self.advance()
        factors = []
        while self.symbol != ")":
            if self.symbol in (",", "->", _END):
                self.refuse(opening)
            factors.append(self.factor())
        self.advance()
        if not factors:
            self.refuse("()")
        return factors[0] if len(factors) == 1 else CompoundFactor(*factors)

    def factor(self) -> str:
        if not (self.symbol[0].isalpha() and all(map(_in_name, self.symbol))):
            self.refuse()
        return self.advance()

    def refuse(self, symbol: str | None = None) -> NoReturn:
        raise ValueError(f"the sharding rule {self.text!r} has {self.symbol if symbol is None else symbol!r} where the name "
                         "of a factor, '...' or a group in parentheses is expected")


def _in_name(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")
