"""What the filter would keep and drop: by a classifier whose answers are known, and as a user meets it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from augmented_rows import augmented
from html_reading import Reading
from told_classifier import Told

import tailwright as tw
from tailwright.augmentation import ScorerSettings
from tailwright.augmentation.filter import Filter, FilterSettings
from tailwright.checks.corpora import tiny_corpus
from tailwright.checks.refiners import with_copies
from tailwright.cli import run
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.runs.scoring import row_scores
from tailwright.study.quality import tables
from tailwright.study.quality.figures import quality_of
from tailwright.study.quality.filtering import BELOW, BEST, WORST, Filtering, filtering
from tailwright.study.quality.page import quality_page

NASTY = "<script>alert('x')</script> & \"quoted\" \x00 日本語 🎉"
MATCHED = FilterSettings(scorer=ScorerSettings(model="label-matcher"))


def toy(diversities: list[float]) -> tuple[Corpus, Told]:
    """Rows of label x with a copy each, of these diversities.

    The classifier finds x first in all copies, and in the sources of odd copies alone.
    """
    texts = [f"row {i}" for i in range(len(diversities))]
    corpus = augmented(texts, [(f"copy {i}", i) for i in range(len(texts))])
    table: dict[str, list[float | None]] = {}
    for i, diversity in enumerate(diversities):
        p = np.exp(-diversity)
        table[f"row {i}"] = [5.0, None, None] if i % 2 else [None, 5.0, None]
        table[f"copy {i}"] = [float(np.log(p / (1 - p))), None, None]
    return corpus, Told(table)


def found(corpus: Corpus, told: Told, *, count: int = 0, **settings: object) -> Filtering:
    made = np.flatnonzero(~corpus.train.origin.is_original())
    return filtering(corpus, FilterSettings(**settings), told, "told", made, count=count)


@pytest.fixture
def five() -> tuple[Corpus, Told]:
    """The scores are 0, 0.625, 0.25, 0.875 and 0.5."""
    return toy([1.0, 2.0, 3.0, 4.0, 5.0])


@pytest.fixture(scope="module")
def more(tmp_path_factory) -> Path:
    """The tiny corpus with two made rows for each."""
    folder = tmp_path_factory.mktemp("data") / "more"
    tw.write(with_copies(tiny_corpus()), folder, format="jsonl")
    return folder


@pytest.fixture(scope="module")
def matched() -> Filtering:
    """What a small model on the way finds of the tiny corpus with two made rows for each."""
    return quality_of(with_copies(tiny_corpus()), filter_settings=MATCHED).filtering


def test_rows_are_kept_and_dropped_as_the_filter_does(five):
    of = found(*five, keep=0.5)
    assert (of.scored, of.rows, of.kept, of.dropped) == (5, 5, 3, 2)
    assert of.cut == pytest.approx(0.5)


def test_histograms_tell_kept_rows_from_dropped_ones(five):
    counts = found(*five, keep=0.5).histograms
    assert list(counts) == ["diversity", "consistency", "score"]
    assert counts["consistency"].kept == (1, *[0] * 8, 2)
    assert counts["consistency"].dropped == (2, *[0] * 9)
    assert counts["score"].kept == (0, 0, 0, 0, 0, 1, 1, 0, 1, 0)
    assert counts["score"].dropped == (1, 0, 1, 0, 0, 0, 0, 0, 0, 0)


def test_histograms_add_up_to_those_of_the_filter(matched):
    expected = row_scores(with_copies(tiny_corpus()), MATCHED).histograms()
    for name, histogram in expected.items():
        counts = matched.histograms[name]
        assert [k + d for k, d in zip(counts.kept, counts.dropped, strict=True)] == histogram["rows"]
        assert counts.to == histogram["to"]


def test_as_many_rows_are_dropped_as_the_filter_drops(matched):
    corpus = with_copies(tiny_corpus())
    filtered = tw.augment(corpus, Filter(MATCHED))
    assert matched.dropped == len(corpus.train) - len(filtered.train) > 0


def test_examples_are_the_best_the_worst_and_those_just_below_the_cut(five):
    shown = found(*five, keep=0.25, count=4).examples
    assert [(one.example.kind, one.example.new, one.kept) for one in shown] == [
        (BEST, "copy 3", True),
        (BEST, "copy 1", True),
        (BELOW, "copy 4", False),
        (WORST, "copy 0", False),
    ]
    assert (shown[0].consistency, round(shown[0].diversity, 3), round(shown[0].score, 3)) == (1, 4, 0.875)
    assert {one.method for one in shown} == {"toy"}


def test_no_example_is_shown_twice(five):
    shown = found(*five, keep=0.2, count=60).examples
    assert sorted(one.example.new for one in shown) == [f"copy {i}" for i in range(5)]


def test_examples_say_what_the_classifier_ranks_first(five):
    (best,) = found(*five, keep=0.2, count=1).examples
    assert [(guess.name, guess.right) for guess in best.example.source_guesses] == [("x", True)]
    corpus, told = five
    worst = found(corpus, told, keep=0.2, count=3).examples[-1]
    assert [(guess.name, guess.right) for guess in worst.example.source_guesses] == [("y", False)]


def test_rows_of_one_method_are_scored_among_all():
    corpus, told = toy([1.0, 2.0, 3.0, 4.0, 5.0])
    all_rows = found(corpus, told, keep=0.5)
    some = filtering(corpus, FilterSettings(keep=0.5), told, "told", np.array([5, 6, 7]), count=9)
    assert (some.scored, some.rows, some.kept, some.dropped) == (5, 3, 1, 2)
    assert some.cut == all_rows.cut
    assert {one.example.new for one in some.examples} == {"copy 0", "copy 1", "copy 2"}
    assert "They are scored and cut among all 5 new rows." in tables.filter_words(some)


def test_the_method_that_is_asked_for_is_looked_at_alone():
    corpus = with_copies(tiny_corpus())
    other = augmented(["a b"], [("a c", 0)], method="other", names=corpus.labels.names.to_pylist())
    both = corpus.with_train(Dataset.concat([corpus.train, other.train.take([1])]))
    of = quality_of(both, method="other", filter_settings=MATCHED).filtering
    assert (of.scored, of.rows, {one.method for one in of.examples}) == (241, 1, {"other"})


def test_one_huge_diversity_is_said_to_squeeze_the_others():
    corpus, told = toy([*(1 + i / 100 for i in range(9)), 12.0])
    squeezed = found(corpus, told)
    assert squeezed.lowest_tenth == 90
    assert any("squeeze the others together" in sentence for sentence in tables.filter_words(squeezed))


def test_scalings_against_huge_diversities_need_no_remark():
    corpus, told = toy([*(1 + i / 100 for i in range(9)), 12.0])
    assert not found(corpus, told, scaling="rank").squeezed


def test_equal_diversities_squeeze_nothing():
    assert found(*toy([2.0, 2.0, 2.0])).lowest_tenth == 0


def test_weights_drop_nothing_and_have_no_cut(five):
    of = found(*five, act="weight", count=3)
    assert (of.kept, of.dropped, of.cut) == (5, 0, None)
    assert [one.example.kind for one in of.examples] == [BEST, WORST]
    assert tables.filter_words(of) == ["All 5 new rows stay, and the score of each multiplies its weight."]


def test_rows_of_weight_0_are_counted_and_not_scored(five):
    corpus, told = five
    weights = corpus.train.weights.copy()
    weights[5:7] = 0
    of = found(corpus.with_train(replace(corpus.train, weights=weights)), told)
    assert (of.scored, of.unscored) == (3, 2)
    assert "2 new rows of weight 0 are neither scored nor dropped." in tables.filter_words(of)


def test_without_a_scored_row_the_page_says_that_there_is_nothing_to_draw(five):
    corpus, told = five
    silent = replace(corpus.train, weights=np.zeros(10, dtype=np.float32))
    of = found(corpus.with_train(silent), told, count=9)
    assert (of.scored, of.cut, of.examples) == (0, None, ())
    reading = Reading(quality_page(replace(quality_of(corpus), filtering=of), "x", "x"))
    assert reading.wrong == []
    assert "New rows by score: there is nothing to draw." in reading.of("p")


def test_the_page_has_three_histograms_with_their_counts_and_the_examples(matched):
    quality = replace(quality_of(with_copies(tiny_corpus()), count=0), filtering=matched)
    reading = Reading(quality_page(quality, "x", "x"))
    assert reading.wrong == []
    assert {"filter: which new rows stay", "filter: examples"} <= set(reading.of("h2"))
    for name in ("diversity", "consistency", "score"):
        assert f"New rows by {name}" in reading.of("title")
        assert f"{name} up to" in reading.of("th")
    assert f"cut at {matched.cut:.3f}" in reading.of("text")
    assert reading.count("article") == len(matched.examples) == 9


def test_a_page_that_is_not_asked_for_the_filter_does_not_speak_of_it(five):
    assert "filter" not in quality_page(quality_of(five[0]), "x", "x")


def test_texts_and_names_of_examples_are_text_whatever_is_in_them():
    corpus = augmented([NASTY, "y"], [(NASTY + " more", 0), ("z", 1)], names=(NASTY, "y", "z"), method="<i>")
    told = Told({text: [1.0, 0.0, None] for text in corpus.train.texts.to_pylist()})
    of = found(corpus, told, count=9, scorer=ScorerSettings(run="<b>run</b>"))
    reading = Reading(quality_page(replace(quality_of(corpus, count=0), filtering=of), "x", "x"))
    assert reading.wrong == []
    assert reading.count("i") == reading.count("b") == 0
    assert "more" in reading.of("ins")
    assert "told, of the run <b>run</b>" in reading.of("td")


def test_the_command_has_the_figures_in_its_json_and_on_its_page(more, tmp_path, capsys):
    page = tmp_path / "q.html"
    settings = ["--set", "filter.scorer.model=label-matcher", "--set", "filter.keep=0.5"]
    arguments = ["quality", str(more), "--filter", *settings, "--examples", "3", "--out", str(page)]
    assert run([*arguments, "--json", "-q"]) == 0
    result = json.loads(capsys.readouterr().out)["filtering"]
    assert (result["classifier"], result["settings"]["keep"], result["scored"]) == ("label-matcher", 0.5, 240)
    assert result["kept"] + result["dropped"] == 240
    assert sum(result["histograms"]["score"]["kept"]) == result["kept"]
    assert [one["example"]["kind"] for one in result["examples"]] == [BEST, BELOW, WORST]
    (made_by,) = [line for line in Reading(page.read_text()).of("code") if "tailwright quality" in line]
    assert "--filter --set filter.scorer.model=label-matcher --set filter.keep=0.5" in made_by


def test_the_command_shows_what_a_run_finds(more, tmp_path, capsys):
    trained = tmp_path / "run"
    arguments = ["train", str(more), "--out", str(trained), "--model", "label-matcher", "--augment", "none"]
    assert run([*arguments, "-q"]) == 0
    capsys.readouterr()
    page = tmp_path / "q.html"
    assert run(["quality", str(more), "--filter", "--with", str(trained), "--out", str(page), "-q"]) == 0
    out = capsys.readouterr().out
    assert f"label-matcher, of the run {trained}" in out
    assert re.search(r"Of 240 new rows \d+ are kept and \d+ are dropped\.", out)
    assert "consistency up to  kept  dropped" in out
    assert re.search(
        r"kept, best scores: diversity \d+\.\d\d, consistency \d\.\d\d, score \d\.\d{3}; made", out
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--with", "nowhere"], "found --with without --filter"),
        (["--set", "filter.keep=0.5"], "found --set without --filter"),
        (["--filter", "--with", "nowhere"], "nowhere"),
        (["--filter", "--set", "keep=0.5"], "--set keep, expected filter.NAME=VALUE"),
        (["--filter", "--set", "eda.rows=all"], "--set eda, expected filter.NAME=VALUE"),
        (["--filter", "--set", "filter.kep=0.5"], "unknown setting 'kep'; did you mean 'keep'?"),
        (["--filter", "--set", "filter.keep=1.5"], "keep must be in (0, 1], got 1.5"),
        (["--filter", "--set", "filter.scorer.model=lineer"], "unknown model 'lineer'"),
    ],
)
def test_what_is_asked_wrongly_is_one_line_and_exit_code_2(more, tmp_path, capsys, arguments, line):
    assert run(["quality", str(more), "--out", str(tmp_path / "q.html"), *arguments]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert line in said
    assert list(tmp_path.iterdir()) == []


def test_a_corpus_without_new_rows_is_one_line(tmp_path, capsys):
    tw.write(tiny_corpus(), tmp_path / "tiny", format="jsonl")
    page = tmp_path / "q.html"
    assert run(["quality", str(tmp_path / "tiny"), "--filter", "--out", str(page)]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "found no training rows that an augmentation made" in said
    assert not page.exists()


def test_a_run_over_other_labels_is_one_line(more, tmp_path, capsys):
    other = augmented(["x y"], [("y x", 0)])
    tw.train(other, "popularity", augment=[]).save(tmp_path / "run")
    page = tmp_path / "q.html"
    assert run(["quality", str(more), "--filter", "--with", str(tmp_path / "run"), "--out", str(page)]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "found 11 labels, expected the 3 labels of" in said
    assert not page.exists()
