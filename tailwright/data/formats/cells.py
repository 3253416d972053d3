"""Delimited cells: `shoes|hats` in a csv column, or a string where other files have a list.

The rule, over the label columns of all splits together:

1. A cell that starts with `[` or `{` is JSON: a list, or an object with soft values.
2. The delimiter of the other cells is the first of `|`, `;`, `,` that occurs in any of them; if none does,
   and all cells consist of integers and spaces, it is the space; otherwise each cell is one label.
3. Spaces around a token are ignored, and so are empty tokens.
4. If every token is an integer (`7`, not `007`), tokens are ids, else they are names or ids.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailwright.data.corpus import Corpus
from tailwright.data.formats.columns import (
    CANONICAL_INTEGER,
    Cells,
    FileColumns,
    Numbers,
    Reference,
    ReferenceBuilder,
    References,
    is_integer,
)
from tailwright.data.formats.outgoing import used_labels
from tailwright.data.formats.rows import Values, parse_json
from tailwright.errors import InputError

DELIMITERS = ("|", ";", ",")
_JSON = r"^\s*[\[{]"
_INTEGERS = rf"^\s*({CANONICAL_INTEGER}(\s+{CANONICAL_INTEGER})*)?\s*$"


def split_all(splits: Mapping[str, FileColumns]) -> dict[str, FileColumns]:
    """The same files with every cell split, by one rule for all files."""
    files = splits.values()
    label_cells = [
        cells for file in files for cells in (file.labels, file.exclude, file.ignore) if _is(cells)
    ]
    delimiter = delimiter_of([_plain(cells) for cells in label_cells])
    tokens = {id(cells): _tokens(_plain(cells), delimiter) for cells in label_cells}
    tokens |= {id(file.own): _tokens(file.own, None) for file in files if _is(file.own)}
    integers = all(column.all_integers() for column in tokens.values())

    def references(file: FileColumns, name: str) -> tuple[References | None, Numbers | None]:
        cells = getattr(file, name)
        if not _is(cells):
            return cells, None
        return _with_json(file, name, cells, tokens[id(cells)].references(integers))

    result: dict[str, FileColumns] = {}
    for split, file in splits.items():
        labels, soft = references(file, "labels")
        assert labels is not None
        relevance = _relevance(file, labels) if _is(file.relevance) else file.relevance
        if soft is not None and relevance is not None:
            problem = "labels with values of their own, and also relevance"
            raise InputError(problem, expected="one of the two", path=file.path)
        result[split] = replace(
            file,
            labels=labels,
            relevance=relevance if soft is None else soft,
            own=references(file, "own")[0],
            exclude=references(file, "exclude")[0],
            ignore=references(file, "ignore")[0],
        )
    return result


def split_on_spaces(files: Mapping[str, FileColumns]) -> dict[str, FileColumns]:
    """The same files with the label tokens of each line split at spaces; rules 3 and 4 apply."""
    tokens = {split: _tokens(file.labels, " ") for split, file in files.items()}
    integers = all(column.all_integers() for column in tokens.values())
    return {split: replace(file, labels=tokens[split].references(integers)) for split, file in files.items()}


def delimiter_of(columns: Sequence[Cells]) -> str | None:
    """The delimiter of cells that are not JSON; None if each cell is one label."""
    for delimiter in DELIMITERS:
        if any(pc.any(pc.match_substring(cells, delimiter)).as_py() for cells in columns):
            return delimiter
    return " " if all(_all_match(cells, _INTEGERS) for cells in columns) else None


def looks_like_json(cells: Cells) -> pa.BooleanArray:
    return pc.match_substring_regex(cells, _JSON)


@dataclass(frozen=True)
class _Tokens:
    """The tokens of all rows: those of row i are `values[offsets[i]:offsets[i + 1]]`."""

    offsets: np.ndarray
    values: Cells

    def all_integers(self) -> bool:
        return _all_match(self.values, f"^{CANONICAL_INTEGER}$")

    def references(self, integers: bool) -> References:
        encoded = self.values.dictionary_encode()
        names: list[str] = encoded.dictionary.to_pylist()
        unique: list[Reference] = [int(name) for name in names] if integers else list(names)
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return References(self.offsets, codes, unique).integers()


def _is(column: References | Numbers | Cells | None) -> bool:
    return isinstance(column, pa.LargeStringArray)


def _all_match(cells: Cells, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(cells, pattern), min_count=0).as_py())


def _plain(cells: Cells) -> Cells:
    """The cells, with JSON cells emptied."""
    return pc.if_else(looks_like_json(cells), pa.scalar("", pa.large_string()), cells)


def _tokens(cells: Cells, delimiter: str | None) -> _Tokens:
    if delimiter is None:
        lengths, values = np.ones(len(cells), dtype=np.int64), cells
    else:
        by_spaces = delimiter == " "
        split = pc.split_pattern_regex(cells, r"\s+") if by_spaces else pc.split_pattern(cells, delimiter)
        lengths, values = pc.list_value_length(split).to_numpy(zero_copy_only=False), split.flatten()
    values = pc.utf8_trim_whitespace(values)
    filled = pc.not_equal(values, "")
    rows = np.repeat(np.arange(len(cells)), lengths)[filled.to_numpy(zero_copy_only=False)]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(cells)))])
    return _Tokens(offsets, values.filter(filled))


def _with_json(
    file: FileColumns, name: str, cells: Cells, plain: References
) -> tuple[References, Numbers | None]:
    """`plain` with the references of JSON cells added, and the soft values if there are any."""
    is_json = looks_like_json(cells).to_numpy(zero_copy_only=False)
    if name == "own" or not is_json.any():
        return plain, None
    builder = ReferenceBuilder()
    values: list[float] = []
    has_values = False
    for row, cell in enumerate(cells.to_pylist()):
        if not is_json[row]:
            builder.add_row(plain.at(i) for i in range(*plain.offsets[row : row + 2]))
            values += [1.0] * (builder.offsets[-1] - builder.offsets[-2])
            continue
        try:
            references, soft = _parsed(cell, name, Values(file.path))
        except InputError:
            # Finding the line is slow, so it is done only for an error.
            _parsed(cell, name, Values(file.path, file.line_of(row)))
            raise
        has_values = has_values or soft is not None
        builder.add_row(references)
        values += [1.0] * len(references) if soft is None else soft
    combined = builder.build()
    numbers = Numbers(combined.offsets, np.array(values, dtype=np.float64))
    return combined, numbers if has_values else None


def _parsed(cell: str, name: str, check: Values) -> tuple[list[Reference], list[float] | None]:
    """(references, soft values) of a JSON cell."""
    content = parse_json(cell, check.path, check.line)
    if isinstance(content, dict) and name == "labels":
        return check.soft_labels(name, content)
    return check.reference_list(name, content), None


def _relevance(file: FileColumns, labels: References) -> Numbers:
    """The numbers parallel to the labels; an empty cell stands for ones."""
    cells: Cells = file.relevance
    tokens = _tokens(pc.replace_substring_regex(cells, r"[\[\]|;,]", " "), " ")
    rows = np.repeat(np.arange(len(cells)), np.diff(tokens.offsets))
    values = numbers_of(tokens.values, pa.float64(), "relevance", file, rows.tolist())
    given, wanted = np.diff(tokens.offsets), np.diff(labels.offsets)
    counts = np.where(given == 0, wanted, given)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    filled = np.ones(offsets[-1])
    filled[np.repeat(given > 0, counts)] = values
    return Numbers(offsets, filled)


def numbers_of(
    tokens: Cells, kind: pa.DataType, name: str, file: FileColumns, rows: Iterable[int]
) -> np.ndarray:
    """Tokens as numbers of an Arrow type; an `InputError` names the line of the first that is no number."""
    try:
        return tokens.cast(kind).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid as error:
        pairs = zip(rows, tokens.to_pylist(), strict=True)
        row, token = next(pair for pair in pairs if not _is_number(pair[1], kind))
        expected = "an integer" if pa.types.is_integer(kind) else "a number"
        raise Values(file.path, file.line_of(row)).wrong(name, token, expected) from error


def _is_number(token: str, kind: pa.DataType) -> bool:
    try:
        pa.scalar(token).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def cell_writer(corpus: Corpus, references: Sequence[Reference]) -> Callable[[list[Reference]], str]:
    """A function that writes a list of references as a cell that `split_all` can split again.

    Cells are delimited by the first delimiter that the rule above would recognise, else they are JSON lists.
    """
    pairs = [p for data in corpus.splits().values() for p in (data.targets, data.excluded, data.ignored)]
    several = any(bool((np.diff(p.indptr) > 1).any()) for p in pairs)
    used = [ref for ref, is_used in zip(references, used_labels(corpus), strict=True) if is_used]
    tokens = pa.array([str(reference) for reference in used], type=pa.large_string())
    names = [reference for reference in used if isinstance(reference, str)]
    plain = (
        pc.utf8_trim_whitespace(tokens).equals(tokens)
        and not any(name == "" or is_integer(name) for name in names)
        and not pc.any(looks_like_json(tokens)).as_py()
    )
    for place, delimiter in enumerate(DELIMITERS):
        # If no cell has two labels, none has a delimiter, and any mark in a name would be taken for one.
        confusing = DELIMITERS[: place + 1] if several else DELIMITERS
        if plain and not any(mark in name for mark in confusing for name in names):
            return lambda row, mark=delimiter: mark.join(map(str, row))  # type: ignore[misc]
    return lambda row: json.dumps(row, ensure_ascii=False) if row else ""
