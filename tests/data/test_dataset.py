"""Dataset, LabelSpace, Corpus: immutable, and every column survives every operation."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import corpora, datasets

from tailwright.data import Corpus, Dataset, LabelSpace, Origin, corpus_from_lists
from tailwright.data.dataset import arrow_strings, share_of
from tailwright.data.pairs import pairs_from_lists


def row_of(data: Dataset, i: int) -> tuple[object, ...]:
    """Everything a dataset knows of one row."""
    pairs = [
        (matrix[[i]].indices.tolist(), matrix[[i]].data.tolist())
        for matrix in (data.targets, data.ignored, data.excluded)
    ]
    source = (int(data.origin.rows[i]), data.origin.names()[i])
    key = "" if data.ids is None else data.ids[i].as_py()
    return (data.texts[i].as_py(), *map(str, pairs), float(data.weights[i]), source, key)


@given(datasets(), st.data())
def test_take_keeps_every_column_of_every_row(data, draws):
    index = draws.draw(st.lists(st.integers(0, len(data) - 1), max_size=10)) if len(data) else []
    taken = data.take(index)
    assert [row_of(taken, i) for i in range(len(taken))] == [row_of(data, i) for i in index]
    assert taken.labels == data.labels


@given(st.lists(datasets(labels=4), min_size=1, max_size=4))
def test_concat_keeps_every_column_of_every_row(parts):
    whole = Dataset.concat(parts)
    assert [row_of(whole, i) for i in range(len(whole))] == [
        row_of(p, i) for p in parts for i in range(len(p))
    ]


@given(datasets(min_rows=1, max_rows=8), st.integers(0, 5))
def test_samples_are_nested_and_keep_every_column(data, seed):
    fractions = [0.1, 0.25, 0.5, 0.8, 1.0]
    samples = [data.sample(fraction, seed) for fraction in fractions]
    assert samples[-1].same_as(data)
    for smaller, larger in pairwise(samples):
        rest = [row_of(larger, i) for i in range(len(larger))]
        for i in range(len(smaller)):
            rest.remove(row_of(smaller, i))
    assert [len(sample) for sample in samples] == [share_of(len(data), fraction) for fraction in fractions]


@given(datasets(min_rows=2, max_rows=8), st.integers(0, 5))
def test_split_parts_are_disjoint_and_together_the_whole(data, seed):
    numbered = Dataset(data.texts, data.targets, data.weights, data.ignored, data.excluded)
    train, valid = numbered.split(0.3, seed)
    assert sorted([*train.origin.rows, *valid.origin.rows]) == list(range(len(data)))
    for part in (train, valid):
        assert part.same_as(numbered.take(part.origin.rows))


@given(datasets(min_rows=1))
def test_columns_cannot_be_changed_in_place(data):
    for array in (
        data.weights,
        data.origin.rows,
        data.targets.data,
        data.ignored.indices,
        data.excluded.indptr,
    ):
        if array.size:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
    with pytest.raises(FrozenInstanceError):
        data.weights = np.ones(len(data))


def test_the_callers_arrays_stay_writable_and_apart():
    weights = np.array([1.0, 2.0], dtype=np.float32)
    data = Dataset(["a", "b"], pairs_from_lists([[0], [0]], 1), weights)
    weights[0] = 9
    assert data.weights.tolist() == [1.0, 2.0]


def test_share_sizes_are_those_of_the_published_subsamples():
    # 1,186,239 rows, 10 % held out, then 50 %, 5 %, 1 % of the rest.
    kept = share_of(1_186_239, 1) - (1_186_239 - share_of(1_186_239, 0.9))
    assert kept == 1_067_615
    assert [share_of(kept, f) for f in (0.5, 0.05, 0.01)] == [533_807, 53_380, 10_676]


def test_split_sizes_follow_exact_arithmetic():
    data = Dataset([""] * 100, pairs_from_lists([[]] * 100, 1))
    for percent in range(1, 100):
        train, valid = data.split(percent / 100)
        assert (len(train), len(valid)) == (100 - percent, percent)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": pairs_from_lists([[0], [1]], 2, [[1.0], [1.5]])}, "targets must be in"),
        ({"targets": pairs_from_lists([[0], [1]], 2, [[1.0], [0.0]])}, "targets must be in"),
        ({"targets": pairs_from_lists([[0], [1]], 2, [[1.0], [float("nan")]])}, "targets must be in"),
        ({"targets": pairs_from_lists([[0]], 2)}, "targets has shape"),
        ({"weights": np.array([1.0, -1.0])}, "weights must be"),
        ({"weights": np.array([1.0, np.inf])}, "weights must be"),
        ({"weights": np.ones(3)}, "weights has shape"),
        ({"ignored": pairs_from_lists([[0], []], 3)}, "ignored has shape"),
        ({"excluded": pairs_from_lists([[0], []], 2, [[0.5], []])}, "excluded must store ones"),
        ({"origin": Origin.originals(3)}, "origin.rows has shape"),
        ({"texts": ["a", None]}, "null"),
        ({"ids": ["7"]}, "ids has 1 entries, expected 2"),
    ],
)
def test_bad_columns_are_refused_by_name(change, message):
    columns = {"texts": ["a", "b"], "targets": pairs_from_lists([[0], [1]], 2)}
    with pytest.raises(ValueError, match=message):
        Dataset(**{**columns, **change})


def test_a_label_twice_in_a_row_is_refused_but_in_two_rows_is_fine():
    pairs_from_lists([[0, 1], [1, 2]], 3)
    with pytest.raises(ValueError, match="row 1 has the same label twice"):
        pairs_from_lists([[], [1, 2, 1]], 3)


def test_a_label_id_out_of_range_is_refused():
    with pytest.raises(ValueError, match=r"label id 3 is not in 0\.\.2"):
        pairs_from_lists([[3]], 3)


@pytest.mark.parametrize("fraction", [0, -0.1, 1.01])
def test_a_fraction_outside_0_to_1_is_refused(fraction):
    data = Dataset(["a"], pairs_from_lists([[]], 1))
    with pytest.raises(ValueError, match="fraction must be in"):
        data.sample(fraction)


def test_label_counts_come_from_original_rows_only():
    corpus = corpus_from_lists(["a", "b"], [[0], [0, 1]], ["x", "y"])
    made = Dataset(["c"], pairs_from_lists([[1]], 2), origin=Origin.made_by("eda", np.array([1])))
    grown = corpus.with_train(Dataset.concat([corpus.train, made]))
    assert grown.labels.counts.tolist() == corpus.labels.counts.tolist() == [2, 1]
    assert len(grown.train.originals()) == 2


def test_a_corpus_keeps_its_validation_rows():
    corpus = corpus_from_lists(["a", "b", "c", "d"], [[0], [1], [0], [1]], ["x", "y"])
    held_out = corpus.split(valid=0.25)
    assert held_out.split(valid=0.5) is held_out
    assert (len(held_out.train), len(held_out.valid)) == (3, 1)
    assert held_out.labels.counts.sum() == 3


def test_splits_over_other_labels_are_refused():
    with pytest.raises(ValueError, match="test has 3 labels, expected 2"):
        Corpus(
            Dataset(["a"], pairs_from_lists([[0]], 2)),
            LabelSpace.numbered(2),
            test=Dataset(["a"], pairs_from_lists([[0]], 3)),
        )


def test_label_ids_must_be_unique():
    with pytest.raises(ValueError, match="not unique"):
        LabelSpace(arrow_strings(["a", "a"]))


def made_rows(*label_weights: float, methods: str = "-+") -> Dataset:
    """Rows over two labels: + for a made one, - for an original one."""
    codes = np.array([method == "+" for method in methods], dtype=np.int16)
    return Dataset(
        arrow_strings(list(methods)),
        pairs_from_lists([[0, 1]] * len(methods), 2),
        np.full(len(methods), 0.5),
        origin=Origin(np.arange(len(methods)), codes, ("", "eda")),
        label_weights=np.array(label_weights) if label_weights else None,
    )


def test_label_weights_stay_where_there_are_made_rows():
    data = made_rows(0.5, 2, methods="-+-+")
    for kept in (data.take([3, 0]), data.binarised(0.5), data.weighed(), Dataset.concat([data, data])):
        np.testing.assert_array_equal(kept.label_weights, [0.5, 2])


def test_without_made_rows_there_are_no_label_weights():
    data = made_rows(0.5, 2)
    assert data.originals().label_weights is None
    assert data.originals().same_as(made_rows().originals())


def test_original_rows_join_those_with_label_weights():
    joined = Dataset.concat([made_rows(methods="--"), made_rows(0.5, 2)])
    np.testing.assert_array_equal(joined.label_weights, [0.5, 2])


@pytest.mark.parametrize("other", [(), (0.5, 3)])
def test_made_rows_with_different_label_weights_do_not_join(other):
    with pytest.raises(ValueError, match="made rows have different label weights"):
        Dataset.concat([made_rows(0.5, 2), made_rows(*other)])


@pytest.mark.parametrize(
    ("weights", "message"),
    [([1.0], "shape"), ([1.0, 0.0], "finite and > 0"), ([1.0, np.nan], "finite and > 0")],
)
def test_wrong_label_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        made_rows(*weights)


def test_label_weights_are_part_of_what_a_dataset_is():
    corpora = [Corpus(rows, LabelSpace.numbered(2)) for rows in (made_rows(), made_rows(0.5, 2))]
    assert not corpora[0].same_as(corpora[1])
    assert corpora[0].digest() != corpora[1].digest()


def test_weighted_targets_and_counts_have_label_weights_in_made_rows():
    data = made_rows(0.5, 2)
    np.testing.assert_array_equal(data.weighted_targets().toarray(), [[0.5, 0.5], [0.25, 1]])
    np.testing.assert_array_equal(data.weighted_counts(), [0.75, 1.5])


@given(corpora(), st.data())
def test_equal_corpora_have_equal_digests_and_others_do_not(corpus, draws):
    again = Corpus(corpus.train.take(np.arange(len(corpus.train))), corpus.labels, corpus.valid, corpus.test)
    assert again.digest() == corpus.digest()
    column = draws.draw(st.sampled_from(["texts", "targets", "weights", "ignored", "excluded", "origin"]))
    other = draws.draw(datasets(labels=len(corpus.labels), min_rows=1))
    other = other.take(np.resize(np.arange(len(other)), len(corpus.train)))
    changed = corpus.with_train(replace(corpus.train, **{column: getattr(other, column)}))
    assert (changed.digest() == corpus.digest()) == changed.train.same_as(corpus.train)


@given(datasets(), st.sampled_from([0.1, 0.5, 1.0]))
def test_binarised_rows_keep_what_is_above_the_threshold_as_ones(data, threshold):
    hard = data.binarised(threshold)
    assert (hard.targets.toarray() == (data.targets.toarray() >= np.float32(threshold))).all()
    assert hard.texts.equals(data.texts)
    assert np.array_equal(hard.weights, data.weights)
