"""Augmentation: the contract of the three doors, and the registry the methods are found in.

A method enters at one door and says which on its card:

| door | in | out |
|---|---|---|
| rows | a corpus | new training rows |
| batch | a drawn batch | a changed batch |
| hidden | a point inside a model's forward pass | mixed activations |

Rows are added before training, and any trainer can use them. Batches are changed while a model trains, so
only a model whose card lists the batch door can be asked for that.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from tailwright.augmentation._forecast import Forecast as Forecast
from tailwright.errors import InputError
from tailwright.registry import Registry
from tailwright.settings import NoSettings, settings_from

if TYPE_CHECKING:
    from tailwright.data.corpus import Corpus
    from tailwright.data.dataset import Dataset
    from tailwright.training.batches import BatchMix

DOORS = ("rows", "batch", "hidden")
NEEDS = ("label texts", "WordNet", "a language model")


@dataclass(frozen=True)
class AugmenterCard:
    """What `tailwright augmenters` shows of a method.

    `keeps_targets` promises that a new row has the targets, ignored and excluded pairs of its source row, or
    that a changed batch has the targets that it had. `needs` says what there must be beside rows: texts of
    labels in the corpus, WordNet on the machine, a language model (for want of better, one that is trained on
    the corpus from nothing).
    """

    name: str
    summary: str
    door: str
    keeps_targets: bool
    paper: str = ""
    needs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.door not in DOORS:
            raise ValueError(f"door must be one of {DOORS}, got {self.door!r}")
        if set(self.needs) - set(NEEDS):
            raise ValueError(f"needs must be among {NEEDS}, got {self.needs!r}")


class Augmenter(ABC):
    """What the methods of every door have: a card, and settings that `METHOD.NAME=VALUE` fills.

    `probes` are the settings that `tailwright advise` tries, the default first; none where a try takes longer
    than such a search may. `quick` are settings under which a method that is slow by default takes seconds on
    a tiny corpus: the contract checks run it so.
    """

    card: ClassVar[AugmenterCard]
    Settings: ClassVar[type] = NoSettings
    probes: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)
    quick: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, settings: Any = None) -> None:
        self.settings = self.Settings() if settings is None else settings


@dataclass(frozen=True)
class RowSettings:
    """What can be set of every method that adds rows; the settings of such a method derive from these.

    | setting | meaning |
    |---|---|
    | `weight` | what a new row counts in the loss, beside 1 for the row it came from; 0: no rows are added |
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.weight < float("inf"):
            raise ValueError(f"weight must be >= 0, got {self.weight}")


class RowAugmenter(Augmenter):
    """A method at the rows door.

    Draw only from `tailwright.streams.stream(seed, name, row)` with `row` the source row's `origin.rows`, so
    that the result depends neither on the order of rows nor on the number of workers.
    """

    Settings: ClassVar[type] = RowSettings

    @abstractmethod
    def new_rows(self, corpus: Corpus, *, seed: int = 0, workers: int = 1) -> Dataset:
        """New training rows only, with `origin` set to this method; the corpus stays as it is.

        Rows weigh what those that they came from weigh: the setting `weight` is applied by `augment`, so that
        rows which were hard to make serve for every weight that is tried.
        """

    def forecast(self, corpus: Corpus, *, seed: int = 0, workers: int = 1) -> Forecast:
        """What `new_rows` would take.

        Here the rows are made, counted and thrown away, which is as exact as can be and right for a method
        that takes seconds; one that takes longer measures a sample.
        """
        import numpy as np

        from tailwright.training.workplace import peak_rss_mb

        start = time.perf_counter()
        made = self.new_rows(corpus, seed=seed, workers=workers)
        seconds = time.perf_counter() - start
        sources = len(np.unique(made.origin.rows))
        return Forecast(sources, len(made), seconds, peak_rss_mb(), made.texts.nbytes / 1e6)

    def depends_on(self) -> tuple[str, ...]:
        """What the rows depend on beside the corpus, the settings, the seed and the code of this package.

        Such as the digest of a file that the method reads. Rows are shared by trainings as long as it is the
        same; it is asked for before every sharing, so it must be cheap.
        """
        return ()


class BatchAugmenter(Augmenter):
    """A method at the batch door: asked once before training, then of every batch that is drawn."""

    @abstractmethod
    def prepare(self, corpus: Corpus, *, seed: int = 0) -> BatchMix:
        """What changes the batches of `corpus.train`; label statistics come from its original rows alone."""


augmenters: Registry[type[Augmenter]] = Registry("augmenter", "tailwright.augmentation")


def augmenter(name: str, settings: Mapping[str, Any] | None = None) -> Augmenter:
    """The method of that name with these settings; an unknown name or setting is an InputError."""
    kind = augmenters.get(name)
    return kind(settings_from(kind.Settings, settings or {}))


def row_augmenter(name: str, settings: Mapping[str, Any] | None = None) -> RowAugmenter:
    """The same, of a method that adds rows; one of another door is an InputError that says when it works."""
    made = augmenter(name, settings)
    if not isinstance(made, RowAugmenter):
        raise InputError(
            f"{name} makes no rows: it changes batches during training",
            expected=f"`tailwright train --augment {name}`, or a method that adds rows",
        )
    return made


def augment(
    corpus: Corpus,
    method: str | RowAugmenter,
    *,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    workers: int | None = None,
) -> Corpus:
    """The corpus with the new rows of `method` (a name or an instance) behind its training rows.

    Rows of weight 0 stay, but nothing is made of them, and they are in no statistics of the method.
    `workers` is as many as the kernels have threads unless given; it makes no difference to the rows.
    """
    import numba
    import numpy as np

    from tailwright.augmentation._shared_rows import shared_rows
    from tailwright.data.dataset import Dataset

    chosen = row_augmenter(method, settings) if isinstance(method, str) else method
    weight = np.float32(chosen.settings.weight)
    if not weight:
        return corpus
    new = shared_rows(chosen, corpus.weighed(), seed=seed, workers=workers or numba.get_num_threads())
    return corpus.with_train(Dataset.concat([corpus.train, replace(new, weights=weight * new.weights)]))
