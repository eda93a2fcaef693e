"""The one door to jaxlib.

No other module imports jaxlib, and every difference between the supported versions (0.10.2 .. 0.11.x) is
settled here. Importing this module loads the compiler's shared library and little else: the MLIR bindings,
the profiler and the custom-call kernels are attributes that load on first use (PEP 562) and then stay.

What the C++ side has to be told before it works, and who tells it:

- ``jax_jit.set_enable_x64_state``, ``set_disable_jit_state``, ``set_post_hook_state``: ``_base.config``;
- ``xla.set_tracer_class``: the module of the Tracer class; ``xla.set_pspec_unconstrained``: the one of
  PartitionSpec;
- ``xla.set_valid_dtypes`` (a set), ``xla.set_invalid_input_exception`` (a class) and, for each type that
  arguments may have, ``xla.register_canonicalize_value_handler(type, function or None)``: before
  ``xla.canonicalize_value`` is called;
- ``xla.set_typed_{int,float,complex,ndarray}_type``: only if scalars with a dtype of their own are passed to
  the runtime.

``xla.pjit`` needs none but the first line. The Python function it calls on a miss returns
``(outputs, FastPath(...) or None, False)``; after None, calls with the same key always go to Python.
"""

from __future__ import annotations

import importlib
import os
import threading
from types import ModuleType
from typing import Any, NamedTuple

# The C++ logger reads this once, while it loads. Its "info" level tells of every client that is made.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from jaxlib import _jax as xla  # noqa: E402
from jaxlib import weakref_lru_cache as _weakref_caches  # noqa: E402
from jaxlib.version import __version__ as jaxlib_version_string  # noqa: E402


def _version_numbers(text: str) -> tuple[int, ...]:
    numbers = []
    for part in text.split(".")[:3]:
        digits = "".join(ch for ch in part if ch.isdigit())
        numbers.append(int(digits or 0))
    return tuple(numbers)


jaxlib_version: tuple[int, ...] = _version_numbers(jaxlib_version_string)
minimum_jaxlib_version = (0, 10, 2)
if jaxlib_version < minimum_jaxlib_version:
    raise ImportError(
        f"jaxlib {jaxlib_version_string} is too old: jax needs at least 0.10.2. "
        "Run: pip install -U 'jaxlib>=0.10.2,<0.12'"
    )

pytree = xla.pytree
jax_jit = xla.jax_jit
guard_lib = xla.guard_lib
ifrt_programs = xla.ifrt_programs
hlo_module_cost_analysis = xla.hlo_module_cost_analysis
mlir_io = xla.mlir  # StableHLO (de)serialisation and conversion to and from HLO

# C++ objects that the language and the runtime share.
Array = xla.Array
ArrayImpl = xla.ArrayImpl
Config = xla.config.Config
UNSET = xla.config.unset  # what a thread's value of a Config is while nothing overrides it
trace_context = xla.config.trace_context
trace_context_names = xla.config.trace_context_names
Client = xla.Client
Device = xla.Device
DeviceList = xla.DeviceList
Frame = xla.Frame
JaxRuntimeError = xla.JaxRuntimeError
PjitFunction = xla.PjitFunction
RuntimeTracebackMode = xla.RuntimeTracebackMode
Sharding = xla.Sharding
Traceback = xla.Traceback
TracebackScope = xla.TracebackScope

weakref_lru_cache = _weakref_caches.weakref_lru_cache
multi_weakref_lru_cache = _weakref_caches.multi_weakref_lru_cache

# Every equation carries the Python stack that made it; jaxlib returns None instead unless this is on.
xla.set_tracebacks_enabled(True)


class FastPath(NamedTuple):
    """What jaxlib's compiled-call cache keeps of a call, to run the next one without Python.

    It reads these attributes and insists on a tuple. Lists have one entry per argument (``in_*``,
    ``kept_var_bitvec``) or per flat result (``out_*``).
    """

    xla_executable: Any
    out_pytree_def: Any
    in_shardings: list[Any]
    out_shardings: list[Any]
    out_avals: list[Any]
    out_committed: list[bool]
    kept_var_bitvec: list[bool]
    in_device_local_layouts: list[Any]
    const_args: list[Any]


_LAZY_MODULES = {
    "xla_client": "jaxlib.xla_client",
    "utils": "jaxlib.utils",
    "hlo": "jaxlib._hlo",
    "lapack": "jaxlib.lapack",
    "plugin_support": "jaxlib.plugin_support",
    "profiler": "jaxlib._profiler",
    "profile_data": "jaxlib._profile_data",
    "pretty_printer": "jaxlib._pretty_printer",
    "cpu_feature_guard": "jaxlib.cpu_feature_guard",
    "cpu_sparse": "jaxlib.cpu_sparse",
    "gpu_common_utils": "jaxlib.gpu_common_utils",
    "gpu_linalg": "jaxlib.gpu_linalg",
    "gpu_prng": "jaxlib.gpu_prng",
    "gpu_rnn": "jaxlib.gpu_rnn",
    "gpu_solver": "jaxlib.gpu_solver",
    "gpu_sparse": "jaxlib.gpu_sparse",
    "gpu_triton": "jaxlib.gpu_triton",
    "triton": "jaxlib.triton",
    "ir": "jaxlib.mlir.ir",
    "passmanager": "jaxlib.mlir.passmanager",
    "mlir_ext": "jaxlib.mlir._mlir_libs._jax_mlir_ext",
    "stablehlo": "jaxlib.mlir.dialects.stablehlo",
    "chlo": "jaxlib.mlir.dialects.chlo",
    "mhlo": "jaxlib.mlir.dialects.mhlo",
    "sdy": "jaxlib.mlir.dialects.sdy",
    "mpmd": "jaxlib.mlir.dialects.mpmd",
    "func_dialect": "jaxlib.mlir.dialects.func",
    "builtin_dialect": "jaxlib.mlir.dialects.builtin",
    "arith": "jaxlib.mlir.dialects.arith",
    "math_dialect": "jaxlib.mlir.dialects.math",
    "cf": "jaxlib.mlir.dialects.cf",
    "scf": "jaxlib.mlir.dialects.scf",
    "memref": "jaxlib.mlir.dialects.memref",
    "vector": "jaxlib.mlir.dialects.vector",
    "llvm": "jaxlib.mlir.dialects.llvm",
    "nvvm": "jaxlib.mlir.dialects.nvvm",
    "gpu_dialect": "jaxlib.mlir.dialects.gpu",
    "ifrt_proxy": "jaxlib._ifrt_proxy",
}


def __getattr__(name: str) -> Any:
    target = _LAZY_MODULES.get(name)
    if target is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(target)
    globals()[name] = module
    return module


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY_MODULES})


def _lazy(name: str) -> Any:
    return globals().get(name) or __getattr__(name)


def optional_module(name: str) -> ModuleType | None:
    """The lazy module ``name``, or None when this jaxlib wheel does not ship it."""
    try:
        return __getattr__(name)
    except ImportError:
        return None


# --- MLIR contexts ------------------------------------------------------------------------------------------

_registry_lock = threading.Lock()
_registry: Any = None

# Creating an operation does not load its dialect; these have no register function of their own.
_PRELOADED_DIALECTS = ("builtin", "func", "arith", "math", "cf")


def _dialect_registry() -> Any:
    """One registry with every dialect that jaxlib links in, shared by all contexts."""
    global _registry
    with _registry_lock:
        if _registry is None:
            registry = _lazy("ir").DialectRegistry()
            _lazy("mlir_ext").register_dialects(registry)
            _registry = registry
        return _registry


def new_mlir_context() -> Any:
    """A fresh ``ir.Context`` in which StableHLO modules as we write them can be built, parsed and verified.

    func, stablehlo, chlo, sdy, mhlo, arith, math and cf are loaded; other dialects that jaxlib registers
    (memref, scf, vector ...) load when ``context.dialects[name]`` or parsed text asks for them. Threads are
    off: one module is too small to gain from MLIR's own pool, and a context without it is cheaper to make.
    """
    registry = _dialect_registry()
    context = _lazy("ir").Context()
    context.enable_multithreading(False)
    context.append_dialect_registry(registry)
    for dialect in _PRELOADED_DIALECTS:
        context.dialects[dialect]
    for dialect in ("stablehlo", "chlo", "sdy"):
        _lazy(dialect).register_dialect(context)
    _lazy("mhlo").register_mhlo_dialect(context)
    return context
