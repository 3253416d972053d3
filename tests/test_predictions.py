"""`Predictions`: rows, tables, JSON, and how they look."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from tailwright.data import LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.errors import InputError
from tailwright.evaluation.ranking import TopK
from tailwright.runs import Predictions

SAID = Predictions([["7", "2"], []], [["shoes", "hats"], []], [[0.75, 0.5], []], [False, True])


def test_padding_may_stand_between_labels():
    top = TopK(np.array([[2, -1, 0], [-1, -1, -1]]), np.array([[0.5, 0.3, 0.25], [0, 0, 0]]))
    found = Predictions.of(top, LabelSpace(arrow_strings(["a", "b", "c"]), arrow_strings(["x", "y", "z"])))
    assert found == Predictions([["c", "a"], []], [["z", "x"], []], [[0.5, 0.25], []])
    none = TopK(np.empty((0, 3), np.int32), np.empty((0, 3)))
    assert Predictions.of(none, LabelSpace.numbered(2)) == Predictions([], [], [])


def test_rows_are_counted_iterated_and_indexed():
    assert len(SAID) == 2
    first, last = SAID
    assert (first.ids, first.names, first.scores, first.abstained) == (
        ["7", "2"],
        ["shoes", "hats"],
        [0.75, 0.5],
        False,
    )
    assert SAID[1] == SAID[-1] == last
    assert SAID[1:] == Predictions([[]], [[]], [[]], [True])
    with pytest.raises(IndexError):
        SAID[2]


def test_tables_have_a_row_a_text_and_abstained_only_if_it_was_asked_for():
    rows = [
        {"ids": ["7", "2"], "names": ["shoes", "hats"], "scores": [0.75, 0.5], "abstained": False},
        {"ids": [], "names": [], "scores": [], "abstained": True},
    ]
    assert (
        json.loads(SAID.to_json())
        == SAID.to_arrow().to_pylist()
        == SAID.to_pandas().to_dict("records")
        == rows
    )
    plain = Predictions(SAID.ids, SAID.names, SAID.scores)
    for names in (
        plain.to_arrow().column_names,
        list(plain.to_pandas()),
        list(json.loads(plain.to_json())[0]),
    ):
        assert names == ["ids", "names", "scores"]


def test_without_pandas_the_error_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pandas, which makes data frames, is not installed"):
        SAID.to_pandas()


def test_the_page_of_a_notebook_escapes_names():
    hostile = Predictions([["1"]], [["<script>alert('x')</script>&"]], [[0.5]])
    page = hostile._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&amp; 0.50" in page


def test_a_long_list_is_cut():
    many = Predictions([["1"]] * 1234, [["shoes"]] * 1234, [[0.5]] * 1234)
    assert repr(many).splitlines()[0] == "Predictions of 1,234 texts"
    assert repr(many).splitlines()[-1] == "  and 1,224 texts more"
    assert len(repr(many).splitlines()) == 12
    assert many._repr_html_().count("<tr>") == 11
