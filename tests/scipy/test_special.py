"""jax.scipy.special against SciPy: values in two precisions, derivatives, limits, dtypes, errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp

import jax
import jax.numpy as jnp
from jax._base.config import enable_x64
from jax.scipy import special

RNG = np.random.default_rng(0)
LINE = np.linspace(-30, 30, 121) + 0.013
POSITIVE = 10.0 ** np.linspace(-5, 2.3, 80)
UNIT = np.linspace(0.01, 0.99, 60)
INF, NAN = np.inf, np.nan


def u(low, high, n=60):
    return RNG.uniform(low, high, n)


# name -> (arguments, positions to differentiate, tolerance in double and in single precision)
CASES = {
    "expit": ((LINE,), (0,), 1e-15, 2e-7), "logit": ((UNIT,), (0,), 1e-13, 2e-6), "entr": ((POSITIVE,), (0,), 1e-15, 2e-7),
    "xlogy": ((u(0, 3), u(0.1, 3)), (0, 1), 1e-14, 1e-6), "xlog1py": ((u(0, 3), u(0.1, 3)), (0, 1), 1e-14, 1e-6),
    "rel_entr": ((u(0.1, 3), u(0.1, 3)), (0, 1), 1e-13, 5e-6), "kl_div": ((u(0.1, 1), u(2, 3)), (0, 1), 1e-13, 5e-6),
    "boxcox": ((u(0.1, 3), np.r_[u(-2, 2, 58), 0, 1e-9]), (0, 1), 1e-14, 2e-6),
    "boxcox1p": ((u(0.1, 3), np.r_[u(-2, 2, 58), 0, 1e-9]), (0,), 1e-14, 2e-6),
    "gammaln": ((np.linspace(-8, 40, 97) + 0.3,), (0,), 1e-12, 1e-4), "gamma": ((np.linspace(-8, 25, 67) + 0.3,),
    (0,), 1e-12, 2e-5),
    "loggamma": ((POSITIVE,), (0,), 1e-12, 1e-4), "digamma": ((np.linspace(-8, 40, 97) + 0.3,), (0,), 1e-12, 1e-4),
    "gammainc": ((u(0.1, 9), u(0.1, 9)), (1,), 1e-13, 1e-5), "gammaincc": ((u(0.1, 9), u(0.1, 9)), (1,), 1e-13, 1e-5),
    "beta": ((u(0.1, 9), u(0.1, 9)), (0, 1), 1e-13, 1e-5), "betaln": ((u(0.1, 30), u(0.1, 30)), (0, 1), 1e-12, 1e-4),
    "betainc": ((u(0.1, 9), u(0.1, 9), u(0, 1)), (2,), 1e-12, 2e-5), "poch": ((u(0.5, 5), u(0.5, 5)), (0, 1), 1e-13, 1e-5),
    "polygamma": ((np.arange(1, 5), u(0.5, 9, 4)), (1,), 1e-13, 1e-5), "zeta": ((u(1.5, 9), u(0.5, 9)), (1,), 1e-13, 1e-5),
    "erf": ((LINE / 6,), (0,), 1e-15, 1e-6), "erfc": ((LINE / 6,), (0,), 1e-13, 2e-5), "erfinv": ((2 * UNIT - 1,),
    (0,), 1e-13, 2e-6),
    "erfcx": ((LINE / 5,), (0,), 1e-14, 1e-5), "dawsn": ((LINE,), (0,), 1e-14, 1e-6),
    "ndtr": ((LINE / 6,), (0,), 1e-13, 2e-5), "log_ndtr": ((LINE,), (0,), 1e-14, 2e-5), "ndtri": ((UNIT,),
    (0,), 1e-13, 2e-6),
    "owens_t": ((u(-4, 4), u(-3, 3)), (0, 1), 1e-12, 1e-4),
    "exp1": ((POSITIVE[:70],), (0,), 1e-14, 1e-5), "expi": ((np.r_[-POSITIVE[20:60], POSITIVE[20:70]],), (0,), 1e-12, 1e-4),
    "expn": ((np.tile(np.arange(4), 10), np.repeat(POSITIVE[20:70:5], 4)), (1,), 1e-13, 1e-5),
    "sici": ((POSITIVE[20:],), (0,), 1e-13, 1e-4), "fresnel": ((np.r_[-UNIT, POSITIVE[30:70]],), (0,), 1e-13, 2e-5),
    "spence": ((POSITIVE[10:],), (0,), 1e-13, 1e-5),
    "i0": ((LINE / 3,), (0,), 1e-14, 2e-6), "i0e": ((LINE,), (0,), 1e-14, 2e-6),
    "i1": ((LINE / 3,), (0,), 1e-14, 4e-6), "i1e": ((LINE,), (0,), 1e-14, 4e-6),
    "hyp1f1": ((u(0.3, 5), u(0.3, 5), u(-20, 20)), (0, 2), 1e-12, 2e-5),
    "hyp2f1": ((u(0.3, 3), u(0.3, 3), u(0.5, 5), u(-2, 0.9)), (0, 3), 1e-11, 1e-3),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    args, _, double, single = CASES[name]
    fn, reference = jax.jit(getattr(special, name)), getattr(sp, name)
    for dtype, tol in ((np.float64, double), (np.float32, single)):
        with enable_x64(True):
            cast = [a.astype(dtype) if a.dtype.kind == "f" else a for a in args]
            got = jax.tree.leaves(fn(*cast))
            want = jax.tree.leaves(reference(*[a.astype(float) if a.dtype.kind == "f" else a for a in cast]))
            for g, w in zip(got, want, strict=True):
                assert g.dtype == dtype
                np.testing.assert_allclose(g, w, rtol=tol, atol=tol * 1e-3)


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name):
    args, positions, _, _ = CASES[name]
    fn = getattr(special, name)
    with enable_x64(True):
        for i in positions:
            def at(x, i=i):
                return jax.tree.leaves(fn(*args[:i], x, *args[i + 1:]))
            x = args[i]
            h = 1e-3 * np.maximum(np.minimum(np.abs(x), 0.1 if name != "ndtri" else 1e-2), 1e-4)
            _, slope = jax.jit(lambda v, at=at: jax.jvp(at, (v,), (jnp.ones_like(v),)))(x)
            values = jax.jit(at)
            steps = [values(x + k * h) for k in (-2, -1, 1, 2)]
            for s, far_down, down, up, far_up in zip(slope, *steps, strict=True):
                want = (8 * (up - down) - (far_up - far_down)) / (12 * h)
                scale = np.maximum(np.abs(want), 1e-3 + 1e-4 * np.abs(np.asarray(up)))
                assert np.max(np.abs(s - want) / scale) < 2e-5
            if name in ("hyp1f1", "owens_t", "ndtri", "sici", "expn"):
                cts = [RNG.normal(size=x.shape) for _ in slope]
                back = jax.jit(lambda v, cts, at=at: jax.vjp(at, v)[1](cts)[0])(x, cts)
                np.testing.assert_allclose(back, sum(c * s for c, s in zip(cts, slope, strict=True)), rtol=1e-9)


@pytest.mark.parametrize(("name", "points"), [
    ("erfcx", [0.0, INF, -INF, NAN, 1e300]), ("dawsn", [0.0, INF, -INF, NAN, 1e200, -1e-20]),
    ("ndtr", [0.0, INF, -INF, NAN]),
    ("log_ndtr", [0.0, INF, -INF, NAN, -1e10]), ("ndtri", [0.0, 1.0, 0.5, -1.0, 2.0, NAN, 1e-300]),
    ("exp1", [0.0, INF, -1.0, NAN, 700.0]), ("expi", [0.0, INF, -INF, NAN, 700.0]),
    ("sici", [0.0, INF, -INF, NAN, -1.0, 1e9]),
    ("fresnel", [0.0, INF, -INF, NAN, 1e9]), ("spence", [0.0, 1.0, 2.0, 0.5, -1.0, NAN, 1e-12]), ("entr", [0.0, -1.0, NAN]),
    ("gamma", [0.0, -1.0, NAN, INF]), ("gammasgn", [0.0, -0.0, -1.5, -2.5, 3.0]), ("logit", [0.0, 1.0, -0.1, 1.1]),
    ("i0", [0.0, NAN]), ("i1", [0.0, NAN]), ("loggamma", [0.0, -1.5, INF]),
])
def test_limits(name, points):
    x = np.array(points)
    with enable_x64(True), np.errstate(all="ignore"):
        np.testing.assert_allclose(getattr(special, name)(x), getattr(sp, name)(x), rtol=1e-12)


def test_limits_of_two_arguments():
    p, q = np.array([0.0, 0.0, 1.0, -1.0, NAN]), np.array([0.0, 1.0, 0.0, 1.0, 1.0])
    with enable_x64(True):
        for name in ("rel_entr", "kl_div", "xlogy", "xlog1py"):
            np.testing.assert_allclose(getattr(special, name)(p, q), getattr(sp, name)(p, q))
        n, x = np.array([0, 1, 2, 3, 1]), np.array([0.0, 0.0, 0.0, INF, -1.0])
        np.testing.assert_allclose(special.expn(n, x), sp.expn(n, x))
        assert float(jax.grad(special.xlogy, 1)(0.0, 2.0)) == 0
        np.testing.assert_allclose(special.betaln(0.15121934309610524, 279066.81465326686), -0.0768837033824434, rtol=1e-12)
        np.testing.assert_allclose(special.owens_t(np.array([0.0, 1.0, -1.0]), np.array([INF, INF, -INF])),
                                   sp.owens_t(np.array([0.0, 1.0, -1.0]), np.array([INF, INF, -INF])), rtol=1e-12)


def test_complex_arguments():
    z = RNG.normal(size=200) * 6 + 1j * RNG.normal(size=200) * 6
    with enable_x64(True):
        np.testing.assert_allclose(special.wofz(z), sp.wofz(z), rtol=1e-12)
        np.testing.assert_allclose(special.loggamma(z), sp.loggamma(z), rtol=1e-11)
        np.testing.assert_allclose(special.xlogy(z, z), sp.xlogy(z, z), rtol=1e-12)
        slope = jax.jvp(special.wofz, (z[:9],), (np.ones(9, complex),))[1]
        np.testing.assert_allclose(slope, (sp.wofz(z[:9] + 1e-6) - sp.wofz(z[:9] - 1e-6)) / 2e-6, rtol=1e-6, atol=1e-8)
    with pytest.raises(TypeError, match="real numbers"):
        special.erf(z)


def test_whole_arrays():
    with enable_x64(True):
        np.testing.assert_allclose(special.bernoulli(12)[::2], sp.bernoulli(12)[::2], rtol=1e-10)
        z = np.array([0.0, 0.5, 3.0, 10.0])
        np.testing.assert_allclose(special.bessel_jn(z, v=4, n_iter=60), [sp.jv(k, z) for k in range(5)], atol=1e-14)
        np.testing.assert_allclose(special.multigammaln(np.linspace(3, 9, 5), 3), sp.multigammaln(np.linspace(3, 9, 5), 3))
        n, k = np.r_[np.arange(30.0), -1, 3, 3], np.r_[np.arange(30.0) // 2, 1, -1, 5]
        np.testing.assert_allclose(special.comb(n, k), sp.comb(n, k), rtol=1e-13)
        n, k = n[:30], k[:30]
        np.testing.assert_allclose(special.comb(n, k, repetition=True), sp.comb(n, k, repetition=True), rtol=1e-12)
        np.testing.assert_allclose(special.factorial(np.r_[np.arange(15.0), -1]), sp.factorial(np.r_[np.arange(15.0), -1]),
                                   rtol=1e-12)
        x = RNG.normal(size=(3, 4))
        b = RNG.normal(size=(3, 4))
        for keep in (False, True):
            np.testing.assert_allclose(special.logsumexp(x, 1, keepdims=keep), sp.logsumexp(x, 1, keepdims=keep))
        got, want = special.logsumexp(x, 0, b, return_sign=True), sp.logsumexp(x, 0, b, return_sign=True)
        np.testing.assert_allclose(got[0], want[0])
        np.testing.assert_allclose(got[1], want[1])
        np.testing.assert_allclose(special.softmax(x, axis=1), sp.softmax(x, axis=1))
        np.testing.assert_allclose(special.log_softmax(x), sp.log_softmax(x))


def test_legendre_functions_and_spherical_harmonics():
    with enable_x64(True):
        z = np.linspace(-0.9, 0.9, 7)
        values, slopes = special.lpmn(4, 4, z)
        want = sp.assoc_legendre_p_all(4, 4, z, diff_n=1)
        np.testing.assert_allclose(values, np.swapaxes(want[0], 0, 1)[:5], atol=1e-11)
        np.testing.assert_allclose(slopes, np.swapaxes(want[1], 0, 1)[:5], atol=1e-10)
        n, m = np.array([0, 1, 2, 3, 4, 5, 6]), np.array([0, -1, 2, -3, 4, 0, -5])
        theta = np.linspace(0.1, 3, 7)
        want = sp.sph_harm_y(n, m, theta, 2 * theta)
        np.testing.assert_allclose(special.sph_harm_y(n, m, theta, 2 * theta), want, atol=1e-14)
        np.testing.assert_allclose(special.sph_harm(m, n, 2 * theta, theta), want, atol=1e-14)
        traced = jax.jit(lambda n: special.sph_harm_y(n, m, theta, 2 * theta, n_max=6))(n)
        np.testing.assert_allclose(traced, want, atol=1e-14)
        normalized = special.lpmn_values(6, 6, np.cos(theta), True)
        np.testing.assert_allclose(normalized[0, 5, 5], want[5].real, rtol=1e-11)
        with pytest.raises(jax.errors.ConcretizationTypeError, match="n_max"):
            jax.jit(lambda n: special.sph_harm_y(n, m, theta, theta))(n)


@pytest.mark.quick
def test_dtypes():
    for name in ("erf", "gammaln", "i0", "ndtri", "log_ndtr", "exp1", "erfcx", "spence"):
        fn = getattr(special, name)
        assert fn(np.float16(0.5)).dtype == np.float16
        assert fn(jnp.bfloat16(0.5)).dtype == jnp.bfloat16
        assert fn(1).dtype == np.float32
    assert [x.dtype for x in special.sici(jnp.bfloat16(0.5))] == [jnp.bfloat16] * 2


@pytest.mark.quick
def test_errors():
    for call, error, message in [
        (lambda: special.erf([1.0]), TypeError, "jnp.array"), (lambda: special.multigammaln(3.0, 0), ValueError, "positive"),
        (lambda: special.multigammaln(3.0, 1.5), ValueError, "Python integer"),
        (lambda: special.factorial(3, exact=True), NotImplementedError, "math.factorial"),
        (lambda: special.bernoulli(-1), ValueError, "negative"),
        (lambda: special.bessel_jn(1.0, v=60), ValueError, "n_iter"),
        (lambda: special.lpmn(1, 2, np.ones(2)), NotImplementedError, "equal"),
        (lambda: special.sph_harm_y(1, 1, 0.5, 0.5, diff_n=1), NotImplementedError, "jax.grad"),
        (lambda: special.log_ndtr(1.0, -1), ValueError, "series_order"),
        (lambda: jax.grad(special.polygamma)(1.0, 2.0), ValueError, "order m"),
    ]:
        with pytest.raises(error, match=message):
            call()
