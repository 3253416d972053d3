"""`evaluate`: all metrics of a run, or of several together, on rows with known labels; also by frequency."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.data.inputs import ReadArguments, Source
from tailwright.errors import InputError
from tailwright.evaluation import TopK, metrics_at_k, sliced_metrics
from tailwright.evaluation.reliability import calibration_errors
from tailwright.labels import PROPENSITY_PRESETS, Propensity, head_torso_tail
from tailwright.models import HeldOut
from tailwright.runs.ensemble import Ensemble
from tailwright.runs.facts import Measurement
from tailwright.runs.judged_rows import rows_to_judge
from tailwright.runs.run import Run
from tailwright.runs.tail import Tail

if TYPE_CHECKING:
    from typing_extensions import Unpack

KS = (1, 3, 5, 10)


def evaluate(
    run: Run | Ensemble,
    data: Dataset | Source,
    ks: Sequence[int] = KS,
    propensity: Propensity | None = PROPENSITY_PRESETS["default"],
    tail: Tail = 0.0,
    *,
    seed: int = 0,
    **reading: Unpack[ReadArguments],
) -> dict[str, Any]:
    """Metrics in percent under keys such as `P@1` and `PSP@5`; `slices` holds the same by label frequency.

    `data` are rows with known labels: a `Dataset` over the labels of the run, or whatever `tailwright.read`
    takes, with its arguments: the test rows of a corpus, of a path or of tables by split, and all rows of a
    table or of a pair of texts and labels. `seed` draws the test rows of a single file, as in training.
    Labels that the run does not know are left out, which a warning counts, or refused if `strict`.

    Propensities and slices come from the run's own training counts. Excluded pairs of `data` are neither
    rewarded nor punished: enough labels are ranked that k remain without them. The propensity-scored metrics
    are left out without a `propensity`, and below 3 training rows, where the formula has no meaning; the
    calibration error `ECE@k`, if the run gives no probabilities. A `tail` above 0 prefers rare labels.

    >>> from tailwright.runs import train
    >>> run = train(["red shoes", "wool hat"], [["shoes"], ["hats"]], model="label-matcher")
    >>> metrics = evaluate(run, (["blue shoes", "a hat"], [["shoes"], ["shoes"]]))
    >>> metrics["P@1"], sorted(metrics["slices"])
    (50.0, ['head', 'tail', 'torso', 'unseen'])
    """
    rows = rows_to_judge(run.labels, data, seed, reading)
    return measured(run, ranked(run, rows, ks, tail), rows, ks, propensity)


def ranked(run: Run | Ensemble, data: Dataset, ks: Sequence[int] = KS, tail: Tail = 0.0) -> TopK:
    """The run's best labels of each row, enough for all `ks` after excluded pairs are left out."""
    return run.top(data.texts, depth_for(run, data, ks), data.excluded, tail)


def depth_for(run: Run | Ensemble, data: Dataset, ks: Sequence[int] = KS) -> int:
    """How many labels are to be ranked; InputError if the run cannot be evaluated on these rows."""
    if data.labels != len(run.labels):
        raise InputError(f"found rows over {data.labels:,} labels", expected=f"the run's {len(run.labels):,}")
    if not len(data):
        raise InputError("found no rows", expected="at least one row to evaluate on")
    most_excluded = int(np.diff(data.excluded.indptr).max(initial=0))
    return min(max(ks) + most_excluded, len(run.labels))


def refuse_other_labels(corpus: Corpus, run: Run | Ensemble, name: object = "the run") -> None:
    """InputError unless the corpus has the labels of the run; `name` is what the run is called."""
    if not corpus.labels.ids.equals(run.labels.ids):
        expected = f"the {len(run.labels):,} labels of {name}"
        raise InputError(
            f"found {len(corpus.labels):,} labels", expected=expected, path=corpus.source or None
        )


def measured(
    run: Run | Ensemble,
    top: TopK,
    data: Dataset,
    ks: Sequence[int] = KS,
    propensity: Propensity | None = PROPENSITY_PRESETS["default"],
) -> dict[str, Any]:
    """The metrics of a ranking that `ranked` returned."""
    weights = None
    if propensity is not None and run.train_rows >= 3:
        weights = propensity.inverse(run.labels.counts, run.train_rows)
    slices = head_torso_tail(run.labels.counts)
    metrics: dict[str, Any] = metrics_at_k(top, data.targets, weights, ks, data.excluded)
    sliced: dict[str, dict[str, Any]] = sliced_metrics(top, data.targets, weights, slices, ks, data.excluded)
    if run.gives_probabilities:
        said = run.probabilities(top)
        metrics |= calibration_errors(top.ids, said, data.targets, ks, data.excluded)
        for name, mask in slices.items():
            sliced[name] |= calibration_errors(top.ids, said, data.targets, ks, data.excluded, mask)
    return {**metrics, "slices": sliced}


def measurement(run: Run, test: Dataset | None, held_out: HeldOut | None) -> Measurement | None:
    """How good a new run is on test rows; without any, on the held-out rows that its model has ranked."""
    start = time.perf_counter()
    of: Literal["test", "held-out"] = "test"
    if test is not None and len(test):
        metrics, rows = evaluate(run, test), len(test)
    elif held_out is not None:
        of, rows = "held-out", len(held_out.rows)
        metrics = measured(run, held_out.top, held_out.rows)
    else:
        return None
    slices, seconds = metrics.pop("slices"), round(time.perf_counter() - start, 3)
    return Measurement(of=of, rows=rows, metrics=metrics, slices=slices, seconds=seconds)
