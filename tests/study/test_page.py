"""The page: nothing breaks out of it, nothing is fetched by it, and it is on disk whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from html_reading import Reading
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from tailwright.errors import InputError, TailwrightError
from tailwright.study.page.html import refuse_unwritable, templates, write_page

PAGE = """{% extends "page.html.j2" %}{% import "macros.html.j2" as macros %}
{% block main %}<p>{{ text }}</p>
<section><h2>{{ text }}</h2>{{ macros.commands(lines) }}</section>{% endblock %}
{% block footer %} {{ text }}{% endblock %}"""


def rendered(source: str, **values) -> str:
    """A template, given as text, with these values."""
    return templates().from_string(source).render(values)


@given(st.text(st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="\ufffe\uffff")))
def test_any_text_comes_back_as_it_was_and_opens_no_tag(text):
    reading = Reading(rendered("<p>x{{ text }}x</p>", text=text))
    assert (reading.tags, "".join(t for _, t in reading.texts)) == ([("p", {})], f"x{text}x")
    reading = Reading(rendered('<p title="{{ text }}">x</p>', text=text))
    assert reading.tags == [("p", {"title": text})]


def test_what_html_has_no_place_for_is_replaced():
    assert rendered("{{ text }}", text="a\x00b\x1bc\ud800d\te") == "a\ufffdb\ufffdc\ufffdd\te"


def test_a_table_names_its_rows_and_columns():
    html = rendered(
        "{% import 'macros.html.j2' as macros %}{{ macros.table(header, rows, caption, best) }}",
        header=["model", "P@1"],
        rows=[["<twin>", "1.00"], ["b", "2.00"]],
        caption="A & B",
        best={(1, 1)},
    )
    reading = Reading(html)
    assert reading.wrong == []
    assert reading.of("caption") == ["A & B"]
    assert [attributes["scope"] for tag, attributes in reading.tags if tag == "th"] == ["col"] * 2 + [
        "row"
    ] * 2
    assert reading.of("th") == ["model", "P@1", "<twin>", "b"]
    assert "<td>1.00</td>" in html
    assert '<td class="best">2.00</td>' in html


def test_a_page_is_whole_and_asks_for_nothing():
    html = rendered(PAGE, title="T <1>", text="a < b", lines=["x > y", "z"])
    reading = Reading(html)
    assert reading.wrong == []
    assert html.startswith("<!DOCTYPE html>")
    assert reading.of("title") == reading.of("h1") == ["T <1>"]
    assert reading.of("h2") == ["a < b"]
    assert reading.of("code") == ["x > y\nz"]
    assert reading.of("p")[-1].endswith("a < b")
    assert ("meta", {"charset": "utf-8"}) in reading.tags
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html
    assert not {"url(", "@import", "http:", "https:"} & set(html.split())
    assert "url(" not in html
    assert "http" not in html


def test_a_name_that_a_template_lacks_is_an_error_and_not_a_blank():
    with pytest.raises(UndefinedError, match="'title' is undefined"):
        rendered(PAGE, text="", lines=[])


def test_an_old_page_is_replaced(tmp_path):
    (tmp_path / "r.html").write_text("old")
    refuse_unwritable(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text() == "old"
    write_page(tmp_path / "r.html", "né")
    assert (tmp_path / "r.html").read_bytes() == "né".encode()
    assert os.listdir(tmp_path) == ["r.html"]  # noqa: PTH208


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nowhere/r.html", "No such file or directory"),
        ("file/r.html", "Not a directory"),
        ("folder", "Is a directory"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_place_that_cannot_be_written_is_said_in_one_line(tmp_path, name, why):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError) as error:
        refuse_unwritable(tmp_path / name)
    assert str(error.value) == f"{tmp_path / name}: cannot be written ({why})"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_pipe_or_device_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"pipe: is no plain file, expected a new file or one to replace"):
        refuse_unwritable(tmp_path / "pipe")


def test_a_full_disk_leaves_the_old_page_and_nothing_else(tmp_path, monkeypatch):
    (tmp_path / "r.html").write_text("old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        TailwrightError, match=r"r\.html: cannot be written \(No space left on device\)"
    ) as error:
        write_page(tmp_path / "r.html", "new")
    assert error.value.exit_code == 1
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("r.html", "old")]


def test_a_kill_while_writing_leaves_the_old_page(tmp_path):
    place = tmp_path / "r.html"
    place.write_text("old")
    code = (
        "import os, sys, time; from pathlib import Path; from tailwright.study.page import html\n"
        "os.fsync = lambda handle: (print('half', flush=True), time.sleep(60))\n"
        "html.write_page(Path(sys.argv[1]), 'new')"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, str(place)], stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdout.readline() == "half\n"
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
    assert place.read_text() == "old"
