"""The models that fuse others; their page is `tailwright.models.fusion`."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.augmentation.shared.label_rows import label_rows
from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset, Origin, arrow_strings, share_of
from tailwright.errors import InputError
from tailwright.evaluation.ranking import TopK
from tailwright.kernels.blocks import run_rows
from tailwright.labels import PROPENSITY_PRESETS
from tailwright.models import HeldOut, LaterRows, Model, models
from tailwright.models.fusion import INSIDE, card_of, parts_of, settings_of
from tailwright.models.fusion.combination import (
    Combination,
    candidates_of,
    plain_combination,
)
from tailwright.models.fusion.learning import JudgedRows, learnt_combination, unseen_log_odds
from tailwright.models.fusion.mentions import Mentions, mentions_from
from tailwright.models.fusion.opinions import PartSays, fused_reasons
from tailwright.models.fusion.pieces import FINISHED, KIND, FusionToFit, fitted_elsewhere, stages_of
from tailwright.models.fusion.ranking import best_of, filled
from tailwright.models.fusion.rows import labelled, letters_by_labels, made_of, mean_weights, rows_of_fold
from tailwright.models.shared.reasons import Reasons
from tailwright.store import FolderReader, FolderWriter, open_folder, writing
from tailwright.training.memory import give_back
from tailwright.training.threads import blas_threads
from tailwright.training.workplace import Workplace

FitPart: TypeAlias = Callable[[str, Model, Workplace], None]  # fits the part of that name

ROWS_A_BLOCK, ROWS_A_GROUP = 4096, 256  # that parts are asked about; whose candidates are looked at
LABEL_ROWS = "gandalf"  # what rows of label texts are made by; if a corpus has them, a part gets no others
# Letters x labels of the training rows below which a tree of `linear` takes seconds. Three trees in place of
# one add 0.2 to 0.4 points of P@1 and PSP@5 on held-out rows (docs/results/default.md).
CHEAP_TREES = 30_000_000
# Where fewer parts name labels, another looks at all: with those of linear alone, twin lost a third of a
# point of PSP@5 on held-out rows of winapi-seealso.
FEWEST_NAMING = 2


class Fusion(Model):
    """A model of several; `fusion_of` makes the class for given parts."""

    names: ClassVar[dict[str, str]]  # of the models that are its parts, by their field in the settings

    parts: list[Model]
    combination: Combination
    mentions: Mentions
    counts: np.ndarray  # (labels,) int64: rows that the parts were trained on
    _few_trees: bool = False  # whether parts are fitted with their `few_trees`
    _last_fold: int | None = None  # the fold that holds out the last rows of the file
    added: int = 0  # labels at the end that were added by their texts, which only some parts know
    seen: int = 0  # the parts know all rows that are numbered below this; later ones may have been held out

    def learn(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        self.combination = plain_combination(len(self.names), self.settings.hidden)
        few = self._has_few_rows(corpus)
        folds = [self._held_out(corpus, seed)]
        again = few and folds[0][0] is not corpus
        if again:
            others = [self._held_out(corpus, seed, fold) for fold in range(1, self.settings.folds)]
            folds += [(learning, held_out) for learning, held_out in others if len(held_out)]
        memory_mb = self._announce_memory(corpus, work)
        given = FusionToFit(self.card.name, asdict(self.settings), self.mixes, self.device, corpus, seed)
        stages = stages_of(len(folds), again)
        with fitted_elsewhere(given, self._light_parts(), stages, work, memory_mb=memory_mb) as place:
            judged: list[JudgedRows] = []
            for stage, (learning, held_out) in zip(stages, folds, strict=False):
                self._fit_parts(self._fit_on(learning, corpus, seed), learning, stage.place(place))
                judged += self._judged(learning, held_out)
            self._combine(judged, seed, work)
            if again:
                self.parts = []
                with work.phase("all rows", rows=len(corpus.train)):
                    self._fit_parts(self._fit_on(corpus, corpus, seed), corpus, stages[-1].place(place))
                self.seen = int(corpus.train.originals().origin.rows.max()) + 1

    def _has_few_rows(self, corpus: Corpus) -> bool:
        """Whether parts learn from all rows in the end; if so, in folds, and maybe with their `few_trees`."""
        few = len(corpus.train.originals()) < self.settings.few_rows
        self._last_fold = self.settings.folds - 1 if few and self.settings.last_fold == "last" else None
        self._few_trees = few and letters_by_labels(corpus.train) < CHEAP_TREES
        return few

    def _fit_on(self, rows: Corpus, corpus: Corpus, seed: int) -> FitPart:
        """Fits parts on some rows of the corpus."""
        count = len(corpus.train.originals())

        def fit(name: str, part: Model, place: Workplace) -> None:
            part.fit(self._rows_of(name, rows, count), seed=seed, work=place)

        return fit

    def fit_one_part(
        self, name: str, corpus: Corpus, fold: int | None, *, seed: int, work: Workplace
    ) -> None:
        """Fit a part as `learn` does in that fold, or on all rows, and leave it in the folder of `work`."""
        self._has_few_rows(corpus)
        learning = corpus if fold is None else self._held_out(corpus, seed, fold)[0]
        self._fitted(name, self._fit_on(learning, corpus, seed), work)

    def learn_more(self, before: Model, later: LaterRows, *, seed: int, work: Workplace) -> None:
        """Rows that were held out stay so, along with a share of the new ones; all teach the combination.

        With too few of them, it stays as it was.
        """
        assert isinstance(before, Fusion)
        self.combination, self.seen = before.combination, before.seen
        learning, held_out = self._held_out(later.corpus, seed, starts=later.starts)
        known = dict(zip(before.names, before.parts, strict=True))

        def fit(name: str, part: Model, place: Workplace) -> None:
            rows = self._rows_of(name, learning, len(later.corpus.train.originals()))
            texts_of_old = np.zeros(len(rows.train), dtype=bool)
            behind = rows.train.targets[len(learning.train) :]  # a row of label texts has one label
            texts_of_old[len(learning.train) :] = behind.indices < len(before.counts)
            part.fit_more(known[name], LaterRows(rows, later.starts, texts_of_old), seed=seed, work=place)

        self._fit_parts(fit, learning, work)
        self._combine(self._judged(learning, held_out), seed, work)

    def _announce_memory(self, learning: Corpus, work: Workplace) -> float:
        """The MB that the largest part will need, before the first is trained; one is in memory at a time.

        A part with an extra speaks for itself when its turn comes: its code is not imported yet.
        """
        parts = [self._new_part(name) for name in self._light_parts()]
        needs = [need for need in (part.forecast(learning) for part in parts) if need is not None]
        give_back()
        if not needs:
            return 0.0
        largest = max(needs, key=lambda need: need.megabytes)
        largest.announce(work, "smaller parts (--set PART.NAME=VALUE) need less")
        return largest.megabytes

    def _light_parts(self) -> list[str]:
        return [name for name, part in self.names.items() if not models.card(part).extra]

    def _rows_of(self, name: str, corpus: Corpus, count: int) -> Corpus:
        """What a part learns from: the corpus, and with a low `count` of rows the labels' own texts too."""
        train = corpus.train
        enough = count >= getattr(getattr(self.settings, name), "label_rows_below", 0)
        if enough or LABEL_ROWS in train.origin.methods:
            return corpus
        own = sparse.eye_array(len(corpus.labels), dtype=np.float32, format="csr")
        rows = label_rows(corpus, LABEL_ROWS, own)
        weights = mean_weights(train)[rows.origin.rows]
        # As original rows that came last: weights of labels in made rows, which a user may have set, are not
        # for them.
        origin = Origin.made_by("", train.origin.rows.max(initial=-1) + 1 + rows.origin.rows)
        return corpus.with_train(Dataset.concat([train, replace(rows, weights=weights, origin=origin)]))

    def _fit_parts(self, fit: FitPart, learning: Corpus, work: Workplace) -> None:
        self.counts, self.mentions = learning.labels.counts, Mentions.of_labels(learning.labels)
        # A finished part waits in its folder if there is one, so that only one is in memory at a time.
        fitted = {name: self._fitted(name, fit, work) for name in self.names}
        self.parts = [
            part if isinstance(part, Model) else self._loaded(name, part, len(learning.labels))
            for name, part in fitted.items()
        ]

    def _judged(self, learning: Corpus, held_out: Dataset) -> list[JudgedRows]:
        """What the parts say of rows that were held out of `learning`; nothing where these are too few."""
        if len(held_out) < self.settings.fewest:
            return []
        tops = self._asked(held_out.texts, self.settings.candidates, held_out.excluded)
        mentions_of = self.mentions.within(held_out.texts)
        candidates = candidates_of(tops, self._log_odds, self.counts, mentions_of)
        return [JudgedRows(held_out, candidates, self.counts, len(learning.train.originals()))]

    def _combine(self, folds: Sequence[JudgedRows], seed: int, work: Workplace) -> None:
        """Learn the combination from rows that the parts have not seen, if there are any."""
        if not folds:
            return
        judged, settings = JudgedRows.together(folds), self.settings
        held_out, candidates = judged.rows, judged.candidates
        with work.phase("combination", rows=len(held_out)):
            inverse = PROPENSITY_PRESETS["default"].inverse(judged.counts, max(judged.learnt_rows, 3))
            emphasis = inverse**settings.tail
            how: dict[str, Any] = {"hidden": settings.hidden, "emphasis": emphasis, "seed": seed}
            self.combination = learnt_combination(candidates, held_out, **how)
            log_odds = unseen_log_odds(candidates, held_out, **how)
            top = best_of(candidates, log_odds, settings.candidates * len(self.parts))
            self.held_out = HeldOut(held_out, top, judged.counts, judged.learnt_rows)

    def _held_out(
        self, corpus: Corpus, seed: int, fold: int = 0, *, starts: Sequence[int] = ()
    ) -> tuple[Corpus, Dataset]:
        """The corpus that the parts learn from, and the rows that the combination learns from.

        Each fold holds out other rows. Of rows that came later, which begin at `starts`, a share is held out
        each time.
        """
        if corpus.valid is not None and len(corpus.valid):
            return corpus, corpus.valid
        train = corpus.train
        unknown = train.origin.is_original() & (train.origin.rows >= self.seen)
        able = np.flatnonzero(unknown & labelled(train))
        # Drawn by the place in the user's file, so that the order of rows here makes no difference.
        by_place = able[np.argsort(train.origin.rows[able], kind="stable")]
        held = np.zeros(len(train), dtype=bool)
        for came in np.split(by_place, np.searchsorted(train.origin.rows[by_place], starts)):
            count = min(share_of(len(came), self.settings.held_out), self.settings.most_held_out)
            if held.sum() + count >= self.settings.fewest:
                held[rows_of_fold(came, count, fold, seed, self._last_fold)] = True
        if not held.any():
            return corpus, train.take([])
        kept = np.flatnonzero(~held & ~made_of(train, held))
        return corpus.with_train(train.take(kept)), train.take(np.flatnonzero(held))

    def _fitted(self, name: str, fit: FitPart, work: Workplace) -> Model | FolderReader:
        """A fitted part, or the folder that it waits in; one that a killed training finished is kept."""
        place = work.sub(name)
        finished = None if place.folder is None else place.folder / FINISHED
        if finished is None or not place.resume or not finished.exists():
            part = self._new_part(name)
            part.mixes = [mix for mix in self.mixes if part.card.takes(mix.card)]
            part.device = self.device
            with work.phase(name):
                fit(name, part, place)
            if finished is None:
                return part
            with writing(finished, kind=KIND, overwrite=True) as folder:
                part.save(folder)
            del part
            gc.collect()
            give_back()
        return open_folder(finished, kind=KIND)

    def _loaded(self, name: str, folder: FolderReader, labels: int) -> Model:
        part = self._new_part(name)
        part.load(folder, labels)
        return part

    def _new_part(self, name: str) -> Model:
        """A part before it learns. Its code is imported now, so that an earlier part works without torch."""
        settings, inside = getattr(self.settings, name), INSIDE.get(name, {})
        if self._few_trees and "few_trees" in inside and settings.trees == inside["trees"]:  # nobody set it
            settings = replace(settings, trees=settings.few_trees)
        return models.get(self.names[name])(settings)

    @property
    def _log_odds(self) -> list[bool]:
        return [part.card.scores == "log-odds" for part in self.parts]

    def predict(self, texts: pa.LargeStringArray | Sequence[str], k: int) -> TopK:
        return self.predict_besides(texts, k, None)

    def predict_besides(
        self, texts: pa.LargeStringArray | Sequence[str], k: int, excluded: sparse.csr_array | None
    ) -> TopK:
        rows = arrow_strings(texts)
        blocks = [TopK(np.empty((0, k), np.int32), np.empty((0, k), np.float32))]
        for start in range(0, len(rows), ROWS_A_BLOCK):
            barred = None if excluded is None else excluded[start : start + ROWS_A_BLOCK]
            block = rows.slice(start, ROWS_A_BLOCK)
            tops = self._asked(block, max(self.settings.candidates, k), barred)
            blocks.append(filled(self._fused(block, tops, k), tops))
        return TopK.concat(blocks)

    def _fused(self, texts: pa.LargeStringArray, tops: Sequence[TopK], k: int) -> TopK:
        """The k best candidates of each text, of which the parts have named `tops`."""
        named, mentions_of = self.settings.candidates, self.mentions.within(texts)
        ids = np.empty((len(texts), k), dtype=np.int32)
        scores = np.empty((len(texts), k), dtype=np.float32)

        def fuse(first: int, last: int) -> None:
            # In groups that fit into the cache, the same for any number of threads.
            for start in range(first * ROWS_A_GROUP, min(last * ROWS_A_GROUP, len(texts)), ROWS_A_GROUP):
                group = slice(start, start + ROWS_A_GROUP)
                best = [TopK(top.ids[group, :named], top.scores[group, :named]) for top in tops]
                candidates = candidates_of(
                    best, self._log_odds, self.counts, partial(mentions_from, mentions_of, start)
                )
                top = best_of(candidates, self.combination.log_odds(candidates.features), k)
                ids[group], scores[group] = top.ids, top.scores

        groups = -(-len(texts) // ROWS_A_GROUP)
        if groups == 1:
            fuse(0, 1)
        else:
            with blas_threads(1):
                run_rows(fuse, groups, 1)
        return TopK(ids, scores)

    def knows(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray:
        rows = arrow_strings(texts)
        known = np.array(self.parts[0].knows(rows))
        for part in self.parts[1:]:  # most texts have a word that the first part knows
            if not known.all():
                known[~known] = part.knows(rows.filter(pa.array(~known)))
        return known

    def explain(self, text: str, labels: Sequence[int]) -> list[Reasons]:
        """What each part says, with its own reasons; the combination itself does not split by words."""
        tops = self._asked(arrow_strings([text]), self.settings.candidates, None)
        parts = [
            PartSays(
                part.card.name, part.card.scores, top, part.explain(text, labels) or [Reasons()] * len(labels)
            )
            for part, top in zip(self.parts, tops, strict=True)
        ]
        mentions_of = self.mentions.within([text])
        return [
            fused_reasons(parts, place, label, self.combination, self.counts, mentions_of)
            for place, label in enumerate(labels)
        ]

    def _asked(self, texts: pa.LargeStringArray, k: int, excluded: sparse.csr_array | None) -> list[TopK]:
        """The k best labels of each text by each part; a part that looks at named labels is asked last."""
        parts = self.parts
        first = excluded
        if excluded is not None and self.added:
            first = excluded[:, : len(self.counts) - self.added]

        def ask(part: Model) -> TopK:
            if excluded is None:
                return part.predict(texts, k)
            return part.predict_besides(texts, k, excluded if part.card.adds_labels else first)

        naming = [part for part in parts if not part.looks_at_named]
        if len(naming) == len(parts) or len(naming) < FEWEST_NAMING:
            return [ask(part) for part in parts]
        tops = {id(part): ask(part) for part in naming}
        named = np.concatenate([tops[id(part)].ids for part in naming], axis=1)
        return [
            tops[id(part)] if id(part) in tops else part.predict_with_named(texts, k, named) for part in parts
        ]

    def with_more_labels(self, labels: LabelSpace) -> Model:
        if not self.card.adds_labels:
            return super().with_more_labels(labels)
        grown = type(self)(self.settings)
        grown.parts = [p.with_more_labels(labels) if p.card.adds_labels else p for p in self.parts]
        grown.added = self.added + len(labels)
        grown.counts = np.concatenate([self.counts, np.zeros(len(labels), dtype=np.int64)])
        grown.combination, grown.mentions = self.combination, self.mentions.with_more_labels(labels)
        return grown

    def save(self, folder: FolderWriter) -> None:
        for name, part in zip(self.names, self.parts, strict=True):
            part.save(folder.sub(name))
        self.combination.save(folder)
        self.mentions.save(folder)
        folder.array("counts", self.counts)
        for name in ("added", "seen"):
            if count := getattr(self, name):
                folder.array(name, np.array(count, dtype=np.int64))

    def load(self, folder: FolderReader, labels: int) -> None:
        if folder.has("added.npy"):
            self.added = int(folder.array("added", dtype=np.int64, shape=()))
        if not 0 <= self.added <= labels:
            raise InputError(f"found {self.added} added labels", expected=f"0..{labels}", path=folder.path)
        if folder.has("seen.npy"):
            self.seen = int(folder.array("seen", dtype=np.int64, shape=()))
        if self.seen < 0:
            raise InputError(f"found {self.seen} rows seen", expected="0 or more", path=folder.path)
        adds = {name: models.card(part).adds_labels for name, part in self.names.items()}
        self.parts = [
            self._loaded(name, folder.sub(name), labels if adds[name] else labels - self.added)
            for name in self.names
        ]
        self.combination = Combination.load(folder, len(self.parts), self.settings.hidden)
        self.mentions = Mentions.load(folder, labels)
        self.counts = folder.array("counts", dtype=np.int64, shape=(labels,))
        if len(self.counts) and self.counts.min() < 0:
            raise InputError("found counts below 0", expected="training rows a label", path=folder.path)


@cache
def fusion_of(name: str) -> type[Model]:
    """The class of the fusion `name`, such as "linear+twin"."""
    return type(
        "Fusion",
        (Fusion,),
        {
            "__doc__": Fusion.__doc__,
            "__module__": __name__,  # else it would be `abc`
            "names": {part.replace("-", "_"): part for part in parts_of(name)},
            "card": card_of(name),
            "Settings": settings_of(name),
        },
    )
