"""Trains a tiny lightxml on made rows in a folder and prints the hash of what it learnt; tests kill it.

python tiny_retraining.py FORM ENCODER FOLDER
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import tiny_lightxml

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset, Origin, arrow_strings
from tailwright.training.weights import weights_of
from tailwright.training.workplace import Workplace

ROWS, MADE = 60, 30
# f0: 60 rows in batches of 16, two epochs: 8 steps, averaged from the second epoch on.
F0_STEPS = tiny_lightxml.STEPS
FORMS = {
    "flat": {**tiny_lightxml.TINY, "groups": "flat"},
    "grouped": {**tiny_lightxml.TINY, "groups": "grouped", "start": "from_f0", "passes": "joint"},
}
# All rows that are left after the filter, at most 90 in batches of 16: twice 5 or 6 steps.
RETRAINING_STEPS = 10


def with_made(method: str = "xda", made: int = MADE) -> Corpus:
    """Rows, and copies of the first of them that a method is said to have made, without their first word."""
    corpus = tiny_corpus(ROWS)
    rows = np.arange(made)
    source = corpus.train.take(rows)
    texts = arrow_strings([text.partition(" ")[2] for text in source.texts.to_pylist()])
    copies = replace(source, texts=texts, origin=Origin.made_by(method, source.origin.rows))
    return corpus.with_train(Dataset.concat([corpus.train, copies]))


def digest(model) -> str:
    """Of the weights and of what they predict."""
    found = hashlib.sha256()
    for name, weight in weights_of(model.network).items():
        found.update(name.encode() + weight.tobytes())
    found.update(model.predict(tiny_corpus(ROWS).train.texts, 4).scores.tobytes())
    return found.hexdigest()


def learnt(form: str, encoder: str, folder: Path | None, *, resume: bool = False) -> str:
    run = tw.train(
        with_made(),
        "lightxml",
        augment=["filter", "mask"],
        settings={**FORMS[form], "encoder": encoder},
        augment_settings={"filter": {"keep": 0.8}, "mask": {"tail_below": 9}},
        seed=3,
        out=None if folder is None else folder / "run",
        resume=resume,
    )
    return digest(run.model)


def keep_every_checkpoint() -> None:
    checkpoint = Workplace.checkpoint
    Workplace.checkpoint = lambda self, save, *, now=False: checkpoint(self, save, now=True)


if __name__ == "__main__":
    keep_every_checkpoint()
    print(learnt(*sys.argv[1:3], Path(sys.argv[3]), resume=True))
