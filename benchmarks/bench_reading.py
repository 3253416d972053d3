"""Reading yso-finna-en: against a plain loop over lines with json.loads that builds the same columns.

Target: at most a third of the loop's time, and a peak of at most 4 times the raw size of the files above what
the process held after its imports.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from pathlib import Path

import common
import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset
from tailwright.data.read import read

DATASET = "yso-finna-en"


def plain_loop(folder: Path) -> Corpus:
    """The same corpus, row by row."""
    ids, texts = [], []
    with gzip.open(folder / "labels.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            label = json.loads(line)
            ids.append(str(label["id"]))
            texts.append(label["text"])
    space = LabelSpace(pa.array(ids, pa.large_string()), pa.array(texts, pa.large_string()))
    train, test = (plain_split(folder / f"{name}.jsonl.gz", len(ids)) for name in ("train", "test"))
    return Corpus(train, space, test=test)


def plain_split(path: Path, labels: int) -> Dataset:
    texts, offsets, indices = [], [0], []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            texts.append(row["text"])
            indices.extend(row["labels"])
            offsets.append(len(indices))
    targets = sparse.csr_array(
        (np.ones(len(indices), dtype=np.float32), np.array(indices, dtype=np.int32), np.array(offsets)),
        shape=(len(texts), labels),
    )
    return Dataset(pa.array(texts, pa.large_string()), targets)


def resident_bytes() -> int:
    """What the process holds now (Linux: VmRSS)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("VmRSS is not in /proc/self/status")


def peak_over_baseline(folder: Path, way: str) -> int:
    """Peak memory of one reading in a process of its own, less what it held after its imports."""
    done = subprocess.run([sys.executable, __file__, way, folder], capture_output=True, text=True, check=True)
    return int(done.stdout)


def raw_bytes(folder: Path) -> int:
    """The uncompressed size of the files that are read."""
    return sum(len(gzip.decompress(path.read_bytes())) for path in folder.glob("*.jsonl.gz"))


WAYS = {"read": read, "loop": plain_loop}


def main() -> None:
    folder = common.data_folder() / DATASET
    corpus = read(folder)
    if not corpus.same_as(plain_loop(folder)):
        sys.exit("the two ways do not give the same corpus")
    rows = sum(len(split) for split in corpus.splits().values())
    seconds = common.interleaved({name: lambda way=way: way(folder) for name, way in WAYS.items()})
    cpu = {}
    for name, way in WAYS.items():
        start = time.process_time()
        way(folder)
        cpu[name] = time.process_time() - start
    raw = raw_bytes(folder)
    peaks = {name: peak_over_baseline(folder, name) for name in WAYS}
    common.emit(
        "reading",
        {
            "dataset": DATASET,
            "rows": rows,
            "seconds": {name: round(taken, 3) for name, taken in seconds.items()},
            "ratio": round(seconds["read"] / seconds["loop"], 3),
            "target_ratio": 0.333,
            "cpu_seconds": {name: round(taken, 3) for name, taken in cpu.items()},
            "rows_a_second": round(rows / seconds["read"]),
            "raw_bytes": raw,
            "peak_over_raw": {name: round(peak / raw, 2) for name, peak in peaks.items()},
            "target_peak_over_raw": 4,
        },
    )


if __name__ == "__main__":
    if len(sys.argv) == 3:
        before = resident_bytes()
        kept = WAYS[sys.argv[1]](Path(sys.argv[2]))
        print(common.peak_rss_bytes() - before)
    else:
        main()
