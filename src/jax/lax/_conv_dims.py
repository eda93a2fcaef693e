"""Which dimension of a convolution's operands means what, and the shapes of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jax._language import dims
from jax.lax._windows import canonical_pairs, padtype_to_pads, positive, windows_along

Spec = tuple[int, ...]


class ConvDimensionNumbers(NamedTuple):
    """Where a convolution's operands and result have their dimensions.

    Attributes:
      lhs_spec, out_spec: positions of (batch, feature, spatial ...).
      rhs_spec: positions of (output feature, input feature, spatial ...).
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


# The forms in which a convolution takes its ``dimension_numbers``.
ConvGeneralDilatedDimensionNumbers = None | ConvDimensionNumbers | tuple[str, str, str]


def conv_dimension_numbers(lhs_shape: Sequence[int], rhs_shape: Sequence[int],
                           dimension_numbers: Any) -> ConvDimensionNumbers:
    """Dimension numbers from one of the ways to write them.

    Args:
      lhs_shape, rhs_shape: shapes of the operands; only their ranks matter.
      dimension_numbers: ``None`` for (batch, feature, spatial ...) with kernels (out, in, spatial ...); three strings
        like ``("NHWC", "HWIO", "NHWC")`` with ``N`` batch, ``C`` feature, ``O`` and ``I`` the kernel's output and input
        features, and any other letters for the spatial dimensions; or a :class:`ConvDimensionNumbers`.

    Raises:
      TypeError: when ranks or letters do not fit.
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    rank = len(lhs_shape)
    if rank != len(rhs_shape):
        raise TypeError(f"convolution: lhs of shape {tuple(lhs_shape)} and rhs of shape {tuple(rhs_shape)} must have "
                        "the same rank")
    if dimension_numbers is None:
        iota = tuple(range(rank))
        return ConvDimensionNumbers(iota, iota, iota)
    if not isinstance(dimension_numbers, (list, tuple)):
        raise TypeError("convolution: dimension_numbers must be None, three strings or a ConvDimensionNumbers, got "
                        f"{dimension_numbers!r}")
    if len(dimension_numbers) != 3:
        raise TypeError(f"convolution: dimension_numbers must be three strings (lhs, rhs, out), got "
                        f"{len(dimension_numbers)} entries: {dimension_numbers!r}")
    if not all(isinstance(s, str) for s in dimension_numbers):
        raise TypeError(f"convolution: dimension_numbers must be strings, got {dimension_numbers!r}")
    for name, text in zip(("lhs", "rhs", "out"), dimension_numbers, strict=True):
        if len(text) != rank:
            raise TypeError(f"convolution: the {name} entry of dimension_numbers, {text!r}, must have one letter for "
                            f"each of the {rank} dimensions of lhs {tuple(lhs_shape)} and rhs {tuple(rhs_shape)}")
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[Spec, Spec, Spec]:
    """The positions of (batch, feature, spatial ...) or (out, in, spatial ...) in three strings of letters.

    Spatial dimensions are in the order of the kernel's letters.

    Raises:
      TypeError: when letters are missing, repeated, or differ between the strings.
    """
    lhs, rhs, out = dimension_numbers
    for i, (text, pair) in enumerate(((lhs, "NC"), (rhs, "OI"), (out, "NC"))):
        if any(text.count(letter) != 1 for letter in pair):
            raise TypeError(f"convolution: dimension_numbers[{i}] must contain the letters {pair[0]!r} and {pair[1]!r} "
                            f"once each, got {text!r}")
        if len(set(text)) != len(text):
            raise TypeError(f"convolution: dimension_numbers[{i}] repeats a letter: {text!r}")
    spatial = [letter for letter in rhs if letter not in "OI"]
    if {*spatial} != {*lhs} - {*"NC"} or {*spatial} != {*out} - {*"NC"}:
        raise TypeError("convolution: the strings of dimension_numbers must name the same spatial dimensions, got "
                        f"{dimension_numbers!r}")
    lhs_spec, rhs_spec, out_spec = ((text.index(pair[0]), text.index(pair[1]), *map(text.index, spatial))
                                    for text, pair in ((lhs, "NC"), (rhs, "OI"), (out, "NC")))
    return lhs_spec, rhs_spec, out_spec


def permuted(shape: Sequence[Any], spec: Sequence[int]) -> tuple[Any, ...]:
    return tuple([shape[d] for d in spec])


# --- shapes ---------------------------------------------------------------------------------------------------------

def conv_shape_tuple(lhs_shape: Sequence[int], rhs_shape: Sequence[int], strides: Sequence[int],
                     pads: str | Sequence[tuple[int, int]], batch_group_count: int = 1) -> tuple[int, ...]:
    """The shape of a convolution of (batch, feature, spatial ...) with (out, in, spatial ...), dilation included.

    Raises:
      TypeError: when there is not one pair of padding for each spatial dimension.
      ValueError: when negative padding removes more than there is.
    """
    spatial, window = tuple(lhs_shape[2:]), tuple(rhs_shape[2:])
    if isinstance(pads, str):
        pads = padtype_to_pads(spatial, window, strides, pads)
    if len(pads) != len(spatial):
        raise TypeError(f"convolution: padding must have one pair for each of the {len(spatial)} spatial dimensions, "
                        f"got {pads}")
    out = []
    for n, w, stride, pad in zip(spatial, window, strides, pads, strict=True):
        total = n + pad[0] + pad[1]
        if dims.is_static(total) and total < 0:
            raise ValueError(f"convolution: the negative padding {tuple(pads)} removes more than the spatial "
                             f"dimensions {spatial} have")
        out.append(windows_along(n, w, stride, pad))
    batch = lhs_shape[0] if batch_group_count == 1 else lhs_shape[0] // batch_group_count
    return (batch, rhs_shape[0], *out)


def conv_general_shape_tuple(lhs_shape: Sequence[int], rhs_shape: Sequence[int], window_strides: Sequence[int],
                             padding: Any, dimension_numbers: Any) -> tuple[int, ...]:
    """The shape of a convolution without dilation, in the layout of ``dimension_numbers``."""
    spec = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    out = conv_shape_tuple(permuted(lhs_shape, spec.lhs_spec), permuted(rhs_shape, spec.rhs_spec), window_strides,
                           padding)
    return _in_layout(out, spec.out_spec)


def _in_layout(shape: Sequence[Any], spec: Sequence[int]) -> tuple[Any, ...]:
    out: list[Any] = [0] * len(shape)
    for n, d in zip(shape, spec, strict=True):
        out[d] = n
    return tuple(out)


def conv_transpose_shape_tuple(lhs_shape: Sequence[int], rhs_shape: Sequence[int], window_strides: Sequence[int],
                               padding: Any, dimension_numbers: Any) -> tuple[int, ...]:
    """The shape of a transposed convolution, in the layout of ``dimension_numbers``."""
    spec = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    lhs, rhs = permuted(lhs_shape, spec.lhs_spec), permuted(rhs_shape, spec.rhs_spec)
    if isinstance(padding, str):
        padding = [conv_transpose_padding(k, s, padding) for k, s in zip(rhs[2:], window_strides, strict=True)]
    spread = [dims.dilate_dim(n, s) for n, s in zip(lhs[2:], window_strides, strict=True)]
    out = [windows_along(n, k, 1, pad) for n, k, pad in zip(spread, rhs[2:], padding, strict=True)]
    return _in_layout((lhs[0], rhs[0], *out), spec.out_spec)


def conv_transpose_padding(k: Any, s: Any, padding: str) -> tuple[Any, Any]:
    """The padding of an input that is spread out by ``s``, under a kernel of size ``k``.

    ``SAME`` makes the result ``s`` times as long as the input, ``VALID`` as long as the kernel reaches.

    Raises:
      ValueError: for another name.
    """
    kind = padding.upper() if isinstance(padding, str) else padding
    if kind == "SAME":
        total = k + s - 2
        low = k - 1 if s > k - 1 else -(-total // 2)
    elif kind == "VALID":
        total = k + s - 2 + max(k - s, 0)
        low = k - 1
    else:
        raise ValueError(f"conv_transpose: padding must be 'SAME' or 'VALID' or a sequence of pairs, got {padding!r}")
    return low, total - low


# --- the arguments of a convolution ---------------------------------------------------------------------------------

class Window(NamedTuple):
    """Strides, padding and dilations along the spatial dimensions, complete and checked."""

    strides: tuple[Any, ...]
    padding: tuple[tuple[Any, Any], ...]
    lhs_dilation: tuple[Any, ...]
    rhs_dilation: tuple[Any, ...]


def conv_window(op: str, spatial: tuple[Any, ...], kernel: tuple[Any, ...], strides: Any, padding: Any,
                lhs_dilation: Any, rhs_dilation: Any) -> Window:
    rank = len(spatial)
    try:
        strides = positive(op, "window_strides", strides, rank, "spatial dimensions")
        lhs_dilation = positive(op, "lhs_dilation", lhs_dilation, rank, "spatial dimensions", 1)
        rhs_dilation = positive(op, "rhs_dilation", rhs_dilation, rank, "spatial dimensions", 1)
    except TypeError as e:
        raise ValueError(str(e)) from None
    if isinstance(padding, str):
        if any(d != 1 for d in lhs_dilation):
            raise ValueError(f"{op}: with lhs_dilation (a transposed convolution) the padding must be explicit pairs, "
                             f"got {padding!r}; lax.conv_transpose understands 'SAME' and 'VALID'")
        reach = [dims.dilate_dim(k, d) for k, d in zip(kernel, rhs_dilation, strict=True)]
        padding = tuple(padtype_to_pads(spatial, reach, strides, padding))
    else:
        try:
            padding = canonical_pairs(op, padding, rank, "spatial dimensions")
        except (TypeError, ValueError) as e:
            raise ValueError(str(e)) from None
    return Window(strides, padding, lhs_dilation, rhs_dilation)
