"""Three users' stories, each a few commands: they run as they stand, and the guides show them as they are."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import pytest

from tailwright.cli import run

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent.parent / "docs"
STORIES = sorted(HERE.glob("*.sh"))

KINDS = {"hat": ("hats", "felt"), "shoe": ("shoes", "leather"), "table": ("furniture", "oak")}
# The guide's plan, but for the model: this one takes no time.
PLAN = """
title = "Edits or label texts?"
[datasets]
shop = "data"
[models.popularity]
[augmentations.eda]
[augmentations.gandalf]
"""


def told(story: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What each command of a story prints, in the folder that it stands in; all must succeed."""
    printed = []
    for line in (HERE / f"{story}.sh").read_text().splitlines():
        if line.startswith("#"):
            continue
        program, *words = shlex.split(line)
        found = [sorted(map(str, Path().glob(word))) if "*" in word else [word] for word in words]
        assert program == "tailwright"
        assert run([word for some in found for word in some]) == 0, capsys.readouterr().err
        printed.append(capsys.readouterr().out)
    return printed


def rows(count: int) -> list[tuple[str, str, list[str]]]:
    """(title, description, tags) of products whose words say what they are."""
    names = list(KINDS)
    return [
        (f"{KINDS[kind][1]} {kind} {i}", f"number {i} of our {kind}s", list(KINDS[kind]))
        for i, kind in enumerate(names * (count // len(names)))
    ]


def test_the_shop_labels_new_products(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = "".join(f"{title};{text};{'|'.join(tags)}\n" for title, text, tags in rows(30))
    Path("products.csv").write_text("title;description;tags\n" + table)
    Path("new.csv").write_text("sku;title;description\nN-1;felt hat;warm\nN-2;leather shoe;brown\n")
    inspected, trained, _ = told("shop", capsys)
    assert "train    30" in inspected
    assert "On 6 test rows" in trained
    with Path("labelled.csv").open(newline="") as table:
        labelled = {row["id"]: sorted(row["names"].split("|")) for row in csv.DictReader(table)}
    assert labelled == {"N-1": ["felt", "hats"], "N-2": ["leather", "shoes"]}


def test_the_library_suggests_subjects_by_uri_and_name(tmp_path, monkeypatch, capsys):
    pytest.importorskip("rdflib")
    monkeypatch.chdir(tmp_path)
    subjects = {1: "ships", 2: "harbours", 3: "lighthouses"}
    vocabulary = "".join(
        f'<http://example.org/{key}> skos:prefLabel "{name}"@en , "{name}-fi"@fi .\n'
        for key, name in subjects.items()
    )
    Path("subjects.ttl").write_text("@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n" + vocabulary)
    titles = [
        f"Old {subjects[key]}, part {i}\t<http://example.org/{key}>\n" for i in range(8) for key in (1, 2)
    ]
    Path("titles.tsv").write_text("".join(titles))
    predicted = json.loads(told("library", capsys)[-1])["predictions"][0]
    assert predicted["ids"][0] == "http://example.org/2"
    assert predicted["names"][0] == "harbours"


def test_the_researcher_compares_two_augmentations(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    for split, count in (("train", 18), ("test", 6)):
        lines = [json.dumps({"text": title, "labels": tags}) for title, _, tags in rows(count)]
        Path("data", f"{split}.jsonl").write_text("\n".join(lines) + "\n")
    Path("plan.toml").write_text(PLAN)
    studied, compared = told("research", capsys)
    assert "2 of 2 cells are finished, 0 failed" in studied
    tables = Path("study/tables.md").read_text()
    assert "eda" in tables
    assert "gandalf" in tables
    assert Path("study/report.html").is_file()
    assert "in points of percent on 6 test rows" in compared


@pytest.mark.parametrize("story", STORIES, ids=lambda path: path.stem)
def test_a_story_has_fewer_than_ten_commands_and_its_guide_shows_them(story):
    lines = [line for line in story.read_text().splitlines() if not line.startswith("#")]
    assert 0 < len(lines) < 10
    page = (DOCS / f"howto-{story.stem}.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    shown = [line for block in blocks for line in block.splitlines()]
    assert [line for line in shown if line in lines] == lines
