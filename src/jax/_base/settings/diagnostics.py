"""Options that decide what is reported: logs, dumps, tracebacks, printed programs."""

from __future__ import annotations

import logging as _logging
import sys as _sys

from jax._base import _jaxlib
from jax._base import option as _o
from jax._base._jaxlib import RuntimeTracebackMode as _RuntimeTracebackMode
from jax._base._jaxlib import xla as _xla

log_compiles = _o.declare(
    "jax_log_compiles",
    False,
    _o.BOOL,
    "Log, as warnings, each trace, lowering and compilation with its time.",
)
slow_compile_report_secs = _o.declare(
    "jax_slow_compile_report_secs",
    10.0,
    _o.FLOAT,
    "Log a summary of each compilation that takes at least so many seconds: where the time went, which lines made most "
    "operations, what would help. -1 never does.",
)
explain_cache_misses = _o.declare(
    "jax_explain_cache_misses",
    False,
    _o.BOOL,
    "When a function under jit is traced again, log what differs from the nearest earlier call.",
)
logging_level = _o.declare(
    "jax_logging_level",
    "NOTSET",
    _o.optional(_o.one_of("NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")),
    "Level of the 'jax' loggers, and of the compiler's own messages; where logging is not set up, messages go to "
    "stderr. None leaves all as it is.",
    process_wide=True,
)
debug_log_modules = _o.declare(
    "jax_debug_log_modules",
    "",
    _o.STR,
    "Comma-separated names of modules ('jax' for all) whose debug messages go to stderr.",
    process_wide=True,
)
distributed_debug = _o.declare(
    "jax_distributed_debug", False, _o.BOOL, "Log each step of programs that run on several processes."
)
compiler_detailed_logging_min_ops = _o.declare(
    "jax_compiler_detailed_logging_min_ops",
    10,
    _o.INT,
    "Modules with fewer operations than this are left out of detailed compiler logs.",
    process_wide=True,
)
check_proxy_envs = _o.declare(
    "jax_check_proxy_envs",
    True,
    _o.BOOL,
    "Warn at jax.distributed.initialize when proxy variables in the environment could catch its traffic.",
    process_wide=True,
)

# --- tracebacks and source locations ------------------------------------------------------------------------

traceback_filtering = _o.declare(
    "jax_traceback_filtering",
    "auto",
    _o.one_of("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto"),
    "What happens to this library's own frames in tracebacks of errors raised to the user. 'off' keeps "
    "them; 'tracebackhide' marks them for IPython and pytest; 'remove_frames' removes them and chains the "
    "full traceback as the cause; 'quiet_remove_frames' removes them and says so in a note; 'auto' is "
    "'tracebackhide' under IPython, else 'quiet_remove_frames'.",
)
tracer_error_num_traceback_frames = _o.declare(
    "jax_tracer_error_num_traceback_frames",
    5,
    _o.INT,
    "How many stack frames errors about tracers show for the place that made the tracer.",
    process_wide=True,
)
include_full_tracebacks_in_locations = _o.declare(
    "jax_include_full_tracebacks_in_locations",
    True,
    _o.BOOL,
    "Give each operation of a lowered module its whole Python call stack as location; off, the user's line "
    "only.",
)
traceback_in_locations_limit = _o.declare(
    "jax_traceback_in_locations_limit",
    100,
    _o.INT,
    "The most frames of a call stack that such a location keeps; -1 for all.",
)
hlo_source_file_canonicalization_regex = _o.declare(
    "jax_hlo_source_file_canonicalization_regex",
    None,
    _o.optional(_o.STR),
    "Matches of this regular expression are removed from file names in locations, so that compiled programs "
    "do not depend on where the source lies.",
    traced=True,
)
source_url_schema = _o.declare(
    "jax_source_url_schema",
    None,
    _o.optional(_o.STR),
    "Template (with {file} and {line}) for links from printed programs to their source.",
)
send_traceback_to_runtime = _o.declare(
    "jax_send_traceback_to_runtime",
    _RuntimeTracebackMode.OFF,
    _o.member_of(_RuntimeTracebackMode),
    "What the runtime learns of the Python call that starts a program: 'off' nothing, 'on' the user's line, "
    "'full' the whole stack. The last costs time on every call.",
)
send_traceback_to_runtime.hook(
    _xla.set_send_traceback_to_runtime_global,
    lambda mode: _xla.set_send_traceback_to_runtime_thread_local(None if mode is _o.UNSET else mode),
)

# --- dumps and printing -------------------------------------------------------------------------------------

dump_ir_to = _o.declare(
    "jax_dump_ir_to",
    "",
    _o.STR,
    "Directory into which each program is written as text when it is lowered; empty for none. 'sponge' "
    "stands for the directory in TEST_UNDECLARED_OUTPUTS_DIR.",
    process_wide=True,
)
dump_ir_modes = _o.declare(
    "jax_dump_ir_modes",
    "stablehlo",
    _o.STR,
    "Comma-separated forms to write there: stablehlo, jaxpr, jaxpr_html, eqn_count_pprof.",
    process_wide=True,
)
include_debug_info_in_dumps = _o.declare(
    "jax_include_debug_info_in_dumps",
    True,
    _o.BOOL,
    "Keep source locations in those files.",
    process_wide=True,
)
pprint_use_color = _o.declare(
    "jax_pprint_use_color", True, _o.BOOL, "Colour jaxprs printed to a terminal."
)
pallas_verbose_errors = _o.declare(
    "jax_pallas_verbose_errors",
    False,
    _o.BOOL,
    "Show the module in errors from compiling a Pallas kernel.",
    process_wide=True,
    inert="kernels are interpreted, and not compiled by themselves.",
)


def _new_handler(level: int) -> _logging.Handler:
    handler = _logging.StreamHandler(_sys.stderr)
    handler.setLevel(level)
    handler.setFormatter(_logging.Formatter("%(levelname)s:%(asctime)s:%(name)s:%(lineno)d: %(message)s"))
    return handler


# Ours, so that a change takes them away again and leaves the program's own alone.
_level_handlers: list[_logging.Handler] = []
_module_handlers: dict[str, _logging.Handler] = {}


def _set_logging_level(level: str | None) -> None:
    logger = _logging.getLogger("jax")
    for handler in _level_handlers:
        logger.removeHandler(handler)
    _level_handlers.clear()
    if level is None:
        return
    for name in ("jax", "jaxlib"):
        _logging.getLogger(name).setLevel(level)
    if level != "NOTSET" and not logger.hasHandlers():
        _level_handlers.append(_new_handler(_logging.NOTSET))
        logger.addHandler(_level_handlers[0])
    severities = {"NOTSET": 1, "DEBUG": 0, "INFO": 0, "WARNING": 1, "ERROR": 2, "CRITICAL": 3}
    _jaxlib.utils.absl_set_min_log_level(severities[level])


def _set_debug_modules(names: str) -> None:
    for name, handler in _module_handlers.items():
        _logging.getLogger(name).removeHandler(handler)
        _logging.getLogger(name).setLevel(_logging.NOTSET)
    _module_handlers.clear()
    for name in filter(None, (part.strip() for part in names.split(","))):
        logger = _logging.getLogger(name)
        _module_handlers[name] = _new_handler(_logging.DEBUG)
        logger.addHandler(_module_handlers[name])
        logger.setLevel(_logging.DEBUG)


logging_level.hook(_set_logging_level)
debug_log_modules.hook(_set_debug_modules)
