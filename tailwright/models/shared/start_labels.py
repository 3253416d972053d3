"""What the output vectors of labels start at: random numbers, as in the papers, or what labels are called.

A label with few rows hardly moves from where it starts. Where that is its own text, read by the encoder that
reads the rows, a row that speaks of the label scores high for it before the first step, and labels without
any rows can be found. Not from a paper; docs/results/long-text.md has what it gains.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from tailwright.data.text.sequences import TokenRows
from tailwright.encoders.frozen_features import TOKENS_A_PASS
from tailwright.encoders.reading import Read, read
from tailwright.encoders.token_batches import chunks, put_back
from tailwright.encoders.transformer import TransformerEncoder
from tailwright.training.parts import Parts, put_weights, weights_of


def put_label_texts(
    parts: Parts, name: str, encoder: TransformerEncoder, texts: pa.LargeStringArray, norm: float
) -> None:
    """Fill the part of that name, (labels, width), with what the encoder reads of each label's text.

    Of an encoder that gives tokens, their mean. What all labels have in common is taken off, and each vector
    is made `norm` long. A label without a text keeps the vector that it has.
    """
    told = np.flatnonzero(pc.utf8_length(pc.utf8_trim_whitespace(texts)).to_numpy())
    if not len(told):
        return
    rows = encoder.tokenizer.rows(texts.take(pa.array(told)), encoder.max_tokens)
    vectors = _vectors(encoder, rows)  # (told, width)
    vectors -= vectors.mean(axis=0, keepdims=True)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    # Texts that are all the same say nothing.
    vectors *= norm / np.where(lengths > 1e-6, lengths, np.inf)
    weights = weights_of(parts, [name])[name].copy()
    weights[told] = vectors
    put_weights(parts, {name: weights})


@torch.no_grad()
def _vectors(encoder: TransformerEncoder, rows: TokenRows) -> np.ndarray:
    """(rows, width)"""
    groups = chunks(rows.lengths, TOKENS_A_PASS)
    return put_back(groups, [_one_each(read(encoder, rows.batch(places))) for places in groups])


def _one_each(found: Read) -> np.ndarray:
    """(rows, width): what was read of each row, of its tokens the mean."""
    if found.mask is None:
        return found.states.cpu().numpy()
    inside = found.mask[..., None].to(found.states.dtype)
    return ((found.states * inside).sum(1) / inside.sum(1)).cpu().numpy()
