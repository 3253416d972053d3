"""Words by what a label loses without them: for models that cannot split their scores by words.

Each word is left out of the text in turn, all its occurrences at once, and the model is asked again. What
the label loses is no share of its score: of two words that say the same, neither may be missed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tailwright.data.text.words import split_words, word_segments
from tailwright.evaluation.ranking import TopK
from tailwright.models.shared.reasons import Reasons, WordShare
from tailwright.runs.probability import NEAR, logit
from tailwright.runs.tail import Ranks

MOST_WORDS = 100  # distinct words that are left out, the first of the text
DEPTH = 100  # labels that the model is asked for each time


def occluded(run: Ranks, text: str, labels: Sequence[int]) -> list[Reasons]:
    """What each of `labels` loses without each word of the text, in log-odds if the run gives probabilities.

    A label that is not among the first `DEPTH` counts as the last of them; one that is not in a shorter list
    counts as impossible.
    """
    distinct = list(dict.fromkeys(split_words(text)))
    words = distinct[:MOST_WORDS]
    top = run.top([text, *(without(text, word) for word in words)], min(DEPTH, max(len(run.labels), 1)))
    values = _values(run, top)
    what = "log-odds" if run.gives_probabilities else "score"
    notes: tuple[str, ...] = ()
    if len(distinct) > len(words):
        notes = (f"only the first {MOST_WORDS} of {len(distinct):,} words were left out in turn",)
    reasons = []
    for label in labels:
        of_label = _of_label(top, values, label, float(logit(NEAR)) if run.gives_probabilities else 0.0)
        lost = of_label[0] - of_label[1:]  # (words,)
        shares = tuple(WordShare(word, value) for word, value in zip(words, lost.tolist(), strict=True))
        reasons.append(Reasons(f"{what} that the label loses without the word", shares, notes=notes))
    return reasons


def without(text: str, word: str) -> str:
    """The text without any occurrence of a word; what stands between words stays.

    >>> without("Red hat, RED shoe", "red")
    ' hat,  shoe'
    """
    return "".join(segment for segment, words in word_segments(text) if word not in words)


def _values(run: Ranks, top: TopK) -> np.ndarray:
    """(texts, k) float64: what is compared."""
    if not run.gives_probabilities:
        return top.scores.astype(np.float64)
    return logit(np.clip(run.probabilities(top), NEAR, 1 - NEAR))


def _of_label(top: TopK, values: np.ndarray, label: int, impossible: float) -> np.ndarray:
    """(texts,) float64: the value of a label for each text."""
    is_label = top.ids == label
    beyond = np.where(top.ids[:, -1] >= 0, values[:, -1], impossible)
    return np.where(is_label.any(axis=1), values[np.arange(len(top)), is_label.argmax(axis=1)], beyond)
