"""Pieces of work are done here, unless somebody else is asked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tailwright.training.executor import InProcess, current_executor, executing_on


def add(shared: int, piece: int) -> int:
    return shared + piece


class Backwards(InProcess):
    def run(self, task, shared, pieces, *, memory_mb=0.0) -> Iterator:
        yield from reversed(list(super().run(task, shared, pieces)))


def test_pieces_are_done_in_order_in_this_process():
    assert list(current_executor().run(add, 10, [1, 2, 3])) == [(0, 11), (1, 12), (2, 13)]


def test_another_executor_is_asked_inside_its_block_alone():
    with executing_on(Backwards()):
        assert [number for number, _ in current_executor().run(add, 0, [5, 6])] == [1, 0]
    with pytest.raises(ZeroDivisionError), executing_on(Backwards()):
        raise ZeroDivisionError
    assert type(current_executor()) is InProcess
