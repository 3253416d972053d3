"""Watched rows: P@1 after each epoch, in the log and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.data import Corpus, Dataset
from tailwright.data.pairs import pairs_from_lists
from tailwright.evaluation.ranking import TopK
from tailwright.training.watch import Answer, Watch
from tailwright.training.workplace import Workplace

SMALL = {
    "astec": {
        "width": 8,
        "learners": 2,
        "surrogate.epochs": 2,
        "extreme.epochs": 3,
        "rerank.epochs": 2,
        "shortlist.points": 3,
    },
    "decaf": {"width": 8, "learners": 2, "surrogate.epochs": 1, "meta.epochs": 1, "extreme.epochs": 2},
    "eclare": {"width": 8, "surrogate.epochs": 1, "meta.epochs": 1, "extreme.epochs": 2},
    "twin": {"width": 8, "epochs": 3, "batch": 16},
}
PHASES = {
    "astec": {f"learner-{n} {phase}": e for n in (1, 2) for phase, e in (("extreme", 3), ("rerank", 2))},
    "decaf": {"learner-1 extreme": 2, "learner-2 extreme": 2},
    "eclare": {"learner-1 extreme": 2},
    "twin": {"twin": 3},
}


@pytest.fixture
def corpus() -> Corpus:
    corpus = tiny_corpus()
    train, test = corpus.train.split(0.25)
    return Corpus(train, corpus.labels, test=test)


def events(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]


def watched_curves(log: list[dict[str, Any]]) -> dict[str, dict[str, dict[int, float]]]:
    """Phase, dataset, epoch to P@1; of an epoch that was logged twice, the last."""
    found: dict[str, dict[str, dict[int, float]]] = {}
    for event in log:
        for name, value in event.get("watched", {}).items():
            found.setdefault(event["phase"], {}).setdefault(name, {})[event["epoch"]] = value
    return found


def learnt(run: tw.Run, texts: object) -> tuple[np.ndarray, np.ndarray]:
    top = run.model.predict(texts, 5)
    return top.ids, top.scores


@pytest.mark.parametrize("model", SMALL)
def test_every_epoch_is_logged_and_no_bit_of_what_is_learnt_differs(
    model: str, corpus: Corpus, tmp_path: Path
) -> None:
    watch = {"train": corpus.train, "test": corpus.test}
    watched = tw.train(corpus, model, settings=SMALL[model], out=tmp_path / "watched", watch=watch)
    plain = tw.train(corpus, model, settings=SMALL[model], out=tmp_path / "plain")
    for one, other in zip(*(learnt(run, corpus.test.texts) for run in (watched, plain)), strict=True):
        assert np.array_equal(one, other)
    assert not any("watched" in event for event in events(tmp_path / "plain"))
    curves = watched_curves(events(tmp_path / "watched"))
    assert {phase: len(found["test"]) for phase, found in curves.items()} == PHASES[model]
    assert all(list(found) == ["train", "test"] for found in curves.values())


@pytest.mark.parametrize("model", SMALL)
def test_the_last_epoch_is_as_good_as_the_finished_model(model: str, corpus: Corpus, tmp_path: Path) -> None:
    watch = {"train": corpus.train, "test": corpus.test}
    settings = {**SMALL[model], **({"learners": 1} if model != "twin" else {})}
    run = tw.train(corpus, model, settings=settings, out=tmp_path / "run", watch=watch)
    curves = watched_curves(events(tmp_path / "run"))
    last = list(curves.values())[-1]
    for name, rows in watch.items():
        assert list(last[name].values())[-1] == pytest.approx(tw.evaluate(run, rows)["P@1"])


def test_a_model_without_epochs_does_not_look(corpus: Corpus, tmp_path: Path) -> None:
    tw.train(corpus, "linear", settings={"trees": 1}, out=tmp_path / "run", watch={"test": corpus.test})
    assert watched_curves(events(tmp_path / "run")) == {}


class _StopFitError(Exception):
    pass


def test_stopped_and_resumed_the_curve_is_that_of_an_undisturbed_training(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"settings": SMALL["twin"], "watch": {"test": corpus.test}}
    tw.train(corpus, "twin", out=tmp_path / "undisturbed", **asked)
    checkpoint, log, epochs = Workplace.checkpoint, Workplace.log, []

    def stopping(self: Workplace, event: str, **facts: object) -> None:
        log(self, event, **facts)
        epochs.append(event == "epoch")
        if sum(epochs) == 2:
            raise _StopFitError

    monkeypatch.setattr(Workplace, "checkpoint", lambda self, save, **_: checkpoint(self, save, now=True))
    monkeypatch.setattr(Workplace, "log", stopping)
    with pytest.raises(_StopFitError):
        tw.train(corpus, "twin", out=tmp_path / "run", **asked)
    monkeypatch.setattr(Workplace, "log", log)
    tw.train(corpus, "twin", out=tmp_path / "run", resume=True, **asked)
    found = events(tmp_path / "run")
    assert [event["epoch"] for event in found if event["event"] == "epoch"] == [1, 2, 2, 3]
    assert watched_curves(found) == watched_curves(events(tmp_path / "undisturbed"))


def test_excluded_labels_are_passed_over_and_texts_are_read_once() -> None:
    rows = Dataset(["a", "b"], pairs_from_lists([[1], [2]], 3), excluded=pairs_from_lists([[0], []], 3))
    says = {"a": [0, 1], "b": [1, 2]}
    read = []

    def reading(texts: pa.LargeStringArray) -> Answer:
        read.append(texts.to_pylist())
        ids = np.array([says[text] for text in read[-1]], np.int32)
        return lambda k: TopK(ids[:, :k], np.ones(ids.shape, np.float32)[:, :k])

    watch = Watch({"both": rows, "none": rows.take([]), "first": rows.take([0])}, reading)
    assert read == []
    assert watch() == watch() == {"both": 50.0, "first": 100.0}
    assert read == [["a", "b", "a"]]
