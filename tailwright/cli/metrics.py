"""How metrics are shown: one table overall, one by the training frequency of labels."""

from __future__ import annotations

from typing import Any

from tailwright.cli.output import Output

COLUMNS = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5", "PSnDCG@5", "R@10")


def show_metrics(out: Output, metrics: dict[str, Any], title: str) -> None:
    """All labels, then head, torso, tail and unseen, as rows of one table."""
    rows = {"all labels": metrics, **metrics["slices"]}
    shown = [column for column in COLUMNS if column in metrics]
    cells = [
        [name, *(f"{of_slice[column]:.2f}" if column in of_slice else "-" for column in shown)]
        for name, of_slice in rows.items()
    ]
    out.text()
    out.table(["labels", *shown], cells, title=title)
