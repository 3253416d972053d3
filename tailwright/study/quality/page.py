"""The quality of new rows as one HTML page."""

from __future__ import annotations

from difflib import SequenceMatcher

from tailwright.study.page.html import render
from tailwright.study.page.svg import Plot, bars, histogram
from tailwright.study.quality import tables
from tailwright.study.quality.drift import KS, Drift
from tailwright.study.quality.figures import MethodQuality, Quality
from tailwright.study.quality.filtering import Filtering

LONGEST = 400  # words of an example that are shown
# Sources have the colour of plain rows on other pages, new rows that of augmented ones.
SOURCES_COLOUR = 2
KEPT_COLOUR = 3

Segments = list[tuple[str, bool]]  # words that stand together, and whether the other text lacks them


def quality_page(quality: Quality, name: str, command: str) -> str:
    """The whole document; `name` is what the corpus is called, `command` makes the page again."""
    return render(
        __package__,
        "quality.html.j2",
        title=f"Quality of new rows: {name}",
        quality=quality,
        command=command,
        tables=tables,
        compared=compared,
        distinct_plot=distinct_plot,
        copied_plot=copied_plot,
        drift_plot=drift_plot,
        filter_plot=filter_plot,
    )


def distinct_plot(quality: MethodQuality) -> Plot:
    """How varied new rows are beside their sources."""
    assert quality.sources is not None
    sources, new = quality.sources.distinct, quality.new.distinct
    orders = [n for n in new if n in sources]
    return bars(
        [f"distinct-{n}" for n in orders],
        {"sources": [sources[n] for n in orders], "new rows": [new[n] for n in orders]},
        title=f"Distinct n-grams of {quality.method}",
        description="Higher bars stand for more varied texts.",
        x_label="n-grams of 1, 2 and 3 words",
        y_label="percent",
        first_colour=SOURCES_COLOUR,
    )


def copied_plot(quality: MethodQuality) -> Plot:
    """How much of a new row is copied from its source."""
    assert quality.pairs is not None
    copied = quality.pairs.copied
    return bars(
        [f"{n} word{'s' if n > 1 else ''}" for n in copied],
        {"copied": list(copied.values())},
        title=f"N-grams that new rows of {quality.method} share with their source",
        description="A bar at 100 means that all were copied.",
        x_label="length of the n-gram",
        y_label="percent",
        first_colour=SOURCES_COLOUR + 1,
    )


def drift_plot(drift: Drift, method: str) -> Plot:
    """P@n of sources and of new rows, by label frequency."""
    figures = ", ".join([*(f"P@{k}" for k in KS), "P@n"])
    sides = {"sources": drift.sources, "new rows": drift.new}
    return bars(
        list(drift.sources),
        {name: [side[slice_name]["P@n"] for slice_name in drift.sources] for name, side in sides.items()},
        title=f"P@n of sources and of new rows of {method}",
        description=f"The source's labels that the model finds; the table has {figures}.",
        x_label="labels by training rows",
        y_label="P@n, percent",
        first_colour=SOURCES_COLOUR,
    )


def filter_plot(found: Filtering, name: str) -> Plot:
    """How many rows have which diversity, consistency or score, those that are kept below the others."""
    counts = found.histograms[name]
    return histogram(
        counts.to,
        {"kept": counts.kept, "dropped": counts.dropped},
        title=f"New rows by {name}",
        description=f"Kept and dropped rows in steps of the {name}; the table below has the counts.",
        x_label=name,
        y_label="new rows",
        cut=found.cut if name == "score" else None,
        first_colour=KEPT_COLOUR,
    )


def compared(source: str | None, new: str) -> tuple[Segments, Segments]:
    """Both texts in segments, with those that the other lacks marked; a row without source has no marks.

    >>> compared("red shoes", "blue shoes")
    ([('red', True), ('shoes', False)], [('blue', True), ('shoes', False)])
    """
    old_words, new_words = _first_words(source or ""), _first_words(new)
    before, after = [], []
    matches = SequenceMatcher(None, old_words, new_words, autojunk=False).get_opcodes()
    for kind, old_first, old_end, new_first, new_end in matches:
        changed = source is not None and kind != "equal"
        before.append((" ".join(old_words[old_first:old_end]), changed))
        after.append((" ".join(new_words[new_first:new_end]), changed))
    return [segment for segment in before if segment[0]], [segment for segment in after if segment[0]]


def _first_words(text: str) -> list[str]:
    words = text.split()
    return words if len(words) <= LONGEST else [*words[:LONGEST], "…"]
