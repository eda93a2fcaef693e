"""The version of this distribution, the only place that states it."""

# The API level this implementation follows, with a local label (PEP 440) saying whose implementation it is.
# The build reads this line without importing the package, so it has to stay a plain literal.
__version__ = "0.11.2+fleet.1"
__version_info__: tuple[int, int, int] = (0, 11, 2)
