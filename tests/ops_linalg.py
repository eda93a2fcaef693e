"""Records of the factorisations of jax.lax.linalg, of Fourier transforms and of jax.numpy.linalg.

Factors that are free up to signs or phases are compared through what does not depend on them.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import scipy.linalg as sl

import jax
from jax import lax
from jax import numpy as jnp
from jax.lax import linalg as ll
from tests.ops import Op, Sample, number, real

D, C, S = "float64", "complex128", "float32"
DC = (D, C)


def general(*shape: int) -> Sample:
    """Well-conditioned matrices, singular values apart."""
    make = number(-1, 1, shape)

    def sample(rng, dtype):
        x = make(rng, dtype)
        return x + np.diag(np.arange(2, 2 + max(shape[-2:])))[:shape[-2], :shape[-1]].astype(dtype)
    return sample


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def hermitian(*shape: int) -> Sample:
    make = general(*shape)
    return lambda rng, dtype: (lambda x: x + adjoint(x))(make(rng, dtype))


def positive(*shape: int) -> Sample:
    make = general(*shape)
    return lambda rng, dtype: (lambda x: x @ adjoint(x) + np.eye(shape[-1], dtype=dtype))(make(rng, dtype))


def _triangular(left, lower, transpose, conjugate, unit):
    def solve(a, b):
        return ll.triangular_solve(a, b, left_side=left, lower=lower, transpose_a=transpose, conjugate_a=conjugate,
                                   unit_diagonal=unit)

    def reference(a, b):
        t = np.tril(a) if lower else np.triu(a)
        t = t - np.diag(np.diag(t)) + np.eye(len(t)) if unit else t
        t = t.T if transpose else t
        t = t.conj() if conjugate else t
        return np.linalg.solve(t, b) if left else np.linalg.solve(t.T, b.T).T
    name = "-".join(n for n, on in (("left", left), ("lower", lower), ("t", transpose), ("conj", conjugate),
                                    ("unit", unit)) if on)
    return Op(f"triangular-{name}", solve, (general(3, 3), number(shape=(3, 2) if left else (2, 3))),
              DC if conjugate or not transpose else (D,), reference, tol=10, order=2 if unit else 1)


def _lu_reference(x):
    p, low, up = sl.lu(x)
    k = min(x.shape)
    out = np.zeros_like(x)
    out[:, :k] += np.tril(low, -1)
    out[:k] += up
    return out, np.argmax(p, 0)


def _project(q):
    """What a basis spans."""
    return jnp.matmul(q, jnp.conj(jnp.swapaxes(q, -1, -2)), precision="highest")


def _weighted(u, s, vh):
    """Singular vectors up to their common phases."""
    return jnp.matmul(u * jnp.arange(1.0, s.shape[-1] + 1), vh, precision="highest"), s


def _weighted_eigenvectors(v, w):
    return jnp.matmul(v * jnp.arange(1.0, w.shape[-1] + 1), jnp.conj(v.T), precision="highest"), w


def _tridiagonal(dl, d, du, b):
    return np.linalg.solve(np.diag(d) + np.diag(du[:-1], 1) + np.diag(dl[1:], -1), b)


FACTORS = [
    Op("cholesky", ll.cholesky, (positive(3, 3),), (D, C, S),
       lambda x: np.linalg.cholesky((x + adjoint(x)) / 2), tol=20),
    Op("cholesky-stack", ll.cholesky, (positive(2, 3, 3),), (D,), np.linalg.cholesky, tol=20, order=1),
    Op("cholesky_update", lambda r, w: ll.cholesky_update(jnp.triu(r), w), (general(3, 3), number(shape=(3,))), (D,),
       lambda r, w: np.linalg.cholesky(np.triu(r).T @ np.triu(r) + np.outer(w, w)).T, tol=100, order=1),
    Op("symmetric_product", lambda a, c: ll.symmetric_product(a, c, alpha=2.0, beta=3.0),
       (number(shape=(3, 2)), hermitian(3, 3)), (D,), lambda a, c: 2 * a @ a.T + 3 * c),
    *[_triangular(*flags) for flags in [
        (1, 1, 0, 0, 0), (1, 0, 0, 0, 1), (0, 1, 0, 0, 0), (0, 0, 0, 0, 0), (1, 1, 1, 0, 1), (1, 0, 1, 1, 0),
        (0, 1, 1, 1, 0), (0, 0, 0, 1, 0)]],
    Op("lu", lambda x: ll.lu(x)[::2], (number(shape=(3, 3)),), (D, C, S), _lu_reference, tol=50),
    Op("lu-tall", lambda x: ll.lu(x)[::2], (number(shape=(4, 2)),), DC, _lu_reference, tol=50, order=1),
    Op("lu-wide", lambda x: ll.lu(x)[::2], (number(shape=(2, 4)),), DC, _lu_reference, tol=50, order=1),
    Op("qr", lambda x: ll.qr(x, full_matrices=False), (general(3, 3),), DC, None, tol=50),
    Op("qr-tall", lambda x: ll.qr(x, full_matrices=False), (general(2, 4, 2),), DC, None, tol=50, order=1),
    Op("qr-wide", lambda x: ll.qr(x), (general(2, 4),), DC, None, tol=50, order=1),
    Op("qr-span", lambda x: _project(ll.qr(x, full_matrices=False)[0]), (general(4, 2),), DC,
       lambda x: x @ np.linalg.pinv(x), tol=100, order=1, vmap=False),
    Op("qr-pivoting", lambda x: ll.qr(x, full_matrices=False, pivoting=True)[:2], (general(3, 3),), DC, None, tol=50,
       order=1),
    Op("svd-values", lambda x: ll.svd(x, compute_uv=False), (general(3, 2),), DC,
       lambda x: np.linalg.svd(x, compute_uv=False), tol=50),
    Op("svd", lambda x: _weighted(*ll.svd(x, full_matrices=False)), (general(3, 3),), DC,
       lambda x: (lambda u, s, vh: ((u * [1, 2, 3]) @ vh, s))(*np.linalg.svd(x)), tol=200),
    Op("svd-tall", lambda x: _weighted(*ll.svd(x, full_matrices=False)), (general(4, 2),), DC, None, tol=200, order=1),
    Op("svd-wide", lambda x: _weighted(*ll.svd(x, full_matrices=False)), (general(2, 2, 4),), DC, None, tol=200,
       order=1),
    Op("eigh", lambda x: _weighted_eigenvectors(*ll.eigh(x)), (hermitian(3, 3),), DC,
       lambda x: (lambda w, v: ((v * [1, 2, 3]) @ adjoint(v), w))(*np.linalg.eigh(x)), tol=200),
    Op("eigh-upper", lambda x: ll.eigh(x, lower=False, symmetrize_input=False)[1], (hermitian(2, 3, 3),), (D, S),
       np.linalg.eigvalsh, tol=50, grad=()),
    Op("eig-values", lambda x: jnp.sort(jnp.abs(jnp.linalg.eigvals(x))), (general(3, 3),), DC,
       lambda x: np.sort(np.abs(np.linalg.eigvals(x))), tol=100),
    Op("eig", lambda x: ll.eig(x, enable_eigvec_derivs=True), (general(3, 3),), (C,), None, tol=200, order=1),
    Op("tridiagonal_solve", ll.tridiagonal_solve,
       (number(shape=(4,)), number(5, 8, (4,)), number(shape=(4,)), number(shape=(4, 2))), DC, _tridiagonal, tol=20),
]


def _fft(kind: str, lengths: tuple[int, ...]):
    axes = tuple(range(-len(lengths), 0))
    reference = {"fft": np.fft.fftn, "ifft": np.fft.ifftn, "rfft": np.fft.rfftn, "irfft": np.fft.irfftn}[kind]
    shape = (2, *lengths[:-1], lengths[-1] // 2 + 1) if kind == "irfft" else (2, *lengths)
    return Op(f"{kind}-{lengths}", lambda x: lax.fft(x, kind, lengths), (number(shape=shape),),
              (D,) if kind == "rfft" else (C,), lambda x: reference(x, lengths, axes=axes), tol=20, order=1)


TRANSFORMS = [_fft(kind, lengths) for kind in ("fft", "ifft", "rfft", "irfft") for lengths in ((5,), (3, 4))]

NUMPY = [
    Op("solve", jnp.linalg.solve, (general(3, 3), number(shape=(3,))), (D, C, S), np.linalg.solve, tol=20),
    Op("solve-stack", jnp.linalg.solve, (general(3, 3), number(shape=(2, 3, 2))), DC, np.linalg.solve, tol=20, order=1),
    Op("solve-broadcast", jnp.linalg.solve, (general(2, 1, 3, 3), number(shape=(4, 3, 1))), (D,), np.linalg.solve,
       tol=20, order=1, vmap=False),
    Op("inv", jnp.linalg.inv, (general(2, 3, 3),), (D, C, S), np.linalg.inv, tol=20, order=1),
    Op("det", jnp.linalg.det, (general(2, 4, 4),), (D, C, S), np.linalg.det, tol=100),
    Op("det-3", jnp.linalg.det, (general(3, 3),), DC, np.linalg.det, tol=100),
    Op("slogdet", jnp.linalg.slogdet, (general(3, 3),), (D, C, S), np.linalg.slogdet, tol=100),
    Op("slogdet-qr", lambda x: jnp.linalg.slogdet(x, method="qr"), (general(3, 3),), DC, np.linalg.slogdet, tol=100,
       order=1),
    Op("pinv", jnp.linalg.pinv, (general(4, 2),), DC, np.linalg.pinv, tol=100),
    Op("pinv-wide", jnp.linalg.pinv, (general(2, 2, 4),), DC, np.linalg.pinv, tol=100, order=1),
    Op("lstsq", lambda a, b: jnp.linalg.lstsq(a, b)[:2], (general(4, 2), number(shape=(4, 2))), DC,
       lambda a, b: np.linalg.lstsq(a, b)[:2], tol=200, order=1),
    Op("matrix_power", lambda a: jnp.linalg.matrix_power(a, 5), (number(-1, 1, (3, 3)),), DC,
       lambda a: np.linalg.matrix_power(a, 5), tol=20, order=1),
    Op("matrix_power-inverse", lambda a: jnp.linalg.matrix_power(a, -2), (general(3, 3),), (D,),
       lambda a: np.linalg.matrix_power(a, -2), tol=20, order=1),
    Op("svd-hermitian", lambda x: _weighted(*jnp.linalg.svd(x, hermitian=True)), (hermitian(3, 3),), DC,
       lambda x: (lambda u, s, vh: ((u * [1, 2, 3]) @ vh, s))(*np.linalg.svd(x)), tol=200, order=1),
    Op("norm", jnp.linalg.norm, (number(),), (D, C, S), np.linalg.norm, tol=20),
    Op("norm-3", lambda x: jnp.linalg.norm(x, 3, axis=-1), (number(shape=(2, 3)),), DC,
       lambda x: np.linalg.norm(x, 3, axis=-1), tol=20),
    Op("norm-nuclear", lambda x: jnp.linalg.norm(x, "nuc"), (general(3, 2),), (D,), lambda x: np.linalg.norm(x, "nuc"),
       tol=50, order=1),
    Op("multi_dot", lambda a, b, c: jnp.linalg.multi_dot([a, b, c]),
       (number(shape=(3,)), number(shape=(3, 4)), number(shape=(4, 2))), (D,),
       lambda a, b, c: np.linalg.multi_dot([a, b, c]), tol=20, order=1),
    Op("fftn-4", lambda x: jnp.fft.fftn(x, norm="ortho"), (number(shape=(2, 3, 2, 2)),), (C,),
       lambda x: np.fft.fftn(x, norm="ortho"), tol=20, order=1),
    Op("hfft", lambda x: jnp.fft.hfft(x, 7), (number(shape=(2, 4)),), (C,), lambda x: np.fft.hfft(x, 7), tol=20, order=1),
    Op("cond", jnp.linalg.cond, (general(3, 3),), (D,), np.linalg.cond, tol=50, order=1),
    Op("tensorsolve", lambda a, b: jnp.linalg.tensorsolve(a.reshape(2, 3, 6), b), (general(6, 6), real(shape=(2, 3))),
       (D,), lambda a, b: np.linalg.tensorsolve(a.reshape(2, 3, 6), b), tol=50, order=1),
]


def compiled(ops: list[Op]) -> list[Op]:
    """Operations as one compiled call each: done one by one, every small product would be compiled by itself."""
    return [dataclasses.replace(op, fn=jax.jit(op.fn)) for op in ops]
