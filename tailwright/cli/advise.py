"""`tailwright advise`: which augmentation to use on a corpus, found by short probes."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

import tailwright as tw
from tailwright.cli.failures import going_on
from tailwright.cli.hints import trained_on
from tailwright.cli.options import CorpusPath, Seed, command, seconds_of
from tailwright.cli.output import Output
from tailwright.cli.reading import Reading

if TYPE_CHECKING:
    from tailwright.study.advise.advisor import Advice, Contender


@command
def advise(
    out: Output,
    read: Reading,
    path: CorpusPath,
    model: Annotated[str, typer.Option("--model", help="See `tailwright models`.")] = "auto",
    budget: Annotated[str, typer.Option("--budget", help="How long to try: 90s, 10m, 1h.")] = "10m",
    metric: Annotated[
        str, typer.Option("--metric", help="What to rank by: P@1, PSP@5, nDCG@5 or R@10.")
    ] = "PSP@5",
    seed: Seed = 0,
) -> None:
    """Recommend an augmentation for a corpus and a model, from short trainings within a budget.

    Without --model, the advice is for the model that `tailwright train` takes on the corpus.

    Augmentations are tried on miniatures of the corpus (some of its labels with all their rows) and judged on
    held-out training rows; the better half goes on to a larger miniature. Test rows are never looked at. The
    answer is what each gains over no augmentation, by label frequency, and the command to run.

    Example: `tailwright advise data/ --model twin --budget 5m`
    """
    seconds = seconds_of(budget)

    from tailwright.runs.choice import choose
    from tailwright.study.advise.advisor import Contender
    from tailwright.study.advise.advisor import advise as ask

    corpus = read(path, seed)
    by_itself = choose(corpus)
    choice = by_itself if model == "auto" else choose(corpus, model)
    rule = Contender.by_rule(choice)
    for line in facts(corpus):
        out.text(line)
    taken = ", the model that `tailwright train` takes here" if choice.model == by_itself.model else ""
    out.text(f"advice for {choice.model}{taken}")
    with going_on(lambda: "probes are not kept, and the same command starts anew"):
        advice = ask(corpus, choice.model, metric=metric, budget=seconds, rule=rule, seed=seed)
    words = trained_on(read.again(path, seed) or [str(path)])
    if choice.model != by_itself.model:
        words += ["--model", choice.model]
    if advice.ranking and advice.chosen != rule:
        words += advice.chosen.options()
    command = shlex.join(["tailwright", *words])
    _show(out, advice)
    out.text(f"\n{verdict(advice, rule)}")
    out.text(f"  {command}")
    out.result(**as_dict(advice), path=str(path), command=command)


def verdict(advice: Advice, rule: Contender) -> str:
    """What to use and why, beside what `tailwright train` uses by `rule`; the command comes next."""
    if not advice.ranking:
        return f"Nothing is known: {advice.reason}. The rule of `tailwright train` stands, {rule.name}:"
    use = f"Use {advice.chosen.name}: {advice.reason}."
    if advice.chosen == rule:
        return f"{use} `tailwright train` does so by itself:"
    return f"{use} That is the one change to what `tailwright train` does by itself:"


def facts(corpus: Any) -> list[str]:
    """What an augmentation's effect depends on, in two lines."""
    statistics = tw.inspect(corpus)
    train, labels = statistics.splits["train"], statistics.labels
    with_text = 1 - labels.without_text / max(labels.labels, 1)
    return [
        f"{train.rows:,} training rows of {train.words_a_text:.1f} words, {labels.labels:,} labels, "
        f"{with_text:.0%} of them with a text",
        f"{labels.rows_a_label:.1f} rows a label (median {labels.median_rows_a_label:.0f}); "
        f"{labels.share_with_at_most_5_rows:.0%} of the labels have at most 5",
    ]


def _show(out: Output, advice: Advice) -> None:
    metric, slices = advice.metric, ("head", "torso", "tail", "unseen")
    rows = [
        [
            entry.contender.name,
            f"{entry.labels:,}",
            f"{entry.seeds}",
            f"{entry.gains['all'][metric].mean:+.2f}",
            entry.gains["all"][metric].interval,
            f"{entry.p:.3f}",
            f"{entry.gains['all']['P@1'].mean:+.2f}",
            *(f"{entry.gains[name][metric].mean:+.2f}" if name in entry.gains else "-" for name in slices),
        ]
        for entry in advice.ranking
    ]
    cost = f"{len(advice.probes)} trainings, {advice.seconds:.0f} s"
    out.text(f"\nGain of {advice.model} over no augmentation, in points ({cost}):")
    out.table(["augmentation", "labels tried", "seeds", metric, "95 % interval", "p", "P@1", *slices], rows)


def as_dict(advice: Advice) -> dict[str, Any]:
    """Plain values, for JSON."""
    ranking = []
    for entry in advice.ranking:
        values = asdict(entry)
        contender, share = values.pop("contender"), values.pop("share")
        ranking.append(
            {"augmentation": entry.contender.name, **contender, "share_of_labels": share, **values}
        )
    return {
        "model": advice.model,
        "metric": advice.metric,
        "chosen": {"method": advice.chosen.method or None, "settings": dict(advice.chosen.settings)},
        "reason": advice.reason,
        "seconds": round(advice.seconds, 1),
        "ranking": ranking,
        "probes": [
            {
                "augmentation": probe.contender.name,
                **{name: getattr(probe, name) for name in ("round", "rows", "labels", "seed")},
                "seconds": round(probe.seconds, 2),
            }
            for probe in advice.probes
        ],
    }
