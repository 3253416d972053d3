"""Which columns of a table are the text, the labels, the id and the weight of a row.

A column that the user names is taken; for the others, the names below count, in any case and with a space or
a hyphen for an underscore. A column `text` is the whole text; without one, all columns of `TEXTS` are joined,
in that order. Of the other lists the first that is there counts.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from tailwright.data.formats.columns import ROW_FIELDS, Fields
from tailwright.data.formats.options import ReadOptions
from tailwright.errors import InputError, quoted

TEXTS = ("title", "name", "query", "content", "description", "abstract", "body")
LABELS = (
    *("labels", "label", "tags", "categories", "subjects", "keywords", "topics", "classes", "subject_uris"),
    *("subject_labels", "tag", "category", "subject", "keyword", "topic", "class"),
)
IDS = ("id", "row_id", "uid", "uuid", "doc_id", "document_id", "item_id")
_MOST_COMPARED, _MOST_SHOWN = 1000, 500  # names; characters of them in an error
NONE = "none"  # for an id or a weight that is not to be taken
_EXPECTED = (
    "a text (text, title, description, ...) and its labels (labels, tags, categories, ...), "
    "or --text COLUMN and --labels COLUMN; where there is no header, their numbers: --text 1 --labels 2"
)


def fields_of(
    names: Sequence[str],
    options: ReadOptions,
    path: Path,
    line: int | None = None,
    *,
    known: Fields = ROW_FIELDS,
) -> Fields:
    """What the columns of a table are; an `InputError` says which were expected.

    `known` has the names of a format that come before all others.
    """
    asked = {wish: _asked(names, wish, path, line) for wish in wishes(options)}
    free = [name for name in names if name not in asked.values()]
    texts = tuple(asked[wish] for wish in options.text) or _texts(free)
    free = [name for name in free if name not in texts]
    named = [asked[wish] for wish in options.labels]
    labels = named[0] if named else _first(free, (known.labels, *LABELS))
    weight = asked.get(options.weight) or _first(free, (str(known.weight),)) or known.weight
    key = asked.get(options.id) or (None if options.id == NONE else _first(free, IDS))
    if not texts or (options.labelled and not labels):
        shown = _shown(names) or "of other names"
        raise InputError(f"the columns {shown}", expected=_EXPECTED, path=path, line=line)
    weight = None if options.weight == NONE else weight
    fields = Fields(texts, labels or known.labels, known.relevance, weight, key, tuple(named[1:]))
    return fields._replace(ignored=tuple(name for name in names if name not in fields.names()))


def is_understood(names: Sequence[str], options: ReadOptions, path: Path) -> bool:
    """Whether the columns of a table have a text and labels among them."""
    try:
        fields_of(names, options, path)
    except InputError:
        return False
    return True


def wishes(options: ReadOptions) -> list[str]:
    """The columns that the user names."""
    optional = [name for name in (options.id, options.weight) if name != NONE]
    return [name for name in (*options.text, *options.labels, *optional) if name]


def _asked(names: Sequence[str], wish: str, path: Path, line: int | None) -> str:
    """The column of that name, or the only one that has it in another case."""
    alike = [name for name in names if _plain(name) == _plain(wish)]
    if wish in names or len(alike) == 1:
        return wish if wish in names else alike[0]
    near = difflib.get_close_matches(wish, names[:_MOST_COMPARED], n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    expected = f"one of {_shown(names)}{hint}"
    raise InputError(f"no column {quoted(wish)}", expected=expected, path=path, line=line)


def _shown(names: Sequence[str]) -> str:
    """The names as an error lists them: a file of one long line has millions.

    >>> _shown(["text", "", "x" * 1000])[:20], len(_shown(["x" * 1000]))
    ('text, (no name), xxx', 500)
    """
    shown = ", ".join(name or "(no name)" for name in names[:_MOST_COMPARED])
    return shown if len(shown) <= _MOST_SHOWN else shown[: _MOST_SHOWN - 1] + "…"


def _texts(names: Sequence[str]) -> tuple[str, ...]:
    whole = _first(names, ("text",))
    found = (whole,) if whole else (_first(names, (name,)) for name in TEXTS)
    return tuple(name for name in found if name)


def _first(names: Sequence[str], wanted: Sequence[str]) -> str | None:
    """The first of the wanted names that is there, as the table spells it."""
    spelt: dict[str, str] = {}
    for name in names:
        spelt.setdefault(_plain(name), name)
    return next(
        (want if want in names else spelt[want] for want in wanted if want in names or want in spelt), None
    )


def _plain(name: str) -> str:
    """A name without the differences that do not count.

    >>> _plain(" Subject URIs")
    'subject_uris'
    """
    return name.strip().casefold().replace(" ", "_").replace("-", "_")
