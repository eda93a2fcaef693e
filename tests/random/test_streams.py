"""Streams equal the published ones bit by bit: a seed means the same numbers here as in other implementations of JAX.

``random.json`` and ``random_more.json`` hold what JAX 0.11.2 draws on CPUs. Words, keys, integers and choices are equal
whatever compiles the program. Floats are the results of fused arithmetic, which compilers and processors round
differently in the last bit: they are equal for the version of XLA that computed the data, except in the functions of
``ROUNDED``, and within a few units in the last place for others.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._base._jaxlib import jaxlib_version

DATA = Path(__file__).resolve().parent.parent / "data"
GOLDEN = json.loads((DATA / "random.json").read_text())["cases"]
MORE = json.loads((DATA / "random_more.json").read_text())
ROUNDED = {"beta", "ball", "generalized_normal"}  # depend on the processor that computed the data
UNITS = 16


def case_id(case):
    kind = case.get("group", "golden")
    settings = [*(f"{k}={v}" for k, v in case["kwargs"].items() if not isinstance(v, (dict, list)))]
    return "-".join([kind, case["fn"], case["impl"], str(case["seed"]), *settings])


def distinct(cases):
    """pytest parameters with distinct ids."""
    seen: dict[str, int] = {}
    out = []
    for c in cases:
        name = case_id(c)
        seen[name] = seen.get(name, 0) + 1
        marks = [pytest.mark.quick] if c["seed"] == 0 else []
        out.append(pytest.param(c, id=f"{name}-{seen[name]}", marks=marks))
    return out


def golden_argument(fn, position, x):
    """An argument of a golden case, where arrays and shapes are both lists."""
    if not isinstance(x, list):
        return x
    is_array = (fn, position) in {("categorical", 0), ("permutation", 0), ("dirichlet", 0), ("multivariate_normal", 0),
                                  ("multivariate_normal", 1)}
    if not is_array:
        return tuple(x)
    array = np.asarray(x)
    return jnp.asarray(array, jnp.float32 if array.dtype.kind == "f" else jnp.int32)


def more_argument(x):
    if isinstance(x, dict):
        return jnp.asarray(np.asarray(x["array"], x["dtype"]))
    return tuple(x) if isinstance(x, list) else x


def expected(values, dtype, shape):
    if dtype.startswith("complex"):
        values = [complex(*v) for v in values]
    elif dtype in ("bfloat16", "float16", "float32", "float64"):
        values = [float(v) for v in values]
    return np.asarray(values, ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype).reshape(shape)


def compare(fn, got, want, rounded=False):
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    exact = want.dtype.kind in "biu" or (jaxlib_version >= (0, 11) and fn not in ROUNDED and not rounded)
    if exact:
        np.testing.assert_array_equal(got, want)
    else:
        unit = float(ml_dtypes.finfo(want.real.dtype).eps)
        as_wide = np.complex128 if want.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(got.astype(as_wide), want.astype(as_wide), rtol=UNITS * unit, atol=UNITS * unit / 8)


def draw(fn, key, args, kwargs):
    out = getattr(jax.random, fn)(key, *args, **kwargs)
    return np.asarray(jax.random.key_data(out) if fn in ("split", "fold_in") else out)


@pytest.mark.parametrize("case", distinct(GOLDEN))
def test_golden(case):
    fn, want = case["fn"], case["expect"]
    args = [golden_argument(fn, i, x) for i, x in enumerate(case["args"])]
    kwargs = {k: tuple(v) if isinstance(v, list) else v for k, v in case["kwargs"].items()}
    got = draw(fn, jax.random.key(case["seed"], impl=case["impl"]), args, kwargs)
    dtype = kwargs.get("dtype", want["dtype"]) if fn not in ("choice", "permutation") else want["dtype"]
    compare(fn, got, expected(want["values"], dtype, want["shape"]))


@pytest.mark.parametrize("case", distinct(MORE))
def test_more(case):
    with jax.enable_x64(case["x64"]), jax.threefry_partitionable(case["partitionable"]):
        args = [more_argument(x) for x in case["args"]]
        kwargs = {k: more_argument(v) for k, v in case["kwargs"].items()}
        got = draw(case["fn"], jax.random.key(case["seed"], impl=case["impl"]), args, kwargs)
    if "head" in case:
        assert got.shape == tuple(case["shape"])
        got = got[:case["head"]]
        case = {**case, "shape": got.shape}
    compare(case["fn"], got, expected(case["values"], case["dtype"], case["shape"]), case["group"] == "approximate")


def test_raw_keys_have_the_same_streams():
    raw, typed = jax.random.PRNGKey(3), jax.random.key(3)
    np.testing.assert_array_equal(jax.random.normal(raw, (4,)), jax.random.normal(typed, (4,)))
    np.testing.assert_array_equal(jax.random.split(raw, 3), jax.random.key_data(jax.random.split(typed, 3)))
    np.testing.assert_array_equal(jax.random.fold_in(raw, 5), jax.random.key_data(jax.random.fold_in(typed, 5)))


def test_residues_without_division():
    """``randint`` computes residues by multiplication; they are the exact ones, also for extreme spans."""
    from jax.random._uniform import _residue

    rng = np.random.default_rng(0)
    edges = np.array([0, 1, 2, 2**16 - 1, 2**16, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1], np.uint32)
    spans = np.unique(np.concatenate([edges[1:], rng.integers(1, 2**32, 200, dtype=np.uint32),
                                      rng.integers(1, 2**17, 200, dtype=np.uint32)]))
    words = np.concatenate([edges, rng.integers(0, 2**32, 300, dtype=np.uint32)])
    upper, lower = (np.tile(w, (len(spans), 1)) for w in (words, words[::-1]))
    span = spans[:, None]
    got = jax.jit(_residue)(upper, lower, span)
    factor = np.uint32(65536) % span
    factor = (factor * factor) % span
    want = ((upper % span) * factor + lower % span) % span
    np.testing.assert_array_equal(got, want)


@pytest.mark.quick
def test_long_permutations():
    """Recorded from JAX 0.10.2: sorted twice, on CPUs by counting."""
    found = np.asarray(jax.random.permutation(jax.random.key(3), 100_000))
    assert found[:6].tolist() == [1060, 49928, 46731, 40547, 96705, 90588] and found[-3:].tolist() == [18911, 72751, 80564]
    assert zlib.crc32(found.tobytes()) == 1250423602
    rows = jax.random.permutation(jax.random.key(3), np.arange(600_000, dtype=np.float32).reshape(300, 2000), 1,
                                  independent=True)
    assert zlib.crc32(np.asarray(rows).tobytes()) == 2064676146
