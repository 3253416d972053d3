"""Sheets whose cells are plain text, and how a tool prints them: as Markdown, or as one line of JSON."""

from __future__ import annotations

from collections.abc import Sequence

from tailwright.cli.output import Output
from tailwright.study.compare.sheets import Sheet, Shown, markdown


def plain_sheet(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    words: int = 2,
    notes: Sequence[str] = (),
) -> Sheet:
    return Sheet(title, columns, [[[Shown(cell) for cell in row] for row in rows]], notes, words)


def print_sheets(out: Output, title: str, sheets: Sequence[Sheet]) -> None:
    """In JSON a sheet is called as its title begins, up to the colon."""
    out.text(markdown(title, sheets))
    out.result(
        **{
            sheet.title.split(":")[0]: {
                "columns": sheet.columns,
                "rows": [[cell.text for cell in row] for group in sheet.groups for row in group],
                "notes": sheet.notes,
            }
            for sheet in sheets
        }
    )
