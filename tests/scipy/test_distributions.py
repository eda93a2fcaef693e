"""Every distribution against SciPy: values over the support, its edges and beyond, parameters that are none, slopes, dtypes.

A record names the points, the shape parameters (the last ones invalid), and whether there is a location and a scale. All
methods of a distribution are compiled together, once in each precision.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
from typing import NamedTuple

import numpy as np
import pytest
import scipy.stats as ss

import jax
import jax.numpy as jnp
from jax._base.config import enable_x64

INF, NAN = np.inf, np.nan
Q = [0.0, 1e-7, 0.01, 0.3, 0.5, 0.8, 0.99, 1.0, -0.1, 1.1, NAN]
REAL = [-INF, -40.0, -3.0, -1.0, -0.25, 0.0, 1e-3, 0.5, 1.0, 2.5, 30.0, INF, NAN]
COUNTS = [-1.0, 0.0, 1.0, 2.0, 2.5, 5.0, 12.0, 40.0, NAN]
METHODS = ("logpdf", "pdf", "logpmf", "pmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
SLOPES = ("logpdf", "pdf", "pmf", "cdf", "logsf", "ppf")
POSITIVE = [(0.5,), (1.0,), (2.0,), (3.7,), (60.0,), (0.0,), (-1.0,), (NAN,)]
PAIRS = [(0.5, 0.5), (1.0, 1.0), (1.0, 3.0), (2.0, 0.7), (5.5, 30.0), (40.0, 60.0), (-1.0, 2.0), (2.0, 0.0), (NAN, 1.0)]
PLACES = [(0.0, 1.0), (0.5, 2.0), (-1.0, 0.25), (0.0, -1.0), (0.0, 0.0), (NAN, 1.0), (0.0, NAN)]


class Record(NamedTuple):
    name: str
    points: list[float]
    shapes: list[tuple[float, ...]] = [()]
    places: str = "loc scale"  # which of the two it has
    exact: float = 1e-12
    single: float = 2e-5


RECORDS = [
    Record("bernoulli", [-1.0, 0.0, 1.0, 2.0, 0.5, NAN], [(0.3,), (0.0,), (1.0,), (-0.1,), (1.1,), (NAN,)], "loc"),
    Record("beta", REAL, PAIRS, exact=1e-11, single=5e-5),
    Record("betabinom", COUNTS, [(5, 0.5, 2.0), (12, 1.0, 1.0), (40, 3.0, 50.0), (5, -1, 1), (2.5, 1, 1), (NAN, 1, 1)],
           "loc", single=2e-4),
    Record("binom", COUNTS, [(5, 0.3), (12, 0.0), (12, 1.0), (40, 0.9), (3, 1.1), (2.5, 0.5), (-1, 0.5), (NAN, 0.5)], "loc",
           single=1e-4),
    Record("cauchy", REAL, single=1e-5),
    Record("chi2", REAL, POSITIVE, single=5e-5),
    Record("expon", REAL),
    Record("gamma", REAL, POSITIVE, single=5e-5),
    Record("gennorm", REAL, [(0.5,), (1.0,), (2.0,), (3.3,), (-1.0,), (NAN,)], ""),
    Record("geom", COUNTS, [(0.3,), (1.0,), (0.0,), (1.1,), (NAN,)], "loc"),
    Record("gumbel_l", REAL), Record("gumbel_r", REAL), Record("laplace", REAL), Record("logistic", REAL),
    Record("nbinom", COUNTS, [(3, 0.3), (1.5, 0.9), (2, 1.0), (50, 0.5), (0, 0.5), (2, 0.0), (NAN, 0.5)], "loc",
           single=1e-4),
    Record("norm", REAL, single=1e-4),
    Record("pareto", [*REAL, 1.5, 3.0], [(0.5,), (2.0,), (10.0,), (0.0,), (-1.0,), (NAN,)]),
    Record("poisson", COUNTS, [(0.0,), (0.3,), (4.0,), (30.0,), (-1.0,), (NAN,)], "loc"),
    Record("t", REAL, [(0.5,), (1.0,), (4.0,), (80.0,), (INF,), (0.0,), (-1.0,), (NAN,)], single=1e-4),
    Record("truncnorm", REAL,
           [(-1, 2), (0, INF), (-INF, 0.5), (-INF, INF), (2.0, 2.5), (-9, -8), (12, 14), (2, 1), (NAN, 1)],
           exact=1e-10, single=1e-3),
    Record("uniform", REAL),
    Record("vonmises", [-4.0, -1.0, 0.0, 1e-3, 0.5, 3.1, 7.0, NAN], [(0.0,), (0.4,), (3.0,), (200.0,), (-1.0,), (NAN,)], ""),
    Record("wrapcauchy", [-1.0, 0.0, 1e-3, 0.5, 3.1, 6.28, 7.0, NAN], [(0.1,), (0.9,), (0.0,), (1.0,), (-0.2,), (NAN,)], ""),
]
IDS = [r.name for r in RECORDS]


def module(record: Record):
    return importlib.import_module(f"jax.scipy.stats.{record.name}")


def methods(record: Record) -> list[str]:
    return [m for m in METHODS if hasattr(module(record), m)]


def places_of(record: Record, method: str) -> int:
    """How many of location and scale the method takes (``bernoulli.cdf`` has no location)."""
    names = inspect.signature(getattr(module(record), method)).parameters
    return sum(n in names for n in record.places.split())


def grid(record: Record, quantile: bool) -> list[np.ndarray]:
    """All combinations, as flat columns."""
    both = len(record.places.split()) == 2
    places = PLACES if both else [(0.0,), (1.0,), (NAN,)] if record.places else [()]
    rows = [(x, *s, *p) for x in (Q if quantile else record.points) for s in record.shapes for p in places]
    return [np.asarray(column, np.float64) for column in zip(*rows, strict=True)]


def arguments(record: Record, method: str) -> list[np.ndarray]:
    columns = grid(record, method in ("ppf", "isf"))
    drop = len(record.places.split()) - places_of(record, method)
    return columns[:len(columns) - drop]


def expected(record: Record, method: str, args: list[np.ndarray]) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(getattr(getattr(ss, record.name), method)(*args))


def all_methods(record: Record):
    return jax.jit(lambda args: {m: getattr(module(record), m)(*args[m]) for m in args})


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_values(record):
    names = methods(record)
    with enable_x64(True):
        args = {m: arguments(record, m) for m in names}
        fun = all_methods(record)
        wide, single = fun(args), fun(jax.tree.map(np.float32, args))
    for m in names:
        want = expected(record, m, args[m])
        deviates = deviations(record, m, args[m], want)
        assert wide[m].dtype == np.float64 and single[m].dtype == np.float32
        compare(wide[m], want, record.exact, ~deviates, f"{record.name}.{m}", args[m])
        with np.errstate(over="ignore"):
            rounded = [a.astype(np.float32).astype(np.float64) for a in args[m]]
            want = expected(record, m, rounded).astype(np.float32)
        # beyond what float32 can hold, SciPy's float64 says nothing
        used = ~deviates & ~(np.abs(want) < 1e-37) & ~(m.startswith("log") & (want < -85))
        compare(single[m], want, record.single, used, f"{record.name}.{m} (float32)", args[m])


def compare(got, want, tol, used, what, args):
    got, want = np.asarray(got, np.float64)[used], np.asarray(want, np.float64)[used]
    bad = ~np.isclose(got, want, rtol=tol, atol=tol * 1e-2, equal_nan=True)
    bad |= np.isinf(got) != np.isinf(want)
    rows = np.stack(args, -1)[used][bad]
    assert not bad.any(), f"{what}: {[(r.tolist(), g, w) for r, g, w in zip(rows, got[bad], want[bad], strict=True)][:6]}"


def deviations(record: Record, method: str, args: list[np.ndarray], want: np.ndarray) -> np.ndarray:
    """Where results differ from SciPy's by intent."""
    if record.name == "bernoulli" and method == "ppf":
        return (args[0] == 0) | (args[0] == 1)  # SciPy: -1 and 1 without regard to p
    return np.isinf(args[0]) & np.isnan(want)  # no density at infinity


# --- slopes ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def quickly():
    """Programs that run once are compiled without most optimisations."""
    jax.config.update("jax_disable_most_optimizations", True)
    try:
        yield
    finally:
        jax.config.update("jax_disable_most_optimizations", False)


def slopes(record: Record):
    """The derivatives of all methods with respect to every continuous operand, by one reverse pass each."""
    discrete = hasattr(module(record), "pmf")

    def fun(args):
        out = {}
        for m, values in args.items():
            start = 1 if discrete and m not in ("ppf", "isf") else 0
            moving = continuous(record, m, len(values))[start:]

            def at(some, m=m, values=values, moving=moving):
                full = list(values)
                for i, v in zip(moving, some, strict=True):
                    full[i] = v
                return jnp.sum(getattr(module(record), m)(*full))
            slopes = jax.grad(at)([values[i] for i in moving])
            out |= {(m, i): s for i, s in zip(moving, slopes, strict=True)}
        return out
    return jax.jit(fun)


def continuous(record: Record, method: str, count: int) -> list[int]:
    skip = {"binom": {1, 3}, "betabinom": {1, 4}, "bernoulli": {2}, "geom": {2}, "nbinom": {3}, "poisson": {2}}
    return [i for i in range(count) if i not in skip.get(record.name, set())]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_slopes(record):
    """Inside of the support numerical slopes of SciPy's functions; no NaN where the function is finite."""
    left_out = {"chi2": SLOPES[1:], "bernoulli": ("ppf",)}.get(record.name, ())  # the gamma distribution's; a step
    names = [m for m in methods(record) if m in SLOPES and m not in left_out]
    rng = np.random.default_rng(1)
    with enable_x64(True), quickly():
        args = {m: arguments(record, m) for m in names}
        fun = slopes(record)
        got = fun(args)
        values = all_methods(record)({m: args[m] for m in names})
        inner = {m: interior(record, m, rng) for m in names}
        near = fun({m: [np.resize(a, args[m][0].size) for a in inner[m]] for m in names})
    for (m, i), slope in got.items():
        bad = np.isnan(slope) & np.isfinite(values[m]) & np.isfinite(args[m][0]) & np.isfinite(args[m][i])
        assert not bad.any(), f"{record.name}.{m}, slope {i}: NaN at {np.stack(args[m], -1)[bad][:6].tolist()}"
    for (m, i), slope in near.items():
        want = numerical(record, m, i, inner[m])
        tol = 2e-4 if record.name == "truncnorm" else 2e-5  # of the numerical slopes, far out in a tail
        np.testing.assert_allclose(slope[:want.size], want, rtol=tol, atol=2e-6, err_msg=f"{record.name}.{m}, {i}")


def interior(record: Record, method: str, rng) -> list[np.ndarray]:
    """Valid parameters and points where there is some probability."""
    columns = [np.asarray(c, float) for c in zip(*[s for s in record.shapes if np.isfinite(s).all()], strict=True)]
    dist = getattr(ss, record.name)
    places = [np.array([0.3, -1.0]), np.array([1.5, 0.7])][:places_of(record, method)]
    if len(places) == 1:
        places = [np.zeros(2)]
    n = 12
    shapes = [np.resize(c, n) for c in columns]
    places = [np.resize(p, n) for p in places]
    u = rng.uniform(0.1, 0.9, n)
    x = u if method in ("ppf", "isf") else dist.ppf(u, *shapes, *places)
    keep = np.isfinite(x) & np.isfinite(expected(record, method, [x, *shapes, *places]))
    keep &= np.all([(s > 0) & (s != 1) for s in shapes], axis=0) if shapes and record.name != "truncnorm" else True
    return [a[keep] for a in (x, *shapes, *places)]


def numerical(record: Record, method: str, i: int, args: list[np.ndarray]) -> np.ndarray:
    def at(k):
        moved = [a + k * h if j == i else a for j, a in enumerate(args)]
        return expected(record, method, moved)
    h = 1e-4 * np.minimum(1.0, np.abs(args[i]) + 0.1)
    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)


# --- dtypes and ranks -----------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_half_precision_is_computed_in_single(record):
    m = methods(record)[0]
    row = [a[0] for a in interior(record, m, np.random.default_rng(2))]
    if hasattr(module(record), "pmf"):
        row[0] = 1.0
    half = [jnp.asarray(v, jnp.bfloat16) for v in row]
    fun = getattr(module(record), m)
    got = fun(*half)
    assert got.dtype == jnp.bfloat16
    np.testing.assert_array_equal(got, fun(*[v.astype(np.float32) for v in half]).astype(jnp.bfloat16))
    with pytest.raises(TypeError, match="real numbers"):
        fun(*half[:-1], 1j)


@pytest.mark.quick
def test_operands_are_broadcast_and_mapped():
    from jax.scipy.stats import gamma, norm, poisson
    x, a = np.linspace(0.1, 3, 5, dtype=np.float32), np.array([[0.5], [2.0]], np.float32)
    np.testing.assert_allclose(gamma.logpdf(x, a), ss.gamma.logpdf(x, a), rtol=1e-5)
    mapped = jax.vmap(jax.vmap(gamma.logpdf, (0, None)), (None, 0))(x, a[:, 0])
    np.testing.assert_allclose(mapped, ss.gamma.logpdf(x, a), rtol=1e-5)
    assert poisson.pmf(np.arange(3), 2).dtype == np.float32
    assert norm.logpdf(x, scale=2.0).shape == (5,)
    assert norm.cdf(np.zeros((0, 3), np.float32)).shape == (0, 3)
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(norm.logpdf)))(x), -x, rtol=1e-6)
