"""Labels and rows that come later, against training anew, in quality and in CPU seconds.

Rows: a run learns from 80 % of the training rows and goes on with the rest; another learns from all of them.
`few` goes on with 1 % of the rows, after the others. Labels: every tenth is left out of training and added by
its text; R@10 is of these alone, beside that of a run which was trained with their rows.

.venv/bin/python benchmarks/bench_continuing.py [cooking-se winapi-seealso] [--models linear twin linear+twin]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import common
import numpy as np
import pyarrow as pa

import tailwright as tw
from tailwright.data.corpus import LabelSpace
from tailwright.data.relabelling import over_labels
from tailwright.evaluation import sliced_metrics
from tailwright.models import models
from tailwright.runs import Run
from tailwright.runs.evaluation import ranked

SHARES = {"cooking-se": 1.0, "winapi-seealso": 0.2}  # of the training rows that are used
SETTINGS = {"linear": {"trees": 1}}
LATER = {"many": 0.2, "few": 0.01}


def timed(run: Callable[[], Run]) -> tuple[Run, float]:
    """What it gives, and the CPU seconds that it took."""
    start = time.process_time()
    return run(), round(time.process_time() - start, 2)


def quality(run: Run, test: tw.Dataset) -> dict[str, float]:
    metrics = tw.evaluate(run, test)
    return {name: round(metrics[name], 2) for name in ("P@1", "PSP@5")}


def measured(corpus: tw.Corpus, model: str, later: float, folder: Path) -> dict[str, Any]:
    """Quality before, after going on, and anew; and how long the latter two took."""
    settings = SETTINGS.get(model, {})
    train, more = corpus.train.split(later, 0)
    for name, rows in (("old", train), ("new", more)):
        tw.write(replace(corpus, train=rows, test=None), folder / name, format="parquet")
    old, new = tw.read(folder / "old"), tw.read(folder / "new")
    before = tw.train(old, model, settings=settings)
    after, going_on = timed(lambda: tw.continued(before, new))
    anew, whole = timed(lambda: tw.train(corpus, model, settings=settings))
    return {
        "before": quality(before, corpus.test),
        "continued": {**quality(after, corpus.test), "cpu_seconds": going_on},
        "anew": {**quality(anew, corpus.test), "cpu_seconds": whole},
        "time_ratio": round(going_on / whole, 2),
    }


def added(corpus: tw.Corpus, model: str) -> dict[str, Any]:
    """How well labels are found that were left out of training and then added by their texts."""
    count = len(corpus.labels)
    late = np.arange(count) % 10 == 9
    order = np.concatenate([np.flatnonzero(~late), np.flatnonzero(late)])
    columns = np.empty(count, dtype=np.int64)
    columns[order] = np.arange(count)
    ids, texts = (getattr(corpus.labels, name).take(pa.array(order)) for name in ("ids", "texts"))
    labels = LabelSpace(ids, texts=texts)  # names repeat in some corpora
    whole, first = over_labels(corpus, labels, columns), int((~late).sum())
    rows = whole.train
    known = LabelSpace(ids.slice(0, first), texts=texts.slice(0, first))
    train = tw.Dataset(rows.texts, rows.targets[:, :first], excluded=rows.excluded[:, :first])
    run = tw.train(tw.Corpus(train, known), model)
    grown, seconds = timed(lambda: run.with_labels(labels.behind(first)))
    anew = tw.train(whole, model)
    of_late = {"late": np.arange(count) >= first}
    found = {}
    for name, one in (("added", grown), ("trained", anew)):
        top = ranked(one, whole.test)
        of_all, test = tw.evaluate(one, whole.test), whole.test
        sliced = sliced_metrics(top, test.targets, None, of_late, (10,), test.excluded)
        found[name] = {"R@10": round(sliced["late"]["R@10"], 2), "P@1 of all": round(of_all["P@1"], 2)}
    return {"labels": count - first, "cpu_seconds": seconds, **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="*", default=list(SHARES))
    parser.add_argument("--models", nargs="+", default=["linear", "twin", "linear+twin"])
    asked = parser.parse_args()
    results: dict[str, Any] = {}
    for name in asked.corpora:
        corpus = tw.read(common.data_folder() / name).sample(SHARES.get(name, 1.0))
        for model in asked.models:
            tw.train(corpus.sample(0.02), model, settings=SETTINGS.get(model, {}))  # compiles the kernels
            for amount, later in LATER.items():
                print(f"{name} {model} {amount} ...", file=sys.stderr, flush=True)
                with tempfile.TemporaryDirectory() as folder:
                    found = measured(corpus, model, later, Path(folder))
                results.setdefault(name, {}).setdefault(model, {})[amount] = found
            if models.card(model).adds_labels:
                results[name][model]["labels"] = added(corpus, model)
    common.emit("continuing", {"corpora": results})


if __name__ == "__main__":
    main()
