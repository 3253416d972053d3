"""The parts of a fusion as pieces of work: a part of a fold, or of all rows, needs nothing of the others.

Whoever does a piece fits the part in a folder of its own and sends back the files of that folder and its log.
They are put where a training that was killed would have left the part, and the fusion finds them there.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwright.augmentation import Augmenter
from tailwright.data.corpus import Corpus
from tailwright.models import models
from tailwright.settings import settings_from
from tailwright.store.sending import folder_as_bytes, write_bytes_as_folder
from tailwright.training.executor import Executor, elsewhere
from tailwright.training.workplace import LOG, Workplace

if TYPE_CHECKING:
    from tailwright.training.devices import Device

KIND, FINISHED = "part", "finished"


@dataclass(frozen=True, eq=False)
class FusionToFit:
    """A fusion, and what it learns from."""

    model: str
    settings: Mapping[str, Any]
    mixes: Sequence[Augmenter]
    device: Device
    corpus: Corpus
    seed: int


@dataclass(frozen=True)
class FusionStage:
    """All parts are fitted in each stage: to a fold, or in the end to all rows."""

    folder: str  # in the work folder; empty for the first fold, whose parts are in that itself
    fold: int | None  # None: all rows

    def place(self, work: Workplace) -> Workplace:
        """Where its parts are trained and wait."""
        return work.sub(self.folder) if self.folder else work


def stages_of(folds: int, again: bool) -> list[FusionStage]:
    """The folds, and all rows if the parts learn `again` from these."""
    stages = [FusionStage(f"fold-{fold}" if fold else "", fold) for fold in range(folds)]
    return [*stages, FusionStage("all-rows", None)] if again else stages


@dataclass(frozen=True)
class Piece:
    """A part in one of the stages."""

    stage: FusionStage
    part: str

    def finished(self, work: Workplace) -> Path:
        """Where the part waits, in a place that has a folder."""
        folder = self.stage.place(work).sub(self.part).folder
        assert folder is not None
        return folder / FINISHED


@dataclass(frozen=True, eq=False)
class SentPart:
    """A fitted part as the files of its folder, and the lines that its fit logged."""

    files: Mapping[str, np.ndarray]
    log: Sequence[str]


def fitted_piece(given: FusionToFit, piece: Piece) -> SentPart:
    """Fit one part, as the fusion itself would."""
    kind: Any = models.get(given.model)  # a Fusion, which knows this file
    fusion = kind(settings_from(kind.Settings, given.settings))
    fusion.mixes, fusion.device = given.mixes, given.device
    with tempfile.TemporaryDirectory(prefix="tailwright-part-") as folder:
        # Nobody could go on from a checkpoint here: a piece whose worker is lost is done anew.
        work = Workplace(Path(folder), checkpoint_seconds=math.inf)
        fusion.fit_one_part(piece.part, given.corpus, piece.stage.fold, seed=given.seed, work=work)
        files = folder_as_bytes(Path(folder) / piece.part / FINISHED, KIND)
        return SentPart(files, (Path(folder) / LOG).read_text(encoding="utf-8").splitlines())


@contextmanager
def fitted_elsewhere(
    given: FusionToFit,
    parts: Sequence[str],
    stages: Sequence[FusionStage],
    work: Workplace,
    *,
    memory_mb: float,
) -> Iterator[Workplace]:
    """A place where these parts are finished in all stages, if another executor is there to fit them.

    Else it is `work` itself, and they are still to be fitted.
    """
    executor = elsewhere()
    if executor is None:
        yield work
        return
    pieces = [Piece(stage, part) for part in parts for stage in stages]
    with ExitStack() as stack:
        if work.folder is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tailwright-parts-"))
            work = work.moved(Path(folder))
        _fit_pieces(executor, given, pieces, work, memory_mb)
        yield work.resumed()


def _fit_pieces(
    executor: Executor, given: FusionToFit, pieces: Sequence[Piece], work: Workplace, memory_mb: float
) -> None:
    """Put every part into its place; those that a killed training has finished stay."""
    missing = [piece for piece in pieces if not (work.resume and piece.finished(work).exists())]
    if not missing:
        return
    with work.phase("parts", parts=len(pieces), kept=len(pieces) - len(missing)):
        for number, part in executor.run(fitted_piece, given, missing, memory_mb=memory_mb):
            write_bytes_as_folder(part.files, missing[number].finished(work))
            _repeat(part.log, work.log)


def _repeat(lines: Sequence[str], log: Callable[..., None]) -> None:
    """Log what was logged elsewhere, with its own times."""
    for line in lines:
        log(**json.loads(line))
