"""`Sheet`: a table before it is Markdown or LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

PLAIN, BOLD, UNDERLINED = "plain", "bold", "underlined"

_LATEX = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    **{character: f"{{{character}}}" for character in "[]*"},  # after a line's end these would be an argument
    "±": r"$\pm$",
    "–": "--",
    "Δ": r"$\Delta$",
}
_MARKDOWN = str.maketrans({character: f"\\{character}" for character in r"\|*_`[]<>#~"})
_LATEX_HEAD = r"""\documentclass[landscape]{article}
\usepackage[margin=1.5cm]{geometry}
\usepackage[T1]{fontenc}
\usepackage{booktabs}
\begin{document}
"""


@dataclass(frozen=True)
class Shown:
    """A cell of a table, and how it stands out."""

    text: str
    how: str = PLAIN


@dataclass(frozen=True)
class Sheet:
    """A table: its title, the names of its columns, rows in groups, and notes below it.

    The first `words` columns hold words; the others are aligned to the right.
    """

    title: str
    columns: Sequence[str]
    groups: Sequence[Sequence[Sequence[Shown]]]
    notes: Sequence[str] = field(default=())
    words: int = 2

    def __post_init__(self) -> None:
        wanted = len(self.columns)
        for row in (row for group in self.groups for row in group):
            if len(row) != wanted:
                raise ValueError(f"a row of {self.title!r} has {len(row)} cells, expected {wanted}")


def markdown(title: str, sheets: Sequence[Sheet]) -> str:
    """All sheets as one Markdown document."""
    lines = [f"# {in_markdown(title)}", ""]
    for sheet in sheets:
        lines += [f"## {in_markdown(sheet.title)}", ""]
        lines.append(_piped([in_markdown(column) for column in sheet.columns]))
        lines.append(_piped(["---" if n < sheet.words else "---:" for n in range(len(sheet.columns))]))
        lines += [_piped(map(_shown_in_markdown, row)) for group in sheet.groups for row in group]
        for note in sheet.notes:
            lines += ["", in_markdown(note)]
        lines.append("")
    return "\n".join(lines)


def latex(title: str, sheets: Sequence[Sheet]) -> str:
    """All sheets as one LaTeX document; each table can be copied out of it, and needs booktabs."""
    pieces = [_LATEX_HEAD, f"\\section*{{{in_latex(title)}}}\n"]
    for sheet in sheets:
        groups = [
            "".join(" & ".join(map(_shown_in_latex, row)) + " \\\\\n" for row in group)
            for group in sheet.groups
        ]
        sides = "l" * sheet.words + "r" * (len(sheet.columns) - sheet.words)
        pieces += [
            "\n\\begin{table}[p]\n\\centering\\small\n",
            f"\\caption{{{in_latex(sheet.title)}}}\n\\begin{{tabular}}{{{sides}}}\n\\toprule\n",
            " & ".join(in_latex(column) for column in sheet.columns) + " \\\\\n\\midrule\n",
            "\\midrule\n".join(groups),
            "\\bottomrule\n\\end{tabular}\n",
            *(f"\\par\\smallskip {in_latex(note)}\n" for note in sheet.notes),
            "\\end{table}\n\\clearpage\n",
        ]
    return "".join([*pieces, "\n\\end{document}\n"])


def in_markdown(text: str) -> str:
    """Any text escaped, for a cell or a line.

    >>> in_markdown("a|b_c")
    'a\\\\|b\\\\_c'
    """
    return _one_line(text).translate(_MARKDOWN).replace("&", "&amp;")


def in_latex(text: str) -> str:
    """Any text escaped; a character that the fonts may lack becomes a question mark, so that it compiles.

    >>> in_latex("50 % of a_b ± 1")
    '50 \\\\% of a\\\\_b $\\\\pm$ 1'
    """
    return "".join(_LATEX.get(c, c if c.isascii() or "À" <= c <= "ÿ" else "?") for c in _one_line(text))


def _one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _piped(cells: Sequence[str] | map[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _shown_in_markdown(cell: Shown) -> str:
    text = in_markdown(cell.text)
    return {BOLD: f"**{text}**", UNDERLINED: f"<u>{text}</u>"}.get(cell.how, text)


def _shown_in_latex(cell: Shown) -> str:
    text = in_latex(cell.text)
    return {BOLD: f"\\textbf{{{text}}}", UNDERLINED: f"\\underline{{{text}}}"}.get(cell.how, text)
