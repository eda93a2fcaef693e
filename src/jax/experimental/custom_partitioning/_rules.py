"""Sharding rules: which dimensions of operands and results of an operation belong together."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

BATCHING = "..."  # a first element that stands for any number of leading dimensions
_FACTOR = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def _check_factor(name: Any) -> None:
    if not isinstance(name, str) or not _FACTOR.fullmatch(name):
        raise ValueError(f"a factor is a name, a letter with letters, digits and underscores behind it; got {name!r}")


class CompoundFactor(tuple[str, ...]):
    """A dimension that is made of two or more factors, the slowest first.

    >>> from jax.experimental.custom_partitioning import CompoundFactor
    >>> len(CompoundFactor("heads", "depth"))
    2
    """

    __slots__ = ()

    def __new__(cls, *factors: str) -> CompoundFactor:
        if len(factors) < 2:
            raise ValueError(f"a CompoundFactor is made of two or more factors, got {factors}")
        for f in factors:
            _check_factor(f)
        return super().__new__(cls, factors)


class ArrayMapping(tuple[Any, ...]):
    """The factors of the dimensions of one operand or result: names, and :class:`CompoundFactor`. ``BATCHING`` may come
    first.

    >>> from jax.experimental.custom_partitioning import ArrayMapping, CompoundFactor
    >>> len(ArrayMapping("batch", CompoundFactor("heads", "depth")))
    2
    """

    __slots__ = ()

    def __new__(cls, *dim_mappings: Any) -> ArrayMapping:
        for i, d in enumerate(dim_mappings):
            if d == BATCHING and not isinstance(d, CompoundFactor):
                if i:
                    raise ValueError(f"'...' stands for leading dimensions and comes first, got {dim_mappings}")
            elif not isinstance(d, CompoundFactor):
                _check_factor(d)
        return super().__new__(cls, dim_mappings)


class SdyShardingRule:
    """How an operation may be split along the dimensions of its operands and results.

    Dimensions with the same factor are split alike. A factor needs no other mention if it is on both sides.

    Args:
      operand_mappings, result_mappings: an :class:`ArrayMapping` (or a tuple) for each operand and result.
      reduction_factors: factors of operands alone; results of parts along them are added up.
      need_replication_factors: factors along which the operation cannot be split.
      permutation_factors: factors along which parts have to be exchanged.
      **factor_sizes: the sizes of factors that are found in compound factors only.

    Raises:
      ValueError: factors, or sizes of factors, that are not in the mappings, that have two roles, or whose size is not
      known.

    >>> from jax.experimental.custom_partitioning import SdyShardingRule
    >>> SdyShardingRule((("i", "k"), ("k", "j")), (("i", "j"),), reduction_factors=("k",))
    SdyShardingRule('i k, k j -> i j')
    """

    __slots__ = ("operand_mappings", "result_mappings", "special", "factor_sizes")

    def __init__(self, operand_mappings: Sequence[Any], result_mappings: Sequence[Any], *,
                 reduction_factors: Sequence[str] = (), need_replication_factors: Sequence[str] = (),
                 permutation_factors: Sequence[str] = (), **factor_sizes: int) -> None:
        self.operand_mappings = tuple(m if isinstance(m, ArrayMapping) else ArrayMapping(*m) for m in operand_mappings)
        self.result_mappings = tuple(m if isinstance(m, ArrayMapping) else ArrayMapping(*m) for m in result_mappings)
        self.special = {"reduction": tuple(reduction_factors), "need_replication": tuple(need_replication_factors),
                        "permutation": tuple(permutation_factors)}
        self.factor_sizes = dict(factor_sizes)
        self._check()

    def _check(self) -> None:
        whole, parts = set(), set()
        for mapping in (*self.operand_mappings, *self.result_mappings):
            for d in mapping:
                if isinstance(d, CompoundFactor):
                    parts.update(d)
                elif d != BATCHING:
                    whole.add(d)
        roles: dict[str, str] = {}
        for role, names in self.special.items():
            for name in names:
                if name not in whole | parts:
                    raise ValueError(f"the {role} factor {name!r} is in none of the mappings")
                if roles.setdefault(name, role) != role:
                    raise ValueError(f"the factor {name!r} is a {roles[name]} factor and a {role} factor")
        for name in self.factor_sizes:
            if name not in parts:
                raise ValueError(f"a size is given for {name!r}, which is in no compound factor")
            if name in whole:
                raise ValueError(f"a size is given for {name!r}, which is a whole dimension and has its size")
        unknown = sorted(parts - whole - set(self.factor_sizes))
        if unknown:
            raise ValueError(f"the size of {unknown[0]!r}, which is in compound factors only, is not given: "
                             f"{unknown[0]}=...")

    def __repr__(self) -> str:
        def text(mappings: Sequence[ArrayMapping]) -> str:
            return ", ".join(" ".join(f"({' '.join(d)})" if isinstance(d, CompoundFactor) else d for d in m)
                             for m in mappings)
        return f"SdyShardingRule('{text(self.operand_mappings)} -> {text(self.result_mappings)}')"

    def _key(self) -> tuple[Any, ...]:
        return (self.operand_mappings, self.result_mappings, tuple(self.special.items()),
                tuple(sorted(self.factor_sizes.items())))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SdyShardingRule) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def attribute(self, in_shapes: Sequence[tuple[int, ...]], out_shapes: Sequence[tuple[int, ...]]) -> str:
        """The rule for these shapes, in the text of Shardy's attribute.

        Raises:
          ValueError: the rule does not fit the shapes.
        """
        return _Text(self).write(in_shapes, out_shapes)


class _Text:
    """Writes the attribute: factors become letters, with their sizes."""

    def __init__(self, rule: SdyShardingRule) -> None:
        self.rule = rule
        self.sizes: dict[str, int] = dict(rule.factor_sizes)
        self.letters: dict[str, str] = {}
        self.batch: tuple[int, ...] | None = None

    def write(self, in_shapes: Sequence[tuple[int, ...]], out_shapes: Sequence[tuple[int, ...]]) -> str:
        rule = self.rule
        for what, mappings, shapes in (("operands", rule.operand_mappings, in_shapes),
                                       ("results", rule.result_mappings, out_shapes)):
            if len(mappings) != len(shapes):
                raise ValueError(f"{rule} is for {len(mappings)} {what}, and there are {len(shapes)}")
        pairs = [*zip(rule.operand_mappings, in_shapes, strict=True), *zip(rule.result_mappings, out_shapes, strict=True)]
        expanded = [self._expand(m, s) for m, s in pairs]
        for dims, (_, shape) in zip(expanded, pairs, strict=True):
            for d, n in zip(dims, shape, strict=True):
                if not isinstance(d, CompoundFactor) and self.sizes.setdefault(d, n) != n:
                    raise ValueError(f"{rule}: the factor {d!r} has the sizes {self.sizes[d]} and {n}")
        for dims, (_, shape) in zip(expanded, pairs, strict=True):
            for d, n in zip(dims, shape, strict=True):
                if isinstance(d, CompoundFactor) and math.prod(self.sizes[f] for f in d) != n:
                    raise ValueError(f"{rule}: a dimension of size {n} is made of the factors {' '.join(d)} of sizes "
                                     f"{[self.sizes[f] for f in d]}")
        texts = ["[" + ", ".join(self._dim(d) for d in dims) + "]" for dims in expanded]
        n = len(in_shapes)
        sizes = ", ".join(f"{self.letters[f]}={self.sizes[f]}" for f in self.letters)
        special = "".join(f" {role}={{{', '.join(sorted(self.letters[f] for f in names))}}}"
                          for role, names in rule.special.items() if names)
        return f"#sdy.op_sharding_rule<({', '.join(texts[:n])})->({', '.join(texts[n:])}) {{{sizes}}}{special}, custom>"

    def _expand(self, mapping: ArrayMapping, shape: tuple[int, ...]) -> list[Any]:
        if not mapping or mapping[0] != BATCHING or isinstance(mapping[0], CompoundFactor):
            if len(mapping) != len(shape):
                raise ValueError(f"{self.rule} has {len(mapping)} factors for an array of shape {shape}")
            return list(mapping)
        rank = len(shape) - (len(mapping) - 1)
        if rank < 0:
            raise ValueError(f"{self.rule} has {len(mapping) - 1} factors for an array of shape {shape}")
        batch = shape[:rank]
        if self.batch is None:
            self.batch = batch
        elif self.batch != batch:
            raise ValueError(f"{self.rule}: '...' stands for dimensions {self.batch} and {batch}")
        return [*(f"_batch{i}" for i in range(rank)), *mapping[1:]]

    def _dim(self, d: Any) -> str:
        return "".join(self._letter(f) for f in (d if isinstance(d, CompoundFactor) else (d,)))

    def _letter(self, factor: str) -> str:
        if factor not in self.letters:
            k = len(self.letters)
            self.letters[factor] = chr(ord("i") + k) if k < 18 else f"z_{k - 17}"
        return self.letters[factor]


def parse_rule(text: str, special: dict[str, Sequence[str]], sizes: dict[str, int]) -> SdyShardingRule:
    """A rule from text, ``"batch i k, k j -> batch i j"``: dimensions apart by spaces, compound factors in parentheses.

    Raises:
      ValueError: the text is something else.
    """
    sides = text.split("->")
    if len(sides) != 2:
        raise ValueError(f"the sharding rule {text!r} is not of the form 'operands -> results'")
    operands, results = ([_parse_mapping(m, text) for m in side.split(",")] for side in sides)
    return SdyShardingRule(operands, results, **special, **sizes)


def _parse_mapping(part: str, text: str) -> ArrayMapping:
    tokens = re.findall(r"\.\.\.|[()]|[A-Za-z][A-Za-z0-9_]*|\S", part)
    dims: list[Any] = []
    group: list[str] | None = None
    for token in tokens:
        if token == "(" and group is None:
            group = []
        elif token == ")" and group is not None:
            dims.append(CompoundFactor(*group) if len(group) > 1 else group[0] if group else _bad(text, "()"))
            group = None
        elif token == BATCHING and group is None:
            dims.append(BATCHING)
        elif _FACTOR.fullmatch(token):
            (dims if group is None else group).append(token)
        else:
            _bad(text, token)
    if group is not None:
        _bad(text, "(")
    return ArrayMapping(*dims)


def _bad(text: str, token: str) -> Any:
    raise ValueError(f"the sharding rule {text!r} has {token!r} where the name of a factor, '...' or a group in parentheses "
                     "is expected")
