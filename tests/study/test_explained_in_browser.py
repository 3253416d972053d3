"""The page of an explanation in a real browser: it fits a phone, in the dark too, and asks for nothing."""

from __future__ import annotations

from pathlib import Path

import chromium
import pytest

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.study.page.explained import explanation_page

pytestmark = pytest.mark.skipif(bool(chromium.missing()), reason=chromium.missing())


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / "why.html"
    run = tw.train(tiny_corpus(), "label-matcher")
    explanation = run.explain(f"old apple bridge {'x' * 200} <script>alert(1)</script>", rows=0)
    path.write_text(explanation_page(explanation, "tailwright explain run/ x"), encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)])
def test_it_fits_and_asks_for_nothing(page, browser, width, dark):
    browser.resize(width, 844, dark=dark, phone=width < 1000)
    browser.open(page)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    words = "return [...document.querySelectorAll('article:first-of-type mark')].map(m => m.textContent)"
    assert browser.run(words)[0] == "bridge"
    colour_of = "return getComputedStyle(document.querySelector(arguments[0])).color"
    assert browser.run(colour_of, "article mark") == browser.run(colour_of, "body")
    assert browser.errors() == []
    assert browser.requests() == [page.as_uri()]
