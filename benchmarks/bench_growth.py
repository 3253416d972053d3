"""How time and memory of the default model grow with the number of labels, on generated corpora.

    .venv/bin/python benchmarks/bench_growth.py 30000 120000 [--threads 1] [--work FOLDER]
    .venv/bin/python benchmarks/bench_growth.py --corpus shared/data/winapi-seealso

A corpus of L labels has 1.6 L training rows with two positives a label on average. Labels come in topics; a
label's text has words of its topic and of its own. A row's text has some words of its labels' texts, some
that only rows of these labels have, and words that mean nothing, so both matching and learning have something
to find. Counts of labels and words follow Zipf's law, and the vocabulary grows as Heaps' law says.

Each corpus is trained by `tailwright train` in a process of its own. Reported are its seconds, CPU seconds
and peak memory beside the peak that the run logged before it trained anything, the seconds and peak of each
phase, and metrics on generated test rows. The first run of a checkout compiles kernels, which takes time and
memory: run a small size first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import common
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROWS_A_LABEL = 1.6
SECOND_LABEL = 0.25  # share of rows with two labels: two positives a label in all
ZIPF = 0.7  # the frequency of the label of rank r is in proportion to r ** -ZIPF
TOPIC = 50  # labels of a topic
TEST_ROWS = 2000
SYLLABLES = np.array(
    [c + v for c in "bcdfghjklmnprstvwz" for v in ("a", "e", "i", "o", "u", "an", "er", "il")]
)


def words_of(ids: np.ndarray) -> pa.Array:
    """The word of each number: two to four syllables, more for larger numbers."""
    base = len(SYLLABLES)
    scattered = (ids * 7919 + 13) % base**4  # neighbours among numbers do not look alike
    digits = [np.char.add(SYLLABLES[scattered % base], SYLLABLES[scattered // base % base])]
    third, fourth = SYLLABLES[scattered // base**2 % base], SYLLABLES[scattered // base**3 % base]
    digits.append(np.where(ids % 8 < 7, third, ""))
    digits.append(np.where(ids % 8 < 3, fourth, ""))
    return pa.array(np.char.add(np.char.add(digits[0], digits[1]), digits[2]), type=pa.string())


def texts_of(words: np.ndarray, vocabulary: int) -> pa.Array:
    """A text for each row of `words` (rows, places), numbers of words or -1 for none."""
    held = words >= 0
    ends = np.concatenate([[0], np.cumsum(held.sum(axis=1))])
    every = words_of(np.arange(vocabulary)).take(pa.array(words[held]))
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(ends, pa.int32()), every), " ")


def zipf(random: np.random.Generator, count: int, shape: tuple[int, ...], power: float) -> np.ndarray:
    """Numbers below `count`, that of rank r drawn in proportion to (r + 1) ** -power."""
    uniform = random.random(shape)
    if power == 1:
        drawn = (count + 1) ** uniform
    else:
        drawn = (uniform * ((count + 1) ** (1 - power) - 1) + 1) ** (1 / (1 - power))
    return np.minimum(drawn.astype(np.int64) - 1, count - 1)


def write_corpus(folder: Path, labels: int, seed: int) -> None:
    """train, test and labels as Parquet."""
    random = np.random.Generator(np.random.Philox(seed))
    vocabulary = int(40 * labels**0.7)
    topic_words = zipf(random, vocabulary, (labels // TOPIC + 1, 12), 1)
    topic = np.arange(labels) // TOPIC
    own = zipf(random, vocabulary, (labels, 3), 0.6)
    own[random.random((labels, 3)) > [1, 0.7, 0.3]] = -1
    of_topic = topic_words[topic[:, None], random.integers(0, 12, (labels, 2))]
    label_words = np.concatenate([of_topic, own], axis=1)  # (labels, 5)
    only_in_rows = zipf(random, vocabulary, (labels, 2), 0.6)
    signs = np.concatenate([label_words, only_in_rows], axis=1)  # (labels, 7)
    by_rank = random.permutation(labels)  # frequent labels lie in all topics
    names = pa.array(np.char.add("L", np.arange(labels).astype(str)))

    def rows(count: int) -> pa.Table:
        first = by_rank[zipf(random, labels, (count,), ZIPF)]
        second = np.minimum(first // TOPIC * TOPIC + random.integers(0, TOPIC, count), labels - 1)
        two = (random.random(count) < SECOND_LABEL) & (second != first)
        shown = np.concatenate([signs[first], np.where(two[:, None], signs[second], -1)], axis=1)
        shown[random.random(shown.shape) > 0.6] = -1
        words = np.concatenate([shown, zipf(random, vocabulary, (count, 3), 1)], axis=1)
        ends = np.concatenate([[0], np.cumsum(1 + two)])
        pairs = np.stack([first, second], axis=1)[np.stack([np.ones(count, bool), two], axis=1)]
        lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), names.take(pa.array(pairs)))
        return pa.table({"text": texts_of(words, vocabulary), "labels": lists})

    folder.mkdir(parents=True)
    pq.write_table(
        pa.table({"id": names, "text": texts_of(label_words, vocabulary)}), folder / "labels.parquet"
    )
    pq.write_table(rows(int(ROWS_A_LABEL * labels)), folder / "train.parquet")
    pq.write_table(rows(TEST_ROWS), folder / "test.parquet")


def trained(corpus: Path, run: Path, threads: int, options: list[str]) -> dict[str, Any]:
    """What one training took and gave."""
    command = [sys.executable, "-m", "tailwright", "train", str(corpus), "--out", str(run)]
    command += ["--threads", str(threads), "--json", "--quiet", *options]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    result = json.loads(printed.splitlines()[-1])
    events = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    forecasts = [event["expected_peak_mb"] for event in events if event["event"] == "memory"]
    peak = result["peak_rss_mb"]
    return {
        "model": result["model"],
        "seconds": round(seconds, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_mb": peak,
        "forecast_mb": forecasts[0],
        "forecast_to_peak": round(forecasts[0] / peak, 3),
        "forecasts_of_parts_mb": forecasts[1:],
        "metrics": {
            name: round(value, 2) for name, value in result["metrics"].items() if name in ("P@1", "PSP@5")
        },
        "phases": [
            {"phase": event["phase"], "seconds": event["seconds"], "peak_mb": event["peak_rss_mb"]}
            for event in events
            if event["event"] == "end"
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("labels", type=int, nargs="*", help="sizes of generated corpora")
    parser.add_argument(
        "--corpus", type=Path, action="append", default=[], help="a real corpus, measured too"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="of the generated corpora")
    parser.add_argument("--work", type=Path, help="where corpora and runs are kept; without it, nowhere")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="as for train")
    asked = parser.parse_args()
    options = [word for assignment in asked.set for word in ("--set", assignment)]
    with tempfile.TemporaryDirectory() as temporary:
        work = asked.work or Path(temporary)
        results = []
        for labels in asked.labels:
            corpus = work / f"corpus-{labels}-{asked.seed}"
            if not corpus.exists():
                write_corpus(corpus, labels, asked.seed)
            run = work / f"run-{labels}-{asked.seed}"
            results.append(
                {"labels": labels, **trained(corpus, run, asked.threads, [*options, "--overwrite"])}
            )
            print(json.dumps(results[-1]), file=sys.stderr)
        for corpus in asked.corpus:
            run = work / f"run-{corpus.name}"
            results.append(
                {"corpus": corpus.name, **trained(corpus, run, asked.threads, [*options, "--overwrite"])}
            )
            print(json.dumps(results[-1]), file=sys.stderr)
    common.emit("growth", {"threads": asked.threads, "results": results})


if __name__ == "__main__":
    main()
