"""`tailwright graph`: the file, the words, the picture, and what is wrong with the input."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
import typer
from html_reading import Reading
from scipy import sparse

import tailwright as tw
from tailwright.cli.graph import graph
from tailwright.data.corpus import LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.errors import InputError, TailwrightError
from tailwright.labels import correlation_graph
from tailwright.labels.annotations import neighbours, shared_rows
from tailwright.labels.correlation import save_graph
from tailwright.labels.lookup import LabelLookup

SVG = "{http://www.w3.org/2000/svg}"
LABELS = {"1": "red shoes", "2": "blue shoes", "3": "hats", "4": "hats", "5": "unused $ things"}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Twelve rows: red and blue shoes together on six, each alone on two, hats on two."""
    folder = tmp_path / "shop"
    folder.mkdir()
    rows = [["1", "2"]] * 6 + [["1"]] * 2 + [["2"]] * 2 + [["3", "4"]] * 2
    lines = [json.dumps({"text": f"row {i}", "labels": ids}) for i, ids in enumerate(rows)]
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "test.jsonl").write_text(json.dumps({"text": "t", "labels": ["1", "3"]}) + "\n")
    names = [json.dumps({"id": i, "text": name}) for i, name in LABELS.items()]
    (folder / "labels.jsonl").write_text("\n".join(names) + "\n")
    return folder


def run(*arguments: object) -> None:
    """The command alone, so that errors arrive as they are raised."""
    app = typer.Typer()
    app.command()(graph)
    app([str(argument) for argument in arguments], standalone_mode=False)


def test_the_file_is_the_graph_of_the_training_rows_for_scipy(corpus, tmp_path, capsys):
    run(corpus, "--out", tmp_path / "g.npz", "--json", "--quiet", "--seed", 3, "--steps", 50)
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 1
    result = json.loads(out[0])
    found = sparse.load_npz(tmp_path / "g.npz")
    expected = correlation_graph(tw.read(corpus).train.targets, steps=50, seed=3)
    assert (found != expected).nnz == 0
    assert (result["labels"], result["edges"]) == (5, expected.nnz)
    assert isinstance(result["seconds"], float)
    assert result["out"] == str(tmp_path / "g.npz")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("label", ["1", "red shoes"])
def test_explain_names_the_neighbours_with_their_weights(corpus, capsys, label):
    run(corpus, "--explain", label)
    words = capsys.readouterr().out
    assert "red shoes (id 1) is on 8 training rows." in words
    assert "Where 400 hops from it end:" in words
    (blue,) = (line.split() for line in words.splitlines() if line.startswith("blue shoes"))
    assert blue[-2:] == ["8", "6"]
    run(corpus, "--explain", label, "--json", "--method", "series")
    explained = json.loads(capsys.readouterr().out)["explain"]
    assert [n["name"] for n in explained["neighbours"]] == ["red shoes", "blue shoes"]
    assert sum(n["weight"] for n in explained["neighbours"]) == pytest.approx(0.9984)
    assert explained["neighbours"][0]["target"] == 1


def test_explain_says_why_a_label_has_no_neighbours(corpus, capsys):
    run(corpus, "--explain", "5")
    assert "So it has no neighbours" in capsys.readouterr().out
    run(corpus, "--explain", "1", "--head-cut", 7)
    assert "more than 7 (--head-cut), so it has only itself" in capsys.readouterr().out
    run(corpus, "--explain", "1", "--method", "series")
    assert "Where hops from it end, on average:" in capsys.readouterr().out


@pytest.mark.parametrize("label", ["1", "5"])
def test_plot_draws_the_explained_or_the_given_label(corpus, tmp_path, capsys, label):
    run(corpus, "--plot", tmp_path / "a.svg", "--label", label, "--quiet")
    run(corpus, "--plot", tmp_path / "b.svg", "--explain", label, "--quiet")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    texts = [element.text for element in ET.parse(tmp_path / "a.svg").iter(f"{SVG}text")]
    assert texts[-1] == LABELS[label]
    assert ("blue shoes" in texts) == (label == "1")
    assert ("there is nothing to draw" in texts) == (label == "5")


def test_a_page_has_the_picture_and_the_same_figures_as_a_table(corpus, tmp_path, capsys):
    run(
        corpus, "--explain", "1", "--plot", tmp_path / "shoes.html", "--method", "series", "--json", "--quiet"
    )
    blue = json.loads(capsys.readouterr().out)["explain"]["neighbours"][1]
    page = Reading((tmp_path / "shoes.html").read_text(encoding="utf-8"))
    assert page.wrong == []
    assert page.of("h1") == ["red shoes"]
    assert page.of("td") == [f"{blue['target']:.2f}", "8"]
    assert f"{blue['name']}: soft target {blue['target']:.2f}, 8 training rows" in page.of("title")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to do, expected --out, --explain or --plot"),
        (["--plot", "p.svg"], "no label to draw, expected --label or --explain"),
        (["--explain", "Red shoe"], "no label has the id or name 'Red shoe'; did you mean 'red shoes'?"),
        (["--explain", "unused"], "no label has the id or name 'unused'; did you mean 'unused $ things'?"),
        (["--explain", "zzz"], "no label has the id or name 'zzz'"),
        (["--explain", "hats"], "2 labels have the name 'hats', expected an id: 3, 4"),
        (["--explain", "1", "--restart", "1.7"], "restart must be in (0, 1], got 1.7"),
        (
            ["--explain", "1", "--method", "stroll"],
            "setting method: found 'stroll', expected one of walk, series",
        ),
        (["--explain", "1", "--steps", "0"], "steps must be in [1, 1000000], got 0"),
        (["--out", "graph.txt"], "graph.txt: found .txt, expected .npz"),
        (["--out", "nowhere/graph.npz"], "nowhere/graph.npz: cannot be written (No such file or directory)"),
        (["--explain", "1", "--plot", "p.gif"], "p.gif: found .gif, expected .svg or .html"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(corpus, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as error:
        run(corpus, *arguments)
    assert str(error.value) == message


def test_many_labels_of_one_name_are_not_all_listed():
    labels = LabelSpace(arrow_strings([str(i) for i in range(9)]), arrow_strings(["same"] * 9))
    with pytest.raises(InputError, match=r"expected an id: 0, 1, 2, 3, 4, \.\.\.$"):
        LabelLookup(labels).column_of("same")
    assert LabelLookup(labels).column_of("7") == 7


def test_a_failed_write_leaves_the_old_file_as_it_was(tmp_path, monkeypatch):
    save_graph(sparse.csr_array(np.eye(2)), tmp_path / "g.npz")
    before = (tmp_path / "g.npz").read_bytes()

    def full(file, matrix):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sparse, "save_npz", full)
    with pytest.raises(TailwrightError, match=r"cannot be written \(No space left on device\)"):
        save_graph(sparse.csr_array(np.eye(3)), tmp_path / "g.npz")
    assert (tmp_path / "g.npz").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["g.npz"]


def test_neighbours_are_strongest_first_and_shared_rows_are_counted():
    made = sparse.csr_array(np.array([[4, 9, 0.1, 9], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]))
    edges = neighbours(made, 0)
    assert [(e.column, e.weight, e.target) for e in edges] == [(1, 9, 1), (3, 9, 1), (0, 4, 1), (2, 0.1, 0)]
    targets = sparse.csr_array(np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [1, 1, 1]], dtype=np.float32))
    assert shared_rows(targets, 0).tolist() == [3, 2, 1]
