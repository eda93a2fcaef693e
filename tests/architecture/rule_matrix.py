"""The primitive x rule matrix: `python -m tests.architecture.rule_matrix` prints it."""

from __future__ import annotations

from collections.abc import Iterable

from tests.architecture.rule_blanks import BLANKS

COLUMNS = ("abstract", "lowering", "jvp", "transpose", "batching")


def primitives() -> list:
    """Every primitive that this package makes, sorted by name."""
    import jax
    import jax.custom_batching
    import jax.debug
    import jax.experimental.pallas
    import jax.ffi
    import jax.numpy
    import jax.random
    import jax.scipy.linalg
    import jax.scipy.special  # noqa: F401
    from jax._language.primitive import every_primitive

    return sorted((p for p in every_primitive if not p.name.startswith("test_")), key=lambda p: p.name)


def rules_of(primitive) -> dict[str, bool]:
    """Which of the rules the primitive has."""
    from jax._language import rules
    from jax._language.primitive import Primitive
    from jax._lowering.rules import elementwise_ops, lowerings, platform_lowerings

    unset = Primitive._no_abstract_eval
    return {
        "abstract": getattr(primitive.abstract_eval, "__func__", None) is not unset,
        "lowering": any(primitive in t for t in (lowerings, elementwise_ops, *platform_lowerings.values())),
        "jvp": primitive in rules.primitive_jvps or primitive in rules.primitive_linearizations,
        "transpose": primitive in rules.primitive_transposes,
        "batching": primitive in rules.primitive_batchers or primitive in rules.fancy_primitive_batchers,
    }


def reason(name: str, column: str) -> str | None:
    """Why this rule of this primitive may be missing."""
    for why, names in BLANKS[column].items():
        if name in names.split():
            return why
    return None


def table(matrix: Iterable[tuple[str, dict[str, bool]]]) -> str:
    """One line for each primitive: `x` has the rule, `.` is explained, `?` is not."""
    lines = [f"{'primitive':36}" + "".join(f"{column:>11}" for column in COLUMNS)]
    for name, has in matrix:
        marks = ("x" if has[c] else "." if reason(name, c) else "?" for c in COLUMNS)
        lines.append(f"{name:36}" + "".join(f"{mark:>11}" for mark in marks))
    return "\n".join(lines)


def matrix() -> list[tuple[str, dict[str, bool]]]:
    """(name, rules) of every primitive."""
    return [(p.name, rules_of(p)) for p in primitives()]


if __name__ == "__main__":
    print(table(matrix()))
