"""The command line as a user meets it: stdout, stderr, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.core import TyperOption
from typer.main import get_command

from tailwright import __version__
from tailwright.augmentation import augmenters
from tailwright.cli import app, command_names, run
from tailwright.models import models

SHARED = ["--json", "--quiet", "--debug", "--help"]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A corpus of six rows and three labels."""
    folder = tmp_path / "small"
    folder.mkdir()
    rows = [{"text": f"row {i} about {'abc'[i % 3]}", "labels": ["abc"[i % 3]]} for i in range(6)]
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "test.jsonl").write_text(json.dumps({"text": "", "labels": []}) + "\n")
    return folder


def tailwright(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """The installed command in a process of its own."""
    command = [sys.executable, "-c", "from tailwright.cli import main; main()", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


def test_inspect_json_is_one_line_and_the_last(small, capsys):
    assert run(["data", "inspect", str(small), "--json"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 1
    report = json.loads(out[0])
    assert report["splits"]["train"]["rows"] == 6
    assert report["labels"]["labels"] == 3


def test_inspect_for_people_names_what_is_odd(small, capsys):
    assert run(["data", "inspect", str(small)]) == 0
    out = capsys.readouterr().out
    assert "worth a look: test: 1 empty texts; test: 1 rows without labels" in out
    assert "label rank (log)" in out


def test_inspect_draws_a_picture(small, tmp_path, capsys):
    assert run(["data", "inspect", str(small), "--plot", str(tmp_path / "t.svg"), "--json"]) == 0
    assert (tmp_path / "t.svg").read_text(encoding="utf-8").startswith("<svg ")


@pytest.mark.parametrize("target", ["jsonl", "csv", "parquet", "xc", "xc-json", "texts-labels", "fasttext"])
def test_convert_goes_there_and_back(small, tmp_path, capsys, target):
    assert run(["data", "convert", str(small), str(tmp_path / "out"), "--format", target, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["rows"] == {"train": 6, "test": 1}
    assert run(["data", "inspect", str(tmp_path / "out"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["splits"]["train"]["rows"], report["labels"]["labels"]) == (6, 3)


def test_convert_says_what_a_format_cannot_carry(tmp_path, capsys):
    (tmp_path / "train.jsonl").write_text('{"text": "x", "labels": {"a": 0.5}, "weight": 2}\n')
    assert run(["data", "convert", str(tmp_path), str(tmp_path / "out"), "--format", "fasttext"]) == 0
    assert "cannot carry: soft targets, weights" in capsys.readouterr().err


def test_the_command_is_installed():
    command = Path(sys.executable).with_name("tailwright")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"tailwright {__version__}\n"


def test_bad_input_is_one_line_and_exit_code_2(small, tmp_path):
    (small / "train.jsonl").write_text('{"text": "x", "labels": ["a"]}\n{"text": "y", "labels": [\n')
    done = tailwright("data", "convert", small, tmp_path / "out")
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert f"{small / 'train.jsonl'}:2: " in done.stderr
    assert not (tmp_path / "out").exists()


def test_debug_shows_the_traceback(small):
    (small / "train.jsonl").write_text("{\n")
    done = tailwright("data", "inspect", small, "--debug")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["data", "inspct"], "tailwright: No such command 'inspct'. Did you mean 'inspect'?"),
        (["data", "inspect", "x", "--jsn"], "tailwright: No such option: --jsn (Possible options: --json)"),
        (["data", "inspect"], "tailwright: Missing argument 'PATH'."),
        (["data", "inspect", "x", "--threads", "0"], "tailwright: Invalid value for '--threads'"),
    ],
)
def test_a_usage_error_is_one_line_and_exit_code_2(arguments, line, capsys):
    assert run(arguments) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert err.startswith(line)


def test_an_option_of_one_value_is_not_given_twice(small, tmp_path, capsys):
    train = ["train", str(small), "--out", str(tmp_path / "run")]
    assert run([*train, "--seed", "1", "--model", "linear", "--seed=2"]) == 2
    assert capsys.readouterr().err == "tailwright: --seed is given 2 times, expected it once\n"
    assert not (tmp_path / "run").exists()
    assert run(["data", "inspect", str(small), "--json", "--json"]) == 0


def test_an_unknown_format_suggests_a_near_one(small, tmp_path, capsys):
    assert run(["data", "convert", str(small), str(tmp_path / "out"), "--format", "parket"]) == 2
    assert "did you mean 'parquet'?" in capsys.readouterr().err


def test_a_failure_of_ours_is_exit_code_1(small, capsys, monkeypatch):
    import tailwright.data.inspect

    def broken(corpus):
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr(tailwright.data.inspect, "inspect", broken)
    assert run(["data", "inspect", str(small), "--quiet"]) == 1
    assert (
        capsys.readouterr().err == "tailwright: ZeroDivisionError: two lines (a bug; --debug shows where)\n"
    )


def test_quiet_leaves_stderr_empty(small, tmp_path):
    done = tailwright("data", "convert", small, tmp_path / "out", "--quiet", "--threads", "1")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_pipe_is_not_an_error(small):
    code = "from tailwright.cli import main; main()"
    command = f"{sys.executable} -c '{code}' data inspect {small} --quiet | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_models_lists_every_model(capsys):
    assert run(["models", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["models"]
    doors = {model["name"]: model["doors"] for model in listed}
    assert (doors["popularity"], doors["twin"]) == (["rows"], ["rows", "batch"])
    assert doors["linear+twin"] == ["rows", "batch"]
    assert run(["models"]) == 0
    assert "label-matcher" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "registry"), [("models", models), ("augmenters", augmenters)], ids=["models", "augmenters"]
)
def test_every_setting_of_every_method_is_shown_with_its_meaning(command, registry, capsys):
    for name in registry.names():
        assert run([command, name, "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)["settings"]
        assert [one["name"] for one in shown if not one["meaning"]] == []
    assert run([command, "nonsense"]) == 2
    assert "unknown" in capsys.readouterr().err


def test_settings_are_shown_as_they_are_set(capsys):
    assert run(["models", "attentionxml"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    shown = {line[0]: line[1] for line in lines if len(line) > 2}
    wanted = {"training.epochs": "15", "layers": "256"}
    wanted |= {"training.micro_batch": "none", "words.learn_words": "true"}
    assert {name: shown[name] for name in wanted} == wanted
    assert run(["models", "linear+twin", "--json"]) == 0
    names = [one["name"] for one in json.loads(capsys.readouterr().out)["settings"]]
    assert {"held_out", "linear.trees", "twin.width"} <= set(names)
    assert run(["augmenters", "gda"]) == 0
    assert "gda.pairs.max_pairs" in capsys.readouterr().out


def test_augmenters_lists_every_method_with_its_door(capsys):
    assert run(["augmenters", "--json"]) == 0
    doors = {method["name"]: method["door"] for method in json.loads(capsys.readouterr().out)["augmenters"]}
    assert (doors["gandalf"], doors["labelmix"]) == ("rows", "batch")
    assert run(["augmenters"]) == 0


def test_version(capsys):
    from tailwright import __version__

    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"tailwright {__version__}\n"


COMMANDS = [command for command in command_names() if command not in ([], ["data"], ["labels"])]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_takes_the_last_of_an_option_without_a_word(command, capsys):
    found = get_command(app)
    for word in command:
        found = found.commands[word]
    options = [one for one in found.params if isinstance(one, TyperOption)]
    for name in (one.opts[0] for one in options if not (one.is_flag or one.multiple)):
        assert run([*command, name, "1", name, "1"]) == 2
        assert capsys.readouterr().err == f"tailwright: {name} is given 2 times, expected it once\n"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_the_shared_options_and_says_what_it_does(command, capsys):
    assert run([*command, "--help"]) == 0
    help_text = capsys.readouterr().out
    assert [option for option in SHARED if option not in help_text] == []
