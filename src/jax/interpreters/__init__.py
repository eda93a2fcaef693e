"""Views on the rule tables and machinery of transformations, for libraries that extend JAX."""
