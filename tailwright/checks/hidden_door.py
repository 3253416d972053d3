"""What every method at the hidden door must hold to, and methods that show whether a model has the door."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import cast

import numpy as np
import torch

from tailwright.augmentation import MIX_POINTS, AugmenterCard, HiddenAugmenter
from tailwright.checks.batch_door import with_made_rows
from tailwright.checks.corpora import odd_corpus, require, tiny_corpus
from tailwright.data.batch_targets import BatchTargets, TargetRows
from tailwright.data.corpus import Corpus
from tailwright.data.text.sequences import TokenBatch
from tailwright.encoders.mixing import (
    ContextVectors,
    Mixing,
    PairMixing,
    ReplacedPairs,
    RowMixing,
    TokenMixing,
)
from tailwright.streams import stream
from tailwright.training.hidden_door import HiddenMix

BATCHES, ROWS, TOKENS, WIDTH = 20, 16, 5, 6
POINTS = ("tokens", "embeddings", "layer-1", "output", "contexts", "hidden", "pairs")


def check_hidden_augmenter(augmenter: HiddenAugmenter) -> None:
    """Raise AssertionError with one sentence on the first promise that it breaks."""
    points = augmenter.among(POINTS)
    mixed = 0
    for corpus in (tiny_corpus(), odd_corpus()):
        before = corpus.train.take(np.arange(len(corpus.train)))
        mix, again = (augmenter.prepare(corpus, points=points, seed=1) for _ in range(2))
        beside_others = augmenter.prepare(with_made_rows(corpus), points=points, seed=1)
        for number in range(BATCHES):
            rows = stream(0, "check-hidden", number).integers(0, len(corpus.train), ROWS)
            passes = _passes(mix, corpus, rows, number)
            for mixing in passes:
                if mixing is not None:
                    mixed += 1
                    require(mixing.point in points, f"it mixes at {mixing.point!r}, which it was not offered")
                    _check_mixing(mixing, TargetRows(corpus.train)(rows), len(corpus.labels))
            same = _same(_passes(again, corpus, rows, number), passes)
            require(same, "the same seed gives another mixing")
            unmoved = _same(_passes(beside_others, corpus, rows, number), passes)
            require(unmoved, "rows of another augmentation enter its label statistics")
        _passes(mix, corpus, np.empty(0, dtype=np.int64), 0)
        require(corpus.train.same_as(before), "its input was changed")
    require(mixed > 0, "it mixes nothing")


def _passes(mix: HiddenMix, corpus: Corpus, rows: np.ndarray, number: int) -> Sequence[Mixing | None]:
    random = stream(1, "check-hidden", number)
    return list(mix(TargetRows(corpus.train)(rows), epoch=10_000, random=random))


def _check_mixing(mixing: Mixing, given: BatchTargets, labels: int) -> None:
    targets = mixing.targets
    if mixing.point == "tokens":
        tokens = _tokens(len(given))
        mixed, targets = _replaced_tokens(mixing, len(given))
        require(np.array_equal(mixed.lengths, tokens.lengths), "it changes the length of texts")
        require(bool(np.isin(mixed.ids, tokens.ids).all()), "it makes up tokens")
        outer = [(row, place) for row, n in enumerate(tokens.lengths) for place in (0, n - 1)]
        same = all(mixed.ids[place] == tokens.ids[place] for place in outer)
        require(same, "a special token is replaced")
    require(len(targets) == len(given), "its targets are of other rows")
    valid = bool(((targets.values > 0) & (targets.values <= 1)).all())
    require(valid, "a target is not in (0, 1]")
    inside = bool(((targets.labels >= 0) & (targets.labels < labels)).all())
    require(inside, "a label is out of range")
    same_row = np.diff(targets.rows) == 0
    require(bool((np.diff(targets.labels)[same_row] > 0).all()), "labels do not ascend within a row")
    if mixing.point == "pairs":
        replaced = cast(PairMixing, mixing).replaced_pairs(_Contexts())
        keys = replaced.rows * labels + replaced.labels
        require(len(np.unique(keys)) == len(keys), "a pair is replaced twice")
        ignored = given.ignored_rows * labels + given.ignored
        require(not np.isin(keys, ignored).any(), "an ignored pair is replaced")
        soft = bool(((replaced.targets >= 0) & (replaced.targets <= 1)).all())
        require(soft, "the target of a replaced pair is not in [0, 1]")
        return
    if mixing.point == "tokens":
        return
    states, mask = _states(len(given)), torch.ones(len(given), TOKENS, dtype=torch.bool)
    kept = states.clone()
    result, _ = cast(RowMixing, mixing).activations(states, mask)
    require(torch.equal(states, kept), "the activations that it was given were changed")
    require(
        result.shape == states.shape and result.dtype == states.dtype, "it changes the activations' shape"
    )


def _states(rows: int) -> torch.Tensor:
    drawn = stream(2, "check-hidden").standard_normal((rows, TOKENS, WIDTH), dtype=np.float32)
    return torch.from_numpy(drawn)


def _tokens(rows: int) -> TokenBatch:
    """Texts of 2 to 16 tokens, the first and the last of which are special."""
    lengths = 2 + np.arange(rows, dtype=np.int32) % 15
    ids = np.arange(rows * int(lengths.max(initial=0)), dtype=np.int32).reshape(rows, -1)
    return TokenBatch(ids, lengths)


def _replaced_tokens(mixing: Mixing, rows: int) -> tuple[TokenBatch, BatchTargets]:
    tokens = _tokens(rows)
    saliency = stream(3, "check-hidden").random(tokens.ids.shape, dtype=np.float32)
    return cast(TokenMixing, mixing).replaced_tokens(tokens, 2, lambda: saliency)


class _Contexts:
    """Any vectors that depend on the pair alone."""

    candidates = None

    def __call__(self, rows: np.ndarray, labels: np.ndarray) -> torch.Tensor:
        places = torch.from_numpy(np.stack([rows, labels], axis=1)).float()
        return torch.sin(places @ torch.arange(1, 2 * WIDTH + 1).float().view(2, WIDTH))


def _same(a: Sequence[Mixing | None], b: Sequence[Mixing | None]) -> bool:
    return len(a) == len(b) and all(_same_mixing(one, other) for one, other in zip(a, b, strict=True))


def _same_mixing(a: Mixing | None, b: Mixing | None) -> bool:
    if a is None or b is None:
        return a is b
    arrays = (field.name for field in fields(BatchTargets))
    targets = all(np.array_equal(getattr(a.targets, name), getattr(b.targets, name)) for name in arrays)
    if a.point != b.point or not targets:
        return False
    if a.point == "tokens":
        (tokens, learnt), (others, of_others) = (_replaced_tokens(each, len(a.targets)) for each in (a, b))
        return np.array_equal(tokens.ids, others.ids) and np.array_equal(learnt.values, of_others.values)
    if a.point == "pairs":
        one, other = (cast(PairMixing, mixing).replaced_pairs(_Contexts()) for mixing in (a, b))
        same = all(np.array_equal(getattr(one, n), getattr(other, n)) for n in ("rows", "labels", "targets"))
        return same and torch.equal(one.contexts, other.contexts)
    states = _states(len(a.targets))
    mask = torch.ones(states.shape[:2], dtype=torch.bool)
    first, second = (cast(RowMixing, mixing).activations(states, mask)[0] for mixing in (a, b))
    return torch.equal(first, second)


@dataclass(frozen=True, eq=False)
class Blend:
    """Each row with a share of the row before it; a share of 0 changes nothing and gives the same tensors."""

    point: str
    targets: BatchTargets
    share: float

    def activations(
        self, states: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        if not self.share:
            return states, mask
        blended = (1 - self.share) * states + self.share * states.roll(1, 0)
        return blended, None if mask is None else mask | mask.roll(1, 0)

    def replaced_tokens(
        self, tokens: TokenBatch, specials: int, saliency: Callable[[], np.ndarray]
    ) -> tuple[TokenBatch, BatchTargets]:
        """Every third token is that of the row before, where both have one."""
        if not self.share:
            return tokens, self.targets
        places = np.arange(tokens.ids.shape[1])
        inner = np.minimum(tokens.lengths, np.roll(tokens.lengths, 1)) - specials // 2
        taken = (places % 3 == specials // 2) & (places < inner[:, None])
        return replace(tokens, ids=np.where(taken, np.roll(tokens.ids, 1, axis=0), tokens.ids)), self.targets

    def replaced_pairs(self, contexts: ContextVectors) -> ReplacedPairs:
        """Each learnt positive, blended with the same label's context in the row before."""
        learnt = self.targets.learnt()
        count = len(learnt.labels) if self.share else 0
        rows, labels = learnt.rows[:count], learnt.labels[:count].astype(np.int64)
        own, others = contexts(rows, labels), contexts((rows - 1) % max(len(learnt), 1), labels)
        blended = (1 - self.share) * own + self.share * others
        return ReplacedPairs(rows, labels, blended, (1 - self.share) * learnt.values[:count])


class Blender(HiddenAugmenter):
    """Blends the rows of every batch, at one mix point after the other."""

    card = AugmenterCard(
        "blender", "for the checks", "hidden", keeps_targets=True, mix_points=tuple(MIX_POINTS)
    )

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self.used: set[str] = set()  # the points that it has mixed at

    def prepare(self, corpus: Corpus, *, points: tuple[str, ...], seed: int = 0) -> HiddenMix:
        def mix(targets: BatchTargets, *, epoch: int, random: np.random.Generator) -> Sequence[Mixing | None]:
            point = points[int(random.integers(len(points)))]
            self.used.add(point)
            return [Blend(point, targets, self.share)]

        return mix
