"""The files of a user's folder, found by name whatever their compression."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tailwright.data.formats.source import COMPRESSIONS, unreadable
from tailwright.errors import InputError

ROW_SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
# A split's files by the names that people give it.
SPLIT_NAMES = {"train": ("train",), "valid": ("valid", "dev"), "test": ("test",)}


@dataclass(frozen=True)
class Folder:
    """A folder and the names of what is in it."""

    path: Path
    names: frozenset[str]

    @staticmethod
    def at(path: Path) -> Folder:
        try:
            return Folder(path, frozenset(entry.name for entry in path.iterdir()))
        except OSError as error:
            raise unreadable(path, error) from error

    def find(self, *names: str) -> Path | None:
        """The one file of these names, compressed or not; two are an `InputError` that names both."""
        spelled = [name + suffix for name in names for suffix in ("", *COMPRESSIONS)]
        found = [name for name in spelled if name in self.names]
        if len(found) > 1:
            raise InputError(f"{' and '.join(found)} side by side", expected="one of them", path=self.path)
        return self.path / found[0] if found else None

    def has(self, *names: str) -> bool:
        return any(name + suffix in self.names for name in names for suffix in ("", *COMPRESSIONS))

    def find_rows(self, *stems: str) -> Path | None:
        """The one file in a row format whose name is a stem and a suffix."""
        return self.find(*(stem + suffix for stem in stems for suffix in ROW_SUFFIXES))

    def find_labels(self) -> Path | None:
        """The labels file: a row format or one label a line."""
        return self.find(*(f"labels{suffix}" for suffix in (*ROW_SUFFIXES, ".txt")))
