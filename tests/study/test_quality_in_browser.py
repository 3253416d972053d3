"""The page of new rows in a real browser: it fits a phone, and stays off the network."""

from __future__ import annotations

from pathlib import Path

import chromium
import pytest
from augmented_rows import augmented

from tailwright.augmentation import ScorerSettings
from tailwright.augmentation.filter import FilterSettings
from tailwright.study.quality.figures import quality_of
from tailwright.study.quality.page import quality_page

pytestmark = pytest.mark.skipif(bool(chromium.missing()), reason=chromium.missing())


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    originals = [f"a long enough text about the number {i} and{'x' * 90} so on" for i in range(12)]
    corpus = augmented(
        originals,
        [(text.replace("long", "short"), i) for i, text in enumerate(originals)],
        labels=[[0, 1]] * 8 + [[0]] * 4,
    )
    by_popularity = FilterSettings(scorer=ScorerSettings(model="popularity"))
    path = tmp_path_factory.mktemp("page") / "quality.html"
    path.write_text(
        quality_page(quality_of(corpus, filter_settings=by_popularity), "x", "tailwright quality x")
    )
    return path


@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1280, False)])
def test_it_fits_and_asks_for_nothing(page, browser, width, dark):
    browser.resize(width, 844, dark=dark, phone=width < 1000)
    browser.open(page)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.run("return document.querySelectorAll('svg[role=img] rect').length") > 8
    assert browser.errors() == []
    assert browser.requests() == [page.as_uri()]
