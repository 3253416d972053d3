"""What TailMix would do to some rows under a trained model: the paper's figure 1 (b) for one's own data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailwright.augmentation.shared.label_mixing import LabelMixing
from tailwright.augmentation.tailmix import TailMix, TailMixSettings
from tailwright.data.batch_targets import TargetRows
from tailwright.data.corpus import Corpus
from tailwright.errors import InputError
from tailwright.models.shared.token_model import TokenModel
from tailwright.runs.evaluation import refuse_other_labels
from tailwright.runs.run import Run
from tailwright.settings import settings_from
from tailwright.streams import stream

METHOD = "tailmix"


@dataclass(frozen=True)
class MixedLabel:
    """A label of a row, the label that it is mixed with, and what both learn."""

    row: int
    text: str
    target: str
    training_rows: int
    neighbours: tuple[tuple[str, float], ...]  # the nearest, with the distances of their contexts
    partner: str
    target_value: float
    partner_value: float
    partner_is_gold: bool


def explain_mix(
    run: Run, corpus: Corpus, *, rows: int = 5, nearest: int = 5, seed: int = 0
) -> list[MixedLabel]:
    """The rarest mixed label of each of some training rows, drawn by the seed among those with rare labels.

    The settings of TailMix are those that the run was trained with, or the defaults.
    """
    refuse_other_labels(corpus, run)
    applied = next((each.settings for each in run.augmentations if each.name == METHOD), {})
    method = TailMix(settings_from(TailMixSettings, applied))
    train = corpus.train.originals()
    chosen = _rare_rows(corpus, rows, seed)
    data = train.take(chosen)
    contexts = run.model.contexts(data.texts) if isinstance(run.model, TokenModel) else None
    if contexts is None:
        name = run.model.card.name
        raise InputError(f"{name} has no context vectors", expected="a run of attentionxml or la-roberta")
    mixup = method.prepare(corpus, points=("pairs",), seed=seed)
    passes = mixup(TargetRows(data)(np.arange(len(data))), epoch=0, random=stream(seed, "explain-mix"))
    mixing = next(one for one in passes if isinstance(one, LabelMixing))
    lists, distances = mixing.compared(contexts)
    partners = mixing.partners(contexts)
    names = corpus.labels.names.to_pylist()
    shown = []
    for row in range(len(data)):
        places = np.flatnonzero(partners[row] >= 0)
        if not len(places):
            continue
        rarest = places[np.argmin(corpus.labels.counts[mixing.drawn.labels[row, places]])]
        label, partner = int(mixing.drawn.labels[row, rarest]), int(partners[row, rarest])
        order = np.argsort(distances[row, rarest], kind="stable")[:nearest]
        share, value = mixing.shares[row, rarest], mixing.drawn.values[row, rarest]
        shown.append(
            MixedLabel(
                int(train.origin.rows[chosen[row]]),
                data.texts[row].as_py(),
                names[label],
                int(corpus.labels.counts[label]),
                tuple(
                    (names[lists[row, place]], float(distances[row, rarest, place]))
                    for place in order
                    if np.isfinite(distances[row, rarest, place])
                ),
                names[partner],
                float(share * value),
                float((1 - share) * value),
                bool(data.targets[[row]].toarray()[0, partner] > 0),
            )
        )
    return shown


def _rare_rows(corpus: Corpus, rows: int, seed: int) -> np.ndarray:
    """Original training rows with at least two labels, drawn among the quarter with the rarest labels."""
    targets = corpus.train.originals().targets
    filled = np.flatnonzero(np.diff(targets.indptr))
    rarest = np.minimum.reduceat(corpus.labels.counts[targets.indices], targets.indptr[filled])
    able = np.diff(targets.indptr)[filled] >= 2
    if not able.any():
        raise InputError("no training row has two labels", expected="rows with labels that occur together")
    by_rarity = filled[able][np.argsort(rarest[able], kind="stable")]
    rare = by_rarity[: max(len(by_rarity) // 4, rows)]
    return np.sort(stream(seed, "explain-mix/rows").permutation(rare)[:rows])
