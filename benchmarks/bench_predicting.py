"""Predicting for tables of n and of 4n rows: rows a second, and peak memory, which must not grow with them.

usage: bench_predicting.py [ROWS]

A `linear` of one tree, trained on the checks' tiny corpus, labels a made csv file. Each figure is that of a
process of its own: reading alone (both passes), and `tailwright predict --out` to csv and to Parquet. Peak
memory is that above what the process held after it had labelled a small file; Parquet adds one row group of
16,384 rows, so that fewer rows say nothing of its growth. Prints JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run as command
from tailwright.data.text_source import text_source

ROWS = 20_000
WAYS = ("reading", "csv", "parquet")


def write_rows(path: Path, rows: int) -> None:
    """A csv file of texts with ids: those of the tiny corpus, over and over, each with a number."""
    texts = tiny_corpus().train.texts.to_pylist()
    with path.open("w", encoding="utf-8") as file:
        file.write("id,text\n")
        file.writelines(f"row {row},{texts[row % len(texts)]} {row}\n" for row in range(rows))


def measured(way: str, run: str, source: str, out: str) -> dict[str, float]:
    """Seconds and peak memory of one way, in this process; a first small file makes all imports."""
    warm = Path(out).with_name(f"warm.{way}.csv")
    write_rows(warm, 600)
    label(way, run, str(warm), f"{warm}.out.{way}")
    held, start = common.peak_rss_bytes(), time.perf_counter()
    label(way, run, source, out)
    seconds, peak = time.perf_counter() - start, common.peak_rss_bytes()
    return {"seconds": seconds, "peak_mb": (peak - held) / 2**20, "whole_mb": peak / 2**20}


def label(way: str, run: str, source: str, out: str) -> None:
    if way != "reading":
        options = ["--overwrite", "--quiet", "--json", "--threads", "1"]
        if command(["predict", run, "--input", source, "--out", out, *options]):
            sys.exit("predict failed")
        return
    with text_source(source) as texts:
        for _ in texts.blocks():
            pass


def in_a_process(*arguments: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tw.train(tiny_corpus(), "linear", settings={"trees": 1}, out=folder / "run")
        result = {}
        for way in WAYS:
            found = {}
            for count in (rows, 4 * rows):
                source = folder / f"{count}.csv"
                write_rows(source, count)
                out = folder / f"labelled-{count}.{way}"
                found[count] = in_a_process(way, str(folder / "run"), str(source), str(out))
            few, many = found.values()
            result[way] = {
                "rows_a_second": {str(n): round(n / one["seconds"]) for n, one in found.items()},
                "peak_mb": {str(n): round(one["peak_mb"], 1) for n, one in found.items()},
                "memory_ratio": round(many["whole_mb"] / few["whole_mb"], 3),  # of the whole process
            }
    common.emit("predicting", {"model": "linear", **result})


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(json.dumps(measured(*sys.argv[1:])))
    else:
        main()
