"""`tailwright demo`: the story so far on a built-in corpus."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from tailwright.cli.inspect import show_report
from tailwright.cli.options import Debug, Json, Quiet, Seed, Threads, set_threads
from tailwright.cli.output import Output

SCORERS = ("popularity", "label-matcher")
COLUMNS = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@5", "PSnDCG@5", "R@10")


def demo(
    size: Annotated[
        int | None,
        typer.Option("--size", min=200, help="About how many rows.", show_default="all, about 110,000"),
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Build a corpus from WordNet (synset -> related synsets), inspect it, score two simple models.

    The corpus is kept in the cache folder, so a second run starts at once.
    """
    set_threads(threads)
    out = Output(as_json, quiet)

    import tailwright as tw

    start = time.perf_counter()
    corpus = tw.demo_corpus(size=size, seed=seed)
    report = tw.inspect(corpus)
    out.note(f"demo corpus ready in {time.perf_counter() - start:.1f} s")
    show_report(out, corpus, report, "WordNet: a synset's lemmas and gloss -> the synsets it is related to")

    test = corpus.splits()["test"]
    metrics: dict[str, dict[str, Any]] = {}
    for name in SCORERS:
        run = tw.train(corpus, name, seed=seed)
        metrics[name] = tw.evaluate(run, test)
    out.text()
    out.table(
        ["model", *COLUMNS],
        [[name, *(f"{metrics[name][c]:.2f}" for c in COLUMNS)] for name in SCORERS],
        title=f"On {len(test):,} test rows, in percent:",
    )
    slices = [s for s in metrics[SCORERS[0]]["slices"] if metrics[SCORERS[0]]["slices"][s]["rows"]]
    out.text()
    out.table(
        ["R@10 by training rows of a label", *slices],
        [[name, *(f"{metrics[name]['slices'][s]['R@10']:.2f}" for s in slices)] for name in SCORERS],
    )
    show_examples(out, run, corpus)
    out.result({"corpus": report.as_dict(), "metrics": metrics})


def show_examples(out: Output, run: Any, corpus: Any, count: int = 3) -> None:
    """A few test rows with what the last model says of them; right labels are marked."""
    test = corpus.test.take(range(0, len(corpus.test), max(len(corpus.test) // count, 1)))
    names = corpus.labels.names.to_pylist()
    out.text()
    out.text(f"What {run.model.card.name} says (* is right):")
    for row, said in enumerate(run.predict(test.texts.to_pylist()[:count], k=4).names):
        right = {names[i] for i in test.targets[[row]].indices}
        own = {names[i] for i in test.excluded[[row]].indices}
        shown = [f"*{name}" if name in right else name for name in said if name not in own][:3]
        out.text(f"  {test.texts[row].as_py()[:70]}")
        out.text(f"    -> {'; '.join(shown)}")
