"""What `tailwright data inspect` reports of a corpus: sizes, the tail and its curve, and oddities."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.pairs import row_ids


@dataclass(frozen=True)
class SplitReport:
    """One split in figures. Odd rows are counted, not dropped."""

    rows: int
    labels_used: int
    labels_a_row: float
    words_a_text: float
    median_words_a_text: float
    empty_texts: int
    rows_without_labels: int
    duplicate_texts: int
    soft_rows: int
    weighted_rows: int
    augmented_rows: int
    ignored_pairs: int
    excluded_pairs: int


@dataclass(frozen=True)
class LabelReport:
    """The labels in figures; rows are training rows."""

    labels: int
    rows_a_label: float
    median_rows_a_label: float
    most_rows_a_label: int
    without_rows: int
    with_1_row: int
    with_at_most_5_rows: int
    with_at_most_10_rows: int
    share_with_1_row: float
    share_with_at_most_5_rows: float
    share_with_at_most_10_rows: float
    mass_on_top_tenth: float
    words_a_label: float
    without_text: int
    duplicate_texts: int


@dataclass(frozen=True)
class CorpusReport:
    """A corpus in figures."""

    splits: dict[str, SplitReport]
    labels: LabelReport
    test_labels_unseen_in_train: int
    test_mass_on_unseen_labels: float
    texts_in_train_and_test: int

    def as_dict(self) -> dict[str, Any]:
        """Plain dictionaries and numbers, for JSON."""
        return asdict(self)


def inspect(corpus: Corpus) -> CorpusReport:
    """Count everything; a few passes over columns, no copy of the texts.

    >>> from tailwright.data.corpus import corpus_from_lists
    >>> report = inspect(corpus_from_lists(["red shoes", "wool hat"], [[1], [0, 1]], ["hats", "shoes"]))
    >>> report.splits["train"].labels_a_row, report.labels.with_1_row
    (1.5, 1)
    """
    counts = corpus.labels.counts
    unseen, mass, shared = 0, 0.0, 0
    if corpus.test is not None:
        test_counts = np.bincount(corpus.test.targets.indices, minlength=len(counts))
        unseen = int(np.count_nonzero((test_counts > 0) & (counts == 0)))
        mass = float(test_counts[counts == 0].sum() / max(test_counts.sum(), 1))
        train_texts = pc.unique(corpus.train.texts)
        shared = int(pc.sum(pc.is_in(pc.unique(corpus.test.texts), value_set=train_texts)).as_py() or 0)
    return CorpusReport(
        splits={name: _split_report(split) for name, split in corpus.splits().items()},
        labels=_label_report(corpus),
        test_labels_unseen_in_train=unseen,
        test_mass_on_unseen_labels=mass,
        texts_in_train_and_test=shared,
    )


def _split_report(split: Dataset) -> SplitReport:
    words = word_counts(split.texts)
    labels_a_row = np.diff(split.targets.indptr)
    return SplitReport(
        rows=len(split),
        labels_used=len(np.unique(split.targets.indices)),
        labels_a_row=_mean(labels_a_row),
        words_a_text=_mean(words),
        median_words_a_text=_median(words),
        empty_texts=int(np.count_nonzero(words == 0)),
        rows_without_labels=int(np.count_nonzero(labels_a_row == 0)),
        duplicate_texts=len(split) - len(pc.unique(split.texts)),
        soft_rows=len(np.unique(row_ids(split.targets)[split.targets.data < 1])),
        weighted_rows=int(np.count_nonzero(split.weights != 1)),
        augmented_rows=int(np.count_nonzero(~split.origin.is_original())),
        ignored_pairs=int(split.ignored.nnz),
        excluded_pairs=int(split.excluded.nnz),
    )


def _label_report(corpus: Corpus) -> LabelReport:
    counts, texts = corpus.labels.counts, corpus.labels.texts
    words = word_counts(texts)
    labels = len(counts)
    top_tenth = np.sort(counts)[::-1][: max(labels // 10, 1)]
    few = {n: int(np.count_nonzero(counts <= n)) for n in (5, 10)}
    once = int(np.count_nonzero(counts == 1))
    return LabelReport(
        labels=labels,
        rows_a_label=_mean(counts),
        median_rows_a_label=_median(counts),
        most_rows_a_label=int(counts.max(initial=0)),
        without_rows=int(np.count_nonzero(counts == 0)),
        with_1_row=once,
        with_at_most_5_rows=few[5],
        with_at_most_10_rows=few[10],
        share_with_1_row=once / max(labels, 1),
        share_with_at_most_5_rows=few[5] / max(labels, 1),
        share_with_at_most_10_rows=few[10] / max(labels, 1),
        mass_on_top_tenth=float(top_tenth.sum() / max(counts.sum(), 1)),
        words_a_label=_mean(words),
        without_text=int(np.count_nonzero(words == 0)),
        duplicate_texts=labels - len(pc.unique(texts)),
    )


def word_counts(texts: pa.LargeStringArray) -> np.ndarray:
    """(rows,) the number of words of each text, separated by white space."""
    trimmed = pc.utf8_trim_whitespace(texts)
    words = pc.list_value_length(pc.utf8_split_whitespace(trimmed)).to_numpy(zero_copy_only=False)
    return np.where(pc.binary_length(trimmed).to_numpy(zero_copy_only=False) == 0, 0, words)


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else 0.0


def _median(values: np.ndarray) -> float:
    return float(np.median(values)) if len(values) else 0.0


def rank_frequency(counts: np.ndarray) -> np.ndarray:
    """The training rows of each label that has any, most frequent first."""
    return np.sort(counts[counts > 0])[::-1]


def draw_in_terminal(counts: np.ndarray, width: int = 60, height: int = 12) -> str:
    """The curve with both axes logarithmic, as lines of text.

    >>> print(draw_in_terminal(np.array([8, 4, 2, 1]), width=8, height=4))
    8 ┤███
      ┤███▅▅
      ┤█████▃▃
    1 ┤███████▁
      └────────
       1      4  label rank (log), rows per label (log)
    """
    curve = rank_frequency(counts)
    if not len(curve):
        return "no label has a row"
    ranks = np.geomspace(1, len(curve), width).round().astype(int)
    top = np.log(curve[0])
    # Heights in eighths of a line; a label with one row still shows as the lowest bar.
    level = np.log(curve[ranks - 1]) / top if top > 0 else np.ones(len(ranks))
    eighths = np.maximum((level * height * 8).round().astype(int), 1)
    most = f"{curve[0]:,}"
    margin = len(most)
    lines = []
    for line in range(height, 0, -1):
        filled = np.clip(eighths - (line - 1) * 8, 0, 8)
        bars = "".join(" ▁▂▃▄▅▆▇█"[n] for n in filled).rstrip()
        tick = most if line == height else "1" if line == 1 else ""
        lines.append(f"{tick:>{margin}} ┤{bars}")
    lines.append(f"{'':>{margin}} └{'─' * width}")
    lines.append(f"{'':>{margin}}  1{len(curve):>{width - 1},}  label rank (log), rows per label (log)")
    return "\n".join(lines)
