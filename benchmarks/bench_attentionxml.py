"""Ours beside LibMultiLabel's AttentionXML: rows a second of training, quality at equal epochs, peak memory.

    .venv/bin/python benchmarks/bench_attentionxml.py [--rows 3000] [--epochs 10] [--threads 2] [--quick]

Both train the flat model, which scores all labels, on the same rows of tibkat-gnd-en and the labels that
these carry (--label-rows 50: but for rare ones, so that a few epochs teach something): same words, vectors
to start from (random ones, which both train, or do not with --fixed-words), batch, epochs, rate, sizes,
dropout and threads. Each runs in a process of its own, the peer in its own environment; an epoch of one is
followed by the same epoch of the other. The rest is each side's own. Ours: adaptive clipping, averaged
weights (not with `--average-from none`), learnt first states of the LSTM, attention that leaves padding
out, batches of similar length. The peer's: gradients clipped by value, rows in random order, no validation.
Both are scored by the same metrics. The clock runs for epochs alone: words are numbered before.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import common
import numpy as np
from peers import scored

from tailwright.data.corpus import Corpus, load_corpus, save_corpus
from tailwright.store import open_folder, writing

FOLDER = common.WORK / "peers" / "attentionxml"
# The package's torchmetrics imports pkg_resources, which later setuptools have no more.
PEER = ("libmultilabel-nn", "libmultilabel[nn]", "torch==2.13.0", "setuptools<81")
K = 5


class Turns:
    """Waits for a line before each epoch, and answers it with the seconds that the epoch took."""

    def __init__(self) -> None:
        self.started = 0.0

    def wait(self) -> None:
        sys.stdin.readline()
        self.started = time.perf_counter()

    def say(self, **facts: float) -> None:
        print(json.dumps({"seconds": time.perf_counter() - self.started, **facts}), flush=True)


def train_ours(folder: Path) -> None:
    """Our side, in the same turns as `attentionxml_peer.py`."""
    from tailwright.models import models
    from tailwright.settings import settings_from
    from tailwright.training.workplace import Workplace

    turns = Turns()

    class InTurns(Workplace):
        def log(self, event: str, **facts: Any) -> None:
            if event == "start" and "epochs" in facts:
                turns.wait()
            elif event == "epoch":
                turns.say(loss=facts["loss"])
                turns.wait()

    asked = json.loads((folder / "settings.json").read_text())
    corpus = load_corpus(open_folder(folder / "corpus", kind="corpus"))
    kind = models.get("attentionxml")
    model = kind(settings_from(kind.Settings, settings_of_ours(asked)))
    # The turn that follows the last epoch is the prediction's.
    model.fit(corpus, seed=asked["seed"], work=InTurns())
    peak = common.peak_rss_bytes() / 2**20
    top = model.predict(corpus.splits()["test"].texts, asked["k"]).ids
    turns.say(peak_mb=peak)
    np.save(folder / "ours.npy", top)


def settings_of_ours(asked: dict[str, Any]) -> dict[str, Any]:
    names = ("epochs", "batch", "rate", "width", "vectors", "learn_words", "max_length", "hidden")
    return {
        **{name: asked[name] for name in (*names, "drop_words", "drop_states", "average_from")},
        "layers": tuple(asked["layers"]),
        "tree": "flat",
    }


def hand_over(corpus: Corpus, asked: dict[str, Any]) -> None:
    """What both sides read."""
    from tailwright.data.text.vocabulary import WordVocabulary, WordVocabularySettings
    from tailwright.data.text.words import split_words
    from tailwright.pretrained.word_vectors import word_table

    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    with writing(FOLDER / "corpus", kind="corpus") as folder:
        save_corpus(folder, corpus)
    # The vocabulary that our side makes of the same texts; ids 0 and 1 are padding and the unknown word.
    vocabulary = WordVocabulary.build(corpus.train.texts, WordVocabularySettings())
    splits = corpus.splits()
    words = {name: [split_words(text) for text in splits[name].texts.to_pylist()] for name in splits}
    contents = {"settings": asked, "words": words, "vocabulary": vocabulary.vocabulary.to_pylist()}
    for name, content in contents.items():
        (FOLDER / f"{name}.json").write_text(json.dumps(content))
    np.save(
        FOLDER / "vectors.npy", word_table(vocabulary, asked["width"], asked["vectors"], seed=asked["seed"])
    )
    for part in ("data", "indices", "indptr", "shape"):
        np.save(FOLDER / f"labels.{part}.npy", np.asarray(getattr(corpus.train.targets, part)))


class Side:
    """A process that trains when it is its turn."""

    def __init__(self, name: str, command: list[str | Path], threads: int) -> None:
        self.name, self.errors = name, FOLDER / f"{name}.stderr"
        counts = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), str(threads))
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=FOLDER,  # the peer's trainer leaves a checkpoint where it stands
                env={**os.environ, **counts},
            )

    def turn(self) -> dict[str, float]:
        """Let it run to its next answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            print(file=self.process.stdin, flush=True)
            return dict(json.loads(self.process.stdout.readline()))
        except (OSError, ValueError):
            sys.exit(f"{self.name} failed:\n{self.errors.read_text()[-2000:]}")

    def end(self) -> None:
        if self.process.wait():
            sys.exit(f"{self.name} failed:\n{self.errors.read_text()[-2000:]}")


def measured(asked: dict[str, Any], corpus: Corpus) -> dict[str, Any]:
    script = Path(__file__).parent / "peers" / "attentionxml_peer.py"
    commands: dict[str, list[str | Path]] = {
        "ours": [sys.executable, __file__, "--ours", FOLDER],
        "libmultilabel": [common.peer_python(*PEER), script, FOLDER],
    }
    sides = {name: Side(name, command, asked["threads"]) for name, command in commands.items()}
    epochs: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
    for number in range(asked["epochs"]):
        for name, side in sides.items():
            epochs[name].append(side.turn())
            print(f"epoch {number + 1} of {name}: {epochs[name][-1]}", file=sys.stderr, flush=True)
    last = {name: side.turn() for name, side in sides.items()}
    for side in sides.values():
        side.end()
    tops = {"ours": "ours.npy", "libmultilabel": "top.npy"}
    # The first epoch has the start of threads, caches and kernels in it.
    counted = {name: [e["seconds"] for e in taken[1:] or taken] for name, taken in epochs.items()}
    seconds = {name: statistics.median(taken) for name, taken in counted.items()}
    return {
        **{
            name: {
                "seconds_an_epoch": [round(e["seconds"], 2) for e in epochs[name]],
                "rows_a_second": round(len(corpus.train) / seconds[name], 2),
                "loss_by_epoch": [round(e["loss"], 5) for e in epochs[name]],
                "peak_mb": round(last[name]["peak_mb"]),
                "predict_seconds": round(last[name]["seconds"], 2),
                **scored(corpus, np.load(FOLDER / tops[name])),
            }
            for name in sides
        },
        "times_the_rows_a_second": round(seconds["libmultilabel"] / seconds["ours"], 2),
        "share_of_the_peak": round(last["ours"]["peak_mb"] / last["libmultilabel"]["peak_mb"], 2),
    }


def main() -> None:
    from text_rows import DATASET, some_rows

    parser = argparse.ArgumentParser()
    parser.add_argument("--ours", type=Path, help="a folder that was handed over; how our side is started")
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--test-rows", type=int, default=2000)
    parser.add_argument(
        "--label-rows", type=int, default=0, help="only labels that so many of the dataset's rows carry"
    )
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=40)
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--layers", type=int, nargs="+", default=[256])
    parser.add_argument("--vectors", default="random", help="or spacy, or a file; of the width")
    parser.add_argument("--width", type=int, default=300)
    parser.add_argument("--fixed-words", action="store_false", dest="learn_words")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--average-from", default="4", help="the epoch, from 0; none: no averages")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a minute, to see that all of it runs")
    options = vars(parser.parse_args())
    handed_over = options.pop("ours")
    if handed_over:
        train_ours(handed_over)
        return
    if options.pop("quick"):
        options |= {
            "rows": 200,
            "test_rows": 100,
            "epochs": 2,
            "max_length": 100,
            "hidden": 64,
            "layers": [64],
        }
    averaged = options["average_from"]
    options["average_from"] = None if averaged == "none" else int(averaged)
    asked = {**options, "drop_words": 0.2, "drop_states": 0.5, "k": K}
    corpus = some_rows(asked["rows"], test_rows=asked["test_rows"], label_rows=asked["label_rows"])
    hand_over(corpus, asked)
    sizes = {"dataset": DATASET, "labels": len(corpus.labels)}
    common.emit("attentionxml", {**sizes, "settings": asked, **measured(asked, corpus)})


if __name__ == "__main__":
    main()
