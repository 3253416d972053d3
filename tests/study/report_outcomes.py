"""A small study that was really trained, over labels with the worst names, for reports about it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tailwright.data import Corpus, Dataset, LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.data.pairs import pairs_from_lists
from tailwright.study.plan.cells import Cell
from tailwright.study.run.exam import Exam
from tailwright.study.run.outcomes import Outcome
from tailwright.study.run.trial import key_of, tried

NASTY = (
    "<script>document.title = 'owned'</script>",
    "</script><img src=x onerror=\"document.title = 'owned'\">",
    "one\u2028line & <b>another</b>",
    "]]> --> %{y} $x$ {{x}} \\u003c",
)
LABELS = 24
TRAIN_ROWS, TEST_ROWS = 240, 30
QUICK = {"width": 16, "epochs": 2}


def nasty_corpus() -> Corpus:
    """Rows that speak of their labels by a word of each; early labels are frequent, the last is unseen."""
    random = np.random.default_rng(0)
    odds = 1 / np.arange(1, LABELS + 1) ** 1.2
    odds[-1] = 0
    words = [f"word{label}" for label in range(LABELS)]

    def rows(count: int) -> Dataset:
        ids = [
            sorted(random.choice(LABELS, 2, replace=False, p=odds / odds.sum()).tolist())
            for _ in range(count)
        ]
        texts = [f"{' '.join(words[label] for label in row)} filler{i % 7}" for i, row in enumerate(ids)]
        texts[0] += f" {NASTY[0]} {NASTY[2]}"
        # One label of every third row must neither count nor show.
        excluded = [row[:1] if i % 3 == 0 else [] for i, row in enumerate(ids)]
        return Dataset(
            arrow_strings(texts), pairs_from_lists(ids, LABELS), excluded=pairs_from_lists(excluded, LABELS)
        )

    names = [
        f"{NASTY[label]} {words[label]}" if label < len(NASTY) else words[label] for label in range(LABELS)
    ]
    space = LabelSpace(arrow_strings([str(i) for i in range(LABELS)]), arrow_strings(names))
    return Corpus(rows(TRAIN_ROWS), space, test=rows(TEST_ROWS))


def trained_study(folder: Path) -> tuple[list[Outcome], dict[str, Exam]]:
    """Nine cells: twin without and with label texts, two seeds; linear too, and on half the rows."""
    name = "nasty <b>data</b>"
    exam = Exam(name, nasty_corpus())
    cells = [
        Cell(name, "nowhere", "twin", augmentation, augment, settings=QUICK, seed=seed)
        for augmentation, augment in (("none", ()), ("gandalf", ("gandalf",)), ("<i>mix</i>", ("labelmix",)))
        for seed in (0, 1)
    ]
    cells += [Cell(name, "nowhere", "linear"), Cell(name, "nowhere", "linear", "gandalf", ("gandalf",))]
    cells.append(Cell(name, "nowhere", "linear", fraction=0.5))
    outcomes = []
    for number, cell in enumerate(cells):
        place = folder / str(number)
        place.mkdir()
        outcomes.append(tried(cell, key_of(cell, exam.corpus), exam, place, curves=True))
    return outcomes, {name: exam}
