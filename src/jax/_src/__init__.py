"""Private names of the reference implementation that libraries, or jaxlib's compiled code, use all the same.

Views only: every name is a public or private object of this library, found here under another path. New programs should
not import from this package.
"""
