"""Finding random keys that are used twice.

The same key gives the same random numbers, so each key should be used once: passed to one sampler, or to
``jax.random.split``. With ``jax.config.update("jax_debug_key_reuse", True)``, or inside of ``with
jax.debug_key_reuse(True):``, this is checked, and :class:`jax.errors.KeyReuseError` says which key is used again and where
it was used first.

- Samplers (``jax.random.normal``, ``bits`` ...) and ``split`` *consume* a key. ``fold_in`` does not, since it is used with
  different data on one key, and neither do ``key_data``, comparisons and printing.
- The keys that ``split``, ``fold_in``, ``key`` and ``wrap_key_data`` return are new. ``jax.random.clone`` gives a new key
  with the same numbers, where these are wanted again.
- Elements of arrays are followed one by one, through indexing, reshaping, stacking and through functions that return
  keys. Copies of a key that come from broadcasting count as new.
- Programs (``jit``, ``scan``, ``while_loop``, ``cond`` ...) are checked when they run on concrete values; of the branches of
  a ``cond``, what any of them consumes counts. What ``jax.checkpoint`` computes a second time does not.

Not followed are raw keys (``jax.random.PRNGKey``), keys chosen by indices that are known only while a program runs, and
arrays of more than 65536 keys: they count as new.

>>> import jax
>>> with jax.debug_key_reuse(True):
...     key = jax.random.key(0)
...     x = jax.random.normal(key)
...     try:
...         y = jax.random.normal(key)
...     except jax.errors.KeyReuseError:
...         print("used twice")
used twice
"""

from jax.errors import KeyReuseError as KeyReuseError
