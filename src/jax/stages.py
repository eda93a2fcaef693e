"""The stages of a jitted function: traced, lowered to StableHLO, compiled.

``jax.jit(f).trace(*args)`` gives a :class:`Traced`, its ``lower()`` a :class:`Lowered`, and that one's ``compile()``
a :class:`Compiled`, which is called like ``f`` with arguments of the same types.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from jax import _tree_compare
from jax._base import _jaxlib
from jax._base._jaxlib import mlir_io, xla
from jax._base.source import api_boundary
from jax._dispatch import checks, program, references, spread
from jax._language.avals import ShapedArray, register_aval, typeof
from jax._language.jaxpr import ClosedJaxpr
from jax._language.refs import AbstractRef
from jax._language.trace import Tracer
from jax._lowering.types import constant_makers
from jax._runtime import backend, transfer
from jax._runtime import compile as compiling
from jax._runtime.layout import Format, Layout
from jax.sharding import PartitionSpec, Sharding
from jax.tree_util import keystr, tree_flatten, tree_unflatten


@runtime_checkable
class Wrapped(Protocol):
    """What ``jax.jit`` returns: a function with ``lower`` and ``trace``."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The program for arguments of these types, in StableHLO; arrays or :class:`ShapeDtypeStruct`."""
        raise NotImplementedError

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The function traced at arguments of these types, of which :meth:`Traced.lower` makes a program."""
        raise NotImplementedError


class ArgInfo:
    """Type of an argument, and whether its memory is donated."""

    __slots__ = ("_aval", "donated")

    def __init__(self, _aval: Any, donated: bool) -> None:
        self._aval = _aval
        self.donated = donated

    @property
    def shape(self) -> tuple[int, ...]:
        """The argument's shape."""
        return self._aval.shape

    @property
    def dtype(self) -> Any:
        """The argument's dtype."""
        return self._aval.dtype

    def __repr__(self) -> str:
        return f"ArgInfo({self._aval.str_short()}, donated={self.donated})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArgInfo) and (self._aval, self.donated) == (other._aval, other.donated)

    def __hash__(self) -> int:
        return hash((self._aval, self.donated))


class OutInfo:
    """Shape, dtype and placement of an output."""

    __slots__ = ("shape", "dtype", "sharding", "weak_type")

    def __init__(self, shape: tuple[int, ...], dtype: Any, sharding: Any = None, weak_type: bool = False) -> None:
        self.shape = shape
        self.dtype = dtype
        self.sharding = sharding
        self.weak_type = weak_type

    def __repr__(self) -> str:
        where = f", sharding={self.sharding}" if self.sharding is not None else ""
        return f"OutInfo(shape={self.shape}, dtype={self.dtype}{where})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutInfo) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))


class ShapeDtypeStruct:
    """A stand-in for an array of which only the type matters (``eval_shape``, ``lower``).

    Args:
      shape: a sequence of integers.
      dtype: anything that names a dtype.
      sharding: where such an array would live, or ``None``.
      weak_type: whether the dtype gives way in promotions, as that of a Python scalar does.
      vma, manual_axis_type: mesh axes over which the value varies (only recorded).
      is_ref: describes a mutable reference.
    """

    __slots__ = ("shape", "dtype", "sharding", "weak_type", "vma", "is_ref", "_memory_space")

    shape: tuple[Any, ...]
    dtype: Any
    sharding: Any
    weak_type: bool
    vma: Any
    is_ref: bool
    _memory_space: Any

    def __init__(self, shape: Sequence[int], dtype: Any, *, sharding: Any = None, weak_type: bool = False,
                 vma: Any = None, manual_axis_type: Any = None, is_ref: bool = False, _memory_space: Any = None) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be given, got None")
        if not (sharding is None or isinstance(sharding, (Sharding, PartitionSpec)) or hasattr(sharding, "sharding")):
            raise ValueError("ShapeDtypeStruct: sharding must be a jax.sharding.Sharding, a PartitionSpec, a Format or "
                             f"None, got {sharding!r} of type {type(sharding).__name__}")
        aval = ShapedArray(tuple(shape), dtype)
        fields = (aval.shape, aval.dtype, sharding, bool(weak_type), vma if vma is not None else manual_axis_type, is_ref,
                  _memory_space)
        for name, value in zip(self.__slots__, fields, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        # Equal ones are one key of every cache of traces.
        raise RuntimeError(f"ShapeDtypeStruct objects cannot be changed; make another: s.update({name}={value!r})")

    def __setstate__(self, state: Any) -> None:
        for name, value in state[1].items():
            object.__setattr__(self, name, value)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        out = 1
        for d in self.shape:
            out *= d
        return out

    @property
    def manual_axis_type(self) -> Any:
        """Another name of ``vma``."""
        return self.vma

    @property
    def format(self) -> Any:
        """Another name of ``sharding``."""
        return self.sharding

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a ShapeDtypeStruct without axes")
        return self.shape[0]

    @staticmethod
    def like(x: Any) -> ShapeDtypeStruct:
        """What describes ``x``, an array or scalar: its shape, dtype and weak type, and where it is tied to.

        Raises:
          TypeError: ``x`` is no array.

        >>> import jax
        >>> jax.ShapeDtypeStruct.like(2.0)
        ShapeDtypeStruct(shape=(), dtype=float32, weak_type=True)
        """
        if isinstance(x, ShapeDtypeStruct):
            return x
        aval = typeof(x)
        return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type,
                                sharding=x.sharding if getattr(x, "committed", False) is True else None)

    def update(self, **kwargs: Any) -> ShapeDtypeStruct:
        """A copy with other fields."""
        fields = {"shape": self.shape, "dtype": self.dtype, "sharding": self.sharding, "weak_type": self.weak_type,
                  "vma": self.vma, "is_ref": self.is_ref}
        unknown = set(kwargs) - set(fields)
        if unknown:
            raise ValueError(f"ShapeDtypeStruct has no fields {sorted(unknown)}")
        return ShapeDtypeStruct(**{**fields, **kwargs})

    def __repr__(self) -> str:
        extra = ", weak_type=True" if self.weak_type else ""
        extra += f", sharding={self.sharding}" if self.sharding is not None else ""
        extra += ", is_ref=True" if self.is_ref else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype}{extra})"

    __str__ = __repr__

    def _key(self) -> tuple[Any, ...]:
        return (self.shape, self.dtype, self.sharding, self.weak_type, self.is_ref)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _has_no_value(x: Any, *args: Any) -> Any:
    raise TypeError(f"{x!r} has a type and no value; it stands for an array in jax.eval_shape, make_jaxpr and lower, and "
                    "cannot be computed with")


def _described(x: ShapeDtypeStruct) -> Any:
    aval = ShapedArray(x.shape, x.dtype, x.weak_type)
    return AbstractRef(aval) if x.is_ref else aval


register_aval(ShapeDtypeStruct, _described)
transfer.put_handlers[ShapeDtypeStruct] = _has_no_value
constant_makers[ShapeDtypeStruct] = _has_no_value


class Traced:
    """A function traced to a jaxpr at given argument types."""

    __slots__ = ("_params", "in_tree", "out_tree", "_consts", "fun_name", "_layouts")

    def __init__(self, params: dict[str, Any], in_tree: Any, out_tree: Any, consts: list[Any], fun_name: str,
                 layouts: Sequence[Any] = ()) -> None:
        self._params = params
        self.in_tree = in_tree
        self.out_tree = out_tree
        self._consts = consts
        self.fun_name = fun_name
        self._layouts = layouts

    def _place(self) -> spread.Spread | None:
        """Where the program runs, if its arguments, its equations or its options ask for several devices."""
        params = self._params
        jaxpr, given = params["jaxpr"], params["device"]
        pure = references.pure_program(jaxpr)
        if pure is not None:
            jaxpr, given = pure.jaxpr, references.placement_of(pure, given)
        placement = given if isinstance(given, spread.Placement) else None
        layouts = self._layouts or [None] * len(jaxpr.jaxpr.invars)
        if placement is None and not any(layouts) and spread.place_in(jaxpr) is None:
            return None
        return spread.plan(layouts, jaxpr, params["name"], placement)

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """The program."""
        return self._params["jaxpr"]

    @property
    def effects(self) -> Any:
        """The effects of the function."""
        return self.jaxpr.effects

    @property
    def in_avals(self) -> Any:
        """The types of the arguments, a tree like them."""
        return tree_unflatten(self.in_tree, self.jaxpr.in_avals[len(self._consts):])

    @property
    def out_avals(self) -> Any:
        """The types of the results, a tree like them."""
        return tree_unflatten(self.out_tree, self.jaxpr.out_avals)

    @property
    def args_info(self) -> Any:
        """A tree of :class:`ArgInfo`, ``(args, kwargs)``."""
        n = len(self._consts)
        return tree_unflatten(self.in_tree, [ArgInfo(a, d) for a, d in zip(
            self.jaxpr.in_avals[n:], self._params["donated_invars"][n:], strict=True)])

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """Positions, among the leaves, of donated arguments."""
        n = len(self._consts)
        return tuple(i for i, d in enumerate(self._params["donated_invars"][n:]) if d)

    @property
    def out_info(self) -> Any:
        """A tree of :class:`ShapeDtypeStruct`."""
        return tree_unflatten(self.out_tree, [ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type)
                                              for a in self.jaxpr.out_avals])

    @api_boundary
    def lower(self, *, lowering_platforms: Sequence[str] | None = None, **unknown: Any) -> Lowered:
        """StableHLO for the default platform, or for one of ``lowering_platforms``."""
        if unknown:
            raise TypeError(f"Traced.lower() got unknown options {sorted(unknown)}")
        params = self._params
        place = self._place()
        if lowering_platforms is None:
            device = place.devices[0] if place is not None else params["device"]
            lowering_platforms = (backend.lowering_platform(device or backend.default_device()),)
        lowered = program.lower_program(params["jaxpr"], params["name"], platforms=tuple(lowering_platforms),
                                        donated=params["donated_invars"], keep_unused=params["keep_unused"],
                                        place=place)
        return Lowered(lowered, self, place)


class _Stage:
    """What lowered and compiled functions share: the types at their boundary."""

    __slots__ = ("_traced",)
    _traced: Traced

    @property
    def in_tree(self) -> Any:
        return self._traced.in_tree

    @property
    def out_tree(self) -> Any:
        return self._traced.out_tree

    @property
    def in_avals(self) -> Any:
        return self._traced.in_avals

    @property
    def out_avals(self) -> Any:
        return self._traced.out_avals

    @property
    def args_info(self) -> Any:
        return self._traced.args_info

    @property
    def out_info(self) -> Any:
        return self._traced.out_info

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        return self._traced.donate_argnums


class Lowered(_Stage):
    """A function lowered to StableHLO."""

    __slots__ = ("_lowering", "_place")

    def __init__(self, lowering: Any, traced: Traced, place: Any = None) -> None:
        self._lowering = lowering
        self._traced = traced
        self._place = place

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program as text, in ``"stablehlo"`` (default) or ``"hlo"``.

        With ``debug_info`` source locations and the names of scopes are part of it.
        """
        if _is_stablehlo(dialect):
            return self._lowering.as_text(debug_info)
        computation = self._hlo()
        if not debug_info:
            return computation.as_hlo_text()
        how = _jaxlib.hlo.HloPrintOptions.short_parsable()
        how.print_metadata = True
        return computation.get_hlo_module().to_string(how)

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The program as an object: an MLIR module for ``"stablehlo"``, an XLA computation for ``"hlo"``."""
        return self._lowering.module if _is_stablehlo(dialect) else self._hlo()

    def _hlo(self) -> Any:
        return mlir_io.mlir_module_to_xla_computation(self._lowering.as_bytecode(), use_tuple_args=False,
                                                      return_tuple=False)

    @api_boundary
    def compile(self, compiler_options: dict[str, Any] | None = None, **unknown: Any) -> Compiled:
        """Compiles for the device that the program was lowered for."""
        if unknown:
            raise TypeError(f"Lowered.compile() got unknown options {sorted(unknown)}")
        params = self._traced._params
        options = {**dict(params["compiler_options"]), **(compiler_options or {})}
        compile_it = functools.partial(program.compile_lowered, self._lowering,
                                       None if self._place is not None else params["device"], tuple(options.items()),
                                       self._place)
        executable = compile_it()
        storable = functools.partial(compile_it, to_be_stored=True) if self._lowering.in_pieces else None
        return Compiled(executable, self._traced, storable)

    def cost_analysis(self) -> Any:
        """XLA's estimate of the cost before optimisation: a dict with ``flops``, ``bytes accessed`` ..."""
        return xla.hlo_module_cost_analysis(backend.get_backend(), self._hlo().get_hlo_module())


def _is_stablehlo(dialect: str | None) -> bool:
    """True for the default dialect, False for HLO; others are refused."""
    if dialect not in (None, "stablehlo", "hlo"):
        hint = "; MHLO has become StableHLO" if dialect == "mhlo" else ""
        raise ValueError(f"unknown dialect {dialect!r}: there are 'stablehlo' and 'hlo'{hint}")
    return dialect != "hlo"


class Compiled(_Stage):
    """A compiled function; call it like the original, with arguments of the types that it was compiled for."""

    __slots__ = ("_compile_storable", "_executable", "__weakref__")  # transformations refer to their function weakly

    def __init__(self, executable: Any, traced: Traced, compile_storable: Callable[[], Any] | None = None) -> None:
        self._executable = executable
        self._compile_storable = compile_storable
        self._traced = traced

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self.in_tree:
            raise self._other_structure(args, kwargs)
        self._check_types(leaves)
        operands = [*self._traced._consts, *leaves]
        self._check_places(operands)
        outs = self._executable.call(operands)
        if checks.enabled():
            checks.check_results(outs, f"jit of {self._traced.fun_name}", self._traced.jaxpr, operands)
        return tree_unflatten(self.out_tree, outs)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """The same as calling the object itself."""
        return self(*args, **kwargs)

    def _other_structure(self, args: Any, kwargs: Any) -> TypeError:
        dummies = tree_unflatten(self.in_tree, [0] * self.in_tree.num_leaves)
        found = list(_tree_compare.differences(dummies, (args, kwargs), prefix=False))
        lines = [f"  {_path_text(d.path)}: compiled for {d.left.removesuffix(' (int)')}, called with {d.right}"
                 f"{f' ({d.detail})' if d.detail else ''}" for d in found[:5]]
        listed = "\n".join(lines) or f"  compiled for {self.in_tree}"
        return TypeError(f"the function {self._traced.fun_name} was called with arguments of another structure than it was "
                         f"compiled for:\n{listed}\nPass what it was lowered with (static arguments are left out), or "
                         "compile again.")

    def _check_types(self, leaves: Sequence[Any]) -> None:
        first = len(self._traced._consts)
        info = self._traced.jaxpr.jaxpr.debug_info
        wrong = []
        for i, (x, a) in enumerate(zip(leaves, self._traced.jaxpr.in_avals[first:], strict=True)):
            if isinstance(x, Tracer):
                raise TypeError(f"the function {self._traced.fun_name} is compiled for given types, and transformations "
                                f"cannot look into it: its argument {info.arg_name(i + first)} is traced "
                                f"({x.aval.str_short()}). Call the jitted function inside jax.jit, jax.grad or jax.vmap.")
            try:
                got = typeof(x)
            except TypeError:
                raise TypeError(f"the function {self._traced.fun_name}: the argument {info.arg_name(i + first)} is "
                                f"{x!r} of type {type(x).__name__}, which is no array or scalar") from None
            if got.shape != a.shape or got.dtype != a.dtype:
                wrong.append(f"  {info.arg_name(i + first)}: compiled for {a.str_short()}, called with {got.str_short()}")
        if wrong:
            listed = "\n".join(wrong)
            hint = " (jax_enable_x64 has another value than when it was compiled.)" if "64[" in listed else ""
            raise TypeError(f"the function {self._traced.fun_name} was called with arguments of other types than it was "
                            f"compiled for:\n{listed}\nConvert them, or compile again for these types.{hint}")

    def _check_places(self, operands: Sequence[Any]) -> None:
        wrong = []
        for i, s in zip(self._executable.kept, self._executable.in_shardings, strict=True):
            x = operands[i]
            if isinstance(x, _jaxlib.ArrayImpl) and x._committed and not x._sharding.is_equivalent_to(s, x.ndim):
                name = self._traced.jaxpr.jaxpr.debug_info.arg_name(i)
                wrong.append(f"  {name} ({x.aval.str_short()}): compiled for {s}, called with {x._sharding}")
        if wrong:
            raise ValueError("\n".join((
                f"the function {self._traced.fun_name} was called with arrays in other places than it was compiled for:",
                *wrong, "Move them with jax.device_put(x, sharding), or lower it with arguments that are where these are.")))

    @property
    def out_info(self) -> Any:
        """A tree of :class:`ShapeDtypeStruct` with shardings."""
        return tree_unflatten(self.out_tree, [
            ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type, sharding=s) for a, s in zip(
                self._traced.jaxpr.out_avals, self._executable.out_shardings, strict=True)])

    def as_text(self) -> str:
        """The optimised program in HLO text."""
        return "\n\n".join(m.to_string() for m in self._executable.loaded.hlo_modules())

    def cost_analysis(self) -> Any:
        """XLA's estimate of the compiled program's cost: a dict with ``flops``, ``bytes accessed`` ..."""
        return self._executable.loaded.cost_analysis()

    def memory_analysis(self) -> Any:
        """Sizes in bytes: ``argument_size_in_bytes``, ``output_size_in_bytes``, ``temp_size_in_bytes`` ...

        None where XLA has no such analysis.
        """
        return compiling.memory_analysis(self._executable.loaded)

    def runtime_executable(self) -> Any:
        """The loaded XLA executable."""
        return self._executable.loaded

    @property
    def input_shardings(self) -> Any:
        """A tree of shardings, ``(args, kwargs)``; ``None`` for arguments that the program does not read."""
        n = len(self._traced._consts)
        at = dict(zip(self._executable.kept, self._executable.in_shardings, strict=True))
        return tree_unflatten(self.in_tree, [at.get(i + n) for i in range(self.in_tree.num_leaves)])

    @property
    def output_shardings(self) -> Any:
        """A tree of the shardings of the results."""
        return tree_unflatten(self.out_tree, list(self._executable.out_shardings))

    @property
    def input_formats(self) -> Any:
        """A tree of :class:`jax.experimental.layout.Format`, like :attr:`input_shardings` with layouts."""
        n, first = len(self._traced._consts), len(self._executable.consts)
        layouts = self._executable.loaded.get_parameter_layouts()[len(self._executable.ordered_effects) + first:]
        at = {i: Format(Layout.from_pjrt_layout(x), s) for i, s, x in zip(
            self._executable.kept, self._executable.in_shardings, layouts, strict=True)}
        return tree_unflatten(self.in_tree, [at.get(i + n) for i in range(self.in_tree.num_leaves)])

    @property
    def output_formats(self) -> Any:
        """A tree of the layouts and shardings of the results."""
        layouts = self._executable.loaded.get_output_layouts()
        first = len(layouts) - len(self._executable.out_shardings)  # after tokens, and the values of references
        return tree_unflatten(self.out_tree, [Format(Layout.from_pjrt_layout(x), s) for s, x in zip(
            self._executable.out_shardings, layouts[first:], strict=True)])


def _path_text(path: Sequence[Any]) -> str:
    """``args[0]['w']`` for a place in the tree of all arguments."""
    if not path:
        return "the arguments"
    return ("args" if getattr(path[0], "idx", 0) == 0 else "kwargs") + keystr(tuple(path[1:]))
