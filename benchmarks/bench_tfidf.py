"""TF-IDF against scikit-learn's: seconds on `yso-finna-en`, and the same values on every text dataset, whole.

    .venv/bin/python benchmarks/bench_tfidf.py

Both tools get what they are made for (a list of str; an Arrow column), are run in turn, and their matrices
are compared. Compilation is measured in an empty cache and is not part of the other times.
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common
import numpy as np
from scipy import sparse

TIMED = "yso-finna-en"
# A title as a user types it, for the time of one answer.
QUERY = "Zero waste home: the ultimate guide to simplifying your life"


def texts_of(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def largest_difference(ours: sparse.csr_array, theirs: Any) -> float:
    return float(np.abs((ours - sparse.csr_array(theirs)).data).max(initial=0))


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    from tailwright.data.dataset import arrow_strings
    from tailwright.data.text.tfidf import TfIdf

    def peer() -> TfidfVectorizer:
        return TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+")

    compiling = seconds(lambda: TfIdf.fit_transform(["red hat", "İ"])[0].transform(["red hat"]))

    agreement = {}
    for folder in sorted(common.data_folder().iterdir()):
        if not (folder / "train.jsonl.gz").exists():
            continue
        train, test = texts_of(folder / "train.jsonl.gz"), texts_of(folder / "test.jsonl.gz")
        theirs = peer()
        their_matrix = theirs.fit_transform(train)
        ours, our_matrix = TfIdf.fit_transform(train)
        agreement[folder.name] = {
            "rows": len(train) + len(test),
            "columns": our_matrix.shape[1],
            "same_vocabulary": ours.vocabulary.to_pylist() == theirs.get_feature_names_out().tolist(),
            "largest_difference_train": largest_difference(our_matrix, their_matrix),
            "largest_difference_test": largest_difference(ours.transform(test), theirs.transform(test)),
        }

    texts = texts_of(common.data_folder() / TIMED / "train.jsonl.gz")
    column = arrow_strings(texts)
    fitted, theirs = TfIdf.fit(column), peer().fit(texts)
    taken = common.interleaved(
        {
            "fit_transform": lambda: TfIdf.fit_transform(column),
            "fit_transform_scikit_learn": lambda: peer().fit_transform(texts),
            "transform": lambda: fitted.transform(column),
            "transform_scikit_learn": lambda: theirs.transform(texts),
            "fit_transform_from_list": lambda: TfIdf.fit_transform(texts),
            "fit_transform_one_thread": lambda: TfIdf.fit_transform(column, threads=1),
            "one_text_x1000": lambda: [fitted.transform([QUERY]) for _ in range(1000)],
            "one_text_x1000_scikit_learn": lambda: [theirs.transform([QUERY]) for _ in range(1000)],
        }
    )
    common.emit(
        "tfidf",
        {
            "dataset": TIMED,
            "rows": len(texts),
            "compile_seconds": round(compiling, 3),
            "seconds": {name: round(value, 4) for name, value in taken.items()},
            "times_as_fast": {
                name: round(taken[f"{name}_scikit_learn"] / taken[name], 2)
                for name in ("fit_transform", "transform", "one_text_x1000")
            },
            "rows_a_second": {
                name: round(len(texts) / taken[name])
                for name in taken
                if name.startswith(("fit_transform", "transform"))
            },
            "agreement": agreement,
        },
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as cache:
        os.environ["NUMBA_CACHE_DIR"] = cache  # read when numba is first imported, which is in main
        main()
