"""Label-graph neighbours: which companions soft annotations give to a few labels from head to tail."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tailwright.labels import correlation_graph, head_torso_tail
from tailwright.labels.annotations import neighbours, shared_rows
from tailwright.streams import stream
from tailwright.study.page import short
from tailwright.study.report import plots
from tailwright.study.report.sections import Section, View, section_of_views
from tailwright.study.run.exam import Exam

_ABOUT = (
    "The companions of six labels in the correlation graph of all training rows: visits of a random walk "
    "that starts at the label, over its visits to the label itself. Two labels each of head, torso and "
    "tail were drawn at random; the graph leaves out labels on more than 500 rows."
)
_LABELS_A_SLICE = 2
_NAME_LIMIT = 34


def neighbours_section(exams: Mapping[str, Exam], seed: int = 0) -> Section | None:
    """Six labels of each dataset; None where no label has a companion."""
    views = [view for name in sorted(exams) for view in _views(exams[name], seed)]
    return section_of_views("neighbours", "Neighbours in the label graph", _ABOUT, views, "dataset", "label")


def _views(exam: Exam, seed: int) -> list[View]:
    train = exam.corpus.train.originals()
    graph = correlation_graph(train.targets, seed=seed)
    # An edge to itself is no companion.
    accompanied = np.diff(graph.indptr) > 1
    counts, all_names = exam.labels.counts, exam.labels.names
    draw = stream(seed, "report-neighbours")
    views = []
    for slice_name, mask in head_torso_tail(counts).items():
        able = np.flatnonzero(mask & accompanied)
        for label in np.sort(draw.choice(able, min(_LABELS_A_SLICE, len(able)), replace=False)):
            companions = [n for n in neighbours(graph, int(label)) if n.column != label]
            shares = np.array([n.weight for n in companions]) / max(graph[label, label], 1)
            columns = [n.column for n in companions]
            names = [all_names[column].as_py() for column in columns]
            together = shared_rows(train.targets, int(label))[columns]
            name = short(all_names[int(label)].as_py(), 60)
            summary = (
                f"“{name}” has {len(names)} companions, {(shares > 0.1).sum()} of them above 0.1 and so soft "
                f"annotations; the strongest is “{short(names[0], 60)}” at {shares[0]:.2f}, on "
                f"{together[0]:,} rows together with it."
            )
            at = (exam.name, f"{name} ({slice_name}, {counts[label]:,} rows)")
            views.append(View(at, summary, _figure(names, shares, counts[columns], together)))
    return views


def _figure(names: list[str], shares: np.ndarray, counts: np.ndarray, together: np.ndarray) -> plots.Figure:
    bars = {
        "type": "bar",
        "name": "companions of the label",
        "orientation": "h",
        # Two companions may be cut to the same name: their place keeps them apart.
        "y": [plots.plain(f"{place}. {short(n, _NAME_LIMIT)}") for place, n in enumerate(names, start=1)],
        "x": [round(float(share), 4) for share in shares],
        "customdata": [
            [plots.plain(n), int(c), int(t)] for n, c, t in zip(names, counts, together, strict=True)
        ],
        "marker": {"color": plots.COLOURS[1]},
        "hovertemplate": "%{customdata[0]}<br>%{x:.2f} of the label's own visits<br>"
        "%{customdata[1]:,} training rows, %{customdata[2]:,} together<extra></extra>",
    }
    height = 120 + 28 * len(names)
    return plots.figure([bars], "visits (own = 1)", "", yaxis={"autorange": "reversed"}, height=height)
