"""`write_report`: from outcomes to the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tailwright.errors import InputError
from tailwright.runs.run import library_versions
from tailwright.study.compare.comparisons import Comparison, compare_all
from tailwright.study.page.html import refuse_unwritable, render, write_page
from tailwright.study.plan.cells import BASELINE
from tailwright.study.plan.estimate import in_words
from tailwright.study.report.closeness import closeness_section
from tailwright.study.report.cost import cost_section
from tailwright.study.report.curves import curves_section
from tailwright.study.report.distribution import distribution_section
from tailwright.study.report.document import document, plotly_js
from tailwright.study.report.explorer import explorer_section
from tailwright.study.report.gains import gains_section
from tailwright.study.report.metrics import metrics_section, verdicts
from tailwright.study.report.neighbours import neighbours_section
from tailwright.study.report.sections import Section, augmentations_of, colours_of, percent
from tailwright.study.run.exam import Exam
from tailwright.study.run.outcomes import Outcome

METRICS = ("P@1", "P@5", "nDCG@5", "PSP@1", "PSP@5", "R@10")


def write_report(
    path: Path,
    outcomes: Sequence[Outcome],
    exams: Mapping[str, Exam],
    *,
    title: str = "Tailwright report",
    metrics: Sequence[str] = METRICS,
    comparisons: Sequence[Comparison] | None = None,
    failed: Mapping[str, str] | None = None,
    left_out: Sequence[str] = (),
    command: str = "",
) -> None:
    """Write one HTML file that needs no network: all of it or nothing.

    `exams` are by dataset; `comparisons` are what `compare_all` gave for these outcomes, if it was called
    before; `failed` maps titles of cells to errors, and `command` repeats it all. Sections that have nothing
    to show are left out, and a line at the top says why.
    """
    if not outcomes:
        raise InputError("found no finished cell", expected="at least one to report on", path=path)
    refuse_unwritable(path)
    plotly_js()  # if it is missing, that is said before the work and not after it
    colours = colours_of(augmentations_of(outcomes))
    if comparisons is None:
        comparisons = compare_all(outcomes, exams, metrics)
    sections: dict[str, Section | None] = {
        "metrics": metrics_section(comparisons),
        "gain by label frequency (nothing to compare with: no baseline, or nothing but it)": gains_section(
            outcomes, exams, colours, comparisons[0].against
        ),
        "label distribution (no rows were added)": distribution_section(outcomes, colours),
        "training curves (no training logged epochs)": curves_section(outcomes, colours),
        "similarities (no model with text vectors)": closeness_section(outcomes, exams),
        "label graph (no label has a companion)": neighbours_section(exams),
        "predictions": explorer_section(outcomes, exams),
        "cost": cost_section(outcomes, colours),
        "making": making_section(outcomes, failed or {}, left_out, command),
    }
    lead = [f"{_sizes(outcomes)} {verdicts(comparisons)}".rstrip()]
    missing = [why for why, section in sections.items() if section is None]
    if missing:
        lead.append(f"Not here, as there is nothing to show: {'; '.join(missing)}.")
    write_page(path, document(title, lead, [section for section in sections.values() if section is not None]))


def _sizes(outcomes: Sequence[Outcome]) -> str:
    """What was tried, in numbers."""
    counts = {
        "dataset": len({outcome.cell.dataset for outcome in outcomes}),
        "model": len({outcome.cell.system for outcome in outcomes}),
        "augmentation": len({outcome.cell.augmentation for outcome in outcomes} - {BASELINE}),
        "trained cell": len(outcomes),
    }
    sizes = [f"{count:,} {name}{'s' * (count != 1)}" for name, count in counts.items()]
    return f"{', '.join(sizes[:-1])}; {sizes[-1]}."


def making_section(
    outcomes: Sequence[Outcome], failed: Mapping[str, str], left_out: Sequence[str], command: str
) -> Section:
    """How it was made: every cell, what failed or was left out, versions, and the command that repeats it."""
    html = render(
        __package__,
        "making.html.j2",
        outcomes=outcomes,
        failed=failed,
        left_out=left_out,
        command=command,
        time=in_words(sum(outcome.train_seconds + outcome.predict_seconds for outcome in outcomes)),
        cells=[_row(outcome) for outcome in outcomes],
        versions=library_versions(),
    )
    return Section("making", "How it was made", html)


def _row(outcome: Outcome) -> list[str]:
    cell = outcome.cell
    return [
        cell.dataset,
        percent(cell.fraction),
        cell.system,
        cell.augmentation,
        str(cell.seed),
        f"{outcome.n_train:,}",
        f"{outcome.n_augmented:,}",
        f"{outcome.train_seconds:,.1f}",
        f"{outcome.peak_rss_mb:,.0f}",
        outcome.key,
    ]
