"""The model `linear` on a real dataset: seconds of training, quality, size on disk, queries a second.

    .venv/bin/python benchmarks/bench_linear.py winapi-seealso [--self-rows] [--set trees=5]...

`--self-rows` appends the label texts as rows annotated with themselves. Kernels are compiled on a toy corpus
before the clock starts. The load of the machine is printed, for the times mean little beside other work.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import common


def with_self_rows(corpus: Any) -> Any:
    import numpy as np
    from scipy import sparse

    from tailwright.data import Dataset, Origin

    labels = len(corpus.labels)
    one_hot = sparse.csr_array(sparse.eye_array(labels, format="csr", dtype=np.float32))
    rows = Dataset(corpus.labels.texts, one_hot, origin=Origin.made_by("self", np.arange(labels)))
    return corpus.with_train(Dataset.concat([corpus.train, rows]))


def main() -> None:
    import tailwright as tw
    from tailwright.checks.corpora import tiny_corpus

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset")
    parser.add_argument("--self-rows", action="store_true")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    asked = parser.parse_args()
    settings = dict(pair.split("=", 1) for pair in asked.set)

    small = tiny_corpus()
    cut = {**settings, "cluster_size": "3", "branching": "3"}
    tw.train(small, "linear", settings=cut).model.predict(small.train.texts, 5)

    corpus = tw.read(common.data_folder() / asked.dataset)
    if asked.self_rows:
        corpus = with_self_rows(corpus)
    start, cpu = time.perf_counter(), time.process_time()
    run = tw.train(corpus, "linear", settings=settings)
    training, training_cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = common.peak_rss_bytes()

    test = corpus.test
    start = time.perf_counter()
    run.model.predict(test.texts, 10)
    batch = time.perf_counter() - start
    single = []
    for text in test.texts.slice(0, 500).to_pylist():
        start = time.perf_counter()
        run.model.predict([text], 10)
        single.append(time.perf_counter() - start)
    metrics = tw.evaluate(run, test)
    with tempfile.TemporaryDirectory() as parent:
        run.save(Path(parent) / "run")
        size = sum(
            file.stat().st_size for file in (Path(parent) / "run" / "model").rglob("*") if file.is_file()
        )
    common.emit(
        "linear",
        {
            "dataset": asked.dataset,
            "self_rows": asked.self_rows,
            "settings": settings,
            "rows": len(corpus.train),
            "labels": len(corpus.labels),
            "train_seconds": round(training, 2),
            "train_cpu_seconds": round(training_cpu, 2),
            "peak_rss_mb": round(peak / 2**20),
            "model_mb": round(size / 1e6, 1),
            "queries_a_second": round(len(test) / batch),
            "one_query_ms": round(1000 * statistics.median(single), 3),
            "metrics": {
                f"{name}@{k}": round(metrics[f"{name}@{k}"], 2) for name in ("P", "PSP") for k in (1, 3, 5)
            },
            "load": os.getloadavg()[0],
        },
    )


if __name__ == "__main__":
    main()
