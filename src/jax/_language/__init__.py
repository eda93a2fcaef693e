"""The jaxpr language: abstract values, primitives, tracers, jaxprs and the checks on them."""
