"""tables.md and tables.tex: what a study found, in the layout that papers use.

One table a dataset and training fraction, models in groups with their baseline first. The best of a column is
bold only if it is better than every other row beyond noise; else it and those level with it are marked "=",
those that more seeds might tell apart "?".
"""

from __future__ import annotations

import itertools
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tailwright.evaluation.bootstrap import ONE_SEED
from tailwright.evaluation.row_parts import DRAWS
from tailwright.store.whole_file import write_whole
from tailwright.study.compare.comparisons import ALL, SLICES, Comparison, Entry, Line, compare_all, in_order
from tailwright.study.compare.fairness import rows_apart
from tailwright.study.compare.sheets import BOLD, PLAIN, UNDERLINED, Sheet, Shown, latex, markdown
from tailwright.study.plan.cells import BASELINE, Cell
from tailwright.study.run.exam import Exam
from tailwright.study.run.outcomes import Outcome

GAINS = ("P@1", "PSP@5")  # what an augmentation is judged by, beside the columns
DASH = Shown("–")
MARKS = (
    "Bold: best of its column, and better than every other row beyond noise; underlined: the second then. "
    "=: within noise of the best of its column; after a difference: within noise of {base}. "
    "? and too few seeds: rows show a difference and all seeds agree on it, yet they are too few to tell for "
    "methods; the interval is then that of the rows only."
)


def compared_for(
    outcomes: Iterable[Outcome],
    exams: Mapping[str, Exam],
    metrics: Sequence[str],
    cells: Sequence[Cell] = (),
    draws: int = DRAWS,
    against: str = "",
) -> list[Comparison]:
    """The outcomes compared in these metrics and in those that augmentations are judged by.

    `exams` are by dataset; entries come in the order of `cells`; for `against` see `Comparison`.
    """
    order = list(dict.fromkeys((cell.system, cell.augmentation) for cell in cells))
    return compare_all(outcomes, exams, list(dict.fromkeys([*metrics, *GAINS])), draws, order, against)


def write_tables(
    compared: Sequence[Comparison],
    folder: Path,
    *,
    metrics: Sequence[str],
    title: str,
    cells: Sequence[Cell] = (),
    failed: Mapping[str, str] | None = None,
    left_out: Sequence[str] = (),
) -> list[Path]:
    """Write tables.md and tables.tex into `folder`; the same comparisons give the same bytes.

    `compared` is what `compared_for` gave for the same metrics and cells. Rows are in the order of `cells`,
    those without an outcome are dashes; `failed` says why by title, `left_out` lists "MODEL x AUGMENTATION:
    reason" as a plan does.
    """
    sheets = []
    for table in compared:
        missing = _missing(table, cells, failed or {}, left_out)
        sheets += [_quality(table, metrics, missing), *_by_slice(table)]
    if compared:
        sheets.append(_cost(compared))
    texts = {folder / "tables.md": markdown(title, sheets), folder / "tables.tex": latex(title, sheets)}
    for path, text in texts.items():
        write_whole(path, text.encode())
    return list(texts)


def _missing(
    table: Comparison, cells: Sequence[Cell], failed: Mapping[str, str], left_out: Sequence[str]
) -> dict[Line, list[str]]:
    """Why outcomes are missing in one table, by line."""
    here = [cell for cell in cells if (cell.dataset, cell.fraction) == (table.dataset, table.fraction)]
    done = {(e.system, e.augmentation, o.cell.seed) for e in table.entries for o in e.outcomes}
    reasons: dict[Line, list[str]] = defaultdict(list)
    for cell in here:
        if (cell.system, cell.augmentation, cell.seed) not in done:
            why = f"failed: {failed[cell.title]}" if cell.title in failed else "not run yet"
            reasons[cell.system, cell.augmentation].append(f"seed {cell.seed} {why}")
    asked = {(cell.system, cell.augmentation) for cell in here}
    systems = dict.fromkeys(cell.system for cell in here)
    augmentations = dict.fromkeys(cell.augmentation for cell in here)
    for line in itertools.product(systems, augmentations):
        start = f"{' x '.join(line)}: "
        for text in left_out:
            if line not in asked and text.startswith(start):
                reasons[line].append(f"left out: {text.removeprefix(start)}")
    return reasons


def _quality(table: Comparison, metrics: Sequence[str], missing: Mapping[Line, Sequence[str]]) -> Sheet:
    """The metrics of every row, and what each augmentation gains; notes say why some are missing."""
    notes = list(dict.fromkeys(reason for reasons in missing.values() for reason in reasons))
    shown = [metric for metric in metrics if metric in table.metrics]
    gains, base = [metric for metric in GAINS if metric in table.metrics], table.against or BASELINE
    entries = {(entry.system, entry.augmentation): place for place, entry in enumerate(table.entries)}
    rows = {}
    for line in in_order({*entries, *missing}, [*entries, *missing]):
        marks = "".join(f" [{notes.index(reason) + 1}]" for reason in missing.get(line, ()))
        figures = [DASH] * (len(shown) + len(gains))
        if line in entries:
            place = entries[line]
            figures = [_value(table, place, metric) for metric in shown]
            figures += [_gain(table.entries[place], ALL, metric) for metric in gains]
        rows[line] = [Shown(line[0]), Shown(line[1] + marks), *figures]
    return Sheet(
        f"{table.dataset}, {table.fraction * 100:.4g} % of the training rows ({table.n_train:,})",
        ["model", "augmentation", *shown, *(f"Δ {metric} to {base}" for metric in gains)],
        _grouped(rows),
        [
            f"{_basis(table)} {MARKS.format(base=table.baseline)}",
            *_cautions(table),
            *(f"[{number}] {reason}" for number, reason in enumerate(notes, start=1)),
        ],
    )


def _cautions(table: Comparison) -> list[str]:
    """What must not be read out of the table: methods that add unequal rows, trainings that ended early."""
    unequal: dict[str, Entry] = {}
    for one, other in itertools.combinations(table.entries, 2):
        if one.system == other.system and rows_apart(one.outcomes, other.outcomes):
            unequal |= {one.augmentation: one, other.augmentation: other}
    learning = [
        f"{entry.system} / {entry.augmentation}"
        for entry in table.entries
        if any(outcome.stopped_learning is False for outcome in entry.outcomes)
    ]
    cautions = []
    if unequal:
        rows = ", ".join(f"{name} {_rows_added(entry)}" for name, entry in unequal.items())
        cautions.append(
            f"Rows added: {rows}. Methods whose rows differ by more than a tenth can be compared with "
            f"{BASELINE}, not with each other."
        )
    if learning:
        cautions.append(f"Still learning when the training ended: {', '.join(learning)}.")
    return [*cautions, *other_code(table)]


def other_code(table: Comparison) -> list[str]:
    """A sentence on outcomes that another version of the code made; none if there are none."""
    lines, versions = [], set()
    for entry in table.entries:
        others = [one.made for one in entry.outcomes if one.made is not None and one.of_other_code]
        if others:
            lines.append(f"{entry.system} / {entry.augmentation}")
            versions |= {made.code[:8] or "not recorded" for made in others}
    if not lines:
        return []
    code = ", ".join(sorted(versions))
    return [f"Taken from kept outcomes of another version of the code ({code}): {', '.join(lines)}."]


def _rows_added(entry: Entry) -> str:
    """Mean over seeds."""
    return f"{statistics.fmean(outcome.n_augmented for outcome in entry.outcomes):,.0f}"


def _value(table: Comparison, place: int, metric: str) -> Shown:
    entry, best = table.entries[place], table.best[metric]
    mean, spread = entry.mean[ALL][metric], entry.spread[ALL][metric]
    text = f"{mean:.2f}" if spread is None else f"{mean:.2f} ± {spread:.2f}"
    if not best.is_clear:
        return Shown(f"{text} {best.mark(place)}".rstrip())
    if best.second is None:
        return Shown(text)
    return Shown(text, {best.place: BOLD, best.second: UNDERLINED}.get(place, PLAIN))


def _gain(entry: Entry, labels: str, metric: str) -> Shown:
    gain = entry.gain.get(labels, {}).get(metric)
    return Shown("" if gain is None else f"{gain.mean:+.2f} ({gain.interval}) {gain.verdict}")


def _basis(table: Comparison) -> str:
    """How many rows, seeds and draws the figures rest on."""
    counts = sorted({len(entry.outcomes) for entry in table.entries})
    seeds = " to ".join(dict.fromkeys([str(counts[0]), str(counts[-1])]))
    scatter = "; ± is the standard deviation over seeds" if counts[-1] > 1 else ""
    single = f" {ONE_SEED}" if counts[0] == 1 else ""
    return (
        f"In percent on {table.test_rows:,} test rows; {seeds} {'seed' if seeds == '1' else 'seeds'} a row"
        f"{scatter}; 95 % intervals and verdicts by a paired bootstrap of {table.draws:,} draws over "
        f"{'test rows and seeds' if counts[-1] > 1 else 'test rows'}, after Holm inside this table.{single}"
    )


def _by_slice(table: Comparison) -> list[Sheet]:
    """What augmentations gain on frequent and on rare labels; nothing if there is no augmentation."""
    metric = next((metric for metric in reversed(GAINS) if metric in table.metrics), table.metrics[0])
    slices = [name for name in SLICES if any(name in entry.gain for entry in table.entries)]
    rows = {
        (entry.system, entry.augmentation): [
            Shown(entry.system),
            Shown(entry.augmentation),
            *(_gain(entry, name, metric) for name in slices),
        ]
        for entry in table.entries
        if entry.gain
    }
    if not rows:
        return []
    where = f"{table.dataset}, {table.fraction * 100:.4g} %"
    title = f"{where}: {metric} gained over {table.against or BASELINE}, by training rows of a label"
    about = "Head: labels with more than 50 training rows; torso: 6 to 50; tail: 1 to 5; unseen: none."
    return [Sheet(title, ["model", "augmentation", *slices], _grouped(rows), [f"{about} {_basis(table)}"])]


def _cost(tables: Sequence[Comparison]) -> Sheet:
    """Seconds and memory of every row, means over seeds."""

    def row(table: Comparison, entry: Entry) -> list[Shown]:
        names = (table.dataset, f"{table.fraction * 100:.4g} %", entry.system, entry.augmentation)
        means = (
            _rows_added(entry),
            f"{statistics.fmean(outcome.train_seconds for outcome in entry.outcomes):,.1f}",
            f"{statistics.fmean(outcome.predict_seconds for outcome in entry.outcomes):,.2f}",
            f"{statistics.fmean(outcome.peak_rss_mb for outcome in entry.outcomes):,.0f}",
        )
        return [Shown(text) for text in (*names, *means)]

    groups = [[row(table, entry) for entry in table.entries] for table in tables]
    columns = ["dataset", "rows", "model", "augmentation"]
    columns += ["rows added", "training s", "prediction s", "peak MB"]
    return Sheet("Cost", columns, groups, ["Means over seeds; prediction is that of all test rows."], words=4)


def _grouped(rows: Mapping[Line, list[Shown]]) -> list[list[list[Shown]]]:
    """Consecutive rows of one system as a group."""
    return [[rows[line] for line in lines] for _, lines in itertools.groupby(rows, key=lambda line: line[0])]
