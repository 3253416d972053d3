"""The report in a real browser: it draws, sorts, searches, fits a phone, and stays off the network."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chromium
import pytest
from report_outcomes import TEST_ROWS

from tailwright.study.report.writing import write_report

pytestmark = pytest.mark.skipif(bool(chromium.missing()), reason=chromium.missing())

ENTER = "\ue007"
DESKTOP, PHONE = (1280, 900), (390, 844)
DRAWN = """return [...document.querySelectorAll(".plot")].map(
    (plot) => plot.querySelectorAll(".scatterlayer .trace, .barlayer .trace").length)"""
ROWS = """return [...document.querySelectorAll("[data-table] tbody tr")].filter((row) => !row.hidden)
    .map((row) => [...row.cells].filter((cell) => !cell.hidden).map((cell) => cell.dataset.value))"""
CHOOSE = """const [select, value] = arguments;
    const box = document.querySelector(select);
    box.value = value;
    box.dispatchEvent(new Event("change"));"""
FOUND = """return [...document.querySelectorAll("#explorer article h3")].map((text) => text.textContent)"""
SEARCH = """const box = document.querySelector("#explorer [name=search]");
    box.value = arguments[0];
    box.dispatchEvent(new Event("input"));"""


@pytest.fixture(scope="module")
def page(study, tmp_path_factory) -> Path:
    pytest.importorskip("plotly")
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, *study, title="A study", command="tailwright study x.toml")
    return path


@pytest.fixture
def opened(browser, page) -> chromium.Browser:
    browser.resize(*DESKTOP)
    browser.open(page)
    until(lambda: all(browser.run(DRAWN)))
    return browser


def until(holds: Callable[[], Any], seconds: float = 20.0) -> None:
    """Wait for what a page does in its own time."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.05)


def test_it_loads_without_a_word_from_the_console_and_asks_for_nothing_else(opened, page):
    assert opened.run("return document.title") == "A study"
    assert opened.errors() == []
    assert opened.requests() == [page.as_uri()]


def test_a_script_that_data_brought_along_would_not_run(opened):
    opened.run(
        """const script = document.createElement("script");
        script.textContent = "document.title = 'owned'";
        document.body.append(script);"""
    )
    assert opened.run("return document.title") == "A study"
    assert any("Content Security Policy" in error for error in opened.errors())


def test_every_view_of_every_plot_can_be_drawn(opened):
    views = opened.run(
        """const data = JSON.parse(document.getElementById("views-data").textContent);
        return Object.entries(data).map(([name, { views }]) => [name, views.map(({ at }) => at)]);"""
    )
    assert len(views) == 6
    for name, places in views:
        for at in places:
            for place, value in enumerate(at):
                select = f'[data-views="{name}"] label:nth-child({place + 1}) select'
                opened.run(CHOOSE, select, value)
            boxes = f"""document.querySelectorAll('[data-views="{name}"] select')"""
            chosen = opened.run(f"return [...{boxes}].map((select) => select.value)")
            assert chosen == at
        until(lambda: all(opened.run(DRAWN)))
    assert opened.errors() == []


def test_no_button_of_a_plot_sends_it_anywhere(opened):
    buttons = opened.run(
        """return [...document.querySelectorAll(".modebar-btn")].map((button) => button.dataset.title)"""
    )
    assert set(buttons) == {"Download plot as a PNG", "Zoom", "Pan", "Reset axes"}


def test_a_click_on_a_header_sorts_and_a_second_one_turns_the_order_around(opened):
    click = """[...document.querySelectorAll("[data-table] thead button")]
        .find((button) => button.textContent === "PSP@5").click()"""
    column = opened.run(
        """return [...document.querySelectorAll("[data-table] thead th")].filter((th) => !th.hidden)
            .findIndex((th) => th.textContent === "PSP@5")"""
    )

    def values() -> list[float]:
        return [float(row[column]) for row in opened.run(ROWS)]

    before = values()
    opened.run(click)
    assert values() == sorted(before, reverse=True) != before
    opened.run(click)
    assert values() == sorted(before)


def test_sorting_works_from_the_keyboard(opened):
    before = opened.run(ROWS)
    opened.run("""document.querySelectorAll("[data-table] thead button")[4].focus()""")
    opened.press(ENTER)
    after = opened.run(ROWS)
    assert [row[1] for row in after] == sorted(row[1] for row in before) != [row[1] for row in before]
    sort = """return document.querySelectorAll("[data-table] thead th")[4].getAttribute("aria-sort")"""
    assert opened.run(sort) == "ascending"


def test_the_table_shows_the_share_of_rows_and_the_labels_that_are_chosen(opened):
    assert len(opened.run(ROWS)) == 5
    opened.run(CHOOSE, "[data-filter=rows]", "50 %")
    assert [row[0] for row in opened.run(ROWS)] == ["linear"]
    opened.run(CHOOSE, "[data-filter=rows]", "")
    everything = opened.run(ROWS)
    assert len(everything) == 6
    assert {row[0] for row in everything} == {"1", "0.5"}
    opened.run(CHOOSE, "[data-filter=slice]", "tail")
    assert len(opened.run(ROWS)) == 6
    assert opened.run(ROWS) != everything


def test_the_search_box_finds_rows_by_their_words_and_labels(opened):
    status = """return document.querySelector("#explorer .status").textContent"""
    assert opened.run(status) == f"{TEST_ROWS} of {TEST_ROWS} test rows match; 5 shown."
    opened.run(SEARCH, "word1 FILLER0")
    found = opened.run(FOUND)
    assert found
    assert all("word1" in text and "filler0" in text for text in found)
    opened.run(SEARCH, "nothing of the kind")
    assert opened.run(FOUND) == []
    assert opened.run(status).startswith("0 of ")
    opened.run(SEARCH, "onerror=")
    # The name of the label is found, and stands there as text.
    assert "onerror=" in opened.run("""return document.querySelector("#explorer .truth").textContent""")
    assert opened.run("""return document.querySelectorAll("#explorer img, #explorer script").length""") == 0


def test_cells_can_be_chosen_and_more_rows_shown(opened):
    sides = """return document.querySelector("#explorer article").querySelectorAll("ol").length"""
    before = opened.run(sides)
    opened.run("""document.querySelector("#explorer .cells input:not(:checked)").click()""")
    assert opened.run(sides) == before + 1
    opened.run("""document.querySelector("#explorer .more").click()""")
    assert len(opened.run(FOUND)) == 10
    marked = """return document.querySelectorAll("#explorer li.right").length"""
    assert opened.run(marked) > 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_phone_never_scrolls_the_page_sideways(browser, page, dark):
    browser.resize(*PHONE, dark=dark, phone=True)
    browser.open(page)
    until(lambda: all(browser.run(DRAWN)))
    assert browser.run("return document.documentElement.scrollWidth") <= PHONE[0]
    beyond = """return [...document.querySelectorAll("body *")]
        .filter((part) => !part.closest(".wide") && part.getBoundingClientRect().right > innerWidth + 1)
        .map((part) => part.outerHTML.slice(0, 200))"""
    assert browser.run(beyond) == []
    assert browser.errors() == []


def test_plots_follow_the_dark_page(browser, page):
    ink = """return getComputedStyle(document.querySelector(".plot .xtick text")).fill"""
    seen = []
    for dark in (False, True):
        browser.resize(*DESKTOP, dark=dark)
        browser.open(page)
        until(lambda: all(browser.run(DRAWN)))
        seen.append(browser.run(ink))
    assert seen == ["rgb(29, 36, 48)", "rgb(230, 234, 240)"]


def test_on_paper_plots_are_as_wide_as_the_sheet(opened):
    opened.run("dispatchEvent(new Event('beforeprint'))")
    width = """return [...document.querySelectorAll(".plot > .plot-container .main-svg")]
        .every((drawn) => drawn.getBoundingClientRect().width <= 661)"""
    until(lambda: opened.run(width))
    opened.run("dispatchEvent(new Event('afterprint'))")
    until(lambda: not opened.run(width))
