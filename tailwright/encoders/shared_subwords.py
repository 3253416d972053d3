"""`SubwordTfIdf.fit_transform`, computed once for all trainings on the same texts that share their work."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tailwright.code_version import code_version
from tailwright.data.dataset import arrow_strings
from tailwright.data.text.words import Texts
from tailwright.encoders.subwords import SubwordSettings, SubwordTfIdf
from tailwright.store import FolderReader, FolderWriter
from tailwright.store.shared import content_key, shared


def shared_subwords(texts: Texts, settings: SubwordSettings) -> tuple[SubwordTfIdf, sparse.csr_array]:
    """The features fitted to the texts, and their matrix; see `tailwright.store.shared`."""
    rows = arrow_strings(texts)

    def save(folder: FolderWriter, fitted: tuple[SubwordTfIdf, sparse.csr_array]) -> None:
        features, matrix = fitted
        features.save(folder.sub("features"))
        folder.csr("matrix", matrix)

    def load(folder: FolderReader) -> tuple[SubwordTfIdf, sparse.csr_array]:
        features = SubwordTfIdf.load(folder.sub("features"))
        return features, folder.csr("matrix", dtype=np.float32, shape=(len(rows), features.columns))

    return shared(
        "subwords",
        lambda: content_key(code_version(["tailwright.encoders.subwords"]), repr(settings), rows),
        lambda: SubwordTfIdf.fit_transform(rows, settings),
        save,
        load,
    )
