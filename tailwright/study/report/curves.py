"""Training curves: what each epoch brought on training rows and on test rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tailwright.study.report import plots
from tailwright.study.report.sections import Section, View, by_place, grouped, in_words, section_of_views
from tailwright.study.run.outcomes import Outcome

_ABOUT = (
    "The first seed of each augmentation, epoch by epoch. Where rows were watched, P@1 on training rows "
    "is dashed and on test rows solid; otherwise the measure on validation rows that the training itself "
    "took, or the loss."
)
_DASHES = {"train": "dash", "test": "solid"}

Epochs: TypeAlias = Sequence[Mapping[str, Any]]  # events of the log, in order


def curves_section(outcomes: Sequence[Outcome], colours: Mapping[str, str]) -> Section | None:
    """A view for each dataset, fraction and system that logs epochs; None if none does."""
    views = []
    for at, cells in grouped(by_place(outcomes), 3).items():
        epochs = {name: _epochs(of_seeds[0]) for (name,), of_seeds in cells.items()}
        epochs = {name: events for name, events in epochs.items() if events}
        if epochs:
            views.append(View(at, *_view(epochs, colours)))
    return section_of_views("curves", "Training curves", _ABOUT, views, "dataset", "training rows", "model")


def _epochs(outcome: Outcome) -> Epochs:
    """The epochs of the last phase that has any, in order; of one that was logged twice, the last."""
    events = [event for event in outcome.log if event.get("event") == "epoch"]
    events = [event for event in events if event.get("watched")] or events
    last_phase = {int(e["epoch"]): e for e in events if e.get("phase") == events[-1].get("phase")}
    return [last_phase[epoch] for epoch in sorted(last_phase)]


def _view(epochs: Mapping[str, Epochs], colours: Mapping[str, str]) -> tuple[str, plots.Figure]:
    """A summary, and the plot: P@1 on watched rows, else the measure on validation rows, else the loss."""
    events = [event for of_cell in epochs.values() for event in of_cell]
    if all(event.get("watched") for event in events):
        lines = [
            _curve(f"{name}, {rows} rows", es, [e["watched"].get(rows) for e in es], colours[name], dash)
            for name, es in epochs.items()
            for rows, dash in _DASHES.items()
            if rows in es[-1]["watched"]
        ]
        return " ".join(_gap(name, es) for name, es in epochs.items()), _figure(lines, "P@1 in percent")
    if all("valid" in event for event in events):
        measure, axis = "valid", "on validation rows, in percent"
        sentences = [f"{in_words(name)}: {_best(es)}." for name, es in epochs.items()]
    else:
        measure, axis = "loss", "loss"
        sentences = [
            f"{in_words(name)}: loss from {es[0]['loss']:.3g} to {es[-1]['loss']:.3g}."
            for name, es in epochs.items()
        ]
    lines = [
        _curve(name, es, [e.get(measure) for e in es], colours[name], "solid") for name, es in epochs.items()
    ]
    return " ".join(sentences), _figure(lines, axis)


def _gap(name: str, epochs: Epochs) -> str:
    """How far training rows are ahead of test rows at the end, in a sentence."""
    last = epochs[-1]["watched"]
    if {"train", "test"} <= last.keys():
        train, test = last["train"], last["test"]
        values = f"{train:.1f} on training and {test:.1f} on test rows, {train - test:+.1f} apart"
    else:
        values = ", ".join(f"{value:.1f} on {rows} rows" for rows, value in last.items())
    return f"{in_words(name)}: {values}."


def _best(epochs: Epochs) -> str:
    best = max(epochs, key=lambda event: event["valid"])
    return f"{best['valid']:.1f} at best on validation rows, in epoch {best['epoch']} of {len(epochs)}"


def _curve(name: str, epochs: Epochs, ys: Sequence[float | None], colour: str, dash: str) -> dict[str, Any]:
    numbers = [int(event["epoch"]) for event in epochs]
    rounded = [None if y is None else round(y, 4) for y in ys]
    style: dict[str, Any] = {"width": 2, "mode": "lines+markers", "line": {"dash": dash}}
    return plots.line(name, numbers, rounded, colour, "epoch %{x}: %{y:.2f}", **style)


def _figure(lines: list[dict[str, Any]], y: str) -> plots.Figure:
    last = max(epoch for curve in lines for epoch in curve["x"])
    # Plotly would put ticks at halves of epochs too.
    ticks = {"dtick": 1} if last <= 12 else {"tickformat": "d"}
    return plots.figure(lines, "epoch", y, xaxis=ticks)
