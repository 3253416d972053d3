"""Gain over the baseline by label frequency: whether the tail gained, and what the head paid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tailwright.evaluation.bootstrap import Difference
from tailwright.study.compare.comparisons import gain_by_frequency
from tailwright.study.plan.cells import BASELINE
from tailwright.study.report.parts import (
    Figure,
    Section,
    View,
    by_place,
    layout,
    percent,
    plain,
    section_of_views,
    see_through,
)
from tailwright.study.run.exam import Exam
from tailwright.study.run.outcomes import Outcome

METRIC = "R@10"
DRAWS = 1000  # enough for a band; verdicts stand in the table of metrics
_ABOUT = (
    "{what}, on labels with few and with many training rows, in points of percent. Bands are 95 % intervals "
    "of each point by itself, from a paired bootstrap over test rows and seeds; a band that holds zero may "
    "be chance."
)

Curve = Sequence[tuple[str, Difference]]  # buckets from rare to frequent


def gains_section(
    outcomes: Sequence[Outcome], exams: Mapping[str, Exam], colours: Mapping[str, str], against: str = ""
) -> Section | None:
    """A view for each dataset, fraction and system that has a baseline; None if none has.

    The baseline is the same system without augmentation, or the system `against` without any.
    """
    groups = by_place(outcomes)
    places: dict[tuple[str, str, str], dict[str, Curve]] = {}
    for (dataset, fraction, system, augmentation), after in groups.items():
        before = groups.get((dataset, fraction, against or system, BASELINE))
        if before is None or before is after:
            continue
        curve = gain_by_frequency(before, after, exams[dataset], METRIC, draws=DRAWS)
        if curve:
            places.setdefault((dataset, percent(fraction), system), {})[augmentation] = curve
    if not places:
        return None
    views = [View(at, _said(curves), _figure(curves, colours)) for at, curves in places.items()]
    title = "Gain over the baseline by label frequency"
    gain = f"What is gained in {METRIC} over {against} without augmentation"
    added = f"What an augmentation adds to {METRIC} of the same model without it"
    about = _ABOUT.format(what=gain if against else added)
    return section_of_views("gains", title, about, views, "dataset", "training rows", "model")


def _said(curves: Mapping[str, Curve]) -> str:
    """For each augmentation where its band lies above zero and where below."""
    said = []
    for name, curve in curves.items():
        gained = [bucket for bucket, gain in curve if gain.low > 0]
        lost = [bucket for bucket, gain in curve if gain.high < 0]
        most = max(curve, key=lambda point: abs(point[1].mean))
        where = " and ".join(
            f"{way} on labels with {', '.join(buckets)} training rows"
            for way, buckets in (("up", gained), ("down", lost))
            if buckets
        )
        largest = f"the largest change is {most[1].mean:+.1f} points, where labels have {most[0]}"
        said.append(f"{name}: {where or 'nowhere clear of zero'}; {largest}.")
    return " ".join(said)


def _figure(curves: Mapping[str, Curve], colours: Mapping[str, str]) -> Figure:
    buckets: list[str] = []
    for curve in curves.values():
        buckets += [bucket for bucket, _ in curve if bucket not in buckets]
    traces = [trace for name, curve in curves.items() for trace in _band(name, curve, colours[name])]
    axes = {
        "xaxis": {"type": "category", "categoryorder": "array", "categoryarray": buckets, "tickangle": -40},
        "yaxis": {"zeroline": True, "zerolinewidth": 1.5},
    }
    y = f"gain in {METRIC}, points of percent"
    return {"data": traces, "layout": layout("training rows of a label", y, **axes)}


def _band(name: str, curve: Curve, colour: str) -> list[Figure]:
    """The interval, and the line of means above it; both go when the legend's entry is clicked."""
    buckets = [bucket for bucket, _ in curve]
    gains = [gain for _, gain in curve]
    # Around the band: along its upper edge, and back along the lower one.
    around = [gain.high for gain in gains] + [gain.low for gain in reversed(gains)]
    band = {
        "type": "scatter",
        "x": [*buckets, *reversed(buckets)],
        "y": [round(value, 3) for value in around],
        "fill": "toself",
        "fillcolor": see_through(colour, 0.18),
        "line": {"width": 0},
        "mode": "lines",
        "hoverinfo": "skip",
        "showlegend": False,
        "legendgroup": plain(name),
    }
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": plain(name),
        "legendgroup": plain(name),
        "x": buckets,
        "y": [round(gain.mean, 3) for gain in gains],
        "customdata": [[round(g.low, 2), round(g.high, 2), g.rows] for g in gains],
        "line": {"color": colour, "width": 2.5},
        "marker": {"size": 7},
        "hovertemplate": "%{x} rows: %{y:+.2f} (%{customdata[0]:+.2f} to %{customdata[1]:+.2f})<br>"
        "%{customdata[2]:,} test rows<extra>%{fullData.name}</extra>",
    }
    return [band, line]
