"""The table of metrics: every system and augmentation, by dataset, share of rows and label frequency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailwright.evaluation.bootstrap import Difference
from tailwright.evaluation.page import escaped
from tailwright.labels import TailThresholds
from tailwright.study.compare.comparisons import ALL, SLICES, Comparison, Entry
from tailwright.study.report.parts import Section, percent

WORDS = ("dataset", "training rows", "labels", "model", "augmentation")
FILTERS = ("dataset", "rows", "part")  # of the first three, as the page's script calls them
TOLD = ("PSP@5", "P@1")  # the metrics that are put in words, and whose differences have a column
_MARKS = {"better": "▲", "worse": "▼", "=": "="}


@dataclass(frozen=True)
class _Cell:
    """What stands in a cell of the table, what it is sorted by, how it is set, and its hint."""

    html: str
    value: str
    kind: str = ""
    hint: str = ""


def metrics_section(comparisons: Sequence[Comparison]) -> Section:
    """One table of all comparisons, large shares of a dataset first; select boxes choose what is seen."""
    metrics = list(dict.fromkeys(metric for table in comparisons for metric in table.metrics))
    compared = [m for m in TOLD if any(m in e.gain.get(ALL, {}) for t in comparisons for e in t.entries)]
    tables = sorted(comparisons, key=lambda table: (table.dataset, -table.fraction))
    rows = [
        row for table in tables for part in (ALL, *SLICES) for row in _rows(table, part, metrics, compared)
    ]
    header = [*WORDS, "seeds", *metrics, *(f"Δ {metric}" for metric in compared)]
    head = "".join(
        f'<th scope="col"{_class("words" * (column < len(WORDS)))}>'
        f'<button type="button">{escaped(name)}</button></th>'
        for column, name in enumerate(header)
    )
    html = (
        f"<p>{escaped(_about(comparisons[0].baseline if compared else ''))}</p>"
        f"<ul>{''.join(f'<li>{escaped(words)}</li>' for words in map(_highest, tables) if words)}</ul>"
        f'<div data-table="metrics"><div class="controls">{_controls(rows)}</div>'
        '<div class="wide" tabindex="0" role="region" aria-label="Metrics"><table class="sortable">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(map(_line, rows))}</tbody></table></div></div>"
    )
    return Section("metrics", "Metrics", html)


def verdicts(comparisons: Sequence[Comparison]) -> str:
    """How often it was better or worse than what all are held against; empty where none was compared."""
    said = []
    for metric in TOLD:
        gains = [e.gain[ALL][metric] for t in comparisons for e in t.entries if metric in e.gain.get(ALL, {})]
        found = [gain.verdict for gain in gains]
        if found:
            better, worse = found.count("better"), found.count("worse")
            said.append(f"{metric} is better in {better} of {len(found)} comparisons and worse in {worse}")
    if not said:
        return ""
    return f"Against {comparisons[0].baseline}, {', '.join(said)}; the rest is inside the noise."


def _highest(table: Comparison) -> str:
    """Which entry is highest in the metrics that are put in words, and whether that may be chance."""
    said = []
    for metric in TOLD:
        if metric not in table.best:
            continue
        best = table.best[metric]
        entry = table.entries[best.place]
        words = (
            f"{entry.system} / {entry.augmentation} is highest in {metric} with {entry.mean[ALL][metric]:.2f}"
        )
        if best.level_with:
            words += f", inside the noise of {len(best.level_with)} of {len(table.entries) - 1} others"
        said.append(words)
    return f"{table.dataset}, {percent(table.fraction)} of the rows: {'; '.join(said)}." if said else ""


def _about(baseline: str) -> str:
    cuts = TailThresholds()
    said = (
        "In percent on the test rows, means over seeds ± their standard deviation. A click on a column's "
        f"name sorts by it. Head labels have more than {cuts.head} training rows, tail labels at most "
        f"{cuts.tail}, torso labels lie between, unseen ones have none. The best of a dataset and share "
        "is bold; where it cannot be told apart from others, none is, and all of these are marked =."
    )
    if not baseline:
        return said
    return said + (
        f" Δ is the difference to {baseline}: ▲ better, ▼ worse, = inside the noise, by a "
        "paired bootstrap over test rows and seeds with Holm's correction inside a table; point at a figure "
        "for its interval."
    )


def _rows(
    table: Comparison, part: str, metrics: Sequence[str], compared: Sequence[str]
) -> list[tuple[_Cell, ...]]:
    rows = []
    for place, entry in enumerate(table.entries):
        if part not in entry.mean:
            continue
        share, seeds = percent(table.fraction), str(len(entry.outcomes))
        labels = "all labels" if part == ALL else part
        rows.append(
            (
                _word(table.dataset),
                _Cell(escaped(share), f"{table.fraction:g}", "words"),
                _word(labels),
                _word(entry.system),
                _word(entry.augmentation),
                _Cell(seeds, seeds),
                *(_mean(table, place, part, metric) for metric in metrics),
                *(_delta(entry.gain.get(part, {}).get(metric)) for metric in compared),
            )
        )
    return rows


def _word(text: str) -> _Cell:
    return _Cell(escaped(text), text, "words")


def _mean(table: Comparison, place: int, part: str, metric: str) -> _Cell:
    entry: Entry = table.entries[place]
    mean = entry.mean[part].get(metric)
    if mean is None:
        return _Cell("–", "")
    spread = entry.spread[part][metric]
    html = f"{mean:.2f}" + (f' <span class="spread">± {spread:.2f}</span>' if spread is not None else "")
    kind = ""
    if part == ALL and len(table.entries) > 1:
        best = table.best[metric]
        if best.is_clear:
            kind = "best" * (place == best.place)
        elif place in {best.place, *best.level_with}:
            html += ' <span class="level" title="cannot be told apart from the best">=</span>'
    gain = entry.gain.get(part, {}).get(metric)
    return _Cell(html, f"{mean:.6f}", kind, "" if gain is None else f"{gain.mean:+.2f}, {_interval(gain)}")


def _delta(gain: Difference | None) -> _Cell:
    """A difference with its verdict as a sign, so that it can be read without its colour."""
    if gain is None:
        return _Cell("", "")
    kind = "even" if gain.verdict == "=" else gain.verdict
    html = f'<span class="{kind}">{gain.mean:+.2f} {_MARKS[gain.verdict]}</span>'
    return _Cell(html, f"{gain.mean:.6f}", hint=_interval(gain))


def _interval(gain: Difference) -> str:
    return f"95 % interval {gain.low:+.2f} to {gain.high:+.2f}, {gain.rows:,} rows, adjusted p {gain.p:.2g}"


def _line(row: Sequence[_Cell]) -> str:
    marks = "".join(f' data-{name}="{cell.html}"' for name, cell in zip(FILTERS, row, strict=False))
    # Without a script the table shows what holds for all labels.
    hidden = "" if row[2].value == "all labels" else " hidden"
    return f"<tr{marks}{hidden}>{''.join(map(_data, row))}</tr>"


def _data(cell: _Cell) -> str:
    hint = f' title="{escaped(cell.hint)}"' if cell.hint else ""
    return f'<td{_class(cell.kind)} data-value="{escaped(cell.value)}"{hint}>{cell.html}</td>'


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _controls(rows: Sequence[Sequence[_Cell]]) -> str:
    """A select box for each of the first columns that has more than one value."""
    boxes = []
    for column, name in enumerate(FILTERS):
        values = list(dict.fromkeys(row[column].html for row in rows))
        options = "".join(f'<option value="{value}">{value}</option>' for value in values)
        # Metrics of slices beside those of all labels would only confuse.
        options += '<option value="">all</option>' if name != "part" else ""
        hidden = " hidden" if len(values) < 2 else ""
        boxes.append(
            f'<label{hidden}>{WORDS[column]} <select data-filter="{name}">{options}</select></label>'
        )
    return "".join(boxes)
