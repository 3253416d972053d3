"""TailMix at work on a batch: which labels of each row are mixed with which, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch

from tailwright.augmentation.shared.mixup import drawn_shares
from tailwright.data.batch_targets import BatchTargets, entries_of
from tailwright.encoders.mixing import ContextVectors, Mixing, ReplacedPairs
from tailwright.labels.proximity import ProximityGraph
from tailwright.streams import stream

if TYPE_CHECKING:
    from tailwright.augmentation.tailmix import TailMixSettings

NUMBERS_A_BLOCK = 1 << 22  # of contexts that are compared at once


@dataclass(frozen=True, eq=False)
class LabelMixup:
    """TailMix prepared for one corpus."""

    settings: TailMixSettings
    graph: ProximityGraph | None  # None: any label may be a partner
    inverse_propensity: np.ndarray  # (labels,) float64

    def __call__(
        self, targets: BatchTargets, *, epoch: int, random: np.random.Generator
    ) -> Sequence[Mixing | None]:
        drawn = drawn_targets(
            targets,
            self.inverse_propensity,
            self.settings.most_targets,
            random,
            gold_above=self.settings.gold_above,
            evenly=self.settings.variant == "repository",
        )
        shares = drawn_shares(self.settings, random, drawn.labels.shape)
        mixing = LabelMixing(self, targets, drawn, shares, int(random.integers(2**62)))
        return [None, mixing] if self.settings.clean else [mixing]


@dataclass(frozen=True, eq=False)
class DrawnLabels:
    """The target labels of each row of a batch, in the order in which they were drawn."""

    labels: np.ndarray  # (rows, M) int64, -1 behind
    values: np.ndarray  # (rows, M) float32: their own targets


def drawn_targets(
    targets: BatchTargets,
    inverse_propensity: np.ndarray,
    most: int,
    random: np.random.Generator,
    *,
    gold_above: float = 0.5,
    evenly: bool = False,
) -> DrawnLabels:
    """At most `most` labels of each row, without replacement, by the softmax of their inverse propensities.

    The largest of scores to which Gumbel noise is added are such a draw.
    """
    gold = np.flatnonzero(targets.is_learnt() & (targets.values > gold_above))
    rows, labels = targets.rows[gold], targets.labels[gold]
    scores = random.gumbel(size=len(gold))
    if not evenly:
        scores += inverse_propensity[labels]
    order = np.lexsort((labels, -scores, rows))
    place = np.arange(len(order)) - np.searchsorted(rows[order], rows[order])
    kept = place < most
    shape = (len(targets), int(place[kept].max(initial=-1)) + 1)
    drawn = DrawnLabels(np.full(shape, -1, dtype=np.int64), np.zeros(shape, dtype=np.float32))
    at, chosen = (rows[order][kept], place[kept]), order[kept]
    drawn.labels[at] = labels[chosen]
    drawn.values[at] = targets.values[gold[chosen]]
    return drawn


@dataclass(frozen=True, eq=False)
class LabelMixing:
    """The mixing of one batch."""

    mixup: LabelMixup
    targets: BatchTargets
    drawn: DrawnLabels
    shares: np.ndarray  # (rows, M) float64: of the target labels
    noise: int  # the seed of draws that depend on a row's candidates
    point = "pairs"

    def replaced_pairs(self, contexts: ContextVectors) -> ReplacedPairs:
        """Targets with mixed context vectors, then partners, which keep theirs."""
        partners = self.partners(contexts)
        rows, places = np.nonzero(partners >= 0)
        own, others = self.drawn.labels[rows, places], partners[rows, places]
        shares, values = self.shares[rows, places], self.drawn.values[rows, places]
        both = contexts(np.concatenate([rows, rows]), np.concatenate([own, others]))
        of_own, of_others = both[: len(rows)], both[len(rows) :]  # (targets, width)
        share = torch.from_numpy(shares.astype(np.float32)).to(both)[:, None]
        scaled = self.mixup.settings.variant == "repository"
        mixed = share * of_own if scaled else of_others.lerp(of_own, share)
        written = self._last_writers(rows, own, others)
        kept = torch.from_numpy(written).to(both.device)
        learnt = [mixed, (1 - share[kept]) * of_others[kept]] if scaled else [mixed]
        return ReplacedPairs(
            np.concatenate([rows, rows[written]]),
            np.concatenate([own, others[written]]),
            torch.cat(learnt),
            np.concatenate([shares * values, ((1 - shares) * values)[written]]).astype(np.float32),
        )

    def _last_writers(self, rows: np.ndarray, own: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Which partners keep what is written for them: the last ones, unless they are targets themselves."""
        width = np.int64(len(self.mixup.inverse_propensity))
        keys = rows * width + others
        _, from_behind = np.unique(keys[::-1], return_index=True)
        last = np.sort(len(keys) - 1 - from_behind)
        return last[np.isin(keys[last], rows * width + own, invert=True)]

    def partners(self, contexts: ContextVectors) -> np.ndarray:
        """(rows, M) int64: the partner of each target label, -1 for none."""
        lists, distances = self.compared(contexts)
        if not lists.shape[1]:
            return np.full(self.drawn.labels.shape, -1)
        nearest = distances.argmin(axis=2)  # of equal distances the smaller label's
        least = np.take_along_axis(distances, nearest[..., None], axis=2)[..., 0]
        return np.where(np.isfinite(least), np.take_along_axis(lists, nearest, axis=1), -1)

    def compared(self, contexts: ContextVectors) -> tuple[np.ndarray, np.ndarray]:
        """(rows, listed) labels, and (rows, M, listed): how far each is from each target label.

        That is the distance of their contexts, or a number drawn at random; infinity where a label may not be
        the partner.
        """
        lists = self._lists(contexts)
        allowed = self._allowed(lists, contexts)  # (rows, M, listed)
        if not allowed.any():
            return lists, np.full(allowed.shape, np.inf)
        settings, random = self.mixup.settings, stream(self.noise, "tailmix/partners")
        if settings.variant == "repository":
            scores = self.mixup.inverse_propensity[np.maximum(lists, 0)][:, None]
            distances = -(scores + random.gumbel(size=allowed.shape))
        elif not settings.similarity:
            distances = random.random(allowed.shape)
        else:
            distances = self._distances(lists, contexts)
        return lists, np.where(allowed, distances, np.inf)

    def _lists(self, contexts: ContextVectors) -> np.ndarray:
        """(rows, listed) int64: all that a target label of the row may meet, ascending, -1 behind."""
        rows, width = len(self.targets), len(self.mixup.inverse_propensity)
        if self.mixup.graph is None:
            if contexts.candidates is not None:
                return _sorted_lists(contexts.candidates)
            return np.broadcast_to(np.arange(width), (rows, width))
        near_rows, _, near = self._edges
        keys = np.unique(near_rows * np.int64(width) + near)
        of_rows, labels = np.divmod(keys, width)
        place = np.arange(len(keys)) - np.searchsorted(of_rows, of_rows)
        lists = np.full((rows, int(place.max(initial=-1)) + 1), -1, dtype=np.int64)
        lists[of_rows, place] = labels
        return lists

    @cached_property
    def _edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(row, place of the target label, neighbour) of all neighbours of target labels."""
        graph = self.mixup.graph
        assert graph is not None
        rows, places = np.nonzero(self.drawn.labels >= 0)
        labels = self.drawn.labels[rows, places]
        counts = np.diff(graph.starts)[labels]
        near = graph.neighbours[entries_of(graph.starts, labels)].astype(np.int64)
        return np.repeat(rows, counts), np.repeat(places, counts), near

    def _allowed(self, lists: np.ndarray, contexts: ContextVectors) -> np.ndarray:
        """(rows, M, listed) bool: which listed label may be the partner of which target label."""
        labels, drawn = np.int64(len(self.mixup.inverse_propensity)), self.drawn.labels
        row = np.arange(len(lists))[:, None]
        keys = np.where(lists >= 0, row * labels + lists, -1)  # ascending within a row, but for the -1
        usable = lists >= 0
        usable &= ~np.isin(keys, self.targets.ignored_rows * labels + self.targets.ignored)
        gold = np.isin(keys, self.targets.rows * labels + self.targets.labels)
        if self.mixup.settings.partners != "any":
            usable &= gold if self.mixup.settings.partners == "gold-only" else ~gold
        if contexts.candidates is not None and self.mixup.graph is not None:
            listed = np.where(contexts.candidates >= 0, row * labels + contexts.candidates, -1)
            usable &= np.isin(keys, listed)
        if self.mixup.graph is None:
            return usable[:, None] & (drawn >= 0)[..., None] & (lists[:, None] != drawn[..., None])
        allowed = np.zeros((*drawn.shape, lists.shape[1]), dtype=bool)
        rows, places, near = self._edges
        flat, order = keys[usable], np.flatnonzero(usable)
        if len(flat):
            at = np.minimum(np.searchsorted(flat, rows * labels + near), len(flat) - 1)
            known = flat[at] == rows * labels + near
            allowed[rows[known], places[known], order[at[known]] % lists.shape[1]] = True
        return allowed

    @torch.no_grad()
    def _distances(self, lists: np.ndarray, contexts: ContextVectors) -> np.ndarray:
        """(rows, M, listed): the Euclidean distance of each target's context to that of each listed label."""
        rows, targets = self.drawn.labels.shape
        own = contexts(np.repeat(np.arange(rows), targets), np.maximum(self.drawn.labels, 0).reshape(-1))
        own = own.view(rows, targets, -1)  # (rows, M, width)
        size = max(NUMBERS_A_BLOCK // max(rows * own.shape[-1], 1), 1)
        blocks = []
        for start in range(0, lists.shape[1], size):
            block = lists[:, start : start + size]
            of_rows = np.repeat(np.arange(rows), block.shape[1])
            others = contexts(of_rows, np.maximum(block, 0).reshape(-1)).view(rows, block.shape[1], -1)
            apart = torch.cdist(own, others, compute_mode="donot_use_mm_for_euclid_dist")
            blocks.append(apart.float().cpu().numpy())
        return np.concatenate(blocks, axis=2)


def _sorted_lists(lists: np.ndarray) -> np.ndarray:
    """Each row's numbers ascending, -1 behind."""
    last = np.iinfo(np.int64).max
    ordered = np.sort(np.where(lists < 0, last, lists).astype(np.int64), axis=1)
    return np.where(ordered == last, -1, ordered)
