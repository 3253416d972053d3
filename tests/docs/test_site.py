"""The documentation builds as a site without a warning: no broken link, no page that is left out."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

import tailwright
from tailwright.augmentation import augmenters
from tailwright.cli import command_names
from tailwright.models import models

pytest.importorskip("mkdocs", reason="the extra docs is missing: pip install 'tailwright[docs]'")
pytest.importorskip("mkdocstrings_handlers.python", reason="the extra docs is missing")

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


def test_every_page_is_built(site):
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")}
    assert pages <= {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")}


def test_the_reference_has_every_public_name(site):
    page = (site / "reference" / "python.html").read_text()
    anchors = {name.rpartition(".")[2] for name in re.findall(r'id="(tailwright\.[\w.]+)"', page)}
    assert set(tailwright.__all__) - {"__version__"} <= anchors


def test_doctests_stand_in_code_blocks(site):
    page = unescape((site / "reference" / "python.html").read_text())
    assert ">>> read(" in re.sub(r"<[^>]+>", "", page)
    assert "<blockquote>" not in page


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("commands", [" ".join(words) for words in command_names() if words not in ([], ["data"])]),
        ("models", models.names()),
        ("augmenters", augmenters.names()),
    ],
)
def test_the_reference_lists_all_there_is(site, page, names):
    text = unescape(re.sub(r"<[^>]+>", "", (site / "reference" / f"{page}.html").read_text()))
    assert "{{" not in text
    for name in names:
        assert name in text


def test_no_page_loads_anything_from_the_network(site):
    for path in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|link)[^>]+(?:src|href)="([^"]+)"', path.read_text())
        assert not [address for address in loaded if address.startswith(("http", "//"))], path.name


def test_a_broken_link_is_an_error(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# A\n\n[nowhere](missing.md)\n")
    settings = (ROOT / "mkdocs.yml").read_text().partition("plugins:")[0]
    (tmp_path / "mkdocs.yml").write_text(settings)
    with pytest.raises(Abort):
        build(load_config(str(tmp_path / "mkdocs.yml"), site_dir=str(tmp_path / "site")))
