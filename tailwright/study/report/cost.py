"""Cost against quality: what a second of training buys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tailwright.study.report.parts import (
    SYMBOLS,
    Section,
    View,
    by_place,
    layout,
    percent,
    plain,
    section_of_views,
)
from tailwright.study.run.outcomes import Outcome

_ABOUT = (
    "Seconds of training against quality, means over seeds; the shape is the model, the colour the "
    "augmentation. Upwards is better, to the left is cheaper."
)
_METRICS = ("PSP@5", "P@1")
_NO_SIDE_BOX = "<extra></extra>"


def cost_section(outcomes: Sequence[Outcome], colours: Mapping[str, str]) -> Section | None:
    """A view for each dataset, fraction and metric."""
    systems = sorted({outcome.cell.system for outcome in outcomes})
    symbols = {system: SYMBOLS[place % len(SYMBOLS)] for place, system in enumerate(systems)}
    places: dict[tuple[str, float], dict[tuple[str, str], list[Outcome]]] = {}
    for (dataset, fraction, system, augmentation), cells in by_place(outcomes).items():
        places.setdefault((dataset, fraction), {})[system, augmentation] = cells
    views = []
    for (dataset, fraction), there in places.items():
        for metric in _METRICS:
            points = {at: _point(o, metric) for at, o in there.items() if all(metric in x.metrics for x in o)}
            if points:
                figure = _figure(points, there, metric, colours, symbols)
                views.append(View((dataset, percent(fraction), metric), _said(points, metric), figure))
    if not views:
        return None
    return section_of_views(
        "cost", "Cost against quality", _ABOUT, views, "dataset", "training rows", "metric"
    )


def _point(cells: Sequence[Outcome], metric: str) -> tuple[float, float]:
    """(seconds, quality), means over seeds."""
    return (
        float(np.mean([outcome.train_seconds for outcome in cells])),
        float(np.mean([outcome.metrics[metric] for outcome in cells])),
    )


def _said(points: Mapping[tuple[str, str], tuple[float, float]], metric: str) -> str:
    best = max(points, key=lambda at: points[at][1])
    quick = min(points, key=lambda at: points[at][0])
    (seconds, quality), (least, reached) = points[best], points[quick]
    said = f"{_name(best)} is highest in {metric} with {quality:.2f} after {seconds:,.1f} s of training"
    if best == quick:
        return f"{said}, and it is the quickest as well."
    return f"{said}; {_name(quick)} is quickest with {least:,.1f} s and reaches {reached:.2f}."


def _name(at: tuple[str, str]) -> str:
    return f"{at[0]} / {at[1]}"


def _figure(
    points: Mapping[tuple[str, str], tuple[float, float]],
    cells: Mapping[tuple[str, str], Sequence[Outcome]],
    metric: str,
    colours: Mapping[str, str],
    symbols: Mapping[str, str],
) -> dict:
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": plain(_name(at)),
            "x": [round(seconds, 3)],
            "y": [round(quality, 4)],
            "marker": {"color": colours[at[1]], "symbol": symbols[at[0]], "size": 13, "line": {"width": 0}},
            "hovertemplate": f"%{{fullData.name}}<br>{metric} %{{y:.2f}}<br>{_facts(cells[at])}"
            + _NO_SIDE_BOX,
        }
        for at, (seconds, quality) in points.items()
    ]
    ticks = {"type": "log", "tickformat": ",~g", "ticksuffix": " s"}
    return {"data": traces, "layout": layout("training time", f"{metric} in percent", xaxis=ticks)}


def _facts(cells: Sequence[Outcome]) -> str:
    """All that the plot does not show of a point."""
    means = {
        "trained in {:,.1f} s": [outcome.train_seconds for outcome in cells],
        "predicted in {:,.2f} s": [outcome.predict_seconds for outcome in cells],
        "{:,.0f} MB at most": [outcome.peak_rss_mb for outcome in cells],
    }
    facts = [text.format(float(np.mean(values))) for text, values in means.items()]
    rows = f"{cells[0].n_train:,} rows" + (f" + {cells[0].n_augmented:,} added" * bool(cells[0].n_augmented))
    return "<br>".join([*facts, rows, f"{len(cells)} seed" + "s" * (len(cells) > 1)])
