"""The files of the page: what is sent, with which headers, and what they may not contain."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from asking_server import asked
from starlette.routing import Router

import tailwright.serving.page as page_module
from tailwright.serving.page import MODULES, POLICY, page_routes

FOLDER = Path(page_module.__file__).parent / "page_files"
HTML = (FOLDER / "index.html").read_text(encoding="utf-8")
SCRIPTS = {name: (FOLDER / name).read_text(encoding="utf-8") for name in MODULES}
STYLE = (FOLDER / "page.css").read_text(encoding="utf-8")
FAMILY = (FOLDER.parent.parent / "study" / "page" / "templates" / "page.css").read_text(encoding="utf-8")


def got(path: str, **headers: str) -> httpx.Response:
    return asked(Router(page_routes()), "GET", path, headers=headers)


@pytest.mark.parametrize(
    ("path", "media_type"),
    [("/", "text/html"), ("/page/page.css", "text/css"), ("/page/page.js", "text/javascript")],
)
def test_a_file_is_sent_with_its_type_and_a_strict_policy(path, media_type):
    answer = got(path)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == f"{media_type}; charset=utf-8"
    assert answer.headers["Content-Security-Policy"] == POLICY
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere():
    assert POLICY.startswith("default-src 'none'; ")
    assert "unsafe" not in POLICY
    assert set(re.findall(r"'(\w+)'|(data:)", POLICY)) == {("none", ""), ("self", ""), ("", "data:")}


def test_a_file_that_the_browser_has_is_not_sent_again():
    tag = got("/page/page.js").headers["ETag"]
    known = {"If-None-Match": f'"other", W/{tag}'}
    again = got("/page/page.js", **known)
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
    assert got("/page/dom.js", **known).status_code == 200


def test_every_file_in_the_folder_is_sent_and_no_other():
    sent = {path.name for path in FOLDER.iterdir()} - {"index.html"}
    assert {name for name in sent if got(f"/page/{name}").status_code == 200} == sent
    assert got("/page/family.css").text == FAMILY
    for name in ("index.html", "none.js", "../page.py", "%2e%2e/page.py", "..%2fpage.py", ""):
        assert got(f"/page/{name}").status_code == 404, name


def test_the_page_has_no_script_or_style_of_its_own_and_asks_no_other_server():
    assert re.findall(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=", HTML) == []
    addresses = re.findall(r"(?:src|href)=\"([^\"]*)\"", HTML)
    assert [address for address in addresses if re.match(r"\w+:|/", address)] == [addresses[0]]
    assert addresses[0].startswith("data:image/svg+xml,")
    for text in (*SCRIPTS.values(), STYLE):
        assert set(re.findall(r"https?://[\w./]*", text)) <= {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize("name", MODULES)
def test_a_script_writes_texts_and_never_html(name):
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|localStorage"
    assert re.findall(forbidden, SCRIPTS[name]) == []


def test_scripts_import_what_is_there_and_use_ids_that_the_page_has():
    ids = set(re.findall(r"\sid=\"([\w-]+)\"", HTML))
    for script in SCRIPTS.values():
        assert set(re.findall(r"from \"\./([\w.]+)\"", script)) <= set(MODULES)
        assert set(re.findall(r"byId\(\"([\w-]+)\"\)", script)) <= ids
    imported = {found for script in SCRIPTS.values() for found in re.findall(r"from \"\./([\w.]+)\"", script)}
    assert imported == set(MODULES) - {"page.js"}


def test_every_field_has_a_label():
    fields = re.findall(r"<(?:input|select|textarea)\s+id=\"([\w-]+)\"", HTML)
    assert len(fields) == len(re.findall(r"<(?:input|select|textarea)\b", HTML)) > 5
    assert set(fields) == set(re.findall(r"<label for=\"([\w-]+)\"", HTML))


@pytest.mark.parametrize("place", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("ink", "paper"),
    [("ink", "paper"), ("ink", "card"), ("soft", "paper"), ("soft", "card"), ("series-2", "paper")],
)
def test_texts_stand_out_from_their_paper(place, ink, paper):
    """By the contrast ratio of WCAG 2, which asks for 4.5."""
    scheme = FAMILY.split("@media (prefers-color-scheme: dark)")[place]
    colours = dict(re.findall(r"--([\w-]+): #(\w+)", scheme))
    lighter, darker = sorted((luminance(colours[name]) for name in (ink, paper)), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5


def luminance(colour: str) -> float:
    """The relative luminance of `rrggbb` or `rgb`, by WCAG 2."""
    digits = colour if len(colour) == 6 else "".join(2 * digit for digit in colour)
    parts = (int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_contrast_is_that_of_the_standard():
    assert luminance("fff") == pytest.approx(1.0)
    assert luminance("000000") == 0
    assert luminance("ff0000") == pytest.approx(0.2126)
