"""The advisor: which augmentation helps this model on this corpus, found by short probes within a budget.

Successive halving. Every contender is trained on a miniature of the corpus and judged on held-out training
rows; the better half goes on to a larger miniature and another seed, beside training without augmentation,
until few are left or the budget is spent. Sizes are chosen so that a round takes its share of the time left.
A contender is judged by the largest miniature it was tried on.

A probe is the training that `tailwright train` would run, on fewer rows. The rows that judge it are kept from
the model: a fusion would learn its combination from them. What a model does below so many rows, a miniature
does only if the whole corpus is as small (`decided_by_all_rows`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tailwright.augmentation import augmenters
from tailwright.data.corpus import Corpus
from tailwright.data.wordnet import has_wordnet
from tailwright.errors import InputError
from tailwright.evaluation.bootstrap import Difference, holm, paired_bootstrap
from tailwright.evaluation.row_parts import RowParts, row_parts
from tailwright.labels import PROPENSITY_PRESETS, head_torso_tail
from tailwright.models import models
from tailwright.progress import progress
from tailwright.runs.choice import AutoChoice
from tailwright.runs.evaluation import ranked
from tailwright.runs.training import train
from tailwright.settings import settings_table
from tailwright.study.plan.cells import BASELINE
from tailwright.study.plan.miniature import draw_order, miniature

METRICS = ("P@1", "PSP@5", "nDCG@5", "R@10")
VALID = 0.1
ROWS_TO_BEGIN_WITH = 2_000  # fewer say little, and starting a training takes as long as running it
SIGNIFICANT = 0.05
ROW_LIMITS = ("few_rows", "label_rows_below")  # settings that decide by the number of training rows
MOST_SEEDS = 3  # of the last contenders, where the budget allows it


@dataclass(frozen=True)
class Contender:
    """An augmentation with settings; without a method it is the baseline."""

    method: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        set_to = ", ".join(f"{name}={_plain(value)}" for name, value in self.settings.items())
        return f"{self.method} ({set_to})" if set_to else self.method or BASELINE

    @classmethod
    def by_rule(cls, choice: AutoChoice) -> Contender:
        """The augmentation of a choice that named none or one."""
        (method,) = choice.augment or ("",)
        return cls(method, choice.augment_settings.get(method, {}))

    def options(self) -> list[str]:
        """The options of `tailwright train` that ask for it."""
        if not self.method:
            return ["--augment", "none"]
        settings = [f"{self.method}.{name}={_plain(value)}" for name, value in self.settings.items()]
        return ["--augment", self.method, *(word for setting in settings for word in ("--set", setting))]


@dataclass(frozen=True, eq=False)
class Probe:
    """One short training: what was tried, how long it took, and its metrics by row, overall and by slice."""

    contender: Contender
    round: int
    share: float  # of the labels
    rows: int
    labels: int
    seed: int
    seconds: float
    parts: Mapping[str, RowParts]


@dataclass(frozen=True)
class Ranked:
    """A contender's place: what it gains over no augmentation, by slice and metric, and how sure that is.

    `p` belongs to the metric that is ranked by, after Holm's correction over all contenders.
    """

    contender: Contender
    share: float
    rows: int
    labels: int
    seeds: int
    gains: Mapping[str, Mapping[str, Difference]]
    p: float


@dataclass(frozen=True)
class Advice:
    """Contenders from best to worst, the one to use, and all that was tried."""

    model: str
    metric: str
    ranking: tuple[Ranked, ...]
    chosen: Contender
    reason: str
    probes: tuple[Probe, ...]
    seconds: float


def contenders_for(model: str, corpus: Corpus) -> list[Contender]:
    """Everything that can be tried: the methods at the model's doors, each with the settings worth trying."""
    card = models.card(model)
    unmet = set() if corpus.labels.has_text.any() else {"label texts"}
    if not has_wordnet():
        unmet.add("WordNet")
    contenders = []
    for name in augmenters.names():
        kind = augmenters.get(name)
        if card.takes(kind.card) and not unmet.intersection(kind.card.needs):
            contenders += [Contender(name, settings) for settings in kind.probes]
    return contenders


def advise(
    corpus: Corpus,
    model: str,
    *,
    metric: str = "PSP@5",
    budget: float = 600.0,
    contenders: Sequence[Contender] | None = None,
    rule: Contender | None = None,
    seed: int = 0,
    clock: Callable[[], float] = time.monotonic,
) -> Advice:
    """Try augmentations with `model` for about `budget` seconds and rank them by `metric`.

    Judged on the corpus's validation rows, or on a tenth of its training rows where it has none; test rows
    are never looked at. `rule` is what is taken without advice: where it helps, and the best contender is not
    better than it beyond noise, the advice is to keep to it.
    """
    if metric not in METRICS:
        raise InputError(f"found metric {metric!r}", expected=f"one of {', '.join(METRICS)}")
    if not budget > 0:
        raise InputError(f"found a budget of {budget:g} s", expected="more than 0")
    settings = decided_by_all_rows(model, len(corpus.train.originals()))
    corpus = corpus.split(VALID, seed=0)
    if corpus.valid is None or not len(corpus.valid) or not len(corpus.train):
        raise InputError("found too few rows to hold some out", expected="10 training rows or more")
    tried = list(contenders_for(model, corpus) if contenders is None else contenders)
    search = _Halving(corpus, model, settings, metric, budget, seed, clock)
    search.rule = rule
    with progress(f"probes of {model}", round(budget), "seconds") as advance:
        search.advance = advance
        left, rounds = tried, 1 + max(1, math.ceil(math.log2(max(len(tried), 1))))
        for rounds_left in range(rounds, 0, -1):
            if not search.round(left, rounds_left):
                return search.advice(tried)
            left = search.better_half(left)
        for _ in range(MOST_SEEDS - 1):
            if not search.round(left, 1):
                break
    return search.advice(tried)


def decided_by_all_rows(model: str, rows: int) -> dict[str, Any]:
    """Settings by which a miniature does what the model would do with all `rows`.

    What is done below a number of rows is done on every miniature of a smaller corpus anyway, and on none of
    a larger one.

    >>> decided_by_all_rows("linear+twin", 12_000)
    {'linear.label_rows_below': 0}
    """
    limits = [one for one in settings_table(models.settings(model)) if one.name.split(".")[-1] in ROW_LIMITS]
    return {one.name: 0 for one in limits if one.default and one.default <= rows}


class _Halving:
    """The state of one search: the probes so far, and the clock."""

    def __init__(
        self,
        corpus: Corpus,
        model: str,
        settings: Mapping[str, Any],
        metric: str,
        budget: float,
        seed: int,
        clock: Callable[[], float],
    ) -> None:
        self.corpus, self.model, self.settings = corpus, model, settings
        self.metric, self.seed = metric, seed
        self.clock, self.start, self.budget = clock, clock(), budget
        self.order = draw_order(corpus, seed)
        self.probes: list[Probe] = []
        self.rounds = 0
        self.complete: set[int] = set()
        self.share = min(1.0, ROWS_TO_BEGIN_WITH / max(len(corpus.train), 1))
        self.advance: Callable[[int], None] = lambda n: None
        self.rule: Contender | None = None
        self._shown = 0

    def round(self, left: Sequence[Contender], rounds_left: int) -> bool:
        """Try the baseline and all that are left, as large as the time allows; False if it ran out."""
        share = self._next_share(len(left) + 1, rounds_left)
        number, self.rounds = self.rounds, self.rounds + 1
        small = miniature(self.corpus, share, self.order)
        for contender in [Contender(), *left]:
            if self.probes and self._elapsed() + self._expected(share) > self.budget:
                return False
            self.probes.append(self._probe(contender, number, small, share))
            now = min(round(self._elapsed()), round(self.budget))
            self.advance(now - self._shown)
            self._shown = now
        self.share = share
        self.complete.add(number)
        return True

    def better_half(self, left: Sequence[Contender]) -> list[Contender]:
        """The half of the last round with the larger gains, but at least two."""
        placed = sorted(left, key=lambda contender: -self._ranked(contender).gains["all"][self.metric].mean)
        return placed[: max(2, math.ceil(len(placed) / 2))]

    def advice(self, tried: Sequence[Contender]) -> Advice:
        """What the probes say; contenders that came further rank first."""
        known = [self._ranked(contender) for contender in tried if self._of(contender)]
        known = [entry for entry in known if entry.gains]
        known.sort(key=lambda entry: (-entry.share, -entry.seeds, -entry.gains["all"][self.metric].mean))
        adjusted = holm([entry.gains["all"][self.metric].p for entry in known])
        ranking = tuple(replace(entry, p=p) for entry, p in zip(known, adjusted, strict=True))
        chosen, reason = Contender(), "no augmentation could be tried within the budget"
        if ranking:
            first = ranking[0]
            gain = first.gains["all"][self.metric]
            sure = first.p < SIGNIFICANT and gain.mean > 0
            chosen = first.contender if sure else Contender()
            change = f"by {gain.mean:+.2f} points ({gain.interval})"
            of_all = f"{first.labels:,} of the {len(self.corpus.labels):,} labels"
            tried_on = "" if first.share == 1 else f" on held-out rows of {of_all}"
            reason = f"{first.contender.name} changes {self.metric} {change}{tried_on}"
            if not sure:
                reason += ", which is no gain beyond noise"
            elif (level := self._level_rule(ranking)) is not None:
                chosen = level.contender
                points = f"{level.gains['all'][self.metric].mean:+.2f} points"
                reason += f", {chosen.name} by {points}, which is no less beyond noise"
        return Advice(
            self.model, self.metric, ranking, chosen, reason, tuple(self.probes), self.clock() - self.start
        )

    def _level_rule(self, ranking: Sequence[Ranked]) -> Ranked | None:
        """The place of the rule if it helps as much as the first contender, as far as the probes can tell."""
        first = ranking[0]
        for entry in ranking[1:]:
            as_far = (entry.share, entry.seeds) == (first.share, first.seeds)
            helps = entry.p < SIGNIFICANT and entry.gains["all"][self.metric].mean > 0
            if entry.contender == self.rule and as_far and helps:
                was, now = ([p.parts["all"] for p in self._of(one.contender)] for one in (entry, first))
                return entry if paired_bootstrap(was, now)[self.metric].p >= SIGNIFICANT else None
        return None

    def _probe(self, contender: Contender, number: int, small: Corpus, share: float) -> Probe:
        start, seed = self.clock(), self.seed + number
        run = train(
            replace(small, valid=None),
            self.model,
            settings=self.settings,
            augment=[contender.method] if contender.method else [],
            augment_settings={contender.method: contender.settings} if contender.method else None,
            seed=seed,
        )
        valid = small.splits()["valid"]
        top = ranked(run, valid)
        counts, rows = small.labels.counts, len(small.train.originals())
        weights = PROPENSITY_PRESETS["default"].inverse(counts, max(rows, 3))
        everything = np.ones(len(counts), dtype=bool)
        parts = {
            name: row_parts(top, valid.targets, weights, METRICS, valid.excluded, mask)
            for name, mask in {"all": everything, **head_torso_tail(counts)}.items()
            if mask[valid.targets.indices].any()
        }
        seconds = self.clock() - start
        return Probe(contender, number, share, len(small.train), len(counts), seed, seconds, parts)

    def _of(self, contender: Contender) -> list[Probe]:
        """The probes of a contender on the largest miniature it was tried on.

        A round that the budget cut short leaves some contenders out, so it counts only if there is no other.
        """
        mine = [p for p in self.probes if p.contender == contender]
        mine = [p for p in mine if p.round in self.complete or not self.complete]
        share = max((p.share for p in mine), default=0.0)
        return [p for p in mine if p.share == share]

    def _ranked(self, contender: Contender) -> Ranked:
        mine = self._of(contender)
        plain = {p.seed: p for p in self.probes if not p.contender.method and p.share == mine[0].share}
        before = [plain[p.seed] for p in mine]
        gains = {
            name: paired_bootstrap([p.parts[name] for p in before], [p.parts[name] for p in mine])
            for name in mine[0].parts
        }
        last = mine[-1]
        return Ranked(contender, last.share, last.rows, last.labels, len(mine), gains, 1.0)

    def _next_share(self, trainings: int, rounds_left: int) -> float:
        """The share of labels that fits into this round's time; never less than in the round before."""
        if not self.probes:
            return self.share
        time_each = max(self.budget - self._elapsed(), 0.0) / rounds_left / trainings
        longest = self._expected(self.share)
        return float(np.clip(self.share * time_each / max(longest, 1e-9), self.share, 1.0))

    def _expected(self, share: float) -> float:
        """Seconds of a probe of that share, from the slowest of the last round.

        The very first probe also loads libraries, so it counts only as long as there is no other.
        """
        known = self.probes[1:] or self.probes
        last = [p for p in known if p.share == known[-1].share]
        return max(p.seconds for p in last) * share / last[0].share

    def _elapsed(self) -> float:
        return self.clock() - self.start


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value}"
