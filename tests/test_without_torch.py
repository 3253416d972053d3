"""Everything that needs no network library runs where none is installed; the rest says what to install."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# A name that is None in `sys.modules` can be neither imported nor found.
SCRIPT = """
import contextlib, io, json, sys

for name in ("torch", "transformers", "tokenizers"):
    sys.modules[name] = None
from tailwright.cli import run

told = []
for command in json.load(open(sys.argv[1])):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as said:
        code = run(command)
    told.append([code, out.getvalue(), said.getvalue()])
print(json.dumps(told))
"""

WORK = {
    "help": "--help",
    "models": "models",
    "settings of a deep model": "models astec",
    "augmenters": "augmenters",
    "inspect": "data inspect shop",
    "train": "train shop --out run --set twin.width=8 --set twin.epochs=1 --quiet",
    "ensemble": "train shop --out both --model linear+label-matcher --quiet",
    "rows": "train shop --out rows --model linear --augment gandalf --augment eda --mask --filter --quiet",
    "batch": "train shop --out mixed --model twin --augment labelmix --set width=8 --set epochs=1 --quiet",
    "popularity": "train shop --out floor --model popularity --quiet",
    "predict": "predict run leather --k 2",
    "evaluate": "evaluate run shop",
    "compare": "compare run mixed --data shop",
    "report": "report run mixed --data shop --out report.html",
    "demo": "demo --size 400 --quiet",
}
NEEDS = "is not installed; install it with: pip install 'tailwright[deep]'"
REFUSED = {
    "train shop --quiet --out no --model astec": "the model astec",
    "train shop --quiet --out no --model linear+roberta": "the model roberta",
    "train shop --quiet --out no --augment gda": "the augmentation gda",
    "augment shop --quiet --method xda --out no": "the augmentation xda",
}


@pytest.fixture(scope="module")
def told(tmp_path_factory, demo_cache) -> dict[str, tuple[int, str, str]]:
    """Exit code, output and messages of every command, all in one process without torch."""
    folder = tmp_path_factory.mktemp("light")
    rows = [
        {"text": f"{word} {kind} number {i}", "labels": [kind, word]}
        for i, (word, kind) in enumerate([("red", "shoes"), ("wool", "hats"), ("warm", "gloves")] * 8)
    ]
    (folder / "shop").mkdir()
    for split, part in (("train", rows[:18]), ("test", rows[18:])):
        (folder / "shop" / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
    commands = [*WORK.values(), *REFUSED]
    (folder / "commands.json").write_text(json.dumps([command.split() for command in commands]))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "commands.json"],
        cwd=folder,
        env={**os.environ, "TAILWRIGHT_CACHE": str(demo_cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not Path(folder, "no").exists()
    return dict(zip(commands, json.loads(done.stdout.splitlines()[-1]), strict=True))


@pytest.mark.parametrize("command", WORK.values(), ids=WORK)
def test_a_command_of_the_light_half_needs_no_torch(told, command):
    code, out, said = told[command]
    assert code == 0, said
    assert out


@pytest.mark.parametrize("command", REFUSED)
def test_what_needs_torch_says_so_in_one_line(told, command):
    code, _, said = told[command]
    assert code == 2
    assert said == f"tailwright: torch, which {REFUSED[command]} needs, {NEEDS}\n"
