"""Rows to make everyday files of: three products, and some of real datasets."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

COUNT = 200  # of each dataset
# Short titles; long texts with commas, and with line breaks after sentences; titles with odd characters.
DATASETS = ("cooking-se", "reuters21578-all", "winapi-seealso")
_MARKS = '|;,"<>[]{}'  # a name with one of these cannot stand in a delimited cell


@dataclass(frozen=True)
class Rows:
    """What the files are made of: a title, a text that may be empty, and tags of each row."""

    titles: list[str]
    texts: list[str]
    tags: list[list[str]]

    @property
    def joined(self) -> list[str]:
        """Titles and texts as one text each."""
        return [f"{title} {text}" if text else title for title, text in self.pairs()]

    @property
    def uris(self) -> dict[str, str]:
        """A URI for each tag."""
        tags = sorted({tag for tags in self.tags for tag in tags})
        return {tag: f"http://example.org/{place}" for place, tag in enumerate(tags)}

    @property
    def tags_as_uris(self) -> list[list[str]]:
        uris = self.uris
        return [[uris[tag] for tag in tags] for tags in self.tags]

    @property
    def halves(self) -> list[str]:
        """One of two classes for each row, in turn."""
        return [["bad", "good"][place % 2] for place, _ in enumerate(self.titles)]

    def pairs(self) -> Iterable[tuple[str, str]]:
        return zip(self.titles, self.texts, strict=True)

    def all(self) -> Iterable[tuple[str, str, list[str]]]:
        return zip(self.titles, self.texts, self.tags, strict=True)

    def that(self, fit: Callable[[str], bool]) -> Rows:
        """The rows whose strings all fit."""
        kept = [
            (title, text, tags) for title, text, tags in self.all() if all(map(fit, [title, text, *tags]))
        ]
        return Rows([row[0] for row in kept], [row[1] for row in kept], [row[2] for row in kept])

    def in_one_line(self) -> Rows:
        """The rows with each title in one line, for formats that have no line breaks."""
        return Rows([" ".join(title.split()) for title in self.titles], self.texts, self.tags)


# Three products, the first and the last with a letter beyond ASCII.
PRODUCTS = Rows(
    ["Café table", "Wool hat", "Garden chair, façade"],
    ["round, of oak", 'a "warm" one', "two of them"],
    [["furniture", "indoor"], ["hats"], ["furniture", "outdoor"]],
)


def _names(folder: Path) -> list[str]:
    """The labels' texts up to a bracket, which winapi-seealso has many of."""
    with gzip.open(folder / "labels.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"].partition(" (")[0] for line in lines]


@lru_cache
def real_rows(folder: Path) -> Rows:
    """Rows of all datasets in a folder."""
    rows = Rows([], [], [])
    for name in DATASETS:
        _add(rows, folder / name)
    return rows


def _add(rows: Rows, folder: Path) -> None:
    """Add the first rows of a dataset with labels whose names can stand in a cell; none is left empty."""
    names, enough = _names(folder), len(rows.titles) + COUNT
    with gzip.open(folder / "train.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            title, _, text = row["text"].partition(" : ")
            tags = [
                name for name in dict.fromkeys(names[label] for label in row["labels"]) if _is_plain(name)
            ]
            if title.strip() and tags:
                rows.titles.append(text if len(text) > len(title) else title)
                rows.texts.append(title if len(text) > len(title) else text)
                rows.tags.append(tags)
            if len(rows.titles) == enough:
                break


def _is_plain(name: str) -> bool:
    return bool(name.strip()) and not set(_MARKS) & set(name)
