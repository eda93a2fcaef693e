"""Fourier transforms over trailing dimensions."""

from __future__ import annotations

import enum
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax._ground.families import COMPLEX, FLOAT, category
from jax._ground.structural import broadcast_in_dim, convert, move_axis
from jax._language import dims, rules
from jax._language.avals import ShapedArray, typeof
from jax._language.primitive import Primitive
from jax._language.zeros import Zero
from jax._lowering import hlo
from jax._lowering.rules import register_lowering
from jax.lax._arithmetic import mul
from jax.lax._complex import conj

fft_p = Primitive("fft")
_WITH_FFT = frozenset(np.dtype(t) for t in (np.float32, np.float64, np.complex64, np.complex128))


class FftType(enum.IntEnum):
    """Kinds of Fourier transforms; the R stands for real numbers in the time domain."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Any:
    """The discrete Fourier transform over the last ``len(fft_lengths)`` dimensions (one to three).

    Args:
      x: floats or complex numbers. Real ones are converted for all but ``RFFT``.
      fft_type: an :class:`FftType`, or its name in any case.
      fft_lengths: the sizes of the transformed dimensions in the time domain. Of ``RFFT`` and ``IRFFT`` the last
        dimension has ``length // 2 + 1`` elements in the frequency domain. ``IFFT`` and ``IRFFT`` divide by the product
        of lengths.

    Returns:
      Complex numbers; of ``IRFFT``, floats.

    Raises:
      ValueError: for an unknown type, or sizes that do not fit ``fft_lengths``.
      TypeError: for dtypes other than 32 and 64-bit floats and complex numbers made of them.
    """
    if not isinstance(fft_type, FftType):
        try:
            fft_type = FftType[fft_type.upper()] if isinstance(fft_type, str) else FftType(int(fft_type))
        except (KeyError, ValueError, TypeError):
            raise ValueError(f"fft: the type must be one of {', '.join(FftType.__members__)}, got {fft_type!r}") from None
    lengths = tuple([n if not isinstance(n, np.integer) else operator.index(n) for n in fft_lengths])
    aval = typeof(x)
    if fft_type is FftType.RFFT:
        if category(aval.dtype) == COMPLEX:
            raise TypeError(f"fft: RFFT transforms real numbers, got {aval.dtype}; take the real part, or use FFT")
    elif category(aval.dtype) == FLOAT:
        x = convert(x, _complex(aval.dtype))
    return fft_p.bind(x, fft_type=fft_type, fft_lengths=lengths)


def _complex(dtype: Any) -> Any:
    return np.dtype(np.complex128 if dtype == np.float64 else np.complex64)


def _abstract(x: Any, *, fft_type: FftType, fft_lengths: tuple[Any, ...]) -> Any:
    rank = len(fft_lengths)
    if x.dtype not in _WITH_FFT:
        raise TypeError(f"fft: 32 or 64-bit floats, or complex numbers made of them, are needed, got {x.dtype}; convert "
                        "with x.astype(jnp.float32)")
    if not 1 <= rank <= 3 or len(x.shape) < rank:
        raise ValueError(f"fft: one to three trailing dimensions can be transformed, got fft_lengths={fft_lengths} for "
                         f"an operand of shape {x.shape}")
    *rest, n = fft_lengths
    wanted = (*rest, n // 2 + 1) if fft_type is FftType.IRFFT and not dims.is_zero(n) else fft_lengths
    if not all(dims.dim_eq(a, b) for a, b in zip(x.shape[-rank:], wanted, strict=True)):
        raise ValueError(f"fft: {fft_type.name} with fft_lengths={fft_lengths} needs trailing dimensions {wanted}, got "
                         f"an operand of shape {x.shape}")
    lead = x.shape[:-rank]
    if fft_type is FftType.RFFT:
        return ShapedArray((*lead, *rest, n // 2 + 1), _complex(x.dtype))
    if fft_type is FftType.IRFFT:
        return ShapedArray((*lead, *fft_lengths), np.zeros((), x.dtype).real.dtype)
    return ShapedArray(x.shape, x.dtype)


def _lower(ctx: Any, x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> list[Any]:
    (out,) = ctx.avals_out
    if 0 in out.shape or 0 in fft_lengths:
        return [hlo.full(0, out.shape, out.dtype)]
    return [hlo.fft(x, out, fft_type.name, fft_lengths)]


def _jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    (x,), (t,) = primals, tangents
    out = fft_p.bind(x, **params)
    return out, (Zero.from_primal_value(out) if type(t) is Zero else fft_p.bind(t, **params))


def _transpose(ct: Any, x: Any, *, fft_type: FftType, fft_lengths: tuple[Any, ...]) -> Any:
    """Matrices of complex transforms are symmetric.

    In a real transform the frequencies of the last dimension that stand for their conjugates as well count twice, so
    its transpose is the inverse with other weights.
    """
    if type(ct) is Zero:
        return [Zero(x.aval)]
    if fft_type in (FftType.FFT, FftType.IFFT):
        return [fft_p.bind(ct, fft_type=fft_type, fft_lengths=fft_lengths)]
    if fft_type is FftType.RFFT:
        scale = math.prod(fft_lengths)
        weighted = mul(conj(ct), _frequency_weights(typeof(ct), fft_lengths[-1], scale, scale / 2))
        return [fft_p.bind(weighted, fft_type=FftType.IRFFT, fft_lengths=fft_lengths)]
    scale = 1 / max(math.prod(fft_lengths), 1)
    out = conj(fft_p.bind(ct, fft_type=FftType.RFFT, fft_lengths=fft_lengths))
    return [mul(out, _frequency_weights(typeof(out), fft_lengths[-1], scale, 2 * scale))]


def _frequency_weights(aval: Any, n: int, single: float, double: float) -> Any:
    """``single`` for the frequencies 0 and ``n / 2``, ``double`` for those between."""
    k = np.arange(n // 2 + 1)
    weights = np.where((k == 0) | (2 * k == n), single, double).astype(aval.dtype)
    return broadcast_in_dim(weights, aval.shape, (len(aval.shape) - 1,))


def _batch(args: Any, batch_dims: Any, **params: Any) -> Any:
    return fft_p.bind(move_axis(args[0], batch_dims[0], 0), **params), 0


fft_p.def_abstract_eval(_abstract)
register_lowering(fft_p, _lower)
rules.primitive_jvps[fft_p] = _jvp
rules.primitive_transposes[fft_p] = _transpose
rules.primitive_batchers[fft_p] = _batch
