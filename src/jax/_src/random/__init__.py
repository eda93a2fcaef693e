"""View on the random generators."""
