"""Models: the contract that every classifier keeps, and the registry they are found in.

One file a named system. `tailwright.checks.check_model` says in code what this page says in words.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tailwright.registry import Registry
from tailwright.settings import NoSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from tailwright.data.corpus import Corpus
    from tailwright.evaluation.ranking import TopK
    from tailwright.store import FolderReader, FolderWriter
    from tailwright.training.workplace import Workplace

READS = ("texts", "targets", "label texts")


@dataclass(frozen=True)
class ModelCard:
    """What `tailwright models` shows of a model.

    `reads` says what it learns from or looks at; a model that leaves out "targets" needs no labelled rows.
    """

    name: str
    summary: str
    reads: tuple[str, ...]
    paper: str = ""

    def __post_init__(self) -> None:
        unknown = set(self.reads) - set(READS)
        if unknown:
            raise ValueError(f"reads must be among {READS}, got {sorted(unknown)}")


class Model(ABC):
    """A classifier: fitted on a corpus, asked for the best labels of texts, kept in a folder.

    `Settings` is a frozen dataclass with defaults that checks its values; `--set name=value` fills it.
    """

    card: ClassVar[ModelCard]
    Settings: ClassVar[type] = NoSettings

    def __init__(self, settings: Any = None) -> None:
        self.settings = self.Settings() if settings is None else settings

    @abstractmethod
    def fit(self, corpus: Corpus, *, seed: int = 0, work: Workplace | None = None) -> None:
        """Learn from `corpus.train` with its soft targets, weights and ignored pairs.

        `work` is where phases are logged and checkpoints kept; a fit that takes seconds may do without.
        """

    @abstractmethod
    def predict(self, texts: pa.LargeStringArray | Sequence[str], k: int) -> TopK:
        """The k best labels of each text, best first; equal scores by smaller label id."""

    @abstractmethod
    def save(self, folder: FolderWriter) -> None:
        """Write what was learnt, as data only."""

    @abstractmethod
    def load(self, folder: FolderReader, labels: int) -> None:
        """Take in what `save` wrote for a model over that many labels; damaged content is an InputError."""


models: Registry[type[Model]] = Registry("model", "tailwright.models")
