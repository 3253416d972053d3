"""`linear` on one machine at any size: forecast and actual time and memory, and the rates to reckon with.

    .venv/bin/python benchmarks/bench_scale.py                                   # 3,000 and 12,000 labels
    .venv/bin/python benchmarks/bench_scale.py --labels 30000 120000 --predict 100000 1000000
    .venv/bin/python benchmarks/bench_scale.py --labels 120000 1900000 --rows 252000 4000000 --work FOLDER

Corpora are generated (`generated.py`), a shard of rows at a time, with 2.1 rows a label unless `--rows` says
how many each has. Every one is trained by `tailwright train` in a process of its own, and the model then
labels generated texts by `tailwright predict`, once for each number of `--predict`.

| reported | |
|---|---|
| `forecast_mb` | what the run logged before it trained anything, beside `peak_mb` |
| `forecast_cpu_seconds` | those of the corpus before it, times the ratio of the rows: linear growth |
| `bytes` | of the run folder: the classifiers (`forest`), the vocabulary (`features`) and all |
| `graph` | with `--graph`: edges and seconds of the label graph that augmentations take |
| `predicted` | rows a second, and the peak, which is not to depend on the rows |

The first run of a checkout compiles kernels: run the default first.
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
import pyarrow.parquet as pq
from bench_growth import trained
from generated import SHARD, Generated, write_in_shards

ROWS_A_LABEL = 2.1
K = 5


def sizes_of(run: Path) -> dict[str, int]:
    """Bytes of the parts of a run folder, by what they are of."""
    files = {path: path.stat().st_size for path in run.rglob("*") if path.is_file()}
    parts = {
        name: sum(size for path, size in files.items() if name in path.parts)
        for name in ("forest", "features", "labels")
    }
    return {**parts, "all": sum(files.values())}


def graph_of(corpus: Path) -> dict[str, float]:
    """The label graph of the training rows, in this process."""
    import tailwright as tw
    from tailwright.labels.correlation import GraphSettings
    from tailwright.labels.shared import graph_of_originals

    train = tw.read(corpus).train
    start = time.process_time()
    graph = graph_of_originals(train, GraphSettings())
    return {
        "cpu_seconds": round(time.process_time() - start, 2),
        "edges": int(graph.nnz),
        "edges_a_label": round(graph.nnz / train.labels, 2),
    }


def write_texts(path: Path, labels: int, rows: int, seed: int) -> None:
    """Texts to be labelled, a shard at a time."""
    made = Generated(labels, np.random.Generator(np.random.Philox(seed)))
    with pq.ParquetWriter(path, pa.schema([("text", pa.string())])) as writer:
        for number, start in enumerate(range(0, rows, SHARD)):
            random = np.random.Generator(np.random.Philox(key=[seed, 3], counter=[0, 0, number, 0]))
            writer.write_table(made.rows(min(SHARD, rows - start), random).select(["text"]))


def predicted(run: Path, texts: Path, rows: int) -> dict[str, Any]:
    """What labelling a file took."""
    answers = texts.with_name(f"answers-{rows}.parquet")
    command = [sys.executable, "-m", "tailwright", "predict", str(run), "--input", str(texts)]
    command += ["--out", str(answers), "--overwrite", "--k", str(K), "--quiet"]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    cpu = usage.ru_utime + usage.ru_stime
    assert pq.ParquetFile(answers).metadata.num_rows == rows
    return {
        "rows": rows,
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(cpu, 1),
        "rows_a_cpu_second": round(rows / cpu),
        "peak_mb": round(usage.ru_maxrss / 1024, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--labels", type=int, nargs="+", default=[3000, 12000], help="of each corpus")
    parser.add_argument("--rows", type=int, nargs="+", default=[], help="of each corpus; 2.1 a label without")
    parser.add_argument("--predict", type=int, nargs="*", default=[], help="rows to label with each model")
    parser.add_argument("--graph", action="store_true", help="make the label graph too")
    parser.add_argument("--trees", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, help="where corpora and runs are kept; without it, nowhere")
    asked = parser.parse_args()
    if asked.rows and len(asked.rows) != len(asked.labels):
        parser.error("as many numbers of rows as of labels are needed")
    sizes = asked.rows or [int(ROWS_A_LABEL * labels) for labels in asked.labels]
    options = ["--model", "linear", "--augment", "none", "--set", f"trees={asked.trees}", "--overwrite"]
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary:
        work = asked.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        for labels, rows in zip(asked.labels, sizes, strict=True):
            corpus, run = work / f"corpus-{labels}-{rows}", work / f"run-{labels}-{rows}"
            if not corpus.exists():
                write_in_shards(corpus, labels, rows, asked.seed)
            before = results[-1] if results else None
            found = {"labels": labels, "rows": rows, **trained(corpus, run, asked.threads, options)}
            if before is not None:
                found["forecast_cpu_seconds"] = round(before["cpu_seconds"] * rows / before["rows"], 1)
            found["rows_a_cpu_second"] = round(rows / found["cpu_seconds"])
            found["bytes"] = sizes_of(run)
            found["bytes_a_label"] = {name: round(size / labels) for name, size in found["bytes"].items()}
            if asked.graph:
                found["graph"] = graph_of(corpus)
            found["predicted"] = []
            for count in asked.predict:
                texts = work / f"texts-{labels}-{count}.parquet"
                if not texts.exists():
                    write_texts(texts, labels, count, asked.seed)
                found["predicted"].append(predicted(run, texts, count))
            results.append(found)
            print(json.dumps(found), file=sys.stderr, flush=True)
    common.emit("scale", {"threads": asked.threads, "trees": asked.trees, "results": results})


if __name__ == "__main__":
    main()
