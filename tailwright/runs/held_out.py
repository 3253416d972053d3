"""What rows that a model has not learnt from say of it: its calibration, and the tail that they recommend.

A model that keeps rows for its own probabilities has them already (`Model.held_out`). Of another, validation
rows tell. Without either a run says nothing about both. Test rows are never looked at.
"""

from __future__ import annotations

import numpy as np

from tailwright.data.corpus import Corpus
from tailwright.models import HeldOut, Model
from tailwright.runs.facts import TailAdvice
from tailwright.runs.probability import Calibration, calibrated, probabilities_of
from tailwright.runs.tail import depth_for, tail_weights
from tailwright.runs.trade import trade_of
from tailwright.streams import stream
from tailwright.training.workplace import Workplace

FEWEST = 50  # of fewer rows both would be noise
MOST = 2000  # validation rows that are ranked


def held_out_rows(model: Model, corpus: Corpus, work: Workplace | None = None) -> HeldOut | None:
    """The rows that the model kept, or else validation rows, with its ranking; None if there are too few."""
    return model.held_out or _validation(model, corpus, work or Workplace())


def learnt_from_held_out(
    model: Model, held_out: HeldOut | None
) -> tuple[Calibration | None, TailAdvice | None]:
    """The calibration of a fitted model and its tail; None without rows or without probabilities."""
    if held_out is None or model.card.scores == "rank":
        return None, None
    kind, top, rows = model.card.scores, held_out.top, held_out.rows
    calibration = Calibration() if model.held_out is not None else calibrated(top, kind, rows)
    if held_out.learnt_rows < 3:
        return calibration, None
    weights = tail_weights(held_out.counts, held_out.learnt_rows)
    return calibration, trade_of(top, probabilities_of(top, kind, calibration), rows, weights).advice


def _validation(model: Model, corpus: Corpus, work: Workplace) -> HeldOut | None:
    """Some of the validation rows and how the model ranks them; None if there are too few."""
    if corpus.valid is None:
        return None
    rows = corpus.valid.weighed()
    if len(rows) < FEWEST:
        return None
    drawn = np.sort(stream(0, "held-out rows").permutation(len(rows))[:MOST])
    rows = rows.take(drawn)
    width = depth_for(5, len(corpus.labels)) + int(np.diff(rows.excluded.indptr).max(initial=0))
    with work.phase("held-out rows", rows=len(rows)):
        top = model.predict_besides(rows.texts, min(width, len(corpus.labels)), rows.excluded)
    return HeldOut(rows, top, corpus.labels.counts, len(corpus.train.originals()))
