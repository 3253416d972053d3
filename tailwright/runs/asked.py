"""What the arguments of `train`, `augment` and `evaluate` stand for: a corpus, a model, augmentations."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from tailwright.data.corpus import Corpus
from tailwright.data.inputs import ReadArguments, RowLabels, Source
from tailwright.data.read import read
from tailwright.errors import InputError
from tailwright.models import models
from tailwright.runs.choice import AutoChoice, choose

log = logging.getLogger(__name__)


def corpus_of(data: Source, seed: int, reading: ReadArguments) -> Corpus:
    """The corpus that was given, or read; what reading took, left and mended is logged."""
    corpus = read(data, seed=seed, **reading)
    if corpus is not data:
        for note in corpus.notes:
            log.warning("%s", note)
    return corpus


def corpus_and_choice(
    data: Source,
    labels_or_model: RowLabels | str,
    model: str,
    augment: str | Sequence[str] | None,
    seed: int,
    reading: ReadArguments,
) -> tuple[Corpus, AutoChoice]:
    """The corpus to train on, and with which model and augmentations; what `auto` chose is logged."""
    if not isinstance(labels_or_model, str):
        if "labels" in reading:
            raise InputError("found labels, and also labels=", expected="one of the two")
        reading = {**reading, "labels": labels_or_model}
    elif labels_or_model and model not in ("auto", labels_or_model):
        raise InputError(f"found the models {labels_or_model} and {model}", expected="one of the two")
    else:
        model = labels_or_model or model
    if model != "auto":
        models.get(model)  # an unknown name is refused before anything is read
    if augment is None:
        augment = "auto" if model == "auto" else ()
    corpus = corpus_of(data, seed, reading)
    choice = choose(corpus, model, (augment,) if isinstance(augment, str) else augment)
    for reason in choice.reasons:
        log.info("%s", reason)
    return corpus, choice
