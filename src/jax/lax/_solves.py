"""Solutions of equations whose derivatives follow from the equation: ``custom_root``, ``custom_linear_solve``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jax._api.linear import linear_transpose, linearize
from jax._base.source import api_boundary
from jax._ground.structural import instantiate_zeros
from jax._language import rules
from jax._language.evaluation import eval_jaxpr
from jax._language.jaxpr import ClosedJaxpr
from jax._language.primitive import Primitive
from jax._language.zeros import SymbolicZero, UndefinedPrimal, Zero
from jax._lowering.emit import emit_jaxpr
from jax._lowering.rules import register_lowering
from jax._transforms.batch import AxisData, match_axis
from jax._transforms.batch_jaxpr import batch_jaxpr_axes
from jax._transforms.jvp import jvp_jaxpr
from jax.custom_derivatives import custom_jvp
from jax.lax._arithmetic import neg, sub
from jax.lax._control_common import Staged, check_callable, describe, operands, pieces, stage
from jax.lax._eager_calls import eager_calls
from jax.tree_util import tree_flatten, tree_unflatten, treedef_children, treedef_tuple

# --- custom_root ----------------------------------------------------------------------------------------------------

@api_boundary
def custom_root(f: Callable[..., Any], initial_guess: Any, solve: Callable[..., Any],
                tangent_solve: Callable[..., Any], has_aux: bool = False) -> Any:
    """A root of ``f``, found by ``solve`` and differentiated by the implicit function theorem.

    However ``solve`` works (it may use :func:`while_loop`), the root can be differentiated in both modes with respect
    to whatever ``f`` closes over.

    Args:
      f: from a tree of arrays to one of the same structure and shapes; the root is where it is zero.
      initial_guess: where ``solve`` starts.
      solve: ``(f, initial_guess) -> root``, or ``(root, aux)`` with ``has_aux``.
      tangent_solve: ``(g, y) -> x`` with ``g(x) = y`` for a linear function ``g``. For scalars that is
        ``lambda g, y: y / g(1.0)``; for small vectors ``lambda g, y: jnp.linalg.solve(jax.jacobian(g)(y), y)``. For
        reverse mode it must itself be differentiable in that mode.
      has_aux: whether ``solve`` returns other values beside the root; their derivatives are zero.

    Returns:
      The root, or ``(root, aux)``.

    Raises:
      TypeError: the results of ``f`` or ``solve`` have another structure than the guess.

    >>> import jax
    >>> from jax import lax
    >>> def square_root(x):
    ...     newton = lambda f, y: lax.fori_loop(0, 9, lambda _, y: y - (y * y - x) / (2 * y), y)
    ...     return lax.custom_root(lambda y: y * y - x, 1.0, newton, lambda g, y: y / g(1.0))
    >>> float(jax.grad(square_root)(4.0))
    0.25
    """
    for name, fun in (("f", f), ("solve", solve), ("tangent_solve", tangent_solve)):
        check_callable("custom_root", name, fun)
    leaves, tree = tree_flatten(initial_guess)
    leaves, avals = operands("custom_root", "initial_guess", tree, leaves)
    in_tree, n = treedef_tuple((tree,)), len(leaves)
    equation = stage("custom_root", f, in_tree, avals)
    _check_like("custom_root", "f", f, equation.out_tree, equation.jaxpr.out_avals, tree, avals, "initial_guess")
    solution = stage("custom_root", lambda x: solve(f, x), in_tree, avals)
    _check_like("custom_root", "solve", solve, _main_tree(solution, has_aux, solve), solution.jaxpr.out_avals[:n], tree,
                avals, "initial_guess")

    @custom_jvp
    def root(consts: list[Any], solve_consts: list[Any], guess: list[Any]) -> list[Any]:
        return eval_jaxpr(solution.jaxpr.jaxpr, solution.jaxpr.consts, *solve_consts, *guess)

    def root_jvp(primals: Any, tangents: Any) -> Any:
        consts, solve_consts, guess = primals
        found = root(consts, solve_consts, guess)
        at = found[:n]
        moved = _push(equation.jaxpr, [*consts, *at], [*tangents[0], *(SymbolicZero.from_primal_value(x) for x in at)])
        if all(type(t) is Zero for t in moved):
            return found, [Zero.from_primal_value(x) for x in found]

        def at_root(x: Any) -> Any:
            out = eval_jaxpr(equation.jaxpr.jaxpr, equation.jaxpr.consts, *consts, *tree_flatten(x)[0])
            return tree_unflatten(tree, out)

        _, linear = linearize(at_root, tree_unflatten(tree, at))
        right = tree_unflatten(tree, [instantiate_zeros(t) for t in moved])
        step = tree_flatten(custom_linear_solve(linear, right, tangent_solve, tangent_solve))[0]
        return found, [*map(neg, step), *(Zero.from_primal_value(x) for x in found[n:])]

    root.defjvp(root_jvp, symbolic_zeros=True)
    return tree_unflatten(solution.out_tree, root(list(equation.consts), list(solution.consts), leaves))


def _push(closed: ClosedJaxpr, primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """The tangents of the outputs; tangents in and out can be symbolic zeros."""
    nonzeros = [type(t) not in (Zero, SymbolicZero) for t in tangents]
    if True not in nonzeros:
        return [Zero(a.to_tangent_aval()) for a in closed.out_avals]
    new, marks = jvp_jaxpr(closed, nonzeros, False)
    given = [t for t, nz in zip(tangents, nonzeros, strict=True) if nz]
    outs = iter(eval_jaxpr(new.jaxpr, new.consts, *primals, *given)[len(marks):])
    return [next(outs) if m else Zero(a.to_tangent_aval()) for m, a in zip(marks, closed.out_avals, strict=True)]


def _main_tree(staged: Staged, has_aux: bool, solve: Any) -> Any:
    """The structure of a solver's result without auxiliary values."""
    if not has_aux:
        return staged.out_tree
    children = treedef_children(staged.out_tree)
    if len(children) != 2:
        raise TypeError(f"with has_aux=True the solver must return a pair (solution, aux), but {describe(solve)} "
                        f"returned {staged.out_tree}")
    return children[0]


def _check_like(api: str, name: str, fun: Any, tree: Any, avals: Sequence[Any], wanted: Any,
                wanted_avals: Sequence[Any], like: str) -> None:
    """Raises unless results have the structure and the shapes of ``like``."""
    if tree != wanted:
        raise TypeError(f"lax.{api}: the result of {name} must have the structure of {like}, but {describe(fun)} "
                        f"returned {tree} for {wanted}")
    for i, (a, b) in enumerate(zip(avals, wanted_avals, strict=True)):
        if a.shape != b.shape:
            raise ValueError(f"lax.{api}: the result of {name} must have the shapes of {like}, but {describe(fun)} "
                             f"returned {a.str_short()} for {b.str_short()} (array {i})")


# --- custom_linear_solve --------------------------------------------------------------------------------------------

class LinearSolveParts(NamedTuple):
    """One entry for each function of a linear solve: jaxprs, or numbers of constants.

    The last two are missing where the solve cannot be transposed.
    """

    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any

    def transposed(self) -> LinearSolveParts:
        """The same of the transposed system."""
        return LinearSolveParts(self.vecmat, self.matvec, self.transpose_solve, self.solve)


@api_boundary
def custom_linear_solve(matvec: Callable[..., Any], b: Any, solve: Callable[..., Any],
                        transpose_solve: Callable[..., Any] | None = None, symmetric: bool = False,
                        has_aux: bool = False) -> Any:
    """The solution ``x`` of ``matvec(x) = b``, with derivatives that are solutions of linear systems too.

    Args:
      matvec: a linear function from a tree of arrays like ``b`` to another one.
      b: the right-hand side.
      solve: ``(matvec, b) -> x``, or ``(x, aux)`` with ``has_aux``. It need not be differentiable.
      transpose_solve: ``(vecmat, b) -> x`` solves the transposed system, whose function is ``vecmat``; reverse mode
        needs it.
      symmetric: ``matvec`` is symmetric, so ``solve`` solves the transposed system as well.
      has_aux: whether ``solve`` (and ``transpose_solve``) return other values beside the solution.

    Returns:
      ``x``, or ``(x, aux)``. In forward mode ``solve`` runs once more for the tangent.

    Raises:
      TypeError, ValueError: results of ``matvec`` or ``solve`` differ from ``b`` in structure or shapes.

    >>> import jax
    >>> from jax import lax
    >>> half = lambda a, b: lax.custom_linear_solve(lambda x: a * x, b, lambda _, b: b / a, symmetric=True)
    >>> float(jax.grad(half)(2.0, 3.0))
    -0.75
    """
    check_callable("custom_linear_solve", "matvec", matvec)
    check_callable("custom_linear_solve", "solve", solve)
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    leaves, tree = tree_flatten(b)
    leaves, avals = operands("custom_linear_solve", "b", tree, leaves)
    in_tree, n = treedef_tuple((tree,)), len(leaves)

    def staged(name: str, fun: Callable[..., Any], shown: Any, aux: bool) -> Staged:
        found = stage("custom_linear_solve", fun, in_tree, avals)
        _check_like("custom_linear_solve", name, shown, _main_tree(found, aux, shown), found.jaxpr.out_avals[:n], tree,
                    avals, "b")
        return found

    forward = staged("matvec", matvec, matvec, False)
    direct = staged("solve", lambda b: solve(matvec, b), solve, has_aux)
    backward = back = None
    if transpose_solve is not None:
        if symmetric:
            vecmat, backward = matvec, forward
        else:
            example = tree_unflatten(tree, leaves)

            def vecmat(x: Any) -> Any:
                return linear_transpose(matvec, example)(x)[0]
            backward = staged("matvec", vecmat, matvec, False)
        back = staged("transpose_solve", lambda b: transpose_solve(vecmat, b), transpose_solve, has_aux)
    parts = (forward, backward, direct, back)
    consts = [x for p in parts if p is not None for x in p.consts]
    outs = linear_solve_p.bind(
        *consts, *leaves, const_lengths=LinearSolveParts(*[0 if p is None else len(p.consts) for p in parts]),
        jaxprs=LinearSolveParts(*[None if p is None else p.jaxpr for p in parts]))
    return tree_unflatten(direct.out_tree, outs)


# Operands: the constants of the four functions, then the right-hand side; results: the solution, then auxiliary values.
linear_solve_p = Primitive("custom_linear_solve", multiple_results=True)
linear_solve_p.abstract_cache = None
custom_linear_solve_p = linear_solve_p


def _abstract(*avals: Any, jaxprs: LinearSolveParts, **params: Any) -> Any:
    return jaxprs.solve.out_avals, jaxprs.solve.effects


def _lower(ctx: Any, *args: Any, const_lengths: LinearSolveParts, jaxprs: LinearSolveParts) -> list[Any]:
    _, _, consts, _, b = pieces(args, *const_lengths)
    return emit_jaxpr(ctx, jaxprs.solve.jaxpr, jaxprs.solve.consts, [*consts, *b])


def _jvp(primals: Any, tangents: Any, *, const_lengths: LinearSolveParts, jaxprs: LinearSolveParts) -> Any:
    """From ``A x = b`` follows ``A dx = db - dA x``."""
    consts, b = primals[:sum(const_lengths)], primals[sum(const_lengths):]
    n = const_lengths.matvec
    outs = linear_solve_p.bind(*primals, const_lengths=const_lengths, jaxprs=jaxprs)
    x = outs[:len(b)]
    of_b = tangents[sum(const_lengths):]
    moved = _push(jaxprs.matvec, [*consts[:n], *x], [*tangents[:n], *(Zero.from_primal_value(v) for v in x)])
    right = [_minus(t, m) for t, m in zip(of_b, moved, strict=True)]
    if all(type(t) is Zero for t in right):
        return outs, [Zero.from_primal_value(o) for o in outs]
    step = linear_solve_p.bind(*consts, *map(instantiate_zeros, right), const_lengths=const_lengths, jaxprs=jaxprs)
    return outs, [*step[:len(b)], *(Zero.from_primal_value(o) for o in outs[len(b):])]


def _minus(x: Any, y: Any) -> Any:
    if type(y) is Zero:
        return x
    return neg(y) if type(x) is Zero else sub(x, y)


def _transpose(cts: Any, *args: Any, const_lengths: LinearSolveParts, jaxprs: LinearSolveParts) -> list[Any]:
    *consts, b = pieces(args, *const_lengths)
    if any(type(c) is UndefinedPrimal for part in consts for c in part):
        raise NotImplementedError("lax.custom_linear_solve is linear in its right-hand side alone; it cannot be "
                                  "transposed with respect to what matvec or solve close over")
    num_consts = sum(const_lengths)
    if all(type(c) is Zero for c in cts):
        return [None] * num_consts + [Zero(x.aval.to_cotangent_aval()) for x in b]
    if jaxprs.transpose_solve is None:
        raise TypeError("reverse-mode differentiation of lax.custom_linear_solve needs transpose_solve; pass it, or "
                        "symmetric=True if matvec is symmetric")
    new = LinearSolveParts(*consts).transposed()
    outs = linear_solve_p.bind(
        *[x for part in new for x in part], *map(instantiate_zeros, cts[:len(b)]),
        const_lengths=const_lengths.transposed(), jaxprs=jaxprs.transposed())
    return [None] * num_consts + [o if type(x) is UndefinedPrimal else None
                                  for o, x in zip(outs, b, strict=False)]


def _batch(axis: AxisData, args: Any, dims: Any, *, const_lengths: LinearSolveParts, jaxprs: LinearSolveParts) -> Any:
    num_consts = sum(const_lengths)
    const_dims = pieces(dims[:num_consts], *const_lengths)[:4]
    b = [match_axis(axis.size, d, 0, x) for x, d in zip(args[num_consts:], dims[num_consts:], strict=True)]
    new = [None if j is None else batch_jaxpr_axes(j, axis, [*d, *[0] * len(b)], True)[0]
           for j, d in zip(jaxprs, const_dims, strict=True)]
    outs = linear_solve_p.bind(*args[:num_consts], *b, const_lengths=const_lengths, jaxprs=LinearSolveParts(*new))
    return outs, [0] * len(outs)


linear_solve_p.def_effectful_abstract_eval(_abstract)
linear_solve_p.def_impl(eager_calls(linear_solve_p, "jaxprs"))
register_lowering(linear_solve_p, _lower, cacheable=False)
rules.primitive_jvps[linear_solve_p] = _jvp
rules.primitive_transposes[linear_solve_p] = _transpose
rules.fancy_primitive_batchers[linear_solve_p] = _batch
