"""Models: the contract that every classifier keeps, and the registry they are found in.

A small system is a file, a large one a folder with a light `__init__` (card and settings) and a `model.py`.
`tailwright.checks.check_model` says in code what this page says in words.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from tailwright.augmentation import DOORS, Augmenter, AugmenterCard, BatchAugmenter
from tailwright.errors import InputError, require_extra
from tailwright.registry import Registry
from tailwright.settings import NoSettings
from tailwright.training.workplace import Workplace

if TYPE_CHECKING:  # heavy: a card must be had without them
    import numpy as np
    import pyarrow as pa
    from scipy import sparse

    from tailwright.data.corpus import Corpus, LabelSpace
    from tailwright.data.dataset import Dataset
    from tailwright.evaluation.ranking import TopK
    from tailwright.models.shared.reasons import Reasons
    from tailwright.store import FolderReader, FolderWriter
    from tailwright.training.batches import BatchMix
    from tailwright.training.devices import Device
    from tailwright.training.memory import MemoryNeed

READS = ("texts", "targets", "label texts")
ScoreKind: TypeAlias = Literal["probability", "log-odds", "rank"]


@dataclass(frozen=True)
class ModelCard:
    """What `tailwright models` shows of a model.

    `reads` says what it learns from or looks at; a model that leaves out "targets" needs no labelled rows.
    `doors` are where augmentations can enter: "rows", which is open to all, and those inside the training.
    `mix_points` are the points of the hidden door, as in `tailwright.encoders.mixing`.
    `scores` says how scores compare: probabilities by their ratio, log-odds by their difference. With "rank"
    only their order means something; a fusion takes them by their ratio.
    `extra` is the extra of the package that must be installed, if any.
    `adds_labels` says that `with_more_labels` works.
    `continues` is what `fit_more` needs: the new rows alone, or the rows of the first training too; empty for
    a model that cannot.
    """

    name: str
    summary: str
    reads: tuple[str, ...]
    paper: str = ""
    doors: tuple[str, ...] = ("rows",)
    mix_points: tuple[str, ...] = ()
    scores: ScoreKind = "probability"
    extra: str = ""
    adds_labels: bool = False
    continues: Literal["", "new rows", "all rows"] = ""

    def __post_init__(self) -> None:
        for name, known in (("reads", READS), ("doors", DOORS)):
            unknown = set(getattr(self, name)) - set(known)
            if unknown:
                raise ValueError(f"{name} must be among {known}, got {sorted(unknown)}")
        if ("hidden" in self.doors) != bool(self.mix_points):
            raise ValueError(
                f"mix_points must be named by a model with the hidden door, and by no other, "
                f"got {self.mix_points} and doors {self.doors}"
            )

    def takes(self, method: AugmenterCard) -> bool:
        """Whether an augmentation can enter the model: by a mix point if it names some, else by its door."""
        if method.mix_points:
            return not set(method.mix_points).isdisjoint(self.mix_points)
        return method.door in self.doors


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows that a model has not learnt from, how it ranks them, and what it did learn from."""

    rows: Dataset
    top: TopK
    counts: np.ndarray  # (labels,) int64: original rows of each label that it learnt from
    learnt_rows: int  # original rows that it learnt from


@dataclass(frozen=True, eq=False)
class LaterRows:
    """Rows that came after a model was fitted, over its labels and those that came with them, which are last.

    The old rows are there too for a model that needs them. An original row says by its origin when it came:
    those numbered from the last of `starts` on are new, the starts before are of rows that came between. What
    augmentations made is new, except for rows that are `known` from before.
    """

    corpus: Corpus
    starts: tuple[int, ...]
    known: np.ndarray | None = None  # (training rows,) bool

    def is_new(self) -> np.ndarray:
        """(training rows,) bool."""
        origin = self.corpus.train.origin
        new: np.ndarray = ~origin.is_original() | (origin.rows >= self.starts[-1])
        return new if self.known is None else new & ~self.known

    def new(self) -> Corpus:
        """The corpus of the new training rows."""
        return self.corpus.with_train(self.corpus.train.take(self.is_new().nonzero()[0]))


class Model(ABC):
    """A classifier: fitted on a corpus, asked for the best labels of texts, kept in a folder.

    Set before `fit`:

    | attribute | |
    |---|---|
    | `mixes` | augmentations at the batch door and at the hidden door |
    | `watch` | datasets; a model that learns by epochs logs P@1 on each after every epoch |
    | `device` | where a model that can use a GPU trains |
    | `f0` | what `f0_for` gave, fitted; without it `fit` sees to that itself |

    Set by `fit`: `held_out`, by a model that fits its probabilities to rows which it keeps for that.
    """

    card: ClassVar[ModelCard]
    Settings: ClassVar[type] = NoSettings  # what `--set name=value` fills

    def __init__(self, settings: Any = None) -> None:
        self.settings = self.Settings() if settings is None else settings
        self.mixes: Sequence[Augmenter] = ()
        self.watch: Mapping[str, Dataset] = {}
        self.device: Device = "auto"
        self.f0: Model | None = None
        self.held_out: HeldOut | None = None

    def fit(self, corpus: Corpus, *, seed: int = 0, work: Workplace | None = None) -> None:
        """Learn from `corpus.train` with its soft targets, weights, label weights and ignored pairs.

        Rows of weight 0 are left out first, so that they are in no vocabulary, cluster, count or batch.
        `work` is where phases are logged and checkpoints kept.
        """
        self._check_mixes()
        self.learn(corpus.weighed(), seed=seed, work=work or Workplace())

    @abstractmethod
    def learn(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        """Learn from a corpus whose training and validation rows all have weights above 0.

        A row's weight multiplies its loss.
        """

    def forecast(self, corpus: Corpus) -> MemoryNeed | None:
        """What a fit will add to the process, by a quick look at the corpus; None if only a fit can tell."""
        return None

    def fit_more(
        self, before: Model, later: LaterRows, *, seed: int = 0, work: Workplace | None = None
    ) -> None:
        """Learn from rows that came later, starting with what `before` knows.

        That is a fitted model of the same kind and settings. Everything that `fit` promises holds.
        """
        self._check_mixes()
        weighed = replace(later, corpus=later.corpus.weighed())
        self.learn_more(before, weighed, seed=seed, work=work or Workplace())

    def learn_more(self, before: Model, later: LaterRows, *, seed: int, work: Workplace) -> None:
        """What `fit_more` does, without rows of weight 0."""
        raise InputError(f"{self.card.name} cannot go on learning from more rows")

    def _check_mixes(self) -> None:
        for mix in self.mixes:
            if not self.card.takes(mix.card):
                raise InputError(f"{self.card.name} cannot be trained with {mix.card.name}")

    def f0_for(self, made_by: Collection[str]) -> Model | None:
        """The model that learns from original rows alone before this one does from those methods' rows too.

        None for a model that learns from all rows at once, as most do.
        """
        return None

    def batch_mixes(self, corpus: Corpus, *, seed: int, work: Workplace) -> list[BatchMix]:
        """The augmentations at the batch door, prepared for the batches of a corpus."""
        prepared = []
        for mix in self.mixes:
            if isinstance(mix, BatchAugmenter):
                with work.phase(mix.card.name):
                    prepared.append(mix.prepare(corpus, seed=seed))
        return prepared

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

    @property
    def looks_at_named(self) -> bool:
        """Whether `predict_with_named` is quicker than `predict`."""
        return False

    def predict_with_named(
        self, texts: pa.LargeStringArray | Sequence[str], k: int, named: np.ndarray
    ) -> TopK:
        """`predict` for texts for which other models have `named` (texts, some) labels, -1 for none.

        A model that takes long to look at all labels may look at these, and at some that it finds itself.
        """
        return self.predict(texts, k)

    def reaching(self, allowed: np.ndarray) -> Model:
        """Who is asked about texts of which this model names too few of the `allowed` (labels,) bool.

        A model that searches among some labels of a text gives one that searches among all that are allowed,
        and names no others; any other gives itself, as it has nothing to add.
        """
        return self

    def knows(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray:
        """(texts,) bool: whether the model knows anything of a text; what it ranks for others is a guess.

        By default it knows every text that is not blank. A model over words knows none of which it has no
        word, as far as it can tell.
        """
        from tailwright.data.dataset import not_blank  # here, as it is heavy

        return not_blank(texts)

    def text_vectors(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray | None:
        """(texts, width) float32 of unit length, or None if the model makes no vectors of texts.

        A text of which the model knows nothing is a row of zeros.
        """
        return None

    def with_more_labels(self, labels: LabelSpace) -> Model:
        """The fitted model with `labels` behind its own, ranked by their texts; nothing is trained.

        This one stays as it is. What it says of the labels that it knew changes only for texts with words
        that came with the new ones.
        """
        able = [name for name in models.names() if models.card(name).adds_labels]
        raise InputError(
            f"{self.card.name} cannot rank a label that it was not trained on",
            expected=f"a model that finds labels by their texts ({', '.join(able)}), or a fusion with one",
        )

    def explain(self, text: str, labels: Sequence[int]) -> list[Reasons] | None:
        """Why each of `labels` has its score for the text, or None if the model cannot say."""
        return None

    @abstractmethod
    def save(self, folder: FolderWriter) -> None:
        """Write what was learnt, as data only."""

    @abstractmethod
    def load(self, folder: FolderReader, labels: int) -> None:
        """Take in what `save` wrote for a model over that many labels; damaged content is an InputError."""


class ModelRegistry(Registry[type[Model]]):
    """Models by name, and fusions: `A+B` is a model for any models A and B; the usual ones are listed."""

    FUSIONS = ("linear+twin", "linear+twin+label-matcher")

    def names(self) -> list[str]:
        return sorted({*super().names(), *self.FUSIONS})

    def get(self, name: str) -> type[Model]:
        # Of a fusion all parts are looked at now, not when the parts before have been trained.
        for part in name.split("+"):
            folder = self._folder(part)  # a model in a file needs no extra
            if folder is not None:
                require_extra(folder.CARD.extra, f"the model {part}")
        if "+" not in name:
            return super().get(name)
        # By name, as other models are found: no model depends on the code of fusions.
        fusion: type[Model] = importlib.import_module("tailwright.models.fusion.model").fusion_of(name)
        return fusion

    def kinds(self, name: str) -> list[type[Model]]:
        """The model of that name and, of a fusion, all its parts."""
        return [self.get(part) for part in dict.fromkeys((name, *name.split("+")))]

    def card(self, name: str) -> ModelCard:
        if "+" not in name:
            return super().card(name)
        return importlib.import_module("tailwright.models.fusion").card_of(name)

    def settings(self, name: str) -> type[Any]:
        if "+" not in name:
            return super().settings(name)
        return importlib.import_module("tailwright.models.fusion").settings_of(name)


models = ModelRegistry("model", "tailwright.models", apart=("fusion", "shared"))
