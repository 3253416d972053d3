"""The table of metrics: every system and augmentation, by dataset, share of rows and label frequency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailwright.evaluation.bootstrap import EQUAL, ONE_SEED, TOO_FEW_SEEDS, Difference
from tailwright.labels import TailThresholds
from tailwright.study.compare.comparisons import ALL, SLICES, Comparison
from tailwright.study.page.html import render
from tailwright.study.report.sections import Section, percent

WORDS = ("dataset", "training rows", "labels", "model", "augmentation")
FILTERS = ("dataset", "rows", "slice")  # of the first three, as the page's script calls them
HEADLINE = ("PSP@5", "P@1")  # the metrics that are put in words, and whose differences have a column
_MARKS = {"better": "▲", "worse": "▼", EQUAL: "=", TOO_FEW_SEEDS: "?"}
_HINTS = {"=": "cannot be told apart from the best", "?": "not enough seeds to tell it from the best"}


@dataclass(frozen=True)
class TableCell:
    """A cell of the table: its text, what it is sorted by, its CSS class, and what is seen on pointing at it.

    `spread` is the standard deviation; `mark` is that of a cell which cannot be told apart from the best, and
    `why` says why not.
    """

    text: str
    value: str
    kind: str = ""
    hint: str = ""
    spread: float | None = None
    mark: str = ""
    why: str = ""


def metrics_section(comparisons: Sequence[Comparison]) -> Section:
    """One table of all comparisons, large shares of a dataset first; select boxes choose what is seen."""
    metrics = list(dict.fromkeys(metric for table in comparisons for metric in table.metrics))
    compared = [m for m in HEADLINE if any(m in e.gain.get(ALL, {}) for t in comparisons for e in t.entries)]
    tables = sorted(comparisons, key=lambda table: (table.dataset, -table.fraction))
    rows = [
        row
        for table in tables
        for labels in (ALL, *SLICES)
        for row in _rows(table, labels, metrics, compared)
    ]
    html = render(
        __package__,
        "metrics.html.j2",
        thresholds=TailThresholds(),
        baseline=comparisons[0].baseline if compared else "",
        one_seed=ONE_SEED if any(len(e.outcomes) == 1 for t in comparisons for e in t.entries) else "",
        highest=[sentence for sentence in map(_highest, tables) if sentence],
        filters=[
            (name, words, list(dict.fromkeys(row[column].text for row in rows)))
            for column, (name, words) in enumerate(zip(FILTERS, WORDS, strict=False))
        ],
        words=WORDS,
        figures=["seeds", *metrics, *(f"Δ {metric}" for metric in compared)],
        rows=rows,
    )
    return Section("metrics", "Metrics", html)


def verdicts(comparisons: Sequence[Comparison]) -> str:
    """How often augmentation was better or worse than the baseline; empty where nothing was compared."""
    counts = []
    for metric in HEADLINE:
        gains = [e.gain[ALL][metric] for t in comparisons for e in t.entries if metric in e.gain.get(ALL, {})]
        better, worse, untold = (
            sum(gain.verdict == name for gain in gains) for name in ("better", "worse", TOO_FEW_SEEDS)
        )
        if gains:
            too_few = f", with too few seeds to tell in {untold}" if untold else ""
            said = f"{metric} is better in {better} of {len(gains)} comparisons and worse in {worse}{too_few}"
            counts.append(said)
    if not counts:
        return ""
    return f"Against {comparisons[0].baseline}, {'; '.join(counts)}; the rest is inside the noise."


def _highest(table: Comparison) -> str:
    """Which entry is highest in the metrics that are put in words, and whether that may be noise."""
    clauses = []
    for metric in HEADLINE:
        if metric not in table.best:
            continue
        best = table.best[metric]
        entry = table.entries[best.place]
        mean = entry.mean[ALL][metric]
        clause = f"{entry.system} / {entry.augmentation} is highest in {metric} with {mean:.2f}"
        if best.level_with:
            clause += f", inside the noise of {len(best.level_with)} of {len(table.entries) - 1} others"
        if best.untold:
            clause += (
                f", with too few seeds to tell from {len(best.untold)} of {len(table.entries) - 1} others"
            )
        clauses.append(clause)
    return f"{table.dataset}, {percent(table.fraction)} of the rows: {'; '.join(clauses)}." if clauses else ""


def _rows(
    table: Comparison, labels: str, metrics: Sequence[str], compared: Sequence[str]
) -> list[list[TableCell]]:
    """The table's entries on all labels or on a slice of them."""
    return [
        [
            _word(table.dataset),
            TableCell(percent(table.fraction), f"{table.fraction:g}", "words"),
            _word("all labels" if labels == ALL else labels),
            _word(entry.system),
            _word(entry.augmentation),
            TableCell(f"{len(entry.outcomes)}", f"{len(entry.outcomes)}"),
            *(_mean(table, place, labels, metric) for metric in metrics),
            *(_delta(entry.gain.get(labels, {}).get(metric)) for metric in compared),
        ]
        for place, entry in enumerate(table.entries)
        if labels in entry.mean
    ]


def _word(text: str) -> TableCell:
    return TableCell(text, text, "words")


def _mean(table: Comparison, place: int, labels: str, metric: str) -> TableCell:
    entry = table.entries[place]
    mean = entry.mean[labels].get(metric)
    if mean is None:
        return TableCell("–", "")
    gain = entry.gain.get(labels, {}).get(metric)
    best = table.best[metric] if labels == ALL and len(table.entries) > 1 else None
    mark = best.mark(place) if best else ""
    return TableCell(
        f"{mean:.2f}",
        f"{mean:.6f}",
        kind="best" if best and best.is_clear and place == best.place else "",
        hint="" if gain is None else f"{gain.mean:+.2f}, {_interval(gain)}",
        spread=entry.spread[labels][metric],
        mark=mark,
        why=_HINTS.get(mark, ""),
    )


def _delta(gain: Difference | None) -> TableCell:
    """A difference with its verdict as a sign, so that it can be read without its colour."""
    if gain is None:
        return TableCell("", "")
    kind = gain.verdict if gain.verdict in ("better", "worse") else ""
    return TableCell(f"{gain.mean:+.2f} {_MARKS[gain.verdict]}", f"{gain.mean:.6f}", kind, _interval(gain))


def _interval(gain: Difference) -> str:
    return f"95 % interval {gain.interval}, {gain.rows:,} rows, adjusted p {gain.p:.2g}"
