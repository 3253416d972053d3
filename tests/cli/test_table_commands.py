"""Commands on an everyday table: columns by flag, the line on stderr, ids that reach predictions."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tailwright.cli import run
from tailwright.data.read import read

COLUMNS = ["--text", "title,description", "--labels", "tags", "--id", "sku"]
SAID = "text = title + description; labels = tags, split at '|'; id = sku; ignored: price\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    rows = [
        f"A-{i};red {'shoe' if i % 2 else 'hat'};number {i};3;{'shoes' if i % 2 else 'hats|wool'}"
        for i in range(10)
    ]
    path = tmp_path / "shop.csv"
    path.write_text("\n".join(["sku;title;description;price;tags", *rows]) + "\n", encoding="utf-8")
    return path


def test_inspect_shows_the_first_rows_as_they_are_understood(shop, capsys):
    assert run(["data", "inspect", str(shop), *COLUMNS]) == 0
    printed = capsys.readouterr()
    said, hint = printed.err.splitlines(keepends=True)
    assert said == SAID
    assert shlex.split(hint)[:4] == ["next:", "tailwright", "train", str(shop)]
    assert sorted(shlex.split(hint)[4:-2]) == sorted(COLUMNS)
    shown = printed.out.partition("as they are understood:\n")[2].splitlines()
    assert shown[0].split() == ["id", "text", "labels"]
    assert shown[1].split()[0].startswith("A-")
    assert run(["data", "inspect", str(shop), *COLUMNS, "--json", "--quiet"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    first = json.loads(printed.out)["first_rows"]
    assert len(first) == 5
    assert first[0].keys() == {"id", "text", "labels"}


def test_ids_go_through_a_conversion(shop, tmp_path, capsys):
    assert run(["data", "convert", str(shop), str(tmp_path / "out"), *COLUMNS, "--format", "csv"]) == 0
    rows = read(tmp_path / "out").splits().values()
    assert sorted(key for data in rows for key in data.ids.to_pylist()) == [f"A-{i}" for i in range(10)]


def test_predictions_of_a_table_have_its_ids(shop, tmp_path, capsys):
    folder = str(tmp_path / "run")
    shop.rename(tmp_path / "train.csv")
    words = ["train", str(tmp_path), *COLUMNS, "--out", folder, "--model", "popularity", "--augment", "none"]
    assert run(words) == 0
    assert SAID in capsys.readouterr().err
    asked = ["--input", str(tmp_path / "train.csv"), "--text", "title", "--id", "sku", "--k", "1", "--json"]
    assert run(["predict", folder, *asked]) == 0
    printed = capsys.readouterr()
    assert printed.err == "text = title; id = sku\n"
    rows = json.loads(printed.out)["predictions"]
    assert [row["id"] for row in rows] == [f"A-{i}" for i in range(10)]
    assert rows[0]["text"] == "red hat"


@pytest.mark.parametrize(
    "command", [["graph", "--out", "g.npz"], ["data", "convert"], ["advise"], ["quality"], ["filter"]]
)
def test_every_command_that_reads_takes_the_columns(command, capsys):
    assert run([*command[: 2 if command[0] == "data" else 1], "--help"]) == 0
    printed = capsys.readouterr().out
    for flag in ("--text", "--labels", "--separator", "--id", "--weight", "--vocabulary", "--strict"):
        assert flag in printed


def test_a_strict_reading_is_one_line_with_file_and_line(shop, capsys):
    with shop.open("a", encoding="utf-8") as file:
        file.write("A-11;scarf;;2;wool|wool\n")
    assert run(["data", "inspect", str(shop), *COLUMNS, "--quiet"]) == 0
    capsys.readouterr()
    assert run(["data", "inspect", str(shop), *COLUMNS, "--strict"]) == 2
    assert capsys.readouterr().err == (
        f"tailwright: {shop}:12: a label twice in a row, expected nothing odd, as --strict was given\n"
    )


KEPT = (
    "no test rows: 20 % of the rows, drawn by seed 0, are kept for testing; "
    "--test-share 0 keeps all for training"
)


def test_augmentation_conversion_and_inspection_keep_all_rows_of_a_table(shop, tmp_path, capsys):
    assert run(["augment", str(shop), *COLUMNS, "--method", "gandalf", "--out", str(tmp_path / "a")]) == 0
    printed = capsys.readouterr()
    assert printed.err.startswith(SAID)
    assert "10 rows became 13" in printed.out  # a row for each of 3 labels
    assert len(read(tmp_path / "a").train.originals()) == 10
    assert run(["data", "convert", str(shop), str(tmp_path / "c"), *COLUMNS]) == 0
    printed = capsys.readouterr()
    assert printed.err == f"{SAID}next: tailwright data inspect {tmp_path / 'c'}\n"
    assert "train 10 rows" in printed.out
    assert run(["data", "inspect", str(shop), *COLUMNS, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["splits"].keys() == {"train"}


def test_a_share_for_testing_can_be_asked_for_where_none_is_kept(shop, tmp_path, capsys):
    assert run(["data", "convert", str(shop), str(tmp_path / "c"), *COLUMNS, "--test-share", "0.3"]) == 0
    printed = capsys.readouterr()
    assert "train 7, test 3 rows" in printed.out
    assert "30 % of the rows" in printed.err


@pytest.mark.parametrize(("options", "rows"), [([], 8), (["--test-share", "0"], 10)])
def test_training_on_a_table_keeps_rows_for_testing_and_says_so(shop, tmp_path, capsys, options, rows):
    words = ["train", str(shop), *COLUMNS, *options, "--model", "popularity", "--augment", "none"]
    assert run([*words, "--out", str(tmp_path / "run")]) == 0
    printed = capsys.readouterr()
    assert f"popularity, {rows} rows" in printed.out
    assert (KEPT in printed.err) == (not options)
    assert ("test rows, in percent" in printed.out) == (not options)
    source = json.loads((tmp_path / "run" / "run.json").read_text())["data"]["path"]
    assert len(read(source).train) == rows
