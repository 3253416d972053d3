"""The rank-frequency curve of the labels: what a long tail looks like."""

from __future__ import annotations

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
