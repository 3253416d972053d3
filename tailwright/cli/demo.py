"""`tailwright demo`: augmentation, the default and the dial for rare labels, on a built-in corpus."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import tailwright as tw
from tailwright.cli.inspect import show_report
from tailwright.cli.options import Seed, command
from tailwright.cli.output import Output
from tailwright.study.page import short

if TYPE_CHECKING:
    from tailwright.cli.demo_story import Comparison, Trial

SIZE = 40_000  # 87 CPU seconds in all; the 116,629 rows of the full size take about 330
ABOUT = "WordNet: a synset's lemmas and gloss -> the synsets it is related to"
CAVEAT = "One seed; the interval is that of the test rows alone."
NEXT = {
    "tailwright data inspect PATH": "how your rows are read, and how long their tail is",
    "tailwright train PATH --out run": "the default, and how good it is if there are test rows",
    "tailwright predict run TEXT --tail 0.5": "labels for a text, rare ones preferred",
    "tailwright advise PATH": "whether an augmentation helps the default on your rows",
}


@command
def demo(
    out: Output,
    size: Annotated[
        int,
        typer.Option("--size", min=200, help="About how many rows; 120000 is all of them, and takes longer."),
    ] = SIZE,
    report: Annotated[
        str, typer.Option("--report", metavar="PATH", help="The HTML report to write; `none` for none.")
    ] = "demo-report.html",
    seed: Seed = 0,
) -> None:
    """Train on a corpus made from WordNet (synset -> related synsets), without and with augmentation.

    Shows the corpus and its tail; `linear` without and with augmentation, the default model and two floors,
    overall and by label frequency; test rows whose predictions changed; what `--tail` gives and costs. Writes
    all of it into one HTML file. Two minutes on two cores, and seconds with `--size 400`. The corpus is kept
    in the cache folder, so a second run starts at once.
    """
    from tailwright.cli.demo_page import demo_page
    from tailwright.cli.demo_story import AUGMENTED, DEFAULT, MODELS, compare, measure
    from tailwright.study.page.html import refuse_unwritable, write_page

    place = None if report == "none" else Path(report)
    if place is not None:
        refuse_unwritable(place)
    start = time.perf_counter()
    corpus = tw.demo_corpus(size=size, seed=seed)
    corpus_report = tw.inspect(corpus)
    seconds = {"corpus": time.perf_counter() - start}
    out.note(f"demo corpus ready in {seconds['corpus']:.1f} s")
    show_report(out, corpus, corpus_report, ABOUT)

    trials: dict[str, Trial] = {}
    for name in MODELS:
        trials[name] = trial = measure(corpus, name, seed)
        seconds[name] = trial.train_seconds + trial.test_seconds
        out.note(f"{name}: trained in {trial.train_seconds:.1f} s, tested in {trial.test_seconds:.1f} s")
    comparison = compare(corpus, trials, seed)
    test_rows = len(corpus.splits()["test"])
    show_metrics(out, trials, test_rows)
    out.text()
    out.table([f"R@10 of {AUGMENTED}", "points", "95 % interval", "rows", "so it is"], comparison.gain_rows())
    out.text(comparison.sentence())
    out.text(CAVEAT)
    show_examples(out, comparison, test_rows)
    show_dial(out, trials)
    seconds["total"] = time.perf_counter() - start
    if place is not None:
        page = demo_page(corpus, corpus_report, trials, comparison, seconds, size=size, seed=seed)
        write_page(place, page)
        out.text(f"\nwrote {place}")
    out.note(f"all in {seconds['total']:.0f} s")
    out.text("\nOn your own data, PATH being a table or a folder:")
    for line, what in NEXT.items():
        out.text(f"  {line:<{max(map(len, NEXT))}}  {what}")
    dial = trials[DEFAULT].dial
    out.result(
        corpus=corpus_report.as_dict(),
        metrics={name: trial.metrics for name, trial in trials.items()},
        tail=None if dial is None else dial.as_dict(),
        report=None if place is None else str(place),
        seconds={name: round(taken, 3) for name, taken in seconds.items()},
    )


def show_metrics(out: Output, trials: Mapping[str, Trial], test_rows: int) -> None:
    """One table for all labels, then one a metric by label frequency, of slices that have test rows."""
    from tailwright.cli.demo_story import (
        COLUMNS,
        DEFAULT,
        SLICE_COLUMNS,
        by_frequency,
        overall,
        slices_with_rows,
    )

    out.text(f"\nOn {test_rows:,} test rows, in percent:")
    out.table(
        ["model", *COLUMNS],
        [[name, *(f"{t.metrics[column]:.2f}" for column in COLUMNS)] for name, t in trials.items()],
    )
    out.text(overall(trials))
    out.text(f"{DEFAULT} is {trials[DEFAULT].model}, which `tailwright train` takes.")
    slices = slices_with_rows(trials)
    for column in SLICE_COLUMNS:
        out.text()
        out.table(
            [f"{column} by training rows of a label", *slices],
            [
                [name, *(f"{t.metrics['slices'][slice_name][column]:.2f}" for slice_name in slices)]
                for name, t in trials.items()
            ],
        )
        out.text(by_frequency(trials, column))


def show_examples(out: Output, comparison: Comparison, test_rows: int) -> None:
    """Rows drawn at random among those that changed, and how many of them changed for the worse."""
    out.text()
    for sentence in comparison.choice_rule(test_rows):
        out.text(sentence)
    if comparison.examples:
        out.text("What linear says of them without and with gandalf (* is right):")
    for example in comparison.examples:
        out.text(f"\n  {short(example.text, 90)}")
        for name, guesses in (("without", example.before), ("with", example.after)):
            labels = "; ".join(f"*{guess.name}" if guess.right else guess.name for guess in guesses)
            out.text(f"    {name:<7} -> {labels or 'nothing'}")


def show_dial(out: Output, trials: Mapping[str, Trial]) -> None:
    """What the default gives at several tails, if it gives probabilities."""
    from tailwright.cli.demo_story import DEFAULT, slices_with_rows

    dial = trials[DEFAULT].dial
    if dial is None:
        return
    out.text("\nThe dial for rare labels: the default once more, in another order, in percent:")
    out.table(*dial.table(slices_with_rows(trials)))
    out.text(dial.sentence())
