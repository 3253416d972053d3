"""Augmentation: the contract of the three doors, and the registry of the methods.

A method enters at one door and says which on its card:

| door | in | out |
|---|---|---|
| rows | a corpus | new training rows, or a corpus whose made rows are refined |
| batch | a drawn batch | a changed batch |
| hidden | a point inside a model's forward pass | mixed activations |

Rows are added before training, and any trainer can use them; `tailwright.runs.augmenting` applies the methods
of this door. Batches and activations are changed during
training, which only a model whose card lists the door allows.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from tailwright.errors import InputError, require_extra
from tailwright.registry import Registry
from tailwright.settings import NoSettings, Settings, setting, settings_from
from tailwright.training.workplace import Workplace, peak_rss_mb

if TYPE_CHECKING:
    import pyarrow as pa

    from tailwright.data.corpus import Corpus
    from tailwright.data.dataset import Dataset
    from tailwright.evaluation.ranking import TopK
    from tailwright.training.batches import BatchMix
    from tailwright.training.hidden_door import HiddenMix

DOORS = ("rows", "batch", "hidden")
WHAT_ENTERS = {
    "rows": "new training rows",
    "batch": "batches changed while training",
    "hidden": "activations mixed inside the model",
}
# Where activations can be mixed, and their shapes; `tailwright.encoders.mixing` says more.
MIX_POINTS = {
    "tokens": "(rows, tokens) ids",
    "embeddings": "(rows, tokens, width)",
    "layers": "(rows, tokens, width)",  # layer-1, layer-2, ...: after each layer of the encoder
    "output": "(rows, tokens, width) or (rows, width)",
    "contexts": "(rows, labels, width)",
    "hidden": "(rows, labels, units)",
    "pairs": "(pairs, width)",
}
NEEDS = ("label texts", "WordNet", "a language model")


@dataclass(frozen=True)
class AugmenterCard:
    """What `tailwright augmenters` shows of a method.

    `keeps_targets` promises that a new row has the targets, ignored and excluded pairs of its source row, or
    that a changed batch keeps its targets. `needs` says what the method needs beside rows: label texts in the
    corpus, WordNet on the machine, a language model (which may be trained on the corpus from scratch).
    `mix_points` are those of a method that mixes inside a forward pass: a model must have one of them.
    """

    name: str
    summary: str
    door: str
    keeps_targets: bool
    paper: str = ""
    needs: tuple[str, ...] = ()
    mix_points: tuple[str, ...] = ()

    @property
    def entrance(self) -> str:
        """Its door in words, with what the word means."""
        return f"the {self.door} door ({WHAT_ENTERS[self.door]})"

    @property
    def extra(self) -> str:
        """The extra of the package that must be installed, if any."""
        return "deep" if self.mix_points or "a language model" in self.needs else ""

    def __post_init__(self) -> None:
        if set(self.mix_points) - MIX_POINTS.keys() or (self.door == "hidden" and not self.mix_points):
            raise ValueError(f"a hidden-door method has mix points among {tuple(MIX_POINTS)}")
        if self.door not in DOORS:
            raise ValueError(f"door must be one of {DOORS}, got {self.door!r}")
        if set(self.needs) - set(NEEDS):
            raise ValueError(f"needs must be among {NEEDS}, got {self.needs!r}")


class Augmenter(ABC):
    """What the methods of every door have: a card, and settings that `METHOD.NAME=VALUE` fills.

    `probes` are the settings that `tailwright advise` tries, the default first; none if the method is too
    slow for such a search. `quick` are settings under which a slow method takes seconds on a tiny corpus, for
    the contract checks.
    """

    card: ClassVar[AugmenterCard]
    Settings: ClassVar[type] = NoSettings
    probes: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)
    quick: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, settings: Any = None) -> None:
        self.settings = self.Settings() if settings is None else settings


@dataclass(frozen=True)
class RowSettings(Settings):
    """What can be set of every method that adds rows; the settings of such a method derive from these."""

    weight: float = setting(
        1.0,
        "weight of a new row in the loss, times its source row's; 0: no rows are added",
        least=0,
        most=1_000_000,
    )


@dataclass(frozen=True)
class Forecast:
    """What a method that adds rows will take on one corpus, on this machine."""

    sources: int  # rows (or labels) that new rows are made from
    rows: int  # new rows at most
    seconds: float  # of all the work, as if nothing had been done before
    memory_mb: float  # of the process at its peak
    disk_mb: float  # what is written, including work kept for a resume
    lines: tuple[str, ...] = ()  # how the figures come about, in words

    @property
    def machine_hours(self) -> float:
        """The seconds in hours of this machine, to be multiplied by what an hour costs."""
        return self.seconds / 3600


class RowAugmenter(Augmenter):
    """A method at the rows door.

    Draw only from `tailwright.streams.stream(seed, name, row)` with `row` the source row's `origin.rows`, so
    that the result depends neither on the order of rows nor on the number of workers.
    """

    Settings: ClassVar[type] = RowSettings

    @abstractmethod
    def new_rows(self, corpus: Corpus, *, seed: int = 0, workers: int = 1) -> Dataset:
        """New training rows only, with `origin` set to this method; the corpus stays as it is.

        A new row keeps its source row's weight: `augment` multiplies it by the setting `weight`, so that rows
        which were slow to make serve every weight that is tried.
        """

    def forecast(self, corpus: Corpus, *, seed: int = 0, workers: int = 1) -> Forecast:
        """What `new_rows` would take.

        By default the rows are made, counted and thrown away, which suits a method that takes seconds; a
        slower one measures a sample.
        """
        start = time.perf_counter()
        rows = self.new_rows(corpus, seed=seed, workers=workers)
        seconds = time.perf_counter() - start
        sources = len(set(rows.origin.rows.tolist()))
        return Forecast(sources, len(rows), seconds, peak_rss_mb(), rows.texts.nbytes / 1e6)

    def refiners(self) -> tuple[RowRefiner, ...]:
        """What refines the new rows, in this order, before they are added."""
        return ()

    def depends_on(self) -> tuple[str, ...]:
        """What the rows depend on beside the corpus, the settings, the seed and the code of this package.

        For example the digest of a file that the method reads. Trainings share rows only if it is the same.
        It is asked every time, so it must be cheap.
        """
        return ()


@dataclass(frozen=True)
class ScorerSettings(Settings):
    """The trained classifier that a refiner asks about texts."""

    model: str = setting(
        "auto",
        "model that is trained on the original rows, with its default settings; auto: the f0 of the model "
        "that is being trained, with its own settings, where it has one, as lightxml under xda; else linear",
    )
    run: str | None = setting(
        None, "run folder whose classifier is asked instead; none: a model is trained on the way"
    )


class TrainedClassifier(Protocol):
    """A trained classifier as refiners see it; models and runs are in rooms above this one."""

    def log_odds(self, texts: pa.LargeStringArray, k: int) -> TopK:
        """The k best labels of each text, with finite log-odds as scores."""


class RowRefiner(Augmenter):
    """A method at the rows door that adds nothing: it changes or drops rows that methods before it made.

    Rows whose `origin` says that they are original stay as they are, and so does the order of all that are
    left. The result does not depend on the order of rows.
    """

    @property
    def scorer(self) -> ScorerSettings | None:
        """Which classifier `refined` is to be given; None if it needs none."""
        return None

    @abstractmethod
    def refined(
        self,
        corpus: Corpus,
        *,
        classifier: TrainedClassifier | None = None,
        work: Workplace | None = None,
    ) -> Corpus:
        """The corpus with its made rows refined, of which there is at least one; `work` is where it logs."""


RowMethod: TypeAlias = RowAugmenter | RowRefiner


class BatchAugmenter(Augmenter):
    """A method at the batch door: prepared once before training, then called with every drawn batch."""

    @abstractmethod
    def prepare(self, corpus: Corpus, *, seed: int = 0) -> BatchMix:
        """What changes the batches of `corpus.train`; label statistics come from its original rows alone."""


class HiddenAugmenter(Augmenter):
    """A method at the hidden door: asked once before training, then of every batch for its forward passes.

    One that replaces token ids, at the point `tokens`, enters at the batch door.
    """

    @abstractmethod
    def prepare(self, corpus: Corpus, *, points: tuple[str, ...], seed: int = 0) -> HiddenMix:
        """What mixes the batches of `corpus.train` at some of these points of the network.

        Label statistics come from the corpus's original rows alone.
        """

    def start(self, epochs: int, restart: int | None = None) -> int:
        """The epoch, from 0, at which mixing begins in a training of so many: the setting `start_epoch`.

        Without one, mixing begins where the training begins anew, or after half of its epochs.
        """
        start: int | None = getattr(self.settings, "start_epoch", 0)
        if start is not None:
            return start
        return epochs // 2 if restart is None else restart

    def among(self, points: tuple[str, ...]) -> tuple[str, ...]:
        """Those of a network's mix points that the method can mix at; an InputError if there are none."""
        common = tuple(point for point in points if _kind_of(point) in self.card.mix_points)
        if not common:
            needs = "; it needs the encoder in the loop (frozen=false)" * ("embeddings" not in points)
            raise InputError(
                f"{self.card.name} mixes at {', '.join(self.card.mix_points)}{needs}",
                expected=f"one of the points that the network has as it is set: {', '.join(points)}",
            )
        return common


def _kind_of(point: str) -> str:
    """The mix point of a card that a network's point belongs to: `layer-3` is one of `layers`."""
    return "layers" if point.startswith("layer-") else point


augmenters: Registry[type[Augmenter]] = Registry("augmenter", "tailwright.augmentation", apart=("shared",))


def augmenter(name: str, settings: Mapping[str, Any] | None = None) -> Augmenter:
    """The method of that name with these settings; an unknown name or setting is an InputError."""
    kind = augmenters.get(name)
    require_extra(kind.card.extra, f"the augmentation {name}")
    return kind(settings_from(kind.Settings, settings or {}))


def row_augmenter(name: str, settings: Mapping[str, Any] | None = None) -> RowMethod:
    """The same for a method of the rows door; of another door it is an InputError that says when it works."""
    method = augmenter(name, settings)
    if not isinstance(method, RowMethod):
        raise InputError(
            f"{name} makes no rows: it works during training, at {method.card.entrance}",
            expected=f"`tailwright train --augment {name}`, or a method that adds rows",
        )
    return method
