"""``jax.lax``: the operations that programs are made of, with XLA's semantics. An index; one line for each name."""

import importlib as _importlib
from typing import Any as _Any

from jax._ground.structural import (
    broadcast_in_dim_p as broadcast_in_dim_p,
)
from jax._ground.structural import (
    convert_element_type_p as convert_element_type_p,
)
from jax._ground.structural import (
    reduce_sum_p as reduce_sum_p,
)
from jax._ground.structural import (
    transpose_p as transpose_p,
)
from jax.lax._accuracy import AccuracyMode as AccuracyMode
from jax.lax._accuracy import Tolerance as Tolerance
from jax.lax._arithmetic import (
    add as add,
)
from jax.lax._arithmetic import (
    add_p as add_p,
)
from jax.lax._arithmetic import (
    div as div,
)
from jax.lax._arithmetic import (
    div_p as div_p,
)
from jax.lax._arithmetic import (
    mul as mul,
)
from jax.lax._arithmetic import (
    mul_p as mul_p,
)
from jax.lax._arithmetic import (
    mulhi as mulhi,
)
from jax.lax._arithmetic import (
    mulhi_p as mulhi_p,
)
from jax.lax._arithmetic import (
    neg as neg,
)
from jax.lax._arithmetic import (
    neg_p as neg_p,
)
from jax.lax._arithmetic import (
    one_minus_square as one_minus_square,
)
from jax.lax._arithmetic import (
    one_minus_square_p as one_minus_square_p,
)
from jax.lax._arithmetic import (
    rem as rem,
)
from jax.lax._arithmetic import (
    rem_p as rem_p,
)
from jax.lax._arithmetic import (
    square as square,
)
from jax.lax._arithmetic import (
    square_p as square_p,
)
from jax.lax._arithmetic import (
    sub as sub,
)
from jax.lax._arithmetic import (
    sub_p as sub_p,
)
from jax.lax._associative_scan import associative_scan as associative_scan
from jax.lax._bitwise import (
    and_p as and_p,
)
from jax.lax._bitwise import (
    bitwise_and as bitwise_and,
)
from jax.lax._bitwise import (
    bitwise_not as bitwise_not,
)
from jax.lax._bitwise import (
    bitwise_or as bitwise_or,
)
from jax.lax._bitwise import (
    bitwise_xor as bitwise_xor,
)
from jax.lax._bitwise import (
    clz as clz,
)
from jax.lax._bitwise import (
    clz_p as clz_p,
)
from jax.lax._bitwise import (
    not_p as not_p,
)
from jax.lax._bitwise import (
    or_p as or_p,
)
from jax.lax._bitwise import (
    population_count as population_count,
)
from jax.lax._bitwise import (
    population_count_p as population_count_p,
)
from jax.lax._bitwise import (
    shift_left as shift_left,
)
from jax.lax._bitwise import (
    shift_left_p as shift_left_p,
)
from jax.lax._bitwise import (
    shift_right_arithmetic as shift_right_arithmetic,
)
from jax.lax._bitwise import (
    shift_right_arithmetic_p as shift_right_arithmetic_p,
)
from jax.lax._bitwise import (
    shift_right_logical as shift_right_logical,
)
from jax.lax._bitwise import (
    shift_right_logical_p as shift_right_logical_p,
)
from jax.lax._bitwise import (
    xor_p as xor_p,
)
from jax.lax._collectives import (
    all_gather as all_gather,
)
from jax.lax._collectives import (
    all_gather_p as all_gather_p,
)
from jax.lax._collectives import (
    all_to_all as all_to_all,
)
from jax.lax._collectives import (
    all_to_all_p as all_to_all_p,
)
from jax.lax._collectives import (
    axis_index as axis_index,
)
from jax.lax._collectives import (
    axis_index_p as axis_index_p,
)
from jax.lax._collectives import (
    axis_size as axis_size,
)
from jax.lax._collectives import (
    pbroadcast as pbroadcast,
)
from jax.lax._collectives import (
    pcast as pcast,
)
from jax.lax._collectives import (
    pmax as pmax,
)
from jax.lax._collectives import (
    pmax_p as pmax_p,
)
from jax.lax._collectives import (
    pmean as pmean,
)
from jax.lax._collectives import (
    pmin as pmin,
)
from jax.lax._collectives import (
    pmin_p as pmin_p,
)
from jax.lax._collectives import (
    ppermute as ppermute,
)
from jax.lax._collectives import (
    ppermute_p as ppermute_p,
)
from jax.lax._collectives import (
    pshuffle as pshuffle,
)
from jax.lax._collectives import (
    psum as psum,
)
from jax.lax._collectives import (
    psum_p as psum_p,
)
from jax.lax._collectives import (
    psum_scatter as psum_scatter,
)
from jax.lax._collectives import (
    pswapaxes as pswapaxes,
)
from jax.lax._collectives import (
    pvary as pvary,
)
from jax.lax._collectives import (
    reduce_scatter_p as reduce_scatter_p,
)
from jax.lax._comparison import (
    eq as eq,
)
from jax.lax._comparison import (
    eq_p as eq_p,
)
from jax.lax._comparison import (
    eq_to_p as eq_to_p,
)
from jax.lax._comparison import (
    ge as ge,
)
from jax.lax._comparison import (
    ge_p as ge_p,
)
from jax.lax._comparison import (
    gt as gt,
)
from jax.lax._comparison import (
    gt_p as gt_p,
)
from jax.lax._comparison import (
    le as le,
)
from jax.lax._comparison import (
    le_p as le_p,
)
from jax.lax._comparison import (
    le_to_p as le_to_p,
)
from jax.lax._comparison import (
    lt as lt,
)
from jax.lax._comparison import (
    lt_p as lt_p,
)
from jax.lax._comparison import (
    lt_to_p as lt_to_p,
)
from jax.lax._comparison import (
    ne as ne,
)
from jax.lax._comparison import (
    ne_p as ne_p,
)
from jax.lax._complex import (
    complex as complex,
)
from jax.lax._complex import (
    complex_p as complex_p,
)
from jax.lax._complex import (
    conj as conj,
)
from jax.lax._complex import (
    conj_p as conj_p,
)
from jax.lax._complex import (
    imag as imag,
)
from jax.lax._complex import (
    imag_p as imag_p,
)
from jax.lax._complex import (
    real as real,
)
from jax.lax._complex import (
    real_p as real_p,
)
from jax.lax._cond import (
    cond as cond,
)
from jax.lax._cond import (
    platform_dependent as platform_dependent,
)
from jax.lax._cond import (
    platform_index_p as platform_index_p,
)
from jax.lax._cond import (
    switch as switch,
)
from jax.lax._cond_transforms import cond_p as cond_p
from jax.lax._conv import conv_general_dilated as conv_general_dilated
from jax.lax._conv import conv_general_dilated_p as conv_general_dilated_p
from jax.lax._conv_dims import (
    ConvDimensionNumbers as ConvDimensionNumbers,
)
from jax.lax._conv_dims import (
    ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers,
)
from jax.lax._conv_dims import (
    conv_dimension_numbers as conv_dimension_numbers,
)
from jax.lax._conv_dims import (
    conv_general_permutations as conv_general_permutations,
)
from jax.lax._conv_dims import (
    conv_general_shape_tuple as conv_general_shape_tuple,
)
from jax.lax._conv_dims import (
    conv_shape_tuple as conv_shape_tuple,
)
from jax.lax._conv_dims import (
    conv_transpose_shape_tuple as conv_transpose_shape_tuple,
)
from jax.lax._conv_variants import (
    conv as conv,
)
from jax.lax._conv_variants import (
    conv_general_dilated_local as conv_general_dilated_local,
)
from jax.lax._conv_variants import (
    conv_general_dilated_patches as conv_general_dilated_patches,
)
from jax.lax._conv_variants import (
    conv_transpose as conv_transpose,
)
from jax.lax._conv_variants import (
    conv_with_general_padding as conv_with_general_padding,
)
from jax.lax._conversion import (
    bitcast_convert_type as bitcast_convert_type,
)
from jax.lax._conversion import (
    bitcast_convert_type_p as bitcast_convert_type_p,
)
from jax.lax._conversion import (
    convert_element_type as convert_element_type,
)
from jax.lax._conversion import (
    dtype as dtype,
)
from jax.lax._conversion import (
    reduce_precision as reduce_precision,
)
from jax.lax._conversion import (
    reduce_precision_p as reduce_precision_p,
)
from jax.lax._creation import (
    broadcasted_iota as broadcasted_iota,
)
from jax.lax._creation import (
    empty as empty,
)
from jax.lax._creation import (
    full as full,
)
from jax.lax._creation import (
    full_like as full_like,
)
from jax.lax._creation import (
    iota as iota,
)
from jax.lax._creation import (
    iota_p as iota_p,
)
from jax.lax._creation import (
    zeros_like_array as zeros_like_array,
)
from jax.lax._cumulative import (
    cumlogsumexp as cumlogsumexp,
)
from jax.lax._cumulative import (
    cumlogsumexp_p as cumlogsumexp_p,
)
from jax.lax._cumulative import (
    cummax as cummax,
)
from jax.lax._cumulative import (
    cummax_p as cummax_p,
)
from jax.lax._cumulative import (
    cummin as cummin,
)
from jax.lax._cumulative import (
    cummin_p as cummin_p,
)
from jax.lax._cumulative import (
    cumprod as cumprod,
)
from jax.lax._cumulative import (
    cumprod_p as cumprod_p,
)
from jax.lax._cumulative import (
    cumsum as cumsum,
)
from jax.lax._cumulative import (
    cumsum_p as cumsum_p,
)
from jax.lax._dot import (
    DotDimensionNumbers as DotDimensionNumbers,
)
from jax.lax._dot import (
    batch_matmul as batch_matmul,
)
from jax.lax._dot import (
    dot as dot,
)
from jax.lax._dot import (
    dot_general as dot_general,
)
from jax.lax._dot import (
    dot_general_p as dot_general_p,
)
from jax.lax._dynamic_slice import (
    dynamic_index_in_dim as dynamic_index_in_dim,
)
from jax.lax._dynamic_slice import (
    dynamic_slice as dynamic_slice,
)
from jax.lax._dynamic_slice import (
    dynamic_slice_in_dim as dynamic_slice_in_dim,
)
from jax.lax._dynamic_slice import (
    dynamic_slice_p as dynamic_slice_p,
)
from jax.lax._dynamic_slice import (
    dynamic_update_index_in_dim as dynamic_update_index_in_dim,
)
from jax.lax._dynamic_slice import (
    dynamic_update_slice as dynamic_update_slice,
)
from jax.lax._dynamic_slice import (
    dynamic_update_slice_in_dim as dynamic_update_slice_in_dim,
)
from jax.lax._dynamic_slice import (
    dynamic_update_slice_p as dynamic_update_slice_p,
)
from jax.lax._dynamic_slice import (
    index_take as index_take,
)
from jax.lax._exponential import (
    exp as exp,
)
from jax.lax._exponential import (
    exp2 as exp2,
)
from jax.lax._exponential import (
    exp2_p as exp2_p,
)
from jax.lax._exponential import (
    exp_p as exp_p,
)
from jax.lax._exponential import (
    expm1 as expm1,
)
from jax.lax._exponential import (
    expm1_p as expm1_p,
)
from jax.lax._exponential import (
    log as log,
)
from jax.lax._exponential import (
    log1p as log1p,
)
from jax.lax._exponential import (
    log1p_p as log1p_p,
)
from jax.lax._exponential import (
    log2 as log2,
)
from jax.lax._exponential import (
    log2_p as log2_p,
)
from jax.lax._exponential import (
    log_p as log_p,
)
from jax.lax._exponential import (
    logistic as logistic,
)
from jax.lax._exponential import (
    logistic_p as logistic_p,
)
from jax.lax._fft import (
    FftType as FftType,
)
from jax.lax._fft import (
    fft as fft,
)
from jax.lax._fft import (
    fft_p as fft_p,
)
from jax.lax._gather import (
    GatherDimensionNumbers as GatherDimensionNumbers,
)
from jax.lax._gather import (
    GatherScatterMode as GatherScatterMode,
)
from jax.lax._gather import (
    gather as gather,
)
from jax.lax._gather import (
    gather_p as gather_p,
)
from jax.lax._incomplete_beta import betainc as betainc
from jax.lax._incomplete_beta import regularized_incomplete_beta_p as regularized_incomplete_beta_p
from jax.lax._incomplete_gamma import (
    igamma as igamma,
)
from jax.lax._incomplete_gamma import (
    igamma_grad_a as igamma_grad_a,
)
from jax.lax._incomplete_gamma import (
    igamma_grad_a_p as igamma_grad_a_p,
)
from jax.lax._incomplete_gamma import (
    igamma_p as igamma_p,
)
from jax.lax._incomplete_gamma import (
    igammac as igammac,
)
from jax.lax._incomplete_gamma import (
    igammac_p as igammac_p,
)
from jax.lax._incomplete_gamma import (
    random_gamma_grad as random_gamma_grad,
)
from jax.lax._incomplete_gamma import (
    random_gamma_grad_p as random_gamma_grad_p,
)
from jax.lax._join import (
    concatenate as concatenate,
)
from jax.lax._join import (
    concatenate_p as concatenate_p,
)
from jax.lax._join import (
    split as split,
)
from jax.lax._join import (
    split_p as split_p,
)
from jax.lax._join import (
    stack as stack,
)
from jax.lax._join import (
    stack_p as stack_p,
)
from jax.lax._join import (
    tile as tile,
)
from jax.lax._join import (
    tile_p as tile_p,
)
from jax.lax._join import (
    unstack as unstack,
)
from jax.lax._join import (
    unstack_p as unstack_p,
)
from jax.lax._magnitude import (
    abs as abs,
)
from jax.lax._magnitude import (
    abs_p as abs_p,
)
from jax.lax._magnitude import (
    clamp as clamp,
)
from jax.lax._magnitude import (
    clamp_p as clamp_p,
)
from jax.lax._magnitude import (
    max as max,
)
from jax.lax._magnitude import (
    max_p as max_p,
)
from jax.lax._magnitude import (
    min as min,
)
from jax.lax._magnitude import (
    min_p as min_p,
)
from jax.lax._magnitude import (
    sign as sign,
)
from jax.lax._magnitude import (
    sign_p as sign_p,
)
from jax.lax._power import (
    cbrt as cbrt,
)
from jax.lax._power import (
    cbrt_p as cbrt_p,
)
from jax.lax._power import (
    integer_pow as integer_pow,
)
from jax.lax._power import (
    integer_pow_p as integer_pow_p,
)
from jax.lax._power import (
    pow as pow,
)
from jax.lax._power import (
    pow_p as pow_p,
)
from jax.lax._power import (
    reciprocal as reciprocal,
)
from jax.lax._power import (
    rsqrt as rsqrt,
)
from jax.lax._power import (
    rsqrt_p as rsqrt_p,
)
from jax.lax._power import (
    sqrt as sqrt,
)
from jax.lax._power import (
    sqrt_p as sqrt_p,
)
from jax.lax._precision import (
    DotAlgorithm as DotAlgorithm,
)
from jax.lax._precision import (
    DotAlgorithmPreset as DotAlgorithmPreset,
)
from jax.lax._precision import (
    Precision as Precision,
)
from jax.lax._precision import (
    PrecisionLike as PrecisionLike,
)
from jax.lax._reduce import (
    argmax as argmax,
)
from jax.lax._reduce import (
    argmax_p as argmax_p,
)
from jax.lax._reduce import (
    argmin as argmin,
)
from jax.lax._reduce import (
    argmin_p as argmin_p,
)
from jax.lax._reduce import (
    reduce_and as reduce_and,
)
from jax.lax._reduce import (
    reduce_and_p as reduce_and_p,
)
from jax.lax._reduce import (
    reduce_max as reduce_max,
)
from jax.lax._reduce import (
    reduce_max_p as reduce_max_p,
)
from jax.lax._reduce import (
    reduce_min as reduce_min,
)
from jax.lax._reduce import (
    reduce_min_p as reduce_min_p,
)
from jax.lax._reduce import (
    reduce_or as reduce_or,
)
from jax.lax._reduce import (
    reduce_or_p as reduce_or_p,
)
from jax.lax._reduce import (
    reduce_prod as reduce_prod,
)
from jax.lax._reduce import (
    reduce_prod_p as reduce_prod_p,
)
from jax.lax._reduce import (
    reduce_sum as reduce_sum,
)
from jax.lax._reduce import (
    reduce_xor as reduce_xor,
)
from jax.lax._reduce import (
    reduce_xor_p as reduce_xor_p,
)
from jax.lax._reduce_general import reduce as reduce
from jax.lax._reduce_general import reduce_p as reduce_p
from jax.lax._rng import (
    RandomAlgorithm as RandomAlgorithm,
)
from jax.lax._rng import (
    rng_bit_generator as rng_bit_generator,
)
from jax.lax._rng import (
    rng_bit_generator_p as rng_bit_generator_p,
)
from jax.lax._rng import (
    rng_uniform as rng_uniform,
)
from jax.lax._rng import (
    rng_uniform_p as rng_uniform_p,
)
from jax.lax._rounding import (
    RoundingMethod as RoundingMethod,
)
from jax.lax._rounding import (
    ceil as ceil,
)
from jax.lax._rounding import (
    ceil_p as ceil_p,
)
from jax.lax._rounding import (
    floor as floor,
)
from jax.lax._rounding import (
    floor_p as floor_p,
)
from jax.lax._rounding import (
    is_finite as is_finite,
)
from jax.lax._rounding import (
    is_finite_p as is_finite_p,
)
from jax.lax._rounding import (
    nextafter as nextafter,
)
from jax.lax._rounding import (
    nextafter_p as nextafter_p,
)
from jax.lax._rounding import (
    round as round,
)
from jax.lax._rounding import (
    round_p as round_p,
)
from jax.lax._scan import map as map
from jax.lax._scan import scan as scan
from jax.lax._scan_transforms import scan_p as scan_p
from jax.lax._scatter import (
    ScatterDimensionNumbers as ScatterDimensionNumbers,
)
from jax.lax._scatter import (
    scatter as scatter,
)
from jax.lax._scatter import (
    scatter_add as scatter_add,
)
from jax.lax._scatter import (
    scatter_add_p as scatter_add_p,
)
from jax.lax._scatter import (
    scatter_apply as scatter_apply,
)
from jax.lax._scatter import (
    scatter_max as scatter_max,
)
from jax.lax._scatter import (
    scatter_max_p as scatter_max_p,
)
from jax.lax._scatter import (
    scatter_min as scatter_min,
)
from jax.lax._scatter import (
    scatter_min_p as scatter_min_p,
)
from jax.lax._scatter import (
    scatter_mul as scatter_mul,
)
from jax.lax._scatter import (
    scatter_mul_p as scatter_mul_p,
)
from jax.lax._scatter import (
    scatter_p as scatter_p,
)
from jax.lax._scatter import (
    scatter_sub as scatter_sub,
)
from jax.lax._scatter import (
    scatter_sub_p as scatter_sub_p,
)
from jax.lax._select import (
    select as select,
)
from jax.lax._select import (
    select_n as select_n,
)
from jax.lax._select import (
    select_n_p as select_n_p,
)
from jax.lax._shape import (
    broadcast as broadcast,
)
from jax.lax._shape import (
    broadcast_in_dim as broadcast_in_dim,
)
from jax.lax._shape import (
    broadcast_like as broadcast_like,
)
from jax.lax._shape import (
    broadcast_shapes as broadcast_shapes,
)
from jax.lax._shape import (
    broadcast_to_rank as broadcast_to_rank,
)
from jax.lax._shape import (
    collapse as collapse,
)
from jax.lax._shape import (
    copy_p as copy_p,
)
from jax.lax._shape import (
    expand_dims as expand_dims,
)
from jax.lax._shape import (
    optimization_barrier as optimization_barrier,
)
from jax.lax._shape import (
    optimization_barrier_p as optimization_barrier_p,
)
from jax.lax._shape import (
    reshape as reshape,
)
from jax.lax._shape import (
    reshape_p as reshape_p,
)
from jax.lax._shape import (
    rev as rev,
)
from jax.lax._shape import (
    rev_p as rev_p,
)
from jax.lax._shape import (
    squeeze as squeeze,
)
from jax.lax._shape import (
    squeeze_p as squeeze_p,
)
from jax.lax._shape import (
    transpose as transpose,
)
from jax.lax._slice import (
    index_in_dim as index_in_dim,
)
from jax.lax._slice import (
    pad as pad,
)
from jax.lax._slice import (
    pad_p as pad_p,
)
from jax.lax._slice import (
    slice as slice,
)
from jax.lax._slice import (
    slice_in_dim as slice_in_dim,
)
from jax.lax._slice import (
    slice_p as slice_p,
)
from jax.lax._solves import (
    custom_linear_solve as custom_linear_solve,
)
from jax.lax._solves import (
    custom_root as custom_root,
)
from jax.lax._solves import (
    linear_solve_p as linear_solve_p,
)
from jax.lax._sort import (
    approx_max_k as approx_max_k,
)
from jax.lax._sort import (
    approx_min_k as approx_min_k,
)
from jax.lax._sort import (
    approx_top_k_p as approx_top_k_p,
)
from jax.lax._sort import (
    sort as sort,
)
from jax.lax._sort import (
    sort_key_val as sort_key_val,
)
from jax.lax._sort import (
    sort_p as sort_p,
)
from jax.lax._sort import (
    top_k as top_k,
)
from jax.lax._sort import (
    top_k_p as top_k_p,
)
from jax.lax._special import (
    bessel_i0e as bessel_i0e,
)
from jax.lax._special import (
    bessel_i0e_p as bessel_i0e_p,
)
from jax.lax._special import (
    bessel_i1e as bessel_i1e,
)
from jax.lax._special import (
    bessel_i1e_p as bessel_i1e_p,
)
from jax.lax._special import (
    digamma as digamma,
)
from jax.lax._special import (
    digamma_p as digamma_p,
)
from jax.lax._special import (
    erf as erf,
)
from jax.lax._special import (
    erf_inv as erf_inv,
)
from jax.lax._special import (
    erf_inv_p as erf_inv_p,
)
from jax.lax._special import (
    erf_p as erf_p,
)
from jax.lax._special import (
    erfc as erfc,
)
from jax.lax._special import (
    erfc_p as erfc_p,
)
from jax.lax._special import (
    lgamma as lgamma,
)
from jax.lax._special import (
    lgamma_p as lgamma_p,
)
from jax.lax._special import (
    polygamma as polygamma,
)
from jax.lax._special import (
    polygamma_p as polygamma_p,
)
from jax.lax._special import (
    zeta as zeta,
)
from jax.lax._special import (
    zeta_p as zeta_p,
)
from jax.lax._stop_gradient import stop_gradient as stop_gradient
from jax.lax._stop_gradient import stop_gradient_p as stop_gradient_p
from jax.lax._trigonometric import (
    acos as acos,
)
from jax.lax._trigonometric import (
    acos_p as acos_p,
)
from jax.lax._trigonometric import (
    acosh as acosh,
)
from jax.lax._trigonometric import (
    acosh_p as acosh_p,
)
from jax.lax._trigonometric import (
    asin as asin,
)
from jax.lax._trigonometric import (
    asin_p as asin_p,
)
from jax.lax._trigonometric import (
    asinh as asinh,
)
from jax.lax._trigonometric import (
    asinh_p as asinh_p,
)
from jax.lax._trigonometric import (
    atan as atan,
)
from jax.lax._trigonometric import (
    atan2 as atan2,
)
from jax.lax._trigonometric import (
    atan2_p as atan2_p,
)
from jax.lax._trigonometric import (
    atan_p as atan_p,
)
from jax.lax._trigonometric import (
    atanh as atanh,
)
from jax.lax._trigonometric import (
    atanh_p as atanh_p,
)
from jax.lax._trigonometric import (
    cos as cos,
)
from jax.lax._trigonometric import (
    cos_p as cos_p,
)
from jax.lax._trigonometric import (
    cosh as cosh,
)
from jax.lax._trigonometric import (
    cosh_p as cosh_p,
)
from jax.lax._trigonometric import (
    sin as sin,
)
from jax.lax._trigonometric import (
    sin_p as sin_p,
)
from jax.lax._trigonometric import (
    sinh as sinh,
)
from jax.lax._trigonometric import (
    sinh_p as sinh_p,
)
from jax.lax._trigonometric import (
    tan as tan,
)
from jax.lax._trigonometric import (
    tan_p as tan_p,
)
from jax.lax._trigonometric import (
    tanh as tanh,
)
from jax.lax._trigonometric import (
    tanh_p as tanh_p,
)
from jax.lax._while import fori_loop as fori_loop
from jax.lax._while import while_loop as while_loop
from jax.lax._while_transforms import while_p as while_p
from jax.lax._window import (
    reduce_window as reduce_window,
)
from jax.lax._window import (
    reduce_window_max_p as reduce_window_max_p,
)
from jax.lax._window import (
    reduce_window_min_p as reduce_window_min_p,
)
from jax.lax._window import (
    reduce_window_p as reduce_window_p,
)
from jax.lax._window import (
    reduce_window_shape_tuple as reduce_window_shape_tuple,
)
from jax.lax._window import (
    reduce_window_sum_p as reduce_window_sum_p,
)
from jax.lax._window_select import (
    select_and_gather_add_p as select_and_gather_add_p,
)
from jax.lax._window_select import (
    select_and_scatter_add_p as select_and_scatter_add_p,
)
from jax.lax._windows import padtype_to_pads as padtype_to_pads


def __getattr__(name: str) -> _Any:
    if name == "linalg":  # few programs factor matrices
        return _importlib.import_module("jax.lax.linalg")
    raise AttributeError(f"module 'jax.lax' has no attribute {name!r}")
