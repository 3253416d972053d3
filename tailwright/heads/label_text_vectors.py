"""InceptionXML-LF's label vectors: of a label's text, of its neighbours' texts, and free ones.

With E the word vectors, which the encoder of texts shares, z the TF-IDF row of a label's text and G the label
graph, a label has the components

    text(z E), graph((G Z E) of the label), and a free vector

where text and graph are layers a (W GELU(x) / s + b) + c x with two numbers a and c. Their attention
(`label_components`) gives the vector. Free vectors come later: they start at z E, beside a copy of the
attention over the first two. Only the labels that a batch asks for are put together, from the sums z E of
those and of their neighbours: G (Z E) adds up far fewer vectors than (G Z) E, whose rows have many words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from tailwright.encoders.bags import Bags, share_words
from tailwright.encoders.embedding_bags import bag_sum
from tailwright.encoders.residual import SpectralLinear
from tailwright.encoders.row_table import RowTable
from tailwright.heads.label_components import ComponentAttention
from tailwright.kernels.csr import number_locally

LABELS_A_BLOCK = 4096


class GeluResidual(nn.Module):
    """a (W GELU(x) / s + b) + c x, with W the identity and a = c = 1 at the start."""

    def __init__(self, width: int, seed: int, name: str) -> None:
        super().__init__()
        self.linear = SpectralLinear(width, seed, name)
        self.branch_scale = nn.Parameter(torch.ones(1))
        self.skip_scale = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(rows, width)."""
        return self.branch_scale * self.linear(functional.gelu(x)) + self.skip_scale * x


class LabelTextVectors(nn.Module):
    """The vectors of labels, over a table of word vectors that is another module's too."""

    def __init__(
        self, words: RowTable, texts: Bags, neighbours: Bags, drop: float, *, seed: int, name: str
    ) -> None:
        """`texts` are the labels' rows Z, `neighbours` those of G; `name`/... are streams of weights."""
        super().__init__()
        width, self.texts, self.neighbours = words.array.shape[1], texts, neighbours
        self.words = words
        self.text_layer = GeluResidual(width, seed, f"{name}/text")
        self.graph_layer = GeluResidual(width, seed, f"{name}/graph")
        self.attention = ComponentAttention(2, width, drop, seed, f"{name}/attention")
        self.wider_attention = ComponentAttention(3, width, drop, seed, f"{name}/wider-attention")
        self.free = RowTable(np.zeros((len(texts), width), dtype=np.float32))
        self.uses_free = False
        self._scratch = np.full(len(words), -1, dtype=np.int32)
        self._label_scratch = np.full(len(texts), -1, dtype=np.int32)
        self._array: np.ndarray | None = None

    def forward(self, labels: np.ndarray) -> torch.Tensor:
        """(len(labels), width): the vectors of these labels (distinct)."""
        near = self.neighbours.take(labels)
        known, places = number_locally(
            np.concatenate([labels.astype(np.int32), near.words]), self._label_scratch
        )
        words, (texts,) = share_words([self.texts.take(known)], self._scratch)
        sums = bag_sum(self.words(words), texts)  # (labels and their neighbours, width): z E
        text = self.text_layer(sums[torch.from_numpy(places[: len(labels)])])
        neighbours = Bags(near.indptr, places[len(labels) :], near.weights)
        graph = self.graph_layer(bag_sum(sums, neighbours))
        if self.uses_free:
            found: torch.Tensor = self.wider_attention(text, graph, self.free(labels))
        else:
            found = self.attention(text, graph)
        return found

    @property
    @torch.no_grad()
    def array(self) -> np.ndarray:
        """(labels, width) float32: the vectors of all labels, made once for weights as they are."""
        if self._array is None:
            labels = np.arange(len(self.texts))
            blocks = [np.empty((0, self.words.array.shape[1]), dtype=np.float32)]
            starts = range(0, len(labels), LABELS_A_BLOCK)
            blocks += [self(labels[start : start + LABELS_A_BLOCK]).numpy() for start in starts]
            self._array = np.concatenate(blocks)
        return self._array

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> LabelTextVectors:
        return self  # beside the tables, which stay on the CPU

    def train(self, mode: bool = True) -> LabelTextVectors:
        self._array = None
        super().train(mode)
        return self

    def text_sums(self) -> np.ndarray:
        """(labels, width) float32: z E of each label."""
        return self.texts.sum(self.words.array)

    def start_free(self, seed: int, name: str) -> None:
        """Let free vectors count: they start at z E, the attention at what it has learnt without them."""
        self.free.array[:] = self.text_sums()
        self.wider_attention.load_state_dict(self.attention.with_one_more(seed, name).state_dict())
        self._array = None
