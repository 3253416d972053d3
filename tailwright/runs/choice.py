"""What `auto` stands for: model and augmentation chosen from the data, with the reasons in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from tailwright.data.corpus import Corpus
from tailwright.errors import InputError

# Below this share of labels with text, rows made from label texts reach too few labels to matter.
ENOUGH_TEXTS = 0.5


@dataclass(frozen=True)
class Choice:
    """A model, augmentations, and why they were chosen."""

    model: str
    augment: tuple[str, ...]
    reasons: tuple[str, ...]


def choose(corpus: Corpus, model: str = "auto", augment: Sequence[str] = ("auto",)) -> Choice:
    """Fill in what was asked to be chosen; `none` among the augmentations stands for none at all."""
    if len(augment) > 1 and {"auto", "none"} & set(augment):
        raise InputError(f"--augment {' '.join(augment)}", expected="auto or none alone, or names")
    reasons = []
    with_text = float(np.mean(pc.not_equal(corpus.labels.texts, "").to_numpy(zero_copy_only=False)))
    if model == "auto":
        model = "linear"
        reasons.append("model linear: one classifier a label over a label tree, the best measured so far")
    if list(augment) == ["auto"]:
        augment = ("gandalf",) if with_text >= ENOUGH_TEXTS else ()
        share = f"{with_text:.0%} of the labels have a text"
        reasons.append(f"augmentation gandalf: {share}" if augment else f"no augmentation: {share}")
    return Choice(model, tuple(name for name in augment if name != "none"), tuple(reasons))
