"""Texts are written shard by shard, survive a kill, and pass over what is no use."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scripts import start_script

from tailwright.errors import InputError
from tailwright.language import decoding, shards
from tailwright.language.beam import Continuation
from tailwright.language.causal import load_causal
from tailwright.language.decoding import decoding_rate
from tailwright.language.generator import Generator
from tailwright.language.settings import DecodingSettings
from tailwright.language.work import read_shard, write_shard
from tailwright.language.writing import TextChoice, Written, written_texts

SMALL = DecodingSettings(beams=3, max_new_tokens=8, shard_rows=4, batch_tokens=200)
SOURCES = (
    "the quick brown fox",
    "a dog",
    "history of the town and of its churches",
    "one two three",
    "Ein kurzer Satz, mit Komma; und café naïve 日本 🙂",
    "x",
    "the parser of the server allows remote attackers to run code",
    "four five six seven eight",
    "ß ẞ ŉ \u0130stanbul",
    "lazy",
)


@pytest.fixture(scope="module")
def generator(tiny_llama: Path) -> Generator:
    return load_causal(tiny_llama, separator=None, lower_case=True)


def column(texts: tuple[str, ...] | list[str]) -> pa.LargeStringArray:
    return pa.array(list(texts), pa.large_string())


def write(generator: Generator, texts: tuple[str, ...] | list[str], **changes: object) -> Written:
    settings = DecodingSettings(**{**vars(SMALL), **changes})
    return written_texts(generator, column(texts), np.arange(len(texts)), settings, seed=0, key="tiny")


def shard_files(folder: Path) -> dict[str, tuple[int, bytes]]:
    """The finished ones; what is being written has the same name, in a hidden folder that may vanish."""
    found = (names for names in os.walk(folder) if not Path(names[0]).name.startswith("."))
    finished = [Path(place, name) for place, _, names in found for name in names if name.endswith(".json")]
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in finished}


def same(one: Written, other: Written) -> bool:
    return (
        one.texts.equals(other.texts)
        and one.sources.tolist() == other.sources.tolist()
        and one.counts == other.counts
    )


def says(monkeypatch: pytest.MonkeyPatch, generator: Generator, texts: dict[str, list[str]]) -> None:
    """Let beam search find these texts for these sources."""
    prompts = {tuple(generator.prompt(source)): found for source, found in texts.items()}

    def candidates(prompt: list[int]) -> list[Continuation]:
        return [
            Continuation((*generator.tokens(text), generator.end), -float(place))
            for place, text in enumerate(prompts[tuple(prompt)])
        ]

    def found(model: object, asked: list[list[int]], *limits: object, **settings: object) -> object:
        return [candidates(prompt) for prompt in asked]

    monkeypatch.setattr(decoding, "beam_search", found)


@pytest.mark.parametrize("strategy", ["beam", "sampling"])
def test_every_source_gets_a_text_of_its_own(generator: Generator, strategy: str) -> None:
    written = write(generator, SOURCES, strategy=strategy)
    assert len(written.texts) == len(written.sources)
    assert sorted(set(written.sources.tolist())) == written.sources.tolist()
    assert len(written.texts) + written.counts["rows without a text"] == len(SOURCES)
    assert len(set(written.texts.to_pylist())) == len(written.texts) > 5


def test_the_order_of_the_sources_does_not_matter(generator: Generator) -> None:
    straight = write(generator, SOURCES)
    turned = written_texts(
        generator,
        column(SOURCES[::-1]),
        np.arange(len(SOURCES))[::-1],
        SMALL,
        seed=0,
        key="tiny",
    )
    numbers = len(SOURCES) - 1 - turned.sources
    assert dict(zip(numbers.tolist(), turned.texts.to_pylist(), strict=True)) == dict(
        zip(straight.sources.tolist(), straight.texts.to_pylist(), strict=True)
    )


def test_finished_shards_are_not_touched_again(generator: Generator, tmp_path: Path) -> None:
    first = write(generator, SOURCES)
    files = shard_files(tmp_path)
    assert len(files) == 3
    assert same(write(generator, SOURCES), first)
    assert shard_files(tmp_path) == files


def test_what_a_killed_process_was_writing_goes(generator: Generator, tmp_path: Path) -> None:
    first = write(generator, SOURCES)
    path = next(tmp_path.rglob("000001.json"))
    left = path.with_name(".000001.json.tmp-0123abcd")
    left.mkdir()
    path.rename(left / path.name)
    assert same(write(generator, SOURCES), first)
    assert sorted(file.name for file in path.parent.iterdir()) == [f"{i:06}.json" for i in range(3)]


def test_a_rule_of_choice_needs_no_new_candidates(generator: Generator, tmp_path: Path) -> None:
    write(generator, SOURCES)
    files = shard_files(tmp_path)
    write(generator, SOURCES, max_similarity=0.5)
    assert shard_files(tmp_path) == files


@pytest.mark.parametrize("change", [{"beams": 2}, {"max_new_tokens": 7}, {"length_penalty": 0.5}])
def test_other_settings_are_other_shards(
    generator: Generator, tmp_path: Path, change: dict[str, float]
) -> None:
    write(generator, SOURCES)
    files = shard_files(tmp_path)
    write(generator, SOURCES, **change)
    assert len(list(tmp_path.rglob("*.json"))) == 2 * len(files)


@pytest.mark.parametrize("damage", ["cut", "flipped", "emptied", "removed", "json of something else"])
def test_a_damaged_shard_is_made_anew(generator: Generator, tmp_path: Path, damage: str) -> None:
    first = write(generator, SOURCES)
    before = shard_files(tmp_path)
    path = sorted(tmp_path.rglob("*.json"))[1]
    content = bytearray(path.read_bytes())
    if damage == "removed":
        path.unlink()
    elif damage == "json of something else":
        write_shard(path, [[("text", 0.0)]])
    else:
        content[-20] ^= 1
        path.write_bytes({"cut": bytes(content[:-5]), "flipped": bytes(content), "emptied": b""}[damage])
    assert same(write(generator, SOURCES), first)
    after = shard_files(tmp_path)
    assert {name: content for name, (_, content) in after.items()} == {
        name: content for name, (_, content) in before.items()
    }
    assert [name for name in after if after[name][0] != before[name][0]] == [path.name]


def test_progress_is_that_of_what_is_left(
    generator: Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(generator, SOURCES)
    sorted(tmp_path.rglob("*.json"))[1].unlink()
    seen: list[object] = []

    @contextmanager
    def watched(task: str, total: int) -> Iterator[Callable[[int], None]]:
        seen.extend((task, total))
        done: list[int] = []
        yield done.append
        seen.append(sum(done))

    monkeypatch.setattr(shards, "progress", watched)
    write(generator, SOURCES)
    assert seen == ["writing texts (6 of 10 are there)", 4, 4]
    write(generator, SOURCES)
    assert len(seen) == 3


def test_a_place_that_cannot_be_written_is_one_line(
    generator: Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("TAILWRIGHT_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match="cannot be written"):
        write(generator, SOURCES)


MANY = [f"source number {i} of many" + " and more" * (i % 7) for i in range(100)]
KILLED = """
import sys
from pathlib import Path
from test_writing import MANY, write
from tailwright.language.causal import load_causal

write(load_causal(Path(sys.argv[1]), separator=None, lower_case=True), MANY, strategy=sys.argv[2])
"""


@pytest.mark.parametrize("strategy", ["beam", pytest.param("sampling", marks=pytest.mark.slow)])
def test_a_killed_run_goes_on_where_it_was(
    generator: Generator, tiny_llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    undisturbed = write(generator, MANY, strategy=strategy)
    monkeypatch.setenv("TAILWRIGHT_CACHE", str(tmp_path / "killed"))
    (tmp_path / "writes.py").write_text(KILLED)
    killed = start_script(tmp_path / "writes.py", tiny_llama, strategy)
    while len(shard_files(tmp_path / "killed")) < 3 and killed.poll() is None:
        time.sleep(0.002)
    killed.kill()
    killed.communicate()
    files = shard_files(tmp_path / "killed")
    assert killed.returncode == -signal.SIGKILL
    assert 3 <= len(files) < 25
    assert same(write(generator, MANY, strategy=strategy), undisturbed)
    after = shard_files(tmp_path / "killed")
    assert len(after) == 25
    assert {name: after[name] for name in files} == files


def test_objections_fall_to_the_next_candidate(generator: Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    says(
        monkeypatch,
        generator,
        {
            "first source": ["", "First  SOURCE", "good text"],
            "second source": ["good text", "GOOD text", "another text"],
            "third source": ["good text", "another text", "third source"],
        },
    )
    written = write(generator, ["first source", "second source", "third source"])
    assert written.texts.to_pylist() == ["good text", "another text"]
    assert written.sources.tolist() == [0, 1]
    assert written.counts == {
        "cut sources": 0,
        "empty sources": 0,
        "empty": 1,
        "equal to source": 2,
        "too similar": 0,
        "duplicate": 4,
        "looping": 0,
        "texts with a loop cut out": 0,
        "rows without a text": 1,
    }


def test_loops_are_cut_out_and_texts_that_still_loop_are_no_choice() -> None:
    choice = TextChoice(None)
    loop = "a blue hat of wool of wool of wool of"
    assert choice.of("a red hat", [loop]) == "a blue hat of wool"
    around = "big red hat and a big red hat or a big red hat and a big red hat or"
    assert choice.of("shoes", [around, "boots"]) == "boots"
    assert (choice.counts["texts with a loop cut out"], choice.counts["looping"]) == (1, 1)


def test_the_lower_row_has_a_text_that_two_want(
    generator: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    long, short = "a source that is much longer", "short"
    says(monkeypatch, generator, {long: ["wanted"], short: ["wanted"]})
    # The short one is in the first shard.
    written = write(generator, [long, short], shard_rows=1)
    assert written.sources.tolist() == [0]
    written = written_texts(generator, column([long, short]), np.array([9, 4]), SMALL, seed=0, key="tiny")
    assert written.sources.tolist() == [1]


def test_similar_candidates_are_passed_over_only_if_asked(
    generator: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(monkeypatch, generator, {"one two three four": ["one two three five", "six seven"]})
    assert write(generator, ["one two three four"]).texts.to_pylist() == ["one two three five"]
    written = write(generator, ["one two three four"], max_similarity=0.7)
    assert written.texts.to_pylist() == ["six seven"]
    assert written.counts["too similar"] == 1
    assert write(generator, ["one two three four"], max_similarity=0.75).counts["too similar"] == 0


def test_a_choice_remembers_only_what_it_took() -> None:
    choice = TextChoice(None)
    assert choice.of("a", ["b", "c"]) == "b"
    assert choice.of("d", ["B ", "c"]) == "c"
    assert choice.of("e", []) is None
    assert choice.counts["rows without a text"] == 1


def test_no_sources_give_no_texts(generator: Generator) -> None:
    written = write(generator, [])
    assert len(written.texts) == len(written.sources) == 0
    assert written.texts.type == pa.large_string()
    assert set(written.counts.values()) == {0}


def test_empty_sources_get_no_text(generator: Generator) -> None:
    written = write(generator, ["", "a dog", ""])
    assert written.sources.tolist() == [1]
    assert written.counts["empty sources"] == written.counts["rows without a text"] == 2


def test_one_source_is_enough(generator: Generator) -> None:
    assert write(generator, ["a dog"]).sources.tolist() == [0]


@pytest.mark.parametrize("strategy", ["beam", "sampling"])
def test_long_sources_are_cut_at_their_end(generator: Generator, strategy: str) -> None:
    long = "the quick brown fox jumps over the lazy dog " * 30
    changes = {"strategy": strategy, "max_new_tokens": 256, "beams": 2, "samples": 2}
    written = write(generator, [long, "a dog", long + "and more"], **changes)
    assert written.counts["cut sources"] == 2
    assert len(written.texts) + written.counts["rows without a text"] == 3


def test_as_many_are_written_together_as_there_is_room_for(
    generator: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    search = decoding.beam_search

    def watched(model: object, prompts: list[list[int]], limits: list[int], **settings: object) -> object:
        seen.append(len(prompts) * (max(map(len, prompts)) + max(limits)) * 3)
        return search(model, prompts, limits, **settings)

    monkeypatch.setattr(decoding, "beam_search", watched)
    write(generator, SOURCES * 3, shard_rows=30, batch_tokens=150)
    assert len(seen) > 5
    assert max(seen) <= 150
    seen.clear()
    write(generator, SOURCES * 3, shard_rows=30, batch_tokens=1)
    assert len(seen) == 30


def test_every_source_needs_its_number(generator: Generator) -> None:
    with pytest.raises(ValueError, match="rows must be one number a source, got 1 for 2"):
        written_texts(generator, column(["a", "b"]), np.array([1]), SMALL, seed=0, key="tiny")


def test_a_rate_is_measured(generator: Generator) -> None:
    assert decoding_rate(generator, column(SOURCES), SMALL, 0) > 0
    with pytest.raises(InputError, match="no sources"):
        decoding_rate(generator, column([]), SMALL, 0)


def test_shards_keep_every_text(tmp_path: Path) -> None:
    candidates = [[('日本 🙂 "quoted" \\ \u2028', -0.5), ("", -1.25)], []]
    write_shard(tmp_path / "shard", candidates)
    assert read_shard(tmp_path / "shard", 2) == candidates
    assert read_shard(tmp_path / "shard", 3) is None
    assert read_shard(tmp_path / "none", 2) is None


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("beams", 0, "beams must be in \\[1, 1000\\], got 0"),
        ("samples", 0, "samples must be in \\[1, 10000\\], got 0"),
        ("strategy", "greedy", "strategy must be one of beam, sampling, got 'greedy'"),
        ("top_p", 0.0, r"top_p must be in \(0, 1\], got 0.0"),
        ("temperature", 0.0, "temperature must be in \\(0, 1000000\\], got 0.0"),
        ("length_penalty", float("nan"), "length_penalty must be a finite number, got nan"),
        ("max_growth", 0.0, "max_growth must be > 0 or none, got 0.0"),
        ("max_similarity", 1.5, r"max_similarity must be in \[0, 1\] or none, got 1.5"),
        ("shard_rows", 0, "shard_rows must be >= 1, got 0"),
    ],
)
def test_wrong_settings_are_named(name: str, value: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        DecodingSettings(**{name: value})


def test_targets_are_bounded_by_their_source_and_the_model() -> None:
    settings = DecodingSettings()
    assert settings.new_tokens(10, 1024) == 56
    assert settings.new_tokens(500, 1024) == 256
    assert settings.new_tokens(500, 128) == 64
    assert DecodingSettings(max_growth=None).new_tokens(1, 1024) == 256
