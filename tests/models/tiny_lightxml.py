"""Trains a tiny lightxml in a folder and prints the hash of what it learnt; tests kill it and start it again.

python tiny_lightxml.py FORM ENCODER FOLDER
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from tailwright.checks.corpora import tiny_corpus
from tailwright.models.lightxml import LightXmlSettings
from tailwright.models.lightxml.model import LightXml
from tailwright.settings import settings_from
from tailwright.training.weights import weights_of
from tailwright.training.workplace import Workplace

# 60 rows in batches of 16, two epochs: 8 steps, averaged from the second epoch on.
STEPS = 8
TINY = {
    "epochs": 2,
    "batch": 16,
    "rate": 1e-3,
    "head_rate": 1e-2,
    "average_from": 1,
    "average_every": 2,
    "top_groups": 2,
    "hidden": 8,
    "leaf": 3,
}
FORMS = {
    "flat": {**TINY, "groups": "flat"},
    "grouped": {**TINY, "groups": "grouped", "micro_batch": 6},
    "frozen": {**TINY, "groups": "grouped", "frozen": True},
}


def learnt(form: str, encoder: str, folder: Path | None, *, resume: bool = False) -> str:
    settings = settings_from(LightXmlSettings, {**FORMS[form], "encoder": encoder})
    model, corpus = LightXml(settings), tiny_corpus(60)
    model.fit(corpus, seed=3, work=Workplace(folder, resume=resume, checkpoint_seconds=0))
    digest = hashlib.sha256()
    for name, weight in weights_of(model.network).items():
        digest.update(name.encode() + weight.tobytes())
    digest.update(model.predict(corpus.train.texts, 4).scores.tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    print(learnt(*sys.argv[1:3], Path(sys.argv[3]), resume=True))
