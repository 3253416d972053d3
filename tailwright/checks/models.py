"""`check_model`: what every classifier must hold to, on a corpus of 120 rows and 11 labels."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tailwright.augmentation import Augmenter, AugmenterCard, BatchAugmenter
from tailwright.checks.corpora import odd_corpus, require, tiny_corpus
from tailwright.checks.hidden_door import Blender
from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset, Origin, arrow_strings
from tailwright.data.pairs import checked, empty_pairs
from tailwright.errors import InputError
from tailwright.evaluation import metrics_at_k
from tailwright.evaluation.ranking import TopK
from tailwright.models import LaterRows, Model, ModelCard, models
from tailwright.settings import settings_from
from tailwright.store import open_folder, writing
from tailwright.training.batches import BatchMix, DrawnBatch

# Rows for checks that ask only whether two trainings end alike; more than one batch of most models.
FEW = 48
VALID = 60  # enough for a fusion to learn its combination from
UNSEEN = ["zzyzx qwv", "", "   ", "日本語", "🎉", "apple " * 2000]


def check_model(name: str, settings: Mapping[str, Any] | None = None) -> None:
    """Raise AssertionError with one sentence on the first promise that the model of that name breaks.

    `settings` are for models whose defaults are not for so few rows.
    """
    kind = _Kind(models.get(name), settings or {})
    corpus = tiny_corpus()
    model = kind.fitted(corpus)
    top = model.predict(corpus.train.texts, 5)
    _check_ranking(top, len(corpus.train), 5, len(corpus.labels))
    _check_saved(kind, model, len(corpus.labels), corpus.train.texts, top)
    _check_batches(model, corpus, top)
    _check_odd_texts(kind, model, corpus)
    _check_knows(kind, model, corpus)
    _check_reads(kind, corpus, top)
    _check_better_than_popularity(kind, corpus, top)
    _check_more_labels(kind, model, corpus, top)
    few = tiny_corpus(FEW)
    plain = kind.learnt(few)
    require(_same(kind.learnt(few), plain), "the same seed gives other predictions")
    _check_more_rows(kind, few)
    _check_label_weights(kind, few)
    _check_weight_0(kind, few)
    if "batch" in kind.card.doors:
        _check_batch_door(kind, few, plain)
    if "hidden" in kind.card.doors:
        _check_hidden_door(kind, few, plain)


@dataclass(frozen=True)
class _Kind:
    """A model with settings."""

    model: type[Model]
    settings: Mapping[str, Any]

    @property
    def card(self) -> ModelCard:
        return self.model.card

    def new(self) -> Model:
        return self.model(settings_from(self.model.Settings, self.settings))

    def fitted(self, corpus: Corpus, mixes: Sequence[Augmenter] = ()) -> Model:
        model = self.new()
        model.mixes = mixes
        model.fit(corpus, seed=1)
        return model

    def learnt(self, corpus: Corpus, mixes: Sequence[Augmenter] = ()) -> TopK:
        """What a model fitted on the corpus says of its training texts."""
        return self.fitted(corpus, mixes).predict(corpus.train.texts, 5)


def _check_ranking(top: TopK, rows: int, k: int, labels: int) -> None:
    require(top.ids.shape == (rows, k), f"predictions have shape {top.ids.shape}, not {(rows, k)}")
    require(bool((top.ids < labels).all() and (top.ids >= -1).all()), "a predicted label id is out of range")
    for ids, scores in zip(top.ids, top.scores, strict=True):
        real = ids >= 0
        require(len(set(ids[real])) == real.sum(), "a label is predicted twice for one text")
        require(bool(np.isfinite(scores[real]).all()), "a score is not finite")
        require(bool((np.diff(scores[real]) <= 0).all()), "predictions are not sorted by score")
        require(bool((np.diff(real.astype(int)) <= 0).all()), "padding stands before a prediction")


def _check_saved(kind: _Kind, model: Model, labels: int, texts: pa.LargeStringArray, top: TopK) -> None:
    with tempfile.TemporaryDirectory() as parent:
        path = Path(parent) / "model"
        with writing(path, kind="model") as folder:
            model.save(folder)
        loaded = kind.new()
        loaded.load(open_folder(path, kind="model"), labels)
        require(_same(loaded.predict(texts, 5), top), "saved and loaded, it predicts otherwise")


def _check_batches(model: Model, corpus: Corpus, top: TopK) -> None:
    for row in (0, len(corpus.train) - 1):
        one = model.predict(corpus.train.texts.slice(row, 1), 5)
        near = np.allclose(one.scores, top.scores[[row]], rtol=1e-4, atol=1e-5)
        require(near, "a text alone is scored otherwise than in a batch")
    require(model.predict([], 5).ids.shape == (0, 5), "no texts must give no rows")


def _check_odd_texts(kind: _Kind, model: Model, corpus: Corpus) -> None:
    labels = len(corpus.labels)
    _check_ranking(model.predict(UNSEEN, labels + 3), len(UNSEEN), labels + 3, labels)
    odd = odd_corpus()
    top = kind.fitted(odd).predict(odd.train.texts, 3)
    _check_ranking(top, len(odd.train), 3, len(odd.labels))


def _check_knows(kind: _Kind, model: Model, corpus: Corpus) -> None:
    known = model.knows(corpus.train.texts)
    require(known.shape == (len(corpus.train),) and known.dtype == bool, "knows gives no bool for each text")
    require(bool(known.all()), "it knows nothing of a text that it learnt from")
    require(not model.knows(["", " \t"]).any(), "it knows something of a blank text")
    require(model.knows([]).shape == (0,), "no texts must give no rows")


def _check_reads(kind: _Kind, corpus: Corpus, top: TopK) -> None:
    """The card is true: what it reads matters, what it does not read does not."""
    if "texts" not in kind.card.reads:
        require(bool((top.ids == top.ids[0]).all()), "its card says it reads no texts, yet they matter")
    changes: dict[str, Callable[[Dataset], Dataset]] = {
        "soft targets": lambda train: _softened_label_0(train, 0.5),
        "softer targets": lambda train: _softened_label_0(train, 0.3),
        "ignored pairs": _ignore_label_0,
        "weights": lambda train: _weighed_label_0(train, 0.5),
        "smaller weights": lambda train: _weighed_label_0(train, 0.25),
    }
    tops = {what: kind.learnt(corpus.with_train(change(corpus.train))) for what, change in changes.items()}
    if "targets" not in kind.card.reads:
        for what, after in tops.items():
            require(_same(after, top), f"its card says it reads no targets, yet {what} matter")
        return
    for what, after in tops.items():
        require(not _same(after, top), f"{what} make no difference to what it learns")
        for rows in _judged_rows(kind, corpus.train):
            lower = _rank_of(after, 0, rows) >= _rank_of(top, 0, rows)
            require(lower, f"label 0 ranks higher after its rows lost weight by {what}")
    # Wherever targets are rounded, two of 0.3, 0.5 and 1 become one.
    rounded = _same(tops["soft targets"], tops["softer targets"])
    require(not rounded, "it learns the same from targets of 0.3 and of 0.5: soft targets are rounded")
    rounded = _same(tops["weights"], tops["smaller weights"])
    require(not rounded, "it learns the same from weights of 0.25 and of 0.5: weights are rounded")


def _check_label_weights(kind: _Kind, corpus: Corpus) -> None:
    """Label weights count in made rows alone; where all are equal, they are weights of these rows."""
    train, labels = corpus.train, len(corpus.labels)
    made = np.arange(len(train)) % 2 == 1
    rows = replace(train, origin=Origin(train.origin.rows, made.astype(np.int16), ("", "copy")))
    changes: dict[str, dict[str, np.ndarray]] = {
        "lighter rows": {"weights": np.where(made, np.float32(0.5), np.float32(1)) * train.weights},
        "equal": {"label_weights": np.full(labels, 0.5, dtype=np.float32)},
        "unequal": {"label_weights": np.resize(np.array([0.25, 0.5], dtype=np.float32), labels)},
    }
    tops = {
        what: kind.learnt(corpus.with_train(replace(rows, **change)))  # type: ignore[arg-type]
        for what, change in changes.items()
    }
    same = _same(tops["equal"], tops["lighter rows"])
    require(same, "label weights of 0.5 are not to made rows what weights of 0.5 are")
    matter = not _same(tops["unequal"], tops["equal"])
    if "targets" in kind.card.reads:
        require(matter, "it learns the same from label weights of 0.25 and of 0.5")
    else:
        require(not matter, "its card says it reads no targets, yet label weights matter")


def _check_weight_0(kind: _Kind, corpus: Corpus) -> None:
    """Rows of weight 0 are as good as absent: in no vocabulary, cluster, count or batch."""
    train = corpus.train
    carriers = train.take(_rows_of_label_0(train))
    silent = replace(
        carriers,
        texts=arrow_strings([f"weightless {row}" for row in range(len(carriers))]),
        weights=np.zeros(len(carriers), dtype=np.float32),
    )
    # Before, among and behind the rows that count.
    order = np.random.default_rng(0).permutation(len(train) + len(silent))
    mixed = Dataset.concat([train, silent]).take(order)
    kept = train.take(order[order < len(train)])
    valid = tiny_corpus(VALID, seed=1).train
    without = kind.fitted(Corpus(kept, corpus.labels, valid))
    beside = kind.fitted(Corpus(mixed, corpus.labels, Dataset.concat([silent, valid, silent])))
    same = _same(*(model.predict(train.texts, 5) for model in (without, beside)))
    require(same, "rows of weight 0 make a difference to what it learns")
    nothing = corpus.with_train(replace(train, weights=np.zeros(len(train), dtype=np.float32)))
    _check_ranking(kind.learnt(nothing), len(train), 5, len(corpus.labels))


def _check_batch_door(kind: _Kind, corpus: Corpus, top: TopK) -> None:
    """What a mix does to the batches reaches what is learnt; a mix that does nothing changes nothing."""

    def learnt(mix: BatchMix) -> TopK:
        return kind.learnt(corpus, [_ToyMix(mix)])

    require(_same(learnt(lambda batch, random: batch), top), "a mix that changes nothing makes a difference")
    for what, mix in (("targets", _halved), ("appended texts", _with_first_label)):
        after = learnt(mix)
        require(not _same(after, top), f"{what} of a mixed batch make no difference to what it learns")
        require(_same(learnt(mix), after), f"the same seed gives other predictions after {what} were mixed")


def _check_hidden_door(kind: _Kind, corpus: Corpus, top: TopK) -> None:
    """A method that mixes nothing changes no bit of what is learnt, and one that mixes does."""
    idle, busy = Blender(0.0), Blender(0.3)
    unmoved = _same(kind.learnt(corpus, [idle]), top)
    require(bool(idle.used), "its card has the hidden door, and no method is let in")
    require(unmoved, "a hidden-door method that mixes nothing changes what it learns")
    require(
        not _same(kind.learnt(corpus, [busy]), top), "mixed activations make no difference to what it learns"
    )


class _ToyMix(BatchAugmenter):
    """A method that needs nothing of the corpus."""

    card = AugmenterCard("toy", "for the checks", "batch", keeps_targets=False)

    def __init__(self, mix: BatchMix) -> None:
        super().__init__()
        self.mix = mix

    def prepare(self, corpus: Corpus, *, seed: int = 0) -> BatchMix:
        return self.mix


def _halved(batch: DrawnBatch, random: np.random.Generator) -> DrawnBatch:
    factors = random.choice(np.array([0.5, 1], np.float32), len(batch.targets.values))
    return replace(batch, targets=replace(batch.targets, values=batch.targets.values * factors))


def _with_first_label(batch: DrawnBatch, random: np.random.Generator) -> DrawnBatch:
    """Each row that has labels gets the text of the first one appended."""
    targets, appended = batch.targets, batch.appended.copy()
    filled = np.diff(targets.starts) > 0
    appended[filled] = targets.labels[targets.starts[:-1][filled]]
    return replace(batch, appended=appended)


def _softened_label_0(train: Dataset, value: float) -> Dataset:
    targets = train.targets.copy()
    targets.data = np.where(targets.indices == 0, np.float32(value), targets.data)
    return replace(train, targets=targets)


def _ignore_label_0(train: Dataset) -> Dataset:
    ignored = empty_pairs(len(train), train.labels).tolil()
    ignored[_rows_of_label_0(train), 0] = 1
    return replace(train, ignored=checked(ignored.tocsr()))


def _weighed_label_0(train: Dataset, weight: float) -> Dataset:
    weights = train.weights.copy()
    weights[_rows_of_label_0(train)] = weight
    return replace(train, weights=weights)


def _rows_of_label_0(train: Dataset) -> np.ndarray:
    return train.targets[:, [0]].nonzero()[0]


def _judged_rows(kind: _Kind, train: Dataset) -> list[np.ndarray]:
    """The rows on which label 0 must not rank higher: those that carry it, and all rows.

    A network that is set to learn so few rows by heart is judged on those that carry the label alone: what it
    says of label 0 elsewhere depends on its initial weights.
    """
    carriers = _rows_of_label_0(train)
    return [carriers] if kind.settings else [carriers, np.arange(len(train))]


def _rank_of(top: TopK, label: int, rows: np.ndarray) -> float:
    """The mean place of a label over these rows, 0 is best; one past the end where it is missing."""
    is_label = top.ids[rows] == label
    return float(np.where(is_label.any(axis=1), is_label.argmax(axis=1), top.ids.shape[1]).mean())


def _check_more_labels(kind: _Kind, model: Model, corpus: Corpus, top: TopK) -> None:
    """New labels are found by their texts, nothing else changes; or the model says that it cannot."""
    more = LabelSpace(arrow_strings(["new", "newer"]), arrow_strings(["submarine cables", "copper kettles"]))
    if not kind.card.adds_labels:
        try:
            model.with_more_labels(more)
        except InputError:
            return
        raise AssertionError("its card says that no labels can be added, yet it adds them")
    grown, labels, texts = model.with_more_labels(more), len(corpus.labels), corpus.train.texts
    require(_same(model.predict(texts, 5), top), "adding labels changes the model that they are added to")
    # A fusion may believe the parts that do not name it.
    top_k = labels + 2 if "+" in kind.card.name else 1
    found = (grown.predict(more.texts, top_k).ids == [[labels], [labels + 1]]).any(axis=1)
    require(bool(found.all()), "a label that was added is not found by its text")
    known, every = model.predict(texts, labels), grown.predict(texts, labels + 2)
    for before, after in zip(known.ids, every.ids, strict=True):
        kept = np.array_equal(after[(after >= 0) & (after < labels)], before[before >= 0])
        require(kept, "the labels that it knew rank otherwise after others were added")
    _check_saved(kind, grown, labels + 2, texts, grown.predict(texts, 5))


def _check_more_rows(kind: _Kind, corpus: Corpus) -> None:
    """It goes on from what another of its kind knows, which stays as it is; or it says that it cannot."""
    train, start = corpus.train, len(corpus.train) // 2
    later = LaterRows(corpus, (start,))
    if not kind.card.continues:
        try:
            kind.new().fit_more(kind.new(), later)
        except InputError:
            return
        raise AssertionError("its card says that it cannot go on with more rows, yet it does")
    before = kind.fitted(corpus.with_train(train.take(range(start))))
    known = before.predict(train.texts, 5)

    def gone_on() -> TopK:
        model = kind.new()
        model.fit_more(before, later, seed=1)
        return model.predict(train.texts, 5)

    after = gone_on()
    _check_ranking(after, len(train), 5, len(corpus.labels))
    require(_same(gone_on(), after), "the same seed gives other predictions after more rows")
    require(_same(before.predict(train.texts, 5), known), "going on changes the model that it goes on from")
    if "targets" in kind.card.reads:
        require(not _same(after, known), "more rows make no difference to what it knows")


def _check_better_than_popularity(kind: _Kind, corpus: Corpus, top: TopK) -> None:
    floor = _Kind(models.get("popularity"), {}).learnt(corpus)
    mine, theirs = (metrics_at_k(t.ids, corpus.train.targets, None, (1,))["P@1"] for t in (top, floor))
    better = mine > theirs if "texts" in kind.card.reads else mine >= theirs
    require(better, f"P@1 on its training rows is {mine:.1f}, popularity has {theirs:.1f}")


def _same(a: TopK, b: TopK) -> bool:
    return np.array_equal(a.ids, b.ids) and np.array_equal(a.scores, b.scores)
