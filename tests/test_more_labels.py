"""Labels that are added to a trained run by their texts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run
from tailwright.data.corpus import LabelSpace
from tailwright.data.dataset import Origin
from tailwright.data.labels_to_add import labels_to_add
from tailwright.data.pairs import pairs_from_lists
from tailwright.data.relabelling import in_the_order_of, over_labels, relabelled, together
from tailwright.data.text.tfidf import TfIdf
from tailwright.encoders.subwords import SubwordSettings, SubwordTfIdf
from tailwright.errors import InputError
from tailwright.models.twin.network import TwinVectors
from tailwright.runs.unfinished import LOG

QUICK = {"fewest": 10, "held_out": 0.05, "twin": {"width": 32, "epochs": 2, "batch": 32, "negatives": 4}}
NEW = LabelSpace(["s", "k"], ["submarine", "kettle"], ["submarine cables", "copper kettles"])


@pytest.fixture(scope="module")
def fused(tmp_path_factory) -> Path:
    """A run folder of linear+twin."""
    out = tmp_path_factory.mktemp("runs") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tailwright.models.fusion.learning.STEPS", 30)  # a combination in a moment
        tw.train(tiny_corpus(rows=80), "linear+twin", settings=QUICK, out=out)
    return out


@pytest.fixture
def labels_file(tmp_path) -> Path:
    path = tmp_path / "more.csv"
    path.write_text("id,name,text\ns,submarine,submarine cables\nk,kettle,copper kettles\n")
    return path


def test_a_run_folder_gets_labels_and_keeps_all_else(fused, labels_file, tmp_path, capsys):
    out = tmp_path / "run2"
    assert run(["labels", "add", str(fused), str(labels_file), "--out", str(out), "--json"]) == 0
    printed = capsys.readouterr()
    said = json.loads(printed.out)
    assert said == {"run": str(out), "model": "linear+twin", "labels_before": 11, "labels": 13}
    assert printed.err == "twin will rank the new labels; linear cannot\n"
    before, after = tw.load(fused), tw.load(out)
    assert after.labels.ids.to_pylist() == [*before.labels.ids.to_pylist(), "s", "k"]
    assert after.labels.counts.tolist() == [*before.labels.counts.tolist(), 0, 0]
    assert after.predict(["submarine cables", "copper kettles"], k=1).names == [["submarine"], ["kettle"]]
    (submarine,) = after.explain("submarine cables", "submarine", rows=0).labels
    assert [(part.name, part.rank) for part in submarine.reasons.parts] == [("linear", None), ("twin", 1)]
    assert (after.calibration, after.tail) == (before.calibration, before.tail)
    assert after.measured is None
    (step,) = json.loads((out / "run.json").read_text())["later"]
    assert (step["kind"], step["run"], step["data"]["path"]) == ("labels", str(fused), str(labels_file))
    assert (step["rows_before"], step["rows_after"]) == (80, 80)
    assert (step["labels_before"], step["labels_after"]) == (11, 13)
    logged = (out / LOG).read_text()
    assert logged.startswith((fused / LOG).read_text())
    assert json.loads(logged.splitlines()[-1])["after"] == 13


def test_rows_over_all_labels_can_be_evaluated_in_any_order_of_the_labels(fused, tmp_path, capsys):
    grown = tw.load(fused).with_labels(NEW)
    grown.save(tmp_path / "run2")
    names = ["submarine", *tiny_corpus().labels.names.to_pylist(), "kettle"]
    lines = [{"text": f"old {name}", "labels": [name]} for name in names]
    (tmp_path / "data").mkdir()
    for split in ("train", "test"):
        (tmp_path / "data" / f"{split}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    ids = dict(zip(grown.labels.names.to_pylist(), grown.labels.ids.to_pylist(), strict=True))
    labels = [json.dumps({"id": ids[name], "name": name}) for name in names]
    (tmp_path / "data" / "labels.jsonl").write_text("\n".join(labels))
    assert run(["evaluate", str(tmp_path / "run2"), str(tmp_path / "data"), "--json"]) == 0
    metrics = json.loads(capsys.readouterr().out)["metrics"]
    assert metrics["P@1"] > 90
    assert metrics["slices"]["unseen"]["R@10"] == 100


def test_a_run_is_replaced_only_when_asked(fused, labels_file, tmp_path, capsys):
    copy = tmp_path / "run"
    tw.load(fused).save(copy)
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    for arguments in ([], ["--out", str(copy)]):
        assert run(["labels", "add", str(copy), str(labels_file), *arguments]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "tailwright: no --out, expected --out RUN2, or --overwrite to replace RUN"
    assert said[1].endswith("exists already, expected a new folder, or --overwrite")
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before
    assert run(["labels", "add", str(copy), str(labels_file), "--overwrite", "-q"]) == 0
    assert len(tw.load(copy).labels) == 13


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("id,text\n3,new things\n", "the label id '3', which the run has, expected new labels only"),
        (
            "id,name,text\na,apple things,x\nb,bridge things,y\n",
            "the label name 'apple things' and 1 more, which the run has, expected new labels only",
        ),
        ("id,name,text\na,stars,***\n", "the label 'stars' with the text '***', expected a text with a word"),
        ("id,text\n", "expected at least one"),
        ("a,b\n1,2\n", "expected the text or the name of each label"),
    ],
)
def test_labels_that_cannot_be_added_are_one_line(fused, tmp_path, capsys, content, line):
    path = tmp_path / "more.csv"
    path.write_text(content)
    assert run(["labels", "add", str(fused), str(path), "--out", str(tmp_path / "run2")]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert str(path) in said
    assert line in said
    assert not (tmp_path / "run2").exists()


def test_a_model_that_cannot_add_labels_names_those_that_can():
    with pytest.raises(InputError) as caught:
        tw.train(tiny_corpus(rows=30), "linear", settings={"trees": 1}).with_labels(NEW)
    assert str(caught.value) == (
        "linear cannot rank a label that it was not trained on, expected a model that finds labels by their "
        "texts (label-matcher, linear+twin, linear+twin+label-matcher, twin), or a fusion with one"
    )


def test_labels_without_ids_are_numbered_on_or_named(tmp_path):
    path = tmp_path / "more.txt"
    path.write_text("submarine cables\ncopper kettles\n")
    numbered, _ = labels_to_add(path, tiny_corpus().labels)
    assert numbered.ids.to_pylist() == ["11", "12"]
    named, _ = labels_to_add(path, LabelSpace(["hats", "shoes"]))
    assert named.ids.to_pylist() == ["submarine cables", "copper kettles"]


def test_weights_of_added_labels_are_mentioned(tmp_path):
    path = tmp_path / "more.csv"
    path.write_text("id,text,made_weight\na,new things,0.5\n")
    _, notes = labels_to_add(path, tiny_corpus().labels)
    assert notes == ("made_weight counts in training alone and is not used here",)


def test_a_twin_of_an_earlier_version_predicts_and_says_what_it_lacks():
    model = tw.train(tiny_corpus(rows=30), "twin", settings=QUICK["twin"]).model
    kept = model.vectors
    model.vectors = TwinVectors(kept.words, kept.text_layer, kept.labels, kept.scale)
    assert model.predict(["apple"], 1).ids.shape == (1, 1)
    with pytest.raises(InputError, match="a twin of an earlier version"):
        model.with_more_labels(NEW)


@pytest.mark.parametrize("length", [0, 3])
def test_new_columns_leave_the_old_ones_as_they_are(length):
    """The matrix of texts without a new word is the same, column for column."""
    texts = ["red hats", "a hat", "blue shoes and hats"]
    features, matrix = SubwordTfIdf.fit_transform(texts, SubwordSettings(length=length))
    grown, places = features.with_new_words(["zeppelin crew", "a zeppelin"])
    again = grown.transform(texts).toarray()
    np.testing.assert_array_equal(again[:, places], matrix.toarray())
    assert not np.delete(again, places, axis=1).any()
    assert grown.words.vocabulary.to_pylist() == sorted(grown.words.vocabulary.to_pylist())
    assert grown.transform(["zeppelin"]).nnz > (0 if not length else 1)


def test_a_new_word_is_as_rare_as_the_rarest_known_one_and_frequent_enough():
    features = TfIdf.fit(["red hat", "red shoe"])
    grown, places = features.with_new_words(["new new", "new old"], 2)
    assert grown.vocabulary.to_pylist() == ["hat", "new", "red", "shoe"]
    assert places.tolist() == [0, 2, 3]
    assert grown.idf[1] == features.idf.max() == grown.idf[0]


def test_rows_over_a_larger_label_space_keep_every_column():
    data = tw.Dataset(
        ["red apple", "apple", "bridge"],
        pairs_from_lists([[0, 3], [0], [10]], 11, [[1.0, 0.25], [0.5], [1.0]]),
        np.array([0, 0.5, 2]),
        pairs_from_lists([[1], [], []], 11),
        pairs_from_lists([[], [2], []], 11),
        Origin(np.array([0, 0, 1]), np.array([0, 1, 0]), ("", "copy")),
        np.linspace(0.5, 1, 11),
    )
    columns = np.arange(11)[::-1] + 2
    moved = relabelled(data, columns, 14)
    for name in ("targets", "ignored", "excluded"):
        before, after = getattr(data, name).toarray(), getattr(moved, name).toarray()
        np.testing.assert_array_equal(after[:, columns], before)
        assert after.sum() == before.sum()
    np.testing.assert_array_equal(moved.label_weights[columns], data.label_weights)
    assert moved.label_weights[[0, 1, 13]].tolist() == [1, 1, 1]
    np.testing.assert_array_equal(moved.weights, data.weights)


def test_labels_are_matched_by_id_or_else_by_name():
    known = LabelSpace(["1", "2", "3"], ["hat", "shoe", "bag"])
    labels, columns = together(known, LabelSpace(["2", "bag", "new"]))
    assert columns.tolist() == [1, 2, 3]
    assert labels.ids.to_pylist() == ["1", "2", "3", "new"]
    with pytest.raises(InputError, match="the label 'bag' under two ids"):
        together(known, LabelSpace(["3", "bag"]))
    with pytest.raises(InputError, match="an id: several labels have this name"):
        together(LabelSpace(["1", "2"], ["hat", "hat"]), LabelSpace(["hat"]))


def test_a_corpus_over_other_labels_stays_as_it_is():
    corpus = tiny_corpus(rows=3)
    assert in_the_order_of(corpus, LabelSpace.numbered(3)) is corpus
    turned = LabelSpace(corpus.labels.ids[::-1], corpus.labels.names[::-1])
    again = in_the_order_of(over_labels(corpus, turned, np.arange(11)[::-1]), corpus.labels)
    assert again.train.same_as(corpus.train)
