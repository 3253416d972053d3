"""Rows that a trained run goes on with, and labels that come with them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numba
import numpy as np
import pytest
from stopped_fits import stopped_after

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run
from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset, Origin
from tailwright.data.pairs import pairs_from_lists
from tailwright.errors import InputError
from tailwright.models import LaterRows
from tailwright.models.fusion.model import Fusion
from tailwright.models.linear import Linear, LinearSettings
from tailwright.runs.continuing import LaterTraining, joined
from tailwright.runs.run import load
from tailwright.runs.unfinished import partial_of
from tailwright.training.workplace import Workplace

TWIN = {"width": 32, "epochs": 2, "batch": 32, "negatives": 4}
SETTINGS = {
    "popularity": {},
    "label-matcher": {},
    "linear": {"trees": 1},
    "twin": TWIN,
    "linear+twin": {"fewest": 4, "few_rows": 0, "held_out": 0.05, "twin": TWIN},
}
NEW_ROWS = ["steam kettle of copper", "old kettle", "kettle apple", "copper kettle red"] * 3


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """And a combination that learns in a moment."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tailwright.models.fusion.learning.STEPS", 30)
        yield
    numba.set_num_threads(before)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with the tiny corpus, rows that came later, and a run of each model."""
    folder = tmp_path_factory.mktemp("growing")
    corpus = tiny_corpus(rows=90)
    train, test = corpus.train.split(0.1)
    tw.write(replace(corpus, train=train, test=test), folder / "data", format="jsonl")
    (folder / "more").mkdir()
    lines = [
        {"text": text, "labels": ["kettles", "apple things"][: 1 + row % 2]}
        for row, text in enumerate(NEW_ROWS)
    ]
    (folder / "more" / "train.jsonl").write_text("\n".join(map(json.dumps, lines)))
    for model, settings in SETTINGS.items():
        tw.train(tw.read(folder / "data"), model, settings=settings, out=folder / model)
    return folder


@pytest.mark.parametrize("model", SETTINGS)
def test_a_run_goes_on_with_more_rows_and_a_new_label(place, tmp_path, capsys, model):
    out = tmp_path / "run2"
    arguments = ["train", "--continue", str(place / model), str(place / "more"), "--out", str(out), "--json"]
    assert run(arguments) == 0
    printed = capsys.readouterr()
    assert f"{model}: 81 rows and 12 new ones, 1 of the labels are new\n" in printed.err
    assert json.loads(printed.out)["model"] == model
    before, after = tw.load(place / model), tw.load(out)
    assert after.labels.ids.to_pylist() == [*before.labels.ids.to_pylist(), "kettles"]
    apples = np.arange(12) == 0
    assert after.labels.counts.tolist() == [*(before.labels.counts + 6 * apples[:11]).tolist(), 12]
    assert after.augmented_counts.tolist() == after.labels.counts.tolist()
    assert after.train_rows == 93
    facts = json.loads((out / "run.json").read_text())
    (step,) = facts["later"]
    assert facts["data"] == before.data.model_dump()
    assert (step["kind"], step["run"]) == ("rows", str(place / model))
    assert step["data"]["path"] == str(place / "more")
    assert (step["rows_before"], step["rows_after"]) == (81, 93)
    assert (step["labels_before"], step["labels_after"]) == (11, 12)
    if model != "popularity":
        assert after.predict(["kettle kettles"], k=1).names == [["kettles"]]
        assert after.predict(["guitar part1"], k=1).names == [["guitar things"]]


def test_a_second_step_goes_on_from_the_first(place, tmp_path):
    tw.continued(tw.load(place / "linear"), tw.read(place / "more"), out=tmp_path / "run2")
    third = tw.continued(tw.load(tmp_path / "run2"), tw.read(place / "more"))
    assert [step.rows_after for step in third.later] == [93, 105]
    assert third.later[1].run == str(tmp_path / "run2")
    assert third.labels.counts[11] == 24
    assert len(third.labels) == 12


def test_labels_that_were_added_by_their_texts_get_rows(place):
    added = tw.load(place / "linear+twin").with_labels(LabelSpace(["k", "s"], ["kettles", "submarines"]))
    after = tw.continued(added, tw.read(place / "more"))
    assert after.labels.ids.to_pylist()[11:] == ["k", "s"]
    assert after.labels.counts.tolist()[11:] == [12, 0]
    assert after.model.added == 0  # all parts know all labels
    assert [step.kind for step in after.later] == ["labels", "rows"]
    assert after.predict(["old kettle"], k=1).ids == [["k"]]


def test_a_node_that_no_new_row_reaches_keeps_its_classifiers():
    """Its rows and features are the same, so that solving it again would give the same."""
    corpus = tiny_corpus(rows=200)
    few = LinearSettings(trees=2, branching=3, cluster_size=3)
    before, after = Linear(few), Linear(few)
    before.fit(corpus)
    more = Dataset(["new apple"], pairs_from_lists([[0]], 11), origin=Origin(np.array([200]), np.zeros(1)))
    after.fit_more(before, LaterRows(corpus.with_train(Dataset.concat([corpus.train, more])), (200,)))
    words = before.features.vocabulary.to_pylist()
    for (old_tree, old), (tree, new) in zip(before.forest.trees(), after.forest.trees(), strict=True):
        assert tree.labels.tolist() == old_tree.labels.tolist()
        of_apple = int(tree.node_of_label(tree.depth - 2, 11)[0])
        same = []
        for number, (one, other) in enumerate(zip(old[-1], new[-1], strict=True)):
            named = [after.features.vocabulary[int(f)].as_py() for f in other.features]
            equal = [words[f] for f in one.features] == named and all(
                np.array_equal(a, b) for a, b in zip(one.weights, other.weights, strict=True)
            )
            same.append(equal and np.array_equal(one.biases, other.biases))
            assert same[-1] or number == of_apple
        assert len(same) > 1
        assert not same[of_apple]


def test_a_forest_comes_apart_into_the_trees_that_it_was_made_of():
    model = Linear(LinearSettings(trees=2, branching=3, cluster_size=3))
    model.fit(tiny_corpus())
    forest = model.forest
    again = forest.together(
        [forest.grown(tree, levels, forest.labels, forest.columns) for tree, levels in forest.trees()]
    )
    for name in ("roots", "slot_starts", "children", "biases", "pair_starts", "features"):
        np.testing.assert_array_equal(getattr(again, name), getattr(forest, name))
    assert (again.weights != forest.weights).nnz == 0


def test_vectors_of_twin_are_where_training_goes_on(place):
    """A vanishing rate leaves every label where it was, whatever words came."""
    model, corpus = tw.load(place / "twin").model, tw.read(place / "more")
    still = replace(model.settings, rate=1e-12, block_rate=1e-12)
    after = type(model)(still)
    widened = Corpus(Dataset(corpus.train.texts, pairs_from_lists([[0]] * 12, 11)), tiny_corpus().labels)
    after.fit_more(model, LaterRows(widened, (0,)))
    np.testing.assert_allclose(after.vectors.labels, model.vectors.labels, atol=1e-5)
    assert after.features.columns > model.features.columns


def test_rows_that_were_held_out_stay_so_and_new_ones_join_them(place):
    model = tw.load(place / "linear+twin").model
    going = LaterTraining.of(tw.load(place / "linear+twin"), tw.read(place / "more"))
    held = model._held_out(tw.read(place / "data"), 0)[1]
    _, later = Fusion._held_out(model, going.corpus, 0, starts=going.starts)
    assert set(held.texts.to_pylist()) <= set(later.texts.to_pylist())
    assert len(later) == len(held)  # a twentieth of 12 rows is none
    _, more = Fusion._held_out(model, joined([going.corpus] * 2)[0], 0, starts=(*going.starts, 102))
    assert len(more) == 2 * len(held)


def test_of_rows_that_all_parts_know_none_is_held_out_later(place, monkeypatch):
    fitted = tw.train(
        tw.read(place / "data"), "linear+label-matcher", settings={"fewest": 4, "held_out": 0.2}
    )
    going = LaterTraining.of(tw.load(place / "linear+twin"), tw.read(place / "more"))
    model = fitted.model
    assert model.seen == going.starts[-1]
    _, held = Fusion._held_out(model, joined([going.corpus] * 2)[0], 0, starts=(*going.starts, 102))
    assert held.origin.rows.min() >= model.seen
    # Too few new rows to learn from: the combination stays.
    later, given = type(model)(replace(model.settings, fewest=50)), []
    fit_more = Linear.fit_more
    monkeypatch.setattr(Linear, "fit_more", lambda *a, **k: given.append(a[2]) or fit_more(*a, **k))
    later.fit_more(model, LaterRows(going.corpus, going.starts))
    # `linear` gets label texts as rows, of which those of new labels are new.
    is_new = given[0].is_new()[len(going.corpus.train) :]
    labels = len(going.corpus.labels)
    assert is_new.tolist() == [label >= len(model.counts) for label in range(labels)]
    assert is_new.any()
    assert later.combination is model.combination
    assert later.seen == model.seen


@pytest.mark.parametrize("model", ["linear", "twin"])
def test_a_killed_continuation_goes_on_to_the_same(place, tmp_path, monkeypatch, model):
    before, more = tw.load(place / model), tw.read(place / "more")
    expected = tw.continued(before, more).model.predict(more.train.texts, 3)
    if model == "twin":
        checkpoint = Workplace.checkpoint
        eager = lambda self, save, *, now=False: checkpoint(self, save, now=True)  # noqa: E731
        monkeypatch.setattr(Workplace, "checkpoint", eager)
        with stopped_after(1):
            tw.continued(before, more, out=tmp_path / "run2")
    else:
        monkeypatch.setattr("tailwright.models.linear.Forest.together", _killed)
        with pytest.raises(KeyboardInterrupt):
            tw.continued(before, more, out=tmp_path / "run2")
        monkeypatch.undo()
    with pytest.raises(InputError, match="an unfinished training of this run"):
        tw.continued(before, more, out=tmp_path / "run2")
    with pytest.raises(InputError, match="with other data, model or settings"):
        tw.train(more, model, settings=SETTINGS[model], out=tmp_path / "run2", resume=True)
    after = tw.continued(before, more, out=tmp_path / "run2", resume=True)
    np.testing.assert_array_equal(after.model.predict(more.train.texts, 3).scores, expected.scores)
    assert not partial_of(tmp_path / "run2").exists()


def _killed(forests: object) -> None:
    raise KeyboardInterrupt


def test_old_rows_that_are_gone_or_changed_are_one_line(place, tmp_path, capsys):
    data = tmp_path / "data"
    shutil.copytree(place / "data", data)
    tw.train(tw.read(data), "linear", settings={"trees": 1}, out=tmp_path / "run")
    arguments = [
        "train",
        "--continue",
        str(tmp_path / "run"),
        str(place / "more"),
        "--out",
        str(tmp_path / "run2"),
    ]
    with (data / "train.jsonl").open("a") as file:
        file.write('{"text": "one more", "labels": [0]}\n')
    assert run(arguments) == 2
    shutil.rmtree(data)
    assert run(arguments) == 2
    changed, gone = capsys.readouterr().err.splitlines()
    assert changed == (
        f"tailwright: {data}: other rows than the run was trained on, which linear needs beside the new ones"
        ", expected them as they were, or training anew on all rows"
    )
    assert gone == (
        f"tailwright: {data}: the old rows, which linear needs beside the new ones, cannot be read (no such "
        "file or folder), expected them where they were, or training anew on all rows"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_what_cannot_go_on_says_so(place, tmp_path, capsys):
    memory = tw.train(tiny_corpus(rows=30), "linear", settings={"trees": 1})
    with pytest.raises(InputError, match="a run of rows that were not read from a file, which linear needs"):
        tw.continued(memory, tiny_corpus(rows=5))
    sampled = tw.train(tw.read(place / "data").sample(0.5), "linear", settings={"trees": 1})
    with pytest.raises(InputError, match=r"a run of a sample of its rows \(0.5\), expected one of all"):
        tw.continued(sampled, tiny_corpus(rows=5))
    given = ["train", "--continue", str(place / "twin"), str(place / "more"), "--out", str(tmp_path / "r")]
    assert run([*given, "--model", "linear", "--set", "trees=1", "--seed", "0"]) == 2
    said = capsys.readouterr().err
    assert said == (
        "tailwright: --continue and --model --set --seed, expected the model and settings of RUN\n"
    )
    assert not list(tmp_path.iterdir())


def test_a_model_that_cannot_go_on_names_those_that_can(monkeypatch, place):
    fitted = tw.load(place / "popularity")
    monkeypatch.setattr(type(fitted.model), "card", replace(fitted.model.card, continues=""))
    with pytest.raises(InputError) as caught:
        tw.continued(fitted, tw.read(place / "more"))
    assert str(caught.value) == (
        "popularity cannot go on learning from more rows, expected a run of label-matcher, linear, "
        "linear+twin, linear+twin+label-matcher, twin, or training anew on all rows"
    )


def test_soft_targets_weights_and_ignored_pairs_of_old_and_new_rows_stay():
    corpus = tiny_corpus(rows=3)
    soft = replace(
        corpus,
        train=Dataset(
            corpus.train.texts,
            pairs_from_lists([[0], [1], [2]], 11, [[0.5], [0.25], [1.0]]),
            np.array([1, 0.5, 2]),
            pairs_from_lists([[3], [], []], 11),
            pairs_from_lists([[], [4], []], 11),
        ),
    )
    both, starts = joined([soft, soft])
    assert starts == (3,)
    for half in (both.train.take([0, 1, 2]), both.train.take([3, 4, 5])):
        same = replace(half, origin=soft.train.origin)
        assert same.same_as(soft.train)
    assert both.train.origin.rows.tolist() == [0, 1, 2, 3, 4, 5]


def test_another_text_of_a_known_label_is_mentioned(place):
    more = tw.read(place / "more")
    texts = ["other words" if name == "apple things" else "" for name in more.labels.names.to_pylist()]
    other = replace(more, labels=LabelSpace(more.labels.ids, more.labels.names, texts))
    going = LaterTraining.of(load(place / "twin"), other)
    assert going.notes[1:] == ("labels that have another text here and keep the run's: 1",)
    assert going.corpus.labels.texts[0].as_py() == "apple things"
