"""`make check` runs the tests of what changed, those that are quick."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from changed_tests import affected_tests, changed_files, within

FILES = {
    "tailwright/__init__.py": "from tailwright.data import Corpus\n",
    "tailwright/data/__init__.py": "from tailwright.data.corpus import Corpus\n",
    "tailwright/data/corpus.py": "class Corpus: ...\n",
    "tailwright/models/__init__.py": "",
    "tailwright/models/astec/__init__.py": "",
    "tailwright/models/astec/network.py": "",
    "tests/tiny.py": "from tailwright.data.corpus import Corpus\n",
    "tests/data/test_module.py": "import tailwright.data.corpus\n",
    "tests/data/test_package.py": "from tailwright.data import Corpus\n",
    "tests/data/test_face.py": "import tailwright as tw\n\ntw.Corpus()\n",
    "tests/data/test_helper.py": "from tiny import Corpus\n",
    "tests/data/test_string.py": "REPLACED = 'tailwright.data.corpus.Corpus'\n",
    "tests/data/test_other.py": "import tailwright.models\n",
    "tests/models/test_astec_resume.py": "import tailwright.models\n",
}
OF_THE_CORPUS = [f"tests/data/test_{name}.py" for name in ("face", "helper", "module", "package", "string")]


@pytest.fixture
def checkout(tmp_path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    names = ("-c", "user.name=n", "-c", "user.email=e")
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)


def test_a_module_has_the_tests_that_import_it_however_they_do(checkout):
    closest, others = affected_tests(["tailwright/data/corpus.py"], checkout)
    assert closest == ["tailwright/data/corpus.py"]
    assert others == OF_THE_CORPUS


def test_a_file_of_a_family_has_the_tests_that_are_called_like_the_family(checkout):
    closest, others = affected_tests(["tailwright/models/astec/network.py"], checkout)
    assert closest == ["tailwright/models/astec/network.py", "tests/models/test_astec_resume.py"]
    assert others == []


def test_a_changed_test_is_run_and_so_are_those_that_use_a_changed_helper(checkout):
    assert affected_tests(["tests/data/test_other.py"], checkout) == (["tests/data/test_other.py"], [])
    assert affected_tests(["tests/tiny.py"], checkout) == ([], ["tests/data/test_helper.py"])


def test_files_that_are_not_python_have_no_tests(checkout):
    assert affected_tests(["README.md", "tailwright/page.html"], checkout) == ([], [])


def test_what_changed_is_committed_on_the_branch_or_changed_or_new(checkout):
    git(checkout, "init", "-q", "-b", "main")
    git(checkout, "add", ".")
    git(checkout, "commit", "-qm", "all")
    git(checkout, "checkout", "-qb", "branch")
    assert changed_files(checkout) == []
    (checkout / "tests/tiny.py").write_text("committed = 1\n")
    git(checkout, "commit", "-qam", "one")
    (checkout / "tests/data/test_face.py").write_text("changed = 1\n")
    (checkout / "tests/data/test_string.py").unlink()
    (checkout / "tests/data/test_new.py").write_text("new = 1\n")
    assert changed_files(checkout) == ["tests/data/test_face.py", "tests/data/test_new.py", "tests/tiny.py"]
    assert changed_files(checkout, "HEAD") == ["tests/data/test_face.py", "tests/data/test_new.py"]


def test_the_closest_come_first_then_the_quickest_and_slow_tests_do_not_count():
    seconds = {"near.py::a": 6, "near.py::b": 90, "quick.py::a": 1, "long.py::a": 5, "long.py::b": 4}
    kept, left_out = within(["near.py"], ["long.py", "quick.py"], seconds, most=10, slowest=20)
    assert kept == ["near.py", "quick.py"]
    assert left_out == ["long.py"]


def test_a_file_that_never_ran_counts_some_seconds():
    kept, left_out = within([], [f"{number}.py" for number in range(9)], {}, most=10, slowest=3)
    assert len(kept) == 3
    assert len(left_out) == 6
