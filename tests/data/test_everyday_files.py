"""Everyday files are read as they are, without a flag or with column flags alone."""

from __future__ import annotations

import io
import sys

import pytest
from everyday_files import FILES, found
from everyday_rows import COUNT, DATASETS, PRODUCTS, real_rows

from tailwright.data.read import read


def _assert_read_as_it_is(name, rows, folder, monkeypatch):
    made = FILES[name](folder, rows)
    if made.path == "-":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((folder / "piped").read_bytes())))
    texts, labels, ids = found(read(made.path, test_share=0, **made.options))
    assert texts == made.texts
    assert labels == [sorted(row) for row in made.labels]
    assert ids == made.ids
    return texts


@pytest.mark.parametrize("name", FILES)
def test_an_everyday_file_is_read_as_it_is(tmp_path, monkeypatch, name):
    _assert_read_as_it_is(name, PRODUCTS, tmp_path, monkeypatch)


@pytest.mark.parametrize("name", FILES)
def test_an_everyday_file_of_real_rows_is_read_as_it_is(tmp_path, monkeypatch, real_data, name):
    texts = _assert_read_as_it_is(name, real_rows(real_data), tmp_path, monkeypatch)
    assert len(texts) > 0.9 * COUNT * len(DATASETS)  # some rows cannot be written in cp1252 or xlsx


def test_there_are_thirty_everyday_files():
    assert len(FILES) >= 30
