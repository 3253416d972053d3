"""The label distribution before and after augmentation: what the added rows do to the tail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tailwright.data.inspect import rank_frequency
from tailwright.labels import TailThresholds
from tailwright.study.report import plots
from tailwright.study.report.sections import Section, View, by_place, grouped, section_of_views
from tailwright.study.run.outcomes import Outcome

_TITLE = "Label distribution before and after augmentation"
_ABOUT = (
    "Training rows of each label, the most frequent label first, both axes logarithmic. Rows that an "
    "augmentation adds count by their weight and soft target; labels are ranked anew for each line."
)
# Finer than a line is wide; a point for each label would be megabytes.
_POINTS_A_DECADE = 60


def distribution_section(outcomes: Sequence[Outcome], colours: Mapping[str, str]) -> Section | None:
    """A view for each dataset and fraction where an augmentation added rows; None if none did."""
    views = []
    for at, cells in grouped(by_place(outcomes), 2).items():
        # Rows are added before a model sees them, so one cell of each augmentation is enough.
        first = {augmentation: of_seeds[0] for (_, augmentation), of_seeds in cells.items()}
        added = {
            name: first[name]
            for name in sorted(first)
            if not np.array_equal(first[name].counts, first[name].augmented_counts)
        }
        if added:
            views.append(View(at, _summary(added), _figure(added, colours)))
    return section_of_views("distribution", _TITLE, _ABOUT, views, "dataset", "training rows")


def _summary(added: Mapping[str, Outcome]) -> str:
    tail, counts = TailThresholds().tail, next(iter(added.values())).counts
    sentences = [f"{(counts <= tail).sum():,} of {len(counts):,} labels have at most {tail} original rows."]
    for name, outcome in added.items():
        before, after = np.median(outcome.counts), np.median(outcome.augmented_counts)
        sentences.append(
            f"{name} adds {outcome.n_augmented:,} rows to {outcome.n_train:,}: the median label goes from "
            f"{before:.3g} to {after:.3g} rows, and {(outcome.augmented_counts <= tail).sum():,} labels stay "
            f"at {tail} or fewer."
        )
    return " ".join(sentences)


def _figure(added: Mapping[str, Outcome], colours: Mapping[str, str]) -> plots.Figure:
    """The original rows, then what each augmentation made of them."""
    lines = [_curve("original rows", next(iter(added.values())).counts, plots.COLOURS[0])]
    lines += [_curve(name, outcome.augmented_counts, colours[name]) for name, outcome in added.items()]
    axis = {"type": "log", "exponentformat": "none", "dtick": 1}
    return plots.figure(lines, "label rank", "training rows (weighted)", xaxis=axis, yaxis=axis)


def _curve(name: str, counts: np.ndarray, colour: str) -> dict[str, Any]:
    curve = rank_frequency(counts)
    last = max(len(curve), 1)
    steps = int(np.ceil(_POINTS_A_DECADE * np.log10(last))) + 1
    ranks = np.unique(np.geomspace(1, last, steps).round().astype(int))[: len(curve)]
    rows = [float(f"{value:.4g}") for value in curve[ranks - 1]]
    return plots.line(name, ranks.tolist(), rows, colour, "rank %{x:,}: %{y:,.4~g} rows")
