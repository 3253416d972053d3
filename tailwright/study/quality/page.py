"""The quality of new rows as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from tailwright import __version__
from tailwright.evaluation.page import commands, escaped, figure, page, paragraph, section, table
from tailwright.evaluation.svg import bars
from tailwright.study.quality.drift import KS, Drift
from tailwright.study.quality.examples import Example, Guess
from tailwright.study.quality.figures import MethodQuality, Quality
from tailwright.study.quality.tables import (
    drift_header,
    drift_rows,
    drift_words,
    headline,
    pair_rows,
    text_rows,
)

LONGEST = 400  # words of an example that are shown
# Colours of the house: new rows are those of the augmented bars, sources those of the plain ones.
SOURCES_COLOUR = 2
_STYLE = """<style>
ins { text-decoration: none; font-weight: 600; background: var(--band-0); border-radius: .2rem }
del { text-decoration: line-through; background: var(--band-2); border-radius: .2rem }
.example h3 { margin-top: .8rem }
.example p { margin: .3rem 0 }
.kind { color: var(--soft); font-size: .9rem }
@media (max-width: 30rem) { th, td { padding-right: .5rem } .wide table { font-size: .85rem } }
</style>
"""
_ABOUT = (
    "Distinct-n is the share of n-grams that differ; it falls as a corpus grows, so both sides have equally "
    "many n-grams, of one new row for each source. Self-BLEU is the mean BLEU of a text against the others "
    "of its side, in samples of at most 500: high means that texts repeat each other. A repeated n-gram "
    "stood in the same text before; a looping text is one half of whose 3-grams or more did."
)
_ABOUT_DRIFT = (
    "P@n counts the labels of a source among the first n that the model gives, n being how many labels the "
    "source has; all@n are the rows in which these are just the source's. By label frequency only labels of "
    "that slice count: head has more than 50 training rows, torso 6 to 50, tail 1 to 5."
)


def quality_page(quality: Quality, name: str, command: str) -> str:
    """The whole document; `name` is what the corpus is called, `command` makes the page again."""
    return page(
        f"Quality of new rows: {name}",
        [
            paragraph(
                f"{quality.original_rows:,} original training rows and "
                f"{quality.training_rows - quality.original_rows:,} that augmentations made."
            ),
            *(part for method in quality.methods for part in _of_method(method)),
            section("How it was made", commands([command])),
        ],
        footer=f"Made by tailwright {__version__}. Shares are in percent; words are lower-cased, without "
        "punctuation.",
        head=_STYLE,
    )


def _of_method(quality: MethodQuality) -> list[str]:
    name = quality.method
    parts = [section(f"{name}: texts", paragraph(headline(quality)), *_texts(quality))]
    if quality.drift is not None:
        parts.append(section(f"{name}: label drift", *_drift(quality.drift, name)))
    if quality.examples:
        parts.append(section(f"{name}: examples", *_examples(quality.examples)))
    return parts


def _texts(quality: MethodQuality) -> list[str]:
    parts = []
    if quality.sources is not None and quality.pairs is not None:
        orders = [n for n in quality.new.distinct if n in quality.sources.distinct]
        parts.append(
            figure(
                bars(
                    [f"distinct-{n}" for n in orders],
                    {
                        "sources": [quality.sources.distinct[n] for n in orders],
                        "new rows": [quality.new.distinct[n] for n in orders],
                    },
                    title=f"Distinct n-grams of {quality.method}",
                    description="Higher bars stand for more varied texts.",
                    x_label="n-grams of 1, 2 and 3 words",
                    y_label="percent",
                    first_colour=SOURCES_COLOUR,
                ),
                "How varied new rows are beside their sources",
            )
        )
        copied = quality.pairs.copied
        parts.append(
            figure(
                bars(
                    [f"{n} word{'s' if n > 1 else ''}" for n in copied],
                    {"copied": list(copied.values())},
                    title=f"N-grams that new rows of {quality.method} share with their source",
                    description="Bars at 100 stand for copies.",
                    x_label="length of the n-gram",
                    y_label="percent",
                    first_colour=SOURCES_COLOUR + 1,
                ),
                "How much of a new row is copied from its source",
            )
        )
    return [
        *parts,
        table(["", "sources", "new rows"], text_rows(quality), "Texts of both sides"),
        paragraph(_ABOUT),
        table(["", "new rows"], pair_rows(quality), "New rows against what is there"),
    ]


def _drift(drift: Drift, method: str) -> list[str]:
    figures = [*(f"P@{k}" for k in KS), "P@n"]
    slices = list(drift.sources)
    return [
        paragraph(" ".join(drift_words(drift))),
        figure(
            bars(
                slices,
                {
                    "sources": [drift.sources[part]["P@n"] for part in slices],
                    "new rows": [drift.new[part]["P@n"] for part in slices],
                },
                title=f"P@n of sources and of new rows of {method}",
                description=f"Labels of the source that the model finds; the table has {', '.join(figures)}.",
                x_label="labels by training rows",
                y_label="P@n, percent",
                first_colour=SOURCES_COLOUR,
            ),
            "Labels of the source that the model finds in the source and in the new row",
        ),
        table(drift_header(drift), drift_rows(drift), "By label frequency"),
        paragraph(_ABOUT_DRIFT),
    ]


def _examples(examples: Sequence[Example]) -> list[str]:
    marked = (
        "<p>Words that the new row lacks are <del>struck</del>, words that it has besides are "
        "<ins>shaded</ins>. A label's number is that of its original training rows.</p>"
    )
    return [marked, *map(_example, examples)]


def _example(example: Example) -> str:
    labels = "; ".join(f"{label.name} ({label.rows:,})" for label in example.labels) or "none"
    near = "" if example.similarity is None else f", similarity {example.similarity:.2f}"
    before, after = _compared(example.source, example.new)
    sides = "" if example.source is None else _side("source", before, example.source_guesses)
    sides += _side("new row", after, example.new_guesses)
    return (
        f'<article class="example"><p class="kind">{escaped(example.kind)}{near}</p>'
        f'<p>Labels: {escaped(labels)}</p><div class="sides">{sides}</div></article>'
    )


def _side(heading: str, text: str, guesses: Sequence[Guess]) -> str:
    said = "".join(
        f'<li class="right">{escaped(guess.name)} \N{CHECK MARK} right</li>'
        if guess.right
        else f"<li>{escaped(guess.name)}</li>"
        for guess in guesses
    )
    predicted = f'<p class="kind">the model says</p><ol>{said}</ol>' if said else ""
    return f'<div><h3>{heading}</h3><p dir="auto">{text or "(empty)"}</p>{predicted}</div>'


def _compared(source: str | None, new: str) -> tuple[str, str]:
    """Both texts as HTML, with what differs marked."""
    old_words, new_words = _shown(source or ""), _shown(new)
    if source is None:
        return "", escaped(" ".join(new_words))
    before, after = [], []
    for kind, a, b, c, d in SequenceMatcher(None, old_words, new_words, autojunk=False).get_opcodes():
        old, fresh = escaped(" ".join(old_words[a:b])), escaped(" ".join(new_words[c:d]))
        if old:
            before.append(old if kind == "equal" else f"<del>{old}</del>")
        if fresh:
            after.append(fresh if kind == "equal" else f"<ins>{fresh}</ins>")
    return " ".join(before), " ".join(after)


def _shown(text: str) -> list[str]:
    words = text.split()
    return words if len(words) <= LONGEST else [*words[:LONGEST], "…"]
