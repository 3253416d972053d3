"""`linear` on more rows than memory holds: the same run as in memory, bit for bit."""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.data.formats import large_texts
from tailwright.data.text import sharded_tfidf
from tailwright.data.text.sharded_tfidf import fit_transform_in_shards
from tailwright.data.text.tfidf import TfIdf, TfIdfSettings
from tailwright.errors import InputError
from tailwright.kernels import csr, room
from tailwright.kernels.room import Pile, in_files, is_in_files
from tailwright.labels import vectors as label_vectors
from tailwright.models.linear import Linear, LinearSettings
from tailwright.training.workplace import Workplace


@pytest.fixture
def small_pieces(monkeypatch):
    """Every array goes to a file, and shards, blocks and stretches are so small that there are many."""
    monkeypatch.setattr(room, "LARGE", 1)
    monkeypatch.setattr(csr, "STRETCH", 100)
    monkeypatch.setattr(csr, "PART", 64)
    monkeypatch.setattr(sharded_tfidf, "SHARD", 500)
    monkeypatch.setattr(label_vectors, "ENTRIES_A_BLOCK", 50)


def files_of(model: Linear, folder) -> dict[str, str]:
    """The digest of every file that a model saves."""
    from tailwright.store import writing

    with writing(folder, kind="model") as writer:
        model.save(writer)
    return {
        str(path.relative_to(folder)): hashlib.blake2b(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*.npy"))
    }


@pytest.mark.parametrize("free", [[0.0, 1e6], [1e6, 0.0, 1e6]], ids=["from the start", "for the trees"])
@pytest.mark.parametrize("label_texts", [0.0, 1.0])
def test_a_fit_out_of_core_gives_the_same_model(small_pieces, free, label_texts, tmp_path, monkeypatch):
    corpus = tiny_corpus()
    settings = LinearSettings(cluster_size=2, branching=3, trees=2, label_texts=label_texts)
    in_memory = Linear(settings)
    in_memory.fit(corpus)
    left = iter(free)
    monkeypatch.setattr("tailwright.training.memory.free_mb", lambda: next(left, 1e6))
    in_shards = Linear(settings)
    in_shards.fit(corpus, work=Workplace(tmp_path / "work"))
    assert files_of(in_memory, tmp_path / "one") == files_of(in_shards, tmp_path / "other")
    assert in_memory.features.vocabulary.equals(in_shards.features.vocabulary)
    events = [json.loads(line) for line in (tmp_path / "work" / "log.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events].count("out_of_core") == 1
    assert not is_in_files()


def test_a_limit_on_memory_sends_a_fit_out_of_core_with_the_same_result(tmp_path):
    """In a process of its own, whose limit leaves less than the forecast of its rows."""
    script = tmp_path / "limited.py"
    script.write_text(
        textwrap.dedent(
            """
            import resource
            import psutil
            from tailwright.data.corpus import corpus_from_lists
            from tailwright.models.linear import Linear, LinearSettings
            from tailwright.training.memory import MB, free_mb
            from tailwright.training.workplace import Workplace

            words = [f"word{i * i % 211}" for i in range(1000)]
            texts = [" ".join(words[row % 900 : row % 900 + 60]) for row in range(16_000)]
            corpus = corpus_from_lists(texts, [[row // 97 % 4] for row in range(16_000)], list("abcd"))
            found = []
            for limit in (None, 30):
                if limit is not None:
                    held = psutil.Process().memory_info().data
                    resource.setrlimit(resource.RLIMIT_DATA, (held + limit * MB, resource.RLIM_INFINITY))
                    assert free_mb() <= limit
                events, work = [], Workplace()
                work.log = lambda event, **facts: events.append(event)
                model = Linear(LinearSettings(trees=1, tolerance=0.5))
                model.fit(corpus, work=work)
                top = model.predict(texts[:50], 4)
                found.append((top.ids.tobytes(), top.scores.tobytes()))
                print("out_of_core" in events)
            assert found[0] == found[1]
            """
        )
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["False", "True"]), done.stderr


@pytest.mark.parametrize("given", [{}, {"min_count": 2}, {"max_features": 7}], ids=["all", "often", "few"])
def test_features_in_shards_are_those_in_memory(small_pieces, given):
    texts = tiny_corpus().train.texts
    settings = TfIdfSettings(**given)
    one, matrix = TfIdf.fit_transform(texts, settings)
    other, mapped = fit_transform_in_shards(texts, settings)
    assert one.vocabulary.equals(other.vocabulary)
    np.testing.assert_array_equal(one.idf, other.idf)
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(matrix, part), getattr(mapped, part))
        assert getattr(matrix, part).dtype == getattr(mapped, part).dtype


@pytest.mark.parametrize("texts", [[], [""], ["", "a", ""]])
def test_few_and_empty_texts_are_sharded_too(texts):
    one, other = TfIdf.fit_transform(texts), fit_transform_in_shards(texts)
    assert one[0].vocabulary.to_pylist() == other[0].vocabulary.to_pylist()
    assert (one[1] != other[1]).nnz == 0


def test_a_full_disk_is_one_line(monkeypatch, tmp_path):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(room, "LARGE", 1)
    monkeypatch.setattr("os.posix_fallocate", full)
    with (
        in_files(tmp_path),
        pytest.raises(InputError, match="No space left on device where 4 MB of a corpus"),
    ):
        room.room(1 << 20, np.float32)
    assert list(tmp_path.iterdir()) == []


def test_files_have_no_name_and_arrays_are_plain(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "LARGE", 1)
    with in_files(tmp_path), Pile(np.int32) as pile:
        array = room.room(1000, np.int64)
        array[:] = np.arange(1000)
        pile.add(np.arange(5))
        mapped = pile.array()
    assert list(tmp_path.iterdir()) == []
    assert (type(array), type(mapped)) == (np.ndarray, np.ndarray)
    assert array.flags.writeable
    assert mapped.flags.writeable
    assert (int(array.sum()), mapped.tolist()) == (499_500, [0, 1, 2, 3, 4])


@pytest.mark.parametrize("columns", [("text",), ("title", "body")])
def test_large_texts_of_parquet_are_mapped_and_the_same(columns, tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = {name: [f"{name} {i}" if i % 5 else "" for i in range(300)] for name in columns}
    table = pa.table({**rows, "labels": [[f"L{i % 7}", "all"] for i in range(300)]})
    pq.write_table(table, tmp_path / "shop.parquet", row_group_size=64)
    monkeypatch.setattr(large_texts, "ROWS_A_BATCH", 50)
    held = tw.read(tmp_path / "shop.parquet", text=columns)
    monkeypatch.setattr(large_texts, "LARGE", 1)
    taken = []
    monkeypatch.setattr(
        "tailwright.data.formats.parquet.mapped_texts",
        lambda *given: taken.append(large_texts.mapped_texts(*given)) or taken[-1],
    )
    mapped = tw.read(tmp_path / "shop.parquet", text=columns)
    assert taken[0] is not None
    assert (held.digest(), held.notes) == (mapped.digest(), mapped.notes)


def test_large_texts_with_nulls_are_read_as_ever(tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(
        pa.table({"text": ["a", None, "b"], "labels": [["x"], ["y"], ["x"]]}), tmp_path / "t.parquet"
    )
    held = tw.read(tmp_path / "t.parquet")
    monkeypatch.setattr(large_texts, "LARGE", 1)
    mapped = tw.read(tmp_path / "t.parquet")
    assert (held.digest(), held.notes) == (mapped.digest(), mapped.notes)


def test_the_limit_of_data_is_part_of_what_is_free(monkeypatch):
    from tailwright.training import memory

    limits = {resource.RLIMIT_DATA: (1 << 20, -1), resource.RLIMIT_AS: (resource.RLIM_INFINITY, -1)}
    monkeypatch.setattr(resource, "getrlimit", limits.__getitem__)
    assert memory.free_mb() == 0
    assert memory.address_space_mb() == float("inf")
