"""tables.md and tables.tex: what stands out has earned it, what is missing is said, both formats hold."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from ranked_outcomes import exam, outcome

from tailwright.study.compare.comparisons import compare_all
from tailwright.study.compare.sheets import BOLD, Sheet, Shown, in_latex, in_markdown, latex, markdown
from tailwright.study.compare.tables import compared_for, write_tables
from tailwright.study.plan.cells import Cell

EXAM = exam()
METRICS = ["P@1", "P@5"]
NASTY = r"a_b & 50% $x$ {y} \cmd ^~ <b> |"


def made():
    return [
        outcome(EXAM, quality, seed=seed, augmentation=name, noise=seed + noise)
        for seed in range(3)
        for name, quality, noise in (("none", 0.3, 0), ("gandalf", 0.9, 0), ("labelmix", 0.3, 50))
    ]


def tables(folder, outcomes, **named):
    folder.mkdir(exist_ok=True)
    exams = {o.cell.dataset: EXAM for o in outcomes}
    asked = {"metrics": METRICS, "title": "A study", **named}
    compared = compared_for(outcomes, exams, asked["metrics"], named.get("cells", ()), draws=200)
    write_tables(compared, folder, **asked)
    return (folder / "tables.md").read_text(), (folder / "tables.tex").read_text()


def row(text: str, *start: str) -> list[str]:
    """The cells of the first row that begins with these."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.removeprefix("| ").removesuffix(" |").split(" | ")]
        if cells[: len(start)] == list(start):
            return cells
    raise AssertionError(f"no row {start} in {text}")


def test_what_must_not_be_read_out_of_a_table_stands_beneath_it(tmp_path):
    """Outcomes without a flag say nothing, and methods that add about as many rows are as good as equal."""
    unequal = {"none": 0, "eda": 2_805, "wordnet": 2_812, "gda": 489}
    outcomes = [outcome(EXAM, 0.5, augmentation=name, n_augmented=rows) for name, rows in unequal.items()]
    learning = [replace(one, stopped_learning=one.cell.augmentation != "gda") for one in outcomes]
    text, tex = tables(tmp_path, learning)
    assert "Rows added: eda 2,805, gda 489, wordnet 2,812. Methods whose rows differ" in text
    assert "Still learning when the training ended: twin / gda." in text
    assert "Still learning" in tex
    plain, _ = tables(tmp_path, outcomes[:3])
    assert "Rows added:" not in plain
    assert "Still learning" not in plain


def test_the_best_is_bold_with_its_spread_and_the_second_underlined(tmp_path):
    text, tex = tables(tmp_path, made())
    (table,) = compare_all(made(), {"toy": EXAM}, [*METRICS, "PSP@5"], draws=200)
    entry = table.entries[1]
    value = f"{entry.mean['all']['P@1']:.2f} ± {entry.spread['all']['P@1']:.2f}"
    assert row(text, "twin", "gandalf")[2] == f"**{value}**"
    assert "\\textbf{" + value.replace("±", r"$\pm$") + "}" in tex
    underlined = [row(text, "twin", name)[2].startswith("<u>") for name in ("none", "gandalf", "labelmix")]
    assert sum(underlined) == 1
    assert not underlined[1]


def test_a_gain_has_its_interval_and_verdict_and_a_baseline_has_none(tmp_path):
    text, _ = tables(tmp_path, made())
    (table,) = compare_all(made(), {"toy": EXAM}, [*METRICS, "PSP@5"], draws=200)
    gain = table.entries[1].gain["all"]["P@1"]
    expected = f"{gain.mean:+.2f} ({gain.low:+.2f} to {gain.high:+.2f}) better"
    assert row(text, "twin", "gandalf")[4] == expected
    assert row(text, "twin", "labelmix")[4].endswith(") =")
    assert row(text, "twin", "none")[4:] == ["", ""]
    assert row(text, "model")[4:] == ["Δ P@1 to none", "Δ PSP@5 to none"]


def test_all_rows_may_be_held_against_one_model(tmp_path):
    outcomes = [*made(), *(outcome(EXAM, 0.6, seed=seed, model="linear", noise=seed) for seed in range(3))]
    exams = {"toy": EXAM}
    compared = compared_for(outcomes, exams, METRICS, draws=200, against="linear")
    write_tables(compared, tmp_path, metrics=METRICS, title="A study")
    text = (tmp_path / "tables.md").read_text()
    assert row(text, "model")[4:] == ["Δ P@1 to linear", "Δ PSP@5 to linear"]
    assert row(text, "linear", "none")[4:] == ["", ""]
    assert row(text, "twin", "none")[4].endswith(") worse")
    assert row(text, "twin", "gandalf")[4].endswith(") better")
    assert "of linear without augmentation" in text
    assert "PSP@5 gained over linear, by training rows" in text


def test_rows_level_with_the_best_are_marked_and_nothing_is_bold(tmp_path):
    level = [*made(), *(outcome(EXAM, 0.9, seed=s, augmentation="eda", noise=s + 80) for s in range(3))]
    text, _ = tables(tmp_path, level)
    quality = text.split("## ")[1]
    assert "**" not in quality
    assert "<u>" not in quality
    marked = [row(quality, "twin", name)[2].endswith(" =") for name in ("none", "gandalf", "labelmix", "eda")]
    assert marked == [False, True, False, True]


def test_one_seed_has_no_spread_and_a_row_alone_is_not_bold(tmp_path):
    text, _ = tables(tmp_path, [outcome(EXAM, 0.5)])
    assert re.fullmatch(r"\d+\.\d\d", row(text, "twin", "none")[2])
    assert "1 seed a row;" in text
    assert "over test rows, after Holm" in text


def test_the_line_below_says_what_the_figures_rest_on(tmp_path):
    text, _ = tables(tmp_path, made())
    assert "on 300 test rows; 3 seeds a row; ± is the standard deviation over seeds" in text
    assert "bootstrap of 200 draws over test rows and seeds, after Holm inside this table" in text


def test_what_failed_was_left_out_or_is_not_run_is_a_dash_with_a_note(tmp_path):
    outcomes = [outcome(EXAM, 0.5), outcome(EXAM, 0.6, augmentation="gandalf")]
    broken = Cell("toy", "x", "linear", "none")
    waiting = Cell("toy", "x", "linear", "gandalf", ("gandalf",))
    second_seed = replace(outcomes[0].cell, seed=1)
    mixed = replace(outcomes[0].cell, augmentation="labelmix", augment=("labelmix",))
    cells = [broken, waiting, *(o.cell for o in outcomes), second_seed, mixed]
    text, tex = tables(
        tmp_path,
        outcomes,
        cells=cells,
        failed={broken.title: "killed by the system (out of memory?)"},
        left_out=["linear x labelmix: linear has no batch door", "astec x labelmix: nobody asked"],
    )
    assert row(text, "linear", r"none \[1\]")[2:] == ["–"] * 4
    assert row(text, "linear", r"gandalf \[2\]")[2:] == ["–"] * 4
    assert row(text, "linear", r"labelmix \[4\]")[2:] == ["–"] * 4
    assert row(text, "twin", r"none \[3\]")[2] != "–"
    assert row(text, "twin", r"labelmix \[2\]")[2] == "–"
    notes = re.findall(r"^\\\[(\d)\\\] (.*)$", text, re.MULTILINE)
    assert notes == [
        ("1", "seed 0 failed: killed by the system (out of memory?)"),
        ("2", "seed 0 not run yet"),
        ("3", "seed 1 not run yet"),
        ("4", "left out: linear has no batch door"),
    ]
    assert "linear & none {[}1{]} & -- & -- & -- & --" in tex


def test_rows_stand_in_the_order_of_the_plan_with_baselines_first(tmp_path):
    outcomes = [*made(), outcome(EXAM, 0.2, model="linear")]
    asked = [("twin", "labelmix"), ("twin", "gandalf"), ("linear", "none")]
    text, _ = tables(tmp_path, outcomes, cells=[Cell("x", "x", *pair) for pair in asked])
    names = [tuple(cells) for cells in re.findall(r"^\| (twin|linear) \| (\w+) ", text.split("## ")[1], re.M)]
    assert names == [("twin", "none"), ("twin", "labelmix"), ("twin", "gandalf"), ("linear", "none")]


def test_the_order_of_outcomes_changes_no_byte(tmp_path):
    assert tables(tmp_path / "a", made()) == tables(tmp_path / "b", made()[::-1])


def test_gains_by_slice_and_cost_have_tables_of_their_own(tmp_path):
    costly = [
        replace(one, train_seconds=seconds) for one, seconds in zip(made(), range(10, 100, 10), strict=True)
    ]
    text, _ = tables(tmp_path, costly)
    _, _, by_slice, cost = text.split("## ")
    assert row(by_slice, "model")[2:] == ["head", "torso", "tail", "unseen"]
    assert row(by_slice, "twin", "gandalf")[5].endswith("better")
    assert row(cost, "toy", "100 %", "twin", "gandalf")[5] == "50.0"


def test_names_that_mean_something_to_a_format_stay_names(tmp_path):
    outcomes = [outcome(EXAM, 0.5, variant=NASTY), outcome(EXAM, 0.9, augmentation=NASTY, variant=NASTY)]
    text, tex = tables(tmp_path, outcomes, title=NASTY)
    columns = [
        len(re.findall(r"(?<!\\)\|", line)) for line in text.split("## ")[1].splitlines() if line[:1] == "|"
    ]
    assert len(set(columns)) == 1
    body = tex.split("\\begin{document}")[1]
    for table in re.findall(r"\\toprule\n(.*?)\\bottomrule", body, re.DOTALL):
        lines = [line for line in table.splitlines() if line != "\\midrule"]
        assert len({len(re.findall(r"(?<!\\)&", line)) for line in lines}) == 1
        assert all(line.endswith(" \\\\") for line in lines)
    assert body.count("{") - body.count("\\{") == body.count("}") - body.count("\\}")
    assert "\\cmd" not in body
    assert re.findall(r"\\begin\{(\w+)\}", body) == ["table", "tabular"] * 3


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex")
def test_the_latex_compiles(tmp_path):
    tables(tmp_path, [outcome(EXAM, 0.5, variant=NASTY), outcome(EXAM, 0.9, augmentation="[*] été")])
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]


def test_line_ends_in_a_name_cannot_break_a_row():
    sheet = Sheet("t", ["a", "b"], [[[Shown("one\ntwo"), Shown("x", BOLD)]]])
    assert "| one two | **x** |" in markdown("t", [sheet])
    assert "one two & \\textbf{x} \\\\" in latex("t", [sheet])
    assert in_latex("été 日本") == "été ??"
    assert in_markdown("a\r\nb") == "a b"


def test_a_row_of_another_width_is_refused():
    with pytest.raises(ValueError, match="a row of 't' has 1 cells, expected 2"):
        Sheet("t", ["a", "b"], [[[Shown("x")]]])
