"""`explain`: why a run gives a text its labels, or another label that is asked for.

Of each label: its place and probability, the words that spoke for and against it, what each part of a fusion
said of it, and the training rows with it that are nearest to the text. docs/explaining.md says what the
numbers mean for which model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwright.errors import InputError
from tailwright.evaluation.ranking import TopK
from tailwright.labels.lookup import LabelLookup
from tailwright.models.shared.reasons import PartOpinion, Reasons, WordShare
from tailwright.runs.explained_html import fragment
from tailwright.runs.explained_text import plain_text
from tailwright.runs.nearest_rows import NearRow, RowSearch, training_rows
from tailwright.runs.occlusion import occluded
from tailwright.runs.tail import Tail, check_dial, depth_for, reordered, tail_value, tail_weights

if TYPE_CHECKING:
    from tailwright.runs.run import Run

SEEN = 1000  # labels of a ranking that an asked label is looked for in


@dataclass(frozen=True)
class ExplainedLabel:
    """A label, where it stands for the text, and why.

    `rank` counts from 1; it is None for a label that is not among the first `SEEN`, or that the model does
    not name. `probability` is None without a rank, and for a model that gives no probabilities.
    """

    id: str
    name: str
    text: str
    training_rows: int
    rank: int | None
    score: float | None
    probability: float | None
    reasons: Reasons
    rows: tuple[NearRow, ...] = ()


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why the labels were given: a label after the other, and remarks; it prints as readable text."""

    text: str
    model: str
    tail: float
    labels: tuple[ExplainedLabel, ...]
    nearest_by: str = ""  # what rows are near by; empty if none are shown
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return plain_text(self)

    def _repr_html_(self) -> str:
        """For notebooks: a part of a page, with the words marked; every text in it is escaped."""
        return fragment(self)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def explain(
    run: Run,
    text: str,
    labels: str | Sequence[str] | None = None,
    k: int = 3,
    tail: Tail = 0.0,
    rows: int = 3,
) -> Explanation:
    """Why the run gives the text its k best labels; or, for `labels` by id or name, where they stand and why.

    `rows` nearest training rows of each label are shown if the data that the run was trained on are still
    there; with 0 they are not read. `tail` is that of `Run.top`.
    """
    for name, value, least in (("k", k, 1), ("rows", rows, 0)):
        if value < least:
            raise InputError(f"{name} = {value}", expected=f"at least {least}")
    asked = [labels] if isinstance(labels, str) else labels or []
    lookup = LabelLookup(run.labels)
    chosen = list(dict.fromkeys(lookup.column_of(label) for label in asked))
    dial = tail_value(run, tail)
    ranking = _ranking(run, text, k, dial)
    if not asked:
        chosen = [label for label in ranking.ids[0, :k].tolist() if label >= 0]
    reasons = _reasons(run, text, chosen)
    explained = [_placed(run, ranking, label, why) for label, why in zip(chosen, reasons, strict=True)]
    notes = [] if explained else ["nothing fits"]
    if explained and run.gives_probabilities and not run.is_calibrated:
        notes.append("no rows were held out in training, so the probabilities are not calibrated")
    nearest_by = ""
    if rows and explained:
        try:
            near = RowSearch(run, training_rows(run)).nearest(text, chosen, rows)
        except InputError as error:
            notes.append(f"no training rows are shown: {error}")
        else:
            explained = [replace(one, rows=own) for one, own in zip(explained, near.rows, strict=True)]
            nearest_by = near.by
    return Explanation(text, run.name, dial, tuple(explained), nearest_by, tuple(notes))


def _ranking(run: Run, text: str, k: int, tail: float) -> TopK:
    """The first labels of the text, (1, at least k), in the order that `Run.top` gives k labels."""
    labels = len(run.labels)
    first = depth_for(min(k, labels), labels)
    top = run.top([text], max(first, min(SEEN, labels)))
    if not tail:
        return top
    check_dial(run)
    head, rest = (TopK(top.ids[:, part], top.scores[:, part]) for part in (np.s_[:first], np.s_[first:]))
    weights = tail_weights(run.labels.counts, run.train_rows)
    head = reordered(head, run.probabilities(head), weights, tail, first)
    return TopK(np.hstack([head.ids, rest.ids]), np.hstack([head.scores, rest.scores]))


def _reasons(run: Run, text: str, labels: Sequence[int]) -> list[Reasons]:
    """The model's own, with words by occlusion where it cannot say."""
    if not labels:
        return []
    own = run.model.explain(text, labels) or [Reasons()] * len(labels)
    if own[0].words is not None:
        return own
    return [
        replace(
            why,
            measure=found.measure,
            words=_known(found.words or (), why.parts),
            notes=(*why.notes, *found.notes),
        )
        for why, found in zip(own, occluded(run, text, labels), strict=True)
    ]


def _known(words: Sequence[WordShare], parts: Sequence[PartOpinion]) -> tuple[WordShare, ...]:
    """The words, of which those that no part of a fusion knows are unknown."""
    told = [part.reasons.words for part in parts if part.reasons.words is not None]
    known = {share.word for shares in told for share in shares if share.known_by != "nothing"}
    if len(told) < len(parts) or not parts:
        return tuple(words)
    return tuple(share if share.word in known else replace(share, known_by="nothing") for share in words)


def _placed(run: Run, ranking: TopK, label: int, reasons: Reasons) -> ExplainedLabel:
    """A label with its place in the ranking."""
    places = np.flatnonzero(ranking.ids[0] == label)
    rank, score, probability = None, None, None
    if len(places):
        place = int(places[0])
        rank, score = place + 1, float(ranking.scores[0, place])
        # What stands behind the candidates of a fusion has a score for its place alone.
        if run.gives_probabilities and not (reasons.parts and reasons.log_odds is None):
            probability = float(run.probabilities(ranking)[0, place])
    known = run.labels
    return ExplainedLabel(
        known.ids[label].as_py(),
        known.names[label].as_py(),
        known.texts[label].as_py(),
        int(known.counts[label]),
        rank,
        score,
        probability,
        reasons,
    )
