"""Why a text got its labels, as JSON: words and where they stand, nearest rows, parts of a fusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tailwright.data.text.words import word_segments
from tailwright.models.shared.reasons import WordShare
from tailwright.runs.explaining import explain
from tailwright.serving.hosted import Hosted

ROWS = 3  # nearest training rows of a label


def whys(hosted: Hosted, text: str, columns: Sequence[int], tail: float) -> list[dict[str, Any]]:
    """The reasons for each of the labels in these columns, as `tailwright explain` knows them."""
    if not columns:
        return []
    run = hosted.run
    labels = [run.labels.ids[column].as_py() for column in columns]
    explained = explain(run, text, labels, tail=tail, rows=0).labels
    search = hosted.background.row_search
    near = [()] * len(labels) if search is None else search.nearest(text, columns, ROWS).rows
    return [
        {
            "words": placed_words(text, label.reasons.words or ()),
            "rows": [{"id": row.id, "text": row.text, "similarity": row.cosine} for row in rows],
            "parts": [{"name": part.name, "score": part.score} for part in label.reasons.parts],
        }
        for label, rows in zip(explained, near, strict=True)
    ]


def placed_words(text: str, words: Sequence[WordShare]) -> list[dict[str, Any]]:
    """Each occurrence of a word, by characters from `start` up to `end`, with the weight of the word.

    >>> placed_words("Red hat", [WordShare("red", 0.5), WordShare("hat", 0.0)])[0]
    {'word': 'red', 'start': 0, 'end': 3, 'weight': 0.5}
    """
    weights = {share.word: share.value for share in words}
    placed, start = [], 0
    for segment, read_as in word_segments(text):
        end = start + len(segment)
        placed += [
            {"word": word, "start": start, "end": end, "weight": weights[word]}
            for word in read_as
            if word in weights
        ]
        start = end
    return placed
