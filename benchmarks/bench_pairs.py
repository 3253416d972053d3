"""Pairs of texts with the same labels that are nearly the same: ours against plain difflib.

    NUMBA_NUM_THREADS=1 .venv/bin/python benchmarks/bench_pairs.py [DATASET]...

Pairs are those that `gda` draws from a corpus before it drops the similar ones; all decisions must be equal.
Two kinds are timed: pairs as drawn, nearly all of which differ, and near-duplicates, in which one word in
fifty of a text is replaced, so that no bound says no. Times are of one process, in turn.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from difflib import SequenceMatcher

import common
import numpy as np
import pyarrow as pa

import tailwright as tw
from tailwright.augmentation.shared.sources import SourceSettings
from tailwright.augmentation.shared.text_pairs import PairSettings, pairs_and_sources
from tailwright.data.dataset import arrow_strings
from tailwright.data.text.similarity import similar_above, similar_pairs
from tailwright.streams import stream

DATASETS = ("cve-libraries", "tibkat-gnd-en")
RATIO = 0.95
MOST_PAIRS = 5_000


def drawn_pairs(name: str) -> tuple[pa.LargeStringArray, np.ndarray, np.ndarray, dict[str, float]]:
    """(texts, first, second) of the pairs of a corpus, similar ones included, and what drawing them takes."""
    corpus = tw.read(common.data_folder() / name)
    selection, settings = SourceSettings(), PairSettings(sources="all", pairs_per_set=10**9)
    pairs_and_sources(corpus, selection, settings)  # compiles
    start = time.perf_counter()
    all_of_it = pairs_and_sources(corpus, selection, settings)
    taken = time.perf_counter() - start
    found = pairs_and_sources(corpus, selection, replace(settings, max_ratio=1.0))
    chosen = np.sort(stream(0, "bench-pairs").permutation(len(found.firsts))[:MOST_PAIRS])
    facts = {
        "rows": len(corpus.train),
        "pairs": len(found.firsts),
        "dropped as similar": all_of_it.too_similar,
        "seconds for all pairs and sources": round(taken, 3),
    }
    return corpus.train.texts, found.firsts[chosen], found.seconds[chosen], facts


def near_duplicates(texts: pa.LargeStringArray, rows: np.ndarray) -> list[tuple[list[str], list[str]]]:
    """Each text beside itself with one word in fifty replaced."""
    made = []
    for row in rows.tolist():
        words = texts[row].as_py().split()
        at = set(stream(0, "near-duplicates", row).permutation(len(words))[: len(words) // 50].tolist())
        made.append((words, ["replaced" if i in at else word for i, word in enumerate(words)]))
    return made


def by_difflib(pairs: list[tuple[list[str], list[str]]]) -> list[bool]:
    return [SequenceMatcher(None, a, b, autojunk=False).ratio() > RATIO for a, b in pairs]


def measured(runs: dict[str, Callable[[], object]], count: int) -> dict[str, float]:
    seconds = common.interleaved(runs, repeats=3)
    return {
        "microseconds a pair, difflib": round(1e6 * seconds["difflib"] / count, 2),
        "microseconds a pair, ours": round(1e6 * seconds["ours"] / count, 2),
        "times as fast": round(seconds["difflib"] / seconds["ours"], 1),
    }


def one(name: str) -> dict[str, object]:
    texts, first, second, facts = drawn_pairs(name)
    split = [
        (texts[a].as_py().split(), texts[b].as_py().split())
        for a, b in zip(first.tolist(), second.tolist(), strict=True)
    ]
    close = near_duplicates(texts, first)
    in_turn = arrow_strings([" ".join(words) for pair in split for words in pair])
    even, odd = np.arange(0, 2 * len(split), 2), np.arange(1, 2 * len(split), 2)
    truth, of_close = by_difflib(split), by_difflib(close)
    equal = truth == [similar_above(a, b, RATIO) for a, b in split] == similar_pairs(
        in_turn, even, odd, RATIO
    ).tolist() and of_close == [similar_above(a, b, RATIO) for a, b in close]
    if not equal:
        sys.exit(f"{name}: decisions differ from those of difflib")
    return {
        **facts,
        "pairs timed": len(split),
        "words a text": round(float(np.mean([len(a) + len(b) for a, b in split])) / 2, 1),
        "decisions equal": equal,
        "similar among them": sum(truth),
        "as drawn": measured(
            {
                "difflib": lambda: by_difflib(split),
                "ours": lambda: [similar_above(a, b, RATIO) for a, b in split],
            },
            len(split),
        ),
        "as drawn, all at once": measured(
            {"difflib": lambda: by_difflib(split), "ours": lambda: similar_pairs(in_turn, even, odd, RATIO)},
            len(split),
        ),
        "near-duplicates": {
            "similar among them": sum(of_close),
            **measured(
                {
                    "difflib": lambda: by_difflib(close),
                    "ours": lambda: [similar_above(a, b, RATIO) for a, b in close],
                },
                len(close),
            ),
        },
    }


if __name__ == "__main__":
    common.emit("pairs", {name: one(name) for name in sys.argv[1:] or DATASETS})
