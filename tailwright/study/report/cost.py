"""Cost against quality: what a second of training buys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from tailwright.study.report import plots
from tailwright.study.report.sections import Place, Section, View, by_place, grouped, section_of_views
from tailwright.study.run.outcomes import Outcome

_ABOUT = (
    "Seconds of training against quality, means over seeds; the shape is the model, the colour the "
    "augmentation. Upwards is better, to the left is cheaper."
)
_METRICS = ("PSP@5", "P@1")

Points = Mapping[Place, tuple[float, float]]  # (system, augmentation) to (seconds, quality), means over seeds


def cost_section(outcomes: Sequence[Outcome], colours: Mapping[str, str]) -> Section | None:
    """A view for each dataset, fraction and metric."""
    systems = sorted({outcome.cell.system for outcome in outcomes})
    symbols = {system: plots.SYMBOLS[place % len(plots.SYMBOLS)] for place, system in enumerate(systems)}
    views = []
    for at, cells in grouped(by_place(outcomes), 2).items():
        for metric in _METRICS:
            points = {
                name: (fmean(o.train_seconds for o in of_seeds), fmean(o.metrics[metric] for o in of_seeds))
                for name, of_seeds in cells.items()
                if all(metric in outcome.metrics for outcome in of_seeds)
            }
            if points:
                plot = _figure(points, cells, metric, colours, symbols)
                views.append(View((*at, metric), _summary(points, metric), plot))
    return section_of_views(
        "cost", "Cost against quality", _ABOUT, views, "dataset", "training rows", "metric"
    )


def _summary(points: Points, metric: str) -> str:
    best = max(points, key=lambda name: points[name][1])
    quickest = min(points, key=lambda name: points[name][0])
    (seconds, quality), (least, reached) = points[best], points[quickest]
    winner = f"{' / '.join(best)} is highest in {metric}"
    highest = f"{winner} with {quality:.2f} after {seconds:,.1f} s of training"
    if best == quickest:
        return f"{highest}, and it is the quickest as well."
    return f"{highest}; {' / '.join(quickest)} is quickest with {least:,.1f} s and reaches {reached:.2f}."


def _figure(
    points: Points,
    cells: Mapping[Place, Sequence[Outcome]],
    metric: str,
    colours: Mapping[str, str],
    symbols: Mapping[str, str],
) -> plots.Figure:
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": plots.plain(f"{system} / {augmentation}"),
            "x": [round(seconds, 3)],
            "y": [round(quality, 4)],
            "marker": {
                "color": colours[augmentation],
                "symbol": symbols[system],
                "size": 13,
                "line": {"width": 0},
            },
            "hovertemplate": f"%{{fullData.name}}<br>{metric} %{{y:.2f}}<br>"
            f"{_facts(cells[system, augmentation])}<extra></extra>",
        }
        for (system, augmentation), (seconds, quality) in points.items()
    ]
    ticks = {"type": "log", "tickformat": ",~g", "ticksuffix": " s"}
    return plots.figure(traces, "training time", f"{metric} in percent", xaxis=ticks)


def _facts(cells: Sequence[Outcome]) -> str:
    """What the plot does not show of a point."""
    rows = f"{cells[0].n_train:,} rows" + (f" + {cells[0].n_augmented:,} added" * bool(cells[0].n_augmented))
    return "<br>".join(
        [
            f"trained in {fmean(o.train_seconds for o in cells):,.1f} s",
            f"predicted in {fmean(o.predict_seconds for o in cells):,.2f} s",
            f"{fmean(o.peak_rss_mb for o in cells):,.0f} MB at most",
            rows,
            f"{len(cells)} seed" + "s" * (len(cells) > 1),
        ]
    )
