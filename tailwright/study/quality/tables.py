"""The figures as cells of text, the same on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Sequence

from tailwright.study.quality.drift import Drift
from tailwright.study.quality.figures import MethodQuality
from tailwright.study.quality.texts import TextFigures

Rows = list[list[str]]
NOTHING = "-"


def text_rows(quality: MethodQuality) -> Rows:
    """(figure, value of the sources, value of the new rows)."""
    new = _shown(quality.new)
    sources = {} if quality.sources is None else _shown(quality.sources)
    return [[name, sources.get(name, NOTHING), value] for name, value in new.items()]


def _shown(side: TextFigures) -> dict[str, str]:
    return {
        "texts": f"{side.texts:,}",
        "words, mean": f"{side.words.mean:.1f}",
        "words, 10 %": f"{side.words.p10:.0f}",
        "words, median": f"{side.words.p50:.0f}",
        "words, 90 %": f"{side.words.p90:.0f}",
        **{f"distinct-{n}, %": f"{share:.2f}" for n, share in side.distinct.items()},
        "self-BLEU": NOTHING if side.self_bleu is None else f"{side.self_bleu:.2f}",
        **{f"repeated {n}-grams, %": f"{share:.2f}" for n, share in side.repeated.items()},
        "looping texts, %": f"{side.looping:.2f}",
    }


def pair_rows(quality: MethodQuality) -> Rows:
    """(figure, value): new rows against their sources, and against all training rows."""
    rows: Rows = []
    if quality.pairs is not None:
        pairs, near = quality.pairs, quality.pairs.similarity
        rows = [
            *([f"{n}-grams copied from the source, %", f"{share:.2f}"] for n, share in pairs.copied.items()),
            ["BLEU against the source", f"{pairs.bleu:.2f}"],
            ["similarity to the source, mean", f"{near.mean:.3f}"],
            ["similarity, 10 %", f"{near.p10:.3f}"],
            ["similarity, median", f"{near.p50:.3f}"],
            ["similarity, 90 %", f"{near.p90:.3f}"],
            ["same words as the source, %", f"{pairs.same_words:.2f}"],
        ]
    return [
        *rows,
        ["text of an original training row, %", f"{quality.equal_to_training:.2f}"],
        ["text of an earlier new row, %", f"{quality.equal_to_new:.2f}"],
    ]


def drift_header(drift: Drift) -> list[str]:
    return ["labels, in percent", *_figures(drift), "rows"]


def drift_rows(drift: Drift) -> Rows:
    """A row for the sources and one for the new rows, for each slice of the labels."""
    return [
        [
            f"{part}: {name}",
            *(f"{side[part][figure]:.2f}" for figure in _figures(drift)),
            f"{side[part]['rows']:,.0f}",
        ]
        for part in drift.sources
        for name, side in (("sources", drift.sources), ("new rows", drift.new))
    ]


def headline(quality: MethodQuality) -> str:
    """How many rows a method made, in a sentence or two."""
    sources = "" if quality.sources is None else f", made of {quality.sources.texts:,} sources"
    share = f"{quality.share:.1f} % of the training rows"
    sentence = f"{quality.method}: {quality.rows:,} new rows, {share}{sources}."
    if quality.without_source:
        sentence += f" {quality.without_source:,} of them have no source among the training rows "
        sentence += "and are left out of all comparisons with sources."
    return sentence


def drift_words(drift: Drift) -> list[str]:
    """What to know when reading the drift, one sentence each."""
    sentences = [
        f"A model's predictions for {drift.pairs:,} new rows and their sources, against the source's labels.",
        f"Of the first n labels that it gives a source, the new row has {drift.same:.1f} % among its own.",
    ]
    if drift.seen_sources:
        sentences.append("The model was trained on these sources, which flatters the sources.")
    if drift.seen_new:
        sentences.append("It was trained on new rows of this method too, which flatters the new rows.")
    return sentences


def _figures(drift: Drift) -> Sequence[str]:
    return [name for name in next(iter(drift.sources.values())) if name != "rows"]
