"""AttentionXML (You et al. 2019): a BiLSTM over word vectors, and for each label an attention of its own.

Each label attends to the words of a text; its context vector goes through layers that all labels share and
becomes its score. Binary cross-entropy, Adam, adaptive clipping and averaged weights; where there are
validation rows, the weights of best nDCG@5 are kept.

| form | for | what is trained |
|---|---|---|
| flat | up to some thousand labels | one network over all labels |
| tree | more | clusters of labels, a network a level, from the top down |

In the tree a level starts from the words, LSTM and layers of the level above; its attention is new. A row
learns the children of its true clusters and of those that the level above ranks highest; the probability of a
label is the product of the probabilities on its path. A cluster's target is the largest of its labels'
targets.

The papers' own sizes are in `configs/attentionxml-official.toml` and `configs/attentionxml-tailmix.toml`; the
defaults are half as wide and read 128 words. docs/long-texts.md says what a row costs in either form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from tailwright.encoders.settings import BiLstmSettings, WordSettings
from tailwright.errors import InputError
from tailwright.models import ModelCard
from tailwright.settings import Settings, setting
from tailwright.training.settings import TrainingSettings

CARD = ModelCard(
    name="attentionxml",
    summary="a BiLSTM over word vectors, each label attends to its own words; a tree for many labels",
    reads=("texts", "targets"),
    paper="AttentionXML: Label Tree-based Attention-Aware Deep Model for High-Performance XMTC",
    doors=("rows", "hidden"),
    mix_points=("tokens", "embeddings", "output", "contexts", "hidden", "pairs"),
    scores="log-odds",
    extra="deep",
)

MOST_FLAT_LABELS = 4096  # more than these make a tree
MOST_TOP_NODES = 8192  # the first level scores all its nodes: with more of them it is no longer cheap
BRANCHING = 8  # nodes that one of the level above has, where there are several levels of nodes


@dataclass(frozen=True)
class AttentionXmlSettings(Settings):
    """What can be set of attentionxml."""

    words: WordSettings = setting(WordSettings(max_length=128), "the words")
    lstm: BiLstmSettings = setting(BiLstmSettings(hidden=128), "the encoder")
    layers: tuple[int, ...] = setting(
        (256,),
        "sizes of the layers, shared by all labels, between a context vector and its score",
        least=1,
        most=65_536,
    )
    tree: Literal["auto", "flat", "tree"] = setting(
        "auto", "flat: all labels at once; tree: clusters first; auto: a tree above 4,096 labels"
    )
    max_leaf: int = setting(
        64, "labels of a cluster, at most; clusters are as many as the next power of two", least=1
    )
    nodes: tuple[int, ...] = setting(
        (), "clusters of each level, powers of two from few to many, instead of max_leaf", least=2
    )
    beam: int = setting(10, "clusters of a level that are looked into", least=1, most=100_000)
    rate: float = setting(2e-3, "learning rate", above=0, most=1000)
    training: TrainingSettings = setting(
        TrainingSettings(epochs=15, batch=40, clip="adaptive", average_from=4, average_every=20),
        "how it is trained",
    )
    level_epochs: tuple[int, ...] = setting(
        (), "epochs of each level of a tree, from the top to the labels; none given: epochs for all", least=1
    )
    level_average_from: tuple[int, ...] = setting(
        (), "average_from of each level of a tree, in that order; none given: average_from for all", least=0
    )

    def check(self) -> None:
        if not self.layers:
            raise ValueError("layers must be one or more sizes, got none")
        powers = all(count.bit_count() == 1 for count in self.nodes)
        if not powers or list(self.nodes) != sorted(set(self.nodes)):
            raise ValueError(f"nodes must be growing powers of two, got {list(self.nodes)}")

    def as_tree(self, labels: int) -> bool:
        """Whether that many labels are put into a tree."""
        return self.tree == "tree" or (self.tree == "auto" and labels > MOST_FLAT_LABELS)

    def check_levels(self, levels: int) -> None:
        """Refuse lists by level that are not as long as there are levels; a flat network has none.

        >>> AttentionXmlSettings(level_epochs=(5, 10)).check_levels(3)
        Traceback (most recent call last):
        ...
        tailwright.errors.InputError: level_epochs has 2 numbers, expected 3, one for each level of the tree
        """
        for name in ("level_epochs", "level_average_from"):
            given = len(getattr(self, name))
            if given and given != levels:
                wanted = f"{levels}, one for each level of the tree" if levels else "none: there is no tree"
                raise InputError(f"{name} has {given} number{'s' * (given > 1)}", expected=wanted)

    def level_training(self, number: int) -> TrainingSettings:
        """How a level of the tree is trained.

        >>> chosen = AttentionXmlSettings(level_epochs=(5, 10)).level_training(1)
        >>> chosen.epochs, chosen.average_from
        (10, 4)
        """
        chosen = self.training
        if self.level_epochs:
            chosen = replace(chosen, epochs=self.level_epochs[number])
        if self.level_average_from:
            chosen = replace(chosen, average_from=self.level_average_from[number])
        return chosen

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
        nodes = [power_above(labels / self.max_leaf)]
        while nodes[0] > MOST_TOP_NODES:
            nodes.insert(0, nodes[0] // BRANCHING)
        return tuple(nodes) if nodes[-1] > 1 else ()


def power_above(number: float) -> int:
    """The smallest power of two that is not below `number`.

    >>> [power_above(number) for number in (0.5, 1, 3, 4)]
    [1, 1, 4, 4]
    """
    power = 1
    while power < number:
        power *= 2
    return power
