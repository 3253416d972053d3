"""The rank-frequency curve of the labels: what a long tail looks like."""

from __future__ import annotations

<<<<<<< HEAD
=======
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

>>>>>>> base
import numpy as np


def rank_frequency(counts: np.ndarray) -> np.ndarray:
    """The training rows of each label that has any, most frequent first."""
    return np.sort(counts[counts > 0])[::-1]


def draw_in_terminal(counts: np.ndarray, width: int = 60, height: int = 12) -> str:
    """The curve with both axes logarithmic, as lines of text.

    >>> print(draw_in_terminal(np.array([8, 4, 2, 1]), width=8, height=4))
    8 ┤███
      ┤███▅▅
      ┤█████▃▃
    1 ┤███████▁
      └────────
       1      4  label rank (log), rows per label (log)
    """
    curve = rank_frequency(counts)
    if not len(curve):
        return "no label has a row"
    ranks = np.geomspace(1, len(curve), width).round().astype(int)
    top = np.log(curve[0])
    # Heights in eighths of a line; a label with one row still shows as the lowest bar.
    level = np.log(curve[ranks - 1]) / top if top > 0 else np.ones(len(ranks))
    eighths = np.maximum((level * height * 8).round().astype(int), 1)
    margin = len(f"{curve[0]:,}")
    lines = []
    for line in range(height, 0, -1):
        filled = np.clip(eighths - (line - 1) * 8, 0, 8)
        bars = "".join(" ▁▂▃▄▅▆▇█"[n] for n in filled).rstrip()
        tick = f"{curve[0]:,}" if line == height else "1" if line == 1 else ""
        lines.append(f"{tick:>{margin}} ┤{bars}")
    lines.append(f"{'':>{margin}} └{'─' * width}")
    last = f"{len(curve):,}"
    axis = f"1{last:>{width - 1}}"
    lines.append(f"{'':>{margin}}  {axis}  label rank (log), rows per label (log)")
    return "\n".join(lines)
<<<<<<< HEAD
=======


def draw_png(counts: np.ndarray, path: str | Path, title: str, tail: int = 5, head: int = 50) -> None:
    """The same curve as a picture, with the tail and the head shaded."""
    curve = rank_frequency(counts)
    ranks = np.arange(1, len(curve) + 1)
    with saved_axes(path, 7, 4.2) as axes:
        axes.loglog(ranks, curve, color="#1f4e79", linewidth=2)
        slices = {"head": curve > head, "torso": (curve > tail) & (curve <= head), "tail": curve <= tail}
        for (name, inside), colour in zip(slices.items(), ("#d9e8f6", "#eef3f8", "#fbe9dd"), strict=True):
            if inside.any():
                left, right = ranks[inside][0], ranks[inside][-1]
                axes.axvspan(max(left - 0.5, 0.8), right + 0.5, color=colour, zorder=0)
                middle = np.sqrt(max(left - 0.5, 0.8) * (right + 0.5))
                axes.text(middle, 0.95, f"{name}\n{inside.sum():,}", ha="center", va="top",
                          transform=axes.get_xaxis_transform())  # fmt: skip
        axes.set(xlabel="label rank", ylabel="training rows", title=title, xlim=(0.8, None))


@contextmanager
def saved_axes(path: str | Path, width: float, height: float) -> Iterator[Any]:
    """Axes of matplotlib to draw on, saved as PNG, SVG or PDF when the block ends."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot") from error
    path = Path(path)
    if path.suffix.lower() not in {".png", ".svg", ".pdf"}:
        raise InputError(f"found {path.suffix or 'no suffix'}", expected=".png, .svg or .pdf", path=path)
    with mpl.rc_context({"font.size": 10}):
        figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
        axes = figure.add_subplot()
        axes.spines[["top", "right"]].set_visible(False)
        yield axes
        try:
            figure.savefig(path)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", path=path) from error
>>>>>>> base
