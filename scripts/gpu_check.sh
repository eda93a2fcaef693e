#!/usr/bin/env bash
# Runs the essentials on a machine with an NVIDIA GPU, in the interpreter given as PYTHON (default: python3).
# That interpreter's environment needs jaxlib and its CUDA plugin, numpy, scipy, opt_einsum, ml_dtypes and pytest;
# nothing is downloaded. The working tree takes precedence over any installed distribution called jax.
set -uo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
export PYTHONPATH="$PWD/src:$PWD" JAX_PLATFORMS=cuda PYTHONUNBUFFERED=1
# Several programs run one after another; none should take most of the memory from the start.
export XLA_PYTHON_CLIENT_PREALLOCATE=${XLA_PYTHON_CLIENT_PREALLOCATE:-false}
status=0

echo "=== machine"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv || status=1

echo "=== first steps"
"$PYTHON" - <<'PYTHON' || status=1
import numpy as np

import jax
import jax.numpy as jnp

print("jax", jax.__version__, "on", jax.devices())
assert jax.default_backend() in ("gpu", "cuda"), jax.default_backend()
x = jnp.arange(12.0).reshape(3, 4)
np.testing.assert_allclose(jax.jit(lambda a: jnp.sin(a) @ a.T)(x), np.sin(x) @ np.asarray(x).T, rtol=2e-3)
gradient = jax.jit(jax.grad(lambda a: jnp.sum(jnp.tanh(a) ** 2)))(x)
np.testing.assert_allclose(gradient, 2 * np.tanh(x) * (1 - np.tanh(x) ** 2), rtol=1e-4, atol=1e-6)
print(jax.random.normal(jax.random.key(0), (3,)))
print("memory:", jax.devices()[0].memory_stats() and jax.devices()[0].memory_stats().get("bytes_in_use"))
PYTHON

echo "=== memory: preallocation, fractions, amounts, allocators, errors"
"$PYTHON" scripts/gpu_memory.py || status=1

# Operations and transformations; the other rooms' tests are about the CPU's client, several CPU devices, or texts. Their
# reference values are exact to single precision, which products on a GPU are only if asked.
echo "=== quick tests"
JAX_DEFAULT_MATMUL_PRECISION=highest "$PYTHON" -m pytest -q -m quick -p no:cacheprovider tests/test_ops.py tests/lax \
    tests/numpy tests/nn tests/random tests/scipy tests/api/test_{autodiff,checkpoint,compositions,jit,vmap}.py \
    tests/api/test_custom_derivatives.py || status=1

if "$PYTHON" -c 'import sklearn, matplotlib' 2>/dev/null; then
    echo "=== example"
    "$PYTHON" examples/digits_cnn.py || status=1
fi

exit $status
