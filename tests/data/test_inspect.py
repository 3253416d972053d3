"""`inspect` counts what it says it counts, on a corpus made by hand and on the real datasets."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from real_datasets import TEXT_DATASETS

import tailwright as tw
from tailwright.checks.corpora import odd_corpus
from tailwright.cli import run
from tailwright.cli.inspect import rank_plot
from tailwright.data import Corpus, Dataset, LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.data.inspect import draw_in_terminal, word_counts
from tailwright.data.pairs import pairs_from_lists


def test_figures_of_a_corpus_made_by_hand():
    train = Dataset(["a b", "a b", "", "c d e f"], pairs_from_lists([[0], [0, 1], [], [0]], 4))
    test = Dataset(["a b", "new"], pairs_from_lists([[0, 2], [2]], 4))
    labels = LabelSpace(arrow_strings(["0", "1", "2", "3"]), None, arrow_strings(["x", "x y", "", ""]))
    report = tw.inspect(Corpus(train, labels, test=test))
    split = report.splits["train"]
    assert (split.rows, split.labels_used, split.labels_a_row) == (4, 2, 1.0)
    assert (split.words_a_text, split.median_words_a_text) == (2.0, 2.0)
    assert (split.empty_texts, split.rows_without_labels, split.duplicate_texts) == (1, 1, 1)
    assert (report.labels.labels, report.labels.rows_a_label, report.labels.most_rows_a_label) == (4, 1.0, 3)
    assert (report.labels.with_1_row, report.labels.without_rows) == (1, 2)
    assert report.labels.with_at_most_5_rows == report.labels.with_at_most_10_rows == 4
    assert report.labels.without_text == 2
    assert report.test_labels_unseen_in_train == 1
    assert report.test_mass_on_unseen_labels == pytest.approx(2 / 3)
    assert report.texts_in_train_and_test == 1


def test_soft_weighted_ignored_and_excluded_are_counted():
    split = tw.inspect(odd_corpus()).splits["train"]
    assert (split.soft_rows, split.weighted_rows, split.ignored_pairs, split.excluded_pairs) == (5, 3, 1, 1)
    assert (split.empty_texts, split.rows_without_labels, split.duplicate_texts) == (2, 1, 1)


def test_no_rows_at_all():
    empty = Corpus(Dataset([], pairs_from_lists([], 2)), LabelSpace.numbered(2))
    report = tw.inspect(empty)
    assert report.splits["train"].rows == 0
    assert json.dumps(report.as_dict(), allow_nan=False)


def test_word_counts_split_at_white_space_only():
    texts = ["", "  ", "one", " two  words ", "don't-split this", "a\tb\nc", "日本語 x"]
    assert word_counts(arrow_strings(texts)).tolist() == [len(text.split()) for text in texts]


@pytest.mark.parametrize("name", TEXT_DATASETS)
def test_figures_of_the_real_datasets_are_the_published_ones(real_data, name):
    folder = real_data / name
    facts = json.loads((folder / "stats.json").read_text())
    report = tw.inspect(tw.read(folder))
    train, test, labels = report.splits["train"], report.splits["test"], report.labels
    assert (train.rows, test.rows, labels.labels) == (facts["n_train"], facts["n_test"], facts["n_labels"])
    assert (train.labels_used, test.labels_used) == (facts["labels_in_train"], facts["labels_in_test"])
    assert report.test_labels_unseen_in_train == facts["labels_only_in_test"]
    assert round(train.labels_a_row, 2) == facts["avg_labels_per_train"]
    assert round(test.labels_a_row, 2) == facts["avg_labels_per_test"]
    assert round(labels.rows_a_label, 2) == facts["avg_points_per_label"]
    assert labels.median_rows_a_label == facts["median_points_per_label"]
    assert (labels.with_1_row, labels.with_at_most_5_rows) == (facts["labels_with_1"], facts["labels_le5"])
    assert labels.most_rows_a_label == facts["max_label_freq"]
    assert round(labels.mass_on_top_tenth, 3) == facts["mass_top10pct"]
    assert round(train.words_a_text, 1) == facts["avg_words_train"]
    assert train.median_words_a_text == facts["median_words_train"]
    assert round(labels.words_a_label, 2) == facts["avg_words_label"]
    assert labels.labels - labels.without_text == facts["labels_with_text"]


def test_the_curve_can_be_drawn_for_any_counts():
    for counts in ([], [0, 0], [1], [7], [1, 1, 1], [1000, 10, 1]):
        drawn = draw_in_terminal(np.array(counts, dtype=np.int64))
        assert drawn.count("\n") == (0 if not any(counts) else 13)


def test_the_curve_as_a_picture(tmp_path):
    rank_plot(np.array([900, 60, 20, 4, 1, 1, 0])).write(tmp_path / "tail.svg")
    svg = "{http://www.w3.org/2000/svg}"
    picture = ET.parse(tmp_path / "tail.svg").getroot()
    assert len(list(picture.iter(f"{svg}polyline"))) == 1
    assert {"head", "torso", "tail", "label rank", "training rows"} <= {
        t.text for t in picture.iter(f"{svg}text")
    }
    assert "Labels: 2 head, 1 torso, 3 tail." in picture.find(f"{svg}desc").text


def test_a_picture_that_cannot_be_written_is_refused_before_the_corpus_is_read(tmp_path, capsys):
    for name, why in (("tail.png", "found .png, expected .svg"), ("no/tail.svg", "cannot be written (")):
        assert run(["data", "inspect", str(tmp_path / "nowhere"), "--plot", str(tmp_path / name)]) == 2
        assert capsys.readouterr().err.startswith(f"tailwright: {tmp_path / name}: {why}")
    assert list(tmp_path.iterdir()) == []
