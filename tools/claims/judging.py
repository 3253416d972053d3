"""Claims tested on outcomes: which cells a claim speaks of, and what is to be shown of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tailwright.augmentation import augmenters
from tailwright.errors import InputError
from tailwright.evaluation.bootstrap import Difference, Term, contrast, holm_adjusted
from tailwright.evaluation.row_parts import DRAWS, Drawn
from tailwright.labels import head_torso_tail
from tailwright.models import models
from tailwright.settings import settings_from
from tailwright.study.compare.comparisons import ALL, Judge, fit_for
from tailwright.study.plan.cells import Cell
from tailwright.study.run.exam import Exam, exam_of
from tailwright.study.run.outcomes import Outcome
from tools.claims.ledger import (
    ABOVE,
    AT_LEAST,
    FASTER,
    FOUND_BEST,
    MORE_AT,
    MORE_IN,
    MORE_ON,
    MORE_WITH,
    NOT_ABOVE,
    UP_TO,
    Claim,
    Side,
)
from tools.claims.verdicts import (
    FAILS,
    HOLDS,
    LEVEL,
    UNTESTABLE,
    UNTESTED,
    Effect,
    Judgement,
    effect_of,
    over_effects,
)


@dataclass(frozen=True, eq=False)
class _Group:
    """The outcomes of one side on one dataset, fraction and system, by seed."""

    outcomes: dict[int, Outcome]

    @property
    def cell(self) -> Cell:
        return next(iter(self.outcomes.values())).cell

    def seeds(self, common: Sequence[int]) -> list[Outcome]:
        return [self.outcomes[seed] for seed in common]


def evaluate_claims(
    ledger: Sequence[Claim],
    outcomes: Iterable[Outcome],
    exam_for: Callable[[Cell], Exam] = exam_of,
    draws: int = DRAWS,
) -> list[Judgement]:
    """Every claim in the light of these outcomes; `exam_for` gives the test rows of a cell."""
    court = _Court(list({outcome.key: outcome for outcome in outcomes}.values()), ledger, exam_for, draws)
    return [court.judgement(claim) for claim in ledger]


class _Court:
    """The outcomes, and what was measured of them: once for all claims."""

    def __init__(
        self,
        outcomes: Sequence[Outcome],
        ledger: Sequence[Claim],
        exam_for: Callable[[Cell], Exam],
        draws: int,
    ) -> None:
        self.outcomes, self.exam_for, self.draws = outcomes, exam_for, draws
        self.metrics = list(dict.fromkeys(metric for claim in ledger for metric in claim.metrics))
        self._judges: dict[str, Judge] = {}
        self._drawn: dict[tuple[str, str], Drawn] = {}

    def judgement(self, claim: Claim) -> Judgement:
        if claim.untestable:
            return Judgement(claim, UNTESTABLE, claim.untestable)
        missing = [name for name in claim.methods if name not in augmenters.names()]
        if missing:
            return Judgement(claim, UNTESTED, f"{', '.join(missing)} not built yet")
        try:
            claimed, beyond = (self._effects(claim, spoken_of) for spoken_of in (True, False))
        except InputError as error:
            return Judgement(claim, UNTESTED, str(error))
        if claimed:
            return Judgement(claim, over_effects(claim, claimed), "", claimed, beyond)
        named = [name for side in (*claim.before, claim.after) if (name := side.model)]
        built = [name for name in (*claim.models, *named) if name in models.names()]
        if (claim.models or named) and not built:
            why = f"none of {', '.join(dict.fromkeys([*claim.models, *named]))} is built yet"
        else:
            why = "no finished cells of both sides"
        return Judgement(claim, UNTESTED, why, (), beyond)

    def _effects(self, claim: Claim, spoken_of: bool) -> tuple[Effect, ...]:
        """Effects wherever there are cells, on models that the paper speaks of or on others."""

        def wanted(model: str) -> bool:
            return (not claim.models or model in claim.models) == spoken_of

        if claim.kind == FOUND_BEST:
            return tuple(effect for model, effect in self._searches(claim) if wanted(model))
        pairs = [pair for pair in self._pairs(claim) if wanted(pair[1].cell.model)]
        if claim.kind == FASTER:
            return tuple(_faster(*pair) for pair in pairs)
        tests = [test for pair in pairs for test in self._tests(claim, *pair)]
        differences = [(group, what, one) for group, what, one in tests if one is not None]
        adjusted = holm_adjusted([one for *_, one in differences])
        return tuple(
            effect_of(claim, group.cell, what, one)
            for (group, what, _), one in zip(differences, adjusted, strict=True)
        )

    def _pairs(self, claim: Claim) -> Iterator[tuple[_Group, _Group, Side]]:
        """Groups that differ in nothing but the side, at the fractions that the claim asks for."""
        after = self._groups(claim.after)
        for side in claim.before:
            before = self._groups(side)
            for place, group in after.items():
                for other, base in before.items():
                    same = place == other if not (side.model or claim.after.model) else place[:3] == other[:3]
                    if same and place[1] in claim.fractions and set(base.outcomes) & set(group.outcomes):
                        yield base, group, side

    def _groups(self, side: Side) -> dict[tuple[str, float, int, str, str], _Group]:
        """Outcomes of a side by (path, fraction, training rows, system, its settings), in a fixed order."""
        by_place: dict[tuple[str, float, int, str, str], dict[int, Outcome]] = {}
        for outcome in sorted(self.outcomes, key=lambda outcome: (outcome.cell.title, outcome.key)):
            cell = outcome.cell
            if matches(cell, side):
                system = (cell.system, repr(sorted(cell.settings.items())))
                place = (cell.path, cell.fraction, outcome.n_train, *system)
                by_place.setdefault(place, {}).setdefault(cell.seed, outcome)
        return {place: _Group(dict(sorted(seeds.items()))) for place, seeds in by_place.items()}

    def _tests(
        self, claim: Claim, before: _Group, after: _Group, side: Side
    ) -> Iterator[tuple[_Group, str, Difference | None]]:
        """What has to be shown of a pair: contrasts that are above zero if the claim is right."""
        common = sorted(set(before.outcomes) & set(after.outcomes))
        was, now = before.seeds(common), after.seeds(common)
        usable = fit_for(claim.metrics, now[0].n_train)
        against = f"{claim.after.title} against {side.title}"
        share = f" at {after.cell.fraction * 100:.4g} %" if claim.fractions != (1.0,) else ""

        def gain(metric: str, name: str = ALL, sign: float = 1.0) -> list[Term]:
            after_seeds, before_seeds = ([self._measured(one, name) for one in seeds] for seeds in (now, was))
            return [Term(sign, after_seeds, metric), Term(-sign, before_seeds, metric)]

        if claim.kind in {ABOVE, AT_LEAST, NOT_ABOVE}:
            for name in claim.slices:
                on = "" if name == ALL else f" on {name} labels"
                for metric in usable:
                    yield after, f"{metric}{on}{share}, {against}", contrast(metric, gain(metric, name))
        elif claim.kind == MORE_IN and len(usable) == 2:
            one, other = usable
            what = f"gain in {one} less gain in {other}{share}, {against}"
            yield after, what, contrast(one, [*gain(one), *gain(other, sign=-1.0)])
        elif claim.kind == MORE_ON:
            one, other = claim.slices
            for metric in usable:
                what = f"gain in {metric} on {one} less on {other} labels{share}, {against}"
                yield after, what, contrast(metric, [*gain(metric, one), *gain(metric, other, -1.0)])
        elif claim.kind == UP_TO:
            for metric in usable:
                found = _beyond_percent(claim.percent, *gain(metric))
                yield after, f"relative gain in {metric}{share}, {against}", found
        elif (claim.kind == MORE_AT and after.cell.fraction == claim.fractions[0]) or (
            claim.kind == MORE_WITH and after.cell.model == claim.models[0]
        ):
            yield from self._across(claim, before, after, side, usable)

    def _across(
        self, claim: Claim, before: _Group, after: _Group, side: Side, metrics: Sequence[str]
    ) -> Iterator[tuple[_Group, str, Difference | None]]:
        """The gain at the first fraction, or with the first model, less that with the second."""
        for base, group, other in self._pairs(claim):
            if other != side or not _second(claim, after.cell, group.cell):
                continue
            sides = ((1.0, after), (-1.0, before), (-1.0, group), (1.0, base))
            common = sorted(set.intersection(*(set(found.outcomes) for _, found in sides)))
            for metric in metrics if common else ():
                terms = [
                    Term(sign, [self._measured(one, ALL) for one in found.seeds(common)], metric)
                    for sign, found in sides
                ]
                what = f"gain in {metric} {_less(claim, after.cell, group.cell)}"
                yield after, f"{what}, {claim.after.title} against {side.title}", contrast(metric, terms)

    def _searches(self, claim: Claim) -> Iterator[tuple[str, Effect]]:
        """How often a search chose the value that the claim names."""
        chosen: dict[tuple[str, str, str], list[float]] = {}
        rows: dict[str, int] = {}
        for outcome in self.outcomes:
            tried = _tried(outcome, claim.setting)
            if claim.value in tried and len(tried) > 1:
                cell = outcome.cell
                best = max(tried, key=tried.__getitem__)
                chosen.setdefault((cell.dataset, cell.system, cell.model), []).append(best)
                rows[cell.dataset] = len(outcome.top)
        for (dataset, system, model), values in sorted(chosen.items()):
            right = values.count(claim.value)
            verdict = HOLDS if right == len(values) else FAILS if not right else LEVEL
            named = ", ".join(f"{value:g}" for value in sorted(set(values)))
            shown = f"best in {right} of {len(values)} searches; chosen: {named}"
            what = f"{claim.setting} = {claim.value:g}"
            yield model, Effect(dataset, system, what, shown, verdict, rows[dataset], len(values))

    def _measured(self, outcome: Outcome, name: str) -> Drawn:
        """All metrics of the ledger on one slice, measured once."""
        cell = outcome.cell
        if cell.path not in self._judges:
            self._judges[cell.path] = Judge(self.exam_for(cell), self.draws)
        if (outcome.key, name) not in self._drawn:
            mask = None if name == ALL else head_torso_tail(outcome.counts)[name]
            metrics = fit_for(self.metrics, outcome.n_train)
            self._drawn[outcome.key, name] = self._judges[cell.path].drawn(outcome, metrics, mask)
        return self._drawn[outcome.key, name]


def matches(cell: Cell, side: Side) -> bool:
    """Whether a cell is what a side speaks of: its methods, with all settings that a search leaves alone.

    Of a side that is a model and no method, the settings that it names.
    """
    if len(cell.ensemble) != len(side.ensemble):
        return False
    if side.ensemble:
        return all(matches(*pair) for pair in zip(cell.ensemble, side.ensemble, strict=True))
    if cell.augment != side.methods or (side.model and cell.model != side.model):
        return False
    if side.model and not side.methods:
        kind = models.get(cell.model).Settings
        return settings_from(kind, {**cell.settings, **side.settings}) == settings_from(kind, cell.settings)
    for method in side.methods:
        kind = augmenters.get(method).Settings
        searched = {name.removeprefix(f"{method}.") for name in cell.search if name.startswith(f"{method}.")}
        said = {name: value for name, value in side.settings.items() if name not in searched}
        had = {n: v for n, v in cell.augment_settings.get(method, {}).items() if n not in searched}
        if settings_from(kind, said) != settings_from(kind, had):
            return False
    return True


def _second(claim: Claim, first: Cell, cell: Cell) -> bool:
    """Whether a cell is what the gain of `first` is to be set against."""
    if claim.kind == MORE_WITH:
        return (cell.path, cell.fraction, cell.model) == (first.path, first.fraction, claim.models[1])
    alike = len({(one.path, one.system, repr(sorted(one.settings.items()))) for one in (first, cell)}) == 1
    return alike and cell.fraction == claim.fractions[1]


def _less(claim: Claim, first: Cell, second: Cell) -> str:
    """What the gains of two cells differ in, in words."""
    if claim.kind == MORE_WITH:
        return f"with {first.system} less with {second.system}"
    return f"at {first.fraction * 100:.4g} % less at {second.fraction * 100:.4g} %"


def _beyond_percent(percent: float, after: Term, before: Term) -> Difference | None:
    """By how many percent of what was before a gain is larger than `percent`; none of nothing."""
    whole = -float(before.values().mean())
    if whole <= 0:
        return None
    terms = [
        Term(100 / whole, after.seeds, after.metric),
        Term(-(100 + percent) / whole, before.seeds, before.metric),
    ]
    return contrast(after.metric, terms)


def _tried(outcome: Outcome, setting: str) -> dict[float, float]:
    """The metric on validation rows by value of one setting, where nothing else was searched with it."""
    tried = {}
    for name, metric in outcome.searched.items():
        owner, _, value = name.partition("=")
        try:
            tried[float(value)] = metric
        except ValueError:
            return {}
        if owner != setting:
            return {}
    return tried


def _faster(before: _Group, after: _Group, side: Side) -> Effect:
    """Training times of the same seeds: clear if one side is quicker with every seed.

    Seed by seed, as trainings of one seed share what comes before a mixup, and its time with it.
    """
    common = sorted(set(before.outcomes) & set(after.outcomes))
    was, now = ([one.train_seconds for one in group.seeds(common)] for group in (before, after))
    ratio = statistics.fmean(was) / max(statistics.fmean(now), np.finfo(float).tiny)
    quicker = [after < before for before, after in zip(was, now, strict=True)]
    verdict = HOLDS if all(quicker) else LEVEL if any(quicker) else FAILS
    shown = (
        f"{statistics.fmean(now):,.1f} s against {statistics.fmean(was):,.1f} s ({ratio:.2f} times as fast)"
    )
    first, what = after.outcomes[common[0]], f"training time, against {side.title}"
    cell = first.cell
    return Effect(cell.dataset, cell.system, what, shown, verdict, len(first.top), len(common))
