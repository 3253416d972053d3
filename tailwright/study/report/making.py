"""How it was made: every cell, what failed or was left out, versions, and the command that repeats it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tailwright.runs.run import library_versions
from tailwright.study.page.html import render
from tailwright.study.plan.estimate import in_words
from tailwright.study.report.sections import Section, percent
from tailwright.study.run.outcomes import Outcome


def making_section(
    outcomes: Sequence[Outcome],
    failed: Mapping[str, str],
    left_out: Sequence[str],
    command: str,
) -> Section:
    """`failed` are titles of cells with the reason, `left_out` reasons; `command` repeats the study."""
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
