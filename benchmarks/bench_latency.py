"""Answers of a trained default model: milliseconds of a single query, queries a second in batches.

usage: bench_latency.py [DATASET] [MODEL]

Trains the default of the corpus, or the model named, then asks for five labels of test rows from raw
text: one at a time, and all at once. Prints JSON.
"""

from __future__ import annotations

import statistics
import sys
import time

import common

import tailwright as tw
from tailwright.runs.choice import choose

SINGLE, WARM, K = 1000, 50, 5


def main() -> None:
    dataset = sys.argv[1] if len(sys.argv) > 1 else "winapi-seealso"
    corpus = tw.read(common.data_folder() / dataset)
    chosen = choose(corpus, sys.argv[2] if len(sys.argv) > 2 else "auto", ("none",))
    run = tw.train(corpus, chosen.model)
    texts = corpus.splits()["test"].texts.to_pylist()
    for text in texts[:WARM]:
        run.predict([text], K)
    taken = []
    for text in texts[:SINGLE]:
        start = time.perf_counter()
        run.predict([text], K)
        taken.append(1000 * (time.perf_counter() - start))
    start = time.perf_counter()
    run.predict(texts, K)
    seconds = time.perf_counter() - start
    common.emit(
        "latency",
        {
            "dataset": dataset,
            "model": chosen.model,
            "labels": len(corpus.labels),
            "single_ms": {
                "median": round(statistics.median(taken), 2),
                "95%": round(statistics.quantiles(taken, n=20)[-1], 2),
            },
            "batch_queries_a_second": round(len(texts) / seconds),
        },
    )


if __name__ == "__main__":
    main()
