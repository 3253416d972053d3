"""What each section draws and says, from outcomes of which it is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ranked_outcomes import LABELS, exam, outcome

from tailwright.study.compare.comparisons import gain_by_frequency
from tailwright.study.report.cost import cost_section
from tailwright.study.report.curves import curves_section
from tailwright.study.report.distribution import distribution_section
from tailwright.study.report.gains import DRAWS, METRIC, gains_section
from tailwright.study.report.neighbours import neighbours_section
from tailwright.study.report.plots import COLOURS
from tailwright.study.report.sections import View, Views, by_place, colours_of, grouped
from tailwright.study.report.writing import making_section

TOY = exam()
COLOURED = colours_of(["none", "gandalf", "labelmix"])


def views(section) -> dict[tuple[str, ...], View]:
    (box,) = section.views
    return {view.at: view for view in box.views}


def epoch(number: int, **facts) -> dict:
    return {"time": 0.0, "event": "epoch", "phase": "twin", "epoch": number, "loss": 8.0 / number, **facts}


def test_gains_show_the_tail_that_gained_and_the_head_that_paid():
    counts = TOY.labels.counts
    before = outcome(TOY, 0.5)
    after = outcome(TOY, np.where(counts > 30, 0.1, np.where(counts > 0, 0.95, 0.5)), augmentation="gandalf")
    (view,) = views(gains_section([before, after], {"toy": TOY}, COLOURED)).values()
    band, line = view.figure["data"]
    expected = gain_by_frequency([before], [after], TOY, METRIC, draws=DRAWS)
    assert line["x"] == [bucket for bucket, _ in expected]
    assert line["y"] == pytest.approx([gain.mean for _, gain in expected], abs=1e-3)
    upper, lower = band["y"][: len(expected)], band["y"][: len(expected) - 1 : -1]
    assert all(low <= mean <= high for low, mean, high in zip(lower, line["y"], upper, strict=True))
    gained, lost = view.words.split(" and down on ")
    assert gained.startswith("gandalf: up on labels with 2-3, 4-7")
    assert lost.startswith("labels with 32-63 training rows")
    assert line["line"]["color"] == COLOURED["gandalf"]


def test_gains_need_a_baseline_of_the_same_system():
    lonely = outcome(TOY, 0.5, augmentation="gandalf")
    others = outcome(TOY, 0.5, model="linear")
    assert gains_section([lonely, others], {"toy": TOY}, COLOURED) is None


def test_gains_may_be_those_over_another_system():
    outcomes = [
        outcome(TOY, 0.4, model="linear"),
        outcome(TOY, 0.8),
        outcome(TOY, 0.9, augmentation="gandalf"),
    ]
    section = gains_section(outcomes, {"toy": TOY}, COLOURED, against="linear")
    (view,) = views(section).values()
    assert view.at[-1] == "twin"
    assert view.words.startswith("none: up on labels")
    assert " gandalf: up on labels" in view.words
    assert "over linear without augmentation" in section.html


def test_the_distribution_says_what_was_added():
    counts = np.array([100, 9, 3, 1, 0])
    plain = replace(outcome(TOY, 0.5), counts=counts, augmented_counts=counts.astype(float))
    more = outcome(TOY, 0.5, augmentation="gandalf", n_augmented=5)
    more = replace(more, counts=counts, augmented_counts=counts + 4.0)
    (view,) = views(distribution_section([plain, more], COLOURED)).values()
    assert view.words == (
        "3 of 5 labels have at most 5 original rows. gandalf adds 5 rows to 400: the median label goes "
        "from 3 to 7 rows, and 2 labels stay at 5 or fewer."
    )
    original, added = view.figure["data"]
    assert (original["x"], original["y"]) == ([1, 2, 3, 4], [100, 9, 3, 1])
    assert added["y"] == [104, 13, 7, 5, 4]
    assert original["line"]["color"] == COLOURS[0]
    assert distribution_section([plain], COLOURED) is None


def test_a_long_curve_is_thinned_and_keeps_both_ends():
    counts = np.arange(50_000, 0, -1)
    one = replace(outcome(TOY, 0.5, augmentation="gandalf"), counts=counts, augmented_counts=counts + 1.0)
    (view,) = views(distribution_section([one], COLOURED)).values()
    line = view.figure["data"][0]
    assert len(line["x"]) < 300
    assert (line["x"][0], line["x"][-1], line["y"][0], line["y"][-1]) == (1, 50_000, 50_000, 1)


def test_watched_rows_are_drawn_and_an_epoch_that_was_repeated_counts_once():
    log = (
        epoch(1, watched={"train": 50.0, "test": 40.0}),
        epoch(2, watched={"train": 1.0, "test": 1.0}),
        epoch(2, watched={"train": 70.0, "test": 45.0}),
    )
    (view,) = views(curves_section([replace(outcome(TOY, 0.5), log=log)], COLOURED)).values()
    train, test = view.figure["data"]
    assert (train["x"], train["y"], train["line"]["dash"]) == ([1, 2], [50, 70], "dash")
    assert (test["y"], test["line"]["dash"]) == ([40, 45], "solid")
    assert view.words == "no augmentation: 70.0 on training and 45.0 on test rows, +25.0 apart."


def test_curves_fall_back_to_validation_rows_and_to_the_loss():
    held_out = replace(outcome(TOY, 0.5), log=(epoch(1, valid=60.0), epoch(2, valid=55.0)))
    (view,) = views(curves_section([held_out], COLOURED)).values()
    assert view.figure["data"][0]["y"] == [60, 55]
    assert view.words == "no augmentation: 60.0 at best on validation rows, in epoch 1 of 2."
    bare = replace(outcome(TOY, 0.5), log=(epoch(1), epoch(2), {"time": 1.0, "event": "end", "phase": "fit"}))
    (view,) = views(curves_section([bare], COLOURED)).values()
    assert view.figure["data"][0]["y"] == [8, 4]
    assert view.words == "no augmentation: loss from 8 to 4."
    assert curves_section([outcome(TOY, 0.5)], COLOURED) is None


def test_the_last_phase_with_epochs_is_the_one_that_is_drawn():
    log = (epoch(1) | {"phase": "surrogate"}, epoch(1, valid=3.0) | {"phase": "extreme"})
    (view,) = views(curves_section([replace(outcome(TOY, 0.5), log=log)], COLOURED)).values()
    assert view.figure["data"][0]["y"] == [3]


def test_neighbours_are_two_labels_each_of_head_torso_and_tail():
    there = views(neighbours_section({"toy": TOY}))
    parts = [label.rsplit("(", 1)[1].split(",")[0] for _, label in there]
    assert parts == ["head"] * 2 + ["torso"] * 2 + ["tail"] * 2
    for (_, label), view in there.items():
        (bars,) = view.figure["data"]
        own = label.split(" (")[0]
        assert own not in {name for name, _, _ in bars["customdata"]}
        assert bars["x"] == sorted(bars["x"], reverse=True)
        together = (TOY.corpus.train.targets.toarray() > 0)[:, int(own.split()[1])]
        for name, rows, shared in bars["customdata"]:
            column = int(name.split()[1])
            assert rows == TOY.labels.counts[column]
            assert shared == TOY.corpus.train.targets.toarray()[together, column].sum()
    assert there.keys() == views(neighbours_section({"toy": TOY})).keys()
    assert there.keys() != views(neighbours_section({"toy": TOY}, seed=1)).keys()


def test_cost_names_the_best_and_the_quickest():
    slow = replace(outcome(TOY, 0.9, train_seconds=90.0), metrics={"PSP@5": 50.0, "P@1": 70.0})
    twice = replace(
        slow, cell=replace(slow.cell, seed=1), train_seconds=110.0, metrics={"PSP@5": 54.0, "P@1": 70.0}
    )
    quick = replace(
        outcome(TOY, 0.5, model="linear", train_seconds=2.0), metrics={"PSP@5": 40.0, "P@1": 71.0}
    )
    there = views(cost_section([slow, twice, quick], COLOURED))
    assert list(there) == [("toy", "100 %", "PSP@5"), ("toy", "100 %", "P@1")]
    first, second = there.values()
    assert first.words == (
        "twin / none is highest in PSP@5 with 52.00 after 100.0 s of training; linear / none is quickest "
        "with 2.0 s and reaches 40.00."
    )
    assert second.words.endswith("with 71.00 after 2.0 s of training, and it is the quickest as well.")
    points = {
        trace["name"]: (trace["x"], trace["y"], trace["marker"]["symbol"]) for trace in first.figure["data"]
    }
    assert points == {"linear / none": ([2], [40], "circle"), "twin / none": ([100], [52], "square")}


def test_how_it_was_made_lists_what_failed_and_what_was_left_out():
    html = making_section(
        [outcome(TOY, 0.5)], {"x / y": "out of <memory>"}, ["linear with labelmix"], "do it"
    ).html
    assert "1 cell finished, 1 failed, 1 left out." in html
    assert "<li>x / y: out of &lt;memory&gt;</li>" in html
    assert "<li>linear with labelmix</li>" in html
    assert "<code>do it</code>" in html


def test_places_put_large_shares_and_baselines_first():
    cells = [
        outcome(TOY, 0.5, augmentation="a", fraction=0.5),
        outcome(TOY, 0.5, augmentation="a"),
        outcome(TOY, 0.5, seed=1),
        outcome(TOY, 0.5),
    ]
    places = by_place(cells)
    assert list(places) == [
        ("toy", "100 %", "twin", "none"),
        ("toy", "100 %", "twin", "a"),
        ("toy", "50 %", "twin", "a"),
    ]
    assert [o.cell.seed for o in places["toy", "100 %", "twin", "none"]] == [0, 1]
    assert list(grouped(places, 2)["toy", "100 %"]) == [("twin", "none"), ("twin", "a")]


def test_a_view_must_have_a_value_for_each_choice():
    with pytest.raises(ValueError, match=r"a view of x must have 2 choices, got \('a',\)"):
        Views("x", ("one", "two"), (View(("a",), "", {}),))
    assert len(TOY.labels) == LABELS


def test_every_curve_has_a_name_for_the_legend():
    exam_ = exam()
    outcomes = [outcome(exam_, 0.5), outcome(exam_, 0.6, augmentation="gandalf", n_augmented=9)]
    colours = colours_of(["gandalf"])
    made = [
        gains_section(outcomes, {exam_.name: exam_}, colours),
        neighbours_section({exam_.name: exam_}),
        cost_section(outcomes, colours),
    ]
    traces = [
        trace
        for section in made
        for box in section.views
        for view in box.views
        for trace in view.figure["data"]
        if trace.get("showlegend", True)
    ]
    assert len(traces) > 3
    assert all(trace.get("name") for trace in traces)
