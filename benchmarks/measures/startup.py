"""Wall time of importing jax and jax.numpy in a new interpreter, without the interpreter's own start."""

import json
import time
from importlib import import_module

start = time.perf_counter()
import_module("jax")
import_module("jax.numpy")
print(json.dumps({"import": time.perf_counter() - start}))
