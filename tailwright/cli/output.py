"""What a command says: text or one line of JSON on stdout, notes and progress on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from tailwright import progress


class Output:
    """One command's voice, made from its `--json` and `--quiet`."""

    def __init__(self, as_json: bool, quiet: bool) -> None:
        self.as_json = as_json
        self.quiet = quiet
        progress.show(not quiet)

    def text(self, text: str = "") -> None:
        """Text for people, on stdout; not with `--json`."""
        if not self.as_json:
            _print(text)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
        """Aligned columns: the first to the left, the others to the right unless they are words."""
        if title:
            self.text(title)
        self.text(aligned([header, *rows]))

    def note(self, text: str) -> None:
        """A remark on stderr; not with `--quiet`."""
        if not self.quiet:
            print(text, file=sys.stderr)

    def result(self, result: dict[str, Any]) -> None:
        """The machine-readable last line; only with `--json`."""
        if self.as_json:
            _print(json.dumps(result, ensure_ascii=False, allow_nan=False))


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # The reader has gone (`| head`): no error of ours, and the command may still have a file to write.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def cut(text: str, width: int = 90) -> str:
    """`text` on one line of a terminal: what is longer than `width` ends in an ellipsis.

    >>> cut("a long story", 7)
    'a long…'
    """
    return text if len(text) <= width else text[: width - 1] + "…"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as aligned lines; a column of numbers stands to the right.

    >>> print(aligned([["name", "rows"], ["train", "1,200"], ["test", "30"]]))
    name    rows
    train  1,200
    test      30
    """
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [all(_is_number(cell) for cell in column[1:]) for column in columns]
    lines = []
    for row in rows:
        cells = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True))
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _is_number(cell: str) -> bool:
    return cell.replace(",", "").replace(".", "").replace("-", "").replace(" %", "").isdigit() or cell in {
        "",
        "-",
    }
