"""The label correlation graph: seconds, labels a second and peak memory, and how they grow with the labels.

    .venv/bin/python benchmarks/bench_graph.py

The real labels of LF-AmazonTitles-131K, and synthetic matrices of one and three million labels: about two
labels a row and two rows a label, the labels of a row drawn near each other with odds that fall like Zipf's.
Each in a process of its own, so that its peak memory is its own; compilation is not part of the times.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time

import common
import numpy as np
from scipy import sparse

SYNTHETIC = {"synthetic-1m": 1_000_000, "synthetic-3m": 3_000_000}
REAL = "amazontitles131k-labels"
METHODS = ("walk", "series")
REPEATS = 3


def zipf_targets(labels: int) -> sparse.csr_array:
    """One row a label: a first label by Zipf's odds or evenly, and about one more from its neighbourhood."""
    random = np.random.Generator(np.random.Philox(key=1))
    rows = labels
    by_zipf = np.floor(labels ** random.random(rows)).astype(np.int64) % labels
    evenly = random.integers(0, labels, rows)
    first = np.where(random.random(rows) < 0.2, by_zipf, evenly)
    more = random.poisson(1.1, rows)
    row = np.concatenate([np.arange(rows), np.repeat(np.arange(rows), more)])
    near = np.repeat(first, more) + np.floor(50 ** random.random(more.sum())).astype(np.int64)
    pairs = sparse.coo_array(
        (np.ones(len(row), dtype=np.float32), (row, np.concatenate([first, near % labels]))),
        shape=(rows, labels),
    ).tocsr()
    pairs.sum_duplicates()
    pairs.data[:] = 1
    return pairs


def targets_of(name: str) -> sparse.csr_array:
    if name in SYNTHETIC:
        return zipf_targets(SYNTHETIC[name])
    from tailwright.data.formats.xc import read_label_matrix

    return read_label_matrix(common.data_folder() / name / "tst_X_Y.txt.gz")


def measured(name: str, method: str) -> dict[str, object]:
    from tailwright.labels import correlation_graph

    targets = targets_of(name)
    correlation_graph(targets[:1000], method=method)
    before = common.peak_rss_bytes()
    wall, processor = [], []
    for _ in range(REPEATS):
        graph = None  # the last one, else the peak would count two
        start, used = time.perf_counter(), time.process_time()
        graph = correlation_graph(targets, method=method)
        wall.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    return {
        "labels": graph.shape[0],
        "pairs": int(targets.nnz),
        "edges": int(graph.nnz),
        "seconds": round(min(wall), 3),
        "processor_seconds": round(min(processor), 3),
        "labels_a_second": round(graph.shape[0] / min(wall)),
        "peak_mb": round(common.peak_rss_bytes() / 2**20),
        "peak_mb_before": round(before / 2**20),
        "result_mb": round((graph.data.nbytes + graph.indices.nbytes + graph.indptr.nbytes) / 2**20, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", nargs=2, metavar=("DATA", "METHOD"), help="one measurement, in this process"
    )
    only = parser.parse_args().only
    if only:
        print(json.dumps(measured(*only)))
        return
    results: dict[str, dict[str, object]] = {}
    for name in (REAL, *SYNTHETIC):
        results[name] = {}
        for method in METHODS:
            command = [sys.executable, __file__, "--only", name, method]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            results[name][method] = json.loads(done.stdout)
    common.emit("graph", {"repeats": REPEATS, "results": results})


if __name__ == "__main__":
    main()
