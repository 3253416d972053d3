"""Trains a tiny lightxml in a folder and prints the hash of what it learnt; tests kill it and start it again.

python tiny_lightxml.py FORM ENCODER FOLDER
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from pathlib import Path

from tailwright.training.parts import weights_of

from tailwright.checks.corpora import tiny_corpus
from tailwright.models.lightxml.model import LightXml, LightXmlSettings
from tailwright.training.workplace import Workplace

# 60 rows in batches of 16, two epochs: 8 steps, averaged from the second epoch on.
STEPS = 8
TINY = LightXmlSettings(
    epochs=2,
    batch=16,
    rate=1e-3,
    head_rate=1e-2,
    average_from=1,
    average_every=2,
    top_groups=2,
    hidden=8,
    leaf=3,
)
FORMS = {
    "flat": replace(TINY, groups="flat"),
    "grouped": replace(TINY, groups="grouped", micro_batch=6),
    "frozen": replace(TINY, groups="grouped", frozen=True),
}


def learnt(form: str, encoder: str, folder: Path | None, *, resume: bool = False) -> str:
    model, corpus = LightXml(replace(FORMS[form], encoder=encoder)), tiny_corpus(60)
    model.fit(corpus, seed=3, work=Workplace(folder, resume=resume, checkpoint_seconds=0))
    digest = hashlib.sha256()
    for name, weight in weights_of(model.network.parts()).items():
        digest.update(name.encode() + weight.tobytes())
    digest.update(model.predict(corpus.train.texts, 4).scores.tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    print(learnt(*sys.argv[1:3], Path(sys.argv[3]), resume=True))
