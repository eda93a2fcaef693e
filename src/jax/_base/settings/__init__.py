"""Declarations of the public options, one module per subject. Import them from ``jax._base.config``."""
