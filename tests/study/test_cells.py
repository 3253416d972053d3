"""Keys: they change with everything that can change a result, and with nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from toy_study import plan_of, toy_corpus

from tailwright.errors import InputError
from tailwright.models import models
from tailwright.settings import settings_from
from tailwright.study.plan.cells import Cell, cell_from, choices, chosen
from tailwright.study.run.trial import code_of, key_of

CELL = Cell(
    "toy",
    "data",
    "linear",
    augmentation="gandalf w/o SA",
    augment=("gandalf",),
    augment_settings={"gandalf": {"soft": False}},
    variant="deep",
    settings={"depth": 4},
    search={"gandalf.weight": (0.5, 1.0)},
)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "popularity"},
        {"settings": {"depth": 3}},
        {"augment": ()},
        {"augment_settings": {}},
        {"fraction": 0.5},
        {"valid": 0.2},
        {"seed": 1},
        {"search": {}},
        {"search": {"gandalf.weight": (0.5,)}},
        {"search_metric": "PSP@5"},
    ],
    ids=str,
)
def test_a_key_changes_with_what_is_asked(change):
    assert replace(CELL, **change).key("data", "code") != CELL.key("data", "code")
    assert replace(CELL, **change).asked("data") != CELL.asked("data") != CELL.asked("other data")


def test_a_key_changes_with_data_and_code():
    assert len({CELL.key(data, code) for data in "ab" for code in "cd"}) == 4


@pytest.mark.parametrize(
    "change",
    [{"dataset": "other"}, {"path": "moved"}, {"augmentation": "hard"}, {"variant": "mine"}],
    ids=str,
)
def test_names_count_for_nothing(change):
    assert replace(CELL, **change).key("data", "code") == CELL.key("data", "code")
    assert replace(CELL, **change).asked("data") == CELL.asked("data")


def test_what_is_asked_of_a_cell_keeps_its_digest():
    """Kept outcomes are found by it: another would lose those of every repository."""
    assert CELL.asked("data") == "1fc2ae5961ce425a9b39"
    together = replace(CELL, search={}, ensemble=(replace(CELL, seed=1), replace(CELL, path="moved")))
    assert together.asked("data") != replace(together, ensemble=together.ensemble[::-1]).asked("data")
    moved = tuple(replace(member, dataset="other") for member in together.ensemble)
    assert together.asked("data") == replace(together, ensemble=moved).asked("data")


def test_the_metric_of_a_search_counts_for_nothing_without_a_search():
    plain = replace(CELL, search={})
    assert replace(plain, search_metric="PSP@5").key("data", "code") == plain.key("data", "code")
    assert replace(plain, search_metric="PSP@5").asked("data") == plain.asked("data")


def test_the_code_of_a_cell_is_that_of_its_model_and_its_augmentations():
    versions = [
        code_of(Cell("", "", model, augment=augment))
        for model, augment in [
            ("popularity", ()),
            ("linear", ()),
            ("twin", ()),
            ("linear", ("gandalf",)),
            ("linear", ("labelmix",)),
        ]
    ]
    assert len(set(versions)) == len(versions)
    assert code_of(CELL) == code_of(replace(CELL, seed=1, settings={}))


def test_the_key_of_a_cell_follows_its_corpus():
    corpus = toy_corpus()
    cell = Cell("toy", "data", "popularity")
    assert key_of(cell, corpus) == key_of(cell, toy_corpus())
    assert key_of(cell, corpus) == cell.key(corpus.digest(), code_of(cell))
    assert key_of(cell, corpus.sample(0.5)) != key_of(cell, corpus)


def test_a_cell_comes_back_from_plain_values():
    assert cell_from(CELL.as_dict()) == CELL
    assert cell_from(CELL.as_dict()).key("a", "b") == CELL.key("a", "b")


@pytest.mark.parametrize(
    "values", [None, {}, {"dataset": "a"}, {**CELL.as_dict(), "seed": -1}, [1, 2]], ids=str
)
def test_anything_else_is_no_cell(values):
    with pytest.raises(InputError, match="expected a cell of a study"):
        cell_from(values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fraction": 0.0}, r"fraction must be in \(0, 1\], got 0.0"),
        ({"valid": 1.0}, r"valid must be in \[0, 1\), got 1.0"),
        ({"seed": -1}, "seed must be >= 0, got -1"),
        ({"valid": 0.0}, "search needs validation rows"),
    ],
)
def test_a_cell_that_cannot_be_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(CELL, **change)


def test_a_title_tells_cells_of_a_study_apart(tmp_path):
    assert CELL.title == "toy / linear (deep) / gandalf w/o SA / 1 / seed 0"
    titles = [cell.title for cell in plan_of(tmp_path).cells()]
    assert len(set(titles)) == len(titles) == 8


def test_a_search_tries_every_combination_and_sets_it_where_it_belongs():
    cell = replace(
        CELL, model="linear+twin", search={"gandalf.weight": (0.5, 1.0), "twin.width": (16,), "x": (1,)}
    )
    found = list(choices(cell))
    assert found == [
        {"gandalf.weight": 0.5, "twin.width": 16, "x": 1},
        {"gandalf.weight": 1.0, "twin.width": 16, "x": 1},
    ]
    tried = chosen(cell, found[0])
    assert tried.augment_settings == {"gandalf": {"soft": False, "weight": 0.5}}
    assert tried.settings == {"depth": 4, "twin.width": 16, "x": 1}
    assert (tried.search, tried.seed, tried.augment) == ({}, cell.seed, cell.augment)
    # What is chosen goes before what the plan sets of the same part.
    planned = replace(cell, settings={"twin": {"width": 8, "epochs": 2}})
    settings = settings_from(models.settings("linear+twin"), chosen(planned, {"twin.width": 16}).settings)
    assert (settings.twin.width, settings.twin.epochs) == (16, 2)
    assert chosen(CELL, {}).augment_settings == CELL.augment_settings
