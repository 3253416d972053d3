"""What each part of a fusion said of a label, and what the combination made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tailwright.evaluation.ranking import TopK
from tailwright.kernels.candidates import FEATURES_A_PART
from tailwright.models.fusion.combination import NO_DEVIATION, Combination, candidates_of
from tailwright.models.fusion.mentions import MentionsOf
from tailwright.models.shared.reasons import PartOpinion, Reasons

# The deviation of a part that misses 1 in 400 candidates of the held-out rows. With fewer, what the
# combination would make of its silence was never learnt.
RARELY = 0.05


@dataclass(frozen=True, eq=False)
class PartSays:
    """A part's name, the kind of its scores, its ranking of one text, and its own reasons for each label."""

    name: str
    kind: str
    top: TopK  # (1, candidates)
    reasons: Sequence[Reasons]


def fused_reasons(
    parts: Sequence[PartSays],
    place: int,
    label: int,
    combination: Combination,
    counts: np.ndarray,
    mentions_of: MentionsOf,
) -> Reasons:
    """Of one label, which is at `place` among the parts' reasons."""
    tops, log_odds = [part.top for part in parts], [part.kind == "log-odds" for part in parts]

    def fused(tops: Sequence[TopK]) -> tuple[float | None, np.ndarray]:
        """The log-odds of the label and its features; None and nothing if no part names it."""
        candidates = candidates_of(tops, log_odds, counts, mentions_of)
        features = candidates.features[candidates.labels == label]
        return (float(combination.log_odds(features)[0]) if len(features) else None), features

    together, features = fused(tops)
    opinions = []
    for number, part in enumerate(parts):
        named = part.top.ids[0] == label
        rank, score, share, adds = None, None, None, None
        if named.any() and together is not None:
            rank, score = int(named.argmax()) + 1, float(part.top.scores[0, named][0])
            share = float(np.exp(features[0, FEATURES_A_PART * number + 1]))
            alone, _ = fused([*tops[:number], _without(part.top, label), *tops[number + 1 :]])
            varies = RARELY < combination.deviation[FEATURES_A_PART * number + 2] < NO_DEVIATION
            if alone is not None and varies:
                adds = together - alone
        opinions.append(PartOpinion(part.name, rank, score, part.kind, share, adds, part.reasons[place]))
    times = round(float(np.expm1(mentions_of(np.zeros(1, np.int64), np.array([label], np.int32))[0, 1])))
    notes = [_agreement(opinions)]
    if times:
        notes.append(f"the label's own text stands in the text, {'once' if times == 1 else f'{times} times'}")
    return Reasons(parts=tuple(opinions), log_odds=together, notes=tuple(notes))


def _without(top: TopK, label: int) -> TopK:
    """The same ranking with the label's place left empty."""
    named = top.ids == label
    return TopK(np.where(named, -1, top.ids), np.where(named, -np.inf, top.scores))


def _agreement(opinions: Sequence[PartOpinion]) -> str:
    """Whether the parts agree on the label, in words."""
    naming = [opinion.name for opinion in opinions if opinion.rank is not None]
    if not naming:
        return "no part names the label, so it is no candidate"
    if len(naming) < len(opinions):
        return f"only {' and '.join(naming)} {'names' if len(naming) == 1 else 'name'} the label"
    ranks = {opinion.rank for opinion in opinions}
    same = f", all in place {ranks.pop()}" if len(ranks) == 1 else ""
    return f"the parts agree: {' and '.join(naming)} name the label{same}"
