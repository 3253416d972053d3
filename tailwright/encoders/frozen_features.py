"""Features of a frozen encoder, computed once into a file that batches are then read from.

An encoder that is not trained gives the same features in every epoch; its dropout is off. The folder of a
file is named by a digest of all that decides on it: the encoder's weights, what it gives, the tokens of all
rows, the precision, the code.

| in the folder | holds |
|---|---|
| `features.npy` | (all tokens, width) where the encoder gives tokens, else (rows, width) |
| `blocks.json` | `Block` of each finished block of rows, null for the others |

A block is noted only when its bytes are on the disk, and what is noted is checked when the file is opened:
after a kill, or damage, the blocks that lack are computed, and no other. A block that a file beside it has is
copied from there: made rows stand behind the original ones, which are not read again for them.
"""

from __future__ import annotations

import hashlib
import io
import logging
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from tailwright.code_version import code_version
from tailwright.data.text.sequences import TokenRows
from tailwright.encoders.token_batches import chunks
from tailwright.encoders.transformer import TransformerEncoder
from tailwright.errors import TailwrightError
from tailwright.progress import progress
from tailwright.store import strict_json
from tailwright.store.errors import errors_of_reading, errors_of_writing
from tailwright.store.keeping import alone
from tailwright.store.npy import read_npy
from tailwright.store.placing import clear_remains
from tailwright.store.shared import content_key, shared_folder, spare
from tailwright.store.whole_file import write_whole

log = logging.getLogger(__name__)

Precision = Literal["float32", "float16"]

TOKENS_A_BLOCK = 1 << 14  # some seconds of work, which a kill may cost
TOKENS_A_PASS = 1 << 12  # that the encoder reads at once


@dataclass(frozen=True, eq=False)
class FrozenFeatures:
    """The features of rows; `offsets` says where each row's start in `vectors`, one or as many as tokens."""

    vectors: np.ndarray  # (stored, width) float32 or float16, mapped
    offsets: np.ndarray  # (rows + 1,) int64
    by_token: bool

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> np.ndarray:
        """(rows,) vectors of each row."""
        return np.diff(self.offsets)

    def batch(self, rows: np.ndarray) -> torch.Tensor:
        """Features of these rows in float32: (rows, width), or (rows, longest, width), zero behind a row."""
        if not self.by_token:
            return torch.from_numpy(self.vectors[rows].astype(np.float32, copy=False))
        lengths = self.lengths[rows]
        padded = np.zeros((len(rows), int(lengths.max(initial=0)), self.vectors.shape[1]), dtype=np.float32)
        for place, (row, length) in enumerate(zip(rows.tolist(), lengths.tolist(), strict=True)):
            start = self.offsets[row]
            padded[place, :length] = self.vectors[start : start + length]
        return torch.from_numpy(padded)

    def mask(self, rows: np.ndarray) -> torch.Tensor:
        """(rows, longest) bool: where `batch` holds a token's vector."""
        lengths = self.lengths[rows]
        return torch.from_numpy(np.arange(int(lengths.max(initial=0))) < lengths[:, None])


def frozen_features(
    encoder: TransformerEncoder, rows: TokenRows, folder: Path, *, precision: Precision = "float32"
) -> FrozenFeatures:
    """What `encoder` gives of these rows, from a file below `folder`, where what lacks of it is computed."""
    started = time.monotonic()
    encoder.eval()
    by_token = encoder.by_token
    offsets = rows.offsets if by_token else np.arange(len(rows) + 1, dtype=np.int64)
    by = _encoder_key(encoder, precision)
    place = folder / f"frozen-{content_key(by, rows.ids, rows.offsets)}"
    with alone(place):
        file = _File(place, (int(offsets[-1]), encoder.width), np.dtype(precision))
        blocks = _blocks(rows.offsets)
        noted = file.begin(len(blocks))
        clear_remains(place / "blocks.json")  # what a killed process left of its notes
        left, spared = [], 0.0
        for number, (first, last) in enumerate(blocks):
            found = noted[number]
            if found is None or found.digest != file.digest(offsets[first], offsets[last]):
                left.append(number)
            else:
                spared += found.seconds
        if folder == shared_folder():
            spare(spared - (time.monotonic() - started))
        done = len(rows) - sum(blocks[number][1] - blocks[number][0] for number in left)
        if done and left:
            log.info("features of %s rows are there already", f"{done:,}")
        elsewhere = _finished_elsewhere(place) if left else {}
        with progress("features", len(rows) - done) as advance:
            for number in left:
                first, last = blocks[number]
                started = time.monotonic()
                key, start = _block_key(by, rows, first, last), int(offsets[first])
                other = elsewhere.get(key)
                vectors = None if other is None else other.vectors(int(offsets[last]) - start)
                if vectors is None:
                    other, vectors = None, _narrowed(_encoded(encoder, rows, first, last), precision)
                digest = file.write(start, vectors)
                seconds = round(time.monotonic() - started, 3)
                if other is not None:
                    if folder == shared_folder():
                        spare(other.block.seconds - seconds)
                    seconds = other.block.seconds
                noted[number] = Block(key, start, digest, seconds)
                file.note(noted)
                advance(last - first)
        return FrozenFeatures(file.mapped(), offsets, by_token)


def _encoder_key(encoder: TransformerEncoder, precision: str) -> str:
    """All that decides on features, but for the tokens."""
    version = code_version(["tailwright.encoders.frozen_features"])
    return content_key(encoder.identity(), encoder.kind, precision, version)


def _block_key(by: str, rows: TokenRows, first: int, last: int) -> str:
    ids = rows.ids[rows.offsets[first] : rows.offsets[last]]
    return content_key(by, ids, rows.lengths[first:last])


def _blocks(offsets: np.ndarray) -> list[tuple[int, int]]:
    """(first, last) row of each block: as many rows as have `TOKENS_A_BLOCK` tokens, or one."""
    found, first, rows = [], 0, len(offsets) - 1
    while first < rows:
        last = int(np.searchsorted(offsets, offsets[first] + TOKENS_A_BLOCK, side="right")) - 1
        last = max(last, first + 1)
        found.append((first, last))
        first = last
    return found


@torch.no_grad()
def _encoded(encoder: TransformerEncoder, rows: TokenRows, first: int, last: int) -> np.ndarray:
    """The features of rows first..last, end to end; only these decide on their bits."""
    lengths = rows.lengths[first:last]
    each: list[np.ndarray] = [np.empty(0)] * (last - first)
    for places in chunks(lengths, TOKENS_A_PASS):
        states = encoder(rows.batch(first + places)).states.cpu().numpy()
        for place, features in zip(places.tolist(), states, strict=True):
            each[place] = features[: lengths[place]] if encoder.by_token else features[None]
    return np.concatenate(each)


def _narrowed(vectors: np.ndarray, precision: Precision) -> np.ndarray:
    with np.errstate(over="ignore"):  # said below
        narrow = vectors.astype(precision)
    if not bool(np.isfinite(narrow).all()):
        raise TailwrightError(f"the encoder gives features that are not finite in {precision}")
    return narrow


class Block(NamedTuple):
    """What is noted of a block of rows that is finished."""

    key: str  # of all that decides on its features
    start: int  # the place of its first vector
    digest: str  # of its bytes
    seconds: float  # that it took


@dataclass(frozen=True)
class _Elsewhere:
    """A finished block of another file."""

    folder: Path
    block: Block

    def vectors(self, count: int) -> np.ndarray | None:
        """Its vectors, (count, width); None if they are not what was noted."""
        try:
            every = np.load(self.folder / "features.npy", mmap_mode="r")
            found = np.array(every[self.block.start : self.block.start + count])
        except (OSError, ValueError):
            return None
        return found if _digest(found.tobytes()) == self.block.digest else None


def _finished_elsewhere(place: Path) -> dict[str, _Elsewhere]:
    """The finished blocks of the files beside this one, by key."""
    found = {}
    for path in sorted(place.parent.glob("frozen-*/blocks.json")):
        if path.parent != place:
            noted = [block for block in _read_notes(path) or () if block is not None]
            found.update({block.key: _Elsewhere(path.parent, block) for block in noted})
    return found


def _read_notes(path: Path) -> list[Block | None] | None:
    try:
        found: Any = strict_json.decode(path.read_bytes())
        return [
            None if each is None else Block(str(each[0]), int(each[1]), str(each[2]), float(each[3]))
            for each in found
        ]
    except (OSError, ValueError, TypeError, LookupError):
        return None


class _File:
    """The two files of a folder; see the module."""

    def __init__(self, folder: Path, shape: tuple[int, int], dtype: np.dtype) -> None:
        self.folder, self.shape, self.dtype = folder, shape, dtype
        self.path = folder / "features.npy"
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": dtype.str, "fortran_order": False, "shape": shape}
        )
        self.header = header.getvalue()
        self.line = shape[1] * dtype.itemsize

    def begin(self, blocks: int) -> list[Block | None]:
        """What is noted of the blocks; what is no file of this shape is begun anew, with nothing."""
        size = len(self.header) + math.prod(self.shape) * self.dtype.itemsize
        noted = _read_notes(self.folder / "blocks.json")
        if noted is not None and len(noted) == blocks and self._fits(size):
            return noted
        with errors_of_writing(self.path):
            self.folder.mkdir(parents=True, exist_ok=True)
            with self.path.open("wb") as file:
                file.write(self.header)
                file.truncate(size)
        return [None] * blocks

    def digest(self, start: int, end: int) -> str:
        """Of the bytes of the vectors start..end as they are on the disk."""
        with errors_of_reading(self.path), self.path.open("rb") as file:
            file.seek(len(self.header) + int(start) * self.line)
            return _digest(file.read((int(end) - int(start)) * self.line))

    def write(self, start: int, vectors: np.ndarray) -> str:
        """Put the vectors to their place, down to the disk, and give their digest."""
        content = np.ascontiguousarray(vectors).tobytes()
        with errors_of_writing(self.path), self.path.open("r+b") as file:
            file.seek(len(self.header) + int(start) * self.line)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return _digest(content)

    def note(self, noted: Sequence[Block | None]) -> None:
        """Keep which blocks are finished."""
        write_whole(self.folder / "blocks.json", strict_json.encode(list(noted), indent=None))

    def mapped(self) -> np.ndarray:
        """The whole array, read-only; its pages are read when they are used."""
        return read_npy(self.path, dtype=self.dtype, shape=self.shape, mmap=True)

    def _fits(self, size: int) -> bool:
        try:
            with self.path.open("rb") as file:
                return os.fstat(file.fileno()).st_size == size and file.read(len(self.header)) == self.header
        except OSError:
            return False


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
