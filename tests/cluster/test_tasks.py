"""Pieces that run as tasks of a cluster."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tailwright.cluster.connection import check_address, connected
from tailwright.cluster.room import say_if_none_fits
from tailwright.cluster.tasks import RayTasks
from tailwright.errors import InputError


def squared(shared: int, piece: int) -> int:
    if piece > 100:
        raise InputError(f"found {piece}", expected="at most 100")
    return shared * piece * piece


def killed_once(marks: Path, piece: int) -> int:
    mark = marks / str(piece)
    if piece == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return piece + 1


def test_every_piece_comes_back_once_with_its_number(cluster):
    found = dict(RayTasks(cluster).run(squared, 3, list(range(9))))
    assert found == {piece: 3 * piece * piece for piece in range(9)}


def test_no_pieces_are_no_work(cluster):
    assert list(RayTasks(cluster).run(squared, 3, [])) == []


def test_a_mistake_of_the_user_stays_one_on_a_worker(cluster):
    with pytest.raises(InputError, match="found 101, expected at most 100"):
        list(RayTasks(cluster).run(squared, 3, [101]))


def test_a_piece_whose_worker_is_killed_is_done_again(cluster, tmp_path):
    found = dict(RayTasks(cluster).run(killed_once, tmp_path, list(range(4))))
    assert found == {0: 1, 1: 2, 2: 3, 3: 4}
    assert (tmp_path / "2").exists()


def test_a_piece_that_fits_on_no_node_is_said_to_wait(cluster, caplog):
    say_if_none_fits(2, 1.0)
    assert not caplog.records
    say_if_none_fits(1, 1e9)
    assert "waiting for a node with 1 cores and 1,000,000,000 MB" in caplog.text


def test_a_process_that_is_connected_stays_so(cluster):
    import ray

    with connected("ray", workers=5, threads=2) as here:
        assert (here.workers, here.threads) == (5, 2)
    assert ray.is_initialized()


@pytest.mark.parametrize("on", ["", "spark", "ray:/host:1", "ray://host", "ray://host:port"])
def test_an_address_of_another_form_is_refused_in_one_line(on):
    with pytest.raises(InputError, match=r"--on .*, expected ray, for this machine, or ray://HOST:PORT"):
        check_address(on)
