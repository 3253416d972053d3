"""The memory that is left: of the machine, of a control group of either version, of the process's limit."""

from __future__ import annotations

import math
import resource

import psutil
import pytest

from tailwright.training import memory
from tailwright.training.memory import MB, free_mb

GB = 1 << 30


def group(root, path, **files):
    folder = root / path
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(f"{content}\n")


@pytest.fixture
def membership(tmp_path):
    def written(line):
        (tmp_path / "cgroup").write_text(line + "\n")
        return tmp_path / "cgroup"

    return written


def test_the_tightest_group_above_the_process_counts(tmp_path, membership):
    root = tmp_path / "root"
    group(
        root, "a", memory__max=4 * GB, memory__current=3 * GB, memory__stat=f"anon 1\ninactive_file {GB // 2}"
    )
    group(root, "a/b", memory__max="max", memory__current=GB)
    left = memory._left_in_groups(membership("0::/a/b"), root)
    assert min(left) == 1.5 * GB


def test_groups_of_version_1_are_looked_at(tmp_path, membership):
    root = tmp_path / "root"
    group(root, "memory/c", memory__limit_in_bytes=GB, memory__usage_in_bytes=GB // 4)
    left = memory._left_in_groups(membership("3:cpu,cpuacct:/x\n2:memory:/c"), root)
    assert min(left) == 0.75 * GB


def test_in_a_container_the_root_is_the_group(tmp_path, membership):
    root = tmp_path / "root"
    group(root, "", memory__max=GB, memory__current=0)
    assert min(memory._left_in_groups(membership("0::/docker/0123"), root)) == GB


@pytest.mark.parametrize("line", ["", "nonsense", "0::/a", "1:name=systemd:/"])
def test_without_limits_there_are_none(tmp_path, membership, line):
    assert memory._left_in_groups(membership(line), tmp_path / "root") == [math.inf]
    assert memory._left_in_groups(tmp_path / "missing", tmp_path / "root") == [math.inf]


def test_the_limit_of_the_process_counts(monkeypatch):
    size = psutil.Process().memory_info().vms
    monkeypatch.setattr(resource, "getrlimit", lambda which: (size + 100 * MB, resource.RLIM_INFINITY))
    assert 0 <= free_mb() <= 101
