"""Charts of results: one for each group, horizontal bars of ratios on a logarithmic axis. Needs matplotlib."""

from __future__ import annotations

import io
import math
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.plan import PEER_TITLES
from benchmarks.records import GroupResults, Results, overview
from benchmarks.runner import Row


class Colours(NamedTuple):
    """What a chart is painted with, for a page of one brightness."""

    ground: str
    text: str
    faint: str
    missed: str
    peers: dict[str, str]


LIGHT = Colours("#ffffff", "#24292f", "#d0d7de", "#c62828",
                {"reference": "#00897b", "numpy": "#3f6fb5", "torch": "#e07b39", "first": "#8e5bb0"})
DARK = Colours("#1e2029", "#dfe2ea", "#454a59", "#ff8a80",
               {"reference": "#4db6ac", "numpy": "#82aaf0", "torch": "#ffab70", "first": "#c79be6"})

_WIDTH = 9.0  # inches
_BAR = 0.21  # inches, and all other heights
_GAP = 0.13
_HEADER = 0.36
_TITLE_COLUMNS = 40
_COLOURS_KEPT = 128  # charts have few colours, and a palette makes small files


def write(results: Results, folder: Path, dark: bool = False) -> list[Path]:
    """Charts of all groups and an overview, as ``NAME.png`` and, if asked for, ``NAME-dark.png``.

    Raises:
      ImportError: without matplotlib.
    """
    import matplotlib
    matplotlib.use("agg")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for group in (overview(results), *results.groups):
        if not group.peers:
            continue
        for colours, suffix in ((LIGHT, ""), (DARK, "-dark"))[: 2 if dark else 1]:
            path = folder / f"{group.name}{suffix}.png"
            path.write_bytes(_png(draw(group, colours)))
            written.append(path)
    return written


def draw(group: GroupResults, colours: Colours) -> Any:
    """The figure of one group."""
    from matplotlib.figure import Figure
    bars, headers, height = _layout(group)
    ratios = [r for _, row, peer in bars for r in (*row.ratios(peer), row.measure.level(peer)) if r]
    low, high = min([*ratios, 0.8]), max([*ratios, 1.25])
    margin = (high / low) ** 0.11  # room for the numbers
    figure = Figure(figsize=(_WIDTH, height + 1.25), dpi=150, facecolor=colours.ground, layout="constrained")
    axes = figure.add_subplot(facecolor=colours.ground)
    axes.set_xscale("log")
    axes.set_xlim(low / margin, high * margin)
    axes.set_ylim(height, 0)
    for y, row, peer in bars:
        _draw_bar(axes, y, row, peer, colours)
    _draw_labels(axes, bars, headers, _titles(group), colours)
    _draw_scale(axes, colours)
    figure.suptitle(group.title, color=colours.text, fontsize=13, fontweight="bold", x=0.012, ha="left")
    _draw_legend(figure, axes, group, any(row.measure.level(peer) for _, row, peer in bars), colours)
    return figure


def _layout(group: GroupResults) -> tuple[list[tuple[float, Row, str]], list[tuple[float, str]], float]:
    """Bars (centre, row, peer) and headers of sections from the top, and the height of all."""
    bars, headers, y = [], [], _GAP
    for title, rows in group.sections.items():
        if title:
            headers.append((y + _HEADER / 2, title))
            y += _HEADER
        for row in rows:
            shown = [peer for peer in group.peers if row.peers.get(peer)]
            for peer in shown:
                bars.append((y + _BAR / 2, row, peer))
                y += _BAR
            y += _GAP if shown else 0
    return bars, headers, y


def _draw_bar(axes: Any, y: float, row: Row, peer: str, colours: Colours) -> None:
    """From 1 to the ratio; the thin line is the range over rounds, the tick the level."""
    ratio, level, colour = row.ratio(peer), row.measure.level(peer), colours.peers[peer]
    assert ratio is not None
    axes.barh(y, ratio - 1, left=1, height=0.84 * _BAR, color=colour, zorder=2)
    found = row.ratios(peer)
    if len(found) > 1:
        axes.plot([min(found), max(found)], [y, y], color=colours.text, linewidth=0.8, alpha=0.55, zorder=3)
    if level is not None:
        axes.plot([level, level], [y - _BAR / 2, y + _BAR / 2], color=colours.text, linewidth=2.2, zorder=4,
                  solid_capstyle="butt")
    missed = row.verdict(peer) == "FAIL"
    end = min(ratio, *found) if ratio <= 1 else max(ratio, *found)
    if level is not None and (ratio <= 1) == (level <= 1) and abs(math.log(level / end)) < 0.12 * math.log(10):
        end = min(end, level) if ratio <= 1 else max(end, level)  # the number would lie on the tick
    axes.annotate(f"{ratio:.3g}", (end, y), xytext=(-4 if ratio <= 1 else 4, 0), textcoords="offset points",
                  ha="right" if ratio <= 1 else "left", va="center", fontsize=8, zorder=5,
                  color=colours.missed if missed else colours.text, fontweight="bold" if missed else "normal")


def _titles(group: GroupResults) -> dict[str, str]:
    """The titles of rows by their names, without a first word that all of a section have and its header says."""
    titles = {}
    for section, rows in group.sections.items():
        firsts = {row.measure.title.partition(", ")[0] for row in rows}
        shared = section and len(rows) > 1 and len(firsts) == 1 and all(", " in row.measure.title for row in rows)
        for row in rows:
            titles[row.measure.name] = row.measure.title.partition(", ")[2] if shared else row.measure.title
    return titles


def _draw_labels(axes: Any, bars: list, headers: list, titles: dict[str, str], colours: Colours) -> None:
    centres: dict[str, list[float]] = {}
    for y, row, _ in bars:
        centres.setdefault(row.measure.name, []).append(y)
    ticks = [sum(ys) / len(ys) for ys in centres.values()]
    axes.set_yticks(ticks, ["\n".join(textwrap.wrap(titles[name], _TITLE_COLUMNS)) for name in centres],
                    fontsize=9, color=colours.text, linespacing=0.95)
    axes.tick_params(axis="y", length=0)
    for y, title in headers:
        axes.annotate(title, (0, y), xycoords=("axes fraction", "data"), xytext=(-6, 0), textcoords="offset points",
                      ha="right", va="center", fontsize=9.5, fontweight="bold", color=colours.text, annotation_clip=False)


def _draw_scale(axes: Any, colours: Colours) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator
    left, right = axes.get_xlim()
    per_decade = (1, 1.5, 2, 3, 4, 6, 8) if right / left < 8 else (1, 2, 5) if right / left < 300 else (1, 3)
    steps = [m * 10.0**e for e in range(-5, 5) for m in per_decade]
    ticks = [t for t in steps if left <= t <= right]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.tick_params(axis="x", colors=colours.text, labelsize=8.5, length=0)
    axes.grid(axis="x", color=colours.faint, linewidth=0.7, zorder=0)
    axes.set_axisbelow(True)
    axes.axvline(1, color=colours.text, linewidth=1.3, zorder=4)
    axes.set_xlabel("our time / theirs, logarithmic   (left of 1: we are faster)", color=colours.text, fontsize=9)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _draw_legend(figure: Any, axes: Any, group: GroupResults, levels: bool, colours: Colours) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    handles = [Patch(color=colours.peers[peer], label=f"against {PEER_TITLES[peer]}") for peer in group.peers]
    if levels:
        handles.append(Line2D([], [], color=colours.text, linewidth=0, marker="|", markersize=10, markeredgewidth=2.2,
                              label="level to reach"))
    figure.legend(handles=handles, loc="outside lower left", ncols=4, frameon=False, fontsize=9,
                  labelcolor=colours.text)


def _png(figure: Any) -> bytes:
    """The picture, with a palette: a quarter of the size."""
    from PIL import Image  # matplotlib depends on it
    raw, small = io.BytesIO(), io.BytesIO()
    figure.savefig(raw, format="png")
    picture = Image.open(raw).convert("RGB").quantize(_COLOURS_KEPT, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    picture.save(small, format="png", optimize=True)
    return small.getvalue()
