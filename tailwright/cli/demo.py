"""`tailwright demo`: the whole story on a built-in corpus, with and without augmentation."""

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
    from tailwright.cli.demo_story import Trial, TwinComparison

COLUMNS = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@5", "PSnDCG@5", "R@10")
SLICE_COLUMNS = ("P@1", "PSP@5", "R@10")
ABOUT = "WordNet: a synset's lemmas and gloss -> the synsets it is related to"
CAVEAT = (
    "One seed; the interval is that of the test rows alone. twin reads label texts anyway, so as rows they\n"
    "have little to add; a model that does not read them, such as linear, has more to gain."
)


@command
def demo(
    out: Output,
    size: Annotated[
        int | None,
        typer.Option("--size", min=200, help="About how many rows.", show_default="all, about 110,000"),
    ] = None,
    report: Annotated[
        str, typer.Option("--report", metavar="PATH", help="The HTML report to write; `none` for none.")
    ] = "demo-report.html",
    seed: Seed = 0,
) -> None:
    """Train on a corpus made from WordNet (synset -> related synsets), without and with augmentation.

    Shows the corpus and its tail, the metrics of four models overall and by label frequency, and test rows
    whose predictions changed; writes all of it into one HTML file. About two minutes on two cores. The corpus
    is kept in the cache folder, so a second run starts at once.
    """
    from tailwright.cli.demo_story import MODELS, compare_twins, demo_page, measure
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
    comparison = compare_twins(corpus, trials, seed)
    test_rows = len(corpus.splits()["test"])
    show_metrics(out, trials, test_rows)
    out.text()
    header = ["R@10 with gandalf against without", "points", "95 % interval", "rows", "so it is"]
    out.table(header, comparison.gain_rows())
    out.text(CAVEAT)
    show_examples(out, comparison, test_rows)
    seconds["total"] = time.perf_counter() - start
    if place is not None:
        write_page(place, demo_page(corpus, corpus_report, trials, comparison, seconds, size=size, seed=seed))
        out.text(f"\nwrote {place}")
    out.note(f"all in {seconds['total']:.0f} s")
    out.next("data", "inspect", "--help")
    out.result(
        corpus=corpus_report.as_dict(),
        metrics={name: trial.metrics for name, trial in trials.items()},
        report=None if place is None else str(place),
        seconds={name: round(taken, 3) for name, taken in seconds.items()},
    )


def show_metrics(out: Output, trials: dict[str, Trial], test_rows: int) -> None:
    """One table for all labels, then one a metric by label frequency, of slices that have test rows."""
    out.text(f"\nOn {test_rows:,} test rows, in percent:")
    out.table(
        ["model", *COLUMNS],
        [[name, *(f"{t.metrics[column]:.2f}" for column in COLUMNS)] for name, t in trials.items()],
    )
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


def slices_with_rows(trials: Mapping[str, Trial]) -> list[str]:
    """The slices of the labels that occur on test rows."""
    slices = next(iter(trials.values())).metrics["slices"]
    return [name for name in slices if slices[name]["rows"]]


def show_examples(out: Output, comparison: TwinComparison, test_rows: int) -> None:
    """Rows drawn at random among those that changed, and how many of them changed for the worse."""
    out.text()
    for sentence in comparison.choice_rule(test_rows):
        out.text(sentence)
    if comparison.examples:
        out.text("What twin says of them without and with gandalf (* is right):")
    for example in comparison.examples:
        out.text(f"\n  {short(example.text, 90)}")
        for name, guesses in (("without", example.before), ("with", example.after)):
            labels = "; ".join(f"*{guess.name}" if guess.right else guess.name for guess in guesses)
            out.text(f"    {name:<7} -> {labels or 'nothing'}")
