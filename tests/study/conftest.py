"""What tests of pages share: a browser, and a small study that was really trained."""

from __future__ import annotations

from collections.abc import Iterator

import chromium
import pytest
from report_outcomes import trained_study

from tailwright.study.run.exam import Exam
from tailwright.study.run.outcomes import Outcome


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Browser]:
    """One for all pages: it takes longer to start than to look at any of them."""
    with chromium.browsing(tmp_path_factory.mktemp("browser")) as browser:
        browser.visit("about:blank")  # so that its own first tab is gone before anything is looked at
        yield browser


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Outcome], dict[str, Exam]]:
    """The outcomes of nine cells, and what they were judged by."""
    return trained_study(tmp_path_factory.mktemp("study"))
