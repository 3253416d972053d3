"""The long commands, what goes on with each after a kill, and what they leave behind."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fault_parts.places import names_at, set_words, small_settings

# What depends on the clock or on memory: these are compared by their names alone.
_TIMED = {"log.jsonl", "README.md", "report.html"}
_TIMES = {"seconds", "train_seconds", "predict_seconds", "peak_rss_mb"}


@dataclass(frozen=True)
class Job:
    """A command that writes below a folder `{out}`, and the options with which it goes on."""

    name: str
    words: tuple[str, ...]
    again: tuple[str, ...]
    kept: str = "**/*"  # what of the folder is compared

    def words_for(self, place: Path, out: Path) -> list[str]:
        return [word.replace("{place}", str(place)).replace("{out}", str(out)) for word in self.words]

    def content(self, out: Path) -> dict[str, str]:
        """Digests of the files that are left, but for times."""
        files = sorted(path for path in out.glob(self.kept) if path.is_file())
        return {str(path.relative_to(out)): _digest(path) for path in files}


def jobs(place: Path) -> list[Job]:
    """Every long command: the training of each model, and all others that write."""
    return [*_trainings(place), *_OTHERS]


def _trainings(place: Path) -> Iterator[Job]:
    for name in names_at(place):
        words = set_words(small_settings(name, place))
        data = ("train", "{place}/data", "--model", name, "--augment", "gandalf", "--set", "gandalf.steps=5")
        yield Job(f"train {name}", (*data, *words, "-q", "--out", "{out}/run"), ("--resume",))


def _other(name: str, words: str, *again: str, kept: str = "**/*") -> Job:
    return Job(name, (*words.split(), "-q"), again, kept)


_OTHERS = (
    _other("train --continue", "train --continue {place}/runs/twin {place}/more --out {out}/run", "--resume"),
    _other("labels add", "labels add {place}/runs/twin {place}/labels.jsonl --out {out}/run", "--overwrite"),
    _other("augment", "augment {place}/data --augment eda --set eda.rows=all --out {out}/new", "--overwrite"),
    _other(
        "filter", "filter {place}/made --with {place}/runs/linear --keep 0.5 --out {out}/new", "--overwrite"
    ),
    _other("data convert", "data convert {place}/data {out}/new --format csv", "--overwrite"),
    _other(
        "predict",
        "predict {place}/runs/linear --input {place}/texts.txt --out {out}/labels.jsonl",
        "--overwrite",
    ),
    _other("graph", "graph {place}/data --out {out}/graph.npz"),
    _other("study", "study {place}/plan.toml --out {out}/study", kept="study/cells/*/outcome/*"),
)


def _digest(path: Path) -> str:
    if path.name in _TIMED:
        return "depends on the clock"
    data = path.read_bytes()
    if path.suffix == ".json":
        data = json.dumps(_timeless(json.loads(data))).encode()
    return hashlib.sha256(data).hexdigest()


def _timeless(value: Any) -> Any:
    """A JSON value without times, and without the hashes of files that have some."""
    if isinstance(value, list):
        return [_timeless(one) for one in value]
    if not isinstance(value, dict):
        return value
    left_out = _TIMES | _TIMED | {"run.json", "result.json"}
    return {key: _timeless(one) for key, one in value.items() if key not in left_out}


def difference(wanted: dict[str, str], found: dict[str, str]) -> str:
    """Which files are missing, too many or others; empty if all are the same."""
    says = {
        "missing": wanted.keys() - found.keys(),
        "too many": found.keys() - wanted.keys(),
        "different": {name for name in wanted.keys() & found.keys() if wanted[name] != found[name]},
    }
    return "; ".join(f"{word}: {', '.join(sorted(names)[:5])}" for word, names in says.items() if names)
