"""Every example in the README and the docs runs, and prints what the page says it prints.

A `console` block holds commands (`$ `, continued by `> `) and their output; `...` stands for anything. A
`pycon` block is a Python session; a `python` block followed by a `text` block is a script and its output. The
examples of one page run in order in one empty folder.
"""

from __future__ import annotations

import doctest
import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scripts import start_script

import tailwright as tw
from tailwright import augmentation
from tailwright import models as models_package
from tailwright.augmentation import augmenters
from tailwright.checks import check_augmenter
from tailwright.checks.corpora import tiny_corpus
from tailwright.models import models

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"^```(console|pycon)\n(.*?)^```$|^```(python)\n((?:(?!^```).)*)^```\n\n```text\n(.*?)^```$",
    re.MULTILINE | re.DOTALL | re.ASCII,
)


def commands(block: str) -> list[tuple[str, str]]:
    """(command, expected output) pairs of a console block."""
    found: list[tuple[list[str], list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1][0].append(line[2:])
        else:
            found[-1][1].append(line)
    return [("\n".join(command), "\n".join(output)) for command, output in found]


# Lines of progress are printed where work takes more than a second, which it does on a busy machine.
PROGRESS = re.compile(r"^.*: [\d,]+ (of [\d,]+, .* s left|\w+ in [\d.]+ s)\n", re.MULTILINE)


# The command that is suggested next; a page that does not show it leaves it out.
HINT = re.compile(r"^next: tailwright .*\n", re.MULTILINE)


def matches(expected: str, printed: str) -> bool:
    """Whether the output is the expected one; `...` stands for any text, also over lines."""
    printed = PROGRESS.sub("", printed)
    if "next: tailwright " not in expected:
        printed = HINT.sub("", printed, count=1)
    pattern = ".*".join(re.escape(part) for part in expected.rstrip().split("..."))
    return re.fullmatch(pattern, printed.rstrip(), re.DOTALL) is not None


@pytest.fixture(scope="module")
def cli(tmp_path_factory) -> Path:
    """A script that is the command line; stderr goes where stdout goes, as on a terminal."""
    path = tmp_path_factory.mktemp("cli") / "cli.py"
    path.write_text("import os\n\nos.dup2(1, 2)\nfrom tailwright.cli import main\n\nmain()\n")
    return path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_print_what_the_page_says(page, tmp_path, monkeypatch, demo_cache, cli):
    bin_folder = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{bin_folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("TAILWRIGHT_CACHE", str(demo_cache))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    session: dict[str, object] = {}
    for kind, block, script, code, output in BLOCK.findall(page.read_text()):
        if kind == "pycon":
            check_session(block, session, page.name)
        for command, expected in commands(block) if kind == "console" else []:
            printed = output_of(command, cli)
            assert matches(expected, printed), f"{page.name}: {command}\nprinted:\n{printed}"
        if script:
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            assert matches(output, done.stdout), f"{page.name}: printed:\n{done.stdout}"


def output_of(command: str, cli: Path) -> str:
    """What a command prints; `tailwright` is forked, since each new process would import all libraries."""
    if command.startswith("tailwright "):
        one_line = command.replace("\\\n", " ")
        return start_script(cli, *shlex.split(one_line)[1:]).communicate()[0]
    done = subprocess.run(
        ["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.stdout


def check_session(block: str, session: dict[str, object], name: str) -> None:
    """Run a Python session; its names stay for the next block of the page."""
    test = doctest.DocTestParser().get_doctest(block, session, name, name, 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    outcome = runner.run(test, out=report.append, clear_globs=False)
    session.update(test.globs)
    assert outcome.failed == 0, "".join(report)


def test_the_readme_has_examples():
    assert len(BLOCK.findall((ROOT / "README.md").read_text())) >= 3


def test_the_comparison_can_fail():
    assert matches("rows ... s", "rows 12.5 s")
    assert matches("a\n...\nb", "a\nx\ny\nb\n")
    assert not matches("rows 12", "rows 13")
    assert matches("wrote run", "wrote run\nnext: tailwright predict run hat\n")
    assert not matches("wrote run\nnext: tailwright train", "wrote run\nnext: tailwright predict run hat\n")
    assert matches("4 edges", "label graph: 4 labels in 1.8 s\n4 edges\n")
    assert commands("$ a \\\n> b\nout\n$ c") == [("a \\\nb", "out"), ("c", "")]


def files_in_the_docs() -> list[str]:
    """The files that the page on extending shows."""
    page = (ROOT / "docs" / "extending.md").read_text()
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


@pytest.mark.parametrize(("name", "place"), [("shout", 0), ("hush", 1), ("fade", 2), ("stir", 3)])
def test_the_augmenters_in_the_docs_pass_the_checks(tmp_path, monkeypatch, name, place):
    (tmp_path / f"{name}.py").write_text(files_in_the_docs()[place])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(augmenters, "_found", {})
    importlib.import_module(name)
    check_augmenter(name)


def test_the_model_in_the_docs_learns_with_the_hidden_augmentation_in_the_docs(tmp_path, monkeypatch):
    folder = tmp_path / "la_lstm"
    folder.mkdir()
    *_, stir, card, model = files_in_the_docs()
    for path, code in (
        (tmp_path / "stir.py", stir),
        (folder / "__init__.py", card),
        (folder / "model.py", model),
    ):
        path.write_text(code)
    for package, registry in ((models_package, models), (augmentation, augmenters)):
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
        monkeypatch.setattr(registry, "_found", dict(registry._found))
    corpus, settings = tiny_corpus(), {"epochs": 8, "batch": 8, "width": 32, "hidden": 16, "rate": 0.01}
    plain, mixed = (
        tw.train(corpus, "la-lstm", augment=augment, settings=settings) for augment in ([], ["stir"])
    )
    assert min(tw.evaluate(run, corpus.train)["P@1"] for run in (plain, mixed)) > 50
    texts = corpus.train.texts
    assert not np.array_equal(plain.model.predict(texts, 3).scores, mixed.model.predict(texts, 3).scores)
    mixed.save(tmp_path / "run")
    loaded = tw.load(tmp_path / "run")
    assert np.array_equal(loaded.model.predict(texts, 3).scores, mixed.model.predict(texts, 3).scores)
    for module in ("models.la_lstm", "models.la_lstm.model", "augmentation.stir"):
        del sys.modules[f"tailwright.{module}"]
