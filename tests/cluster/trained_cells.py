"""Studies on a toy corpus for tests of clusters, and what their cells give without any."""

from __future__ import annotations

import hashlib
from pathlib import Path

from toy_study import plan_of, write_data

from tailwright.store.strict_json import encode
from tailwright.study.run.exam import exam_of
from tailwright.study.run.outcomes import Outcome, load_outcome, save_outcome
from tailwright.study.run.runner import Study, prepared
from tailwright.study.run.trial import tried

PLAN = """
[datasets]
toy = "data"
[models.linear]
trees = 1
[augmentations.none]
[augmentations.gandalf]
[augmentations.both]
ensemble = ["none", "gandalf"]
"""


def study_in(folder: Path, name: str, text: str = PLAN) -> Study:
    """A study in `folder`/`name` over the corpus in `folder`/data, which is written by the first."""
    if not (folder / "data").exists():
        write_data(folder / "data")
    return prepared(plan_of(folder, text), folder / name)


def trained_here(study: Study) -> dict[str, str]:
    """Train every cell in this process; digests of what they give, by key."""
    for key, cell in study.keys().items():
        save_outcome(tried(cell, key, exam_of(cell), study.place(key)), study.place(key))
    return digests(study)


def digests(study: Study) -> dict[str, str]:
    """Of the ranking, the metrics and the counts of each finished cell."""
    return {key: _digest(load_outcome(study.place(key))) for key, _ in study.cells if study.is_finished(key)}


def _digest(outcome: Outcome) -> str:
    digest = hashlib.sha256(encode(dict(outcome.metrics)))
    for array in (outcome.top, outcome.counts, outcome.augmented_counts):
        digest.update(array.tobytes())
    return digest.hexdigest()
