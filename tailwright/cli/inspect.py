"""`tailwright data inspect`: statistics, the tail, and what is odd in a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import tailwright as tw
from tailwright.cli.hints import trained_on
from tailwright.cli.options import CorpusPath, Seed, command
from tailwright.cli.output import Output
from tailwright.cli.reading import Reading
from tailwright.study.page import short

if TYPE_CHECKING:
    import numpy as np

    from tailwright.data.corpus import Corpus
    from tailwright.data.inspect import CorpusReport
    from tailwright.study.page.svg import Plot

SPLIT_HEADER = ["split", "rows", "labels used", "labels a row", "words a text"]
ROWS_SHOWN, CELL_SHOWN = 5, 60  # of the corpus, characters of a cell
SPECIAL = {
    "soft_rows": "rows with soft labels",
    "weighted_rows": "rows with a weight of their own",
    "augmented_rows": "augmented rows",
    "ignored_pairs": "ignored pairs",
    "excluded_pairs": "excluded pairs",
}
ODD = {
    "empty_texts": "empty texts",
    "rows_without_labels": "rows without labels",
    "duplicate_texts": "texts that repeat an earlier one",
}


@command
def inspect(
    out: Output,
    read: Reading,
    path: CorpusPath,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE.svg", help="Also draw the rank-frequency curve of the labels."),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Rows, labels, the tail, words, overlaps and odd rows of a corpus, and how its first rows are read.

    Any table will do: csv, tsv, JSON, Parquet, Arrow, xlsx, SQLite (`sqlite:file.db?table=name`), `-` for
    standard input; folders of these, of `datasets`, of Annif, of the extreme-classification repository;
    fastText lines. One line on stderr says which columns were taken and which were left.

    Example: `tailwright data inspect shop.csv --text title,body --labels tags --separator '|' --id sku`
    """
    from tailwright.study.page.svg import refuse_unwritable_picture

    if plot is not None:
        refuse_unwritable_picture(plot)
    corpus = read.all_rows(path, seed)
    report = tw.inspect(corpus)
    show_report(out, corpus, report, str(path))
    if plot is not None:
        rank_plot(corpus.labels.counts).write(plot)
        out.note(f"wrote {plot}")
    out.next(*trained_on(read.again(path, seed)))
    out.result(path=str(path), **report.as_dict(), first_rows=first_rows(corpus), notes=list(corpus.notes))


def show_report(out: Output, corpus: Corpus, report: CorpusReport, name: str) -> None:
    """The report for people: splits, labels, the curve, what is odd."""
    from tailwright.data.inspect import draw_in_terminal

    out.text(name)
    out.table(SPLIT_HEADER, split_rows(report))
    out.text()
    out.table(["labels", f"{report.labels.labels:,}"], label_rows(report))
    out.text()
    out.text(draw_in_terminal(corpus.labels.counts))
    out.text()
    _show_rows(out, first_rows(corpus))
    out.text(f"beyond plain labels: {'; '.join(_of_splits(report, SPECIAL)) or 'nothing'}")
    out.text(f"worth a look: {'; '.join(odd_things(report)) or 'nothing'}")


def first_rows(corpus: Corpus) -> list[dict[str, Any]]:
    """The first training rows as they are understood: id if there is one, text and names of labels."""
    data = corpus.train.take(range(min(ROWS_SHOWN, len(corpus.train))))
    rows: list[dict[str, Any]] = []
    for row, text in enumerate(data.texts.to_pylist()):
        names = corpus.labels.names.take(data.targets[[row]].indices)
        rows.append({"text": text, "labels": names.to_pylist()})
    if data.ids is None:
        return rows
    return [{"id": key, **row} for key, row in zip(data.ids.to_pylist(), rows, strict=True)]


def _show_rows(out: Output, rows: list[dict[str, Any]]) -> None:
    """A table of rows, long cells cut."""
    if not rows:
        return
    out.text("the first training rows, as they are understood:")
    cells = [[*([row["id"]] if "id" in row else []), row["text"], " | ".join(row["labels"])] for row in rows]
    shown = [[short(" ".join(cell.split()), CELL_SHOWN) for cell in row] for row in cells]
    out.table([name for name in ("id", "text", "labels") if name in rows[0]], shown)
    out.text()


def split_rows(report: CorpusReport) -> list[list[str]]:
    """A row of the table under `SPLIT_HEADER` for each split."""
    return [
        [name, f"{s.rows:,}", f"{s.labels_used:,}", f"{s.labels_a_row:.2f}", f"{s.words_a_text:.1f}"]
        for name, s in report.splits.items()
    ]


def label_rows(report: CorpusReport) -> list[list[str]]:
    """(what, figure): how many training rows labels have, and which labels only test rows have."""
    labels = report.labels
    rows = [
        ["rows a label, mean", f"{labels.rows_a_label:.2f}"],
        ["rows a label, median", f"{labels.median_rows_a_label:.0f}"],
        ["rows of the largest label", f"{labels.most_rows_a_label:,}"],
        ["labels without training rows", _share(labels.without_rows, labels.labels)],
        ["labels with 1 row", _share(labels.with_1_row, labels.labels)],
        ["labels with <= 5 rows", _share(labels.with_at_most_5_rows, labels.labels)],
        ["labels with <= 10 rows", _share(labels.with_at_most_10_rows, labels.labels)],
        ["training mass on the top tenth", f"{labels.mass_on_top_tenth:.1%}"],
        ["words a label text", f"{labels.words_a_label:.1f}"],
    ]
    if "test" in report.splits:
        rows += [
            ["test labels unseen in training", f"{report.test_labels_unseen_in_train:,}"],
            ["test mass on unseen labels", f"{report.test_mass_on_unseen_labels:.1%}"],
        ]
    return rows


def rank_plot(counts: np.ndarray) -> Plot:
    """The rank-frequency curve of labels on so many training rows, with head, torso and tail shaded."""
    from tailwright.data.inspect import rank_frequency
    from tailwright.labels import head_torso_tail
    from tailwright.study.page.svg import Band, log_log_curve

    curve = rank_frequency(counts)
    sizes = {name: int(mask.sum()) for name, mask in head_torso_tail(curve).items() if mask.any()}
    bands, first = [], 1
    for name, size in sizes.items():
        bands.append(Band(name, first, first + size - 1))
        first += size
    listed = ", ".join(f"{size:,} {name}" for name, size in sizes.items())
    return log_log_curve(
        curve.tolist(),
        title="Training rows of each label, most frequent label first",
        description=f"Both axes are logarithmic. Labels: {listed or 'none with a row'}.",
        x_label="label rank",
        y_label="training rows",
        bands=bands,
    )


def odd_things(report: CorpusReport) -> list[str]:
    """What is odd in a corpus, one phrase each; such rows are kept."""
    phrases, labels = _of_splits(report, ODD), report.labels
    repeated = labels.duplicate_texts - max(labels.without_text - 1, 0)
    if labels.without_text:
        phrases.append(f"labels: {labels.without_text:,} without text")
    if repeated:
        phrases.append(f"labels: {repeated:,} whose text repeats an earlier one")
    if report.texts_in_train_and_test:
        phrases.append(f"{report.texts_in_train_and_test:,} texts are in both train and test")
    return phrases


def _of_splits(report: CorpusReport, words: dict[str, str]) -> list[str]:
    """A phrase for each field of a split in `words` that is not zero."""
    return [
        f"{name}: {getattr(split, field):,} {what}"
        for name, split in report.splits.items()
        for field, what in words.items()
        if getattr(split, field)
    ]


def _share(count: int, whole: int) -> str:
    return f"{count:,} ({count / max(whole, 1):.1%})"
