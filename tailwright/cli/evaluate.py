"""`tailwright evaluate`: the metrics of a run, or of several together, on a corpus's test rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import tailwright as tw
from tailwright.cli.hints import predicted
from tailwright.cli.on_cluster import check_on
from tailwright.cli.options import On, OnWorkers, Seed, TailOption, command, tail_of
from tailwright.cli.output import Output
from tailwright.cli.reading import Reading
from tailwright.errors import InputError
from tailwright.registry import unknown

if TYPE_CHECKING:
    from tailwright.runs import Ensemble, Run


@command
def evaluate(
    out: Output,
    read: Reading,
    arguments: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN... PATH", help="A run folder, or several; the last is a corpus over the same labels."
        ),
    ],
    split: Annotated[str, typer.Option("--split", help="test, valid or train.")] = "test",
    propensity: Annotated[
        str,
        typer.Option("--propensity", help="default (0.55, 1.5), amazon (0.6, 2.6) or wikipedia (0.5, 0.4)."),
    ] = "default",
    tail: TailOption = "0",
    seed: Seed = 0,
    on: On = None,
    workers: OnWorkers = None,
    threads: int | None = None,
) -> None:
    """P, nDCG, PSP, PSnDCG, recall and more of a run, overall and by head, torso, tail and unseen labels.

    With `--on`, workers of a Ray cluster rank the rows, with the same result; run folders must be on storage
    that this machine and all nodes see by the same name.

    ECE says how far probabilities are off. Several runs over the same labels answer together: their scores
    are added.

    Example: `tailwright evaluate run/ data/`

    Example: `tailwright evaluate run1/ run2/ run3/ data/`

    Example: `tailwright evaluate run/ data/ --on ray --workers 2`
    """
    from tailwright.data.relabelling import in_the_order_of
    from tailwright.labels import PROPENSITY_PRESETS
    from tailwright.runs.evaluation import KS, measured, refuse_other_labels
    from tailwright.runs.tail import can_dial

    if propensity not in PROPENSITY_PRESETS:
        raise InputError(unknown("propensity", propensity, list(PROPENSITY_PRESETS)))
    check_on(on, workers)
    *folders, path = arguments
    if not folders:
        raise InputError(f"found {path} alone", expected="a run folder and a corpus: RUN... PATH")
    run = loaded(folders)
    corpus = in_the_order_of(read(path, seed), run.labels)
    refuse_other_labels(corpus, run, folders[0])
    splits = corpus.splits()
    if split not in splits:
        raise InputError(f"found no {split} rows", expected=f"one of {', '.join(splits)}", path=path)
    wanted = dialled(out, run, tail)
    if on is None:
        metrics = tw.evaluate(run, splits[split], propensity=PROPENSITY_PRESETS[propensity], tail=wanted)
    else:
        from tailwright.cluster.connection import connected
        from tailwright.cluster.ranking import ranked_on
        from tailwright.cluster.tasks import RayTasks

        with connected(on, workers=workers, threads=threads) as cluster:
            top = ranked_on(RayTasks(cluster), folders, run, splits[split], KS, wanted)
        metrics = measured(run, top, splits[split], KS, PROPENSITY_PRESETS[propensity])
    with_tail = f" with --tail {wanted:g}" if wanted else ""
    out.metrics(metrics, f"{run.name} on {len(splits[split]):,} {split} rows{with_tail}, in percent:")
    words = read.again(path, seed)
    if words and can_dial(run) and splits.keys() - {"train"}:
        out.next("tail", *map(str, folders), *words)
    elif words:
        out.next(*predicted(folders[0], splits[split].texts))
    out.result(**named(folders), path=str(path), split=split, tail=wanted, metrics=metrics)


def loaded(folders: Sequence[Path]) -> Run | Ensemble:
    """The run in the folder, or the ensemble of those in several."""
    from tailwright.runs import Ensemble

    runs = tuple(tw.load(folder) for folder in folders)
    return runs[0] if len(runs) == 1 else Ensemble(runs)


def dialled(out: Output, run: Run | Ensemble, asked: str) -> float:
    """The number that `--tail` stands for; a note says if the probabilities that it needs may be off."""
    from tailwright.runs.tail import check_dial, tail_value

    tail = tail_value(run, tail_of(asked))
    if tail:
        check_dial(run)
        if not run.is_calibrated:
            out.note(
                f"{run.name} was trained without held-out rows (a valid split): its probabilities are not "
                "calibrated, and --tail may cost more than it gives"
            )
    return tail


def named(folders: Sequence[Path]) -> dict[str, Any]:
    """How a result says which runs it is of: `run` for one, `runs` for several."""
    return {"run": str(folders[0])} if len(folders) == 1 else {"runs": [str(folder) for folder in folders]}
