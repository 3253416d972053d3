"""A run folder whose hashes are right and whose content lies: it predicts, or is refused in one line."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from fault_parts.damage import damages, do
from fault_parts.folders import TEXTS, asked

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.errors import InputError
from tailwright.streams import stream

SETTINGS = {
    "popularity": {},
    "label-matcher": {},
    "linear": {"trees": 1},
    "twin": {"width": 8, "epochs": 1},
    "linear+twin": {"linear": {"trees": 1}, "twin": {"width": 8, "epochs": 1}},
    "xml-cnn": {"epochs": 1, "width": 8, "filters": 4, "bottleneck": 8},
}


def trained(folder, name):
    tw.train(tiny_corpus().split(0.2, seed=0), name, settings=SETTINGS[name], out=folder / "run")
    return folder / "run"


def check(run, damage, place):
    """The damaged run predicts finite numbers over its labels, or one line names a path in it."""
    shutil.copytree(run, place)
    do(damage, place)
    try:
        assert not asked(place, f"{damage.name}: {damage.what}", None).problem
    finally:
        shutil.rmtree(place)


@pytest.mark.parametrize("name", ["popularity", "label-matcher", "linear"])
def test_some_damage_to_every_file_is_survived(tmp_path, name):
    run = trained(tmp_path, name)
    files: dict[str, list] = {}
    for damage in damages(run):
        files.setdefault(damage.name, []).append(damage)
    for number, found in enumerate(files.values()):
        check(run, found[stream(0, "damage", number).integers(len(found))], tmp_path / "damaged")


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_all_damage_to_every_file_is_survived(tmp_path, name):
    run = trained(tmp_path, name)
    for damage in damages(run):
        check(run, damage, tmp_path / "damaged")


def test_infinite_numbers_are_refused_with_the_file_that_has_them(tmp_path):
    run = trained(tmp_path, "popularity")
    wanted = [one for one in damages(run) if one.name == "model/frequencies.npy" and one.what == "first inf"]
    do(wanted[0], run)
    with pytest.raises(InputError) as refused:
        tw.load(run)
    expected = "the number inf, expected finite numbers up to 1e+12 in size"
    assert str(refused.value) == f"{run / 'model' / 'frequencies.npy'}: {expected}"


def test_scores_that_are_no_numbers_are_never_given(tmp_path, monkeypatch):
    run = tw.load(trained(tmp_path, "popularity"))
    ranked = run.model.predict(TEXTS, 5)
    ranked.scores[1, 0] = np.nan
    monkeypatch.setattr(run.model, "predict", lambda texts, k: ranked)
    with pytest.raises(InputError, match="run: popularity gives scores that are no finite numbers, expected"):
        run.predict(TEXTS)


def test_settings_that_a_run_cannot_have_name_its_file(tmp_path):
    run = trained(tmp_path, "popularity")
    for wanted in ("settings is {'x': 1}", "model is 'x'"):
        damage = next(one for one in damages(run) if one.name == "run.json" and one.what == wanted)
        check(run, damage, tmp_path / "damaged")
