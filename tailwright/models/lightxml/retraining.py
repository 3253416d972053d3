"""The retraining of the head: what learns, how, and in which order rows are seen.

Follows stage five of XDA as its authors run it: the encoder is frozen, the head starts anew, and each epoch
goes through the original rows, then through the made ones, by Adam without weight decay. Averaged weights and
the best validation so far begin anew with it, where the authors' code goes on with those of the first part.

Left out: dropout inside the frozen encoder, whose features are computed once; dropout on the features stays.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tailwright.data.dataset import Dataset
from tailwright.models.lightxml import LightXmlSettings
from tailwright.models.shared.texts import Stage
from tailwright.training.sparse_adam import EPSILON


def retraining_stage(settings: LightXmlSettings, train: Dataset) -> Stage:
    """The stage that trains the head on these original and made rows."""
    chosen = settings.retraining
    training = replace(
        settings.training,
        epochs=chosen.retrain_epochs or settings.training.epochs,
        restart=None,
        weight_decay=0.0,
        epsilon=EPSILON,
    )
    rate = chosen.retrain_rate or settings.transformer.head_rate
    passes: tuple[np.ndarray, ...] = ()
    if chosen.passes == "alternate":
        original = train.origin.is_original()
        passes = (np.flatnonzero(original), np.flatnonzero(~original))
    return Stage("/retraining", {"head": rate}, training, frozen_encoder=True, passes=passes)
