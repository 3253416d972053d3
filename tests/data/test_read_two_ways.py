"""The quick and the careful readers read the same, and refuse the same with the same words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from format_samples import LABELS, put
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import few, texts

from tailwright.data.corpus import Corpus
from tailwright.data.formats import delimited, json_table, jsonl, labels, xc
from tailwright.data.formats.plain_lines import plain_table
from tailwright.data.read import read
from tailwright.errors import InputError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder whose files each example overwrites."""
    return tmp_path_factory.mktemp("two_ways")


def outcome(path: Path) -> Corpus | str:
    try:
        return read(path)
    except InputError as error:
        return str(error)


def agree(one: Corpus | str, other: Corpus | str) -> bool:
    if isinstance(one, Corpus) and isinstance(other, Corpus):
        return one.same_as(other)
    return one == other


def both_ways(path: Path) -> tuple[Corpus | str, Corpus | str]:
    """What `read` gives with and without the quick ways."""
    quick = outcome(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "table_of", lambda *_: None)
        patch.setattr(labels, "table_of", lambda *_: None)
        patch.setattr(delimited._DelimitedFile, "read_quickly", lambda *_: None)
        patch.setattr(xc, "_matrix_quickly", lambda *_: None)
        return quick, outcome(path)


numbers = st.sampled_from([0, 1, 2, 3, -1, 0.5, 1.0, 1.5, 2**70, True, float("nan"), 1e-60])
strings = st.sampled_from(["hats", "shoes", "red things", "1", "nothing", "", "a|b"]) | texts
references = st.lists(st.sampled_from([0, 1, 2]) | numbers | strings | st.none(), max_size=3)
good_ids = st.lists(st.sampled_from([0, 1, 2]), max_size=3, unique=True)
good_names = st.lists(st.sampled_from(["hats", "shoes", "2"]), max_size=3, unique=True)
anything = st.none() | numbers | strings | references | st.dictionaries(strings, numbers, max_size=2)
chunk_sizes = st.sampled_from([1, 16, 64, 1 << 20])
rare = st.integers(0, 9).map(lambda drawn: drawn == 0)


@st.composite
def rows(draw: st.DrawFn, kind: st.SearchStrategy) -> dict[str, object]:
    """A row that is mostly right."""
    row: dict[str, object] = {"text": draw(texts), "labels": draw(kind)}
    count = len(row["labels"])  # type: ignore[arg-type]
    optional = {
        "relevance": st.lists(st.sampled_from([0.25, 1, 0.1]), min_size=count, max_size=count),
        "weight": st.sampled_from([1, 0.5, 2, 0]),
        "self": st.sampled_from([0, 1, None]),
        "exclude": good_ids,
        "ignore": good_names,
        "origin": st.just({"row": 3, "method": "eda"}),
        "other": anything,
    }
    for name, values in optional.items():
        if draw(st.integers(0, 3)) == 0:
            row[name] = draw(values)
    if draw(rare):
        row[draw(st.sampled_from([*row, "text", "weight", "labels"]))] = draw(anything)
    if draw(rare):
        del row[draw(st.sampled_from(list(row)))]
    return row


@st.composite
def lines_of_json(draw: st.DrawFn) -> bytes:
    """A file of rows of one kind, with now and then a damaged line or an odd end of line."""
    kind = draw(st.sampled_from([good_ids, good_names, references]))
    dumped = [json.dumps(row).encode() for row in draw(st.lists(rows(kind), min_size=1, max_size=5))]
    if draw(rare):
        place = draw(st.integers(0, len(dumped) - 1))
        line = bytearray(dumped[place])
        at = draw(st.integers(0, len(line) - 1))
        line[at : at + 1] = draw(st.sampled_from([b"", b"{", b"}", b'"', b"\xff", b"\n", b"9", b"}{", b" "]))
        dumped[place] = bytes(line)
    end = draw(st.sampled_from([b"\n", b"\n", b"\r\n", b"\n\n", b" "]))
    return end.join(dumped) + draw(st.sampled_from([b"", b"\n", b"\n\n"]))


@few(30)
@given(lines_of_json(), st.booleans(), chunk_sizes)
@example(b'{"text": "a", "labels": [0]} {"text": "b", "labels": [0]}\n', True, 64)
@example(b'{"text": "a", "labels": [0]}{"text":\n"b", "labels": [0]}\n', True, 64)
@example(b'{"text": "a", "labels": [0], "x": "\xff"}\n', True, 64)
@example(b'{"text": "a", "labels": [0], "text": "b"}\n', True, 64)
@example(b'{"text": "a", "labels": [0], "weight": NaN}\n', True, 64)
@example(b'{"text": "a", "labels": [-1]}\n', False, 64)
@example(b"null\n", False, 64)
def test_json_lines_are_read_the_same_two_ways(folder, content, with_labels, chunk):
    put(folder / "json" / "train.jsonl", content)
    names = folder / "json" / "labels.jsonl"
    names.unlink(missing_ok=True)
    if with_labels:
        put(names, "".join(json.dumps(label) + "\n" for label in LABELS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_table, "_CHUNK", chunk)
        quick, careful = both_ways(folder / "json")
    assert agree(quick, careful), (quick, careful)


@st.composite
def plain_lines(draw: st.DrawFn) -> bytes:
    """Lines of text and ids alone in either style of json.dumps, with now and then a damaged byte."""
    awkward = st.text(st.sampled_from('a", \\\\labels:[]{}\\n\\u00e9'), max_size=12)
    row = st.fixed_dictionaries({"text": texts | awkward, "labels": good_ids})
    separators = draw(st.sampled_from([(", ", ": "), (",", ":")]))
    escaped = draw(st.booleans())
    lines = [
        json.dumps(each, separators=separators, ensure_ascii=escaped).encode()
        for each in draw(st.lists(row, min_size=1, max_size=6))
    ]
    content = bytearray(b"\n".join(lines) + draw(st.sampled_from([b"", b"\n"])))
    if draw(st.booleans()):
        at = draw(st.integers(0, len(content) - 1))
        damage = [
            b"",
            b"0",
            b"-",
            b"+",
            b" ",
            b",",
            b'"',
            b"\\",
            b"\n",
            b"\x01",
            b"\xe9",
            b"x",
            b"1 1",
            b"]}",
        ]
        content[at : at + 1] = draw(st.sampled_from(damage))
    return bytes(content)


@few(30)
@given(plain_lines(), chunk_sizes)
@example(b'{"text": "a", "labels": [00]}\n', 64)
@example(b'{"text": "a", "labels": [0, 01]}\n', 64)
@example(b'{"text": "a", "labels": [0,1]}\n', 64)
@example(b'{"text": "a", "labels": [0, ]}\n', 64)
@example(b'{"text": "a\\", "labels": [0]}\n', 64)
@example(b'{"text": "a", "labels": [0]}\n{"text": "b", "labels": [0], "weight": 2}\n', 16)
@example(b'{"text": "", "labels": []}\n{"text": "", "labels": []}', 1)
def test_the_plainest_lines_are_read_the_same_whatever_the_chunks(folder, content, chunk):
    put(folder / "plain" / "train.jsonl", content)
    put(folder / "plain" / "labels.jsonl", "".join(json.dumps(label) + "\n" for label in LABELS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_table, "_CHUNK", chunk)
        quick, careful = both_ways(folder / "plain")
        patch.setattr(json_table, "plain_table", lambda *_: None)
        by_arrow = outcome(folder / "plain")
    assert agree(quick, careful), (quick, careful)
    assert agree(by_arrow, careful), (by_arrow, careful)


def test_the_plainest_lines_are_not_left_to_the_careful_reader(folder):
    """If every chunk were refused, the tests above would compare the careful reader with itself."""
    rows = [{"text": 'a "b" \u00e9 \\', "labels": [0, 12]}, {"text": "", "labels": []}]
    for separators in [(", ", ": "), (",", ":")]:
        content = bytearray("\n".join(json.dumps(row, separators=separators) for row in rows).encode())
        table = plain_table(content, len(content))
        assert table is not None
        assert table.to_pylist() == rows


@pytest.mark.parametrize("optional", ["relevance", "weight", "self", "exclude", "ignore", "origin", "other"])
def test_ordinary_files_are_not_left_to_the_careful_way(folder, monkeypatch, optional):
    values = {"relevance": [0.5], "weight": 0.5, "self": "b", "exclude": ["b"], "ignore": ["b"], "other": 1}
    values["origin"] = {"row": 1, "method": "eda"}
    last = {"text": "b", "labels": ["b"], optional: values[optional]}
    rows = [last] if optional == "relevance" else [{"text": "a", "labels": ["a"]}] * 200 + [last]
    put(folder / "ordinary" / "train.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(jsonl, "read_carefully", None)
    assert len(read(folder / "ordinary").train) == len(rows)


@given(
    st.lists(
        st.fixed_dictionaries(
            {}, optional={"id": anything, "text": anything, "name": anything, "x": anything}
        ),
        min_size=1,
        max_size=4,
    )
)
def test_label_files_are_read_the_same_two_ways(folder, labels_given):
    put(folder / "labels" / "train.jsonl", '{"text": "a", "labels": []}\n')
    put(folder / "labels" / "labels.jsonl", "".join(json.dumps(label) + "\n" for label in labels_given))
    quick, careful = both_ways(folder / "labels")
    assert agree(quick, careful), (quick, careful)


@given(st.text(st.sampled_from('ab,;|"\n\r 01[]'), max_size=30))
@example('"a"x,b\n')
@example('a,"b\n')
@example('a"b"c,d\n')
@example("\n\na,b\n\n")
@example('"",""\n')
def test_csv_is_read_the_same_two_ways(folder, content):
    put(folder / "csv" / "train.csv", "text,labels\n" + content)
    quick, careful = both_ways(folder / "csv")
    assert agree(quick, careful), (quick, careful)


@given(st.text(st.sampled_from("0123: .e-x\n"), max_size=30))
@example("0:1 1:0.5\n\n")
@example("0:1 0:1\n")
@example("0:1e-60\n")
@example("0x1:1\n")
@example("1 :1\n")
def test_label_matrices_are_read_the_same_two_ways(folder, content):
    lines = content.count("\n") + (not content.endswith("\n") and content != "")
    put(folder / "xc" / "trn_X_Y.txt", f"{lines} 4\n{content}")
    put(folder / "xc" / "trn_X.txt", "text\n" * max(lines, 1))
    quick, careful = both_ways(folder / "xc")
    assert agree(quick, careful), (quick, careful)
