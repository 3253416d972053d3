"""The wheel has all of the package and nothing else, says what it needs, and works without the checkout."""

from __future__ import annotations

import ast
import email.message
import email.parser
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import tailwright

pytest.importorskip("hatchling", reason="hatchling builds the wheel: pip install 'tailwright[dev]'")

from tools.wheel_check import build_wheel, check

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHONS = ["3.10", "3.11", "3.12", "3.13"]
# One process: the version, and a training from a file to a run folder.
SCRIPT = """
import sys
import tailwright
from tailwright.cli import run

assert tailwright.__file__.startswith(sys.argv[1]), tailwright.__file__
assert run(["--version"]) == 0
words = ["shop.csv", "--out", "run", "--model", "popularity", "--augment", "none", "--test-share", "0"]
assert run(["train", *words]) == 0
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def names(wheel) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def metadata(wheel, names) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in names if name.endswith(".dist-info/METADATA"))
        return email.parser.Parser().parsestr(archive.read(name).decode())


def test_the_wheel_has_every_file_of_the_package_and_no_other(names):
    files = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tailwright").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if ".dist-info/" not in name} == files
    assert any("/templates/" in name for name in files)


def test_the_wheel_says_what_it_is_and_names_no_address(metadata):
    assert metadata["Version"] == tailwright.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("Project-URL") is None
    assert metadata["Home-page"] is None
    assert metadata["Requires-Python"] == ">=3.10"
    prefix = "Programming Language :: Python :: 3."
    given = [name for name in metadata.get_all("Classifier") if name.startswith(prefix)]
    assert given == [f"{prefix}{python.removeprefix('3.')}" for python in PYTHONS]


def test_what_the_default_needs_has_no_network_library(metadata):
    needed = [name for name in metadata.get_all("Requires-Dist") if "extra ==" not in name]
    assert not any(name.startswith(("torch", "transformers", "mkdocs")) for name in needed)
    assert {"deep", "docs", "lm", "report", "skos", "wordnet", "xlsx"} <= set(
        metadata.get_all("Provides-Extra")
    )


def test_the_unpacked_wheel_trains_without_the_checkout(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    (tmp_path / "shop.csv").write_text("text,labels\nred shoes,shoes\nwool hat,hats\n")
    # Without `site`, no .pth file leads back to the checkout.
    paths = [str(tmp_path / "site"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    done = subprocess.run(
        [sys.executable, "-S", "-c", SCRIPT, str(tmp_path / "site")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == f"tailwright {tailwright.__version__}"
    assert (tmp_path / "run" / "manifest.json").is_file()


def test_the_package_is_written_in_the_oldest_python_that_it_asks_for():
    for path in sorted((ROOT / "tailwright").rglob("*.py")):
        ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 10))


@pytest.mark.slow
def test_the_wheel_works_in_a_fresh_environment_without_extras(tmp_path):
    check(sys.executable, tmp_path)
