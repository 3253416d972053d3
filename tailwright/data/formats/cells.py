"""Delimited cells: `shoes|hats` in a csv column, or a string where other files have a list.

The rule, over the label columns of all splits together:

1. A cell that starts with `[` or `{` is JSON: a list, or an object with soft values; or it is a list as
   Python and NumPy print it, `['a', 'b']` and `['a' 'b']`.
2. The delimiter of the other cells is the one that the user gives. Else, if all cells consist of URIs in
   angle brackets and spaces, it is the space; else the first of `|`, `;`, `,` that occurs in any of them;
   if none does, and all cells consist of integers and spaces, it is the space; otherwise each cell is one
   label.
3. Spaces around a token are ignored, and so are empty tokens and the brackets of a URI.
4. If every token is an integer (`7`, not `007`), tokens are ids, else they are names or ids.
"""

from __future__ import annotations

import ast
import json
import re
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
    joined_labels,
)
from tailwright.data.formats.options import ReadOptions
from tailwright.data.formats.outgoing import used_labels
from tailwright.data.formats.rows import Values, parse_json
from tailwright.errors import InputError

DELIMITERS = ("|", ";", ",")
_JSON = r"^\s*[\[{]"
URIS = r"\s*<[^<>\s]+>(\s+<[^<>\s]+>)*\s*"
_ALL_URIS = rf"^({URIS}|\s*)$"
# A list as Python prints it, with commas or, from NumPy, with spaces between its items.
_ITEM = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|0|-?[1-9][0-9]*""")
_BETWEEN = re.compile(r"\s*,?\s*")
_INTEGERS = rf"^\s*({CANONICAL_INTEGER}(\s+{CANONICAL_INTEGER})*)?\s*$"


def split_all(splits: Mapping[str, FileColumns], options: ReadOptions) -> dict[str, FileColumns]:
    """The same files with every cell split, by one rule for all files."""
    files = splits.values()
    label_cells = [
        cells
        for file in files
        for cells in (file.labels, *file.further, file.exclude, file.ignore)
        if _is(cells)
    ]
    plain = [_plain(cells) for cells in label_cells]
    delimiter = options.delimiter if options.separator else delimiter_of(plain)
    separation = _in_words(delimiter)
    are_uris = _are_uris(plain)
    tokens = {id(cells): _tokens(_plain(cells), delimiter, are_uris) for cells in label_cells}
    tokens |= {id(file.own): _tokens(file.own, None) for file in files if _is(file.own)}
    integers = all(column.all_integers() for column in tokens.values())

    def references(
        file: FileColumns, name: str, cells: References | Cells | None
    ) -> tuple[References | None, Numbers | None]:
        if not _is(cells):
            return cells, None
        return _with_json(file, name, cells, tokens[id(cells)].references(integers))

    result: dict[str, FileColumns] = {}
    for split, file in splits.items():
        labels, soft = joined_labels(
            [references(file, "labels", cells) for cells in (file.labels, *file.further)]
        )
        relevance = _relevance(file, labels) if _is(file.relevance) else file.relevance
        if soft is not None and relevance is not None:
            problem = "labels with values of their own, and also relevance"
            raise InputError(problem, expected="one of the two", path=file.path)
        if file.further and relevance is not None:
            problem = "labels of several columns, and also relevance"
            raise InputError(problem, expected="one of the two", path=file.path)
        result[split] = replace(
            file,
            labels=labels,
            relevance=relevance if soft is None else soft,
            further=(),
            own=references(file, "own", file.own)[0],
            exclude=references(file, "exclude", file.exclude)[0],
            ignore=references(file, "ignore", file.ignore)[0],
            separation=separation
            if any(map(_is, (file.labels, *file.further))) and any(map(_is_filled, plain))
            else "lists",
        )
    return result


def _in_words(delimiter: str | None) -> str:
    """How cells are split at a delimiter.

    >>> _in_words("|"), _in_words(" "), _in_words(None)
    ("split at '|'", 'split at spaces', 'one label a cell')
    """
    return (
        "one label a cell"
        if delimiter is None
        else "split at spaces"
        if delimiter == " "
        else f"split at {delimiter!r}"
    )


def _are_uris(columns: Sequence[Cells]) -> bool:
    """Whether cells hold URIs in angle brackets and nothing else."""
    return any(map(_is_filled, columns)) and all(_all_match(cells, _ALL_URIS) for cells in columns)


def _is_filled(cells: Cells) -> bool:
    return bool(pc.any(pc.not_equal(cells, "")).as_py())


def split_on_spaces(files: Mapping[str, FileColumns]) -> dict[str, FileColumns]:
    """The same files with the label tokens of each line split at spaces; rules 3 and 4 apply."""
    tokens = {split: _tokens(file.labels, " ") for split, file in files.items()}
    integers = all(column.all_integers() for column in tokens.values())
    return {split: replace(file, labels=tokens[split].references(integers)) for split, file in files.items()}


def delimiter_of(columns: Sequence[Cells]) -> str | None:
    """The delimiter of cells that are not JSON; None if each cell is one label."""
    if _are_uris(columns):
        return " "
    for delimiter in DELIMITERS:
        if any(pc.any(pc.match_substring(cells, delimiter)).as_py() for cells in columns):
            return delimiter
    return " " if all(_all_match(cells, _INTEGERS) for cells in columns) else None


def listed(cell: str) -> list[Reference] | None:
    """The items of a list as Python or NumPy prints it; None if the cell is no such list.

    >>> listed("['red', 'blue']"), listed("['a' 'b']"), listed("[1 2]"), listed("['a', ...]")
    (['red', 'blue'], ['a', 'b'], [1, 2], None)
    """
    cell = cell.strip()
    if not (cell.startswith("[") and cell.endswith("]")):
        return None
    # Item by item: one expression for all of them would go back and forth over a long run of spaces.
    items, end = list[Reference](), len(cell) - 1
    place = len(cell) - len(cell[1:].lstrip())
    while place < end:
        item = _ITEM.match(cell, place)
        place = 0 if item is None else _after(cell, item.end())
        if item is None or (place == item.end() and place < end):  # no item, or nothing between two
            return None
        try:
            items.append(ast.literal_eval(item[0]))
            str(items[-1]).encode()
        except (SyntaxError, ValueError):  # an escape that Python does not know, half of a character
            return None
    return items


def _after(cell: str, place: int) -> int:
    """The place behind what stands between two items."""
    between = _BETWEEN.match(cell, place)
    return place if between is None else between.end()


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


def _tokens(cells: Cells, delimiter: str | None, are_uris: bool = False) -> _Tokens:
    if delimiter is None:
        lengths, values = np.ones(len(cells), dtype=np.int64), cells
    else:
        by_spaces = delimiter == " "
        split = pc.split_pattern_regex(cells, r"\s+") if by_spaces else pc.split_pattern(cells, delimiter)
        lengths, values = pc.list_value_length(split).to_numpy(zero_copy_only=False), split.flatten()
    values = pc.utf8_trim_whitespace(values)
    if are_uris:
        values = pc.replace_substring_regex(values, r"^<([^<>\s]+)>$", r"\1")
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
    try:
        content = parse_json(cell, check.path, check.line)
    except InputError:
        content = listed(cell)
        if content is None:
            raise
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
        and not pc.any(pc.match_substring(tokens, "<")).as_py()  # an angle bracket may be that of a URI
    )
    for place, delimiter in enumerate(DELIMITERS):
        # If no cell has two labels, none has a delimiter, and any mark in a name would be taken for one.
        confusing = DELIMITERS[: place + 1] if several else DELIMITERS
        if plain and not any(mark in name for mark in confusing for name in names):
            return lambda row, mark=delimiter: mark.join(map(str, row))  # type: ignore[misc]
    return lambda row: json.dumps(row, ensure_ascii=False) if row else ""
