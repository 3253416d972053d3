"""`train`, `augment` and `evaluate` take what `read` takes, and say what they made of it."""

from __future__ import annotations

import logging

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import tailwright as tw
from tailwright.augmentation import RowMethod, augmenters
from tailwright.checks.corpora import tiny_corpus
from tailwright.errors import InputError

TEXTS = ["red shoes", "wool hat", "leather shoes", "winter hat of wool"]
LABELS = [["shoes"], ["hats"], ["shoes"], ["hats", "winter"]]
FRAME = pd.DataFrame({"title": TEXTS, "tags": LABELS, "price": 1})


@pytest.fixture(scope="module")
def run() -> tw.Run:
    return tw.train(TEXTS, LABELS, model="linear", settings={"trees": 1})


def scores(run: tw.Run) -> np.ndarray:
    return run.model.predict(TEXTS, 3).scores


def test_lists_a_frame_a_matrix_and_a_corpus_of_the_same_rows_train_the_same_run(run):
    corpus = tw.read(TEXTS, LABELS)
    names = corpus.labels.names.to_pylist()
    ways = [
        tw.train(FRAME, "linear", text="title", labels="tags", settings={"trees": 1}),
        tw.train(
            TEXTS, sparse.csr_array(corpus.train.targets), "linear", label_names=names, settings={"trees": 1}
        ),
        tw.train(corpus, "linear", settings={"trees": 1}),
    ]
    for other in ways:
        assert other.labels.same_as(run.labels)
        np.testing.assert_array_equal(scores(other), scores(run))
    assert run.train_rows == len(TEXTS)


def test_a_single_file_is_split_by_the_seed_as_on_the_command_line(tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text("title,tags\n" + "".join(f"row {i},x|y\n" for i in range(20)))
    run = tw.train(path, "popularity", text="title", labels="tags", seed=3)
    corpus = tw.read(path, text="title", labels="tags", seed=3)
    assert (run.train_rows, run.data.digest) == (16, corpus.digest())
    columns = {"text": "title", "labels": "tags"}
    assert tw.evaluate(run, path, seed=3, **columns) == tw.evaluate(run, corpus.test)


def test_what_auto_chose_and_what_reading_left_are_logged(caplog):
    caplog.set_level(logging.INFO, logger="tailwright.runs.asked")
    numbered = FRAME.assign(tags=[[0], [1], [0], [1, 2]])
    run = tw.train(numbered, settings={"trees": 1})
    assert (run.model.card.name, run.augment) == ("linear", ())
    assert [record.getMessage() for record in caplog.records] == [
        "text = title; labels = tags, lists; ignored: price",
        "model linear: 0% of the labels have a text",
        "augmentation none, by rule: only 0% of the labels have a text, of which rows could be made; "
        "not measured on your rows: `tailwright advise PATH --model linear` measures it",
    ]


def test_a_named_model_learns_from_the_rows_alone_unless_an_augmentation_is_asked_for():
    settings = {"settings": {"trees": 1}}
    assert tw.train(TEXTS, LABELS, "linear", augment="gandalf", **settings).augment == ("gandalf",)
    assert tw.train(TEXTS, LABELS, "popularity", augment="none").augment == ()
    automatic = tw.train(TEXTS, LABELS, "linear", augment="auto", **settings)
    assert automatic.augmentations[0].settings["soft"] is False
    assert tw.train(TEXTS, LABELS, "linear", **settings).augment == ()


def test_mistakes_are_refused_before_anything_is_written(tmp_path):
    out = tmp_path / "run"
    with pytest.raises(InputError, match="unknown model 'lineal'; did you mean 'linear'"):
        tw.train("no-such-file.csv", "lineal", out=out)
    with pytest.raises(InputError, match="found labels, and also labels=, expected one of the two"):
        tw.train(TEXTS, LABELS, labels="tags", out=out)
    with pytest.raises(InputError, match="found the models linear and twin"):
        tw.train(tiny_corpus(), "linear", model="twin", out=out)
    with pytest.raises(InputError, match=r"row 1: text is 7, expected a string"):
        tw.train(["a", 7], LABELS[:2], "linear", out=out)
    assert list(tmp_path.iterdir()) == []


def test_rows_to_evaluate_on_come_in_every_form(run, tmp_path):
    corpus = tw.read({"train": FRAME, "test": FRAME[:2]})
    expected = tw.evaluate(run, corpus.train.take([0, 1]))
    assert tw.evaluate(run, corpus) == expected
    assert tw.evaluate(run, (TEXTS[:2], LABELS[:2])) == expected
    assert tw.evaluate(run, FRAME[:2], text="title") == expected
    assert tw.evaluate(run, TEXTS[:2], labels=LABELS[:2]) == expected
    tw.write(corpus, tmp_path / "shop")
    assert tw.evaluate(run, tmp_path / "shop") == expected


def test_labels_are_found_by_name_and_unknown_ones_are_counted(run, caplog):
    truth = [["winter", "boots"], ["belts", "hats"]]
    found = tw.evaluate(run, (TEXTS[:2], truth))
    assert found == tw.evaluate(run, (TEXTS[:2], [["winter"], ["hats"]]))
    line = "found 2 labels that the run does not know, the first 'boots' in row 0"
    assert caplog.messages == [f"{line}: left out of 2 pairs"]
    with pytest.raises(InputError) as caught:
        tw.evaluate(run, (TEXTS[:2], truth), strict=True)
    assert str(caught.value) == f"{line}, expected some of its 3 labels"


def test_ids_find_labels_too_and_a_label_given_twice_counts_once():
    corpus = tiny_corpus()
    run = tw.train(corpus, "popularity")
    by_name = corpus.labels.names.to_pylist()
    texts, rows = ["apple", "bridge"], [[0, 3], [2]]
    named = [[by_name[label] for label in row] for row in rows]
    twice = [[*names, *map(str, row)] for names, row in zip(named, rows, strict=True)]
    judged = [tw.evaluate(run, (texts, labels)) for labels in (rows, named, twice)]
    assert judged[0] == judged[1] == judged[2]


def test_rows_that_cannot_be_judged_are_refused(run):
    with pytest.raises(InputError, match="found no test rows, expected a test split"):
        tw.evaluate(run, tw.read(TEXTS, LABELS))
    with pytest.raises(InputError, match="found a Dataset and labels, expected the Dataset alone"):
        tw.evaluate(run, tw.read(TEXTS, LABELS).train, labels="tags")


def test_augment_takes_rows_in_every_form_and_several_methods():
    corpus = tw.read(TEXTS, LABELS)
    both = tw.augment((TEXTS, LABELS), ["gandalf", "mask"])
    assert both.same_as(tw.augment(tw.augment(corpus, "gandalf"), "mask"))
    assert tw.augment(FRAME, "gandalf", text="title").same_as(tw.augment(corpus, "gandalf"))
    with pytest.raises(InputError, match="mask acts on rows that methods before it made"):
        tw.augment(corpus, ["mask", "gandalf"])
    with pytest.raises(InputError, match="found several methods, and settings"):
        tw.augment(corpus, ["gandalf"], settings={"soft": False})


def test_the_help_of_augment_lists_every_method_that_makes_rows():
    cards = [augmenters.card(name) for name in augmenters.names()]
    listed = [f"| `{card.name}` | {card.summary} |" for card in cards if card.door == "rows"]
    assert len(listed) >= 8
    assert [line for line in listed if line not in str(tw.augment.__doc__)] == []
    assert issubclass(augmenters.get("eda"), RowMethod)
