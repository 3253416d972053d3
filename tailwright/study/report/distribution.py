"""The label distribution before and after augmentation: what the added rows do to the tail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tailwright.data.rank_frequency import rank_frequency
from tailwright.labels import TailThresholds
from tailwright.study.report.parts import (
    COLOURS,
    Section,
    View,
    layout,
    percent,
    plain,
    section_of_views,
)
from tailwright.study.run.outcomes import Outcome

_ABOUT = (
    "Training rows of each label, the most frequent label first, both axes logarithmic. Rows that an "
    "augmentation adds count by their weight and soft target; labels are ranked anew for each line."
)
# Finer than a line is wide; a point for each label would be megabytes.
_POINTS_A_DECADE = 60


def distribution_section(outcomes: Sequence[Outcome], colours: Mapping[str, str]) -> Section | None:
    """A view for each dataset and fraction where an augmentation added rows; None if none did."""
    places: dict[tuple[str, float], list[Outcome]] = {}
    for outcome in outcomes:
        places.setdefault((outcome.cell.dataset, outcome.cell.fraction), []).append(outcome)
    views = []
    for (dataset, fraction), there in sorted(places.items(), key=lambda place: (place[0][0], -place[0][1])):
        # Rows are added before a model sees them, so one model of each augmentation tells all.
        added = {o.cell.augmentation: o for o in there if not np.array_equal(o.counts, o.augmented_counts)}
        if added:
            views.append(View((dataset, percent(fraction)), *_seen(dict(sorted(added.items())), colours)))
    if not views:
        return None
    title = "Label distribution before and after augmentation"
    return section_of_views("distribution", title, _ABOUT, views, "dataset", "training rows")


def _seen(added: Mapping[str, Outcome], colours: Mapping[str, str]) -> tuple[str, dict]:
    """What is seen, and the plot: the original rows, then what each augmentation made of them."""
    original = next(iter(added.values()))
    lines = [_line("original rows", original.counts, COLOURS[0])]
    tail = TailThresholds().tail
    rare = int((original.counts <= tail).sum())
    said = [f"{rare:,} of {len(original.counts):,} labels have at most {tail} original rows."]
    for name, outcome in added.items():
        lines.append(_line(name, outcome.augmented_counts, colours[name]))
        left = int((outcome.augmented_counts <= tail).sum())
        before, after = np.median(outcome.counts), np.median(outcome.augmented_counts)
        said.append(
            f"{name} adds {outcome.n_augmented:,} rows to {outcome.n_train:,}: the median label goes from "
            f"{before:.3g} to {after:.3g} rows, and {left:,} labels stay at {tail} or fewer."
        )
    axes = {"type": "log", "exponentformat": "none", "dtick": 1}
    return " ".join(said), {
        "data": lines,
        "layout": layout("label rank", "training rows (weighted)", xaxis=axes, yaxis=axes),
    }


def _line(name: str, counts: np.ndarray, colour: str) -> dict:
    curve = rank_frequency(counts)
    decades = np.log10(max(len(curve), 1))
    steps = int(np.ceil(_POINTS_A_DECADE * decades)) + 1
    ranks = np.unique(np.geomspace(1, max(len(curve), 1), steps).round().astype(int))[: len(curve)]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": plain(name),
        "x": ranks.tolist(),
        "y": [float(f"{value:.4g}") for value in curve[ranks - 1]] if len(curve) else [],
        "line": {"color": colour, "width": 2.5},
        "hovertemplate": "rank %{x:,}: %{y:,.4~g} rows<extra>%{fullData.name}</extra>",
    }
