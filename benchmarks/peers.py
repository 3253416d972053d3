"""Ours beside omikuji, PECOS, napkinXC, LibMultiLabel and TF-IDF matching: same split, threads, one run.

usage: peers.py [--datasets NAME,...] [--systems NAME,...] [--threads N] [--out FILE.jsonl]

Peers get TF-IDF unigrams (ours, equal to scikit-learn's), plain and with label texts appended as rows that
are annotated with themselves ("+self"). Ours are trained by the command line, each in a process of its own.
All rankings are scored by the same metrics, excluded pairs left out. Prints JSON. With --out, every result is
appended to the file as it comes, and what is in there already is not run again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import common
import numpy as np
from scipy import sparse

import tailwright as tw
from tailwright.data import Dataset, Origin
from tailwright.data.pairs import pairs_from_arrays
from tailwright.data.text.tfidf import TfIdf
from tailwright.evaluation import metrics_at_k
from tailwright.labels import PROPENSITY_PRESETS

DATASETS = (
    "winapi-seealso",
    "tibkat-keywords-titles",
    "yso-finna-en",
    "cve-libraries",
    "reuters21578-all",
    "cooking-se",
    "tibkat-gnd-en",
    "wikispeedia-links",
)
_OMIKUJI = {"name": "omikuji", "packages": ("omikuji==0.5.2", "numpy==2.4.6")}
ENVIRONMENTS: dict[str, dict[str, Any]] = {
    "omikuji-parabel": _OMIKUJI,
    "omikuji-bonsai": _OMIKUJI,
    # Its wheel asks for torch and transformers, which its linear models do not need.
    "pecos-xlinear": {
        "name": "pecos",
        "packages": ("numpy==1.26.4", "scipy==1.13.1", "scikit-learn==1.5.2", "psutil==7.2.2"),
        "alone": ("libpecos==1.2.8",),
    },
    "napkinxc-plt": {"name": "napkinxc", "packages": ("napkinxc==0.7.2",)},
    "libmultilabel-tree": {"name": "libmultilabel", "packages": ("libmultilabel==0.10.0", "torch==2.13.0")},
}
OURS = {
    "tailwright (defaults)": [],
    "tailwright linear": ["--model", "linear", "--augment", "none"],
    "tailwright linear +gandalf without soft annotations": [
        *("--model", "linear", "--augment", "gandalf", "--set", "gandalf.soft=false"),
    ],
    "tailwright twin": ["--model", "twin", "--augment", "none"],
    "TF-IDF matching of label texts": ["--model", "label-matcher", "--augment", "none"],
}
KS = (1, 3, 5)


def with_self_rows(corpus: tw.Corpus) -> tw.Corpus:
    """Every label's text as a row annotated with the label itself."""
    labels = len(corpus.labels)
    ones = pairs_from_arrays(np.ones(labels), np.arange(labels), np.arange(labels + 1), labels)
    rows = Dataset(corpus.labels.texts, ones, origin=Origin.made_by("self", np.arange(labels)))
    return corpus.with_train(Dataset.concat([corpus.train, rows]))


def hand_over(corpus: tw.Corpus, folder: Path) -> None:
    """The features and labels where a peer reads them; omikuji wants its own text file."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    features, train = TfIdf.fit_transform(corpus.train.texts)
    test = features.transform(corpus.splits()["test"].texts)
    parts = {"train": train, "test": test, "labels": corpus.train.targets}
    for name, matrix in parts.items():
        for part in ("data", "indices", "indptr"):
            np.save(folder / f"{name}.{part}.npy", getattr(matrix, part))
        np.save(folder / f"{name}.shape.npy", np.array(matrix.shape))
    write_repository_format(folder / "train.txt", train, corpus.train.targets)


def write_repository_format(path: Path, features: sparse.csr_array, labels: sparse.csr_array) -> None:
    with path.open("w") as file:
        file.write(f"{features.shape[0]} {features.shape[1]} {labels.shape[1]}\n")
        for row in range(features.shape[0]):
            ids = ",".join(map(str, labels.indices[labels.indptr[row] : labels.indptr[row + 1]]))
            span = slice(features.indptr[row], features.indptr[row + 1])
            pairs = zip(features.indices[span], features.data[span], strict=True)
            file.write(ids + "".join(f" {f}:{v:.6g}" for f, v in pairs) + "\n")


def scored(corpus: tw.Corpus, top: np.ndarray) -> dict[str, float]:
    test = corpus.splits()["test"]
    weights = PROPENSITY_PRESETS["default"].inverse(corpus.labels.counts, len(corpus.train.originals()))
    found = metrics_at_k(top, test.targets, weights, KS, test.excluded)
    return {f"{m}@{k}": round(found[f"{m}@{k}"], 2) for m in ("P", "PSP") for k in KS}


def run_peer(name: str, corpus: tw.Corpus, folder: Path, threads: int) -> dict[str, Any]:
    test = corpus.splits()["test"]
    width = max(KS) + int(np.diff(test.excluded.indptr).max(initial=0))
    environment = ENVIRONMENTS[name]
    python = common.peer_python(
        environment["name"], *environment["packages"], alone=environment.get("alone", ())
    )
    script = Path(__file__).parent / "peers" / "linear_peers.py"
    command = [python, script, name, folder, str(width), str(threads)]
    # Some draw a progress bar of megabytes.
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        sys.exit(f"{name} failed:\n{done.stderr[-2000:]}")
    result = json.loads(done.stdout.strip().splitlines()[-1])
    top = np.load(folder / "top.npy")
    return {**{k: round(v, 2) for k, v in result.items()}, **scored(corpus, top)}


def run_ours(options: list[str], path: Path, threads: int) -> dict[str, Any]:
    out = common.WORK / "run"
    shutil.rmtree(out, ignore_errors=True)
    main = "from tailwright.cli import main; main()"
    common_options = ["--out", out, "--threads", str(threads), "--json", "--quiet"]
    command = [sys.executable, "-c", main, "train", path, *common_options, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(done.stdout)
    run, test = tw.load(out), tw.read(path).splits()["test"]
    start = time.perf_counter()
    run.model.predict(test.texts, 10)
    predicted = time.perf_counter() - start
    size = sum(f.stat().st_size for f in out.rglob("*") if f.is_file()) / 1e6
    metrics = {f"{m}@{k}": round(result["metrics"][f"{m}@{k}"], 2) for m in ("P", "PSP") for k in KS}
    return {
        "model": result["model"],
        "augment": result["augment"],
        "train_seconds": round(result["train_seconds"], 2),
        "predict_seconds": round(predicted, 2),
        "peak_rss_mb": result["peak_rss_mb"],
        "model_mb": round(size, 2),
        **metrics,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--systems", default=",".join([*OURS, *ENVIRONMENTS]))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    wanted = asked.systems.split(",")
    results: dict[str, dict[str, Any]] = {}
    if asked.out and asked.out.exists():
        for line in asked.out.read_text().splitlines():
            kept = json.loads(line)
            results.setdefault(kept["dataset"], {})[kept["system"]] = kept["result"]

    def keep(dataset: str, system: str, result: dict[str, Any]) -> None:
        results.setdefault(dataset, {})[system] = result
        line = json.dumps({"dataset": dataset, "system": system, "result": result})
        print(line, file=sys.stderr, flush=True)
        if asked.out:
            with asked.out.open("a") as file:
                file.write(line + "\n")

    for dataset in asked.datasets.split(","):
        path, done = common.data_folder() / dataset, results.get(dataset, {})
        corpus = tw.read(path)
        for name, options in OURS.items():
            if name in wanted and name not in done:
                keep(dataset, name, run_ours(options, path, asked.threads))
        for suffix, rows in (("", corpus), (" +self", with_self_rows(corpus))):
            folder = common.WORK / "peers" / (dataset + suffix.replace(" +", "-"))
            names = [n for n in ENVIRONMENTS if n in wanted and n + suffix not in done]
            if names:
                hand_over(rows, folder)
            for name in names:
                keep(dataset, name + suffix, run_peer(name, rows, folder, asked.threads))
    common.emit("peers", {"threads": asked.threads, "datasets": results})


if __name__ == "__main__":
    main()
