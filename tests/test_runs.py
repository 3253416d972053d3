"""Runs: predict, evaluate, save and load; a damaged or hostile folder is one clear error."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run
from tailwright.data import Dataset
from tailwright.data.pairs import pairs_from_lists
from tailwright.errors import InputError
from tailwright.runs.run import read_facts


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    """A real run folder of a model with features, strings, sparse matrices and arrays."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    tw.train(tiny_corpus(rows=30), "label-matcher").save(folder)
    return folder


@pytest.mark.parametrize("model", ["popularity", "label-matcher"])
def test_a_loaded_run_says_what_the_saved_one_said(model, tmp_path):
    corpus = tiny_corpus()
    run = tw.train(corpus, model, seed=4)
    run.save(tmp_path / "run")
    loaded = tw.load(tmp_path / "run")
    assert loaded.predict(["an apple", ""], k=3) == run.predict(["an apple", ""], k=3)
    assert tw.evaluate(loaded, corpus.train) == tw.evaluate(run, corpus.train)
    assert (loaded.seed, loaded.train_rows) == (4, len(corpus.train))
    assert loaded.labels.same_as(run.labels)


def test_predictions_are_ids_names_and_scores():
    said = tw.train(tiny_corpus(), "label-matcher").predict(["guitar", "nothing of it"], k=2)
    assert said.names[0][0] == "guitar things"
    assert said.ids[0][0] == "6"
    assert said.scores[0] == sorted(said.scores[0], reverse=True)
    assert said.ids[1] == said.names[1] == said.scores[1] == []


def test_excluded_pairs_are_neither_rewarded_nor_punished():
    corpus = tiny_corpus()
    run = tw.train(corpus, "label-matcher")
    texts, right = ["apple things", "bridge things"], pairs_from_lists([[1], [0]], 11)
    wrong_first = Dataset(["apple bridge things", "bridge things apple"], right)
    excluded = pairs_from_lists([[0], [1]], 11)
    kept_out = Dataset(wrong_first.texts, right, excluded=excluded)
    assert tw.evaluate(run, kept_out)["P@1"] == 100
    assert tw.evaluate(run, Dataset(texts, right))["P@1"] == 0


def test_metrics_come_by_frequency_too():
    corpus = tiny_corpus()
    found = tw.evaluate(tw.train(corpus, "popularity"), corpus.train)
    assert {"P@1", "nDCG@5", "PSP@5", "PSnDCG@5", "R@10"} <= found.keys()
    assert found["slices"].keys() == {"head", "torso", "tail", "unseen"}


def test_two_training_rows_have_no_propensities():
    corpus = tw.data.corpus_from_lists(["a", "b"], [[0], [1]], ["x", "y"])
    found = tw.evaluate(tw.train(corpus, "popularity"), corpus.train)
    assert "P@1" in found
    assert "PSP@1" not in found


def test_rows_over_other_labels_are_refused():
    run = tw.train(tiny_corpus(), "popularity")
    with pytest.raises(InputError, match="found rows over 2 labels, expected the run's 11"):
        tw.evaluate(run, Dataset(["a"], pairs_from_lists([[0]], 2)))


FACTS = {
    "model": "popularity",
    "settings": {},
    "augment": [],
    "seed": 0,
    "train_rows": 30,
    "fraction": 1.0,
    "data": {"path": "", "digest": ""},
    "versions": {},
}


def test_an_unknown_model_in_a_run_is_an_input_error(saved, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(saved, folder)
    rewrite(folder, "run.json", json.dumps({**FACTS, "model": "os"}).encode())
    with pytest.raises(InputError, match="unknown model 'os'"):
        tw.load(folder)


@pytest.mark.parametrize(
    ("facts", "wrong"),
    [
        ([], "valid dictionary"),
        ({}, "'model'"),
        ({**FACTS, "model": 1}, "'model': 1 .*valid string"),
        ({**FACTS, "settings": []}, "'settings': .*valid dictionary"),
        ({**FACTS, "augment": "gandalf"}, "'augment': .*valid list"),
        ({**FACTS, "augment": ["gandalf"]}, "'augment': 'gandalf' .*valid dictionary"),
        ({**FACTS, "augment": [{"name": "gandalf", "rows": 0.5}]}, "'rows' in 0 in 'augment': 0.5"),
        ({**FACTS, "seed": 0.5}, "'seed': 0.5 .*valid integer"),
        ({**FACTS, "train_rows": True}, "'train_rows': True .*valid integer"),
        ({**FACTS, "fraction": 0}, "'fraction': 0 .*greater than 0"),
        ({**FACTS, "data": "somewhere"}, "'data': 'somewhere' .*valid dictionary"),
        ({**FACTS, "colour": "green"}, "'colour': 'green'"),
    ],
)
def test_wrong_facts_in_a_run_are_an_input_error(saved, tmp_path, facts, wrong):
    folder = tmp_path / "run"
    shutil.copytree(saved, folder)
    rewrite(folder, "run.json", json.dumps(facts).encode())
    with pytest.raises(InputError, match=rf"run\.json: found .*{wrong}.*, expected the facts of a run"):
        tw.load(folder)


def test_a_run_of_the_former_format_is_refused_in_one_line(saved, tmp_path, capsys):
    folder = tmp_path / "run"
    shutil.copytree(saved, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "version": 1}))
    assert run(["predict", str(folder), "an apple"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "an earlier version of tailwright wrote" in line
    assert "train the run again" in line


def test_a_run_remembers_how_it_came_about(tmp_path):
    corpus = replace(tiny_corpus(), source="somewhere").sample(0.5)
    settings = {"gandalf": {"soft": False, "weight": 0.5}}
    named = {"augment": ["gandalf", "labelmix"], "augment_settings": settings, "seed": 2}
    trained = tw.train(corpus, "twin", settings={"width": 16, "epochs": 1}, out=tmp_path / "run", **named)
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    gandalf, labelmix = facts["augment"]
    assert (gandalf["name"], gandalf["rows"]) == ("gandalf", len(corpus.labels))
    assert (gandalf["settings"]["soft"], gandalf["settings"]["weight"]) == (False, 0.5)
    assert (labelmix["name"], labelmix["rows"]) == ("labelmix", 0)
    assert (facts["model"], facts["seed"], facts["fraction"]) == ("twin", 2, 0.5)
    assert facts["settings"]["width"] == 16
    assert facts["data"] == {"path": "somewhere", "digest": corpus.digest()}
    assert facts["versions"]["tailwright"] == tw.__version__
    loaded = tw.load(tmp_path / "run")
    for each in (trained, loaded):
        assert each.augment == ("gandalf", "labelmix")
        assert each.rows_added == len(corpus.labels)
        np.testing.assert_array_equal(each.augmented_counts, corpus.labels.counts + 0.5)
    assert (loaded.augmentations, loaded.fraction) == (trained.augmentations, trained.fraction)
    assert (loaded.data, loaded.versions) == (trained.data, trained.versions)
    assert read_facts(tmp_path / "run").data == trained.data


def rewrite(folder: Path, name: str, content: bytes) -> None:
    """Replace a file and make the manifest right again, as an attacker would."""
    (folder / name).write_bytes(content)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (folder / "manifest.json").write_text(json.dumps(manifest))


@st.composite
def byte_edits(draw: st.DrawFn, content: bytes) -> bytes:
    """Content with a few bytes replaced, put in or taken out, or its end cut off."""
    edited = bytearray(content)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, max(len(edited) - 1, 0)))
        kind = draw(st.sampled_from(["replace", "insert", "delete", "truncate"]))
        some = draw(st.binary(min_size=1, max_size=8))
        if kind == "replace":
            edited[place : place + len(some)] = some
        elif kind == "insert":
            edited[place:place] = some
        elif kind == "delete":
            del edited[place : place + len(some)]
        else:
            del edited[place:]
    return bytes(edited)


@pytest.mark.parametrize("manifest_follows", [False, True], ids=["as it is", "hashes made right"])
def test_any_edit_of_a_run_folder_loads_or_is_an_input_error(saved, tmp_path, manifest_follows):
    folder = tmp_path / "run"
    shutil.copytree(saved, folder)
    files = sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file())
    originals = {name: (folder / name).read_bytes() for name in files}

    @given(st.data())
    def edit_and_load(data):
        name = data.draw(st.sampled_from(files))
        edited = data.draw(byte_edits(originals[name]))
        try:
            if manifest_follows and name != "manifest.json":
                rewrite(folder, name, edited)
            else:
                (folder / name).write_bytes(edited)
            try:
                run = tw.load(folder)
                run.predict(["apple things", "guitar"], k=3)
            except InputError:
                return
            assert np.isfinite(run.labels.counts).all()
            assert edited == originals[name] or manifest_follows or name == "manifest.json"
        finally:
            (folder / name).write_bytes(originals[name])
            (folder / "manifest.json").write_bytes(originals["manifest.json"])

    edit_and_load()
