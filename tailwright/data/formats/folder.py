"""The files in a user's folder, found by name, compressed or not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tailwright.data.formats.source import COMPRESSIONS, unreadable
from tailwright.errors import InputError

ROW_SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
# The names that people give to the files of each split.
SPLIT_NAMES = {"train": ("train",), "valid": ("valid", "dev"), "test": ("test",)}


@dataclass(frozen=True)
class Folder:
    """A folder and the names of the files in it."""

    path: Path
    names: frozenset[str]

    @staticmethod
    def at(path: Path) -> Folder:
        try:
            return Folder(path, frozenset(entry.name for entry in path.iterdir()))
        except OSError as error:
            raise unreadable(path, error) from error

    def find(self, *names: str) -> Path | None:
        """The one file with one of these names, compressed or not; an `InputError` if there are two."""
        spelled = [name + suffix for name in names for suffix in ("", *COMPRESSIONS)]
        present = [name for name in spelled if name in self.names]
        if len(present) > 1:
            raise InputError(f"{' and '.join(present)} side by side", expected="one of them", path=self.path)
        return self.path / present[0] if present else None

    def has(self, *names: str) -> bool:
        return any(name + suffix in self.names for name in names for suffix in ("", *COMPRESSIONS))

    def find_rows(self, *stems: str) -> Path | None:
        """The one file in a row format with one of these stems as its name."""
        return self.find(*(stem + suffix for stem in stems for suffix in ROW_SUFFIXES))

    def find_labels(self) -> Path | None:
        """The labels file: in a row format, or one label per line."""
        return self.find(*(f"labels{suffix}" for suffix in (*ROW_SUFFIXES, ".txt")))
