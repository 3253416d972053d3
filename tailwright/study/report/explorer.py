"""The predictions explorer: test rows found by words, with the predictions of several cells side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tailwright.evaluation.judged import judge
from tailwright.streams import stream
from tailwright.study.page import short
from tailwright.study.page.html import render
from tailwright.study.report.sections import Place, Section, by_place, grouped
from tailwright.study.run.exam import Exam
from tailwright.study.run.outcomes import Outcome

SHOWN = 5
# Bytes that all test rows of a report may take in the file; where they would take more, they are sampled.
BUDGET = 6_000_000
_TEXT_LIMIT = 400
_NAME_LIMIT = 160
_BYTES_A_LABEL = 6
_FIRST_SHOWN = 4


def explorer_section(outcomes: Sequence[Outcome], exams: Mapping[str, Exam]) -> Section | None:
    """Every dataset's test rows, or a sample of them that keeps the file small."""
    by_dataset = grouped(by_place(outcomes), 1)
    if not by_dataset:
        return None
    budget = BUDGET // len(by_dataset)
    datasets = [
        _dataset(exams[name], {at: of_seeds[0] for at, of_seeds in cells.items()}, budget)
        for (name,), cells in by_dataset.items()
    ]
    sampled = [
        f"{len(d['rows']):,} of {d['all']:,} of {d['name']}" for d in datasets if len(d["rows"]) < d["all"]
    ]
    html = render(__package__, "explorer.html.j2", sampled=sampled)
    return Section("predictions", "Predictions", html, scripts={"explorer-data": datasets})


def _dataset(exam: Exam, cells: Mapping[Place, Outcome], budget: int) -> dict[str, Any]:
    """One dataset as the page's script takes it; labels are numbered anew, only those that occur."""
    test = exam.test
    rows = _sample(exam, len(cells), budget)
    cuts = [_first(outcome, exam)[rows] for outcome in cells.values()]
    targets, excluded = test.targets[rows], test.excluded[rows]
    truth = sparse.csr_array(targets - targets.multiply(excluded))
    truth.eliminate_zeros()
    used = np.unique(np.concatenate([truth.indices, *(cut[cut >= 0] for cut in cuts)]))
    place = np.full(len(exam.labels) + 1, -1, dtype=np.int64)  # the last one is for -1
    place[used] = np.arange(len(used))
    names = [short(name, _NAME_LIMIT) for name in exam.labels.names.take(used).to_pylist()]
    texts = [short(text, _TEXT_LIMIT) for text in test.texts.take(rows).to_pylist()]
    ids = test.ids.take(rows).to_pylist() if test.ids is not None else [""] * len(rows)
    true_labels = np.split(place[truth.indices], truth.indptr[1:-1])
    alike = sum(at[:2] == next(iter(cells))[:2] for at in cells)
    several_shares = len({share for share, _, _ in cells}) > 1
    titles = [f"{system} / {name}" + f" / {share}" * several_shares for share, system, name in cells]
    return {
        "name": exam.name,
        "all": len(test),
        "labels": list(zip(names, exam.labels.counts[used].tolist(), strict=True)),
        "rows": [
            {**({"id": key} if key else {}), "text": text, "truth": labels.tolist()}
            for key, text, labels in zip(ids, texts, true_labels, strict=True)
        ],
        "cells": [{"name": n, "top": place[c].ravel().tolist()} for n, c in zip(titles, cuts, strict=True)],
        # The cells of one system on the most rows: by_place has put these first.
        "shown": list(range(min(_FIRST_SHOWN, max(alike, 2)))),
    }


def _sample(exam: Exam, cells: int, budget: int) -> np.ndarray:
    """Ascending rows that fit into so many bytes: all of them, or as many drawn at random."""
    test = exam.test
    labels_a_row = test.targets.nnz / len(test)
    text = min(test.texts.nbytes / len(test), _TEXT_LIMIT)
    one = 30 + text + _BYTES_A_LABEL * (cells * SHOWN + labels_a_row)
    count = min(len(test), max(int(budget / one), 1))
    return np.sort(stream(0, "report-explorer").permutation(len(test))[:count])


def _first(outcome: Outcome, exam: Exam) -> np.ndarray:
    """(test rows, SHOWN): the best labels after excluded pairs are taken out, -1 where there are no more."""
    cut = judge(outcome.top, exam.test.targets, None, (SHOWN,), exam.test.excluded).cut
    return np.pad(cut, ((0, 0), (0, SHOWN - cut.shape[1])), constant_values=-1)
