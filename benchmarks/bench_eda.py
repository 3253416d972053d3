"""`eda` and `wordnet` against TextAttack's algorithm over NLTK's WordNet: rows a second, one process each.

    .venv/bin/python benchmarks/bench_eda.py [--seconds N]

The first 2,000 rows of tibkat-gnd-en (long) and the first 10,000 of yso-finna-en (short) that have 5 to 200
words. TextAttack itself did not install (pip found no set of its dependencies in ten minutes), so the peer is
`literal_eda.py`, its algorithm of 2020 step by step, in an environment of its own with NLTK over the same
WordNet files. Whichever list would take it longer than N seconds (60 unless given) it edits as far as it
comes. Loading WordNet and compiling are not in the times and are told apart. Ours runs in one thread, and in
as many as there are. The peer's run lies between two of ours. `agreement`: of the different words of the
first 500 short rows, how many have the same synonyms for both.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common

ROWS = {"tibkat-gnd-en": 2_000, "yso-finna-en": 10_000}
METHODS = ("wordnet", "eda")


def nltk_data(folder: Path) -> Path:
    """A folder of NLTK data that holds the WordNet files which ours reads.

    NLTK finds a synset by its place in a file, which holds only with the line ends of the original.
    """
    from tailwright.data.wordnet_files import find_wordnet

    target = folder / "corpora" / "wordnet"
    target.mkdir(parents=True)
    for source in find_wordnet().iterdir():
        (target / source.name).write_bytes(source.read_bytes().replace(b"\r\n", b"\n"))
    return folder


def peer(texts: dict[str, list[str]], words: list[str], seconds: float) -> dict[str, Any]:
    from tailwright.data.text.stop_words import ENGLISH

    python = common.peer_python("nltk", "nltk")
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "texts.json"
        asked.write_text(json.dumps({"texts": texts, "words": words, "stops": ENGLISH}), encoding="utf-8")
        command = [
            python,
            Path(__file__).with_name("literal_eda.py"),
            asked,
            nltk_data(Path(folder) / "data"),
        ]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            [*command, str(seconds)], check=True, stdout=subprocess.PIPE, text=True, env=environment
        )
    return json.loads(done.stdout)


def agreement(words: list[str], theirs: dict[str, list[str]]) -> dict[str, int]:
    """Words by whether both have the same names of one word for them, names in other capitals left out."""
    from tailwright.data.inflections import inflected_synonyms, read_exceptions
    from tailwright.data.wordnet import load_wordnet
    from tailwright.data.wordnet_files import find_wordnet

    table = inflected_synonyms(load_wordnet(find_wordnet()), read_exceptions(find_wordnet()))
    same = 0
    for word in words:
        names = {n for n in theirs[word] if n.lower() != word.lower()}
        same += names == set(table.get(word, ()))
    return {"words": len(words), "with_synonyms": sum(map(bool, theirs.values())), "same": same}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60, help="at most so long for each list of the peer")
    seconds = parser.parse_args().seconds

    import numpy as np
    import pyarrow as pa
    from numba import get_num_threads

    import tailwright as tw
    from tailwright.augment._edits import EditSettings, edited_texts
    from tailwright.augment.eda import Eda
    from tailwright.augment.wordnet import WordNet
    from tailwright.data.dataset import arrow_strings
    from tailwright.data.synonym_table import wordnet_arrays
    from tailwright.data.text.spans import spaced_words, word_spans
    from tailwright.streams import stream_key

    columns = {}
    for name, rows in ROWS.items():
        texts = tw.read(common.data_folder() / name).train.texts
        words = spaced_words(texts)
        columns[name] = texts.take(pa.array(np.flatnonzero((words >= 5) & (words <= 200))[:rows]))
    lists = {name: column.to_pylist() for name, column in columns.items()}
    some = sorted({t[a:b] for t in lists["yso-finna-en"][:500] for a, b in word_spans(t)})

    settings, operations = EditSettings(), {"wordnet": WordNet().operations(), "eda": Eda().operations()}

    def ours(column: pa.LargeStringArray, method: str, workers: int) -> Callable[[], object]:
        key, rows = stream_key(0, method), np.arange(len(column))
        return lambda: edited_texts(column, rows, operations[method], settings, key=key, workers=workers)

    start = time.perf_counter()
    wordnet_arrays(settings.variant, settings.inflections)
    loading = time.perf_counter() - start
    start = time.perf_counter()
    ours(arrow_strings(["red car"]), "eda", 1)()
    compiling = time.perf_counter() - start

    threads = get_num_threads()
    runs = {
        (name, method, workers): ours(column, method, workers)
        for name, column in columns.items()
        for method in METHODS
        for workers in sorted({1, threads})
    }
    before = common.interleaved({str(asked): run for asked, run in runs.items()})
    theirs = peer(lists, some, seconds)
    after = common.interleaved({str(asked): run for asked, run in runs.items()})

    result: dict[str, Any] = {}
    for name, method, workers in runs:
        asked = str((name, method, workers))
        speed = len(columns[name]) / max(before[asked], after[asked])
        told = theirs["speeds"][name][method]
        result.setdefault(name, {}).setdefault(method, {})[f"{workers}_threads"] = {
            "rows_a_second": round(speed),
            "literal_rows_a_second": round(told["texts"] / told["seconds"], 1),
            "literal_rows": told["texts"],
            "times_as_fast": round(speed * told["seconds"] / told["texts"]),
        }
    common.emit(
        "eda",
        {
            "peer": f"literal_eda.py over nltk {theirs['nltk']}",
            "load_seconds": round(loading, 3),
            "first_call_seconds": round(compiling, 3),
            "speeds": result,
            "agreement": agreement(some, theirs["synonyms"]),
        },
    )


if __name__ == "__main__":
    main()
