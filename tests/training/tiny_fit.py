"""Trains a tiny twin in a folder and prints the hash of what it learnt; tests kill it and start it again."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from tailwright.augmentation.labelmix import LabelMix
from tailwright.checks.corpora import tiny_corpus
from tailwright.models.twin import TwinSettings
from tailwright.models.twin.model import Twin
from tailwright.training.workplace import Workplace

SETTINGS = TwinSettings(width=16, epochs=4, batch=16, negatives=4, clip=1.0, patience=3)


def learnt(folder: Path | None, *, resume: bool = False, mixed: bool = False) -> str:
    model = Twin(SETTINGS)
    model.mixes = [LabelMix()] if mixed else []
    work = Workplace(folder, resume=resume, checkpoint_seconds=0)
    model.fit(tiny_corpus().split(0.2), seed=3, work=work)
    digest = hashlib.sha256()
    vectors = model.vectors
    for array in (vectors.words, vectors.text_layer, vectors.labels):
        digest.update(array.tobytes())
    return f"{digest.hexdigest()} {vectors.scale!r}"


if __name__ == "__main__":
    print(learnt(Path(sys.argv[1]), resume=True))
