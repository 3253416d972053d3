"""`Outcome`: what a finished cell gave. Tables, reports, claims and comparisons all start from outcomes.

docs/studies.md lists the files of a study's folder. Its `cells.json` has the cells that were last asked for,
with their names; cells of an earlier plan, or of earlier code, stay in their folders but do not count.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import Dataset
from tailwright.errors import InputError, quoted
from tailwright.runs.evaluation import measured, ranked, refuse_other_labels
from tailwright.runs.run import Run, load
from tailwright.runs.tail import Tail, tail_value
from tailwright.store import open_folder, writing
from tailwright.store.strict_json import decode, encode
from tailwright.store.whole_file import write_whole
from tailwright.study.plan.cells import BASELINE, Cell, cell_from
from tailwright.study.run.exam import Exam
from tailwright.study.run.learning import stopped_learning

LISTING = "cells.json"
LOG = "log.json"  # of an outcome that was taken in; that of a training is in its run
# What result.json holds; older ones lack `stopped_learning` and `made`.
_RESULT: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("train_seconds", "predict_seconds", "peak_rss_mb"), (float, int)),
    **dict.fromkeys(("n_train", "n_augmented"), (int,)),
    "key": (str,),
    **dict.fromkeys(("metrics", "searched", "chosen"), (dict,)),
    "stopped_learning": (bool, type(None)),
}
_MADE = ("key", "data", "code")


@dataclass(frozen=True)
class Made:
    """How a cell came to its key: digests of its data and of the code that made it; empty: not known."""

    key: str
    data: str = ""
    code: str = ""


@dataclass(frozen=True, eq=False)
class Outcome:
    """A cell, its ranking of the test rows, and what it cost.

    `top` is wide enough for k = 10 after excluded pairs are taken out; -1 stands after the last label.
    """

    cell: Cell
    key: str
    metrics: Mapping[str, Any]  # as `tailwright.evaluate` gives them, with `slices`
    top: np.ndarray  # (test rows, width) int32: the best labels, best first
    counts: np.ndarray  # (labels,) int64: original training rows of each label, as the cell saw them
    augmented_counts: np.ndarray  # (labels,) float64: the same with the weighted soft targets of added rows
    train_seconds: float  # of the training alone, including the time of shared work, whoever did it
    predict_seconds: float
    peak_rss_mb: float
    n_train: int  # original rows
    n_augmented: int = 0
    searched: Mapping[str, float] = field(default_factory=dict)  # choice of settings to validation metric
    chosen: Mapping[str, Any] = field(default_factory=dict)  # the best choice
    stopped_learning: bool | None = None  # by the training's curve on validation rows; None: not known
    log: tuple[Mapping[str, Any], ...] = ()
    folder: Path | None = None  # the cell's folder; None for an outcome that was never kept
    made: Made | None = None  # None for an older outcome
    taken: bool = False  # from kept outcomes, so that its run is not here

    @property
    def of_other_code(self) -> bool:
        """Whether it was made by another version of the code than the study's."""
        return self.made is not None and self.made.key != self.key


def save_outcome(outcome: Outcome, folder: Path) -> None:
    """Keep it in a cell's folder: all of it or nothing. Once it is there, the cell is finished."""
    with writing(folder / "outcome", kind="outcome", overwrite=True) as place:
        place.json("cell.json", outcome.cell.as_dict())
        place.json("result.json", result_of(outcome))
        place.array("top", outcome.top.astype(np.int32, copy=False))
        place.array("counts", outcome.counts.astype(np.int64, copy=False))
        place.array("augmented_counts", outcome.augmented_counts.astype(np.float64, copy=False))
        if outcome.taken:
            place.json(LOG, outcome.log)


def load_outcome(folder: Path) -> Outcome:
    """The outcome kept in a cell's folder; damage is one clear error."""
    place = open_folder(folder / "outcome", kind="outcome")
    result = checked_result(place.json("result.json"), place.path)
    taken = place.has(LOG)
    counts = place.array("counts", dtype=np.int64, shape=(None,))
    return Outcome(
        cell=cell_from(place.json("cell.json")),
        top=place.array("top", dtype=np.int32, shape=(None, None)),
        counts=counts,
        augmented_counts=place.array("augmented_counts", dtype=np.float64, shape=(len(counts),)),
        log=tuple(place.json(LOG) if taken else read_log(folder / "run" / "log.jsonl")),
        folder=folder,
        taken=taken,
        **result,
    )


def result_of(outcome: Outcome) -> dict[str, Any]:
    """All but the cell, the arrays and the log, as plain values for JSON; `checked_result` reads them."""
    made = {} if outcome.made is None else {"made": asdict(outcome.made)}
    return {name: getattr(outcome, name) for name in _RESULT} | made


def checked_result(result: Any, path: Path) -> dict[str, Any]:
    """What `result_of` wrote, as arguments of `Outcome`; an InputError on `path` for anything else."""
    values = result if isinstance(result, dict) else {}
    for name, kinds in _RESULT.items():
        value = values.get(name)
        if type(value) not in kinds:
            wanted = kinds[0].__name__
            raise InputError(f"found {quoted(value)}", expected=f"{name}: {wanted}", path=path)
    made = values.get("made")
    if made is not None and not (
        isinstance(made, dict) and set(made) == {*_MADE} and all(type(made[name]) is str for name in _MADE)
    ):
        raise InputError(f"found {quoted(made)}", expected=f"made: texts {', '.join(_MADE)}", path=path)
    return {name: values.get(name) for name in _RESULT} | {"made": None if made is None else Made(**made)}


def is_finished(folder: Path) -> bool:
    """Whether the cell's outcome is there; it is written last and in one step."""
    return (folder / "outcome").is_dir()


def outcomes_of(study: Path) -> list[Outcome]:
    """The finished cells of a study, in the order and under the names in which they were last asked for."""
    cells = [(study / "cells" / key, cell) for key, cell in listed_cells(study)]
    return [replace(load_outcome(folder), cell=cell) for folder, cell in cells if is_finished(folder)]


def list_cells(study: Path, cells: Sequence[tuple[str, Cell]]) -> None:
    """Write down which cells a study asks for, each with its key."""
    write_whole(study / LISTING, encode([{"key": key, "cell": cell.as_dict()} for key, cell in cells]))


def listed_cells(study: Path) -> list[tuple[str, Cell]]:
    """The cells that a study asks for; an InputError for a folder that is no study."""
    path = study / LISTING
    if not path.is_file():
        raise InputError("found no study", expected="a folder that `tailwright study` wrote", path=study)
    try:
        return [(str(entry["key"]), cell_from(entry["cell"])) for entry in decode(path.read_bytes())]
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"found no list of cells ({error})", path=path) from error


def outcome_of_run(folder: Path, corpus: Corpus, tail: Tail = 0.0) -> Outcome:
    """A hand-picked run as an outcome: it ranks the test rows of `corpus` now.

    A run folder does not say which rows were held out as validation rows; the cell says that none were. A
    `tail` above 0 is the variant of the cell.
    """
    run = load(folder)
    refuse_other_labels(corpus, run, folder)
    wanted = tail_value(run, tail)
    variant = f"tail {wanted:g}" if wanted else ""
    exam = Exam(Path(corpus.source).name or "data", corpus)
    cell = Cell(
        dataset=exam.name,
        path=corpus.source,
        model=run.name,
        augmentation="+".join(run.augment) or BASELINE,
        augment=run.augment,
        augment_settings={applied.name: applied.settings for applied in run.augmentations},
        variant=variant,
        settings=asdict(run.model.settings),
        fraction=run.fraction,
        valid=0,
        seed=run.seed,
    )
    key = cell.key(corpus.digest(), f"{folder.resolve()}{variant}")
    return replace(judged(run, folder, cell, key, exam.test, wanted), folder=folder)


def judged(run: Run, folder: Path, cell: Cell, key: str, test: Dataset, tail: float = 0.0) -> Outcome:
    """What the cell's run, kept in `folder`, gives on the test rows; they are ranked and measured once."""
    start = time.perf_counter()
    top = ranked(run, test, tail=tail)
    seconds = time.perf_counter() - start
    log = read_log(folder / "log.jsonl")
    return Outcome(
        cell=cell,
        key=key,
        metrics=measured(run, top, test),
        top=top.ids,
        counts=run.labels.counts,
        augmented_counts=run.augmented_counts,
        train_seconds=seconds_in(log),
        predict_seconds=round(seconds, 3),
        peak_rss_mb=peak_in(log),
        n_train=run.train_rows,
        n_augmented=run.rows_added,
        stopped_learning=stopped_learning(log),
        log=tuple(log),
    )


def read_log(path: Path) -> list[dict[str, Any]]:
    """The events of a log; a line that a kill cut short is left out."""
    events = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        with suppress(json.JSONDecodeError):
            events.append(json.loads(line))
    return [event for event in events if isinstance(event, dict) and "time" in event]


def seconds_in(log: Sequence[Mapping[str, Any]]) -> float:
    """How long a training took by its log; shared work counts as if it had been done here.

    Neither the time between a kill and the resumption counts, nor the time spent on watched rows. Every
    resumption begins with the phase that the log begins with.
    """
    first = next((event.get("phase") for event in log if event["event"] == "start"), None)
    begins = [i for i, event in enumerate(log) if event["event"] == "start" and event["phase"] == first]
    spans = pairwise([*begins, len(log)])
    seconds = sum(log[end - 1]["time"] - log[begin]["time"] for begin, end in spans)
    spared = sum(event.get("spared_seconds", 0) for event in log)
    watching = sum(event.get("watch_seconds", 0) for event in log)
    return round(max(seconds + spared - watching, 0.0), 3)


def peak_in(log: Sequence[Mapping[str, Any]]) -> float:
    """The largest resident memory in a training's log, in MB."""
    return max((float(event["peak_rss_mb"]) for event in log if "peak_rss_mb" in event), default=0.0)
