"""What `auto` stands for: model and augmentation chosen from the data, with the reasons in words.

The rules rest on held-out training rows of eight corpora (docs/results/default.md). Where labels have texts,
`linear+twin+label-matcher` is ahead of each of its parts on frequent and on rare labels; it takes label texts
as rows itself, where rows are so few that this pays. `linear` needs no label texts, and gains from them as
rows that are annotated with the label alone. Another corpus may differ, so a reason says that it is a rule
and not a measurement, and names the command that measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tailwright.data.corpus import Corpus
from tailwright.errors import InputError

# Below this share of labels with text, a model that reads label texts knows too few of them.
ENOUGH_TEXTS = 0.5
DEFAULT, WITHOUT_TEXTS = "linear+twin+label-matcher", "linear"


@dataclass(frozen=True)
class AutoChoice:
    """A model, augmentations, and why they were chosen."""

    model: str
    augment: tuple[str, ...]
    reasons: tuple[str, ...]
    augment_settings: dict[str, dict[str, Any]] = field(default_factory=dict)


def choose(
    corpus: Corpus, model: str = "auto", augment: Sequence[str] = ("auto",), path: str = "PATH"
) -> AutoChoice:
    """Replace `auto` by a choice; the augmentation `none` stands for no augmentation.

    `path` is how a command names the corpus, for the command that the reasons tell of.
    """
    if len(augment) > 1 and {"auto", "none"} & set(augment):
        raise InputError(f"--augment {' '.join(augment)}", expected="auto or none alone, or names")
    reasons = []
    with_text = float(np.mean(corpus.labels.has_text)) if len(corpus.labels) else 0.0
    share = f"{with_text:.0%} of the labels have a text"
    if model == "auto":
        model = DEFAULT if with_text >= ENOUGH_TEXTS else WITHOUT_TEXTS
        reasons.append(f"model {model}: {share}")
    settings: dict[str, dict[str, Any]] = {}
    if list(augment) == ["auto"]:
        augment = ()
        why = f"none is the default of {model}"
        if model == DEFAULT:
            why = f"{model} takes label texts as rows itself where rows are few"
        if model == WITHOUT_TEXTS:
            why = f"only {share}, of which rows could be made"
        if model == WITHOUT_TEXTS and with_text >= ENOUGH_TEXTS:
            augment, settings = ("gandalf",), {"gandalf": {"soft": False}}
            why = f"{model} reads no label texts, so it gets them as rows, annotated with the label alone"
        by_rule = f"augmentation {' '.join(augment) or 'none'}, by rule: {why}"
        measures = f"`tailwright advise {path} --model {model}` measures it"
        reasons.append(f"{by_rule}; not measured on your rows: {measures}")
    kept = tuple(name for name in augment if name != "none")
    return AutoChoice(model, kept, tuple(reasons), settings)
