"""The code's version follows the code that is used, however deep, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

import tailwright
from tailwright.augmentation import augmenters
from tailwright.code_version import Sources, code_version
from tailwright.models import models

FILES = {
    "__init__.py": (
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from pack.lazy import late\n\n\n"
        "def __getattr__(name):\n    return late\n"
    ),
    "top.py": "from pack.room import middle\n\nvalue = middle.value\n",
    "room/__init__.py": '"""A room."""\n',
    "room/middle.py": (
        '"""In between."""\n\n\ndef value():\n    """Says."""\n    try:\n'
        "        from pack.deep import number\n"
        "    except ImportError:\n        from . import spare\n    return number  # it\n"
    ),
    "room/spare.py": "number = 0\n",
    "deep.py": "number = 1\n",
    "lazy.py": "late = 1\n",
    "asks_lazily.py": "from pack import late\n",
    "typed.py": (
        "import typing\n\nif typing.TYPE_CHECKING:\n    from pack.deep import number\n"
        "else:\n    import pack.lazy\n"
    ),
}


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    folder = tmp_path / "pack"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def version(pack: Path, *modules: str) -> str:
    return Sources(pack).version(modules)


@pytest.mark.parametrize(
    ("module", "used"),
    [
        ("pack.top", {"__init__", "top", "room/__init__", "room/middle", "room/spare", "deep"}),
        ("pack.asks_lazily", {"__init__", "asks_lazily", "lazy"}),
        ("pack.typed", {"__init__", "typed", "lazy"}),
        ("pack.deep", {"__init__", "deep"}),
    ],
)
def test_the_version_changes_with_the_code_of_every_module_used_and_of_no_other(
    pack: Path, module: str, used: set[str]
) -> None:
    before = version(pack, module)
    changed = set()
    for name, text in FILES.items():
        (pack / name).write_text(text + "\nmore = 1\n")
        if version(pack, module) != before:
            changed.add(name.removesuffix(".py"))
        (pack / name).write_text(text)
    assert changed == used
    assert version(pack, module) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  # it", "  # something else"),
        ('"""In between."""', '"""Another sentence.\n\nOf two paragraphs."""'),
        ('    """Says."""\n', ""),
        ("return number", "return (\n        number\n    )"),
    ],
)
def test_comments_docstrings_and_formatting_do_not_count(pack: Path, old: str, new: str) -> None:
    before = version(pack, "pack.top")
    text = FILES["room/middle.py"]
    assert old in text
    (pack / "room/middle.py").write_text(text.replace(old, new))
    assert version(pack, "pack.top") == before


def test_a_string_that_is_no_docstring_counts(pack: Path) -> None:
    (pack / "deep.py").write_text('number = "1"\n')
    one = version(pack, "pack.top")
    (pack / "deep.py").write_text('number = "2"\n')
    assert version(pack, "pack.top") != one


def test_order_and_repetition_of_modules_do_not_count(pack: Path) -> None:
    assert version(pack, "pack.top", "pack.typed") == version(pack, "pack.typed", "pack.top", "pack.typed")
    assert version(pack, "pack.top", "pack.typed") != version(pack, "pack.top")


def test_a_module_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"there is no module tailwright\.models\.nonsense"):
        code_version(["tailwright.models.nonsense"])
    with pytest.raises(ValueError, match="there is no module numpy"):
        code_version(["numpy"])


def test_a_model_depends_on_its_kernels_and_not_on_other_models_or_commands() -> None:
    used = Sources(Path(tailwright.__file__).parent).used(["tailwright.models.twin.model"]).keys()
    assert {"tailwright.kernels.csr", "tailwright.training.loop", "tailwright.models.twin.network"} <= used
    assert [name for name in used if name.startswith(("tailwright.cli", "tailwright.study"))] == []
    assert not used & {
        "tailwright.models.linear",
        "tailwright.models.astec.model",
        "tailwright.models.fusion.model",
    }


def test_every_registered_model_and_augmentation_has_a_version() -> None:
    for registry in (models, augmenters):
        for name in registry.names():
            assert len(code_version([registry.get(name).__module__])) == 32
    assert models.get("linear+twin").__module__ == "tailwright.models.fusion.model"
