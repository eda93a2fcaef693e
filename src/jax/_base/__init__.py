"""The ground floor: jaxlib's door, options, caches, and where in the user's program we are."""
