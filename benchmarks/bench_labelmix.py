"""What LabelMix costs: an epoch of batches drawn and read as bags, without and with it, and a fit of twin.

.venv/bin/python benchmarks/bench_labelmix.py [winapi-seealso ...]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import common
import numpy as np
import pyarrow as pa

import tailwright as tw
from tailwright.augmentation.labelmix import LabelMix
from tailwright.encoders.bags import Bags
from tailwright.encoders.joined_bags import BagJoiner
from tailwright.encoders.subwords import SubwordSettings, SubwordTfIdf
from tailwright.models.twin import TwinSettings
from tailwright.models.twin.model import Twin
from tailwright.training.batches import BatchDrawer, batch_stream

BATCH = 512


def measured(name: str) -> dict[str, Any]:
    corpus = tw.read(common.data_folder() / name)
    train = corpus.train
    start = time.perf_counter()
    mix = LabelMix().prepare(corpus)
    prepared = time.perf_counter() - start
    features, matrix = SubwordTfIdf.fit_transform(
        pa.concat_arrays([train.texts, corpus.labels.texts]), SubwordSettings()
    )
    bags = Bags.of(matrix)
    joiner = BagJoiner.of(features, bags.slice(0, len(train)), bags.slice(len(train), len(bags)))
    batches = [np.arange(first, min(first + BATCH, len(train))) for first in range(0, len(train), BATCH)]

    def epoch(draw: BatchDrawer) -> None:
        for number, rows in enumerate(batches):
            batch = draw(rows, batch_stream(0, "bench", number))
            joiner.take(rows, batch.appended)

    def fit(mixes: list[LabelMix]) -> None:
        model = Twin(TwinSettings(epochs=1))
        model.mixes = mixes
        model.fit(corpus)

    plain, mixed = BatchDrawer(train), BatchDrawer(train, [mix])
    epoch(mixed)
    seconds = common.interleaved({"plain": lambda: epoch(plain), "mixed": lambda: epoch(mixed)})
    fits = common.interleaved({"plain": lambda: fit([]), "mixed": lambda: fit([LabelMix()])}, repeats=3)
    return {
        "rows": len(train),
        "labels": len(corpus.labels),
        "prepare_seconds": round(prepared, 2),
        "ms_a_batch": {key: round(1000 * value / len(batches), 3) for key, value in seconds.items()},
        "fit_seconds": {key: round(value, 2) for key, value in fits.items()},
        "fit_mixed_over_plain": round(fits["mixed"] / fits["plain"], 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="*", default=["winapi-seealso"])
    asked = parser.parse_args()
    common.emit("labelmix", {"corpora": {name: measured(name) for name in asked.corpora}})


if __name__ == "__main__":
    main()
