"""Reading and writing parts of arrays outside of jit: what costs is the way to the program, not the copy."""

import numpy as np

import jax.numpy as jnp
from benchmarks.measures.timing import per_call, report


def main():
    rng = np.random.default_rng(0)
    v = jnp.asarray(rng.standard_normal(1000).astype(np.float32))
    x = jnp.asarray(rng.standard_normal((100, 100)).astype(np.float32))
    mask = v > 0
    places = jnp.asarray(rng.integers(0, 1000, 50, dtype=np.int32))
    rows = jnp.asarray(rng.integers(0, 100, 50, dtype=np.int32))
    part = jnp.ones(50, jnp.float32)

    report({
        "index_scalar": per_call(lambda: v[3]),
        "index_slice": per_call(lambda: v[10:60]),
        "index_step": per_call(lambda: v[::2]),
        "index_pair": per_call(lambda: x[3, 5]),
        "index_column": per_call(lambda: x[:, 5]),
        "index_newaxis": per_call(lambda: x[None, 2:8]),
        "index_mask": per_call(lambda: v[mask]),
        "index_array": per_call(lambda: v[places]),
        "index_array_pair": per_call(lambda: x[rows, rows]),
        "index_take": per_call(lambda: jnp.take(x, rows, axis=0)),
        "set_scalar": per_call(lambda: v.at[3].set(1.0)),
        "set_slice": per_call(lambda: v.at[10:60].set(part)),
        "set_pair": per_call(lambda: x.at[3, 5].set(1.0)),
        "set_array": per_call(lambda: v.at[places].set(1.0)),
        "set_mask": per_call(lambda: v.at[mask].set(0.0)),
        "add_scalar": per_call(lambda: v.at[3].add(1.0)),
        "add_array": per_call(lambda: v.at[places].add(part)),
        "max_array": per_call(lambda: v.at[places].max(part)),
    })


if __name__ == "__main__":
    main()
