# ruff: noqa: F401, I001
"""``jax.lax``: the operations that programs are made of, with XLA's semantics. An index."""

import importlib as _importlib
from typing import Any as _Any

from jax._ground.structural import (
    broadcast_in_dim_p, convert_element_type_p, reduce_sum_p, transpose_p,
)
from jax._api.placement import device_put_p
from jax._api.sharding_constraints import sharding_constraint_p, with_sharding_constraint
from jax.lax._accuracy import AccuracyMode, Tolerance
from jax.lax._arithmetic import (
    add, add_p, div, div_p, mul, mul_p, mulhi, mulhi_p, neg, neg_p, one_minus_square, one_minus_square_p, rem, rem_p,
    square, square_p, sub, sub_p,
)
from jax.lax._associative_scan import associative_scan
from jax.lax._axis_products import pdot, xeinsum
from jax.lax._bitwise import (
    and_p, bitwise_and, bitwise_not, bitwise_or, bitwise_xor, clz, clz_p, not_p, or_p, population_count,
    population_count_p, shift_left, shift_left_p, shift_right_arithmetic, shift_right_arithmetic_p,
    shift_right_logical, shift_right_logical_p, xor_p,
)
from jax.lax._block_products import (
    RaggedDotDimensionNumbers as RaggedDotDimensionNumbers,
    ragged_dot as ragged_dot,
    ragged_dot_general as ragged_dot_general,
    scaled_dot as scaled_dot,
)
from jax.lax._collectives import (
    all_gather, all_gather_p, all_to_all, all_to_all_p, axis_index, axis_index_p, axis_size, pbroadcast, pcast, pmax,
    pmax_p, pmean, pmin, pmin_p, ppermute, ppermute_p, pshuffle, psum, psum_p, psum_scatter, pswapaxes, pvary,
    pvary_p, reduce_scatter_p,
)
from jax.lax._comparison import (
    eq, eq_p, eq_to_p, ge, ge_p, gt, gt_p, le, le_p, le_to_p, lt, lt_p, lt_to_p, ne, ne_p,
)
from jax.lax._complex import (
    complex, complex_p, conj, conj_p, imag, imag_p, real, real_p,
)
from jax.lax._cond import (
    cond, platform_dependent, platform_index_p, switch,
)
from jax.lax._cond_transforms import cond_p
from jax.lax._conv import conv_general_dilated, conv_general_dilated_p
from jax.lax._conv_dims import (
    ConvDimensionNumbers, ConvGeneralDilatedDimensionNumbers, conv_dimension_numbers, conv_general_permutations,
    conv_general_shape_tuple, conv_shape_tuple, conv_transpose_shape_tuple,
)
from jax.lax._conv_variants import (
    conv, conv_general_dilated_local, conv_general_dilated_patches, conv_transpose, conv_with_general_padding,
)
from jax.lax._conversion import (
    bitcast_convert_type, bitcast_convert_type_p, convert_element_type, dtype, reduce_precision, reduce_precision_p,
)
from jax.lax._creation import (
    broadcasted_iota, empty, full, full_like, iota, iota_p, zeros_like_array,
)
from jax.lax._cumulative import (
    cumlogsumexp, cumlogsumexp_p, cummax, cummax_p, cummin, cummin_p, cumprod, cumprod_p, cumsum, cumsum_p,
)
from jax.lax._dot import (
    DotDimensionNumbers, batch_matmul, dot, dot_general, dot_general_p,
)
from jax.lax._dynamic_slice import (
    dynamic_index_in_dim, dynamic_slice, dynamic_slice_in_dim, dynamic_slice_p, dynamic_update_index_in_dim,
    dynamic_update_slice, dynamic_update_slice_in_dim, dynamic_update_slice_p, index_take,
)
from jax.lax._exponential import (
    exp, exp2, exp2_p, exp_p, expm1, expm1_p, log, log1p, log1p_p, log2, log2_p, log_p, logistic, logistic_p,
)
from jax.lax._fft import (
    FftType, fft, fft_p,
)
from jax.lax._gather import (
    GatherDimensionNumbers, GatherScatterMode, gather, gather_p,
)
from jax.lax._hints import composite, dce_sink, shape_as_value, stage, stage_p
from jax.lax._incomplete_beta import betainc, regularized_incomplete_beta_p
from jax.lax._incomplete_gamma import (
    igamma, igamma_grad_a, igamma_grad_a_p, igamma_p, igammac, igammac_p, random_gamma_grad, random_gamma_grad_p,
)
from jax.lax._join import (
    concatenate, concatenate_p, split, split_p, stack, stack_p, tile, tile_p, unstack, unstack_p,
)
from jax.lax._magnitude import (
    abs, abs_p, clamp, clamp_p, max, max_p, min, min_p, sign, sign_p,
)
from jax.lax._power import (
    cbrt, cbrt_p, integer_pow, integer_pow_p, pow, pow_p, reciprocal, rsqrt, rsqrt_p, sqrt, sqrt_p,
)
from jax.lax._precision import (
    DotAlgorithm, DotAlgorithmPreset, Precision, PrecisionLike,
)
from jax.lax._ragged_exchange import ragged_all_to_all, ragged_all_to_all_p
from jax.lax._reduce import (
    argmax, argmax_p, argmin, argmin_p, reduce_and, reduce_and_p, reduce_max, reduce_max_p, reduce_min, reduce_min_p,
    reduce_or, reduce_or_p, reduce_prod, reduce_prod_p, reduce_sum, reduce_xor, reduce_xor_p,
)
from jax.lax._reduce_general import reduce, reduce_p
from jax.lax._rng import (
    RandomAlgorithm, rng_bit_generator, rng_bit_generator_p, rng_uniform, rng_uniform_p,
)
from jax.lax._rounding import (
    RoundingMethod, ceil, ceil_p, floor, floor_p, is_finite, is_finite_p, nextafter, nextafter_p, round, round_p,
)
from jax.lax._scan import map, scan, scan_bind
from jax.lax._scan_transforms import scan_p
from jax.lax._scatter import (
    ScatterDimensionNumbers, scatter, scatter_add, scatter_add_p, scatter_apply, scatter_max, scatter_max_p,
    scatter_min, scatter_min_p, scatter_mul, scatter_mul_p, scatter_p, scatter_sub, scatter_sub_p,
)
from jax.lax._select import (
    select, select_n, select_n_p,
)
from jax.lax._shape import (
    broadcast, broadcast_in_dim, broadcast_like, broadcast_shapes, broadcast_to_rank, collapse, copy_p, expand_dims,
    optimization_barrier, optimization_barrier_p, reshape, reshape_p, rev, rev_p, squeeze, squeeze_p, transpose,
)
from jax.lax._slice import (
    index_in_dim, pad, pad_p, slice, slice_in_dim, slice_p,
)
from jax.lax._solves import (
    custom_linear_solve, custom_root, linear_solve_p,
)
from jax.lax._sort import (
    approx_max_k, approx_min_k, approx_top_k_p, sort, sort_key_val, sort_p, top_k, top_k_p,
)
from jax.lax._special import (
    bessel_i0e, bessel_i0e_p, bessel_i1e, bessel_i1e_p, digamma, digamma_p, erf, erf_inv, erf_inv_p, erf_p, erfc,
    erfc_p, lgamma, lgamma_p, polygamma, polygamma_p, zeta, zeta_p,
)
from jax.lax._stop_gradient import stop_gradient, stop_gradient_p
from jax.lax._tokens import (
    after_all, after_all_p, create_token, create_token_p, infeed, infeed_p, outfeed, outfeed_p, precv, psend,
)
from jax.lax._trigonometric import (
    acos, acos_p, acosh, acosh_p, asin, asin_p, asinh, asinh_p, atan, atan2, atan2_p, atan_p, atanh, atanh_p, cos,
    cos_p, cosh, cosh_p, sin, sin_p, sinh, sinh_p, tan, tan_p, tanh, tanh_p,
)
from jax.lax._while import fori_loop, while_loop
from jax.lax import _conv_cpu as _conv_cpu
from jax.lax import _trigonometric_cpu as _trigonometric_cpu
from jax.lax import _value_checks as _value_checks
from jax.lax._while_transforms import while_p
from jax.lax._window import (
    reduce_window, reduce_window_max_p, reduce_window_min_p, reduce_window_p, reduce_window_shape_tuple,
    reduce_window_sum_p,
)
from jax.lax._window_select import select_and_gather_add_p, select_and_scatter_add_p
from jax.lax._window_select import (
    select_and_scatter_p as select_and_scatter_p,
)
from jax.lax._windows import padtype_to_pads


def __getattr__(name: str) -> _Any:
    if name == "linalg":  # few programs factor matrices
        return _importlib.import_module("jax.lax.linalg")
    raise AttributeError(f"module 'jax.lax' has no attribute {name!r}")
