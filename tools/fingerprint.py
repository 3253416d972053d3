"""Fit every model on a small sample of real corpora and print a fingerprint of what it learnt.

    python tools/fingerprint.py --data FOLDER > before.jsonl
    python tools/fingerprint.py --data FOLDER --against before.jsonl

One JSON line a model and corpus: four metrics, and digests of the labels it ranks first, of their scores and
of the losses of its epochs. Two checkouts that compute the same give the same lines: to fingerprint another
one, set PYTHONPATH to it. All runs in one thread, on a tiny encoder with random weights, within minutes.

`--against` prints, for each line, whether it is the same as in an earlier output, or what differs; it ends
with code 1 where a metric differs by more than `--tolerance` points.
"""

from __future__ import annotations

import os

if __name__ == "__main__":  # numpy, torch and numba read these when they are first imported
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ[variable] = "1"
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from corpus_sample import write_sample

import tailwright
from tailwright.errors import InputError
from tailwright.models import models
from tailwright.settings import settings_from

ROOT = Path(__file__).resolve().parent.parent
CORPORA = ("cve-libraries", "winapi-seealso")
WITH_VALIDATION = {"cve-libraries"}  # the other one covers training without validation rows
METRICS = ("P@1", "P@5", "PSP@5", "nDCG@5")
DIGESTS = ("ids", "scores", "losses")
K = 10


class Case(NamedTuple):
    """A model with its settings, by the names they had before settings were nested, and augmentations."""

    model: str
    settings: Mapping[str, Any] = {}
    augment: Sequence[str] = ()


WORDS = {"epochs": 12, "batch": 32, "width": 48, "max_length": 48, "rate": 5e-3}
ATTENTION = {**WORDS, "hidden": 16, "layers": "24", "average_from": 8}
TOKENS = {"encoder": "tiny", "epochs": 4, "batch": 32, "max_tokens": 48, "rate": 1e-3, "head_rate": 3e-2}
FROZEN = {**TOKENS, "frozen": True, "epochs": 12, "head_rate": 3e-2}
SHARED_MLP = {"head": "shared-mlp", "layers": "24,12"}
INCEPTION = {"epochs": 6, "batch": 32, "width": 64, "channels": 8, "top_clusters": 8}
TWIN = {"epochs": 2, "batch": 128, "width": 64, "negatives": 256}
BEAM = {"width": 48, "surrogate.epochs": 4, "meta.epochs": 4, "extreme.epochs": 4, "beam.size": 10}
ASTEC = {
    "width": 48,
    "surrogate_epochs": 4,
    "extreme_epochs": 4,
    "rerank_epochs": 4,
    "shortlist": 60,
    "centroid_neighbours": 50,
    "point_neighbours": 20,
    "point_labels": 50,
    "candidates": 80,
    "random_labels": 20,
    "stored": 40,
}

CASES = {
    "popularity": Case("popularity"),
    "label-matcher": Case("label-matcher"),
    "linear": Case("linear", {"branching": 8, "cluster_size": 16}),
    "linear logistic": Case("linear", {"trees": 1, "loss": "logistic", "depth": 2}),
    "linear, eda": Case("linear", {"trees": 1}, ["eda"]),
    "linear, wordnet": Case("linear", {"trees": 1}, ["wordnet"]),
    "twin": Case("twin", TWIN),
    "twin, labelmix": Case("twin", {**TWIN, "epochs": 1}, ["labelmix"]),
    "linear+twin": Case("linear+twin", {"twin": TWIN}),
    "astec": Case("astec", ASTEC),
    "astec, two learners": Case(
        "astec", {**ASTEC, "learners": 2, "head_centroids": 3, "head_points": 20, "rerank": False}
    ),
    "astec, gandalf": Case("astec", ASTEC, ["gandalf"]),
    "decaf": Case("decaf", BEAM),
    "decaf, two learners, labelmix": Case("decaf", {**BEAM, "learners": 2}, ["labelmix"]),
    "eclare": Case("eclare", BEAM),
    "eclare, gandalf": Case("eclare", BEAM, ["gandalf"]),
    "attentionxml flat": Case("attentionxml", {**ATTENTION, "tree": "flat"}),
    "attentionxml tree": Case("attentionxml", {**ATTENTION, "tree": "tree", "max_leaf": 16, "beam": 5}),
    "attentionxml flat, gandalf": Case(
        "attentionxml", {**ATTENTION, "tree": "flat", "epochs": 2, "average_from": None}, ["gandalf"]
    ),
    "xml-cnn": Case("xml-cnn", {**WORDS, "filters": 16, "chunks": 4, "bottleneck": 32}),
    "inceptionxml": Case("inceptionxml", INCEPTION),
    "inceptionxml plain, labelmix": Case("inceptionxml", {**INCEPTION, "pipeline": "plain"}, ["labelmix"]),
    "inceptionxml-lf": Case("inceptionxml-lf", {**INCEPTION, "free_epochs": 4}),
    "roberta frozen": Case("roberta", FROZEN),
    "roberta": Case("roberta", {**TOKENS, "start_labels": "texts"}),
    "roberta, head epochs": Case("roberta", {**TOKENS, "head_epochs": 2, "micro_batch": 12}),
    "la-roberta frozen": Case("la-roberta", FROZEN),
    "la-roberta": Case("la-roberta", {**TOKENS, "start_labels": "texts"}),
    "la-roberta shared-mlp frozen": Case("la-roberta", {**FROZEN, **SHARED_MLP}),
    "la-roberta shared-mlp": Case("la-roberta", {**TOKENS, **SHARED_MLP}),
    "lightxml flat frozen": Case("lightxml", {**FROZEN, "groups": "flat"}),
    "lightxml flat": Case("lightxml", {**TOKENS, "groups": "flat"}),
    "lightxml grouped frozen": Case("lightxml", {**FROZEN, "groups": "grouped", "leaf": 16, "hidden": 24}),
    "lightxml grouped": Case("lightxml", {**TOKENS, "groups": "grouped", "leaf": 16, "hidden": 24}),
}

# Settings whose name changed by more than a dot in the place of the first underscore.
RENAMED = {
    "shortlist": "shortlist.size",
    "centroid_neighbours": "shortlist.centroids",
    "point_neighbours": "shortlist.points",
    "candidates": "candidates.size",
    "random_labels": "candidates.random",
}
# What became of a setting that is no more.
REPLACED = {"rerank": ("rerank.epochs", 0)}


def main() -> int:
    """Print a line a case, or how the lines differ from those of an earlier output."""
    options = _options()
    earlier = _lines(options.against) if options.against else None
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TAILWRIGHT_CACHE"] = str(Path(folder, "cache"))
        os.environ.pop("TAILWRIGHT_SHARED", None)
        for name in options.corpora:
            sample = Path(folder, name)
            write_sample(Path(options.data, name), sample, options.rows, validation=name in WITH_VALIDATION)
            for line in _fingerprints(sample, options):
                failed |= "error" in line
                if earlier is None:
                    print(json.dumps(line), flush=True)
                else:
                    difference = _difference(
                        earlier.get((line["corpus"], line["name"])), line, options.tolerance
                    )
                    failed |= difference.startswith("DIFFERENT")
                    print(f"{line['corpus']:16}{line['name']:30}{difference}", flush=True)
    return int(failed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", default=[], help="models or names of cases; default: all")
    parser.add_argument("--corpora", nargs="+", default=CORPORA)
    parser.add_argument("--rows", type=int, default=1500, help="training rows; a third as many to test on")
    parser.add_argument("--data", default=os.environ.get("TAILWRIGHT_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--encoder", default="tiny", help="tiny, or an encoder that is installed: minilm")
    parser.add_argument("--against", help="an earlier output to compare with")
    parser.add_argument("--tolerance", type=float, default=0.3, help="points that a metric may differ by")
    return parser.parse_args()


def _fingerprints(sample: Path, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    corpus = tailwright.read(sample)
    encoder = options.encoder
    if encoder == "tiny":
        sys.path.insert(0, str(ROOT / "tests"))
        from tiny_encoders import save_encoder_of

        texts = [*corpus.train.texts.to_pylist(), *corpus.labels.texts.to_pylist()]
        encoder = str(save_encoder_of(sample / "encoder", texts, width=32, layers=4, positions=64))
    for name, case in CASES.items():
        if options.models and name not in options.models and case.model not in options.models:
            continue
        start = time.perf_counter()
        line: dict[str, Any] = {
            "corpus": sample.name,
            "name": name,
            "seed": options.seed,
            "rows": options.rows,
        }
        try:
            line |= _fingerprint(corpus, case, encoder, options.seed, sample / "run")
        except Exception as error:  # the other models are still worth knowing
            line["error"] = f"{type(error).__name__}: {error}"
        yield {**line, "seconds": round(time.perf_counter() - start, 1)}


def _fingerprint(corpus: Any, case: Case, encoder: str, seed: int, out: Path) -> dict[str, Any]:
    settings = _present_names(case.model, {**case.settings})
    if "encoder" in case.settings:
        settings["encoder"] = encoder
    run = tailwright.train(
        corpus, case.model, augment=case.augment, settings=settings, seed=seed, out=out, overwrite=True
    )
    metrics = tailwright.evaluate(run, corpus.test)
    top = run.top(corpus.test.texts, K)
    losses = _losses(out / "log.jsonl")
    return {
        "settings": {**case.settings},
        "augment": [*case.augment],
        **{name: round(metrics[name], 4) for name in METRICS},
        "ids": _digest(top.ids.astype(np.int64)),
        "scores": _digest(top.scores.astype(np.float32)),
        "losses": _digest(np.array(losses)),
        "last_loss": losses[-1] if losses else None,
        "epochs": len(losses),
    }


def _losses(log: Path) -> list[float]:
    """The losses of all epochs in order, whatever their phases are called."""
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return [float(event["loss"]) for event in events if event["event"] == "epoch"]


def _digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def _present_names(model: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings under the names that this checkout knows them by."""
    kind = models.get(model).Settings
    present: dict[str, Any] = {}
    for name, value in settings.items():
        names = (name, RENAMED.get(name, name), name.replace("_", ".", 1))
        known = [(one, value) for one in names if _known(kind, one, value)]
        present |= [*known, REPLACED.get(name, (name, value))][:1]
    return present


def _known(kind: type, name: str, value: Any) -> bool:
    """Whether the settings have that name; a value that does not fit the others is no matter here."""
    try:
        settings_from(kind, {name: value})
    except InputError as error:
        return not any(hint in str(error) for hint in ("unknown setting", "is one of several", ".NAME=VALUE"))
    return True


def _lines(path: str) -> dict[tuple[str, str], dict[str, Any]]:
    lines = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    return {(line["corpus"], line["name"]): line for line in lines}


def _difference(before: dict[str, Any] | None, after: dict[str, Any], tolerance: float) -> str:
    """`same`, or what differs: digests by name, metrics with both values."""
    if before is None:
        return "new"
    if "error" in after or "error" in before:
        return f"error: {after.get('error', 'none now')}"
    for name in ("seed", "rows", "settings", "augment"):
        if before[name] != after[name]:
            return f"not comparable: {name} was {before[name]}, is {after[name]}"
    digests = [name for name in DIGESTS if before[name] != after[name]]
    moved = [
        f"{name} {before[name]:.2f} -> {after[name]:.2f}" for name in METRICS if before[name] != after[name]
    ]
    if not digests and not moved:
        return "same"
    far = any(abs(before[name] - after[name]) > tolerance for name in METRICS)
    return f"{'DIFFERENT' if far else 'close'}: {', '.join([*digests, *moved])}"


if __name__ == "__main__":
    sys.exit(main())
