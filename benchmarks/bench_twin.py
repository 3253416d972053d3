"""Twin on real corpora: quality, seconds and memory of a fit beside the estimate; speed of prediction.

.venv/bin/python benchmarks/bench_twin.py [winapi-seealso tibkat-keywords-titles ...] [--set epochs=3 ...]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import common
import numpy as np

import tailwright as tw
from tailwright.evaluation import metrics_at_k
from tailwright.labels import PROPENSITY_PRESETS
from tailwright.models.twin import TwinSettings
from tailwright.models.twin.model import Twin
from tailwright.settings import settings_from
from tailwright.training.workplace import Workplace

DEFAULT = ("winapi-seealso", "tibkat-keywords-titles")
KS = (1, 3, 5)


def quality(model: Twin, corpus: Any) -> dict[str, float]:
    test = corpus.test
    spare = int(np.diff(test.excluded.indptr).max(initial=0))
    top = model.predict(test.texts, max(KS) + spare)
    weights = PROPENSITY_PRESETS["default"].inverse(corpus.labels.counts, len(corpus.train))
    metrics = metrics_at_k(top.ids, test.targets, weights, KS, test.excluded)
    return {key: round(value, 2) for key, value in metrics.items() if key.split("@")[0] in {"P", "PSP"}}


def speed(model: Twin, texts: Any) -> dict[str, float]:
    """Milliseconds of one query and queries a second in a batch, taken in turn."""
    many = texts.slice(0, 3000)
    model.predict(many, 5)
    singles = [texts.slice(i, 1) for i in range(20)]
    seconds = common.interleaved(
        {"one": lambda: [model.predict(one, 5) for one in singles], "batch": lambda: model.predict(many, 5)}
    )
    return {
        "single_query_ms": round(1000 * seconds["one"] / len(singles), 2),
        "queries_a_second": round(len(many) / seconds["batch"]),
    }


def measured(name: str, settings: TwinSettings) -> dict[str, Any]:
    corpus = tw.read(common.data_folder() / name)
    model = Twin(settings)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        model.fit(corpus, seed=0, work=Workplace(Path(folder), checkpoint_seconds=3600))
        seconds = time.perf_counter() - start
        lines = [json.loads(line) for line in (Path(folder) / "log.jsonl").read_text().splitlines()]
    expected = next(line["expected_peak_mb"] for line in lines if line["event"] == "memory")
    peak = common.peak_rss_bytes() / 2**20
    return {
        "train_seconds": round(seconds, 1),
        "peak_mb": round(peak),
        "expected_peak_mb": round(expected),
        "expected_over_peak": round(expected / peak, 2),
        **quality(model, corpus),
        **speed(model, corpus.test.texts),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="*", default=DEFAULT)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    asked = parser.parse_args()
    settings = settings_from(TwinSettings, dict(pair.split("=", 1) for pair in asked.set))
    results = {}
    for name in asked.corpora:
        print(f"{name} ...", file=sys.stderr, flush=True)
        results[name] = measured(name, settings)
    common.emit("twin", {"settings": vars(settings), "corpora": results})


if __name__ == "__main__":
    main()
