"""Every run folder has a model card, whatever its labels are called."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.data import Corpus, LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.errors import InputError
from tailwright.models.label_matcher import LabelMatcher
from tailwright.runs.facts import AppliedAugmentation, TailAdvice, TrainingData
from tailwright.runs.model_card import LONGEST, model_card
from tailwright.runs.run import Run

SOURCE = "/home/jo/secret/shop.csv?text=title"


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    whole = tiny_corpus()
    train, test = whole.train.split(0.25)
    return replace(Corpus(train, whole.labels, test=test), source=SOURCE)


@pytest.fixture(scope="module")
def folder(corpus, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    settings = {"gandalf": {"soft": False, "weight": 0.5}}
    tw.train(corpus, "popularity", augment=["gandalf"], augment_settings=settings, seed=3, out=folder)
    return folder


@pytest.fixture(scope="module")
def card(folder) -> str:
    return (folder / "README.md").read_text(encoding="utf-8")


def tokens(text: str) -> list:
    """What a reader of GitHub's Markdown makes of the card, its front matter left out."""
    return MarkdownIt("gfm-like", {"linkify": False}).parse(text.split("\n---\n", 1)[1])


def cells(text: str) -> list[list[str]]:
    """The rows of all tables; a code span is its content."""
    rows: list[list[str]] = []
    for token, inside in zip(found := tokens(text), found[1:], strict=False):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in {"td_open", "th_open"}:
            rows[-1].append("".join(child.content for child in inside.children))
    return rows


def test_the_hub_reads_its_front_matter(card):
    hub = pytest.importorskip("huggingface_hub")
    assert hub.ModelCard(card).data.to_dict() == {
        "library_name": "tailwright",
        "pipeline_tag": "text-classification",
        "tags": [
            "tailwright",
            "multi-label-classification",
            "extreme-multi-label-classification",
            "long-tail",
        ],
    }


def test_it_tells_data_settings_and_augmentations_without_a_path_of_the_machine(corpus, card):
    table = {row[0]: row[1:] for row in cells(card)}
    assert table["data"] == ["shop.csv"]
    assert table["digest of the data"] == [corpus.digest()]
    assert table["rows"] == [f"{len(corpus.train)}"]
    assert table["labels a row"] == [f"{corpus.labels.counts.sum() / len(corpus.train):.2f}"]
    assert table["gandalf"] == ["+11", "weight=0.5, soft=False"]
    assert table["tailwright"] == [tw.__version__]
    assert "Seed 3." in card
    assert "secret" not in card
    assert "home" not in card


def test_its_metrics_are_those_of_the_test_rows(corpus, folder, card):
    run = tw.load(folder)
    metrics = tw.evaluate(run, corpus.test)
    assert (run.measured.of, run.measured.evaluated()) == ("test", metrics)
    header = next(row for row in cells(card) if "P@1" in row)
    for labels, found in {"all labels": metrics, "torso": metrics["slices"]["torso"]}.items():
        (row,) = [row for row in cells(card) if row[0] == labels and len(row) == len(header)]
        assert row[1:] == [f"{found[name]:.2f}" if name in found else "-" for name in header[1:]]
    assert "On 30 test rows, which it has not learnt from" in card


def test_without_test_rows_its_metrics_are_those_of_held_out_rows(tmp_path):
    whole = tiny_corpus(rows=160)
    train, valid = whole.train.split(0.4)
    run = tw.train(Corpus(train, whole.labels, valid=valid), "popularity", out=tmp_path / "run")
    assert (run.measured.of, run.measured.rows) == ("held-out", len(valid))
    for name, value in tw.evaluate(run, valid)["slices"]["torso"].items():
        assert run.measured.slices["torso"][name] == pytest.approx(value)
    assert "On 64 held-out rows" in (tmp_path / "run" / "README.md").read_text()


def test_a_run_that_nobody_measured_says_so(corpus, tmp_path):
    tw.train(corpus, "popularity", out=tmp_path / "run", measure=False)
    assert "It was not measured before it was saved." in (tmp_path / "run" / "README.md").read_text()
    assert tw.load(tmp_path / "run").measured is None


def test_nothing_is_measured_that_nobody_would_see(corpus):
    assert tw.train(corpus, "popularity").measured is None


def test_the_card_is_in_the_manifest_and_a_changed_one_is_refused(folder, tmp_path):
    tw.load(folder).save(tmp_path / "run")
    path = tmp_path / "run" / "README.md"
    assert path.read_bytes() == (folder / "README.md").read_bytes()
    path.write_bytes(path.read_bytes().replace(b"long-tail", b"long-tale"))
    with pytest.raises(InputError, match=r"README\.md: sha256"):
        tw.load(tmp_path / "run")


def test_a_run_folder_of_before_the_cards_still_loads(folder, tmp_path):
    tw.load(folder).save(tmp_path / "run")
    (tmp_path / "run" / "README.md").unlink()
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    del manifest["files"]["README.md"]
    (tmp_path / "run" / "manifest.json").write_text(json.dumps(manifest))
    assert tw.load(tmp_path / "run").seed == 3


def test_empty_test_rows_cost_no_training(corpus, tmp_path):
    none = Corpus(corpus.train, corpus.labels, test=corpus.test.take([]))
    assert tw.train(none, "popularity", out=tmp_path / "run").measured is None
    assert tw.load(tmp_path / "run").train_rows == len(corpus.train)


def named(names: list[str], **facts) -> Run:
    """A run, never fitted, over labels of these names."""
    texts = arrow_strings(names)
    labels = LabelSpace(arrow_strings([str(i) for i in range(len(names))]), texts, texts)
    return Run(LabelMatcher(), labels.with_counts(np.arange(len(names))), len(names), versions={}, **facts)


def shape(text: str) -> list[str]:
    """All that Markdown sees but the texts themselves."""
    return [f"{t.type} {[child.type for child in t.children or []]}" for t in tokens(text)]


HOSTILE = [
    "a|b",
    "a\\|b",
    "`x` | y",
    "\n\n# heading\n",
    "<script>alert(1)</script>",
    "[x](http://x)",
    "---",
    "``",
    "\\",
    "\u202eleft",
    "\u2028new line",
    "![](a)",
    "",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_breaks_the_card(name):
    facts = {
        "data": TrainingData(path=f"/x/{name}", digest=name),
        "augmentations": (AppliedAugmentation(name="mine", settings={"word": name}),),
    }
    harmless = {
        "data": TrainingData(path="/x/y", digest="d"),
        "augmentations": (AppliedAugmentation(name="mine", settings={"word": "w"}),),
    }
    assert shape(model_card(named([name, "b"], **facts))) == shape(model_card(named(["a", "b"], **harmless)))


@settings(max_examples=10)
@given(st.lists(st.text(max_size=LONGEST + 20), min_size=3, max_size=3))
def test_whatever_labels_are_called_the_card_keeps_its_shape(names):
    assert shape(model_card(named(names))) == shape(model_card(named(["a", "b", "c"])))


def test_names_are_shown_as_they_are_where_they_do_no_harm():
    rows = cells(model_card(named(["plain", "C++ & <b>", "x|y"])))
    assert ["x|y", "2"] in rows
    assert ["C++ & <b>", "1"] in rows


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({}, "Scores are no probabilities: only their order means something."),
        ({"tail": TailAdvice(tail=0.3, rows=80, p1=-0.5, psp5=4.25)}, "`--tail 0.3`: on 80 held-out rows"),
        ({"tail": TailAdvice(tail=0.0, rows=80, p1=0.0, psp5=0.0)}, "No `--tail` gained PSP@5"),
    ],
)
def test_it_says_what_scores_are_and_which_tail_is_recommended(facts, words):
    assert words in model_card(named(["a", "b"], **facts))
