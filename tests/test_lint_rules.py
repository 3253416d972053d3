"""Nothing in the package unpickles or runs text: the linter refuses it, and cannot be switched off."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

FORBIDDEN = {
    "import pickle\n\npickle.loads(b'')\n": "TID251",
    "from pickle import loads\n\nloads(b'')\n": "TID251",
    "import joblib\n\njoblib.load('x')\n": "TID251",
    "import torch\n\ntorch.load('x')\n": "TID251",
    "from torch import load\n\nload('x')\n": "TID251",
    "import dill\n\ndill.loads(b'')\n": "TID251",
    "import marshal\n\nmarshal.loads(b'')\n": "TID251",
    "import shelve\n\nshelve.open('x')\n": "TID251",
    "eval('1')\n": "S307",
    "exec('1')\n": "S102",
}

RULES_THAT_STAY_ON = re.compile(r"noqa(?!:)|(?:noqa|ruff).*?(?:TID|S102|S3)")

MODULES = sorted((ROOT / "tailwright").rglob("*.py"))


def ruff(*arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format=concise", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.parametrize("code", FORBIDDEN)
def test_code_that_could_run_a_file_is_refused(code):
    done = ruff("--stdin-filename", "tailwright/x.py", "-", text=code)
    assert done.returncode == 1
    assert FORBIDDEN[code] in done.stdout


def test_harmless_code_is_accepted():
    done = ruff("--stdin-filename", "tailwright/x.py", "-", text="import json\n\njson.loads('1')\n")
    assert done.returncode == 0, done.stdout


def test_the_package_passes_these_rules():
    done = ruff("--select", "TID251,S102,S301,S302,S307", "tailwright")
    assert done.returncode == 0, done.stdout


def pickle_switches(code: str) -> list[int]:
    """The lines on which `allow_pickle` is anything but a plain False. No ruff rule knows this switch."""
    lines = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            value = node.value
            if not (isinstance(value, ast.Constant) and value.value is False):
                lines.append(value.lineno)
        elif isinstance(node, ast.Constant) and node.value == "allow_pickle":
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize(
    "call",
    ["np.load(f, allow_pickle=True)", "np.load(f, allow_pickle=on)", "np.load(f, **{'allow_pickle': True})"],
)
def test_a_numpy_call_that_may_unpickle_is_found(call):
    assert pickle_switches(f"import numpy as np\n{call}\n") == [2]


def test_a_numpy_call_that_may_not_unpickle_is_fine():
    assert pickle_switches("np.load(f, allow_pickle=False)\nnp.load(f)\n") == []


def test_no_module_lets_numpy_unpickle_or_switches_the_rules_off():
    found = []
    for module in MODULES:
        code = module.read_text(encoding="utf-8")
        lines = enumerate(code.splitlines(), 1)
        wrong = pickle_switches(code)
        wrong += [number for number, line in lines if "#" in line and RULES_THAT_STAY_ON.search(line)]
        found += [f"{module.relative_to(ROOT)}:{number}" for number in wrong]
    assert found == []


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# noqa: TID251",
        "# noqa: E501, S301",
        "# ruff: noqa",
        "# ruff: noqa: S102",
        "# flake8: noqa",
    ],
)
def test_a_comment_that_switches_the_rules_off_is_found(comment):
    assert RULES_THAT_STAY_ON.search(comment)


def test_a_comment_that_switches_another_rule_off_is_fine():
    assert not RULES_THAT_STAY_ON.search("import torch  # noqa: F401")
