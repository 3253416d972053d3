"""results.parquet: the form of published tables, every metric, written whole or not at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from tailwright.errors import TailwrightError
from tailwright.study.compare.conclusion import results, write_results
from tailwright.study.plan.cells import Cell
from tailwright.study.run.outcomes import Outcome

PUBLISHED = [
    *("paper", "table", "dataset", "model", "augmentation", "train_fraction", "n_train", "weight", "variant"),
    *("metric", "value"),
]
OUTCOME = Outcome(
    cell=Cell("toy", "data", "linear", "gandalf", ("gandalf",), variant="deep", fraction=0.5, seed=2),
    key="abc",
    metrics={
        "P@1": 50.0,
        "PSP@5": 25.5,
        "slices": {"head": {"P@1": 60.0, "labels": 3, "rows": 4}, "tail": {"P@1": 1, "labels": 1, "rows": 1}},
    },
    top=np.zeros((2, 1), np.int32),
    counts=np.zeros(3, np.int64),
    augmented_counts=np.zeros(3),
    train_seconds=1.5,
    predict_seconds=0.25,
    peak_rss_mb=99.0,
    n_train=40,
)


def test_columns_are_those_of_published_tables_and_more():
    names = results([], "title").column_names
    assert [name for name in names if name in PUBLISHED] == PUBLISHED
    assert set(names) - set(PUBLISHED) == {
        *("slice", "seed", "train_seconds", "predict_seconds", "peak_rss_mb", "key")
    }


def test_every_metric_of_every_slice_is_a_row():
    rows = results([OUTCOME, replace(OUTCOME, key="def")], "title").to_pylist()
    assert [(row["key"], row["slice"], row["metric"], row["value"]) for row in rows[:4]] == [
        ("abc", "all", "P@1", 50.0),
        ("abc", "all", "PSP@5", 25.5),
        ("abc", "head", "P@1", 60.0),
        ("abc", "tail", "P@1", 1.0),
    ]
    assert len(rows) == 8
    assert {name: rows[0][name] for name in rows[0] if name not in {"key", "slice", "metric", "value"}} == {
        "paper": "tailwright",
        "table": "title",
        "dataset": "toy",
        "model": "linear",
        "augmentation": "gandalf",
        "train_fraction": 0.5,
        "n_train": 40,
        "weight": None,
        "variant": "deep",
        "seed": 2,
        "train_seconds": 1.5,
        "predict_seconds": 0.25,
        "peak_rss_mb": 99.0,
    }


@pytest.mark.parametrize(
    ("augment", "settings", "chosen", "weight"),
    [
        (("gandalf",), {"gandalf": {"weight": 0.5}}, {}, 0.5),
        (("gandalf",), {"gandalf": {"weight": 0.5}}, {"gandalf.weight": 0.1}, 0.1),
        (("gandalf",), {"gandalf": {"soft": False}}, {}, None),
        (("gandalf", "labelmix"), {"gandalf": {"weight": 0.5}}, {}, None),
        ((), {}, {}, None),
    ],
)
def test_the_weight_is_the_one_that_was_searched_or_set(augment, settings, chosen, weight):
    cell = replace(OUTCOME.cell, augment=augment, augment_settings=settings)
    table = results([replace(OUTCOME, cell=cell, chosen=chosen)], "title")
    assert set(table["weight"].to_pylist()) == {weight}


def test_the_file_is_replaced_whole_or_stays(tmp_path, monkeypatch):
    path = tmp_path / "results.parquet"
    write_results(path, [OUTCOME], "title")
    before = path.read_bytes()
    assert pq.read_table(path).equals(results([OUTCOME], "title"))

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(TailwrightError, match=r"results\.parquet: cannot be written \(No space left"):
        write_results(path, [], "title")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
