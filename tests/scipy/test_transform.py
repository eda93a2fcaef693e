"""Rotations against SciPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial import transform as theirs

import jax
import jax.numpy as jnp
from jax._base.config import enable_x64
from jax.scipy.spatial.transform import Rotation, Slerp

RNG = np.random.default_rng(0)
Q = RNG.normal(size=(6, 4))
V = RNG.normal(size=(6, 3))
OURS, THEIRS = (lambda: Rotation.from_quat(Q)), theirs.Rotation.from_quat(Q)


@pytest.fixture(autouse=True)
def wide():
    with enable_x64(True):
        yield


def same(a, b):
    np.testing.assert_allclose(a, b, atol=1e-12)


def test_forms():
    r = OURS()
    for name in ("as_quat", "as_matrix", "as_rotvec", "as_mrp", "magnitude"):
        same(getattr(r, name)(), getattr(THEIRS, name)())
        same(getattr(r[0], name)(), getattr(THEIRS[0], name)())
    same(r.as_rotvec(degrees=True), THEIRS.as_rotvec(degrees=True))
    same(r.as_quat(canonical=True, scalar_first=True), THEIRS.as_quat(canonical=True, scalar_first=True))
    for name, form in (("from_matrix", THEIRS.as_matrix()), ("from_rotvec", V), ("from_mrp", V)):
        same(getattr(Rotation, name)(form).as_matrix(), getattr(theirs.Rotation, name)(form).as_matrix())
    halves = np.concatenate([np.diag([1.0, -1, -1])[None], np.diag([-1.0, 1, -1])[None], np.diag([-1.0, -1, 1])[None]])
    same(Rotation.from_matrix(halves).as_matrix(), halves)
    same(Rotation.from_rotvec(np.zeros(3)).as_rotvec(), np.zeros(3))


@pytest.mark.parametrize("turning", [False, True])
def test_angles(turning):
    orders = ["".join(s) for s in itertools.product("xyz", repeat=3) if s[0] != s[1] != s[2]]
    angles = RNG.uniform(-1.5, 1.5, (6, 3))
    for seq in (s.upper() if turning else s for s in orders):
        same(Rotation.from_euler(seq, angles).as_matrix(), theirs.Rotation.from_euler(seq, angles).as_matrix())
        same(OURS().as_euler(seq), THEIRS.as_euler(seq))
        # where axes coincide angles are not unique, the rotation is
        locked = angles.copy()
        locked[:, 1] = np.array([0, np.pi])[np.arange(6) % 2] if seq[0] == seq[2] else np.pi / 2
        stuck = Rotation.from_euler(seq, locked)
        np.testing.assert_allclose(Rotation.from_euler(seq, stuck.as_euler(seq)).as_matrix(), stuck.as_matrix(), atol=1e-6)
    for seq in ("x", "zy"):
        part = angles[:, :len(seq)]
        same(Rotation.from_euler(seq, part, degrees=True).as_quat(), theirs.Rotation.from_euler(seq, part, True).as_quat())
    assert Rotation.from_euler("x", np.array(0.3)).single


def test_operations():
    r, t = OURS(), THEIRS
    same((r * r[1]).as_matrix(), (t * t[1]).as_matrix())
    same(r.inv().as_matrix(), t.inv().as_matrix())
    same(r.apply(V), t.apply(V))
    same(r.apply(V[0], inverse=True), t.apply(V[0], inverse=True))
    same(r.mean(np.arange(6.0)).as_matrix(), t.mean(np.arange(6.0)).as_matrix())
    assert len(r) == 6 and Rotation.concatenate([r, r[0]]).quat.shape == (7, 4)
    assert Rotation.identity(2).quat.shape == (2, 4) and Rotation.identity(dtype=np.float32).quat.dtype == np.float32
    some = Rotation.random(jax.random.key(0), 500)
    assert np.abs(some.apply(np.eye(3)[0]).mean(0)).max() < 0.15


def test_interpolation():
    times = np.array([0.0, 1.0, 1.5, 2.0, 3.0, 5.0])
    at = np.linspace(0, 5, 13)
    same(Slerp.init(times, OURS())(at).as_matrix(), theirs.Slerp(times, THEIRS)(at).as_matrix())
    assert Slerp.init(times, OURS())(0.5).single


@pytest.mark.quick
def test_transformations():
    f = lambda v: Rotation.from_rotvec(v).apply(jnp.array([1.0, 2, 3]))  # noqa: E731
    slopes = jax.jit(jax.vmap(jax.jacobian(f)))(np.concatenate([V, np.zeros((1, 3))]))
    same(slopes[-1] @ V[0], np.cross(V[0], [1.0, 2, 3]))
    h = 1e-5
    np.testing.assert_allclose(slopes[0] @ V[1], (f(V[0] + h * V[1]) - f(V[0] - h * V[1])) / (2 * h), rtol=1e-7)
    back = jax.jacobian(lambda v: Rotation.from_rotvec(v).as_rotvec())(np.zeros(3))
    same(back, np.eye(3))
    r = jax.jit(lambda r: r.inv())(OURS())
    assert isinstance(r, Rotation)
    same(jax.vmap(lambda r: r.magnitude())(OURS()), THEIRS.magnitude())


def test_errors():
    for call, error, message in [
            (lambda: Rotation.from_quat(np.ones(3)), ValueError, "shape"), (lambda: len(OURS()[0]), TypeError, "no len"),
            (lambda: OURS()[0][0], TypeError, "subscriptable"),
            (lambda: Rotation.from_euler("xYz", np.ones(3)), ValueError, "xYz"),
            (lambda: Rotation.from_euler("xyzx", np.ones(4)), ValueError, "upto 3"),
            (lambda: Rotation.from_euler("xy", np.ones(3)), ValueError, "shape"),
            (lambda: OURS().as_euler("xxy"), ValueError, "consecutive"),
            (lambda: OURS().as_euler("x"), ValueError, "3 axes"), (lambda: OURS().mean(np.ones(2)), ValueError, "weights"),
            (lambda: Rotation.from_quat([0, 0, 0, 1]), TypeError, "list"),
            (lambda: Slerp.init(np.ones(2), OURS()), ValueError, "times"), (lambda: OURS() * 2, TypeError, "unsupported"),
            (lambda: Slerp.init(np.ones(1), OURS()[0]), ValueError, "at least 2")]:
        with pytest.raises(error, match=message):
            call()
