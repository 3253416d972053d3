"""Train one peer on sparse features and rank the test rows; runs in the peer's own environment.

usage: linear_peers.py PEER FOLDER WIDTH THREADS

FOLDER holds train and test features and training labels as CSR parts in npy files, and `train.txt` in the
extreme-classification repository's format. Writes `top.npy` (rows, WIDTH) there and prints one line of JSON.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np


def omikuji(folder: Path, width: int, threads: int, bonsai: bool) -> dict[str, float]:
    import omikuji as peer

    settings = peer.Model.default_hyper_param()
    if bonsai:  # the settings that its own documentation gives for Bonsai-like trees
        settings.cluster_k = 100
        settings.cluster_balanced = False
        settings.max_depth = 3
    start = time.perf_counter()
    model = peer.Model.train_on_data(str(folder / "train.txt"), settings, n_threads=threads)
    trained = time.perf_counter() - start
    indptr, indices, data = csr_arrays(folder, "test")
    model.init_prediction_thread_pool(1)
    top = np.full((len(indptr) - 1, width), -1, dtype=np.int32)

    def rank(row: int) -> None:
        part = slice(indptr[row], indptr[row + 1])
        pairs = list(zip(indices[part].tolist(), data[part].tolist(), strict=True))
        labels = [label for label, _ in model.predict(pairs, beam_size=10, top_k=width)]
        top[row, : len(labels)] = labels

    start = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(rank, range(len(top)), chunksize=256))
    predicted = time.perf_counter() - start
    np.save(folder / "top.npy", top)
    model.save(str(folder / "model"))
    return {"train_seconds": trained, "predict_seconds": predicted}


def napkinxc(folder: Path, width: int, threads: int) -> dict[str, float]:
    from napkinxc.models import PLT
    from scipy import sparse

    train, labels, test = (matrix(sparse.csr_matrix, folder, name) for name in ("train", "labels", "test"))
    rows = [labels.indices[a:b].tolist() for a, b in zip(labels.indptr, labels.indptr[1:], strict=False)]
    model = PLT(str(folder / "model"), threads=threads, seed=0, verbose=0)
    start = time.perf_counter()
    model.fit(train, rows)
    trained = time.perf_counter() - start
    start = time.perf_counter()
    ranked = model.predict(test, top_k=width)
    predicted = time.perf_counter() - start
    save_lists(folder, ranked, width)
    return {"train_seconds": trained, "predict_seconds": predicted}


def pecos(folder: Path, width: int, threads: int) -> dict[str, float]:
    from pecos.xmc import Indexer, LabelEmbeddingFactory
    from pecos.xmc.xlinear.model import XLinearModel
    from scipy import sparse

    train, labels, test = (matrix(sparse.csr_matrix, folder, name) for name in ("train", "labels", "test"))
    labels = labels.astype(np.float32)
    start = time.perf_counter()
    clusters = Indexer.gen(LabelEmbeddingFactory.create(labels, train), threads=threads)
    model = XLinearModel.train(train, labels, C=clusters, threads=threads)
    trained = time.perf_counter() - start
    start = time.perf_counter()
    found = model.predict(test, only_topk=width, threads=threads)
    predicted = time.perf_counter() - start
    ranked = []
    for first, end in zip(found.indptr, found.indptr[1:], strict=False):
        order = np.argsort(-found.data[first:end], kind="stable")
        ranked.append(found.indices[first:end][order].tolist())
    save_lists(folder, ranked, width)
    model.save(str(folder / "model"))
    return {"train_seconds": trained, "predict_seconds": predicted}


def libmultilabel(folder: Path, width: int, threads: int) -> dict[str, float]:
    import libmultilabel.linear as peer
    from scipy import sparse

    train, labels, test = (matrix(sparse.csr_matrix, folder, name) for name in ("train", "labels", "test"))
    start = time.perf_counter()
    model = peer.train_tree(labels, train, f"-s 2 -B 1 -e 0.0001 -q -m {threads}", verbose=False)
    trained = time.perf_counter() - start
    start = time.perf_counter()
    top = np.full((test.shape[0], width), -1, dtype=np.int32)
    for first in range(0, test.shape[0], 256):
        scores = peer.predict_values(model, test[first : first + 256])
        best = np.argsort(-scores, axis=1, kind="stable")[:, :width]
        top[first : first + len(best), : best.shape[1]] = best
    predicted = time.perf_counter() - start
    np.save(folder / "top.npy", top)
    weights = model.flat_model.weights if hasattr(model, "flat_model") else None
    if weights is not None and hasattr(weights, "data"):
        (folder / "model").mkdir(exist_ok=True)
        np.save(folder / "model" / "weights.npy", np.asarray(weights.data))
    return {"train_seconds": trained, "predict_seconds": predicted}


PEERS = {
    "omikuji-parabel": lambda *a: omikuji(*a, bonsai=False),
    "omikuji-bonsai": lambda *a: omikuji(*a, bonsai=True),
    "pecos-xlinear": pecos,
    "napkinxc-plt": napkinxc,
    "libmultilabel-tree": libmultilabel,
}


def csr_arrays(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    indptr, indices, data = (np.load(folder / f"{name}.{part}.npy") for part in ("indptr", "indices", "data"))
    return indptr, indices, data


def matrix(kind: type, folder: Path, name: str):
    indptr, indices, data = csr_arrays(folder, name)
    return kind((data, indices, indptr), shape=tuple(np.load(folder / f"{name}.shape.npy")))


def save_lists(folder: Path, ranked: list[list[int]], width: int) -> None:
    top = np.full((len(ranked), width), -1, dtype=np.int32)
    for row, labels in enumerate(ranked):
        top[row, : len(labels)] = labels[:width]
    np.save(folder / "top.npy", top)


def main() -> None:
    name, folder, width, threads = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    shutil.rmtree(folder / "model", ignore_errors=True)
    result = PEERS[name](folder, width, threads)
    files = [f for f in (folder / "model").rglob("*") if f.is_file()] if (folder / "model").exists() else []
    result["model_mb"] = sum(f.stat().st_size for f in files) / 1e6
    # Not getrusage: that counts what the process which started this one held at the time.
    status = Path("/proc/self/status").read_text()
    result["peak_rss_mb"] = int(status.split("VmHWM:")[1].split()[0]) / 1024
    print(json.dumps(result))


if __name__ == "__main__":
    main()
