"""Training curves: what each epoch brought on rows that were learnt and on rows that were not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tailwright.study.report.parts import (
    Section,
    View,
    by_place,
    in_words,
    layout,
    percent,
    plain,
    section_of_views,
)
from tailwright.study.run.outcomes import Outcome

_ABOUT = (
    "The first seed of each augmentation, epoch by epoch. Where rows were watched, P@1 on training rows "
    "is dashed and on test rows solid; elsewhere the measure on validation rows that the training itself "
    "took, or the loss."
)
_DASHES = {"train": "dash", "test": "solid"}


def curves_section(outcomes: Sequence[Outcome], colours: Mapping[str, str]) -> Section | None:
    """A view for each dataset, fraction and system that logs epochs; None if none does."""
    places: dict[tuple[str, str, str], dict[str, Outcome]] = {}
    for (dataset, fraction, system, augmentation), cells in by_place(outcomes).items():
        if _epochs(cells[0]):
            places.setdefault((dataset, percent(fraction), system), {})[augmentation] = cells[0]
    views = [View(at, *_seen(cells, colours)) for at, cells in places.items()]
    if not views:
        return None
    return section_of_views("curves", "Training curves", _ABOUT, views, "dataset", "training rows", "model")


def _epochs(outcome: Outcome) -> list[Mapping[str, Any]]:
    """The epochs of the last phase that has any, in order; of one that was logged twice, the last."""
    events = [event for event in outcome.log if event.get("event") == "epoch"]
    watched = [event for event in events if event.get("watched")]
    kept = {}
    for event in watched or events:
        if event.get("phase") == (watched or events)[-1].get("phase"):
            kept[int(event["epoch"])] = event
    return [kept[epoch] for epoch in sorted(kept)]


def _seen(cells: Mapping[str, Outcome], colours: Mapping[str, str]) -> tuple[str, dict]:
    epochs = {name: _epochs(outcome) for name, outcome in cells.items()}
    all_events = [event for events in epochs.values() for event in events]
    if all(event.get("watched") for event in all_events):
        said = [_gap(name, events) for name, events in epochs.items()]
        lines = [
            _line(
                f"{name}, {rows} rows", events, [e["watched"].get(rows) for e in events], colours[name], dash
            )
            for name, events in epochs.items()
            for rows, dash in _DASHES.items()
            if rows in events[-1]["watched"]
        ]
        return " ".join(said), _figure(lines, "P@1 in percent")
    if all("valid" in event for event in all_events):
        measure = "valid"
        said = [f"{in_words(n)}: {_best(e)}." for n, e in epochs.items()]
    else:
        measure = "loss"
        said = [
            f"{in_words(n)}: loss from {e[0]['loss']:.3g} to {e[-1]['loss']:.3g}." for n, e in epochs.items()
        ]
    lines = [
        _line(name, events, [e.get(measure) for e in events], colours[name], "solid")
        for name, events in epochs.items()
    ]
    axis = "on validation rows, in percent" if measure == "valid" else "loss"
    return " ".join(said), _figure(lines, axis)


def _gap(name: str, events: Sequence[Mapping[str, Any]]) -> str:
    """How far rows that were learnt are ahead at the end, in a sentence."""
    last = events[-1]["watched"]
    if not {"train", "test"} <= last.keys():
        return (
            f"{in_words(name)}: "
            + ", ".join(f"{value:.1f} on {rows} rows" for rows, value in last.items())
            + "."
        )
    ahead = last["train"] - last["test"]
    both = f"{last['train']:.1f} on training and {last['test']:.1f} on test rows"
    return f"{in_words(name)}: {both}, {ahead:+.1f} apart."


def _best(events: Sequence[Mapping[str, Any]]) -> str:
    best = max(events, key=lambda event: event["valid"])
    return f"{best['valid']:.1f} at best on validation rows, in epoch {best['epoch']} of {len(events)}"


def _line(
    name: str, events: Sequence[Mapping[str, Any]], ys: Sequence[float | None], colour: str, dash: str
) -> dict:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": plain(name),
        "x": [int(event["epoch"]) for event in events],
        "y": [None if y is None else round(y, 4) for y in ys],
        "line": {"color": colour, "dash": dash, "width": 2},
        "hovertemplate": "epoch %{x}: %{y:.2f}<extra>%{fullData.name}</extra>",
    }


def _figure(lines: list[dict], y: str) -> dict:
    last = max(epoch for line in lines for epoch in line["x"])
    # Plotly would name halves of epochs too.
    ticks = {"dtick": 1} if last <= 12 else {"tickformat": "d"}
    return {"data": lines, "layout": layout("epoch", y, xaxis=ticks)}
