"""The paired bootstrap of a whole table beside one that takes the rows of each draw one ranking at a time.

Forty rankings of 13,000 rows in six metrics, as many as a table of a study has. The other way is what a loop
over draws does: pick the rows, add up. It is run on a few draws, and its time is scaled to as many as ours.
"""

from __future__ import annotations

import argparse

import common
import numpy as np

from tailwright.evaluation.bootstrap import difference
from tailwright.evaluation.row_parts import Drawn, Draws, RowParts
from tailwright.streams import stream

METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")


def table(parts: list[RowParts], draws: int) -> list[float]:
    """Every ranking against the first, in every metric."""
    shared = Draws(len(parts[0].found), draws)
    drawn = [Drawn.of(one, shared) for one in parts]
    gains = [difference(drawn[:1], [one], metric) for one in drawn for metric in METRICS]
    return [gain.p for gain in gains if gain is not None]


def by_loop(parts: list[RowParts], draws: int) -> np.ndarray:
    """(draws, rankings, metrics): the metrics of each draw, by picking its rows."""
    rows = len(parts[0].found)
    found = np.empty((draws, len(parts), len(METRICS)))
    for draw in range(draws):
        picked = stream(0, "bootstrap-rows", draw).integers(0, rows, rows)
        for place, one in enumerate(parts):
            found[draw, place] = one.achieved[picked].sum(axis=0) / one.possible[picked].sum(axis=0)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=13_000)
    parser.add_argument("--rankings", type=int, default=40)
    parser.add_argument("--draws", type=int, default=2_000)
    asked = parser.parse_args()
    random = np.random.default_rng(0)
    shape = (asked.rows, len(METRICS))
    parts = [RowParts(METRICS, random.random(shape), np.ones(shape)) for _ in range(asked.rankings)]
    few = max(asked.draws // 100, 2)
    seconds = common.interleaved(
        {"table": lambda: table(parts, asked.draws), "loop": lambda: by_loop(parts, few)}, repeats=3
    )
    loop = seconds["loop"] * asked.draws / few
    common.emit(
        "bootstrap",
        {
            **vars(asked),
            "seconds": {"table": round(seconds["table"], 2), "loop": round(loop, 2)},
            "loop_over_table": round(loop / seconds["table"], 1),
            "peak_mb": round(common.peak_rss_bytes() / 2**20),
        },
    )


if __name__ == "__main__":
    main()
