"""Models: the contract that every classifier keeps, and the registry they are found in.

One file a named system. `tailwright.checks.check_model` says in code what this page says in words.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tailwright.augmentation import DOORS
from tailwright.registry import Registry
from tailwright.settings import NoSettings

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from scipy import sparse

    from tailwright.augmentation import BatchAugmenter
    from tailwright.data.corpus import Corpus
    from tailwright.data.dataset import Dataset
    from tailwright.evaluation.ranking import TopK
    from tailwright.store import FolderReader, FolderWriter
    from tailwright.training.devices import Device
    from tailwright.training.workplace import Workplace

READS = ("texts", "targets", "label texts")


@dataclass(frozen=True)
class ModelCard:
    """What `tailwright models` shows of a model.

    `reads` says what it learns from or looks at; a model that leaves out "targets" needs no labelled rows.
    `doors` are those at which augmentations may enter while it trains, and "rows", which is open to all.
    `scores` says how scores compare: chances by their ratio, log-odds by their difference.
    """

    name: str
    summary: str
    reads: tuple[str, ...]
    paper: str = ""
    doors: tuple[str, ...] = ("rows",)
    scores: Literal["chance", "log-odds"] = "chance"

    def __post_init__(self) -> None:
        for name, known in (("reads", READS), ("doors", DOORS)):
            unknown = set(getattr(self, name)) - set(known)
            if unknown:
                raise ValueError(f"{name} must be among {known}, got {sorted(unknown)}")


class Model(ABC):
    """A classifier: fitted on a corpus, asked for the best labels of texts, kept in a folder.

    `Settings` is a frozen dataclass with defaults that checks its values; `--set name=value` fills it.
    `mixes` are the augmentations at the batch door, set before `fit`; a model whose card lists that door lets
    each `prepare` and change every batch that it draws.
    `watch` are datasets, set before `fit`: a model that learns by epochs logs P@1 on each after every epoch;
    others, and fusions, do not look at them. What is learnt is the same with and without.
    `device`, set before `fit`, is where a model that can use a GPU trains; others do not look at it.
    """

    card: ClassVar[ModelCard]
    Settings: ClassVar[type] = NoSettings

    def __init__(self, settings: Any = None) -> None:
        self.settings = self.Settings() if settings is None else settings
        self.mixes: Sequence[BatchAugmenter] = ()
        self.watch: Mapping[str, Dataset] = {}
        self.device: Device = "auto"

    def fit(self, corpus: Corpus, *, seed: int = 0, work: Workplace | None = None) -> None:
        """Learn from `corpus.train` with its soft targets, weights and ignored pairs.

        Rows of weight 0 are left out before anything is made of the corpus, so that they are in no
        vocabulary, cluster, count or batch either. `work` is where phases are logged and checkpoints kept.
        """
        from tailwright.training.workplace import Workplace

        self.learn(corpus.weighed(), seed=seed, work=work or Workplace())

    @abstractmethod
    def learn(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        """What `fit` does with a corpus all of whose training and validation rows weigh more than 0.

        A row's weight multiplies its loss.
        """

    @abstractmethod
    def predict(self, texts: pa.LargeStringArray | Sequence[str], k: int) -> TopK:
        """The k best labels of each text, best first; equal scores by smaller label id."""

    def predict_besides(
        self, texts: pa.LargeStringArray | Sequence[str], k: int, excluded: sparse.csr_array
    ) -> TopK:
        """`predict` for texts whose `excluded` pairs (texts, labels) do not count in their rankings.

        The caller takes these pairs out of what it gets. A model whose scores depend on the other labels of
        a list leaves them out itself before it computes them.
        """
        return self.predict(texts, k)

    def text_vectors(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray | None:
        """(texts, width) float32: what a text is to the model, of unit length; None where there is no such.

        A text of which the model knows nothing is a row of zeros.
        """
        return None

    @abstractmethod
    def save(self, folder: FolderWriter) -> None:
        """Write what was learnt, as data only."""

    @abstractmethod
    def load(self, folder: FolderReader, labels: int) -> None:
        """Take in what `save` wrote for a model over that many labels; damaged content is an InputError."""


class ModelRegistry(Registry[type[Model]]):
    """Models by name, and fusions of several: `A+B` is a model for any A and B; the usual ones are listed."""

    FUSIONS = ("linear+twin",)

    def names(self) -> list[str]:
        return sorted({*super().names(), *self.FUSIONS})

    def get(self, name: str) -> type[Model]:
        if "+" not in name:
            return super().get(name)
        # By name, as other models are found: fusion is no part of the code that its parts depend on.
        fused: type[Model] = importlib.import_module("tailwright.models.fusion.model").fusion_of(name)
        return fused


models = ModelRegistry("model", "tailwright.models", apart=("fusion", "shared"))
