"""Calls from programs back into Python: ``pure_callback``, ``io_callback``, and what ``jax.debug`` is made of."""
