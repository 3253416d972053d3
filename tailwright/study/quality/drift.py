"""Label drift: does a trained model still find the labels of the source in the new row?

| figure, in percent | meaning |
|---|---|
| `P@1`, `P@3`, `P@5` | share of the first k labels that are labels of the source, as everywhere |
| `P@n` | share of the source's n labels that are among the first n |
| `all@n` | rows in which the first n labels are just those of the source |

By label frequency only the labels of the slice count, and only rows that have one, as in
`tailwright.evaluation.metrics`; n stays the number of all labels of the row.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.pairs import row_ids
from tailwright.evaluation.judged import Judged, judge
from tailwright.evaluation.metrics import add_up_rows
from tailwright.labels import head_torso_tail
from tailwright.runs.evaluation import ranked
from tailwright.runs.run import Run
from tailwright.streams import stream
from tailwright.study.quality.sources import Pairing

KS = (1, 3, 5)
DRIFT_ROWS = 10_000
ALL = "all"


@dataclass(frozen=True)
class Drift:
    """A model's predictions for sources and new rows against the sources' labels.

    `sources` and `new` map `all`, `head`, `torso`, `tail`, `unseen` (those that occur) to figures; `rows` in
    them is how many rows they are means over. `same` is the share of the first n labels of a source that are
    among the first n of its new row.
    `seen_sources`: the model was trained on as many rows with the same label counts, so on the sources, which
    flatters them. `seen_new`: it was trained with this method or on this corpus, so likely on new rows too.
    """

    pairs: int
    sources: dict[str, dict[str, float]]
    new: dict[str, dict[str, float]]
    same: float
    seen_sources: bool
    seen_new: bool


def drift(corpus: Corpus, pairing: Pairing, run: Run, seed: int = 0) -> Drift | None:
    """The drift of at most `DRIFT_ROWS` pairs drawn by `seed`; None where no pair has a label."""
    train = corpus.train
    labelled = np.diff(train.targets.indptr) > 0
    pairs = pairing.paired()
    pairs = pairs[labelled[pairing.sources[pairs]]]
    if len(pairs) > DRIFT_ROWS:
        pairs = np.sort(stream(seed, f"drift-{pairing.method}").permutation(pairs)[:DRIFT_ROWS])
    if not len(pairs):
        return None
    sources = train.take(pairing.sources[pairs])
    new = replace(sources, texts=train.texts.take(pa.array(pairing.rows[pairs])))
    slices = {ALL: np.ones(len(run.labels), dtype=bool), **head_torso_tail(run.labels.counts)}
    before, after = _judged(run, sources), _judged(run, new)
    originals = int(train.origin.is_original().sum())
    return Drift(
        pairs=len(pairs),
        sources=_figures(before, slices),
        new=_figures(after, slices),
        same=_same(before, after),
        seen_sources=run.train_rows == originals and np.array_equal(run.labels.counts, corpus.labels.counts),
        seen_new=pairing.method in run.augment or _same_place(run.data.path, corpus.source),
    )


def _judged(run: Run, data: Dataset) -> Judged:
    ks = (*KS, int(np.diff(data.targets.indptr).max()))
    return judge(ranked(run, data, ks), data.targets, None, ks, data.excluded)


def _sizes(judged: Judged) -> np.ndarray:
    """(rows,) n: the labels of each row, without those that evaluation leaves out."""
    truth = judged.truth
    return np.bincount(row_ids(truth)[truth.data > 0], minlength=judged.rows)


def _figures(judged: Judged, slices: dict[str, np.ndarray]) -> dict[str, dict[str, float]]:
    truth, rows = judged.truth, row_ids(judged.truth)
    places = add_up_rows(judged, truth.data).places
    # A label that is not ranked comes after all that are.
    places = np.where(places < 0, judged.labels, places)
    in_first_n = places < _sizes(judged)[rows]
    by_slice = {}
    for name, mask in slices.items():
        counted = mask[truth.indices] & (truth.data > 0)
        there = np.bincount(rows[counted], minlength=judged.rows)
        with_truth = int((there > 0).sum())
        if not with_truth:
            continue
        figures = {"rows": float(with_truth)}
        for k in KS:
            hits = truth.data[counted & (places < k)].sum()
            figures[f"P@{k}"] = float(100 * hits / (with_truth * k))
        kept = np.bincount(rows[counted & in_first_n], minlength=judged.rows)
        figures["P@n"] = float(100 * (kept[there > 0] / there[there > 0]).mean())
        figures["all@n"] = float(100 * (kept == there)[there > 0].mean())
        by_slice[name] = figures
    return by_slice


def _same(before: Judged, after: Judged) -> float:
    """The mean share of the first n labels of a source that its new row has among its first n."""
    n, rows = _sizes(before)[:, None], np.arange(before.rows)[:, None]
    # A number for each pair of row and label, so that labels of two rows are never the same.
    first, second = (
        np.where((np.arange(j.cut.shape[1]) < n) & (j.cut >= 0), rows * j.labels + j.cut, -1)
        for j in (before, after)
    )
    predicted = (first >= 0).sum(axis=1)
    kept = (np.isin(first, second) & (first >= 0)).sum(axis=1)
    return float(100 * (kept[predicted > 0] / predicted[predicted > 0]).mean()) if predicted.any() else 0.0


def _same_place(one: str, other: str) -> bool:
    return bool(one and other) and os.path.realpath(one) == os.path.realpath(other)
