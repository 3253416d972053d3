"""`Run`: a fitted model, its labels, and how it came about.

| file in a run folder | holds |
|---|---|
| `manifest.json` | format version, sha256 and size of every other file |
| `run.json` | how the run came about: `RunFacts` |
| `labels/` | ids, names and texts (bytes and offsets), training counts without and with added rows |
| `model/` | whatever the model saved |
| `README.md` | the model card, for people: `tailwright.runs.model_card` |
| `log.jsonl` | how the training went; not in the manifest |
"""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pydantic import ValidationError
from scipy import sparse

from tailwright import __version__
from tailwright.data.corpus import LabelSpace, load_labels, save_labels
from tailwright.data.dataset import arrow_strings
from tailwright.data.relabelling import appended_labels, refuse_known
from tailwright.errors import InputError, NoNumberError
from tailwright.evaluation.ranking import TopK
from tailwright.models import Model, models
from tailwright.runs.facts import (
    AppliedAugmentation,
    LaterStep,
    Measurement,
    RunFacts,
    TailAdvice,
    TrainingData,
)
from tailwright.runs.hub import folder_of, push
from tailwright.runs.label_choice import Ask, Labels, top_among
from tailwright.runs.model_card import model_card
from tailwright.runs.predicting import Request, Texts
from tailwright.runs.predictions import Predictions
from tailwright.runs.probability import Calibration, probabilities_of
from tailwright.runs.tail import Tail, tail_value, top_for_tail
from tailwright.settings import settings_from
from tailwright.store import FolderReader, open_folder, writing
from tailwright.store.errors import errors_of_content
from tailwright.store.manifest import first_problem

if TYPE_CHECKING:
    from tailwright.runs.explaining import Explanation

_LIBRARIES = ("numpy", "scipy", "numba", "pyarrow", "torch", "transformers")


def library_versions() -> dict[str, str]:
    """The versions of tailwright, of Python and of the installed libraries that results depend on."""
    installed = {name: importlib.util.find_spec(name) for name in _LIBRARIES}
    libraries = {name: metadata.version(name) for name, spec in installed.items() if spec is not None}
    return {"tailwright": __version__, "python": platform.python_version(), **libraries}


@dataclass(frozen=True, eq=False)
class Run:
    """A fitted model with its labels, and how it came about.

    `augmented_counts` (labels,) float64 are label counts with the weighted soft targets of made rows.

    >>> from tailwright.runs import train
    >>> run = train(["red shoes", "wool hat"], [["shoes"], ["hats"]], model="label-matcher")
    >>> run.name, run.train_rows, run.labels.names.to_pylist()
    ('label-matcher', 2, ['hats', 'shoes'])
    >>> run.predict(["blue shoes"], k=1).names
    [['shoes']]
    """

    model: Model
    labels: LabelSpace
    train_rows: int  # original rows
    seed: int = 0
    augmentations: tuple[AppliedAugmentation, ...] = ()  # in order
    augmented_counts: np.ndarray = field(default=None)  # type: ignore[arg-type]
    fraction: float = 1.0  # of the training rows that were read
    data: TrainingData = field(default_factory=TrainingData)
    versions: dict[str, str] = field(default_factory=library_versions)
    calibration: Calibration | None = None
    tail: TailAdvice | None = None
    measured: Measurement | None = None  # on rows that it has not learnt from
    later: tuple[LaterStep, ...] = ()  # in order
    source: str = ""  # the folder that it was loaded from

    def __post_init__(self) -> None:
        if self.augmented_counts is None:
            object.__setattr__(self, "augmented_counts", self.labels.counts.astype(np.float64))

    @property
    def name(self) -> str:
        """What it is called in a heading: its model."""
        return self.model.card.name

    @property
    def augment(self) -> tuple[str, ...]:
        """The names of its augmentations."""
        return tuple(applied.name for applied in self.augmentations)

    @property
    def rows_added(self) -> int:
        """How many rows its augmentations added, without those that they dropped again."""
        return sum(applied.rows for applied in self.augmentations)

    @property
    def gives_probabilities(self) -> bool:
        """Whether its scores are probabilities, or can be made such."""
        return self.model.card.scores != "rank"

    @property
    def is_calibrated(self) -> bool:
        """Whether its probabilities were fitted to rows that it had not learnt from."""
        return self.calibration is not None

    @property
    def recommended_tail(self) -> float | None:
        """What `tail="auto"` stands for; None if no rows were held out."""
        return None if self.tail is None else self.tail.tail

    def probabilities(self, top: TopK) -> np.ndarray:
        """(texts, k) float64: the probabilities of a ranking that `top` gave, 0 for padding."""
        return probabilities_of(top, self.model.card.scores, self.calibration)

    def top(
        self,
        texts: pa.LargeStringArray | Sequence[str],
        k: int,
        excluded: sparse.csr_array | None = None,
        tail: Tail = 0.0,
        allowed: np.ndarray | None = None,
    ) -> TopK:
        """The k best labels of each text as numbers and scores, best first.

        `excluded` (texts, labels) are pairs that the caller will take out of the ranking. A `tail` above 0,
        up to 1, prefers rare labels (`tailwright.runs.tail`); scores are then not in descending order. With
        `allowed` (labels,) bool, other labels are not ranked. There are no more than all labels to rank.
        """
        k = min(k, max(len(self.labels), 1))
        wanted = tail_value(self, tail)
        if wanted:
            return top_for_tail(self, texts, k, excluded, wanted, allowed)
        if allowed is not None:
            return self._sound(lambda: self._top_among(arrow_strings(texts), k, excluded, allowed))
        return self._sound(lambda: _ranked(self.model, texts, k, excluded))

    def _sound(self, rank: Callable[[], TopK]) -> TopK:
        """The ranking; InputError if its scores are no numbers: nothing can be said with them."""
        try:
            top = rank()
        except NoNumberError as error:  # of a model that looks at its scores itself
            if not self.source:  # a training that diverged just now: that line says what helps
                raise
            raise self._no_numbers() from error
        if np.isnan(top.scores).any() or (top.scores == np.inf).any():
            raise self._no_numbers()
        return top

    def _no_numbers(self) -> InputError:
        problem = f"{self.name} gives scores that are no finite numbers"
        expected = "a run that is not damaged, and was trained at a lower rate"
        return InputError(problem, expected=expected, path=self.source or None)

    def _top_among(
        self, texts: pa.LargeStringArray, k: int, excluded: sparse.csr_array | None, allowed: np.ndarray
    ) -> TopK:
        """The ranking of the `allowed` labels alone."""

        def asking(model: Model) -> Ask:
            return lambda rows, depth: _ranked(
                model, texts.take(pa.array(rows)), depth, None if excluded is None else excluded[rows]
            )

        def reach() -> Ask | None:
            other = self.model.reaching(allowed)
            return None if other is self.model else asking(other)

        return top_among(asking(self.model), len(texts), k, allowed, reach)

    def knows(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray:
        """(texts,) bool: whether its model knows anything of a text."""
        return self.model.knows(texts)

    def predict(
        self,
        texts: Texts,
        k: int = 5,
        tail: Tail = 0.0,
        threshold: float | None = None,
        only: Labels | None = None,
        without: Labels | None = None,
        abstain: float | None = None,
    ) -> Predictions:
        """The k best labels of each text, or of the one text; none for a text of which nothing is known.

        `tail` prefers rare labels, as in `top`. Labels with a probability below `threshold` are left out.
        `only` these labels are ranked, or all `without` those: ids or names. `abstain` marks texts that got
        no labels because nothing is known of them, or because no label has that probability.

        >>> run.predict("red shoes", k=3, threshold=0.2, without=["sale"])          # doctest: +SKIP
        """
        return Request.of(self, k, tail, threshold, only, without, abstain).answer(self, texts)

    def with_labels(self, labels: LabelSpace, *, source: str = "") -> Run:
        """The run with more labels, which are found by their texts; nothing is trained.

        Only some models can (`ModelCard.adds_labels`). Known labels keep their places. `source` is where the
        labels came from.

        >>> new = LabelSpace(["b17"], texts=["bags and rucksacks"])
        >>> run.with_labels(new).save("run2/")    # doctest: +SKIP
        """
        refuse_known(self.labels, labels)
        step = LaterStep(
            kind="labels",
            run=self.source,
            data=TrainingData(path=source),
            rows_before=self.train_rows,
            rows_after=self.train_rows,
            labels_before=len(self.labels),
            labels_after=len(self.labels) + len(labels),
        )
        return replace(
            self,
            model=self.model.with_more_labels(labels),
            labels=appended_labels(self.labels, labels),
            augmented_counts=np.concatenate([self.augmented_counts, np.zeros(len(labels))]),
            measured=None,  # that was over fewer labels
            later=(*self.later, step),
        )

    def explain(
        self,
        text: str,
        labels: str | Sequence[str] | None = None,
        k: int = 3,
        tail: Tail = 0.0,
        rows: int = 3,
    ) -> Explanation:
        """Why the k best labels of a text, or those asked for: see `tailwright.runs.explaining.explain`."""
        from tailwright.runs.explaining import explain  # here, as it can read corpora, which is heavy

        return explain(self, text, labels, k, tail, rows)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the run folder: all of it or nothing."""
        facts = RunFacts(
            model=self.model.card.name,
            settings=asdict(self.model.settings),
            augment=list(self.augmentations),
            seed=self.seed,
            train_rows=self.train_rows,
            fraction=self.fraction,
            data=self.data,
            versions=self.versions,
            calibration=self.calibration,
            tail=self.tail,
            measured=self.measured,
            later=list(self.later),
        )
        with writing(path, kind="run", overwrite=overwrite) as folder:
            folder.json("run.json", facts.model_dump())
            labels = folder.sub("labels")
            save_labels(labels, self.labels)
            labels.array("counts", self.labels.counts)
            labels.array("augmented_counts", self.augmented_counts)
            self.model.save(folder.sub("model"))
            folder.markdown("README.md", model_card(self))

    def push_to_hub(self, name: str, token: str | None = None, private: bool = True) -> str:
        """Write the run folder to the repository `user/name` of the Hugging Face hub, made if need be.

        The address that it returns loads exactly this run: `tailwright.load("hub:user/name@revision")`. Paths
        of this machine are not pushed. `token` is by default that of `hf auth login`.
        """
        return push(self, name, token, private)


def _ranked(
    model: Model, texts: pa.LargeStringArray | Sequence[str], k: int, excluded: sparse.csr_array | None
) -> TopK:
    return model.predict(texts, k) if excluded is None else model.predict_besides(texts, k, excluded)


def load(path: str | Path, *, mapped: bool = False) -> Run:
    """The run kept in a folder, or on the hub as `hub:user/name` or `hub:user/name@revision`.

    Anything damaged in it is one clear error, and nothing in it is executed. With `mapped`, processes that
    load the same folder share the memory of its large arrays.

    >>> import tempfile
    >>> from tailwright.runs import train
    >>> run = train(["red shoes", "wool hat"], [["shoes"], ["hats"]], model="label-matcher")
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     run.save(Path(parent) / "run")
    ...     load(Path(parent) / "run").predict(["blue shoes"], k=1).names
    [['shoes']]
    """
    folder = open_folder(folder_of(path), kind="run", mapped=mapped, finite=True)
    facts = _facts(folder)
    stored = folder.sub("labels")
    try:
        labels = load_labels(stored, stored.array("counts", dtype=np.int64, shape=(None,)))
    except ValueError as error:
        raise InputError(f"found labels that do not fit together: {error}", path=path) from error
    if len(labels) and not 0 <= labels.counts.min() <= labels.counts.max() <= facts.train_rows:
        raise InputError("found label counts", expected=f"0..{facts.train_rows}", path=path)
    augmented = stored.array("augmented_counts", dtype=np.float64, shape=(len(labels),))
    if not np.isfinite(augmented).all():
        raise InputError("found augmented label counts", expected="finite numbers", path=path)
    with errors_of_content(folder.path / "run.json"):
        model_kind = models.get(facts.model)
        model = model_kind(settings_from(model_kind.Settings, facts.settings))
    with errors_of_content(folder.path / "model"):
        model.load(folder.sub("model"), len(labels))
    return Run(
        model,
        labels,
        facts.train_rows,
        facts.seed,
        tuple(facts.augment),
        augmented,
        facts.fraction,
        facts.data,
        facts.versions,
        facts.calibration,
        facts.tail,
        facts.measured,
        tuple(facts.later),
        str(folder.path.resolve()),
    )


def read_facts(path: str | Path) -> RunFacts:
    """How the run in a folder came about; its model is not loaded."""
    return _facts(open_folder(folder_of(path), kind="run"))


def _facts(folder: FolderReader) -> RunFacts:
    try:
        return RunFacts.model_validate(folder.json("run.json"))
    except ValidationError as error:
        problem = f"found {first_problem(error)}"
        raise InputError(problem, expected="the facts of a run", path=folder.path / "run.json") from error
