"""Gain over the baseline by label frequency: whether the tail gained, and what the head paid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tailwright.evaluation.bootstrap import ONE_SEED, Difference
from tailwright.study.compare.comparisons import gain_by_frequency
from tailwright.study.plan.cells import BASELINE
from tailwright.study.report import plots
from tailwright.study.report.sections import Section, View, by_place, grouped, section_of_views
from tailwright.study.run.exam import Exam
from tailwright.study.run.outcomes import Outcome

METRIC = "R@10"
DRAWS = 1000  # enough for a band; verdicts stand in the table of metrics
_TITLE = "Gain over the baseline by label frequency"
_ABOUT = (
    "{what}, on labels with few and with many training rows, in points of percent. Bands are 95 % intervals "
    "of each point by itself, from a paired bootstrap over test rows and seeds; where a band holds zero, the "
    "gain may be noise."
)

Curve = Sequence[tuple[str, Difference]]  # buckets from rare to frequent


def gains_section(
    outcomes: Sequence[Outcome], exams: Mapping[str, Exam], colours: Mapping[str, str], against: str = ""
) -> Section | None:
    """A view for each dataset, fraction and system that has a baseline; None if none has.

    The baseline is the same system without augmentation, or the system `against` without any.
    """
    places = by_place(outcomes)
    views = []
    for at, cells in grouped(places, 3).items():
        dataset, share, system = at
        before = places.get((dataset, share, against or system, BASELINE))
        curves = {
            name: gain_by_frequency(before, after, exams[dataset], METRIC, draws=DRAWS)
            for (name,), after in cells.items()
            if before is not None and before is not after
        }
        curves = {name: curve for name, curve in curves.items() if curve}
        if curves:
            views.append(View(at, _summary(curves), _figure(curves, colours)))
    single = f" {ONE_SEED}" if any(len(of_seeds) == 1 for of_seeds in places.values()) else ""
    gain = f"What is gained in {METRIC} over {against} without augmentation"
    added = f"What an augmentation adds to {METRIC} of the same model without it"
    about = _ABOUT.format(what=gain if against else added) + single
    return section_of_views("gains", _TITLE, about, views, "dataset", "training rows", "model")


def _summary(curves: Mapping[str, Curve]) -> str:
    """For each augmentation where its band lies above zero and where below."""
    sentences = []
    for name, curve in curves.items():
        gained = [bucket for bucket, gain in curve if gain.low > 0]
        lost = [bucket for bucket, gain in curve if gain.high < 0]
        bucket, largest = max(curve, key=lambda point: abs(point[1].mean))
        where = " and ".join(
            f"{way} on labels with {', '.join(buckets)} training rows"
            for way, buckets in (("up", gained), ("down", lost))
            if buckets
        )
        change = f"the largest change is {largest.mean:+.1f} points, where labels have {bucket}"
        sentences.append(f"{name}: {where or 'nowhere clear of zero'}; {change}.")
    return " ".join(sentences)


def _figure(curves: Mapping[str, Curve], colours: Mapping[str, str]) -> plots.Figure:
    buckets = list(dict.fromkeys(bucket for curve in curves.values() for bucket, _ in curve))
    axes = {
        "xaxis": {"type": "category", "categoryorder": "array", "categoryarray": buckets, "tickangle": -40},
        "yaxis": {"zeroline": True, "zerolinewidth": 1.5},
    }
    traces = [trace for name, curve in curves.items() for trace in _band(name, curve, colours[name])]
    return plots.figure(traces, "training rows of a label", f"gain in {METRIC}, points of percent", **axes)


def _band(name: str, curve: Curve, colour: str) -> list[dict[str, Any]]:
    """The interval, and the line of means above it; a click on the legend's entry hides both."""
    buckets, gains = [bucket for bucket, _ in curve], [gain for _, gain in curve]
    # Around the band: along its upper edge, and back along the lower one.
    around = [gain.high for gain in gains] + [gain.low for gain in reversed(gains)]
    band = {
        "type": "scatter",
        "x": [*buckets, *reversed(buckets)],
        "y": [round(value, 3) for value in around],
        "fill": "toself",
        "fillcolor": plots.translucent(colour, 0.18),
        "line": {"width": 0},
        "mode": "lines",
        "hoverinfo": "skip",
        "showlegend": False,
        "legendgroup": plots.plain(name),
    }
    interval = "(%{customdata[0]:+.2f} to %{customdata[1]:+.2f})"
    means = plots.line(
        name,
        buckets,
        [round(gain.mean, 3) for gain in gains],
        colour,
        f"%{{x}} rows: %{{y:+.2f}} {interval}<br>%{{customdata[2]:,}} test rows",
        mode="lines+markers",
        marker={"size": 7},
        legendgroup=plots.plain(name),
        customdata=[[round(gain.low, 2), round(gain.high, 2), gain.rows] for gain in gains],
    )
    return [band, means]
