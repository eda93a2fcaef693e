"""Starting a second time with ``jax_compilation_cache_dir``: import, trace, load what was compiled, first step.

Each start is a process of its own, with no other option set; what it imports is warm. The first finds an empty
directory. ``python -m benchmarks.measures.cache [LAYERS]``
"""

import json
import subprocess
import sys
import tempfile
import time

from benchmarks.measures.timing import BRIEF, report


def transformer_step(layers: str) -> float:
    """Seconds until the loss of one training step is there; making the data is not counted."""
    from benchmarks.models import transformer
    size = transformer.Size(layers=int(layers))
    params, tokens = transformer.init(size), transformer.batch(size)
    begin = time.perf_counter()
    _, value = jax.jit(transformer.step)(params, tokens)
    float(value)
    return time.perf_counter() - begin


def small_programs(_: str) -> float:
    """Two dozen operations outside of jit, and as many small compiled functions."""
    import numpy as np

    import jax.numpy as jnp
    names = ("sin", "exp", "tanh", "sqrt", "cumsum", "sum", "mean", "max", "argmax", "sort", "median", "std", "diff", "flip",
             "ravel", "isnan", "sign", "square", "floor", "cos", "ptp", "any", "prod", "nanmean")
    x = np.linspace(0.1, 1, 60, dtype=np.float32).reshape(6, 10)
    begin = time.perf_counter()
    for name in names[:2] if BRIEF else names:
        function = getattr(jnp, name)
        np.asarray(function(x))
        np.asarray(jax.jit(jax.grad(lambda a, f=function: jnp.sum(f(a) * 1.0)))(x))
    return time.perf_counter() - begin


def start(kind: str, argument: str, directory: str) -> float:
    """Seconds that one process took."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.measures.cache", kind, argument, directory],
                          stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main(layers: str = "24"):
    second, first = {}, {}
    for name, kind, argument in (("cache_step", "transformer_step", layers), ("cache_small", "small_programs", "")):
        with tempfile.TemporaryDirectory() as directory:
            first[name] = start(kind, argument, directory)
            second[name] = min(start(kind, argument, directory) for _ in range(1 if BRIEF else 2))
    report(second, first=first)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        kind, argument, directory = sys.argv[1:]
        begin = time.perf_counter()
        import jax
        jax.config.update("jax_compilation_cache_dir", directory)
        imported = time.perf_counter() - begin
        print(json.dumps(imported + globals()[kind](argument)))
    else:
        main(*sys.argv[1:])
