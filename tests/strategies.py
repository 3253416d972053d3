"""Hypothesis strategies that the property tests share, and how many examples they try."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset, Origin, arrow_strings
from tailwright.data.pairs import pairs_from_lists


def few(examples: int) -> settings:
    """So many examples in the quick suite, where each takes long; the usual number in the thorough one."""
    usual = settings().max_examples
    is_quick = usual <= settings.get_profile("tailwright").max_examples
    return settings(max_examples=examples if is_quick else usual)


# Any Unicode text that UTF-8 can hold.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
# Values that float32 holds exactly enough to be compared bit for bit.
soft_values = st.floats(2.0**-20, 1.0, width=32)
weights = st.floats(0.0, 100.0, width=32)
above_0 = st.floats(2.0**-20, 100.0, width=32)


@st.composite
def id_lists(draw: st.DrawFn, rows: int, labels: int) -> list[list[int]]:
    """One list of distinct label ids a row, in no order."""
    row = st.lists(st.integers(0, labels - 1), unique=True, max_size=min(labels, 5))
    return draw(st.lists(row, min_size=rows, max_size=rows))


@st.composite
def datasets(draw: st.DrawFn, labels: int | None = None, min_rows: int = 0, max_rows: int = 8) -> Dataset:
    """A dataset in which every column may differ from its neutral value."""
    labels = draw(st.integers(1, 6)) if labels is None else labels
    rows = draw(st.integers(min_rows, max_rows))
    ids = draw(id_lists(rows, labels))
    values = [draw(st.lists(soft_values, min_size=len(row), max_size=len(row))) for row in ids]
    methods = ("", "eda", "gandalf")
    codes = draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows))
    sources = draw(st.lists(st.integers(0, 1000), min_size=rows, max_size=rows))
    return Dataset(
        arrow_strings(draw(st.lists(texts, min_size=rows, max_size=rows))),
        pairs_from_lists(ids, labels, values),
        np.array(draw(st.lists(weights, min_size=rows, max_size=rows)), dtype=np.float32),
        pairs_from_lists(draw(id_lists(rows, labels)), labels),
        pairs_from_lists(draw(id_lists(rows, labels)), labels),
        Origin(np.array(sources, dtype=np.int64), np.array(codes, dtype=np.int16), methods),
        ids=draw(st.none() | st.lists(texts, min_size=rows, max_size=rows)),
    )


@st.composite
def label_spaces(draw: st.DrawFn, labels: int) -> LabelSpace:
    """Labels with arbitrary names and texts and unique ids."""
    some = st.lists(texts, min_size=labels, max_size=labels)
    ids = draw(st.lists(st.integers(0, 10**6), min_size=labels, max_size=labels, unique=True))
    return LabelSpace(
        arrow_strings([str(i) for i in ids]), arrow_strings(draw(some)), arrow_strings(draw(some))
    )


@st.composite
def corpora(draw: st.DrawFn) -> Corpus:
    """A corpus with or without validation and test rows."""
    labels = draw(st.integers(1, 5))
    label_weights = draw(st.none() | st.lists(above_0, min_size=labels, max_size=labels))
    rows = datasets(labels, min_rows=1, max_rows=4).map(
        lambda data: replace(data, label_weights=label_weights)
    )
    return Corpus(draw(rows), draw(label_spaces(labels)), draw(st.none() | rows), draw(st.none() | rows))
