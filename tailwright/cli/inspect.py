"""`tailwright data inspect`: statistics, the tail, and what is odd in a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailwright.cli.options import Debug, Json, Quiet, Seed, Threads, set_threads
from tailwright.cli.output import Output

if TYPE_CHECKING:
    from tailwright.data.corpus import Corpus
    from tailwright.data.inspect import CorpusReport


def inspect(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A folder of train/valid/test/labels files, or one file.")
    ],
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Also draw the rank-frequency curve into this PNG, SVG or PDF."),
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Rows, labels, the tail, words, overlaps and odd rows of a corpus.

    Formats are found from the path: jsonl, csv, tsv, parquet (also .gz and .zst), the extreme-classification
    repository's files, train_texts/train_labels, fastText lines, or a single file (split 80/20 by `--seed`).

    Example: `tailwright data inspect data/ --plot tail.png`
    """
    set_threads(threads)
    out = Output(as_json, quiet)

    import tailwright as tw
    from tailwright.data.rank_frequency import draw_png

    corpus = tw.read(path, seed=seed)
    report = tw.inspect(corpus)
    show_report(out, corpus, report, str(path))
    if plot is not None:
        draw_png(corpus.labels.counts, plot, title=path.name)
        out.note(f"wrote {plot}")
    out.result({"path": str(path), **report.as_dict()})


def show_report(out: Output, corpus: Corpus, report: CorpusReport, name: str) -> None:
    """The report for people: splits, labels, the curve, what is odd."""
    from tailwright.data.rank_frequency import draw_in_terminal

    labels = report.labels
    out.text(name)
    out.table(
        ["split", "rows", "labels used", "labels a row", "words a text"],
        [
            [split, f"{r.rows:,}", f"{r.labels_used:,}", f"{r.labels_a_row:.2f}", f"{r.words_a_text:.1f}"]
            for split, r in report.splits.items()
        ],
    )
    out.text()
    out.table(
        ["labels", f"{labels.labels:,}"],
        [
            ["rows a label, mean", f"{labels.rows_a_label:.2f}"],
            ["rows a label, median", f"{labels.median_rows_a_label:.0f}"],
            ["rows of the largest label", f"{labels.most_rows_a_label:,}"],
            ["labels without training rows", _share(labels.without_rows, labels.labels)],
            ["labels with 1 row", _share(labels.with_1_row, labels.labels)],
            ["labels with <= 5 rows", _share(labels.with_at_most_5_rows, labels.labels)],
            ["labels with <= 10 rows", _share(labels.with_at_most_10_rows, labels.labels)],
            ["training mass on the top tenth", f"{labels.mass_on_top_tenth:.1%}"],
            ["words a label text", f"{labels.words_a_label:.1f}"],
            *_test_lines(report),
        ],
    )
    out.text()
    out.text(draw_in_terminal(corpus.labels.counts))
    out.text()
    for heading, found in (
        ("beyond plain labels", special_things(report)),
        ("worth a look", odd_things(report)),
    ):
        out.text(f"{heading}: {'; '.join(found) if found else 'nothing'}")


def special_things(report: CorpusReport) -> list[str]:
    """What a corpus has besides texts and hard labels, one phrase each."""
    found = []
    for split, r in report.splits.items():
        found += _counted(
            split,
            {
                "rows with soft labels": r.soft_rows,
                "rows with a weight of their own": r.weighted_rows,
                "augmented rows": r.augmented_rows,
                "ignored pairs": r.ignored_pairs,
                "excluded pairs": r.excluded_pairs,
            },
        )
    return found


def odd_things(report: CorpusReport) -> list[str]:
    """What is odd in a corpus, one phrase each; such rows are kept."""
    found = []
    for split, r in report.splits.items():
        found += _counted(
            split,
            {
                "empty texts": r.empty_texts,
                "rows without labels": r.rows_without_labels,
                "texts that repeat an earlier one": r.duplicate_texts,
            },
        )
    found += _counted(
        "labels",
        {
            "without text": report.labels.without_text,
            "whose text repeats an earlier one": report.labels.duplicate_texts
            - max(report.labels.without_text - 1, 0),
        },
    )
    if report.texts_in_train_and_test:
        found.append(f"{report.texts_in_train_and_test:,} texts are in both train and test")
    return found


def _test_lines(report: CorpusReport) -> list[list[str]]:
    if "test" not in report.splits:
        return []
    return [
        ["test labels unseen in training", f"{report.test_labels_unseen_in_train:,}"],
        ["test mass on unseen labels", f"{report.test_mass_on_unseen_labels:.1%}"],
    ]


def _counted(where: str, counts: dict[str, int]) -> list[str]:
    return [f"{where}: {count:,} {what}" for what, count in counts.items() if count]


def _share(count: int, whole: int) -> str:
    return f"{count:,} ({count / max(whole, 1):.1%})"
