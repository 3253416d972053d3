"""What the biases of an output start at.

A label is on few rows, and a network that begins with even chances spends its first steps on learning that.
The GDA paper does not say what its networks begin with, so both are settings.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tailwright.data.corpus import Corpus
from tailwright.training.parts import Parts, put_weights, weights_of

StartBias = Literal["zero", "log-odds"]


def put_start_bias(parts: Parts, name: str, start: StartBias, corpus: Corpus) -> None:
    """Fill the part of that name, a bias of each label or one for all: with zeros, or with log-odds.

    These are the log-odds of a label being on a row, of the mean label where there is one bias for all. Half
    a row more with the label and half a row more without keep labels without rows finite.
    """
    bias = np.zeros_like(weights_of(parts, [name])[name])
    if start == "log-odds":
        rows, counts = len(corpus.train.originals()), corpus.labels.counts
        if len(bias) == 1 and len(counts):
            counts = counts.mean(keepdims=True)
        bias[:] = np.log((counts + 0.5) / (rows - counts + 0.5))
    put_weights(parts, {name: bias})
