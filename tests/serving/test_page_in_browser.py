"""The page in a real browser: it answers while one types, says why, labels a column; texts stay texts."""

from __future__ import annotations

import csv
import io
import random
import time
from collections.abc import Iterator
from typing import Any

import chromium
import pytest
from page_server import HOSTILE, serving_page

pytestmark = pytest.mark.skipif(bool(chromium.missing()), reason=chromium.missing())

TYPE = """
const field = document.getElementById(arguments[0]);
field.value = arguments[1];
field.dispatchEvent(new Event(field.tagName === 'SELECT' ? 'change' : 'input'));
"""
NAMES = "return [...document.querySelectorAll('#answers .name')].map((name) => name.textContent)"
SAID = "return document.getElementById(arguments[0]).textContent"
# Some requests get another answer: INSTEAD is one, or nothing, by the number of the request and its headers.
STAND_IN = """
const real = window.fetch;
window.asked = 0;
window.fetch = async (address, options) => {
  const [number, headers] = [window.asked++, options.headers];
  const said = INSTEAD;
  if (!said) return real(address, options);
  const error = {error: {code: 'made', message: 'Made by the test.', request_id: 'x'}};
  return new Response(JSON.stringify(error), {status: said.status, headers: said.headers ?? {}});
};
"""
KEEP_FILE = """
const make = URL.createObjectURL;
URL.createObjectURL = (blob) => { window.kept = blob; return make.call(URL, blob); };
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    with serving_page(tmp_path_factory.mktemp("runs")) as address:
        yield address


@pytest.fixture(scope="module")
def browser(tmp_path_factory, address) -> Iterator[chromium.Browser]:
    with chromium.browsing(tmp_path_factory.mktemp("browser")) as browser:
        browser.visit(address)  # so that the browser's own first tab is gone before anything is looked at
        yield browser


@pytest.fixture
def page(browser, address) -> chromium.Browser:
    """The page as it is after the runs are known."""
    browser.resize(1200, 844)
    browser.run("sessionStorage.clear()")
    browser.visit(address)
    until(browser, "return document.getElementById('facts').textContent")
    return browser


def until(browser: chromium.Browser, script: str, *arguments: Any) -> Any:
    """What the script gives once it gives something."""
    for _ in range(400):
        if found := browser.run(script, *arguments):
            return found
        time.sleep(0.05)
    raise AssertionError(f"nothing came of {script}: {browser.run(SAID, 'error')} {browser.errors()}")


def asked(browser: chromium.Browser, text: str) -> list[str]:
    """The names of the labels that the page shows for a text."""
    browser.run(TYPE, "text", text)
    until(browser, "return document.querySelector('#answers .name, #answers .nothing')")
    return browser.run(NAMES)


def test_labels_come_while_typing_and_hostile_names_stay_texts(page, address):
    assert asked(page, "red leather shoes")[0] == "shoes"
    assert until(page, SAID, "status").startswith("5 labels; best: shoes, ")
    page.run(TYPE, "text", "striped img onerror")
    until(page, "return document.querySelector('#answers .name').textContent !== 'shoes'")
    assert page.run(NAMES)[0] == HOSTILE
    assert page.run("return [document.title, document.images.length]") == ["Labels for texts", 0]
    page.run(TYPE, "text", "")
    until(page, "return !document.querySelector('#answers .name')")
    assert page.errors() == []
    assert {request.startswith((address, "data:")) for request in page.requests()} == {True}


def test_an_answer_that_comes_late_is_dropped(page):
    page.run(
        """
        const real = window.fetch;
        let asked = 0;
        window.late = 'under way';
        window.fetch = async (address, options) => {
          const answer = await real(address, {...options, signal: undefined});
          if (asked++ > 0) return answer;
          await new Promise((done) => setTimeout(done, 600));
          setTimeout(() => { window.late = 'come'; }, 50);
          return answer;
        };
        """
    )
    page.run(TYPE, "text", "straw hat")
    time.sleep(0.3)
    page.run(TYPE, "text", "red leather shoes")
    until(page, "return window.late === 'come'")
    assert page.run(NAMES)[0] == "shoes"


def test_the_dial_puts_rare_labels_first_and_says_so(page):
    assert asked(page, "red leather shoes")[:2] == ["shoes", "leather"]
    assert page.run(SAID, "tail-words") == "0.00: ranked as trained"
    page.run(TYPE, "tail", "1")
    until(page, "return document.querySelector('#answers .name').textContent !== 'shoes'")
    assert page.run(NAMES)[:2] == ["leather", "shoes"]
    assert page.run("return document.getElementById('tail').ariaValueText") == "1.00: rare labels first"


def test_a_label_opens_by_enter_and_says_why(page):
    text = "👟 red leather shoes"
    assert asked(page, text)[0] == "shoes"
    page.run("document.querySelector('#answers .answer').focus()")
    page.press("\ue007")
    marks = until(page, "return [...document.querySelectorAll('.why mark')].map((mark) => mark.textContent)")
    assert "shoes" in marks
    assert set(marks) <= set(text.split())
    assert page.run("return document.querySelector('.why .text').textContent") == text
    assert page.run("return document.activeElement.ariaExpanded") == "true"
    told = page.run("return document.querySelector('.why svg').ariaLabel")
    assert told.startswith("shoes and its neighbours: ")
    headings = page.run("return [...document.querySelectorAll('.why h4')].map((one) => one.textContent)")
    assert "Nearest training rows" in headings
    page.press("\ue007")
    assert page.run("return document.querySelector('.why').hidden") is True


def test_two_runs_answer_side_by_side(page):
    asked(page, "red leather shoes")
    page.run(TYPE, "other", "second")
    texts_of = "return [...document.querySelectorAll(arguments[0])].map((found) => found.textContent)"
    assert until(page, texts_of, "#answers h3") == ["first", "second"]
    notes = page.run(texts_of, "#answers .note")
    assert any("also there, place 1" in note for note in notes)


def test_a_pasted_column_becomes_a_csv_without_formulas(page):
    page.run(KEEP_FILE)
    page.run(TYPE, "column", '=1+1 shoes\n\n"leather", old; hat\n')
    page.run("document.getElementById('start').click()")
    until(page, "return document.querySelector('#download a')")
    written = page.run("return window.kept.text()")
    rows = list(csv.reader(io.StringIO(written.removeprefix("\ufeff"), newline="")))
    assert rows[0] == ["text", "labels", "names", "scores"]
    assert [row[0] for row in rows[1:]] == ["'=1+1 shoes", "", '"leather", old; hat']
    assert rows[2][1:3] in (["", ""], ["[]", "[]"])  # JSON where a name has a mark
    assert "shoes" in rows[1][2]
    assert page.run(SAID, "column-status").startswith("3 texts done.")
    assert page.errors() == []


def test_a_server_without_a_key_asks_for_one_and_the_tab_keeps_it(page):
    page.run(STAND_IN.replace("INSTEAD", "headers.Authorization !== 'Bearer sesame' && {status: 401}"))
    page.run(TYPE, "text", "red leather shoes")
    until(page, "return !document.getElementById('key-form').hidden")
    assert page.run("return document.activeElement.id") == "key"
    page.run("document.getElementById('key').value = 'sesame'")
    page.run("document.querySelector('#key-form button').click()")
    assert until(page, NAMES)[0] == "shoes"
    assert page.run("return [document.getElementById('key-form').hidden, localStorage.length]") == [True, 0]
    assert page.run("return Object.values(sessionStorage)") == ["sesame"]
    assert page.run(SAID, "error") == ""


def test_an_error_is_one_line(page):
    page.run("window.fetch = () => Promise.reject(new TypeError('no network'))")
    page.run(TYPE, "text", "red leather shoes")
    assert until(page, SAID, "error") == "The server cannot be reached."
    assert page.run("return document.getElementById('error').role") == "alert"


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1200, False)])
def test_it_fits_and_follows_the_colour_scheme(page, width, dark):
    page.resize(width, 844, dark=dark, phone=width < 1000)
    asked(page, f"red leather shoes {'x' * 300} striped")
    page.run("document.querySelector('#answers .answer').click()")
    until(page, "return document.querySelector('.why h4')")
    assert page.run("return document.documentElement.scrollWidth") <= width
    paper = page.run("return getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(20, 24, 31)" if dark else "rgb(255, 255, 255)")
    assert page.errors() == []


def test_a_busy_server_is_asked_again_and_a_batch_that_is_too_large_is_halved(page):
    busy, large = "{status: 429, headers: {'Retry-After': '0.1'}}", "{status: 413}"
    page.run(STAND_IN.replace("INSTEAD", f"[{busy}, {large}, {busy}][number]"))
    page.run(TYPE, "column", "\n".join(["red leather shoes"] * 30))
    page.run("document.getElementById('start').click()")
    until(page, "return document.querySelector('#download a')")
    assert page.run(SAID, "column-status").startswith("30 texts done.")
    assert page.run("return window.asked") == 3 + 2


def test_tables_are_read_as_python_writes_them_and_written_as_python_reads_them(page):
    draw = random.Random(0)
    pieces = ["a", "=1", "-2", "é", ",", ";", "\t", '"', "\n", "\r\n", " ", "'", "👟", "@x", "|"]
    tables = [
        [["".join(draw.choices(pieces, k=draw.randint(1, 6))) for _ in range(3)] for _ in range(4)]
        for _ in range(100)
    ]
    written = [to_csv([["one", "two", "three"], *table]) for table in tables]
    read, again, harmless = page.run(
        """
        return import('/page/csv.js').then(({read, written, harmless}) => {
          const tables = arguments[0].map(read);
          return [tables, tables.map(written), tables.map((table) => table.map((row) => row.map(harmless)))];
        });
        """,
        written,
    )
    assert [table[1:] for table in read] == tables
    assert [from_csv(text.removeprefix("\ufeff")) for text in again] == harmless
    formulas = [cell for table in harmless for row in table for cell in row if cell[0] in "=+-@\t\r\n"]
    assert set(formulas) <= {"-2", "-2|-2"}


def test_a_server_that_loads_its_runs_is_asked_again_and_typing_may_begin(page, address):
    script = STAND_IN.replace("INSTEAD", "number === 0 && {status: 503}")
    made = page.devtools("Page.addScriptToEvaluateOnNewDocument", source=f"(() => {{ {script} }})()")
    page.visit(address)
    page.devtools("Page.removeScriptToEvaluateOnNewDocument", **made)
    assert until(page, SAID, "error") == "Made by the test."
    page.run(TYPE, "text", "red leather shoes")
    assert until(page, NAMES)[0] == "shoes"
    assert page.run(SAID, "error") == ""
    assert page.run("return window.asked") == 3  # the runs twice, then the labels


def test_a_picked_table_keeps_its_columns_and_may_be_put_back(page):
    page.run(KEEP_FILE)
    pick = """
    const files = new DataTransfer();
    files.items.add(new File([arguments[1]], arguments[0]));
    document.getElementById('file').files = files.files;
    document.getElementById('file').dispatchEvent(new Event('change'));
    """
    page.run(pick, "shop.csv", "sku;title;labels\nA-1;red leather shoes;x\n")
    assert until(page, SAID, "column-status") == "shop.csv: 1 text."
    assert page.run("return document.getElementById('field').value") == "title"
    page.run("document.getElementById('start').click()")
    until(page, "return document.querySelector('#download a')")
    header, row = from_csv(page.run("return window.kept.text()").removeprefix("\ufeff"))
    assert header == ["sku", "title", "labels", "labels_new", "names", "scores"]
    assert row[:3] == ["A-1", "red leather shoes", "x"]
    page.run("document.getElementById('unpick').click()")
    assert page.run("return document.getElementById('column').disabled") is False
    page.run(pick, "shop.csv", "sku;title\nA-1\n")
    assert until(page, SAID, "error") == "shop.csv has 1 cell in row 2; expected 2, as in its header."


def to_csv(rows: list[list[str]]) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue()


def from_csv(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))
