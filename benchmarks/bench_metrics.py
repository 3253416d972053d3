"""All metrics at 1, 3, 5 on the real LF-AmazonTitles-131K test labels, beside napkinXC's metric functions.

Rankings are the true labels mixed with wrong ones by a seeded draw. Both sides run in turn, each in its own
interpreter; napkinXC gets the input types that are fastest for it. Ours runs on 1 and on 2 threads.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common
import numba
import numpy as np
from scipy import sparse

from tailwright.data.formats.xc import read_filter_pairs, read_label_matrix
from tailwright.evaluation import f1_by_label, metrics_at_k, sliced_metrics, top_k_of_scores
from tailwright.labels import head_torso_tail, inverse_propensity
from tailwright.streams import stream

KS = (1, 3, 5)
REPEATS = 5
THREADS = tuple(count for count in (1, 2) if count <= numba.config.NUMBA_NUM_THREADS)


def perturbed(truth: sparse.csr_array, wrong: int, width: int) -> np.ndarray:
    """(rows, width) rankings: a true label gets a higher score than a wrong one in two of three cases."""
    rows, labels = truth.shape
    random = stream(0, "bench_metrics")
    noise = sparse.csr_array(
        (
            random.random(rows * wrong),
            random.integers(0, labels, rows * wrong),
            np.arange(0, rows * wrong + 1, wrong),
        ),
        shape=truth.shape,
    )
    noise.sum_duplicates()
    liked = sparse.csr_array(
        (2.0 * random.random(truth.nnz) + 1e-9, truth.indices, truth.indptr), shape=truth.shape
    )
    return top_k_of_scores(noise.maximum(liked), width).ids


class Peer:
    """napkinXC in its own interpreter, kept running so that each side can be timed in turn."""

    def __init__(self, folder: Path) -> None:
        python = common.peer_python("napkinxc", "napkinxc==0.7.2")
        script = Path(__file__).parent / "peers" / "napkinxc_metrics.py"
        self.process = subprocess.Popen(
            [python, script, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.types = self.answer()["types"]

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("napkinXC's process ended early")
        return json.loads(line)

    def run(self) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def hand_over(arrays: dict[str, np.ndarray]) -> Path:
    """Write the arrays where the peer's process reads them."""
    folder = common.WORK / "metrics"
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return folder


def on_threads(count: int, call: Callable[[], object]) -> Callable[[], object]:
    def run() -> object:
        numba.set_num_threads(count)
        return call()

    return run


def peak_megabytes(call: Callable[[], object]) -> float:
    """What a call allocates at its highest, over what was there before.

    Traced, not read from resident memory: that would not show arrays in pages freed by an earlier call.
    """
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return round(peak / 1e6, 1)


def differences(
    values: dict[str, list[float]], ids: np.ndarray, truth: sparse.csr_array, q: np.ndarray
) -> dict:
    """The largest difference over k of each metric, in points, after bringing F1 to napkinXC's convention."""
    ours = metrics_at_k(ids, truth, q, range(1, 6))
    f1 = f1_by_label(ids, truth, range(1, 6))
    # napkinXC divides by all label numbers up to the largest that occurs, whether they occur or not.
    largest = np.flatnonzero(~np.isnan(f1).all(axis=1))[-1]
    ours |= {f"F1-macro@{k}": float(np.nansum(f1[:, k - 1]) / (largest + 1)) for k in range(1, 6)}
    return {
        name: max(abs(ours[f"{name}@{k}"] - value) for k, value in enumerate(theirs, start=1))
        for name, theirs in values.items()
    }


def main() -> None:
    folder = common.data_folder() / "amazontitles131k-labels"
    truth = read_label_matrix(folder / "tst_X_Y.txt.gz")
    excluded = read_filter_pairs(folder / "tst_filter_labels.txt.gz", *truth.shape)
    weights = inverse_propensity(truth, a=0.6, b=2.6)
    wide = 5 + int(np.diff(excluded.indptr).max())
    ids = perturbed(truth, wrong=wide + 4, width=wide)
    five = np.ascontiguousarray(ids[:, :5])
    slices = head_torso_tail(np.bincount(truth.indices, minlength=truth.shape[1]))

    def everything() -> dict[str, float]:
        return metrics_at_k(five, truth, weights, KS)

    def everything_filtered() -> dict[str, float]:
        return metrics_at_k(ids, truth, weights, KS, excluded)

    def by_slice() -> dict[str, dict[str, float]]:
        return sliced_metrics(ids, truth, weights, slices, KS, excluded)

    for call in (everything, everything_filtered, by_slice):
        call()  # compile
    handed = hand_over({"ids": five, "indptr": truth.indptr, "indices": truth.indices, "weights": weights})
    peer = Peer(handed)
    answers: list[dict[str, Any]] = []
    runs: dict[str, Callable[[], object]] = {"napkinxc": lambda: answers.append(peer.run())}
    for count in THREADS:
        runs[f"ours, {count} thread(s)"] = on_threads(count, everything)
        runs[f"ours, filtered, {count} thread(s)"] = on_threads(count, everything_filtered)
        runs[f"ours, filtered and by slice, {count} thread(s)"] = on_threads(count, by_slice)
    seconds = common.interleaved(runs, REPEATS)
    peer.close()

    rows = truth.shape[0]
    half = rows // 2
    memory = {
        "all rows": peak_megabytes(everything),
        "half of the rows": peak_megabytes(lambda: metrics_at_k(five[:half], truth[:half], weights, KS)),
        "all rows, filtered": peak_megabytes(everything_filtered),
    }
    theirs = {
        name: statistics.median(answer["seconds"][name] for answer in answers)
        for name in answers[0]["seconds"]
    }
    common.emit(
        "metrics",
        {
            "rows": rows,
            "labels": truth.shape[1],
            "positives": truth.nnz,
            "ks": KS,
            "width of filtered rankings": wide,
            "seconds": seconds,
            "napkinxc seconds by function": theirs,
            "napkinxc seconds by input type": peer.types,
            "napkinxc / ours": {n: seconds["napkinxc"] / s for n, s in seconds.items() if n != "napkinxc"},
            "largest difference in points": differences(answers[0]["values"], five, truth, weights),
            "peak memory over baseline, MB": memory,
            "values": everything_filtered(),
        },
    )


if __name__ == "__main__":
    main()
