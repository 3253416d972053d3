"""Everyday files are read as they are, without a flag or with column flags alone."""

from __future__ import annotations

import io
import sys

import pytest
from everyday_files import FILES, found

from tailwright.data.read import read


@pytest.mark.parametrize("name", FILES)
def test_an_everyday_file_is_read_as_it_is(tmp_path, monkeypatch, name):
    made = FILES[name](tmp_path)
    if made.path == "-":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "piped").read_bytes())))
    corpus = read(made.path, **made.options)
    texts, labels, ids = found(corpus)
    assert texts == made.texts
    assert labels == [sorted(row) for row in made.labels]
    assert ids == made.ids


def test_there_are_twenty_five_everyday_files():
    assert len(FILES) >= 25
