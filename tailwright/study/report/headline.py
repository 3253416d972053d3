"""What a reader asks first: how many of the rare labels are found, and do the frequent ones pay for it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tailwright.evaluation.bootstrap import EQUAL, TOO_FEW_SEEDS, Difference
from tailwright.study.compare.comparisons import ALL, Comparison, Entry
from tailwright.study.plan.cells import BASELINE

METRIC = "R@10"
WORDS = {"tail": "rare labels", "torso": "labels between", "head": "frequent ones", "unseen": "unseen ones"}
ASKED_FIRST = ("tail", "head")
PSP = (
    "PSP is precision in which finding a rare label counts more than finding a frequent one; 100 is the best "
    "that can be reached."
)


def found(labels: str, now: float, gain: Difference) -> str:
    """How many of 100 are found, and how many were, as far as the difference can be believed.

    >>> found("rare labels", 39.4, Difference("R@10", 9.2, 7.0, 11.0, 0.001, 400, 3))
    'rare labels: 39 of 100 found instead of 30'
    >>> found("frequent ones", 61.8, Difference("R@10", 0.3, -0.9, 1.4, 0.6, 400, 3))
    'frequent ones: 62 of 100 found, unchanged'
    >>> found("frequent ones", 61.8, Difference("R@10", -2.3, -5.9, 1.4, 0.2, 400, 3))
    'frequent ones: 62 of 100 found, 64 before, no clear difference'
    """
    was = now - gain.mean
    if gain.verdict == EQUAL:
        before = "unchanged" if f"{now:.0f}" == f"{was:.0f}" else f"{was:.0f} before, {gain.in_words}"
        return f"{labels}: {now:.0f} of 100 found, {before}"
    too_few = ", though there are not enough seeds to tell" if gain.verdict == TOO_FEW_SEEDS else ""
    return f"{labels}: {now:.0f} of 100 found instead of {was:.0f}{too_few}"


def headlines(comparisons: Sequence[Comparison]) -> list[str]:
    """A sentence for each dataset, on its largest share of rows; empty where recall was not measured."""
    largest: dict[str, Comparison] = {}
    for table in sorted(comparisons, key=lambda table: table.fraction):
        largest[table.dataset] = table
    return [sentence for table in largest.values() if (sentence := _headline(table))]


def found_by_slice(now: Mapping[str, float], gains: Mapping[str, Difference]) -> list[str]:
    """The phrases for rare and frequent labels; where neither is among the test rows, for all labels."""
    asked = [name for name in ASKED_FIRST if name in now and name in gains] or [ALL]
    return [found(WORDS.get(name, "labels"), now[name], gains[name]) for name in asked if name in gains]


def joined(what: str, phrases: Sequence[str]) -> str:
    """What the phrases are about, and then the phrases as a sentence."""
    said = "; ".join(phrases)
    return f"{what}. {said[:1].upper()}{said[1:]}."


def _headline(table: Comparison) -> str:
    """What the entry that finds most rare labels finds, against its baseline if it has one."""
    entries = [entry for entry in table.entries if METRIC in entry.mean.get(ALL, {})]
    if not entries:
        return ""
    best = max([entry for entry in entries if entry.gain] or entries, key=_rare_found)
    now = {name: metrics[METRIC] for name, metrics in best.mean.items()}
    gains = {name: by_metric[METRIC] for name, by_metric in best.gain.items() if METRIC in by_metric}
    what = f"{best.system} with {best.augmentation}" if best.augmentation != BASELINE else best.system
    phrases = found_by_slice(now, gains) or [
        f"{WORDS[name]}: {now[name]:.0f} of 100 found" for name in ASKED_FIRST if name in now
    ]
    against = f", against {table.baseline}" if gains else ""
    return joined(f"{table.dataset}: the first ten labels of {what}{against}", phrases)


def _rare_found(entry: Entry) -> float:
    by_slice = entry.mean
    return by_slice.get(ASKED_FIRST[0], by_slice[ALL])[METRIC]
