"""The predictions explorer: test rows found by words, with what each cell says of them side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tailwright.evaluation.judged import judge
from tailwright.evaluation.page import paragraph
from tailwright.streams import stream
from tailwright.study.report.parts import Section, by_place, percent, short
from tailwright.study.run.exam import Exam
from tailwright.study.run.outcomes import Outcome

SHOWN = 5
# What all test rows of a report may take in the file, in bytes; more are sampled.
BUDGET = 6_000_000
_TEXT_LIMIT = 400
_NAME_LIMIT = 160
_BYTES_A_LABEL = 6
_FIRST_SHOWN = 4

_ABOUT = (
    "What each cell (its first seed) puts first for a test row. Right labels are marked; the small "
    "number says how many training rows a label has in the whole training set. Pairs that evaluation "
    "leaves out are left out here."
)
_BOX = """<div id="explorer"><div class="controls">
<label>dataset <select name="dataset"></select></label>
<label class="search">words of a text or of its right labels <input type="search" name="search"></label>
<label class="tick"><input type="checkbox" name="changed"> only rows where the cells differ</label></div>
<details class="cells"><summary>Choose the cells to compare</summary><ul></ul></details>
<p class="status" role="status"></p><div class="list"></div>
<p class="more-line"><button type="button" class="more">Show more</button></p></div>"""


def explorer_section(outcomes: Sequence[Outcome], exams: Mapping[str, Exam], seed: int = 0) -> Section | None:
    """Every dataset's test rows, or a sample of them that keeps the file small."""
    cells: dict[str, dict[tuple[float, str, str], Outcome]] = {}
    for (dataset, fraction, system, augmentation), group in by_place(outcomes).items():
        cells.setdefault(dataset, {})[fraction, system, augmentation] = group[0]
    if not cells:
        return None
    sets = [_set(exams[name], there, BUDGET // len(cells), seed) for name, there in cells.items()]
    html = f"<p>{_ABOUT}</p>{_sizes(sets)}{_BOX}"
    return Section("predictions", "Predictions", html, scripts={"explorer-data": sets})


def _sizes(sets: Sequence[Mapping[str, Any]]) -> str:
    """Which share of the test rows is here, where it is not all of them."""
    sampled = [
        f"{len(s['rows']):,} of {s['all']:,} of {s['name']}" for s in sets if len(s["rows"]) < s["all"]
    ]
    if not sampled:
        return ""
    return paragraph(f"To keep this file small, test rows were drawn by chance: {', '.join(sampled)}.")


def _set(
    exam: Exam, cells: Mapping[tuple[float, str, str], Outcome], budget: int, seed: int
) -> dict[str, Any]:
    """One dataset as the page's script takes it; labels are numbered anew, only those that occur."""
    test = exam.test
    rows = _sample(exam, len(cells), budget, seed)
    cuts = [_first(outcome, exam)[rows] for outcome in cells.values()]
    targets, excluded = test.targets[rows], test.excluded[rows]
    truth = sparse.csr_array(targets - targets.multiply(excluded))
    truth.eliminate_zeros()
    used = np.unique(np.concatenate([truth.indices, *(cut[cut >= 0] for cut in cuts)]))
    place = np.full(len(exam.labels) + 1, -1, dtype=np.int64)  # the last one is for -1
    place[used] = np.arange(len(used))
    names = exam.labels.names.take(used).to_pylist()
    counts = exam.labels.counts[used].tolist()
    texts = test.texts.take(rows).to_pylist()
    ends = truth.indptr
    return {
        "name": exam.name,
        "all": len(test),
        "labels": [[short(name, _NAME_LIMIT), count] for name, count in zip(names, counts, strict=True)],
        "rows": [
            {
                "text": short(text, _TEXT_LIMIT),
                "truth": place[truth.indices[ends[row] : ends[row + 1]]].tolist(),
            }
            for row, text in enumerate(texts)
        ],
        "cells": [
            {"name": _cell_name(at, cells), "top": place[cut].ravel().tolist()}
            for at, cut in zip(cells, cuts, strict=True)
        ],
        # The cells of one system on the most rows: by_place has put these first.
        "shown": list(range(min(_FIRST_SHOWN, _alike(list(cells))))),
    }


def _alike(places: Sequence[tuple[float, str, str]]) -> int:
    """How many of the first places share fraction and system; where it is one, a second one is shown too."""
    same = sum(place[:2] == places[0][:2] for place in places)
    return same if same > 1 else 2


def _cell_name(at: tuple[float, str, str], cells: Mapping[tuple[float, str, str], Outcome]) -> str:
    fraction, system, augmentation = at
    name = f"{system} / {augmentation}"
    return name if len({f for f, _, _ in cells}) < 2 else f"{name} / {percent(fraction)}"


def _sample(exam: Exam, cells: int, budget: int, seed: int) -> np.ndarray:
    """Ascending rows that fit into so many bytes: all of them, or as many drawn by chance."""
    test = exam.test
    labels_a_row = test.targets.nnz / len(test)
    text = min(test.texts.nbytes / len(test), _TEXT_LIMIT)
    one = 30 + text + _BYTES_A_LABEL * (cells * SHOWN + labels_a_row)
    count = min(len(test), max(int(budget / one), 1))
    return np.sort(stream(seed, "report-explorer").permutation(len(test))[:count])


def _first(outcome: Outcome, exam: Exam) -> np.ndarray:
    """(test rows, SHOWN): the best labels after excluded pairs are taken out, -1 where there are no more."""
    cut = judge(outcome.top, exam.test.targets, None, (SHOWN,), exam.test.excluded).cut
    padded = np.full((len(cut), SHOWN), -1, dtype=np.int64)
    padded[:, : cut.shape[1]] = cut[:, :SHOWN]
    return padded
