"""What the biases and output vectors of a head start at, where that is neither zero nor random.

A label is on few rows, and a network that begins with even probabilities spends its first steps on learning
that: biases may start at the log-odds of each label. The GDA paper does not say what its networks begin with.

A label with few rows hardly moves from where it starts. If that is the encoder's reading of the label's own
text, a row that speaks of the label scores high for it before the first step, and labels without any rows can
be found. Not from a paper; docs/results/long-text.md says what it gains.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import nn

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.encoders.frozen_features import TOKENS_A_PASS
from tailwright.encoders.token_batches import chunks, put_back
from tailwright.encoders.transformer import TransformerEncoder

BiasStart: TypeAlias = Literal["random", "zero", "log-odds"]


@torch.no_grad()
def start_biases(bias: Any, start: BiasStart, corpus: Corpus, counts: np.ndarray | None = None) -> None:
    """Fill a bias a label, or one for all, with zeros, or with the log-odds of a label on a row.

    With "random" it stays as the head drew it. `counts` are the original rows of each label, or of each group
    where a head scores groups. One bias for all starts at the log-odds of the mean label. Half a row more
    with the label and half a row more without keep labels without rows finite.
    """
    if start == "random":
        return
    if start == "zero":
        nn.init.zeros_(bias)
        return
    rows = len(corpus.train.originals())
    counts = corpus.labels.counts if counts is None else counts
    if len(bias) == 1 and len(counts):
        counts = counts.mean(keepdims=True)
    bias.copy_(torch.from_numpy(np.log((counts + 0.5) / (rows - counts + 0.5)).astype(np.float32)))


@torch.no_grad()
def start_at_label_texts(vectors: Any, encoder: TransformerEncoder, labels: LabelSpace, norm: float) -> None:
    """Fill `vectors` (labels, width) with the encoder's reading of each label's text.

    The mean over labels is subtracted, and each vector is scaled to the length `norm`. A label without a text
    keeps its vector.
    """
    readable = np.flatnonzero(labels.has_text)
    if not len(readable):
        return
    rows = encoder.tokenizer.rows(labels.texts.take(readable), encoder.max_tokens)
    groups = chunks(rows.lengths, TOKENS_A_PASS)
    states = put_back(groups, [encoder(rows.batch(places)).mean().cpu().numpy() for places in groups])
    states -= states.mean(axis=0, keepdims=True)
    lengths = np.linalg.norm(states, axis=1, keepdims=True)
    # Texts that are all the same say nothing.
    states *= norm / np.where(lengths > 1e-6, lengths, np.inf)
    vectors[torch.from_numpy(readable)] = torch.from_numpy(states)
