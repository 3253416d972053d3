"""`eda` and `wordnet` against TextAttack's EDA and WordNet augmenters: rows a second, one process each.

    .venv/bin/python benchmarks/bench_eda.py [--seconds N] [--rows N]

The first 2,000 rows of tibkat-gnd-en (long) and the first 10,000 of yso-finna-en (short) that have 5 to 200
words; --rows takes fewer. Two releases of TextAttack, each in an environment of its own that is made on first
use: 0.2.11 of 2020, whose walk through the words ours follows, and 0.3.10, which looks at all words again
after each edit. Pip finds no set of their dependencies, so they are installed without those that editing
words does not call; `peers/textattack_eda.py` says how they run all the same. NLTK reads the WordNet files
that ours reads, and our list of stop words, which is NLTK's.

Whichever list would take TextAttack longer than N seconds (60 unless given) it edits as far as it comes, and
the rows that were timed are told. Loading WordNet and compiling are not in the times and are told apart. Ours
runs in one thread, and in as many as there are. TextAttack's runs lie between two of ours. `agreement`: of
the different words of the first 500 short rows, how many have the same synonyms for both.
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
RELEASES = ("0.2.11", "0.3.10")  # of TextAttack


def nltk_data(folder: Path) -> Path:
    """A folder of NLTK data that holds the WordNet files which ours reads, and our stop words.

    NLTK finds a synset by its place in a file, which holds only with the line ends of the original.
    """
    from tailwright.data.text.stop_words import ENGLISH
    from tailwright.data.wordnet import find_wordnet

    target = folder / "corpora" / "wordnet"
    target.mkdir(parents=True)
    for source in find_wordnet().iterdir():
        (target / source.name).write_bytes(source.read_bytes().replace(b"\r\n", b"\n"))
    (folder / "corpora" / "stopwords").mkdir()
    (folder / "corpora" / "stopwords" / "english").write_text("\n".join(ENGLISH) + "\n", encoding="utf-8")
    return folder


def peer(release: str, texts: dict[str, list[str]], words: list[str], seconds: float) -> dict[str, Any]:
    python = common.peer_python(
        f"textattack-{release}",
        *("nltk", "numpy", "lru-dict", "tqdm", "more-itertools"),
        alone=(f"textattack=={release}",),
    )
    script = Path(__file__).parent / "peers" / "textattack_eda.py"
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "texts.json"
        asked.write_text(json.dumps({"texts": texts, "words": words}), encoding="utf-8")
        command = [python, script, asked, nltk_data(Path(folder) / "data"), str(seconds)]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment["TA_CACHE_DIR"] = str(Path(folder) / "cache")
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(done.stdout)


def agreement(words: list[str], theirs: dict[str, list[str]]) -> dict[str, int]:
    """Words by whether both have the same names of one word for them, names in other capitals left out."""
    from tailwright.data.synonyms import inflected_synonyms, read_exceptions
    from tailwright.data.wordnet import find_wordnet, load_wordnet

    table = inflected_synonyms(load_wordnet(find_wordnet()), read_exceptions(find_wordnet()))
    same = 0
    for word in words:
        names = {n for n in theirs[word] if n.lower() != word.lower()}
        same += names == set(table.get(word, ()))
    return {"words": len(words), "with_synonyms": sum(map(bool, theirs.values())), "same": same}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60, help="at most so long for each list of the peer")
    parser.add_argument("--rows", type=int, help="at most so many of each dataset")
    given = parser.parse_args()

    import numpy as np
    import pyarrow as pa
    from numba import get_num_threads

    import tailwright as tw
    from tailwright.augmentation.eda import EdaSettings
    from tailwright.augmentation.shared.edits import EditSettings, edited_texts
    from tailwright.augmentation.wordnet import OPERATIONS
    from tailwright.data.dataset import arrow_strings
    from tailwright.data.synonyms import wordnet_arrays
    from tailwright.data.text.words import spaced_words, word_spans
    from tailwright.streams import stream_key

    columns = {}
    for name, rows in ROWS.items():
        texts = tw.read(common.data_folder() / name).train.texts
        words = spaced_words(texts)
        fit = np.flatnonzero((words >= 5) & (words <= 200))
        columns[name] = texts.take(pa.array(fit[: given.rows or rows]))
    lists = {name: column.to_pylist() for name, column in columns.items()}
    some = sorted({t[a:b] for t in lists["yso-finna-en"][:500] for a, b in word_spans(t)})

    settings, operations = EditSettings(), {"wordnet": OPERATIONS, "eda": EdaSettings().operations}

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
    theirs = {release: peer(release, lists, some, given.seconds) for release in RELEASES}
    after = common.interleaved({str(asked): run for asked, run in runs.items()})

    result: dict[str, Any] = {}
    for name, method, workers in runs:
        asked = str((name, method, workers))
        speed = len(columns[name]) / max(before[asked], after[asked])
        entry = result.setdefault(name, {"rows": len(columns[name])}).setdefault(method, {})
        mine = entry.setdefault(f"{workers}_threads", {"rows_a_second": round(speed)})
        for release, told in theirs.items():
            took = told["speeds"][name][method]
            entry[f"textattack_{release}"] = {
                "rows_a_second": round(took["texts"] / took["seconds"], 1),
                "rows_timed": took["texts"],
            }
            mine[f"times_textattack_{release}"] = round(speed * took["seconds"] / took["texts"])
    newest = theirs[RELEASES[-1]]
    common.emit(
        "eda",
        {
            "peers": [told["versions"] for told in theirs.values()],
            "load_seconds": round(loading, 3),
            "first_call_seconds": round(compiling, 3),
            "speeds": result,
            "agreement": agreement(some, newest["synonyms"]),
        },
    )


if __name__ == "__main__":
    main()
