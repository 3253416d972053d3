"""`Passages`: texts to be masked, what stands before each unmasked, and the rows that they come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.store.shared import content_key


@dataclass(frozen=True, eq=False)
class Passages:
    """Columns of equal length. `labels` are the names of a row's labels, or empty."""

    texts: pa.LargeStringArray
    labels: pa.LargeStringArray
    rows: np.ndarray  # (passages,) int64: the numbers of their streams

    def __post_init__(self) -> None:
        if not len(self.texts) == len(self.labels) == len(self.rows):
            raise ValueError(f"{len(self.texts)} texts, {len(self.labels)} labels, {len(self.rows)} rows")

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, places: np.ndarray) -> Passages:
        """The passages at these places, in their order."""
        chosen = pa.array(places)
        return Passages(self.texts.take(chosen), self.labels.take(chosen), self.rows[places])

    def key(self) -> str:
        """A digest of the contents."""
        return content_key(self.texts, self.labels, self.rows)


def label_lines(
    names: Sequence[str],
    counts: np.ndarray,
    targets: sparse.csr_array,
    tokens: Callable[[Sequence[str]], Sequence[Sequence[int]]],
    most_tokens: int,
) -> list[str]:
    """For each row of `targets` the names of its labels, rarest first: `name and name :`.

    Underscores become spaces. A name that no longer fits into `most_tokens` is passed over, and so is an
    empty one; a row without any name gets an empty line. `tokens` are those of texts; labels' `counts` are
    how many rows they have.
    """
    plain = [" ".join(name.replace("_", " ").split()) for name in names]
    sizes = [len(of_name) for of_name in tokens([*plain, "and", ":"])]
    *of_names, joint, colon = sizes
    lines = []
    for start, end in zip(targets.indptr, targets.indptr[1:], strict=False):
        columns = targets.indices[start:end]
        chosen: list[str] = []
        left = most_tokens - colon
        for column in columns[np.lexsort((columns, counts[columns]))].tolist():
            needed = of_names[column] + (joint if chosen else 0)
            if plain[column] and needed <= left:
                chosen.append(plain[column])
                left -= needed
        lines.append(f"{' and '.join(chosen)} :" if chosen else "")
    return lines
