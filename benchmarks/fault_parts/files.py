"""Bad files of every format that can be read: read somehow, or refused in one line that names the file.

They grow out of good ones: all that `tailwright.write` writes, and the everyday files of the tests. JSON is
also changed by its grammar: every value in turn becomes one of another type, or is left out.
"""

from __future__ import annotations

import itertools
import json
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from everyday_files import FILES
from everyday_rows import PRODUCTS

import tailwright as tw
from fault_parts import Outcome, Trial
from fault_parts.damage import of_value
from fault_parts.mutation import mutated_file
from tailwright.checks.corpora import odd_corpus
from tailwright.data.write import FORMATS
from tailwright.errors import InputError


class Good(NamedTuple):
    """A folder of files, where in it is what is read, and with which options."""

    folder: Path
    path: str
    options: dict[str, str]


class Files:
    """The good files in turn; one of each is changed."""

    name, share, patience = "files", 0.1, 600.0

    def count(self, place: Path) -> int | None:
        return None

    def trial(self, trial: Trial) -> Outcome:
        good = _good(trial.place)
        made, draw = good[trial.number % len(good)], trial.draw()
        folder = trial.scratch / "files"
        shutil.copytree(made.folder, folder)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        file = files[draw.integers(len(files))]
        what, content = _changed(file, draw)
        file.write_bytes(content)
        done = f"{made.folder.name}: {file.relative_to(folder)} {what}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tw.read(made.path.replace(str(made.folder), str(folder)), **made.options)
        except InputError as refused:
            line = str(refused)
            named = str(folder) in line and "\n" not in line
            return Outcome(done, "refused", "" if named else f"the line does not name the file: {line[:300]}")
        except Exception as error:
            return Outcome(done, "crashed", f"{type(error).__name__}: {str(error)[:300]}")
        finally:
            shutil.rmtree(folder)
        return Outcome(done, "read")


def _changed(file: Path, draw: np.random.Generator) -> tuple[str, bytes]:
    data = file.read_bytes()
    if file.suffix in {".json", ".jsonl"} and draw.random() < 0.5:
        lines = data.split(b"\n") if file.suffix == ".jsonl" else [data]
        place = int(draw.integers(len(lines)))
        if lines[place]:
            every = list(itertools.islice(of_value(json.loads(lines[place])), 5000))
            what, value = every[draw.integers(len(every))]
            lines[place] = json.dumps(value).encode()
            return f"line {place + 1} {what}", b"\n".join(lines)
    return mutated_file(file.name, data, draw)


@cache
def _good(place: Path) -> list[Good]:
    """One folder for each format and each everyday file; standard input is none."""
    good, new = [], Path(tempfile.mkdtemp(dir=place, prefix="good-"))
    for name in FORMATS:
        tw.write(odd_corpus(), new / name, format=name)
        good.append(Good(new / name, str(new / name), {}))
    for name, make in FILES.items():
        (new / name).mkdir()
        made = make(new / name, PRODUCTS)
        if made.path != "-":
            good.append(Good(new / name, made.path, made.options))
    return good
