"""The figures as cells of text, the same on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Sequence

from tailwright.study.quality.drift import Drift
from tailwright.study.quality.examples import Example
from tailwright.study.quality.figures import MethodQuality
from tailwright.study.quality.filtering import Filtering, Histogram, ScoredExample
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


def example_words(example: Example) -> str:
    """Why an example is shown, and how near to its source it is."""
    near = "" if example.similarity is None else f", similarity {example.similarity:.2f}"
    return f"{example.kind}{near}"


def filter_words(found: Filtering) -> list[str]:
    """What the filter does to the rows, and what to know when reading its figures, one sentence each."""
    if found.settings.act == "weight":
        sentences = [f"All {found.rows:,} new rows stay, and the score of each multiplies its weight."]
    else:
        sentences = [f"Of {found.rows:,} new rows {found.kept:,} are kept and {found.dropped:,} are dropped."]
    if found.rows < found.scored:
        sentences.append(f"They are scored and cut among all {found.scored:,} new rows.")
    if found.unscored:
        sentences.append(f"{found.unscored:,} new rows of weight 0 are neither scored nor dropped.")
    if found.squeezed:
        sentences.append(
            f"{found.lowest_tenth:.1f} % of all scored rows lie in the lowest tenth of the diversities: "
            "a few huge ones squeeze the others together, so that consistency decides nearly alone. "
            "The scalings rank and percentile are against that."
        )
    return sentences


def filter_rows(found: Filtering) -> Rows:
    """(fact, value): who scores the rows, and how scores become a cut."""
    asked = found.settings
    of_run = f"{found.classifier}, of the run {asked.scorer.run}"
    own = f"{found.classifier}, trained on the original rows"
    return [
        ["classifier", own if asked.scorer.run is None else of_run],
        ["diversity", asked.diversity],
        ["scaling", asked.scaling],
        ["share to keep", NOTHING if found.cut is None else f"{asked.keep:g}"],
        ["lowest score that is kept", NOTHING if found.cut is None else f"{found.cut:.4f}"],
        ["new rows scored", f"{found.rows:,}"],
        ["kept", f"{found.kept:,}"],
        ["dropped", f"{found.dropped:,}"],
    ]


def histogram_header(name: str) -> list[str]:
    return [f"{name} up to", "kept", "dropped"]


def histogram_rows(histogram: Histogram) -> Rows:
    """(end of the step, rows kept, rows dropped)."""
    steps = len(histogram.kept)
    return [
        [f"{histogram.to * (step + 1) / steps:.2f}", f"{kept:,}", f"{dropped:,}"]
        for step, (kept, dropped) in enumerate(zip(histogram.kept, histogram.dropped, strict=True))
    ]


def scored_words(scored: ScoredExample) -> str:
    """What the filter finds of an example, in one line."""
    figures = (
        f"diversity {scored.diversity:.2f}, consistency {scored.consistency:.2f}, score {scored.score:.3f}"
    )
    return (
        f"{'kept' if scored.kept else 'dropped'}, {scored.example.kind}: {figures}; made by {scored.method}"
    )


def _figures(drift: Drift) -> Sequence[str]:
    return [name for name in next(iter(drift.sources.values())) if name != "rows"]
