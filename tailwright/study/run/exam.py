"""`Exam`: the test rows and the labels that the cells of one dataset are judged on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import Dataset
from tailwright.data.demo import demo_corpus
from tailwright.data.read import read
from tailwright.errors import InputError, quoted
from tailwright.runs.run import read_facts
from tailwright.study.plan.cells import Cell

DEMO = "demo"


@dataclass(frozen=True, eq=False)
class Exam:
    """A dataset as the study calls it, and all of its rows and labels."""

    name: str
    corpus: Corpus

    @property
    def test(self) -> Dataset:
        if self.corpus.test is None or not len(self.corpus.test):
            raise InputError("found no test rows", expected="test rows to judge by", path=self.corpus.source)
        return self.corpus.test

    @property
    def labels(self) -> LabelSpace:
        """The labels; their counts are of all training rows, not of a cell's share."""
        return self.corpus.labels


def exam_of(cell: Cell) -> Exam:
    """What a cell is judged on; its data are read once per process."""
    return Exam(cell.dataset, _kept(cell.path))


def source_of(folder: Path) -> str:
    """The path of the corpus that the run in a folder was trained on."""
    source = read_facts(folder).data.path
    if not source:
        raise InputError("does not say which data it was trained on", expected="--data PATH", path=folder)
    return source


def read_source(path: str) -> Corpus:
    """The corpus at a path that a cell or a run names: what `read` reads, `demo`, or `demo:ROWS`."""
    name, _, rows = path.partition(":")
    if name != DEMO:
        return read(path)
    if rows and not rows.isdigit():
        raise InputError(f"found {quoted(path)}", expected="demo, or demo:ROWS such as demo:5000")
    return replace(demo_corpus(size=int(rows) if rows else None), source=path)


_kept = lru_cache(maxsize=8)(read_source)
