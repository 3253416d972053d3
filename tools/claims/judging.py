"""Claims tested on outcomes: what is to be shown of the cells of both sides, and where nothing can be."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tailwright.augmentation import augmenters
from tailwright.errors import InputError
from tailwright.evaluation.bootstrap import Difference, Term, contrast, holm_adjusted
from tailwright.evaluation.row_parts import DRAWS, Drawn
from tailwright.labels import head_torso_tail
from tailwright.models import models
from tailwright.study.compare.comparisons import ALL, Judge, fit_for
from tailwright.study.compare.fairness import conditions_of, models_apart, rows_apart
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
from tools.claims.sides import Group, about_models, common_seeds, pairs_of
from tools.claims.verdicts import (
    ALONE,
    FAILS,
    HOLDS,
    LEVEL,
    UNFAIR,
    UNTESTABLE,
    UNTESTED,
    Effect,
    Judgement,
    effect_of,
    over_effects,
)


@dataclass(frozen=True, eq=False)
class _Test:
    """What has to be shown of a pair: a contrast that is above zero if the claim is right.

    None if no row counts in it, or if the sides cannot be compared; then `unfair` says why.
    """

    group: Group
    what: str
    found: Difference | None = None
    unfair: str = ""
    unknown: tuple[str, ...] = ()


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
        pairs = [pair for pair in pairs_of(claim, self.outcomes) if wanted(pair[1].cell.model)]
        if claim.kind == FASTER:
            return tuple(_faster(*pair) for pair in pairs)
        tests = [test for pair in pairs for test in self._tests(claim, *pair) if test.found or test.unfair]
        # What decides nothing is no reason to ask more of the rest.
        adjusted = iter(holm_adjusted([one for test in tests if (one := test.found) and one.seeds > 1]))
        return tuple(_effect(claim, test, adjusted) for test in tests)

    def _tests(self, claim: Claim, before: Group, after: Group, side: Side) -> Iterator[_Test]:
        """All that has to be shown of a pair, or why it shows nothing."""
        common = common_seeds(before, after)
        was, now = before.seeds(common), after.seeds(common)
        usable = fit_for(claim.metrics, now[0].n_train)
        against = f"{claim.after.title} against {side.title}"
        share = f" at {after.cell.fraction * 100:.4g} %" if claim.fractions != (1.0,) else ""
        models_differ = about_models(claim, side)
        unfair = (models_apart(was, now) if models_differ else "") or rows_apart(was, now)
        if unfair:
            yield _Test(after, f"{against}{share}", unfair=unfair)
            return
        unknown = _unknown((before, after), common) if models_differ else ()

        def test(metric: str, what: str, terms: Sequence[Term]) -> _Test:
            return _Test(after, f"{what}, {against}", contrast(metric, terms), unknown=unknown)

        def gain(metric: str, name: str = ALL, sign: float = 1.0) -> list[Term]:
            after_seeds, before_seeds = ([self._measured(one, name) for one in seeds] for seeds in (now, was))
            return [Term(sign, after_seeds, metric), Term(-sign, before_seeds, metric)]

        if claim.kind in {ABOVE, AT_LEAST, NOT_ABOVE}:
            for name in claim.slices:
                on = "" if name == ALL else f" on {name} labels"
                for metric in usable:
                    yield test(metric, f"{metric}{on}{share}", gain(metric, name))
        elif claim.kind == MORE_IN and len(usable) == 2:
            one, other = usable
            what = f"gain in {one} less gain in {other}{share}"
            yield test(one, what, [*gain(one), *gain(other, sign=-1.0)])
        elif claim.kind == MORE_ON:
            one, other = claim.slices
            for metric in usable:
                what = f"gain in {metric} on {one} less on {other} labels{share}"
                yield test(metric, what, [*gain(metric, one), *gain(metric, other, -1.0)])
        elif claim.kind == UP_TO:
            for metric in usable:
                found = _beyond_percent(claim.percent, *gain(metric))
                yield _Test(after, f"relative gain in {metric}{share}, {against}", found, unknown=unknown)
        elif (claim.kind == MORE_AT and after.cell.fraction == claim.fractions[0]) or (
            claim.kind == MORE_WITH and after.cell.model == claim.models[0]
        ):
            yield from self._across(claim, before, after, side, usable)

    def _across(
        self, claim: Claim, before: Group, after: Group, side: Side, metrics: Sequence[str]
    ) -> Iterator[_Test]:
        """The gain at the first fraction, or with the first model, less that with the second."""
        against = f"{claim.after.title} against {side.title}"
        for base, group, other in pairs_of(claim, self.outcomes):
            if other != side or not _second(claim, after.cell, group.cell):
                continue
            sides = ((1.0, after), (-1.0, before), (-1.0, group), (1.0, base))
            common = common_seeds(*(found for _, found in sides))
            if not common:
                continue
            less, two_models = _less(claim, after.cell, group.cell), claim.kind == MORE_WITH
            unfair = models_apart(group.seeds(common), after.seeds(common)) if two_models else ""
            if unfair:
                yield _Test(after, f"{less}, {against}", unfair=unfair)
                continue
            unknown = _unknown([found for _, found in sides], common) if two_models else ()
            for metric in metrics:
                terms = [
                    Term(sign, [self._measured(one, ALL) for one in found.seeds(common)], metric)
                    for sign, found in sides
                ]
                gain = contrast(metric, terms)
                yield _Test(after, f"gain in {metric} {less}, {against}", gain, unknown=unknown)

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
            if len(values) == 1:
                verdict = ALONE
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


def _effect(claim: Claim, test: _Test, adjusted: Iterator[Difference]) -> Effect:
    """A test as an effect; `adjusted` has those that decide something, in turn."""
    cell = test.group.cell
    if test.found is None:
        rows, seeds = len(next(iter(test.group.outcomes.values())).top), len(test.group.outcomes)
        return Effect(cell.dataset, cell.system, test.what, test.unfair, UNFAIR, rows, seeds)
    found = next(adjusted) if test.found.seeds > 1 else test.found
    return replace(effect_of(claim, cell, test.what, found), unknown=test.unknown)


def _unknown(groups: Sequence[Group], seeds: Sequence[int]) -> tuple[str, ...]:
    """The systems that learn in epochs and of which nobody knows whether they had stopped learning."""
    return tuple(
        dict.fromkeys(
            group.cell.system
            for group in groups
            if conditions_of(group.cell).epochs is not None
            and any(one.stopped_learning is None for one in group.seeds(seeds))
        )
    )


def _second(claim: Claim, first: Cell, cell: Cell) -> bool:
    """Whether a cell is what the gain of `first` is to be set against."""
    if claim.kind == MORE_WITH:
        return (cell.path, cell.fraction, cell.model) == (first.path, first.fraction, claim.models[1])
    alike = [(one.path, one.model, _but_for_epochs(one)) for one in (first, cell)]
    return alike[0] == alike[1] and cell.fraction == claim.fractions[1]


def _but_for_epochs(cell: Cell) -> list[str]:
    """A cell's settings without its epochs: with fewer rows, which make fewer steps, papers have more."""
    return sorted(
        f"{name}={value}" for name, value in cell.settings.items() if name.split(".")[-1] != "epochs"
    )


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


def _faster(before: Group, after: Group, side: Side) -> Effect:
    """Training times of the same seeds: clear if one side is quicker with every seed.

    Seed by seed, as trainings of one seed share what comes before a mixup, and its time with it.
    """
    common = common_seeds(before, after)
    was, now = ([one.train_seconds for one in group.seeds(common)] for group in (before, after))
    ratio = statistics.fmean(was) / max(statistics.fmean(now), np.finfo(float).tiny)
    quicker = [after < before for before, after in zip(was, now, strict=True)]
    verdict = HOLDS if all(quicker) else LEVEL if any(quicker) else FAILS
    if len(common) == 1:
        verdict = ALONE
    shown = (
        f"{statistics.fmean(now):,.1f} s against {statistics.fmean(was):,.1f} s ({ratio:.2f} times as fast)"
    )
    first, what = after.outcomes[common[0]], f"training time, against {side.title}"
    cell = first.cell
    return Effect(cell.dataset, cell.system, what, shown, verdict, len(first.top), len(common))
