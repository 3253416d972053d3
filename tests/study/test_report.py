"""The report as a file: nothing breaks out of it, nothing is fetched by it, and it says what was found."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import ranked_outcomes
from html_reading import Reading
from hypothesis import given
from hypothesis import strategies as st
from report_outcomes import LABELS, NASTY, TEST_ROWS, nasty_corpus

import tailwright as tw
from tailwright.cli import report as report_command
from tailwright.data import Corpus, Dataset, LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.data.pairs import pairs_from_lists
from tailwright.errors import InputError, MissingExtraError
from tailwright.study.compare.comparisons import compare_all
from tailwright.study.plan.cells import Cell
from tailwright.study.report import explorer, writing
from tailwright.study.report.explorer import SHOWN, explorer_section
from tailwright.study.report.metrics import metrics_section, verdicts
from tailwright.study.report.writing import picked_outcomes, write_report
from tailwright.study.run.exam import Exam
from tailwright.study.run.outcomes import Outcome

PLOTLY = "window.Plotly = {}; // </script>"


@pytest.fixture(scope="module", autouse=True)
def plotly():
    """Its megabytes are not what is tested here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "plotly.offline", SimpleNamespace(get_plotlyjs=lambda: PLOTLY))
        yield


@pytest.fixture(scope="module")
def page(study, plotly, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    return written(path, *study, title=NASTY[1], failed={NASTY[0]: NASTY[1]})


def written(path: Path, outcomes, exams, **more) -> str:
    write_report(path, outcomes, exams, **more)
    return path.read_text(encoding="utf-8")


def block(page: str, name: str):
    """The values that a script of the page gets."""
    return json.loads(page.split(f'id="{name}">')[1].split("</script>", maxsplit=1)[0])


def figures(page: str, name: str) -> list[dict]:
    return [view["figure"] for view in block(page, "views-data")[name]["views"]]


@given(st.recursive(st.text() | st.integers() | st.none(), st.lists))
def test_values_come_back_from_a_block_as_they_were_and_cannot_end_it(values):
    text = writing.json_text(values)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == values


def test_half_a_character_is_replaced():
    assert writing.json_text("a\ud800b").encode() == '"a\ufffdb"'.encode()


def test_names_of_labels_and_datasets_stay_text(page):
    reading = Reading(page)
    expected = {"<script>"} | {wrong for wrong in reading.wrong if wrong.startswith("href=#")}
    assert set(reading.wrong) == expected
    # Two blocks of data, Plotly, and three scripts of the page.
    assert reading.count("script") == 6
    assert reading.count("img") == 0
    assert reading.of("title") == [NASTY[1]]
    assert f"{NASTY[0]}: {NASTY[1]}" in reading.of("li")


def test_names_in_plots_are_escaped_for_plotly(page):
    names = {trace.get("name") for figure in figures(page, "gains") for trace in figure["data"]}
    assert "&lt;i&gt;mix&lt;/i&gt;" in names
    assert "<i>mix</i>" not in json.dumps([figures(page, name) for name in block(page, "views-data")])


def test_the_policy_allows_the_scripts_of_the_page_and_nothing_else(page):
    policy = next(a["content"] for tag, a in Reading(page).tags if a.get("http-equiv"))
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert rules["script-src"].split() == [f"'sha256-{digest}'" for digest in hashes]
    assert len(scripts) == 4


def test_the_page_names_no_address_outside(page):
    assert [a["href"] for _, a in Reading(page).tags if "href" in a if not a["href"].startswith("#")] == []
    assert not re.search(r"https?://|url\(|@import", page)


def test_links_lead_to_sections_that_are_there(page):
    tags = Reading(page).tags
    there = {a["id"] for tag, a in tags if tag == "section" and "id" in a}
    assert [a["href"][1:] for tag, a in tags if tag == "a"] == [a["id"] for t, a in tags if t == "section"]
    assert there == {
        *("metrics", "gains", "distribution", "curves", "similarity", "neighbours"),
        *("predictions", "cost", "making"),
    }


def test_every_plot_has_words_for_those_who_do_not_see_it(page):
    views = [view for box in block(page, "views-data").values() for view in box["views"]]
    assert len(views) > 8
    assert all(view["words"].endswith(".") and view["figure"]["data"] for view in views)


def test_the_table_holds_the_means_of_all_labels_and_of_slices(study):
    outcomes, exams = study
    html = metrics_section(compare_all(outcomes, exams, ["P@1", "PSP@5"])).html
    rows = re.findall(r"<tr data-dataset(.*?)</tr>", html, flags=re.DOTALL)
    shown = [row for row in rows if " hidden>" not in row]
    assert len(shown) == 6
    mixed = next(row for row in shown if "&lt;i&gt;mix" in row)
    values = re.findall(r'data-value="([^"]*)"', mixed)
    mean = np.mean([o.metrics["PSP@5"] for o in outcomes if o.cell.augmentation == "<i>mix</i>"])
    assert values[1:6] == ["1", "all labels", "twin", "&lt;i&gt;mix&lt;/i&gt;", "2"]
    assert float(values[7]) == pytest.approx(mean, abs=1e-5)
    tails = [row for row in rows if 'data-slice="tail"' in row]
    assert len(tails) == 6
    assert all(" hidden>" in row for row in tails)


def test_the_table_says_what_all_are_held_against():
    exam = ranked_outcomes.exam()
    outcomes = [ranked_outcomes.outcome(exam, 0.2, model="linear"), ranked_outcomes.outcome(exam, 0.9)]
    compared = compare_all(outcomes, {"toy": exam}, ["P@1"], against="linear")
    html = metrics_section(compared).html
    assert "Δ is the difference to linear without augmentation" in html
    assert "▲" in html.split("<tbody>")[1]
    assert verdicts(compared).startswith("Against linear without augmentation, P@1 is better in 1 of 1 ")
    alone = compare_all(outcomes, {"toy": exam}, ["P@1"])
    assert verdicts(alone) == ""


def test_a_clear_best_is_bold_and_a_level_one_is_not():
    exam = ranked_outcomes.exam()
    clear = [ranked_outcomes.outcome(exam, 0.2), ranked_outcomes.outcome(exam, 0.9, augmentation="gandalf")]
    level = [
        ranked_outcomes.outcome(exam, 0.5, noise=1),
        ranked_outcomes.outcome(exam, 0.5, augmentation="gandalf", noise=2),
    ]
    html = metrics_section(compare_all(clear, {"toy": exam}, ["P@1"])).html
    assert html.count('class="best"') == 1
    assert "▲" in html.split("<tbody>")[1]
    assert "is highest in P@1 with" in html
    html = metrics_section(compare_all(level, {"toy": exam}, ["P@1"])).html
    assert 'class="best"' not in html
    assert html.count("cannot be told apart from the best") == 2
    assert "▲" not in html.split("<tbody>")[1]


def test_the_explorer_shows_first_labels_without_excluded_pairs(study):
    outcomes, exams = study
    (exam,) = exams.values()
    (shown,) = explorer_section(outcomes, exams).scripts["explorer-data"]
    names = [name for name, _ in shown["labels"]]
    every = exam.labels.names.to_pylist()
    excluded = exam.test.excluded.toarray() > 0
    truth = (exam.test.targets.toarray() > 0) & ~excluded
    assert [row["text"] for row in shown["rows"]] == exam.test.texts.to_pylist()
    for row, values in enumerate(shown["rows"]):
        assert [names[label] for label in values["truth"]] == [every[i] for i in np.flatnonzero(truth[row])]
    first = [label for label in outcomes[0].top[0].tolist() if not excluded[0, label]][:SHOWN]
    cell = next(cell for cell in shown["cells"] if cell["name"] == "twin / none / 100 %")
    assert [names[label] for label in cell["top"][:SHOWN]] == [every[label] for label in first]
    assert len(shown["cells"]) == 6
    assert all(len(cell["top"]) == TEST_ROWS * SHOWN for cell in shown["cells"])


def test_the_explorer_knows_rows_by_the_ids_of_the_user(study):
    outcomes, exams = study
    ((name, exam),) = exams.items()
    ids = arrow_strings([f"sku-{row}" if row else "" for row in range(TEST_ROWS)])
    with_ids = replace(exam, corpus=replace(exam.corpus, test=replace(exam.test, ids=ids)))
    (shown,) = explorer_section(outcomes, {name: with_ids}).scripts["explorer-data"]
    assert "id" not in shown["rows"][0]
    assert [row["id"] for row in shown["rows"][1:]] == ids.to_pylist()[1:]


def test_many_test_rows_are_sampled_and_the_page_says_so(study, monkeypatch):
    monkeypatch.setattr(explorer, "BUDGET", 3000)
    section = explorer_section(*study)
    (shown,) = section.scripts["explorer-data"]
    assert 1 <= len(shown["rows"]) < TEST_ROWS == shown["all"]
    assert f"{len(shown['rows'])} of {TEST_ROWS} of nasty &lt;b&gt;data&lt;/b&gt;" in section.html


def test_sixty_cells_on_thirteen_thousand_rows_of_many_labels_stay_below_ten_megabytes():
    labels, rows, random = 40_000, 13_000, np.random.default_rng(0)
    names = arrow_strings([f"a label with a name of middling length {label}" for label in range(labels)])
    test = Dataset(
        arrow_strings([f"a test row that says a few words about itself {row}" for row in range(rows)]),
        pairs_from_lists(random.integers(0, labels, (rows, 1)).tolist(), labels),
    )
    exam = Exam("large", Corpus(test, LabelSpace(names), test=test))
    cells = [
        Outcome(
            Cell("large", "", "twin", f"method {number}"),
            *("", {}, (random.integers(0, labels - 9, (rows, 1)) + np.arange(9)).astype(np.int32)),
            *(exam.labels.counts, exam.labels.counts, 1.0, 1.0, 1.0, rows),
        )
        for number in range(60)
    ]
    size = len(writing.json_text(explorer_section(cells, {"large": exam}).scripts["explorer-data"]))
    assert 5e6 < size < 1e7


def test_sections_without_anything_to_show_are_named(tmp_path):
    exam = ranked_outcomes.exam()
    page = written(tmp_path / "r.html", [ranked_outcomes.outcome(exam, 0.5, model="linear")], {"toy": exam})
    (missing,) = [text for text in Reading(page).of("p") if text.startswith("Not here")]
    for part in ("gain by label frequency", "label distribution", "training curves", "similarities"):
        assert part in missing
    assert 'id="gains"' not in page


def test_no_outcome_and_a_missing_plotly_are_one_line_each(tmp_path, monkeypatch):
    exam = ranked_outcomes.exam()
    with pytest.raises(InputError, match="found no finished cell, expected at least one to report on"):
        write_report(tmp_path / "r.html", [], {})
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(MissingExtraError, match=r"plotly is not installed; .* 'tailwright\[report\]'"):
        write_report(tmp_path / "r.html", [ranked_outcomes.outcome(exam, 0.5)], {"toy": exam})
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def runs(tmp_path) -> Path:
    """Four runs of popularity: two seeds, one with label texts, and one more of the same."""
    tw.write(nasty_corpus(), tmp_path / "data", format="jsonl")
    corpus = tw.read(tmp_path / "data")
    for name, seed, augment in (("a", 0, []), ("b", 1, []), ("c", 0, ["gandalf"]), ("d", 0, ["gandalf"])):
        tw.train(corpus, "popularity", seed=seed, augment=augment, out=tmp_path / name)
    tw.train(nasty_corpus(), "popularity", out=tmp_path / "e")
    return tmp_path


def test_picked_runs_of_one_title_are_told_apart_by_their_folders(runs):
    outcomes, exams = picked_outcomes([runs / name for name in "abcd"])
    assert [(o.cell.augmentation, o.cell.seed) for o in outcomes] == [
        ("none", 0),
        ("none", 1),
        ("gandalf (c)", 0),
        ("gandalf (d)", 0),
    ]
    assert list(exams) == ["data"]


def test_report_command_writes_the_file_and_says_so(runs, capsys, monkeypatch):
    monkeypatch.chdir(runs)
    report_command.report([Path("a"), Path("c")], path=Path("r.html"), as_json=True)
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["bytes"] == Path("r.html").stat().st_size
    titles = [f"data / popularity / {augmentation} / 1 / seed 0" for augmentation in ("none", "gandalf")]
    assert result["titles"] == titles
    page = Path("r.html").read_text(encoding="utf-8")
    assert "tailwright report a c --out r.html" in Reading(page).of("code")
    assert len(block(page, "explorer-data")[0]["cells"]) == 2
    assert len(tw.load("a").labels) == LABELS


def test_a_run_that_does_not_say_its_data_asks_for_them(runs):
    with pytest.raises(
        InputError, match=r"e: does not say which data it was trained on, expected --data PATH"
    ):
        picked_outcomes([runs / "e"])
    outcomes, _ = picked_outcomes([runs / "e"], runs / "data")
    assert outcomes[0].cell.dataset == "data"
