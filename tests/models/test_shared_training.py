"""Trainings that share their work end with the bits of trainings that do not, and really share it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tailwright as tw
from tailwright.augmentation.labelmix import LabelMix
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.dataset import Dataset
from tailwright.encoders.subwords import SubwordSettings, SubwordTfIdf, shared_subwords
from tailwright.runs import augment
from tailwright.store import shared as room

SMALL = {
    "astec": {
        "width": 8,
        "surrogate.epochs": 1,
        "extreme.epochs": 1,
        "rerank.epochs": 1,
        "shortlist.points": 3,
    },
    "eclare": {"width": 8, "surrogate.epochs": 1, "meta.epochs": 1, "extreme.epochs": 1},
    "linear": {"trees": 2, "cluster_size": 2, "branching": 2},
    "twin": {"width": 8, "epochs": 1},
}
KINDS = {
    ("astec", "gandalf"): {"label-graph", "label-clusters", "rows"},
    ("eclare", "gandalf"): {"label-graph", "label-clusters", "rows"},
    ("linear", "gandalf"): {"label-graph", "label-tree", "rows"},
    ("twin", "gandalf"): {"label-graph", "subwords", "rows"},
    ("twin", "labelmix"): {"label-graph", "subwords"},
}


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what is built, as it is built."""
    names: list[str] = []
    kept = room.kept

    def counting(place: Path, *, build: Callable[[], object], **others: object) -> object:
        def counted() -> object:
            names.append(place.name.rpartition("-")[0])
            return build()

        return kept(place, build=counted, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(room, "kept", counting)
    return names


@pytest.mark.parametrize(
    ("model", "method"),
    [
        pytest.param(*kind, id="-".join(kind), marks=pytest.mark.slow if kind[0] == "astec" else ())
        for kind in KINDS
    ],
)
def test_sharing_changes_no_bit_of_what_is_learnt(
    model: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: list[str]
) -> None:
    def learnt() -> tw.Run:
        return tw.train(tiny_corpus(), model, augment=[method], settings=SMALL[model], seed=3)

    def scores(run: tw.Run) -> tuple[np.ndarray, np.ndarray]:
        top = run.model.predict(tiny_corpus().train.texts, 6)
        return top.ids, top.scores

    monkeypatch.delenv("TAILWRIGHT_SHARED", raising=False)
    alone = scores(learnt())
    assert built == []
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path))
    first = scores(learnt())
    assert set(built) == KINDS[model, method]
    count = len(built)
    second = scores(learnt())
    assert len(built) == count
    for ids, values in (first, second):
        assert np.array_equal(ids, alone[0])
        assert np.array_equal(values, alone[1])


def test_another_seed_fraction_or_setting_is_made_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: list[str]
) -> None:
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path))
    corpus = tiny_corpus()
    for count, (source, settings, seed) in enumerate(
        [(corpus, {}, 0), (corpus, {}, 1), (corpus.sample(0.5), {}, 0), (corpus, {"steps": 50}, 0)], start=1
    ):
        augment(source, "gandalf", settings=settings, seed=seed)
        assert built == ["rows", "label-graph"] * count


def test_one_graph_serves_methods_that_cut_it_differently_and_rows_serve_every_weight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: list[str]
) -> None:
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path))
    corpus = tiny_corpus()
    augment(corpus, "gandalf")
    LabelMix().prepare(corpus)
    augment(corpus, "gandalf", settings={"threshold": 0.3})
    assert built == ["rows", "label-graph", "rows"]
    half = augment(corpus, "gandalf", settings={"weight": 0.5})
    assert built == ["rows", "label-graph", "rows"]
    assert set(half.train.weights[len(corpus.train) :].tolist()) == {0.5}


def test_rows_that_were_loaded_are_the_rows_that_were_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = augment(tiny_corpus(), "gandalf", seed=2).train
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path))
    for _ in range(2):
        found = augment(tiny_corpus(), "gandalf", seed=2).train
        assert isinstance(found, Dataset)
        assert found.same_as(expected)


def test_features_that_were_loaded_read_as_those_that_were_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, settings = ["red hats", "hat", "", "日本語 hats"], SubwordSettings(length=3)
    fitted, matrix = SubwordTfIdf.fit_transform(texts, settings)
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(tmp_path))
    for _ in range(2):
        found, rows = shared_subwords(texts, settings)
        for one, other in (
            (rows, matrix),
            (found.transform(["chat hats"]), fitted.transform(["chat hats"])),
        ):
            assert one.dtype == other.dtype
            assert np.array_equal(one.toarray(), other.toarray())
