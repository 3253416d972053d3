"""Outcomes without training: rankings of a known quality over a small corpus, for what is said of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset, arrow_strings
from tailwright.data.pairs import pairs_from_lists
from tailwright.evaluation import metrics_at_k, sliced_metrics
from tailwright.labels import PROPENSITY_PRESETS, head_torso_tail
from tailwright.runs.evaluation import KS
from tailwright.study.plan.cells import Cell
from tailwright.study.run.exam import Exam
from tailwright.study.run.outcomes import Outcome

LABELS = 30
TRAIN_ROWS, TEST_ROWS = 400, 300
WIDTH = 12


def exam(name: str = "toy", *, rows: int = TEST_ROWS) -> Exam:
    """Rows with one or two labels; label l has about 1 / (l + 1) of the training rows, the last five none."""
    random = np.random.default_rng(0)
    odds = 1 / np.arange(1, LABELS + 1) ** 1.3
    odds[-5:] = 0

    def some(count: int, odds: np.ndarray) -> Dataset:
        ids = [
            random.choice(LABELS, random.integers(1, 3), replace=False, p=odds).tolist() for _ in range(count)
        ]
        return Dataset(arrow_strings([f"text {i}" for i in range(count)]), pairs_from_lists(ids, LABELS))

    names = [f"label {i}" for i in range(LABELS)]
    space = LabelSpace(arrow_strings([str(i) for i in range(LABELS)]), arrow_strings(names))
    flat = np.full(LABELS, 1 / LABELS)
    return Exam(name, Corpus(some(TRAIN_ROWS, odds / odds.sum()), space, test=some(rows, flat)))


def ranking(judged: Exam, quality: np.ndarray | float, noise: int) -> np.ndarray:
    """Rankings that put a true label first with a chance of `quality`, of each label or of all."""
    random = np.random.default_rng([7, noise])
    chance = np.broadcast_to(np.asarray(quality, dtype=np.float64), (LABELS,))
    scores = random.random((len(judged.test), LABELS))
    truth = judged.test.targets.toarray() > 0
    scores += 2.0 * (truth & (random.random(truth.shape) < chance))
    return np.argsort(-scores, axis=1)[:, :WIDTH].astype(np.int32)


def outcome(
    judged: Exam,
    quality: np.ndarray | float,
    *,
    model: str = "twin",
    augmentation: str = "none",
    seed: int = 0,
    noise: int | None = None,
    **changes: Any,
) -> Outcome:
    """A finished cell; `changes` are of the cell, or of the outcome where it has a field of that name.

    `noise` is what the ranking is drawn with: rankings of the same noise err on the same rows.
    """
    figures = {
        name: changes.pop(name)
        for name in ("train_seconds", "predict_seconds", "peak_rss_mb", "counts", "n_train", "n_augmented")
        if name in changes
    }
    cell = Cell(
        judged.name,
        f"data/{judged.name}",
        model,
        augmentation,
        changes.pop("augment", () if augmentation == "none" else (augmentation.split(maxsplit=1)[0],)),
        seed=seed,
        **changes,
    )
    counts = figures.pop("counts", judged.labels.counts)
    top = ranking(judged, quality, seed if noise is None else noise)
    standing = {"train_seconds": 10.0, "predict_seconds": 1.0, "peak_rss_mb": 100.0, "n_train": TRAIN_ROWS}
    figures = {**standing, **figures}
    metrics = measured(judged, top, counts, figures["n_train"])
    key = cell.key(judged.name, "code")
    return Outcome(cell, key, metrics, top, counts, counts.astype(np.float64), **figures)


def measured(judged: Exam, top: np.ndarray, counts: np.ndarray, rows: int) -> dict[str, Any]:
    """The metrics of a ranking by a model that was trained on `rows` rows with these label counts."""
    weights = PROPENSITY_PRESETS["default"].inverse(counts, rows) if rows >= 3 else None
    known = (top, judged.test.targets, weights)
    slices = sliced_metrics(*known, head_torso_tail(counts), KS, judged.test.excluded)
    return {**metrics_at_k(*known, KS, judged.test.excluded), "slices": slices}
