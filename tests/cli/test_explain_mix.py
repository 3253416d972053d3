"""`tailwright explain-mix`: what TailMix does to some rows."""

from __future__ import annotations

import json

import pytest

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run

SMALL = {"epochs": 2, "batch": 16, "width": 8, "hidden": 4, "layers": (6,)}
FORMS = {"flat": {"tree": "flat"}, "tree": {"tree": "tree", "nodes": (2, 4), "beam": 2}}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    corpus = tiny_corpus(60)
    tw.write(corpus, folder / "data", format="jsonl")
    for form, settings in FORMS.items():
        tw.train(
            corpus,
            "attentionxml",
            augment=["tailmix"],
            settings={**SMALL, **settings},
            augment_settings={"tailmix": {"alpha": 1.0}},
            out=folder / form,
        )
    tw.train(corpus, "popularity", out=folder / "popularity")
    return folder


@pytest.mark.parametrize("form", FORMS)
def test_it_shows_targets_neighbours_partners_and_what_they_learn(place, capsys, form):
    assert run(["explain-mix", str(place / form), str(place / "data"), "--rows", "4", "--json"]) == 0
    printed = capsys.readouterr().out
    rows = json.loads(printed.splitlines()[-1])["rows"]
    assert 1 <= len(rows) <= 4
    for row in rows:
        assert row["target"] in printed
        names, distances = zip(*row["neighbours"], strict=True)
        assert row["partner"] == names[0]
        assert list(distances) == sorted(distances)
        assert row["target"] not in names
        assert row["target_value"] + row["partner_value"] == pytest.approx(1)
        assert row["target_value"] >= 0.5


def test_the_same_seed_shows_the_same(place, capsys):
    shown = []
    for seed in ("0", "0", "1"):
        run(["explain-mix", str(place / "flat"), str(place / "data"), "--seed", seed])
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert shown[0] != shown[2]


def test_a_model_without_context_vectors_is_one_line(place, capsys):
    assert run(["explain-mix", str(place / "popularity"), str(place / "data")]) == 2
    assert capsys.readouterr().err == (
        "tailwright: popularity has no context vectors, expected a run of attentionxml or la-roberta\n"
    )
