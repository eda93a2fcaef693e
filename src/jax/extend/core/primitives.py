"""The primitives of the library, and primitives that call jaxprs. They load on first use."""

from __future__ import annotations

import importlib
from typing import Any

from jax._api.call_primitives import create_call_primitive as create_call_primitive
from jax._api.call_primitives import eval_jaxpr_transpose as eval_jaxpr_transpose
from jax._api.call_primitives import register_call_primitive_rules as register_call_primitive_rules

_homes = {
    "jax._api.call_primitives": "call_p closed_call_p",
    "jax._api.custom_calls": "custom_jvp_call_p custom_vjp_call_p",
    "jax._api.jit_primitive": "jit_p",
    "jax._api.placement": "device_put_p",
    "jax._api.sharding_constraints": "sharding_constraint_p",
    "jax._ground.references": "get_p swap_p",
    "jax._ground.structural": "broadcast_in_dim_p convert_element_type_p reduce_sum_p transpose_p",
    "jax.ad_checkpoint": "name_p remat_p",
    "jax.custom_derivatives": "custom_jvp_call_jaxpr_p custom_vjp_call_jaxpr_p",
    "jax.lax._arithmetic": "add_p div_p mul_p neg_p one_minus_square_p rem_p square_p sub_p",
    "jax.lax._bitwise": (
        "and_p clz_p not_p or_p population_count_p shift_left_p shift_right_arithmetic_p shift_right_logical_p "
        "xor_p"
    ),
    "jax.lax._collectives": "all_gather_p all_to_all_p axis_index_p pmax_p pmin_p ppermute_p psum_p",
    "jax.lax._comparison": "eq_p eq_to_p ge_p gt_p le_p le_to_p lt_p lt_to_p ne_p",
    "jax.lax._complex": "complex_p conj_p imag_p real_p",
    "jax.lax._cond": "cond_p",
    "jax.lax._conv": "conv_general_dilated_p",
    "jax.lax._conversion": "bitcast_convert_type_p reduce_precision_p",
    "jax.lax._creation": "iota_p",
    "jax.lax._cumulative": "cumlogsumexp_p cummax_p cummin_p cumprod_p cumsum_p",
    "jax.lax._dot": "dot_general_p",
    "jax.lax._dynamic_slice": "dynamic_slice_p dynamic_update_slice_p",
    "jax.lax._exponential": "exp2_p exp_p expm1_p log1p_p log2_p log_p logistic_p",
    "jax.lax._fft": "fft_p",
    "jax.lax._fills": "empty2_p zeros_like_p",
    "jax.lax._gather": "gather_p",
    "jax.lax._incomplete_beta": "regularized_incomplete_beta_p",
    "jax.lax._incomplete_gamma": "igamma_grad_a_p igamma_p igammac_p random_gamma_grad_p",
    "jax.lax._join": "concatenate_p",
    "jax.lax._magnitude": "abs_p clamp_p max_p min_p sign_p",
    "jax.lax._ragged_exchange": "ragged_all_to_all_p",
    "jax.lax._power": "cbrt_p integer_pow_p pow_p rsqrt_p sqrt_p",
    "jax.lax._reduce": (
        "argmax_p argmin_p reduce_and_p reduce_max_p reduce_min_p reduce_or_p reduce_prod_p reduce_xor_p"
    ),
    "jax.lax._reduce_general": "reduce_p",
    "jax.lax._rng": "rng_bit_generator_p rng_uniform_p",
    "jax.lax._rounding": "ceil_p floor_p is_finite_p nextafter_p round_p",
    "jax.lax._scan": "scan_p",
    "jax.lax._scatter": "scatter_add_p scatter_max_p scatter_min_p scatter_mul_p scatter_p",
    "jax.lax._select": "select_n_p",
    "jax.lax._shape": "copy_p reshape_p rev_p squeeze_p",
    "jax.lax._slice": "pad_p slice_p",
    "jax.lax._solves": "linear_solve_p",
    "jax.lax._sort": "approx_top_k_p sort_p top_k_p",
    "jax.lax._special": "bessel_i0e_p bessel_i1e_p digamma_p erf_inv_p erf_p erfc_p lgamma_p polygamma_p zeta_p",
    "jax.lax._stop_gradient": "stop_gradient_p",
    "jax.lax._tokens": "after_all_p create_token_p infeed_p outfeed_p",
    "jax.lax._trigonometric": (
        "acos_p acosh_p asin_p asinh_p atan2_p atan_p atanh_p cos_p cosh_p sin_p sinh_p tan_p tanh_p"
    ),
    "jax.lax._while": "while_p",
    "jax.lax._window": "reduce_window_max_p reduce_window_min_p reduce_window_p reduce_window_sum_p",
    "jax.lax._window_select": "select_and_gather_add_p select_and_scatter_add_p select_and_scatter_p",
    "jax.lax.linalg._cholesky": "cholesky_p",
    "jax.lax.linalg._eigen": "eig_p eigh_p",
    "jax.lax.linalg._lu": "lu_p",
    "jax.lax.linalg._qr": "householder_product_p qr_p",
    "jax.lax.linalg._schur": "hessenberg_p schur_p tridiagonal_p",
    "jax.lax.linalg._svd": "svd_p",
    "jax.lax.linalg._triangular": "triangular_solve_p",
    "jax.lax.linalg._tridiagonal_solve": "tridiagonal_solve_p",
    "jax.random._gamma": "random_gamma_p",
    "jax.random._impls": "threefry2x32_p",
    "jax.random._primitives": "random_bits_p random_fold_in_p random_seed_p random_split_p",
}
# Names for the same objects as above.
_others = {
    "add_jaxvals_p": ("jax._ground.structural", "add_any_p"),
    "custom_lin_p": ("jax._api.custom_calls", "custom_vjp_tangent_p"),
    "xla_pmap_p": ("jax._spmd.primitive", "shard_map_p"),  # pmap is a shard_map over one axis
}
_where = {name: (module, name) for module, names in _homes.items() for name in names.split()} | _others


def __getattr__(name: str) -> Any:
    found = _where.get(name)
    if found is None:
        raise AttributeError(f"module 'jax.extend.core.primitives' has no attribute {name!r}")
    value = getattr(importlib.import_module(found[0]), found[1])
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_where})
