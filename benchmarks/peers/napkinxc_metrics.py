"""napkinXC's metric functions on rankings and truth given as npy files; run by its own interpreter.

Reads the folder from the command line, finds the input types that are fastest for it, then answers each line
on stdin with the seconds of every function and the values at every k, as one JSON line.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from napkinxc import metrics
from scipy.sparse import csr_matrix

K = 5


def main(folder: Path) -> None:
    parts = {name: np.load(folder / f"{name}.npy") for name in ("ids", "indptr", "indices", "weights")}
    rows, labels = len(parts["ids"]), len(parts["weights"])
    ids, indptr, indices = parts["ids"], parts["indptr"], parts["indices"]
    truths = {
        "list": [row.tolist() for row in np.split(indices, indptr[1:-1])],
        "csr": csr_matrix((np.ones(len(indices), dtype=np.float32), indices, indptr), shape=(rows, labels)),
    }
    falling = np.tile(np.arange(K, 0, -1, dtype=np.float32), rows)
    ranked = csr_matrix((falling, ids.ravel(), np.arange(0, rows * K + 1, K)), shape=(rows, labels))
    predictions = {"list": ids.tolist(), "csr": ranked}
    weights = {"array": parts["weights"], "dict": dict(enumerate(parts["weights"].tolist()))}

    taken = {
        f"{t} {p}": timed(metrics.precision_at_k, truths[t], predictions[p], k=K)[0]
        for t in truths
        for p in predictions
    }
    truth_type, prediction_type = min(taken, key=taken.__getitem__).split()
    y, p = truths[truth_type], predictions[prediction_type]
    weight_taken = {w: timed(metrics.psprecision_at_k, y, p, weights[w], k=K)[0] for w in weights}
    q = weights[min(weight_taken, key=weight_taken.__getitem__)]
    types = {"truth and prediction": taken, "weights": weight_taken}
    print(json.dumps({"types": types}), flush=True)

    for _ in sys.stdin:
        runs = {
            "P": timed(metrics.precision_at_k, y, p, k=K),
            "nDCG": timed(metrics.ndcg_at_k, y, p, k=K),
            "PSP": timed(metrics.psprecision_at_k, y, p, q, k=K),
            "PSnDCG-xclib": timed(metrics.psndcg_at_k, y, p, q, k=K),
            "R": timed(metrics.recall_at_k, y, p, k=K),
            "F1-macro": timed(metrics.macro_f1_measure_at_k, y, p, k=K),
            "Coverage": timed(metrics.coverage_at_k, y, p, k=K),
        }
        seconds = {name: run[0] for name, run in runs.items()}
        values = {name: (100 * np.asarray(run[1])).tolist() for name, run in runs.items()}
        print(json.dumps({"seconds": seconds, "values": values}), flush=True)


def timed(function, *arguments, **options):
    start = time.perf_counter()
    value = function(*arguments, **options)
    return time.perf_counter() - start, value


if __name__ == "__main__":
    main(Path(sys.argv[1]))
