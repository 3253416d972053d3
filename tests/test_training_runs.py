"""`train`: augment, fit and save; refuse to mix two trainings; go on after a kill."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from stopped_fits import stopped_after

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.errors import InputError
from tailwright.models import models
from tailwright.models.popularity import Popularity
from tailwright.runs.choice import choose
from tailwright.runs.unfinished import partial_of
from tailwright.training.workplace import Workplace


class KilledError(Exception):
    """Stands for a kill in the middle of a fit."""


@pytest.fixture
def killed_once(monkeypatch):
    """A popularity model whose first fit leaves a checkpoint and dies; the second goes on from it."""
    seen = []
    fit = Popularity.fit

    def dying_fit(self, corpus, *, seed=0, work=None):
        restored = work.restore()
        seen.append(None if restored is None else int(restored.array("step")))
        if restored is None:
            work.checkpoint(lambda folder: folder.array("step", np.array(7)), now=True)
            raise KilledError
        fit(self, corpus, seed=seed, work=work)

    monkeypatch.setattr(Popularity, "fit", dying_fit)
    return seen


def test_a_run_folder_has_the_run_and_its_log_and_nothing_is_left_beside(tmp_path):
    corpus = tiny_corpus()
    tw.train(corpus, "popularity", augment=["gandalf"], seed=3, out=tmp_path / "run")
    loaded = tw.load(tmp_path / "run")
    assert (loaded.model.card.name, loaded.augment, loaded.seed) == ("popularity", ("gandalf",), 3)
    assert loaded.train_rows == len(corpus.train)
    events = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [e["phase"] for e in events if e["event"] == "end"] == ["gandalf", "fit"]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_killed_training_goes_on_from_its_checkpoint(tmp_path, killed_once):
    corpus = tiny_corpus()
    with pytest.raises(KilledError):
        tw.train(corpus, "popularity", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    tw.train(corpus, "popularity", out=tmp_path / "run", resume=True)
    assert killed_once == [None, 7]
    assert not partial_of(tmp_path / "run").exists()


def test_a_mistake_that_is_found_before_anything_is_done_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="no-such-encoder"):
        tw.train(tiny_corpus(), "roberta", settings={"encoder": "no-such-encoder"}, out=tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_an_unfinished_training_is_not_mixed_with_another(tmp_path, killed_once):
    corpus = tiny_corpus()
    with pytest.raises(KilledError):
        tw.train(corpus, "popularity", out=tmp_path / "run")
    with pytest.raises(InputError, match="an unfinished training of this run, expected --resume to go on"):
        tw.train(corpus, "popularity", out=tmp_path / "run")
    with pytest.raises(InputError, match="with other data, model or settings"):
        tw.train(corpus, "popularity", seed=1, out=tmp_path / "run", resume=True)
    other = corpus.with_train(replace(corpus.train, weights=corpus.train.weights * 2))
    with pytest.raises(InputError, match="with other data, model or settings"):
        tw.train(other, "popularity", out=tmp_path / "run", resume=True)
    with pytest.raises(KilledError):
        tw.train(corpus, "popularity", seed=1, out=tmp_path / "run", overwrite=True)


def test_an_existing_run_is_kept_unless_told_otherwise(tmp_path):
    corpus = tiny_corpus()
    tw.train(corpus, "popularity", out=tmp_path / "run")
    with pytest.raises(InputError, match="exists already, expected a new folder, or --overwrite"):
        tw.train(corpus, "popularity", out=tmp_path / "run")
    tw.train(corpus, "popularity", seed=5, out=tmp_path / "run", overwrite=True)
    assert tw.load(tmp_path / "run").seed == 5


def test_unknown_names_are_refused_before_any_work(tmp_path):
    corpus = tiny_corpus()
    with pytest.raises(InputError, match="unknown augmenter 'gandalph'; did you mean 'gandalf'"):
        tw.train(corpus, "popularity", augment=["gandalph"], out=tmp_path / "run")
    with pytest.raises(InputError, match="unknown setting 'sft'; did you mean 'soft'"):
        tw.train(corpus, "popularity", augment=["gandalf"], augment_settings={"gandalf": {"sft": 1}})
    with pytest.raises(InputError, match="unknown setting 'trees'"):
        tw.train(corpus, "popularity", settings={"trees": 3})
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def quick(monkeypatch):
    """Settings of a twin that trains in a moment, and a checkpoint after every batch."""
    checkpoint = Workplace.checkpoint
    monkeypatch.setattr(
        Workplace, "checkpoint", lambda self, save, *, now=False: checkpoint(self, save, now=True)
    )
    return {"width": 16, "epochs": 2, "batch": 32, "negatives": 4}


def scores(run: tw.Run) -> np.ndarray:
    return run.model.predict(tiny_corpus().train.texts, 5).scores


def test_rows_are_added_first_and_batches_of_all_rows_are_mixed(tmp_path, quick):
    corpus = tiny_corpus()
    runs = {
        names: tw.train(corpus, "twin", augment=names, settings=quick, out=tmp_path / "-".join(names))
        for names in (("gandalf",), ("labelmix",), ("gandalf", "labelmix"), ("labelmix", "gandalf"))
    }
    assert {name: run.augment for name, run in runs.items()} == {name: name for name in runs}
    assert tw.load(tmp_path / "gandalf-labelmix").augment == ("gandalf", "labelmix")
    both, turned = scores(runs["gandalf", "labelmix"]), scores(runs["labelmix", "gandalf"])
    np.testing.assert_array_equal(both, turned)
    for one in (("gandalf",), ("labelmix",)):
        assert not np.array_equal(scores(runs[one]), both)
    log = (tmp_path / "gandalf-labelmix" / "log.jsonl").read_text().splitlines()
    ended = [e["phase"] for e in map(json.loads, log) if e["event"] == "end"]
    assert ended.index("gandalf") < ended.index("labelmix") < ended.index("fit")
    started = next(e for e in map(json.loads, log) if e.get("phase") == "fit")
    assert started["rows"] == len(corpus.train) + len(corpus.labels)


def test_settings_of_a_batch_method_reach_it(quick):
    def learnt(**settings: object) -> np.ndarray:
        asked = {"labelmix": settings}
        run = tw.train(tiny_corpus(), "twin", augment=["labelmix"], settings=quick, augment_settings=asked)
        return scores(run)

    assert not np.array_equal(learnt(), learnt(soft="false"))
    assert not np.array_equal(learnt(), learnt(probability=1.0))
    np.testing.assert_array_equal(learnt(), learnt(probability="0.4"))


@pytest.mark.parametrize("stop", [2, 5])
def test_a_killed_training_with_labelmix_learns_the_same(tmp_path, quick, stop):
    arguments = {"augment": ["gandalf", "labelmix"], "settings": quick, "seed": 4}
    expected = scores(tw.train(tiny_corpus(), "twin", **arguments))
    with stopped_after(stop):
        tw.train(tiny_corpus(), "twin", **arguments, out=tmp_path / "run")
    other = {**arguments, "augment": ["gandalf"]}
    with pytest.raises(InputError, match="with other data, model or settings"):
        tw.train(tiny_corpus(), "twin", **other, out=tmp_path / "run", resume=True)
    run = tw.train(tiny_corpus(), "twin", **arguments, out=tmp_path / "run", resume=True)
    np.testing.assert_array_equal(scores(run), expected)
    assert '"resume"' in (tmp_path / "run" / "log.jsonl").read_text()


@pytest.mark.parametrize("model", ["linear", "popularity"])
def test_a_model_without_the_door_is_refused_before_any_work(tmp_path, model):
    with pytest.raises(InputError) as caught:
        tw.train(tiny_corpus(), model, augment=["gandalf", "labelmix"], out=tmp_path / "run")
    able = [name for name in models.names() if "batch" in models.get(name).card.doors]
    assert str(caught.value) == (
        f"{model} cannot be trained with labelmix, which enters at the batch door (batches changed "
        "while training); "
        f"labelmix works with: {', '.join(able)}"
    )
    assert "twin" in able
    assert list(tmp_path.iterdir()) == []


def test_a_method_of_the_batch_door_reaches_the_part_that_has_it(quick):
    def learnt(*augment: str) -> list[np.ndarray]:
        run = tw.train(tiny_corpus(), "linear+twin", augment=augment, settings={"twin": quick})
        return [part.predict(tiny_corpus().train.texts, 5).scores for part in run.model.parts]

    plain, mixed = learnt(), learnt("labelmix")
    np.testing.assert_array_equal(plain[0], mixed[0])
    assert not np.array_equal(plain[1], mixed[1])


def test_augment_refuses_a_method_that_makes_no_rows():
    refused = r"labelmix makes no rows: it works during training, at the batch door \(batches changed while"
    with pytest.raises(InputError, match=refused):
        tw.augment(tiny_corpus(), "labelmix")


def test_auto_says_what_it_chose_and_why():
    corpus = tiny_corpus()
    chosen = choose(corpus)
    assert (chosen.model, chosen.augment) == ("linear+twin+label-matcher", ())
    assert chosen.reasons == (
        "model linear+twin+label-matcher: 100% of the labels have a text",
        "augmentation none, by rule: linear+twin+label-matcher takes label texts as rows itself where rows "
        "are few; not measured on your rows: `tailwright advise PATH --model linear+twin+label-matcher` "
        "measures it",
    )
    assert "`tailwright advise a.csv --text b --model " in choose(corpus, path="a.csv --text b").reasons[1]
    beside_linear = choose(corpus, "linear")
    assert (beside_linear.augment, beside_linear.augment_settings) == (
        ("gandalf",),
        {"gandalf": {"soft": False}},
    )
    textless = replace(corpus, labels=tw.LabelSpace.numbered(len(corpus.labels)))
    assert (choose(textless).model, choose(textless).augment) == ("linear", ())
    assert choose(corpus, "popularity", ["none"]) == replace(chosen, model="popularity", reasons=())
    with pytest.raises(InputError, match="auto or none alone"):
        choose(corpus, "linear", ["auto", "gandalf"])
