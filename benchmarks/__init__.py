"""Paired measurements against a reference implementation: ``python -m benchmarks --help``."""
