"""Trains a tiny astec in a folder and prints the hash of what it learnt; tests kill it and start it again."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from tailwright.augmentation.labelmix import LabelMix
from tailwright.checks.corpora import tiny_corpus
from tailwright.models.astec import AstecSettings
from tailwright.models.astec.model import Astec
from tailwright.settings import settings_from
from tailwright.training.weights import weights_of
from tailwright.training.workplace import Workplace

SETTINGS = settings_from(
    AstecSettings,
    {
        "width": 8,
        "learners": 2,
        "batch": 32,
        "surrogate.epochs": 2,
        "extreme.epochs": 2,
        "rerank.epochs": 1,
        "shortlist": {"size": 5, "points": 3},
        "candidates": {"size": 8, "positives": 2, "random": 3},
        "stored": 4,
    },
)


def learnt(folder: Path | None, *, resume: bool = False) -> str:
    model = Astec(SETTINGS)
    model.mixes = [LabelMix()]
    model.fit(tiny_corpus(), seed=3, work=Workplace(folder, resume=resume, checkpoint_seconds=0))
    digest = hashlib.sha256()
    for learner in model.learners:
        for array in weights_of(learner.network).values():
            digest.update(array.tobytes())
    digest.update(model.predict(tiny_corpus().train.texts, 4).scores.tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    print(learnt(Path(sys.argv[1]), resume=True))
