"""The options that name the columns of a table, and how a command that has them reads its corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import tailwright as tw
from tailwright.cli.output import Output

if TYPE_CHECKING:
    from tailwright.data.corpus import Corpus

PANEL = "Columns of a table"


def _option(flag: str, metavar: str, help: str, otherwise: str) -> Any:
    return typer.Option(flag, metavar=metavar, help=help, show_default=otherwise, rich_help_panel=PANEL)


ColumnsOfText = Annotated[
    str,
    _option("--text", "A,B", "Columns that make up the text, joined.", "text, or title, description, ..."),
]
ColumnOfId = Annotated[str, _option("--id", "COLUMN", "The row's id, which is kept.", "id, row_id, ...")]
Labels = Annotated[
    str, _option("--labels", "A,B", "Columns that hold the labels.", "labels, tags, categories, ...")
]
Separator = Annotated[
    str,
    _option("--separator", "MARK", "Between the labels of a cell; also space, tab, none.", "from the data"),
]
Weight = Annotated[str, _option("--weight", "COLUMN", "The row's weight in the loss; none for 1.", "weight")]
Vocabulary = Annotated[
    str, _option("--vocabulary", "FILE", "Texts of the labels: Annif's tsv or csv, SKOS, labels.*.", "none")
]
Language = Annotated[str, _option("--language", "CODE", "Which texts of the vocabulary, such as en.", "most")]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Refuse odd rows instead of mending them.", rich_help_panel=PANEL),
]
TestShare = Annotated[
    float | None,
    _option(
        "--test-share",
        "X",
        "The share of a single table's rows that is kept for testing.",
        "0.2 to train or evaluate, else 0",
    ),
]
# The options of a command that reads a corpus, with their defaults, as `tailwright.read` calls them.
COLUMN_OPTIONS: dict[str, tuple[Any, Any]] = {
    "text": (ColumnsOfText, ""),
    "labels": (Labels, ""),
    "separator": (Separator, ""),
    "id": (ColumnOfId, ""),
    "weight": (Weight, ""),
    "vocabulary": (Vocabulary, ""),
    "language": (Language, ""),
    "strict": (Strict, False),
    "test_share": (TestShare, None),
}


@dataclass(frozen=True)
class Reading:
    """Reads a corpus as the options of a command say; what was taken, left and mended goes to stderr."""

    out: Output
    options: Mapping[str, Any]

    def __call__(self, path: Path, seed: int = 0) -> Corpus:
        """The corpus to train on or to evaluate with."""
        corpus = tw.read(path, seed=seed, **self.options)
        for note in corpus.notes:
            self.out.note(note)
        return corpus

    def all_rows(self, path: Path, seed: int = 0) -> Corpus:
        """The same, but the rows of a single table stay together unless `--test-share` is given."""
        share = self.options["test_share"] or 0
        return replace(self, options={**self.options, "test_share": share})(path, seed)

    def again(self, path: Path, seed: int = 0) -> list[str]:
        """The words by which another command reads the same corpus; none for standard input."""
        if str(path) == "-":
            return []
        words = [str(path)]
        for name, (_, default) in COLUMN_OPTIONS.items():
            value, flag = self.options[name], f"--{name.replace('_', '-')}"
            if value != default:
                words += [flag] if value is True else [flag, str(value)]
        return [*words, *(["--seed", str(seed)] if seed else [])]
