"""Tiny attentionxmls; as a program, trains one in a folder and prints the hash of what it learnt."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from pathlib import Path

from tailwright.checks.corpora import tiny_corpus
from tailwright.models.attentionxml import AttentionXmlSettings
from tailwright.models.attentionxml.model import AttentionXml
from tailwright.settings import settings_from
from tailwright.training.weights import weights_of
from tailwright.training.workplace import Workplace

SMALL = {"epochs": 2, "batch": 32, "width": 8, "hidden": 4, "layers": (6,)}
FLAT = settings_from(AttentionXmlSettings, {**SMALL, "average_from": 0, "average_every": 2, "tree": "flat"})
# Two levels of clusters, then the labels; averages begin with what a level takes over from the one above.
TREE = replace(FLAT, tree="tree", nodes=(2, 4), beam=2)
FORMS = {"flat": FLAT, "tree": TREE}


def of_epochs(settings: AttentionXmlSettings, epochs: int) -> AttentionXmlSettings:
    return replace(settings, training=replace(settings.training, epochs=epochs))


def fitted(
    settings: AttentionXmlSettings, work: Workplace | None = None, *, valid: bool = False
) -> AttentionXml:
    model, corpus = AttentionXml(settings), tiny_corpus(60)
    if valid:
        corpus = corpus.split(0.3)
    model.fit(corpus, seed=3, work=work)
    return model


def learnt(form: str, folder: Path | None, *, resume: bool = False) -> str:
    work = Workplace(folder, resume=resume, checkpoint_seconds=0)
    model = fitted(FORMS[form], work, valid=True)
    digest = hashlib.sha256()
    for array in weights_of(model.network).values():
        digest.update(array.tobytes())
    digest.update(model.predict(tiny_corpus().train.texts, 4).scores.tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    print(learnt(sys.argv[1], Path(sys.argv[2]), resume=True))
