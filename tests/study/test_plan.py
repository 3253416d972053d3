"""Plans: what a TOML file asks for, in which order, and what is wrong with it."""

from __future__ import annotations

import re

import pytest
from toy_study import PLAN, plan_of

from tailwright.errors import InputError
from tailwright.study.plan.plan import is_asked_for, read_plan

ALL = """
title = "everything"
seeds = [0, 1]
fractions = [0.05, 1.0]
valid = 0.2
metrics = ["P@1", "PSP@5"]
curves = true
search_metric = "PSP@5"

[datasets]
near = "data"
demo = "demo:500"
[datasets.far]
path = "$ELSEWHERE/far"
seeds = { "5 %" = [0], "1.0" = [0, 1, 2] }
[datasets.few]
path = "${ELSEWHERE}/few"
fractions = [0.5]

[models.linear]
[models."linear deep"]
model = "linear"
depth = 4
[models."linear+twin"]
linear = { trees = 2 }
search = { "twin.width" = [16, 32] }

[augmentations.none]
[augmentations."gandalf w/o SA"]
method = "gandalf"
soft = false
search = { weight = [0.5, 1.0] }
[augmentations.both]
method = ["gandalf", "labelmix"]
labelmix = { probability = 0.5 }
search = { "gandalf.weight" = [0.5, 1.0] }
"""


@pytest.fixture
def everything(tmp_path, monkeypatch):
    monkeypatch.setenv("ELSEWHERE", str(tmp_path / "else"))
    return plan_of(tmp_path, ALL)


def cells_of(plan, **asked):
    return [cell for cell in plan.listed if all(getattr(cell, k) == v for k, v in asked.items())]


def test_every_combination_that_can_be_is_a_cell(everything):
    # linear has no batch door, so it goes without `both`, in both its variants
    pairs = 2 * 2 + 3
    seeds = {"near": 4, "demo": 4, "far": 4, "few": 2}
    assert {name: len(cells_of(everything, dataset=name)) for name in seeds} == {
        name: pairs * number for name, number in seeds.items()
    }
    assert len(everything.left_out) == 2
    assert everything.left_out[1].startswith("linear (deep) x both: linear cannot be trained with labelmix")
    assert {(cell.valid, cell.search_metric) for cell in everything.listed} == {(0.2, "PSP@5")}
    assert (everything.title, everything.metrics, everything.curves) == ("everything", ("P@1", "PSP@5"), True)
    assert everything.text == ALL


def test_seeds_may_be_set_by_fraction(everything):
    baseline = cells_of(everything, dataset="far", system="linear", augmentation="none")
    assert [(cell.fraction, cell.seed) for cell in baseline] == [(0.05, 0), (1.0, 0), (1.0, 1), (1.0, 2)]
    assert {cell.fraction for cell in cells_of(everything, dataset="few")} == {0.5}


def test_paths_are_relative_to_the_plan_and_variables_are_filled_in(everything, tmp_path):
    paths = {cell.dataset: cell.path for cell in everything.listed}
    assert paths == {
        "near": str(tmp_path / "data"),
        "demo": "demo:500",
        "far": str(tmp_path / "else" / "far"),
        "few": str(tmp_path / "else" / "few"),
    }


def test_settings_and_searches_go_to_their_owners(everything):
    (deep, *_) = cells_of(everything, system="linear (deep)", augmentation="gandalf w/o SA")
    assert (deep.model, deep.settings) == ("linear", {"depth": 4})
    assert (deep.augment, deep.augment_settings) == (("gandalf",), {"gandalf": {"soft": False}})
    assert deep.search == {"gandalf.weight": (0.5, 1.0)}
    (both, *_) = cells_of(everything, augmentation="both")
    assert (both.augment, both.augment_settings) == (
        ("gandalf", "labelmix"),
        {"labelmix": {"probability": 0.5}},
    )
    assert both.search == {"twin.width": (16, 32), "gandalf.weight": (0.5, 1.0)}
    assert both.settings == {"linear": {"trees": 2}}


def test_what_is_cheap_and_what_others_are_compared_with_comes_first(everything):
    order = [(cell.fraction, cell.augmentation) for cell in everything.cells()]
    assert len(order) == len(everything.listed)
    assert order[0] == (0.05, "none")
    first_seeds = [cell for cell in everything.cells() if cell.seed == 0]
    assert everything.cells()[: len(first_seeds)] == first_seeds
    fractions = [cell.fraction for cell in first_seeds]
    assert fractions == sorted(fractions)
    small = [bool(cell.augment) for cell in first_seeds if cell.fraction == 0.05]
    assert small == sorted(small)


def test_without_augmentations_there_is_the_baseline(tmp_path):
    plan = plan_of(tmp_path, '[datasets]\na = "data"\n[models.popularity]\n')
    (cell,) = plan.cells()
    assert (cell.augmentation, cell.augment, cell.fraction, cell.seed, cell.valid) == (
        "none",
        (),
        1.0,
        0,
        0.1,
    )
    assert plan.title == "plan"


def test_a_dataset_may_be_for_some_of_the_models(tmp_path):
    plan = plan_of(
        tmp_path,
        '[datasets]\na = "data"\nb = { path = "data", models = ["linear deep", "popularity"] }\n'
        '[models.popularity]\n[models.linear]\n[models."linear deep"]\nmodel = "linear"\ndepth = 4\n',
    )
    found = {(cell.dataset, cell.system) for cell in plan.listed}
    everywhere = {("a", name) for name in ("popularity", "linear", "linear (deep)")}
    assert found == everywhere | {("b", "popularity"), ("b", "linear (deep)")}


def test_a_plan_may_hold_all_models_against_one(tmp_path, everything):
    assert everything.against == ""
    plan = plan_of(
        tmp_path,
        'against = "linear deep"\n[datasets]\na = "data"\n[models.popularity]\n'
        '[models."linear deep"]\nmodel = "linear"\ndepth = 4\n',
    )
    assert plan.against == "linear (deep)"


def test_an_augmentation_may_be_for_some_of_the_models(tmp_path):
    plan = plan_of(
        tmp_path,
        '[datasets]\na = "data"\n[models.popularity]\n[models.linear]\n[models.twin]\n'
        '[augmentations.none]\n[augmentations.gandalf]\nmodels = ["linear", "twin"]\n'
        '[augmentations.labelmix]\nmodels = "twin"\n',
    )
    found = {(cell.system, cell.augmentation) for cell in plan.listed}
    plain = {(name, "none") for name in ("popularity", "linear", "twin")}
    assert found == plain | {("linear", "gandalf"), ("twin", "gandalf"), ("twin", "labelmix")}
    assert plan.left_out == ()
    assert plan.listed[0].augment_settings == {}


@pytest.mark.parametrize(
    ("asked", "found"),
    [("gandalf", 4), ("/ 0.5 /", 4), ("TOY * none * seed 1", 2), ("seed ?", 0), ("*seed ?", 8), ("x", 0)],
)
def test_a_pattern_picks_cells_by_their_titles(tmp_path, asked, found):
    assert sum(is_asked_for(cell, asked) for cell in plan_of(tmp_path).cells()) == found


WRONG = [
    ("sedes = [1]\n", "unknown key 'sedes'; did you mean 'seeds'?"),
    ("seeds = [0, 0]\n", r"\[datasets\] seeds: found \[0, 0\], expected a list of whole numbers, each once"),
    ("seeds = [-1]\n", r"seeds: found \[-1\]"),
    ("fractions = [0.0]\n", "fractions: found 0.0, expected a share of the rows such as 0.05"),
    ('fractions = ["150 %"]\n', "fractions: found '150 %'"),
    ("fractions = 0.5\n", r"fractions: found 0.5, expected a list such as \[0.05, 1.0\]"),
    ("valid = 1.0\n", r"valid: found 1.0, expected a share of the training rows in \[0, 1\)"),
    ("valid = true\n", "valid: found True, expected a number"),
    ('metrics = ["P@2"]\n', "unknown metric 'P@2'; did you mean 'P@"),
    ("metrics = []\n", r"metrics: found \[\], expected a list of texts"),
    ('curves = "yes"\n', "curves: found 'yes', expected true or false"),
    ('against = "linear"\n', "unknown model 'linear'; there are: popularity"),
    ("[datasets]\n", "datasets: found {}, expected a table for each"),
    ('[datasets]\na = { paht = "x" }\n', r"\[datasets.a\] unknown key 'paht'; did you mean 'path'"),
    ("[datasets]\na = { seeds = [0] }\n", r"\[datasets.a\] path is missing, expected text"),
    ("[datasets]\na = 3\n", "datasets.a: found 3, expected a table"),
    (
        '[datasets]\na = { path = "x", models = ["popularty"] }\n',
        r"\[datasets.a\] unknown model 'popularty'; did you mean 'popularity'",
    ),
    ('[datasets]\na = { path = "x", models = [] }\n', r"\[datasets.a\] models: found \[\], expected a list"),
    ('[datasets]\na = "$NOWHERE/a"\n', r"\$NOWHERE is not set, expected that environment variable"),
    (
        '[datasets.a]\npath = "x"\nfractions = [0.1]\nseeds = { "1.0" = [0] }\n',
        r"\[datasets.a\] fractions beside seeds by fraction, expected one of the two",
    ),
    ("[models]\n", "models: found {}, expected a table for each"),
    ("[models.twn]\n", r"\[models.twn\] unknown model 'twn'; did you mean 'twin'"),
    ("[models.linear]\ntree = 3\n", r"\[models.linear\] unknown setting 'tree'; did you mean 'trees'"),
    ("[models.linear]\ntrees = 0\n", r"\[models.linear\] trees must be"),
    ('[models."my linear"]\n', r'\[models."my linear"\] unknown model'),
    ("[models.linear]\nsearch = { trees = 3 }\n", "search: found trees = 3, expected a list of values"),
    ("[models.linear]\nsearch = { trees = [3, 0] }\n", r"\[models.linear\] trees must be"),
    ("[augmentations.gandolf]\n", r"\[augmentations.gandolf\] unknown augmenter 'gandolf'; did you mean"),
    ("[augmentations.gandalf]\nsfot = true\n", "unknown setting 'sfot'; did you mean 'soft'"),
    ("[augmentations.gandalf]\nsearch = { weight = [-1] }\n", r"\[augmentations.gandalf\] weight must be"),
    ('[augmentations.gandalf]\nmodels = ["x"]\n', r"\[augmentations.gandalf\] unknown model 'x'"),
    ("[augmentations.none]\nsoft = true\n", r"\[augmentations.none\] unknown key 'soft'"),
    (
        '[augmentations.a]\nmethod = ["gandalf", "labelmix"]\nsearch = { weight = [1] }\n',
        "search: found 'weight', expected gandalf.NAME, of one of the methods",
    ),
    ("[models.linear]\n[augmentations.labelmix]\n", "found no cell that can be trained"),
    (
        "valid = 0\n[augmentations.gandalf]\nsearch = { weight = [1.0] }\n",
        "search needs validation rows, got valid = 0",
    ),
]


def completed(part: str) -> str:
    """A plan that is right but for `part`, whose own keys and tables count."""
    top, tables = re.fullmatch(r"((?:[^\[\n].*\n)*)((?:.*\n)*)", part).groups()
    datasets = "" if "[datasets" in part else '[datasets]\ntoy = "data"\n'
    models = "" if "[models" in part else "[models.popularity]\n"
    return top + datasets + models + tables


def test_what_the_wrong_parts_are_put_into_is_right(tmp_path):
    assert len(plan_of(tmp_path, completed("seeds = [0, 1]\n[augmentations.gandalf]\n")).cells()) == 2


@pytest.mark.parametrize(("part", "message"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_said_in_one_line_with_the_file_and_the_key(tmp_path, part, message):
    with pytest.raises(InputError, match=message) as error:
        plan_of(tmp_path, completed(part))
    assert str(error.value).startswith(f"{tmp_path / 'plan.toml'}: ")
    assert "\n" not in str(error.value)


def test_a_file_that_is_no_toml_or_not_there_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="found no TOML"):
        plan_of(tmp_path, "title = ")
    with pytest.raises(InputError, match=r"nothing\.toml: cannot be read: No such file"):
        read_plan(tmp_path / "nothing.toml")


def test_the_title_of_a_plan_defaults_to_its_file(tmp_path):
    assert plan_of(tmp_path, PLAN).title == "toy"
    assert plan_of(tmp_path, PLAN.replace('title = "toy"', "")).title == "plan"
