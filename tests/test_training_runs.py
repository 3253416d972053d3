"""`train`: augment, fit and save; refuse to mix two trainings; go on after a kill."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.errors import InputError
from tailwright.models.popularity import Popularity
from tailwright.runs.choice import choose
from tailwright.runs.training import partial_of


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


def test_auto_says_what_it_chose_and_why():
    corpus = tiny_corpus()
    chosen = choose(corpus)
    assert (chosen.model, chosen.augment) == ("twin", ())
    assert chosen.reasons == (
        "model twin: 100% of the labels have a text",
        "augmentation none: twin gains nothing",
    )
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
