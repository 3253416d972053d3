"""A small corpus out of the first rows of a large one, as files."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any


def write_sample(source: Path, target: Path, rows: int, *, validation: bool = False) -> None:
    """The first rows of each split as a corpus of their own, with the labels that these rows name.

    First rows, not random ones: neighbours in the file share labels, as rows of a full corpus do.
    """
    train, test = (
        _first(source / "train.jsonl.gz", rows + rows // 10),
        _first(source / "test.jsonl.gz", rows // 3),
    )
    splits = {"train": train[:rows], "test": test}
    if validation:
        splits["valid"] = train[rows:]
    named = {label for row in [*train, *test] for label in row["labels"]}
    labels = [label for label in _first(source / "labels.jsonl.gz") if label["id"] in named]
    target.mkdir()
    for name, lines in {**splits, "labels": labels}.items():
        for line in lines:
            if line.get("self") not in named:
                line.pop("self", None)
        (target / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def _first(path: Path, count: int | None = None) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for _, line in zip(range(count or sys.maxsize), lines, strict=False)]
