"""From a jitted function and types of arguments to an :class:`~jax.export.Exported`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jax._api.jit import jit
from jax._api.reverse import vjp
from jax._base import config
from jax._base.source import api_boundary
from jax._dispatch.program import lower_program
from jax._language.evaluation import jaxpr_as_fun
from jax._language.refs import is_ref_type
from jax._language.trace import Tracer
from jax._runtime import backend
from jax.dtypes import float0
from jax.export._checks import DisabledSafetyCheck, check_custom_calls
from jax.export._exported import Exported, maximum_supported_calling_convention_version
from jax.export._modules import join_platforms, write_module
from jax.stages import ShapeDtypeStruct, Traced
from jax.tree_util import tree_structure

_PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def default_export_platform() -> str:
    """The platform that programs are exported for if none is given: that of the default device.

    >>> from jax import export
    >>> export.default_export_platform()
    'cpu'
    """
    return backend.lowering_platform(backend.default_device())


@api_boundary
def export(fun_jit: Any, *, platforms: Sequence[str] | None = None, disabled_checks: Sequence[DisabledSafetyCheck] = (),
           _override_lowering_rules: Any = None) -> Callable[..., Exported]:
    """A function from types of arguments to the program for them, as an :class:`Exported`.

    The program is plain StableHLO: rewrites that are good for one machine (``jax_cpu_fusion_fences``,
    ``jax_cpu_fast_trigonometry``, ``jax_cpu_fast_convolutions``) are left out, and arrays that the function closes over are
    part of it. It can be read by later versions, and by earlier ones back to what StableHLO promises.

    Args:
      fun_jit: what ``jax.jit`` returned. Static arguments are given by value.
      platforms: which the program is for, of ``"cpu"``, ``"cuda"``, ``"rocm"`` and ``"tpu"``; by default that of the default
        device. There need not be such devices here.
      disabled_checks: checks that are not made, see :class:`DisabledSafetyCheck`.

    Returns:
      A function that takes arrays, or :class:`jax.ShapeDtypeStruct` in place of arrays.

    Raises:
      ValueError: not a jitted function; an unknown platform; custom calls without a promise of compatibility.
      NotImplementedError: callbacks, references, several devices, or an operation that a platform does not have.

    Deviations: dimensions cannot be symbolic.

    >>> import jax, jax.numpy as jnp
    >>> from jax import export
    >>> exported = export.export(jax.jit(jnp.sin))(jax.ShapeDtypeStruct((3,), jnp.float32))
    >>> again = export.deserialize(exported.serialize())
    >>> again.call(jnp.zeros(3)).tolist()
    [0.0, 0.0, 0.0]
    """
    if not hasattr(fun_jit, "trace") or not hasattr(fun_jit, "lower"):
        raise ValueError(f"export takes what jax.jit returned, as in export(jax.jit(f)); got {fun_jit!r}")
    if _override_lowering_rules is not None:
        raise NotImplementedError("export: lowering rules cannot be overridden for one export; register them with "
                                  "jax.interpreters.mlir.register_lowering")
    names = _checked_platforms(platforms)
    checks = tuple(disabled_checks)
    for check in checks:
        if not isinstance(check, DisabledSafetyCheck):
            raise TypeError(f"export: disabled_checks takes instances of DisabledSafetyCheck, got {check!r}")

    @api_boundary
    def do_export(*args_specs: Any, **kwargs_specs: Any) -> Exported:
        with _portable():
            return export_traced(fun_jit.trace(*args_specs, **kwargs_specs), names or (default_export_platform(),), checks)
    return do_export


def _checked_platforms(platforms: Any) -> tuple[str, ...]:
    if isinstance(platforms, str):
        raise ValueError(f"export: platforms takes a sequence of names, as in platforms=[{platforms!r}]")
    names = tuple(platforms or ())
    for p in names:
        if p not in _PLATFORMS:
            how = "; the name of GPUs is 'cuda' or 'rocm'" if p in ("gpu", "GPU") else ""
            raise ValueError(f"export: unknown platform {p!r}; there are {', '.join(map(repr, _PLATFORMS))}{how}")
    return tuple(dict.fromkeys(names))


@contextlib.contextmanager
def _portable() -> Iterator[None]:
    """The settings under which programs are lowered: nothing that holds for this machine only."""
    with config.cpu_fusion_fences(False), config.cpu_group_pieces(False), config.cpu_fast_trigonometry(False), \
            config.cpu_fast_convolutions(False), config.cpu_radix_sort(False), config.cpu_sorting_networks(False), \
            config.embedded_constants_max_bytes(2 ** 62), config.captured_constants_warn_bytes(-1):
        yield


def export_traced(traced: Traced, platforms: tuple[str, ...], checks: tuple[DisabledSafetyCheck, ...],
                  float0_results: Sequence[Any] | None = None) -> Exported:
    """The program of a traced function, in a form to be kept.

    Args:
      float0_results: the types of all results, where those of dtype float0 have been left out of the function.
    """
    name, closed = traced.fun_name, traced.jaxpr
    _refuse_unsupported(traced)
    blobs, texts, kept = [], [], ()
    for platform in platforms:
        lowered = lower_program(closed, name, platforms=(platform,), keep_unused=traced._params["keep_unused"])
        try:
            check_custom_calls(lowered.module, name, checks)
            kept = lowered.kept_var_idx
            texts.append(lowered.as_text())  # without locations, which may differ
            blobs.append(blobs[texts.index(texts[-1])] if texts[-1] in texts[:-1] else write_module(lowered.module))
        finally:
            lowered.release()
    several = len(set(texts)) > 1
    blob = join_platforms(blobs) if several else blobs[0]
    in_avals = [a.strip_weak_type() for a in closed.in_avals]
    out_avals = [a.strip_weak_type() for a in (closed.out_avals if float0_results is None else float0_results)]
    out_tree = traced.out_tree if float0_results is None else tree_structure(tuple(out_avals))
    nothing_in, nothing_out = (None,) * len(in_avals), (None,) * len(out_avals)
    return Exported(
        name, traced.in_tree, tuple(in_avals), out_tree, tuple(out_avals), nothing_in, nothing_out, nothing_in, nothing_out,
        1, platforms, (), (), checks, blob, maximum_supported_calling_convention_version, kept, several,
        lambda exported: _export_vjp(exported, closed))


def _refuse_unsupported(traced: Traced) -> None:
    name, closed = traced.fun_name, traced.jaxpr
    if any(isinstance(c, Tracer) for c in traced._consts):
        raise ValueError(f"export of {name}: it closes over values that are being traced; pass them as arguments")
    if any(map(is_ref_type, closed.in_avals)) or traced._consts:
        raise NotImplementedError(f"export of {name}: it takes references or closes over them; take and return "
                                  "arrays instead")
    if traced._place() is not None:
        raise NotImplementedError(f"export of {name}: its arguments, results or parts are laid out over a mesh of "
                                  "devices, and only programs for one device can be exported. Leave out the shardings.")
    if any(getattr(a, "dtype", None) == float0 for a in closed.out_avals):
        raise NotImplementedError(f"export of {name}: a result has dtype float0, of which there are no arrays on devices; "
                                  "leave it out")


def _export_vjp(exported: Exported, closed: Any) -> Exported:
    """The derivative of the function of leaves that ``closed`` computes."""
    flat = jaxpr_as_fun(closed)
    n = len(exported.in_avals)
    tangents = [a.to_tangent_aval() for a in exported.out_avals]
    cotangents = [a.to_tangent_aval() for a in exported.in_avals]

    def fun_vjp(*args: Any) -> tuple[Any, ...]:
        found = vjp(lambda *leaves: tuple(flat(*leaves)), *args[:n])[1](tuple(args[n:]))
        return tuple([ct for ct in found if getattr(ct, "dtype", None) != float0])

    fun_vjp.__name__ = fun_vjp.__qualname__ = f"{exported.fun_name}_vjp"
    specs = [ShapeDtypeStruct(a.shape, a.dtype) for a in (*exported.in_avals, *tangents)]
    with _portable():
        traced = jit(fun_vjp).trace(*specs)
        return export_traced(traced, exported.platforms, exported.disabled_safety_checks, cotangents)


__all__ = ["default_export_platform", "export"]
