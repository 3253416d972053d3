"""`tailwright tail`: what preferring rare labels gives and costs, and how far to go."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailwright.cli.evaluate import loaded, named
from tailwright.cli.hints import predicted
from tailwright.cli.options import Seed, command
from tailwright.cli.output import Output
from tailwright.cli.reading import Reading
from tailwright.errors import InputError

if TYPE_CHECKING:
    from tailwright.runs.trade import Trade
    from tailwright.study.page.svg import Plot


@command
def tail(
    out: Output,
    read: Reading,
    arguments: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN... PATH", help="A run folder, or several; the last is a corpus over the same labels."
        ),
    ],
    split: Annotated[
        str | None, typer.Option("--split", help="valid or test.", show_default="valid if there is one")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE.svg", help="Also draw the trade.")
    ] = None,
    seed: Seed = 0,
) -> None:
    """What `--tail X` of predict gives and costs, on rows that the run has not learnt from.

    The recommended X has the most P@1 + (PSP@1 + PSP@5) / 2 and costs at most one point of P@1; the fewer the
    rows, the more this loss is judged by probabilities instead. A setting is best chosen on held-out rows
    (valid); test rows then show what it gives. `train` does the former where it has such rows.

    Example: `tailwright tail run/ data/ --plot trade.svg`
    """
    from tailwright.runs.evaluation import refuse_other_labels
    from tailwright.runs.trade import METRICS, trade
    from tailwright.study.page.svg import refuse_unwritable_picture

    if plot is not None:
        refuse_unwritable_picture(plot)
    *folders, path = arguments
    if not folders:
        raise InputError(f"found {path} alone", expected="a run folder and a corpus: RUN... PATH")
    run = loaded(folders)
    corpus = read(path, seed)
    refuse_other_labels(corpus, run, folders[0])
    splits = {name: rows for name, rows in corpus.splits().items() if name != "train"}
    split = split or next(iter(splits), "valid")
    if split not in splits:
        expected = f"one of {', '.join(splits)}" if splits else "valid or test rows"
        raise InputError(f"found no {split} rows to choose a tail on", expected=expected, path=path)
    found = trade(run, splits[split])
    recommended = found.advice.tail
    out.text(f"{run.name} on {len(splits[split]):,} {split} rows, in percent:")
    out.table(
        ["tail", *METRICS, ""],
        [
            [
                f"{x:g}",
                *(f"{values[name]:.2f}" for name in METRICS),
                "recommended" if x == recommended else "",
            ]
            for x, values in found.shown().items()
        ],
    )
    out.text(f"--tail {recommended:g}: PSP@5 {found.advice.psp5:+.2f}, P@1 {found.advice.p1:+.2f}")
    if split == "test":
        out.note("chosen on test rows; settings are best chosen on held-out rows (valid)")
    if plot is not None:
        trade_plot(found, run.name).write(plot)
        out.note(f"wrote {plot}")
    if recommended and (words := read.again(path, seed)):
        out.next("evaluate", *map(str, folders), *words, "--tail", f"{recommended:g}")
    else:
        out.next(*predicted(folders[0], splits[split].texts))
    out.result(
        **named(folders),
        path=str(path),
        split=split,
        trade=[{"tail": x, **values} for x, values in found.shown().items()],
        recommended=recommended,
        plot=None if plot is None else str(plot),
    )


def trade_plot(found: Trade, name: str) -> Plot:
    """How many points each metric gains or loses at each tail above 0."""
    from tailwright.study.page.svg import bars

    before, *others = found.shown().values()
    tails = [f"{x:g}" for x in found.shown()][1:]
    changes = {metric: [values[metric] - before[metric] for values in others] for metric in before}
    return bars(
        tails,
        changes,
        title=f"{name}: what preferring rare labels gives and costs",
        description=f"Points of P and PSP against tail 0; recommended is {found.advice.tail:g}.",
        x_label="--tail",
        y_label="points",
    )
