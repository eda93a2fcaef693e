"""Sharding rules: which dimensions of operands and results of an operation belong together.

The terms are those of Shardy's ``op_sharding_rule``: a *factor* is a stretch of iteration space; each dimension of an array
is one factor, or a product of several.
"""

from __future__ import annotations

import itertools
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
        alone = {d for m in self._mappings() for d in m if isinstance(d, str) and d != BATCHING}
        joined = {f for m in self._mappings() for d in m if isinstance(d, CompoundFactor) for f in d}
        role_of: dict[str, str] = {}
        for role, name in [(role, name) for role, names in self.special.items() for name in names]:
            if name not in alone and name not in joined:
                raise ValueError(f"the {role} factor {name!r} is in none of the mappings")
            if name in role_of and role_of[name] != role:
                raise ValueError(f"the factor {name!r} is a {role_of[name]} factor and a {role} factor")
            role_of[name] = role
        for name in self.factor_sizes:
            if name not in joined:
                raise ValueError(f"a size is given for {name!r}, which is in no compound factor")
            if name in alone:
                raise ValueError(f"a size is given for {name!r}, which is a whole dimension and has its size")
        for name in sorted(joined - alone):
            if name not in self.factor_sizes:
                raise ValueError(f"the size of {name!r}, which is in compound factors only, is not given: {name}=...")

    def _mappings(self) -> tuple[ArrayMapping, ...]:
        return (*self.operand_mappings, *self.result_mappings)

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
        return _written(self, in_shapes, out_shapes)


def _written(rule: SdyShardingRule, in_shapes: Sequence[tuple[int, ...]], out_shapes: Sequence[tuple[int, ...]]) -> str:
    """The text of the attribute: arrays as lists of factors, the factors' sizes, their roles."""
    for what, mappings, shapes in (("operands", rule.operand_mappings, in_shapes),
                                   ("results", rule.result_mappings, out_shapes)):
        if len(mappings) != len(shapes):
            raise ValueError(f"{rule} is for {len(mappings)} {what}, and there are {len(shapes)}")
    arrays = _without_batching(rule, [*in_shapes, *out_shapes])
    sizes = _sizes(rule, arrays)
    number: dict[str, int] = {}  # factors in the order of their first use
    for d, _ in itertools.chain.from_iterable(arrays):
        for f in _factors(d):
            number.setdefault(f, len(number))

    def names(factors: Sequence[str], between: str = "") -> str:
        return between.join(_letter(number[f]) for f in factors)
    lists = ["[" + ", ".join(names(_factors(d)) for d, _ in dims) + "]" for dims in arrays]
    operands, results = ", ".join(lists[:len(in_shapes)]), ", ".join(lists[len(in_shapes):])
    extents = ", ".join(f"{_letter(k)}={sizes[f]}" for f, k in number.items())
    roles = "".join(f" {role}={{{names(sorted(found, key=number.__getitem__), ', ')}}}"
                    for role, found in rule.special.items() if found)
    return f"#sdy.op_sharding_rule<({operands})->({results}) {{{extents}}}{roles}, custom>"


def _factors(dimension: Any) -> tuple[str, ...]:
    return tuple(dimension) if isinstance(dimension, CompoundFactor) else (dimension,)


def _letter(k: int) -> str:
    """Shardy's name of the factor of a number: i, j, ... z, then z_1, z_2 ..."""
    return chr(ord("i") + k) if k < 18 else f"z_{k - 17}"


def _without_batching(rule: SdyShardingRule, shapes: Sequence[tuple[int, ...]]) -> list[list[tuple[Any, int]]]:
    """For each array its dimensions with their sizes; those that ``...`` stands for have factors of their own."""
    batch: tuple[int, ...] | None = None
    out = []
    for mapping, shape in zip(rule._mappings(), shapes, strict=True):
        batched = mapping[:1] == (BATCHING,)
        own = mapping[1:] if batched else tuple(mapping)
        extra = len(shape) - len(own)
        if extra < 0 or extra and not batched:
            raise ValueError(f"{rule} has {len(own)} factors for an array of shape {shape}")
        if batched and batch not in (None, shape[:extra]):
            raise ValueError(f"{rule}: '...' stands for dimensions {batch} and {shape[:extra]}")
        batch = shape[:extra] if batched else batch
        out.append(list(zip([*(f"_batch{i}" for i in range(extra)), *own], shape, strict=True)))
    return out


def _sizes(rule: SdyShardingRule, arrays: list[list[tuple[Any, int]]]) -> dict[str, int]:
    """The sizes of all factors, which have to agree with each other."""
    sizes = dict(rule.factor_sizes)
    products = []
    for d, n in itertools.chain.from_iterable(arrays):
        if isinstance(d, CompoundFactor):
            products.append((d, n))
        elif sizes.setdefault(d, n) != n:
            raise ValueError(f"{rule}: the factor {d!r} has the sizes {sizes[d]} and {n}")
    for d, n in products:
        if math.prod(sizes[f] for f in d) != n:
            raise ValueError(f"{rule}: a dimension of size {n} is made of the factors {' '.join(d)} of sizes "
                             f"{[sizes[f] for f in d]}")
    return sizes
