"""Shared work: seconds to make what trainings may share, and to load what another has made, on one core.

    NUMBA_NUM_THREADS=1 .venv/bin/python benchmarks/bench_shared.py [DATASET]...

Loading has the digest of the inputs in it; the version of the code, which a process computes once, stands
apart. Word features are not shared: their loading is timed to show why.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import common
import numpy as np
import pyarrow as pa
from scipy import sparse

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.code_version import Sources
from tailwright.data import Corpus
from tailwright.data.text.tfidf import TfIdf
from tailwright.encoders.subwords import SubwordSettings, shared_subwords
from tailwright.heads.shortlist_settings import ClusterSettings
from tailwright.labels.correlation import GraphSettings
from tailwright.labels.shared import annotations_of, shared_tree
from tailwright.labels.surrogate_clusters import cluster_count, label_clusters, label_vectors
from tailwright.labels.tree import TreeShape
from tailwright.labels.vectors import pifa
from tailwright.runs import augment
from tailwright.store import FolderReader, FolderWriter
from tailwright.store.shared import content_key, shared

DATASETS = ("winapi-seealso", "tibkat-keywords-titles", "cve-libraries")
MODULES = ("tailwright.models.astec.model", "tailwright.models.linear", "tailwright.models.twin.model")


def works(corpus: Corpus) -> Mapping[str, Callable[[], object]]:
    """What can be shared, by name."""
    train = corpus.train
    every = pa.concat_arrays([train.texts, corpus.labels.texts])
    matrix = TfIdf.fit_transform(train.texts)[1]
    labels = np.flatnonzero(corpus.labels.counts).astype(np.int32)
    of_rows = pifa(train.targets, matrix)[labels]
    chosen = ClusterSettings()
    smoothing = chosen.smoothing
    graph = GraphSettings(smoothing.steps, smoothing.restart, smoothing.top, smoothing.head_cut)
    smooth = label_vectors(
        train, matrix, rows=chosen.rows, graph=graph, most_rows=smoothing.most_rows, seed=0
    )
    clusters = cluster_count(len(labels), chosen.count, chosen.labels_each)
    return {
        "label graph": lambda: annotations_of(corpus, GraphSettings(), threshold=0.1),
        "gandalf rows": lambda: augment(corpus, "gandalf"),
        "words and pieces": lambda: shared_subwords(every, SubwordSettings()),
        "words": lambda: shared_words(every),
        "label tree": lambda: shared_tree(of_rows, labels, TreeShape(), seed=0),
        "label clusters": lambda: label_clusters(smooth, clusters, 0),
    }


def shared_words(texts: pa.LargeStringArray) -> tuple[TfIdf, sparse.csr_array]:
    def save(folder: FolderWriter, made: tuple[TfIdf, sparse.csr_array]) -> None:
        made[0].save(folder)
        folder.csr("matrix", made[1])

    def load(folder: FolderReader) -> tuple[TfIdf, sparse.csr_array]:
        return TfIdf.load(folder), folder.csr("matrix")

    return shared("words", lambda: content_key(texts), lambda: TfIdf.fit_transform(texts), save, load)


@contextmanager
def sharing(folder: str | None) -> Iterator[None]:
    """Within the block, work is shared in `folder`; not at all without one."""
    os.environ["TAILWRIGHT_SHARED"] = folder or ""
    yield
    del os.environ["TAILWRIGHT_SHARED"]


def under(folder: str | None, work: Callable[[], object]) -> Callable[[], object]:
    def run() -> None:
        with sharing(folder):
            work()

    return run


def main() -> None:
    for work in works(tiny_corpus()).values():
        work()  # compiles
    found: dict[str, object] = {}
    for name in sys.argv[1:] or DATASETS:
        corpus = tw.read(common.data_folder() / name).split(0.1)
        seconds = {}
        with tempfile.TemporaryDirectory() as folder:
            for what, work in works(corpus).items():
                under(folder, work)()  # the first one makes it
                taken = common.interleaved({"make": under(None, work), "load": under(folder, work)}, 3)
                seconds[what] = {way: round(value, 3) for way, value in taken.items()}
        found[name] = seconds
    package = Path(tw.__file__).parent
    version = common.interleaved({"code": lambda: Sources(package).version(MODULES)}, 3)
    common.emit("shared", {"seconds": found, "code_version_seconds": round(version["code"], 3)})


if __name__ == "__main__":
    main()
