"""Programs that the measurements run, written in plain jax."""
