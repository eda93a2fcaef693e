"""What a plan is made of: measures in programs in groups."""

from __future__ import annotations

from dataclasses import dataclass

# Whom we are compared with, in the order of tables and charts. "first" is our own first run, for what is to be
# faster the second time.
PEERS = ("reference", "numpy", "torch", "first")
PEER_TITLES = {"reference": "the reference", "numpy": "NumPy", "torch": "PyTorch", "first": "our first run"}


@dataclass(frozen=True)
class Measure:
    """One row of the table. The numbers are levels: the largest acceptable ratio of our time and that of a peer.

    ``None`` sets no level; what was measured is shown in any case. Rows of one ``section`` stand together under its name.
    """

    name: str
    title: str
    reference: float | None = None
    numpy: float | None = None
    torch: float | None = None
    first: float | None = None
    section: str = ""

    def level(self, peer: str) -> float | None:
        return getattr(self, peer)


@dataclass(frozen=True)
class Program:
    """A measurement program and the measures it reports in one process.

    ``heavy`` programs take minutes, ``suite`` programs run when asked for. ``torch`` is the module, and its arguments,
    that measures the same in PyTorch. ``reference=False`` leaves the reference out.
    """

    module: str
    measures: tuple[Measure, ...]
    rounds: int
    heavy: bool = False
    arguments: tuple[str, ...] = ()
    suite: bool = False
    torch: tuple[str, ...] = ()
    reference: bool = True

    @property
    def name(self) -> str:
        return " ".join((self.module.rpartition(".")[2], *self.arguments))


@dataclass(frozen=True)
class Group:
    """Programs whose measures share a chart. ``note`` says below it what the operands are, in English and Chinese."""

    name: str
    title: str
    title_zh: str
    programs: tuple[Program, ...]
    note: str = ""
    note_zh: str = ""
