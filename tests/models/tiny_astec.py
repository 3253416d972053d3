"""Trains a tiny astec in a folder and prints the hash of what it learnt; tests kill it and start it again."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from tailwright.models.astec.settings import AstecSettings

from tailwright.augmentation.labelmix import LabelMix
from tailwright.checks.corpora import tiny_corpus
from tailwright.models.astec.model import Astec
from tailwright.training.workplace import Workplace

SETTINGS = AstecSettings(
    width=8,
    learners=2,
    batch=32,
    surrogate_epochs=2,
    extreme_epochs=2,
    rerank_epochs=1,
    point_neighbours=3,
    candidates=8,
    positives=2,
    random_labels=3,
    shortlist=5,
    stored=4,
)


def learnt(folder: Path | None, *, resume: bool = False) -> str:
    model = Astec(SETTINGS)
    model.mixes = [LabelMix()]
    model.fit(tiny_corpus(), seed=3, work=Workplace(folder, resume=resume, checkpoint_seconds=0))
    digest = hashlib.sha256()
    for learner in model.learners:
        for reader in (learner.first, learner.second):
            for array in reader.arrays().values():
                digest.update(array.tobytes())
    digest.update(model.predict(tiny_corpus().train.texts, 4).scores.tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    print(learnt(Path(sys.argv[1]), resume=True))
