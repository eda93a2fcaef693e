"""``jax.scipy.spatial.transform``: rotations in three dimensions, and interpolation between them.

Rotations are unit quaternions ``(x, y, z, w)``; they and interpolators are pytrees, so they pass through ``jit``, ``grad``
and ``vmap``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jax import dtypes, random
from jax import numpy as jnp
from jax._api.composite import composite
from jax.numpy._promotion import check_arraylike, promote_dtypes_inexact, unwrap


def _floating(name: str, *args: Any) -> list[Any]:
    check_arraylike(f"Rotation.{name}", *args)
    out = [jnp.asarray(v) for v in promote_dtypes_inexact(*map(unwrap, args))]
    if jnp.issubdtype(out[0].dtype, jnp.complexfloating):
        raise TypeError(f"Rotation.{name}: real numbers are needed, got {out[0].dtype}")
    return out


def _shaped(name: str, x: Any, trailing: tuple[int, ...]) -> None:
    if x.ndim < len(trailing) or x.shape[x.ndim - len(trailing):] != trailing:
        raise ValueError(f"Rotation.{name}: an array of shape (..., {', '.join(map(str, trailing))}) is needed, got "
                         f"{x.shape}")


class Rotation(NamedTuple):
    """One rotation (``quat`` of shape ``(4,)``) or many (``(n, 4)``). Made by the ``from_`` methods.

    Deviations from SciPy: arrays are needed where it takes lists; matrices are not made orthogonal first; ``random`` takes
    a key.

    >>> import jax.numpy as jnp
    >>> quarter = Rotation.from_rotvec(jnp.array([0.0, 0.0, 90.0]), degrees=True)
    >>> [round(v, 3) + 0.0 for v in quarter.apply(jnp.array([1.0, 0.0, 0.0])).tolist()]
    [0.0, 1.0, 0.0]
    """

    quat: Any

    @classmethod
    def from_quat(cls, quat: Any) -> Rotation:
        """Rotations given by quaternions ``(x, y, z, w)`` of any length, shape ``(..., 4)``; NaN for length 0."""
        (quat,) = _floating("from_quat", quat)
        _shaped("from_quat", quat, (4,))
        return cls(_normalised(quat))

    @classmethod
    def from_matrix(cls, matrix: Any) -> Rotation:
        """Rotations given by orthogonal matrices of determinant 1, shape ``(..., 3, 3)``."""
        (matrix,) = _floating("from_matrix", matrix)
        _shaped("from_matrix", matrix, (3, 3))
        return cls(_of_matrix(matrix))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Rotation:
        """Rotations about vectors of shape ``(..., 3)`` by their length as an angle."""
        (rotvec,) = _floating("from_rotvec", rotvec)
        _shaped("from_rotvec", rotvec, (3,))
        return cls(_of_vector(rotvec * _unit(degrees)))

    @classmethod
    def from_mrp(cls, mrp: Any) -> Rotation:
        """Rotations given by modified Rodrigues parameters of shape ``(..., 3)``: axis times ``tan(angle / 4)``."""
        (mrp,) = _floating("from_mrp", mrp)
        _shaped("from_mrp", mrp, (3,))
        square = jnp.sum(mrp * mrp, axis=-1, keepdims=True)
        return cls(jnp.concatenate([2 * mrp, 1 - square], axis=-1) / (1 + square))

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Rotation:
        """Rotations given by successive angles about axes.

        Args:
          seq: one to three of ``x``, ``y``, ``z`` for fixed axes, or of ``X``, ``Y``, ``Z`` for axes that turn along.
          angles: of shape ``(..., len(seq))``; for a single axis also without that dimension.
          degrees: whether they are in degrees, not radians.
        """
        _check_axes("from_euler", seq)
        (angles,) = _floating("from_euler", angles)
        if len(seq) == 1 and (not angles.ndim or angles.shape[-1] != 1 or angles.ndim == 1 and angles.shape[0] != 1):
            angles = angles[..., None]
        _shaped("from_euler", angles, (len(seq),))
        return cls(_of_angles(angles * _unit(degrees), seq))

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """The rotation that changes nothing, or ``num`` of them."""
        unit = jnp.zeros(4, dtypes.canonicalize_dtype(dtype)).at[3].set(1)
        return cls(unit if num is None else jnp.broadcast_to(unit, (num, 4)))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> Rotation:
        """Uniformly distributed rotations: one, or ``num`` of them."""
        return cls(_normalised(random.normal(random_key, (4,) if num is None else (num, 4))))

    @classmethod
    def concatenate(cls, rotations: Sequence[Any]) -> Rotation:
        """All rotations of a sequence of rotations, one after the other."""
        return cls(jnp.concatenate([r.quat.reshape((-1, 4)) for r in rotations]))

    @property
    def single(self) -> bool:
        """Whether this is one rotation."""
        return bool(self.quat.ndim == 1)

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return int(self.quat.shape[0])

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, indexer: Any) -> Rotation:
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation(self.quat[indexer])

    def __mul__(self, other: Any) -> Rotation:
        """The rotation that turns by ``other`` first, then by this one."""
        if not isinstance(other, Rotation):
            return NotImplemented
        return Rotation(_normalised(_product(*promote_dtypes_inexact(self.quat, other.quat))))

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Vectors of shape ``(..., 3)``, turned (or turned back); rotations and vectors are broadcast."""
        (vectors,) = _floating("apply", vectors)
        _shaped("apply", vectors, (3,))
        quat, vectors = promote_dtypes_inexact(self.quat, vectors)
        return _turned(quat * np.array([-1, -1, -1, 1], quat.dtype) if inverse else quat, vectors)

    def inv(self) -> Rotation:
        """The rotation back."""
        return Rotation(self.quat * np.array([-1, -1, -1, 1], self.quat.dtype))

    def magnitude(self) -> Any:
        """The angle, from 0 to pi, of shape ``(...)``."""
        length = _safe_norm(self.quat[..., :3])
        return 2 * jnp.arctan2(length, jnp.abs(self.quat[..., 3]))

    def mean(self, weights: Any = None) -> Rotation:
        """The rotation with the least (weighted) sum of squared distances to all of them (Markley et al., 2007)."""
        quat = self.quat.reshape((-1, 4))
        if weights is None:
            weights = jnp.ones(quat.shape[0], quat.dtype)
        (weights,) = _floating("mean", weights)
        if weights.shape != quat.shape[:1]:
            raise ValueError(f"Rotation.mean: {quat.shape[0]} rotations need weights of shape {quat.shape[:1]}, got "
                             f"{weights.shape}")
        _, vectors = jnp.linalg.eigh(jnp.einsum("n,ni,nj->ij", weights.astype(quat.dtype), quat, quat))
        return Rotation(vectors[:, -1])

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Any:
        """Quaternions of shape ``(..., 4)``.

        Args:
          canonical: of the two that stand for a rotation, the one whose first non-zero number of ``w, x, y, z`` is
            positive.
          scalar_first: in the order ``(w, x, y, z)``.
        """
        quat = _canonical(self.quat) if canonical else self.quat
        return jnp.roll(quat, 1, axis=-1) if scalar_first else quat

    def as_matrix(self) -> Any:
        """Matrices of shape ``(..., 3, 3)``."""
        return jnp.moveaxis(_turned(self.quat[..., None, :], jnp.eye(3, dtype=self.quat.dtype)), -2, -1)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Vectors of shape ``(..., 3)`` along the axes, whose length is the angle, at most pi."""
        quat = jnp.where(self.quat[..., 3:] < 0, -self.quat, self.quat)
        vector, w = quat[..., :3], quat[..., 3]
        length = _safe_norm(vector)
        near = length < 1e-3
        series = 2 + length * length / 3 + 3 * length**4 / 20  # of 2 asin(length) / length
        scale = jnp.where(near, series, 2 * jnp.arctan2(length, w) / jnp.where(near, 1, length))
        return vector * scale[..., None] / _unit(degrees)

    def as_mrp(self) -> Any:
        """Modified Rodrigues parameters of shape ``(..., 3)``, of length at most 1."""
        quat = jnp.where(self.quat[..., 3:] < 0, -self.quat, self.quat)
        return quat[..., :3] / (1 + quat[..., 3:])

    def as_euler(self, seq: str, degrees: bool = False) -> Any:
        """Angles about three axes, of shape ``(..., 3)``; ``seq`` as for :meth:`from_euler`.

        The first and third are in [-pi, pi], the second in [0, pi] where the first and the third axis are the same,
        else in [-pi/2, pi/2]. At the ends of these ranges the axes coincide; then the third angle is 0 (for fixed axes,
        the first for turning ones). The method is that of E. Bernardes and S. Viollet (2022).
        """
        _check_axes("as_euler", seq)
        if len(seq) != 3:
            raise ValueError(f"Rotation.as_euler: Expected 3 axes, got {len(seq)}.")
        if seq[0] == seq[1] or seq[1] == seq[2]:
            raise ValueError(f"Rotation.as_euler: Expected consecutive axes to be different, got {seq}")
        return _angles(self.quat, seq=seq) / _unit(degrees)


def _unit(degrees: bool) -> float:
    return math.pi / 180 if degrees else 1.0


def _check_axes(name: str, seq: str) -> None:
    if not 1 <= len(seq) <= 3:
        raise ValueError(f"Rotation.{name}: Expected axis specification to be a non-empty string of upto 3 characters, got "
                         f"{seq!r}")
    if not (set(seq) <= set("xyz") or set(seq) <= set("XYZ")):
        raise ValueError(f"Rotation.{name}: Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got "
                         f"{seq}")


# --- quaternions ----------------------------------------------------------------------------------------------------


def _safe_norm(v: Any) -> Any:
    """The length, with slope 0 where it is 0."""
    square = jnp.sum(v * v, axis=-1)
    none = square == 0
    return jnp.where(none, jnp.zeros_like(square), jnp.sqrt(jnp.where(none, jnp.ones_like(square), square)))


@composite
def _normalised(q: Any) -> Any:
    return q / jnp.sqrt(jnp.sum(q * q, axis=-1, keepdims=True))


@composite
def _product(p: Any, q: Any) -> Any:
    """Hamilton's product."""
    p, q = jnp.broadcast_arrays(p, q)
    v, w, u, t = p[..., :3], p[..., 3:], q[..., :3], q[..., 3:]
    vector = w * u + t * v + jnp.cross(v, u)
    return jnp.concatenate([vector, w * t - jnp.sum(v * u, axis=-1, keepdims=True)], axis=-1)


@composite
def _turned(q: Any, x: Any) -> Any:
    shape = jnp.broadcast_shapes(q.shape[:-1], x.shape[:-1])
    v, w, x = jnp.broadcast_to(q[..., :3], (*shape, 3)), q[..., 3:], jnp.broadcast_to(x, (*shape, 3))
    twice = 2 * jnp.cross(v, x)
    return x + w * twice + jnp.cross(v, twice)


@composite
def _canonical(q: Any) -> Any:
    order = q[..., (3, 0, 1, 2)]
    at = jnp.argmax(order != 0, axis=-1, keepdims=True)
    return jnp.where(jnp.take_along_axis(order, at, axis=-1) < 0, -q, q)


@composite
def _of_vector(v: Any) -> Any:
    angle = _safe_norm(v)
    near = angle < 1e-3
    square = angle * angle
    series = 0.5 - square / 48 + square * square / 3840  # of sin(angle / 2) / angle
    scale = jnp.where(near, series, jnp.sin(angle / 2) / jnp.where(near, 1, angle))
    return jnp.concatenate([v * scale[..., None], jnp.cos(angle / 2)[..., None]], axis=-1)


@composite
def _of_matrix(m: Any) -> Any:
    """By the largest of the four numbers: of which the others follow without cancellation (Shepperd, 1978)."""
    diagonal = [m[..., i, i] for i in range(3)]
    trace = diagonal[0] + diagonal[1] + diagonal[2]
    choice = jnp.argmax(jnp.stack([*diagonal, trace], axis=-1), axis=-1)
    forms = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts: list[Any] = [None] * 4
        parts[i] = 1 - trace + 2 * m[..., i, i]
        parts[j] = m[..., j, i] + m[..., i, j]
        parts[k] = m[..., k, i] + m[..., i, k]
        parts[3] = m[..., k, j] - m[..., j, k]
        forms.append(jnp.stack(parts, axis=-1))
    skew = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]]
    forms.append(jnp.stack([*skew, 1 + trace], axis=-1))
    chosen = jnp.take_along_axis(jnp.stack(forms, axis=-2), choice[..., None, None], axis=-2)[..., 0, :]
    return _normalised(chosen)


@functools.partial(composite, static_argnames=("seq",))
def _of_angles(angles: Any, seq: str) -> Any:
    out: Any = None
    for n, axis in enumerate(seq.lower()):
        half = angles[..., n] / 2
        parts = [jnp.zeros_like(half)] * 3
        parts["xyz".index(axis)] = jnp.sin(half)
        turn = jnp.stack([*parts, jnp.cos(half)], axis=-1)
        if out is None:
            out = turn
        else:
            out = _product(turn, out) if seq.islower() else _product(out, turn)
    return out


@functools.partial(composite, static_argnames=("seq",))
def _angles(q: Any, seq: str) -> Any:
    fixed = seq.islower()
    i, j, k = ("xyz".index(axis) for axis in (seq if fixed else seq[::-1]).lower())
    same = i == k
    if same:
        k = 3 - i - j
    sign = (i - j) * (j - k) * (k - i) // 2  # of the permutation
    x = [q[..., n] for n in range(4)]
    if same:
        a, b, c, d = x[3], x[i], x[j], x[k] * sign
    else:
        a, b, c, d = x[3] - x[j], x[i] + x[k] * sign, x[j] + x[3], x[k] * sign - x[i]
    middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
    tiny = 100 * float(np.finfo(q.dtype).eps)
    at_zero, at_pi = jnp.abs(middle) <= tiny, jnp.abs(middle - math.pi) <= tiny
    half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
    first = jnp.where(at_zero, 2 * half_sum, jnp.where(at_pi, -2 * half_difference, half_sum - half_difference))
    third = jnp.where(at_zero | at_pi, 0.0, half_sum + half_difference)
    if not same:
        third, middle = third * sign, middle - math.pi / 2
    out = jnp.stack([first, middle, third] if fixed else [third, middle, first], axis=-1)
    return jnp.where(out < -math.pi, out + 2 * math.pi, jnp.where(out > math.pi, out - 2 * math.pi, out))


# --- interpolation --------------------------------------------------------------------------------------------------


class Slerp(NamedTuple):
    """Interpolation between rotations at constant angular velocity, made by :meth:`init`.

    >>> import jax.numpy as jnp
    >>> turns = Rotation.from_rotvec(jnp.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    >>> [round(v, 4) for v in Slerp.init(jnp.array([0.0, 1.0]), turns)(0.25).as_rotvec().tolist()]
    [0.0, 0.0, 0.25]
    """

    times: Any
    timedelta: Any
    rotations: Rotation
    rotvecs: Any

    @classmethod
    def init(cls, times: Any, rotations: Rotation) -> Slerp:
        """An interpolator of at least two rotations at ascending times of shape ``(n,)``."""
        check_arraylike("Slerp.init", times)
        if not isinstance(rotations, Rotation):
            raise TypeError(f"Slerp.init: `rotations` must be a `Rotation` instance, got {type(rotations).__name__}")
        if rotations.single or len(rotations) < 2:
            raise ValueError("Slerp.init: `rotations` must be a sequence of at least 2 rotations.")
        times = jnp.asarray(unwrap(times)).astype(rotations.quat.dtype)
        if times.shape != (len(rotations),):
            raise ValueError(f"Slerp.init: {len(rotations)} rotations need times of shape ({len(rotations)},), got "
                             f"{times.shape}")
        return cls(times, jnp.diff(times), rotations[:-1], (rotations[:-1].inv() * rotations[1:]).as_rotvec())

    def __call__(self, times: Any) -> Rotation:
        """The rotations at times, a scalar or an array of shape ``(m,)``. Beyond the ends motion goes on."""
        check_arraylike("Slerp", times)
        t = jnp.asarray(unwrap(times)).astype(self.times.dtype)
        if t.ndim > 1:
            raise ValueError(f"Slerp: `times` must be at most 1-dimensional, got shape {t.shape}")
        at = jnp.clip(jnp.searchsorted(self.times, t, side="right") - 1, 0, self.times.shape[0] - 2)
        share = (t - self.times[at]) / self.timedelta[at]
        return self.rotations[at] * Rotation.from_rotvec(self.rotvecs[at] * share[..., None])
