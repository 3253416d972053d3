"""A folder of shards on its way: each is complete or absent, and so is the folder.

| in `OUT.partial` | holds |
|---|---|
| `asked.json` | a fingerprint of the input and of everything that was asked for |
| `shards/` | finished shards; with a manifest it becomes `OUT` |
| `done/` | a record for each finished shard, written after it |
| `under-way/` | what workers are writing, and a mark for each try of a shard, which a killed worker leaves |
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tailwright.runs.unfinished import partial_of
from tailwright.store import strict_json
from tailwright.store.errors import errors_of_writing
from tailwright.store.manifest import FORMAT_VERSION, MANIFEST, Manifest
from tailwright.store.placing import put_in_place, sync_folder

_RECORD = re.compile(r"[0-9]{6,}\.json")
_CHUNK = 1 << 20


@dataclass(frozen=True)
class ShardRecord:
    """What is known of a finished shard; `digest` is that of its rows (`tailwright.cluster.row_digest`)."""

    number: int
    name: str
    first_row: int
    rows: int
    labelled: int
    abstained: int
    bytes: int
    sha256: str
    digest: str

    def encode(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def decode(text: str) -> ShardRecord:
        return ShardRecord(**json.loads(text))


@dataclass(frozen=True)
class ShardFolder:
    """The work folder of `out`, whose shards have this suffix."""

    out: Path
    suffix: str

    @property
    def path(self) -> Path:
        return partial_of(self.out)

    @property
    def shards(self) -> Path:
        return self.path / "shards"

    @property
    def done(self) -> Path:
        return self.path / "done"

    @property
    def under_way(self) -> Path:
        return self.path / "under-way"

    def name_of(self, number: int) -> str:
        return f"part-{number:06d}{self.suffix}"

    def make(self) -> None:
        """Make the folders, and remove what killed workers left; for whoever holds the work folder."""
        with errors_of_writing(self.path):
            shutil.rmtree(self.under_way, ignore_errors=True)
            for folder in (self.shards, self.done, self.under_way):
                folder.mkdir(exist_ok=True)

    def tried(self, number: int) -> int:
        """Leave a mark that a shard is begun; gives how often it was begun before and not finished."""
        with errors_of_writing(self.under_way):
            before = 0
            while not _made(self._mark(number, before)):
                before += 1
        return before

    def ended(self, number: int) -> None:
        """Remove the marks of a shard that is done."""
        tries = 0
        while (mark := self._mark(number, tries)).exists():
            mark.unlink(missing_ok=True)
            tries += 1

    def _mark(self, number: int, before: int) -> Path:
        return self.under_way / f"{number:06d}.try-{before}"

    def put(self, number: int, write: Callable[[Path], None]) -> tuple[int, str]:
        """Write a shard to the disk, whole; gives its bytes and sha256.

        Two workers may write the same shard, if one was taken for dead: the last one stays; both are equal.
        """
        target = self.shards / self.name_of(number)
        with errors_of_writing(target):
            # Its suffix tells writers what to write.
            staged = self.under_way / f"{secrets.token_hex(4)}-{target.name}"
            write(staged)
            found = _on_disk(staged)
            staged.replace(target)
        return found

    def note(self, record: ShardRecord) -> None:
        """Keep the record of a shard that is in its place."""
        target = self.done / f"{record.number:06d}.json"
        with errors_of_writing(target):
            staged = self.under_way / f"{secrets.token_hex(4)}-{target.name}"
            staged.write_text(record.encode(), encoding="utf-8")
            staged.replace(target)

    def finished(self) -> dict[int, ShardRecord]:
        """The shards that are done, by number."""
        found = {}
        for path in self.done.iterdir():
            if _RECORD.fullmatch(path.name):
                record = ShardRecord.decode(path.read_text(encoding="utf-8"))
                file = self.shards / record.name
                if file.is_file() and file.stat().st_size == record.bytes:
                    found[record.number] = record
        return found

    def remove_unless_begun(self) -> None:
        """Remove a work folder in which no shard is done: nothing is left of a mistake."""
        if not self.finished():
            shutil.rmtree(self.path, ignore_errors=True)

    def finish(self, records: Iterable[ShardRecord], facts: dict[str, Any], overwrite: bool) -> None:
        """Write the manifest of all shards and put the folder in its place."""
        manifest = {
            "format": "tailwright",
            "version": FORMAT_VERSION,
            "kind": "predictions",
            "made_by": Manifest(kind="predictions", files={}).made_by,
            **facts,
            "shards": [
                {name: value for name, value in asdict(record).items() if name not in ("number", "digest")}
                for record in records
            ],
        }
        with errors_of_writing(self.out):
            staged = self.shards / MANIFEST
            staged.write_bytes(strict_json.encode(manifest))
            _on_disk(staged)
            sync_folder(self.shards)
            put_in_place(self.shards, Path(os.path.realpath(self.out)), overwrite)
            shutil.rmtree(self.path, ignore_errors=True)


def _made(mark: Path) -> bool:
    """Whether the file is new."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _on_disk(path: Path) -> tuple[int, str]:
    """The size and hash of a file, once it is on the disk."""
    digest = hashlib.sha256()
    with path.open("rb+") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
        os.fsync(file.fileno())
        return file.tell(), digest.hexdigest()
