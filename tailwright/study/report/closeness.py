"""Query similarities: how near a trained encoder puts a text to its companions and to its labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tailwright.models import Model, models
from tailwright.runs.run import load
from tailwright.study.plan.cells import BASELINE
from tailwright.study.quality.similarity import KINDS, RANDOM, similarities
from tailwright.study.report.parts import (
    COLOURS,
    Section,
    View,
    by_place,
    layout,
    percent,
    section_of_views,
    see_through,
)
from tailwright.study.run.exam import Exam
from tailwright.study.run.outcomes import Outcome
from tailwright.study.run.trial import rows_of

_ABOUT = (
    "Cosine similarity, in the space of the model's text encoder, of training rows to other texts: a "
    "random row, a row that shares a label, the text of one of its head and of its tail labels, and its "
    "LabelMix document, which is itself with the text of one of its labels behind it. Higher curves "
    "stand for more rows."
)
_METHODS = ("labelmix", "gandalf")
_BINS = np.linspace(-1, 1, 81)


def closeness_section(
    outcomes: Sequence[Outcome], exams: Mapping[str, Exam], seed: int = 0
) -> Section | None:
    """For each dataset one model with text vectors, without and with what changes its geometry."""
    views = []
    for outcome in _telling(outcomes):
        exam = exams[outcome.cell.dataset]
        found = similarities(load(_run_folder(outcome)), rows_of(outcome.cell, exam.corpus), seed)
        if found:
            cell = outcome.cell
            at = (cell.dataset, cell.system, f"{cell.augmentation}, {percent(cell.fraction)} of the rows")
            views.append(View(at, _said(found), _figure(found)))
    if not views:
        return None
    title = "Similarity of queries to other texts"
    return section_of_views("similarity", title, _ABOUT, views, "dataset", "model", "augmentation")


def _telling(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Of each dataset the first system with text vectors, on the most rows: without and with label texts."""
    first: dict[str, tuple[str, float]] = {}
    kept = []
    for (dataset, fraction, system, augmentation), cells in by_place(outcomes).items():
        outcome = cells[0]
        if outcome.folder is None or not _has_vectors(outcome.cell.model):
            continue
        if (system, fraction) != first.setdefault(dataset, (system, fraction)):
            continue
        if augmentation == BASELINE or set(outcome.cell.augment) & set(_METHODS):
            kept.append(outcome)
    return kept


def _run_folder(outcome: Outcome) -> Path:
    """Where the run lies: inside a cell of a study, or it is the folder that was picked."""
    assert outcome.folder is not None
    inside = outcome.folder / "run"
    return inside if inside.is_dir() else outcome.folder


def _has_vectors(model: str) -> bool:
    """Whether the model's class gives text vectors, known without loading a run."""
    return models.get(model).text_vectors is not Model.text_vectors


def _said(found: Mapping[str, np.ndarray]) -> str:
    """Where each kind lies, and which texts are no nearer than random ones."""
    middle = {kind: float(np.median(values)) for kind, values in found.items()}
    said = "Median cosine: " + ", ".join(f"{kind} {value:.2f}" for kind, value in middle.items()) + "."
    if RANDOM not in found:
        return said
    high = float(np.quantile(found[RANDOM], 0.95))
    beyond = [
        f"{100 * float(np.mean(values > high)):.0f} % of {kind}s"
        for kind, values in found.items()
        if kind != RANDOM
    ]
    return f"{said} Nearer than 95 % of random documents: {', '.join(beyond)}." if beyond else said


def _figure(found: Mapping[str, np.ndarray]) -> dict:
    middles = ((_BINS[1:] + _BINS[:-1]) / 2).round(4).tolist()
    traces = []
    for kind, values in found.items():
        # Rounding may carry a unit vector's cosine with itself above 1.
        share = 100 * np.histogram(np.clip(values, -1, 1), _BINS)[0] / len(values)
        colour = COLOURS[KINDS.index(kind)]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": kind,
                "x": middles,
                "y": share.round(3).tolist(),
                "line": {"color": colour, "width": 2, "shape": "spline", "smoothing": 0.6},
                "fill": "tozeroy",
                "fillcolor": see_through(colour, 0.12),
                "hovertemplate": "cosine %{x:.2f}: %{y:.1f} % of the rows<extra>%{fullData.name}</extra>",
            }
        )
    low = min(-0.05, *(float(np.quantile(values, 0.001)) for values in found.values())) - 0.05
    axes = {"xaxis": {"range": [max(low, -1.0), 1.03]}, "yaxis": {"rangemode": "tozero"}}
    return {"data": traces, "layout": layout("cosine similarity", "share of rows, in percent", **axes)}
