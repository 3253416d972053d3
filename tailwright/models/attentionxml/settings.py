"""`AttentionXmlSettings`: what can be set of attentionxml, and what follows from the number of labels.

What a row costs is counted in pairs: one label meeting one text. Forward and backward, a pair takes about
12 microseconds of one core at the default sizes (texts of 96 words), and reading the text as much as 350
pairs. Flat, a row costs a pair a label. A tree of two levels costs `nodes + beam x leaf` pairs and a second
reading.

| labels | flat | tree: 64 labels a leaf at most, beam 10 |
|---|---|---|
| 4,096 | 4,450 pairs, 53 ms | 128 + 320 pairs, two readings: 14 ms |
| 27,000 | 27,350 pairs, 330 ms | 512 + 530 pairs, two readings: 21 ms |

So an epoch over 41,000 rows of 27,000 labels is 3.8 hours of one core flat and a quarter of an hour as a
tree. A tree loses what its upper levels get wrong; up to `FLAT_LABELS` the flat form's price is paid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tailwright.errors import InputError
from tailwright.models import ModelCard
from tailwright.models.shared.word_settings import WordSettings

if TYPE_CHECKING:
    from tailwright.encoders.bilstm import BiLstmSettings

CARD = ModelCard(
    name="attentionxml",
    summary="a BiLSTM over word vectors, each label attends to its own words; a tree for many labels",
    reads=("texts", "targets"),
    paper="AttentionXML: Label Tree-based Attention-Aware Deep Model for High-Performance XMTC",
    scores="log-odds",
)

FLAT_LABELS = 4096  # more than these make a tree
TOP_NODES = 8192  # the first level scores all its nodes: with more of them it is no longer cheap
BRANCHING = 8  # nodes that one of the level above has, where there are several levels of nodes


@dataclass(frozen=True)
class AttentionXmlSettings(WordSettings):
    """What can be set, besides `WordSettings`.

    | setting | meaning |
    |---|---|
    | `hidden` | width of the LSTM in each direction |
    | `layers` | sizes of the layers, shared by all labels, between a label's context and its score |
    | `drop_words`, `drop_states` | dropout on word vectors, and on what the LSTM gives |
    | `tree` | `flat`: all labels at once; `tree`: clusters first; `auto`: a tree above 4,096 labels |
    | `max_leaf` | labels of a cluster, at most; clusters are as many as the next power of two |
    | `nodes` | clusters of each level, powers of two from few to many, instead of `max_leaf` |
    | `beam` | clusters of a level that are looked into |
    """

    epochs: int = 15
    batch: int = 40
    max_length: int = 128
    clip: Literal["adaptive"] | float | None = "adaptive"
    average_from: int | None = 4
    average_every: int = 20
    rate: float = 2e-3
    hidden: int = 128
    layers: tuple[int, ...] = (256,)
    drop_words: float = 0.2
    drop_states: float = 0.5
    tree: Literal["auto", "flat", "tree"] = "auto"
    max_leaf: int = 64
    nodes: tuple[int, ...] = ()
    beam: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        self.encoder()
        if not self.layers or min(self.layers) < 1:
            raise ValueError(f"layers must be one or more sizes >= 1, got {list(self.layers)}")
        for name in ("max_leaf", "beam"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
        powers = all(count > 1 and count.bit_count() == 1 for count in self.nodes)
        if not powers or list(self.nodes) != sorted(set(self.nodes)):
            raise ValueError(f"nodes must be growing powers of two, got {list(self.nodes)}")

    def encoder(self) -> BiLstmSettings:
        """The size of the encoder."""
        from tailwright.encoders.bilstm import BiLstmSettings

        return BiLstmSettings(self.hidden, self.drop_words, self.drop_states)

    def as_tree(self, labels: int) -> bool:
        """Whether that many labels are put into a tree."""
        return self.tree == "tree" or (self.tree == "auto" and labels > FLAT_LABELS)

    def nodes_of(self, labels: int) -> tuple[int, ...]:
        """The clusters of each level above that many labels; none where all fit into one.

        >>> AttentionXmlSettings().nodes_of(26_983), AttentionXmlSettings().nodes_of(670_091)
        ((512,), (2048, 16384))
        """
        if self.nodes:
            if self.nodes[-1] > labels:
                raise InputError(
                    f"nodes ends with {self.nodes[-1]}", expected=f"at most the number of labels, {labels}"
                )
            return self.nodes
        found = [power_above(labels / self.max_leaf)]
        while found[0] > TOP_NODES:
            found.insert(0, found[0] // BRANCHING)
        return tuple(found) if found[-1] > 1 else ()


def power_above(number: float) -> int:
    """The smallest power of two that is not below `number`.

    >>> [power_above(number) for number in (0.5, 1, 3, 4)]
    [1, 1, 4, 4]
    """
    found = 1
    while found < number:
        found *= 2
    return found
