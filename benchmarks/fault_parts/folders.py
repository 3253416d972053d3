"""Damaged run folders, loaded and asked in this process: refused in one line, or as good as undamaged.

| trials | damage | may come of it |
|---|---|---|
| every third | random bytes that the manifest knows nothing of | a refusal, or the same predictions |
| every third | lies behind right hashes, all of `damage.py` in turn | a refusal, or finite scores |
| every third | random bytes behind right hashes | a refusal, or finite scores |
"""

from __future__ import annotations

import itertools
import json
import shutil
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

import tailwright as tw
from fault_parts import Outcome, Trial
from fault_parts.damage import Damage, damages, do
from fault_parts.mutation import mutated
from fault_parts.places import names_at, run_of
from tailwright.errors import InputError
from tailwright.evaluation.ranking import TopK

TEXTS = ["apple bridge old", "", "zzz", "forest things harbour"]


class Folders:
    """The runs of all models in turn."""

    name, share, patience = "folders", 0.3, 600.0

    def __init__(self) -> None:
        self._lies: dict[str, tuple[int, Iterator[Damage]]] = {}

    def count(self, place: Path) -> int | None:
        return None

    def trial(self, trial: Trial) -> Outcome:
        names, kind = names_at(trial.place), trial.number % 3
        turn, place = divmod(trial.number // 3, len(names))
        name = names[place]
        run, draw = run_of(name, trial.place), trial.draw()
        copy = trial.place / "damaged" / name
        if not copy.is_dir():
            shutil.copytree(run, copy)
        if kind == 1:
            damage = self._lie(name, run, turn)
        else:
            files = sorted(json.loads((run / "manifest.json").read_bytes())["files"])
            chosen = files[draw.integers(len(files))]
            damage = Damage(chosen, *mutated((run / chosen).read_bytes(), draw))
        done = f"{name}: {damage.name} {damage.what}, with {'the old' if kind == 0 else 'a right'} hash"
        try:
            if kind == 0:
                (copy / damage.name).write_bytes(damage.content)
            else:
                do(damage, copy)
            return asked(copy, done, undamaged(run) if kind == 0 else None)
        finally:
            for changed in (damage.name, "manifest.json"):
                shutil.copyfile(run / changed, copy / changed)

    def _lie(self, name: str, run: Path, turn: int) -> Damage:
        """The damage of that turn; they come in a row, so the generator stays where it is between trials."""
        at, lies = self._lies.get(name, (0, iter(())))
        if turn < at or not at:
            at, lies = 0, itertools.chain.from_iterable(damages(run) for _ in itertools.count())
        damage = next(itertools.islice(lies, turn - at, None))
        self._lies[name] = turn + 1, lies
        return damage


@cache
def undamaged(run: Path) -> TopK:
    """What the run says of the texts."""
    return tw.load(run).top(TEXTS, 5)


def asked(folder: Path, done: str, expected: TopK | None) -> Outcome:
    """What came of loading the folder and asking the run; with a problem if it is neither refused nor good.

    Good are the `expected` predictions, or, without any, finite scores of known labels.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = tw.load(folder)
            top = run.top(TEXTS, 5)
            run.predict(TEXTS)
    except InputError as refused:
        line = str(refused)
        named = str(folder) in line and "\n" not in line
        return Outcome(
            done, "refused", "" if named else f"the line does not name a file of the folder: {line}"
        )
    except Exception as error:
        return Outcome(done, "crashed", f"{type(error).__name__}: {error}")
    if expected is not None:
        same = np.array_equal(top.ids, expected.ids) and np.array_equal(top.scores, expected.scores)
        return Outcome(done, "the same", "" if same else "other predictions, and not a word of it")
    finite = np.isfinite(top.scores[top.ids >= 0]).all()
    known = top.ids.max(initial=-1) < len(run.labels)
    return Outcome(
        done, "finite", "" if finite and known else "scores that are no numbers, or unknown labels"
    )
