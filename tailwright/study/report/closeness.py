"""Query similarities: how near a trained encoder puts a text to its companions and to its labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tailwright.models import Model, models
from tailwright.runs.run import load
from tailwright.study.plan.cells import BASELINE
from tailwright.study.quality.similarity import KINDS, RANDOM, similarities
from tailwright.study.report import plots
from tailwright.study.report.sections import Place, Section, View, by_place, section_of_views
from tailwright.study.run.exam import Exam
from tailwright.study.run.outcomes import Outcome
from tailwright.study.run.trial import rows_of

_TITLE = "Similarity of queries to other texts"
_ABOUT = (
    "Cosine similarity, in the space of the model's text encoder, of training rows to other texts: a "
    "random row, a row that shares a label, the text of one of its head and of one of its tail labels, and "
    "its LabelMix document, which is the row followed by the text of one of its labels. Higher curves stand "
    "for more rows."
)
_METHODS = ("labelmix", "gandalf", "calibrated-gandalf")
_BINS = np.linspace(-1, 1, 81)


def closeness_section(outcomes: Sequence[Outcome], exams: Mapping[str, Exam]) -> Section | None:
    """For each dataset one model with text vectors, without and with what changes its geometry."""
    views = []
    for (dataset, share, system, augmentation), outcome in _selected(outcomes):
        assert outcome.folder is not None  # one without was not selected
        inside = outcome.folder / "run"  # of a study's cell; a run that was picked by hand has none
        run = load(inside if inside.is_dir() else outcome.folder)
        cosines = similarities(run, rows_of(outcome.cell, exams[dataset].corpus))
        if cosines:
            at = (dataset, system, f"{augmentation}, {share} of the rows")
            views.append(View(at, _summary(cosines), _figure(cosines)))
    return section_of_views("similarity", _TITLE, _ABOUT, views, "dataset", "model", "augmentation")


def _selected(outcomes: Sequence[Outcome]) -> list[tuple[Place, Outcome]]:
    """Of each dataset the first system with text vectors, on the most rows: without and with label texts.

    An outcome that was taken in has no run to ask.
    """
    first: dict[str, tuple[str, str]] = {}
    selected = []
    for at, cells in by_place(outcomes).items():
        dataset, share, system, augmentation = at
        outcome = cells[0]
        # Whether the model's class gives text vectors is known without loading a run.
        gives_vectors = models.get(outcome.cell.model).text_vectors is not Model.text_vectors
        if outcome.folder is None or outcome.taken or not gives_vectors:
            continue
        if (system, share) != first.setdefault(dataset, (system, share)):
            continue
        if augmentation == BASELINE or set(outcome.cell.augment) & set(_METHODS):
            selected.append((at, outcome))
    return selected


def _summary(cosines: Mapping[str, np.ndarray]) -> str:
    """The median of each kind of text, and how many are nearer than random ones."""
    medians = ", ".join(f"{kind} {np.median(values):.2f}" for kind, values in cosines.items())
    summary = f"Median cosine: {medians}."
    others = {kind: values for kind, values in cosines.items() if kind != RANDOM}
    if RANDOM not in cosines or not others:
        return summary
    high = float(np.quantile(cosines[RANDOM], 0.95))
    nearer = ", ".join(f"{100 * np.mean(values > high):.0f} % of {kind}s" for kind, values in others.items())
    return f"{summary} Nearer than 95 % of random documents: {nearer}."


def _figure(cosines: Mapping[str, np.ndarray]) -> plots.Figure:
    middles = ((_BINS[1:] + _BINS[:-1]) / 2).round(4).tolist()
    traces = []
    for kind, values in cosines.items():
        # Rounding may carry a unit vector's cosine with itself above 1.
        share = 100 * np.histogram(np.clip(values, -1, 1), _BINS)[0] / len(values)
        colour = plots.COLOURS[KINDS.index(kind)]
        traces.append(
            plots.line(
                kind,
                middles,
                share.round(3).tolist(),
                colour,
                "cosine %{x:.2f}: %{y:.1f} % of the rows",
                width=2,
                line={"shape": "spline", "smoothing": 0.6},
                fill="tozeroy",
                fillcolor=plots.translucent(colour, 0.12),
            )
        )
    low = min(-0.05, *(float(np.quantile(values, 0.001)) for values in cosines.values())) - 0.05
    axes = {"xaxis": {"range": [max(low, -1.0), 1.03]}, "yaxis": {"rangemode": "tozero"}}
    return plots.figure(traces, "cosine similarity", "share of rows, in percent", **axes)
