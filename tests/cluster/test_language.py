"""Texts that language models write on a cluster: those of one process, and finished shards are kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import tailwright as tw
from tailwright.augmentation import augmenters, row_augmenter
from tailwright.checks.corpora import tiny_corpus
from tailwright.cluster.connection import Cluster
from tailwright.cluster.tasks import RayTasks
from tailwright.data.dataset import Dataset
from tailwright.language import shards
from tailwright.training.executor import executing_on


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    """Generators and texts of one test are not found by another."""
    monkeypatch.setenv("TAILWRIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """As many as a worker has: with more, the last bits of scores may differ."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def made_by(name: str) -> Dataset:
    settings = {**augmenters.get(name).quick, "shard_rows": 3}
    return row_augmenter(name, settings).new_rows(tiny_corpus(), seed=2)


def kept_shards(cache: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(cache.glob("work/*/*.json"))}


@pytest.mark.parametrize("name", ["gda", "xda"])
def test_written_rows_are_those_of_one_process_and_finished_shards_are_kept(
    cluster, cache, name, monkeypatch
):
    here = made_by(name)
    whole = kept_shards(cache)
    assert len(here) >= 3
    assert len(whole) == 4
    written: list[Path] = []
    write = shards.write_shard
    monkeypatch.setattr(shards, "write_shard", lambda path, texts: (written.append(path), write(path, texts)))
    for workers, missing in ((1, list(whole)), (2, list(whole)[1:3])):
        written.clear()
        for path in missing:
            path.unlink()
        with executing_on(RayTasks(Cluster(workers, 1))):
            assert made_by(name).same_as(here)
        assert sorted(written) == missing
        assert kept_shards(cache) == whole


def test_a_shard_too_large_for_memory_is_written_in_halves(cluster, cache, monkeypatch):
    here = made_by("gda")
    whole = kept_shards(cache)
    texts_of = shards._texts_of

    def in_little_memory(held, shard):
        if len(shard) > 2:
            raise MemoryError
        return texts_of(held, shard)

    for path in whole:
        path.unlink()
    monkeypatch.setattr(shards, "_texts_of", in_little_memory)
    with executing_on(RayTasks(cluster)):
        there = made_by("gda")
    assert there.texts.equals(here.texts)


@pytest.mark.slow
def test_after_a_kill_the_same_command_goes_on_with_the_shards_that_are_missing(tmp_path, cache):
    tw.write(tiny_corpus(), tmp_path / "data")
    settings = {**augmenters.get("gda").quick, "shard_rows": 1, "max_new_tokens": 60, "beams": 8}
    asked = [sys.executable, "-m", "tailwright", "augment", str(tmp_path / "data"), "--augment", "gda"]
    asked += [word for name, value in settings.items() for word in ("--set", f"gda.{name}={value}")]
    asked += ["--threads", "1", "--seed", "2"]
    on_ray = [*asked, "--out", str(tmp_path / "out"), "--on", "ray", "--workers", "1"]
    killed = subprocess.Popen(on_ray, env={**os.environ, "TAILWRIGHT_CACHE": str(cache)})
    while killed.poll() is None and len(kept_shards(cache)) < 3:
        time.sleep(0.002)
    killed.kill()
    assert killed.wait() == -signal.SIGKILL
    done = {path: path.stat().st_mtime_ns for path in kept_shards(cache)}
    assert 3 <= len(done) < 12
    assert not (tmp_path / "out").exists()

    subprocess.run(on_ray, env={**os.environ, "TAILWRIGHT_CACHE": str(cache)}, check=True)
    after = {path: path.stat().st_mtime_ns for path in kept_shards(cache)}
    assert {path: after[path] for path in done} == done
    assert len(after) == 12
    elsewhere = {**os.environ, "TAILWRIGHT_CACHE": str(tmp_path / "elsewhere")}
    subprocess.run([*asked, "--out", str(tmp_path / "whole")], env=elsewhere, check=True)
    assert tw.read(tmp_path / "out").same_as(tw.read(tmp_path / "whole"))
