"""What single operations cost: numbers of operations and bytes, and what devices send to each other."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jax import lax
from jax._ground.structural import add_any_p, reduce_sum_p
from jax._language.avals import physical_aval
from jax._lowering.rules import elementwise_ops, fusible
from jax.lax.linalg._cholesky import cholesky_p
from jax.lax.linalg._eigen import eigh_p
from jax.lax.linalg._lu import lu_p
from jax.lax.linalg._qr import geqrf_p, householder_product_p, qr_p
from jax.lax.linalg._svd import svd_p
from jax.lax.linalg._triangular import triangular_solve_p


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RooflineResult:
    """An estimate of what a program costs on each device; sums of two are those of one program after the other.

    Attributes:
      flops: operations of matrix products and convolutions.
      unfused_flops: operations of everything.
      ici_bytes: for each mesh axis, bytes that a device sends along it.
      ici_latency: for each mesh axis, how many steps of communication follow each other.
      hbm_bytes: bytes that matrix products and convolutions read and write, as if all else were fused into them.
      peak_hbm_bytes: the most memory in use at once, if nothing is fused.
      unfused_hbm_bytes: bytes that all operations read and write, if nothing is fused.
    """

    flops: int = 0
    unfused_flops: int = 0
    ici_bytes: dict[str, int] = dataclasses.field(default_factory=dict)
    ici_latency: dict[str, int] = dataclasses.field(default_factory=dict)
    hbm_bytes: int = 0
    peak_hbm_bytes: int = 0
    unfused_hbm_bytes: int = 0

    @classmethod
    def zeros(cls) -> RooflineResult:
        """What nothing costs."""
        return cls()

    def __add__(self, other: RooflineResult) -> RooflineResult:
        return RooflineResult(
            flops=self.flops + other.flops, unfused_flops=self.unfused_flops + other.unfused_flops,
            ici_bytes=_sums(self.ici_bytes, other.ici_bytes), ici_latency=_sums(self.ici_latency, other.ici_latency),
            hbm_bytes=self.hbm_bytes + other.hbm_bytes, peak_hbm_bytes=max(self.peak_hbm_bytes, other.peak_hbm_bytes),
            unfused_hbm_bytes=self.unfused_hbm_bytes + other.unfused_hbm_bytes)

    def __mul__(self, times: int) -> RooflineResult:
        return dataclasses.replace(
            self, flops=self.flops * times, unfused_flops=self.unfused_flops * times,
            ici_bytes={k: v * times for k, v in self.ici_bytes.items()},
            ici_latency={k: v * times for k, v in self.ici_latency.items()}, hbm_bytes=self.hbm_bytes * times,
            unfused_hbm_bytes=self.unfused_hbm_bytes * times)


def _sums(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
    return {k: a.get(k, 0) + b.get(k, 0) for k in (*a, *(k for k in b if k not in a))}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RooflineShape:
    """Shape and dtype of an operand or result."""

    shape: tuple[int, ...]
    dtype: Any

    @classmethod
    def from_aval(cls, aval: Any) -> RooflineShape:
        """Of an abstract value; keys count as the arrays that carry them, and what is no array as nothing."""
        plain = physical_aval(aval)
        if not hasattr(plain, "shape") or not isinstance(getattr(plain, "dtype", None), np.dtype):
            return cls(shape=(0,), dtype=np.dtype(bool))
        return cls(shape=tuple(plain.shape), dtype=plain.dtype)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """The size in memory."""
        return self.size * self.dtype.itemsize

    @classmethod
    def total_bytes(cls, avals: Sequence[Any]) -> int:
        """The size of several abstract values together."""
        return sum(cls.from_aval(a).bytes for a in avals)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RooflineRuleContext:
    """What a rule is told of the operation.

    Attributes:
      name_stack: the scopes that it is in.
      primitive: the operation.
      avals_in, avals_out: types of operands and results.
      jaxpr_eqn_ctx: the settings under which it was traced.
      mesh: the mesh whose axes it can name, or None.
      pin_lhs_in_vmem, pin_rhs_in_vmem: whether the first, or second, operands of matrix products are in fast memory already.
    """

    name_stack: Any
    primitive: Any
    avals_in: Sequence[Any]
    avals_out: Sequence[Any]
    jaxpr_eqn_ctx: Any
    mesh: Any
    pin_lhs_in_vmem: bool
    pin_rhs_in_vmem: bool


Rule = Callable[..., RooflineResult]
rooflines: dict[Any, Rule] = {}


def register_roofline(prim: Any) -> Callable[[Rule], Rule]:
    """A decorator for the rule of a primitive, ``rule(context, *shapes, **params) -> RooflineResult``.

    ``context`` is a :class:`RooflineRuleContext`, and ``shapes`` are the operands' :class:`RooflineShape`. Parameters are
    those of the equation.

    >>> from jax.experimental import roofline
    >>> from jax.extend.core import Primitive
    >>> @roofline.register_roofline(Primitive("cubes"))
    ... def cubes(context, x, **params):
    ...     return roofline.RooflineResult(unfused_flops=2 * x.size, unfused_hbm_bytes=2 * x.bytes)
    """
    def register(rule: Rule) -> Rule:
        rooflines[prim] = rule
        return rule
    return register


def register_standard_roofline(prim: Any) -> None:
    """Says that a primitive moves memory and computes nothing, as is assumed of unknown ones."""
    rooflines[prim] = standard


def traffic(ctx: RooflineRuleContext) -> int:
    """Bytes read and written."""
    return RooflineShape.total_bytes(ctx.avals_in) + RooflineShape.total_bytes(ctx.avals_out)


def standard(ctx: RooflineRuleContext, *shapes: RooflineShape, **params: Any) -> RooflineResult:
    return RooflineResult(unfused_hbm_bytes=traffic(ctx))


def _results(ctx: RooflineRuleContext) -> int:
    return sum(RooflineShape.from_aval(a).size for a in ctx.avals_out)


def counted(count: Callable[..., float]) -> Rule:
    """The rule of an operation that is no matrix product, from the number of its operations."""
    def rule(ctx: RooflineRuleContext, *shapes: RooflineShape, **params: Any) -> RooflineResult:
        return RooflineResult(unfused_flops=int(count(ctx, *shapes, **params)), unfused_hbm_bytes=traffic(ctx))
    return rule


one_an_element = counted(lambda ctx, *shapes, **params: _results(ctx))


def rule_of(prim: Any) -> Rule:
    """The rule of a primitive."""
    found = rooflines.get(prim)
    if found is None:
        found = one_an_element if prim in elementwise_ops or fusible.get(prim) else standard
    return found


# --- matrix products ------------------------------------------------------------------------------------------------

def _product(ctx: RooflineRuleContext, flops: int) -> RooflineResult:
    lhs, rhs = [RooflineShape.from_aval(a).bytes for a in ctx.avals_in]
    moved = (0 if ctx.pin_lhs_in_vmem else lhs) + (0 if ctx.pin_rhs_in_vmem else rhs)
    moved += RooflineShape.total_bytes(ctx.avals_out)
    return RooflineResult(flops=flops, unfused_flops=flops, hbm_bytes=moved, unfused_hbm_bytes=moved)


@register_roofline(lax.dot_general_p)
def _dot(ctx: RooflineRuleContext, lhs: RooflineShape, rhs: RooflineShape, *, dimension_numbers: Any,
         **params: Any) -> RooflineResult:
    (contracted, _), _ = dimension_numbers
    return _product(ctx, 2 * _results(ctx) * math.prod(lhs.shape[d] for d in contracted))


@register_roofline(lax.conv_general_dilated_p)
def _conv(ctx: RooflineRuleContext, lhs: RooflineShape, rhs: RooflineShape, *, dimension_numbers: Any,
          **params: Any) -> RooflineResult:
    features = rhs.shape[dimension_numbers.rhs_spec[0]]
    return _product(ctx, 2 * _results(ctx) * (rhs.size // max(1, features)))


# --- others ---------------------------------------------------------------------------------------------------------

_reduction = counted(lambda ctx, *shapes, **params: sum(s.size for s in shapes) - _results(ctx))
_scan_along = counted(lambda ctx, x, *rest, **params: x.size)
for _prim in (reduce_sum_p, lax.reduce_max_p, lax.reduce_min_p, lax.reduce_prod_p, lax.reduce_and_p, lax.reduce_or_p,
              lax.reduce_xor_p, lax.argmax_p, lax.argmin_p):
    rooflines[_prim] = _reduction
for _prim in (lax.cumsum_p, lax.cumprod_p, lax.cummax_p, lax.cummin_p, lax.cumlogsumexp_p):
    rooflines[_prim] = _scan_along
rooflines[add_any_p] = one_an_element


@register_roofline(lax.integer_pow_p)
def _power(ctx: RooflineRuleContext, x: RooflineShape, *, y: int, **params: Any) -> RooflineResult:
    n = abs(y)
    products = max(0, n.bit_length() - 1 + bin(n).count("1") - 1) + (y < 0)
    return RooflineResult(unfused_flops=x.size * products, unfused_hbm_bytes=traffic(ctx))


def _log2(n: int) -> float:
    return math.log2(max(2, n))


rooflines[lax.sort_p] = counted(lambda ctx, x, *rest, dimension=-1, **params: x.size * _log2(x.shape[dimension]))
rooflines[lax.fft_p] = counted(lambda ctx, x, *, fft_lengths, **params: 5 * max(x.size, _results(ctx)) * sum(
    map(_log2, fft_lengths)))
# Golub and Van Loan, Matrix Computations: the leading terms.
_cube = {cholesky_p: 1 / 3, lu_p: 2 / 3, eigh_p: 9.0}
for _prim, _factor in _cube.items():
    rooflines[_prim] = counted(lambda ctx, x, *, _factor=_factor, **params: _factor * x.size * x.shape[-1])
for _prim, _factor in ((geqrf_p, 2.0), (householder_product_p, 2.0), (qr_p, 4.0), (svd_p, 14.0)):
    rooflines[_prim] = counted(lambda ctx, x, *rest, _factor=_factor, **params: _factor * x.size * min(x.shape[-2:]))
rooflines[triangular_solve_p] = counted(lambda ctx, a, b, **params: b.size * a.shape[-1])


# --- communication --------------------------------------------------------------------------------------------------

def _axes(ctx: RooflineRuleContext, names: Any) -> list[tuple[str, int]]:
    listed = names if isinstance(names, (tuple, list)) else (names,)
    if ctx.mesh is None:
        return []
    return [(n, ctx.mesh.shape[n]) for n in listed if n in ctx.mesh.shape and ctx.mesh.shape[n] > 1]


def _along(ctx: RooflineRuleContext, names: Any, size: int, sent: Callable[[int, int], float],
           steps: Callable[[int], int]) -> RooflineResult:
    axes = _axes(ctx, names)
    return RooflineResult(ici_bytes={a: int(sent(size, n)) for a, n in axes}, ici_latency={a: steps(n) for a, n in axes},
                          unfused_hbm_bytes=traffic(ctx))


@register_roofline(lax.psum_p)
def _psum(ctx: RooflineRuleContext, *shapes: RooflineShape, axes: Any, **params: Any) -> RooflineResult:
    """A ring: the sums of pieces go round, and then the results."""
    return _along(ctx, axes, sum(s.bytes for s in shapes), lambda b, n: 2 * b * (n - 1) / n, lambda n: 2 * n)


for _prim in (lax.pmax_p, lax.pmin_p):
    rooflines[_prim] = _psum


@register_roofline(lax.reduce_scatter_p)
def _reduce_scatter(ctx: RooflineRuleContext, x: RooflineShape, *, axis_name: Any, **params: Any) -> RooflineResult:
    return _along(ctx, axis_name, x.bytes, lambda b, n: b * (n - 1) / n, lambda n: n)


@register_roofline(lax.all_gather_p)
def _all_gather(ctx: RooflineRuleContext, x: RooflineShape, *, axis_name: Any, **params: Any) -> RooflineResult:
    return _along(ctx, axis_name, x.bytes, lambda b, n: b * (n - 1), lambda n: n)


@register_roofline(lax.all_to_all_p)
def _all_to_all(ctx: RooflineRuleContext, x: RooflineShape, *, axis_name: Any, **params: Any) -> RooflineResult:
    """Pieces go the shorter way round a ring: a quarter of it on average."""
    return _along(ctx, axis_name, x.bytes, lambda b, n: b * n / 4, lambda n: n // 2)


@register_roofline(lax.ppermute_p)
def _ppermute(ctx: RooflineRuleContext, x: RooflineShape, *, axis_name: Any, perm: Any, **params: Any) -> RooflineResult:
    """The longest way, round a ring; as many pieces share a link."""
    def hops(n: int) -> int:
        return max([min(abs(i - j), n - abs(i - j)) for i, j in perm], default=0)
    return _along(ctx, axis_name, x.bytes, lambda b, n: b * hops(n), hops)
