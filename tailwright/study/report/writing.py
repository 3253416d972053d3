"""`write_report`: from outcomes to the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tailwright import __version__
from tailwright.errors import InputError
from tailwright.evaluation.page import paragraph, refuse_unwritable, write_page
from tailwright.study.compare.comparisons import Comparison, compare_all
from tailwright.study.plan.cells import BASELINE
from tailwright.study.report.closeness import closeness_section
from tailwright.study.report.cost import cost_section
from tailwright.study.report.curves import curves_section
from tailwright.study.report.distribution import distribution_section
from tailwright.study.report.document import document, plotly_js
from tailwright.study.report.explorer import explorer_section
from tailwright.study.report.gains import gains_section
from tailwright.study.report.making import making_section
from tailwright.study.report.metrics import metrics_section, verdicts
from tailwright.study.report.neighbours import neighbours_section
from tailwright.study.report.parts import Section, augmentations_of, colours_of
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

    | argument | |
    |---|---|
    | `exams` | by the name of the dataset; one for each dataset that an outcome is of |
    | `metrics` | columns of the table of metrics |
    | `comparisons` | what `compare_all` gave for them, where that has been done already |
    | `failed` | titles of cells that failed, each with its error |
    | `left_out` | combinations that were not tried, each with the reason |
    | `command` | what repeats it |
    """
    if not outcomes:
        raise InputError("found no finished cell", expected="at least one to report on", path=path)
    refuse_unwritable(path)
    # Said before the work that takes time, not after it.
    plotly_js()
    write_page(path, report(outcomes, exams, title, metrics, comparisons, failed or {}, left_out, command))


def report(
    outcomes: Sequence[Outcome],
    exams: Mapping[str, Exam],
    title: str,
    metrics: Sequence[str],
    comparisons: Sequence[Comparison] | None,
    failed: Mapping[str, str],
    left_out: Sequence[str],
    command: str,
) -> str:
    """The whole document. Sections that have nothing to show are named in a line at the end of the lead."""
    colours = colours_of(augmentations_of(outcomes))
    if comparisons is None:
        comparisons = compare_all(outcomes, exams, metrics)
    asked: dict[str, Section | None] = {
        "metrics": metrics_section(comparisons),
        "gain by label frequency (nothing to compare with: no baseline, or nothing but it)": gains_section(
            outcomes, exams, colours, comparisons[0].against
        ),
        "label distribution (no added rows are known)": distribution_section(outcomes, colours),
        "training curves (no training logged epochs)": curves_section(outcomes, colours),
        "similarities (no model with text vectors)": closeness_section(outcomes, exams),
        "label graph (no label has a companion)": neighbours_section(exams),
        "predictions": explorer_section(outcomes, exams),
        "cost": cost_section(outcomes, colours),
        "making": making_section(outcomes, failed, left_out, command),
    }
    return document(
        title,
        _lead(outcomes, comparisons, [why for why, section in asked.items() if section is None]),
        [section for section in asked.values() if section is not None],
        footer=f"Made by tailwright {__version__}.",
    )


def _lead(
    outcomes: Sequence[Outcome], comparisons: Sequence[Comparison], missing: Sequence[str]
) -> list[str]:
    """What was tried and what came out, and which sections are not there and why."""
    counts = {
        "dataset": len({outcome.cell.dataset for outcome in outcomes}),
        "model": len({outcome.cell.system for outcome in outcomes}),
        "augmentation": len({outcome.cell.augmentation for outcome in outcomes} - {BASELINE}),
        "trained cell": len(outcomes),
    }
    sizes = [f"{count:,} {name}{'s' * (count != 1)}" for name, count in counts.items()]
    parts = [paragraph(f"{', '.join(sizes[:-1])}; {sizes[-1]}. {verdicts(comparisons)}".rstrip())]
    if missing:
        parts.append(paragraph(f"Not here, as there is nothing to show: {'; '.join(missing)}."))
    return parts
