"""How it was made: every cell, what failed or was left out, versions, and the command that repeats it."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib import metadata

from tailwright import __version__
from tailwright.evaluation.page import commands, escaped, paragraph, table
from tailwright.study.report.parts import Section, percent
from tailwright.study.run.outcomes import Outcome

_LIBRARIES = ("numpy", "scipy", "numba", "torch", "pyarrow")
_HEADER = (
    "dataset",
    "training rows",
    "model",
    "augmentation",
    "seed",
    "rows",
    "added",
    "seconds",
    "MB",
    "key",
)


def making_section(
    outcomes: Sequence[Outcome],
    failed: Mapping[str, str],
    left_out: Sequence[str],
    command: str,
) -> Section:
    """`failed` are titles of cells with the reason, `left_out` reasons; `command` repeats the study."""
    seconds = sum(outcome.train_seconds + outcome.predict_seconds for outcome in outcomes)
    cells = f"{len(outcomes):,} cell{'s' * (len(outcomes) != 1)}"
    said = [
        f"{cells} finished, {len(failed):,} failed, {len(left_out):,} left out.",
        f"Training and prediction of the finished ones took {_hours(seconds)} in all.",
    ]
    parts = [paragraph(" ".join(said))]
    if command:
        parts += [paragraph("To repeat it:"), commands([command])]
    reasons = {"Failed:": [f"{title}: {why}" for title, why in failed.items()], "Left out:": left_out}
    for heading, items in reasons.items():
        if items:
            parts += [
                paragraph(heading),
                f"<ul>{''.join(f'<li>{escaped(item)}</li>' for item in items)}</ul>",
            ]
    parts.append(f"<details><summary>All {len(outcomes):,} cells</summary>{_cells(outcomes)}</details>")
    versions = [f"tailwright {__version__}", f"Python {platform.python_version()}"]
    versions += [f"{name} {metadata.version(name)}" for name in _LIBRARIES]
    parts.append(paragraph(f"Written with {', '.join(versions)}."))
    return Section("making", "How it was made", "\n".join(parts))


def _cells(outcomes: Sequence[Outcome]) -> str:
    rows = [
        [
            outcome.cell.dataset,
            percent(outcome.cell.fraction),
            outcome.cell.system,
            outcome.cell.augmentation,
            str(outcome.cell.seed),
            f"{outcome.n_train:,}",
            f"{outcome.n_augmented:,}",
            f"{outcome.train_seconds:,.1f}",
            f"{outcome.peak_rss_mb:,.0f}",
            outcome.key,
        ]
        for outcome in outcomes
    ]
    return table(_HEADER, rows, "A cell is a folder of that key; rows are original training rows")


def _hours(seconds: float) -> str:
    """A time for people.

    >>> _hours(42.3), _hours(600), _hours(9000)
    ('42 s', '10.0 minutes', '2.5 hours')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
