"""``jax.scipy.spatial``: rotations."""

from jax.scipy.spatial import transform as transform
