"""Why a primitive may lack a rule: column -> reason -> names of primitives, separated by blanks."""

BLANKS: dict[str, dict[str, str]] = {
    "abstract": {},
    "lowering": {
        "programs are discharged before they are lowered":
            "addupdate empty_ref free_ref freeze get new_ref semaphore_read semaphore_signal semaphore_wait swap",
    },
    "jvp": {
        "of integers, which have no derivatives": "semaphore_read semaphore_signal semaphore_wait",
        "a form in which LAPACK returns factors; the factorisations themselves have derivatives":
            "geqp3 geqrf hessenberg householder_product ormqr schur tridiagonal",
        "occurs in lowering only": "fence lapack_call pieces table",
        "takes no operands": "axis_index create_token platform_index",
        "takes tokens, which have no derivatives": "after_all",
        "a name only: what it would do is refused": "infeed outfeed",
        "the trace calls the function's own rule": "custom_jvp_call custom_vjp_call",
        "it can only be transposed: custom_vjp has no forward mode": "custom_lin",
        "its bounds are settings; samples are differentiated through jax.random": "rng_uniform",
        "what the derivative of a window's maximum lowers to; select_and_scatter_add has the derivatives":
            "select_and_scatter",
    },
    "transpose": {
        "linear programs are discharged before they are transposed": "addupdate empty_ref free_ref freeze get new_ref swap",
        "of integers, which have no derivatives": "semaphore_read semaphore_signal semaphore_wait",
        "a form in which LAPACK returns factors; the factorisations themselves have derivatives":
            "geqp3 geqrf hessenberg householder_product ormqr schur tridiagonal",
        "occurs in lowering only": "fence lapack_call pieces table",
        "nothing is known of what it calls": "debug_callback inspect_sharding ffi_call io_callback pure_callback",
        "a factorisation is not linear, and its tangents are made of linear primitives":
            "cholesky cholesky_update eig eigh lu qr svd symmetric_product",
        "takes no operands": "axis_index create_token platform_index",
        "takes tokens, which have no derivatives": "after_all",
        "a name only: what it would do is refused": "infeed outfeed",
        "has no results": "check dce_sink",
        "not linear; its tangent is made of linear primitives":
            "approx_top_k cumlogsumexp cummax cummin cumprod logaddexp logaddexp2 order_statistics pmax pmin "
            "random_gamma reduce reduce_max reduce_min reduce_prod reduce_window reduce_window_max reduce_window_min "
            "scatter-max scatter-min select_and_scatter sort top_k",
        "not linear; its tangent is a product of the operands' tangents and known factors":
            "abs acos acosh asin asinh atan atan2 atanh bessel_i0e bessel_i1e beta_density beta_fraction "
            "beta_fraction_grad_a beta_fraction_grad_b beta_fraction_grad_x cbrt clamp cos cosh digamma "
            "erf erf_inv erfc exp exp2 expm1 gamma_density hyp1f1 hyp2f1 igamma igamma_grad_a igammac integer_pow lgamma "
            "log log1p log2 logistic max min nextafter one_minus_square polygamma pow random_gamma_grad "
            "regularized_incomplete_beta regularized_incomplete_beta_grad_a regularized_incomplete_beta_grad_b rem "
            "rsqrt sign sin sinh sqrt square tan tanh zeta",
        "its derivative is zero":
            "argmax argmin random_bits random_clone random_consume random_fold_in random_seed random_split random_unmapped "
            "random_unwrap random_wrap "
            "reduce_and reduce_or reduce_xor rng_bit_generator rng_uniform stop_gradient threefry2x32 "
            "and bitcast_convert_type ceil clz eq eq_to floor ge gt iota is_finite le le_to lt lt_to "
            "lu_pivots_to_permutation mulhi ne not or population_count "
            "round shift_left shift_right_arithmetic shift_right_logical xor",
    },
    "batching": {
        "the trace maps the function and its rule": "custom_jvp_call custom_vjp_call",
        "occurs in lowering only": "fence lapack_call pieces table",
        "takes no operands": "create_token platform_index",
        "a name only: what it would do is refused": "infeed outfeed",
        "kernels are batched as a whole": "semaphore_read semaphore_signal semaphore_wait",
    },
}
