"""Rates and batches of phases: halved at the paper's epochs, raised where there are few rows."""

from __future__ import annotations

import pytest

from tailwright.training.schedules import PhaseSettings, batch_for, halving_epochs


@pytest.mark.parametrize(
    ("epochs", "step", "halved"), [(20, 14, [14]), (15, 14, [14]), (15, 10, [10]), (10, 8, [8]), (3, 14, [])]
)
def test_the_rate_is_halved_at_the_papers_epochs(epochs, step, halved):
    assert halving_epochs(epochs, step) == halved
    schedule = PhaseSettings(epochs=epochs, halve=step).schedule()
    batches = -(-10_000 // batch_for(10_000, 255))
    factors = [schedule.factor(step, epochs * batches) for step in range(epochs * batches)]
    expected = [0.5 ** sum(epoch >= at for at in halved) for epoch in range(epochs) for _ in range(batches)]
    assert factors == expected


@pytest.mark.parametrize(("rows", "batch"), [(294_805, 255), (10_000, 156), (3000, 46), (120, 32), (0, 32)])
def test_batches_are_smaller_where_an_epoch_would_have_few_steps(rows, batch):
    assert batch_for(rows, 255) == batch


def test_rates_grow_where_an_epoch_has_fewer_steps_than_the_papers():
    def rate(rate: float, rows: int, raised: float) -> float:
        return PhaseSettings(rate=rate, raised=raised).rate_for(rows, batch_for(rows, 255))

    assert rate(0.001, 294_805, 5) == pytest.approx(0.001, rel=1e-3)
    assert rate(0.002, 3_000_000, 5) == 0.002
    assert rate(0.002, 255 * 400, 5) == pytest.approx(0.002 * 1157 / 400)
    assert rate(0.001, 120, 5) == pytest.approx(0.005)
    assert rate(0.03, 120, 1) == 0.03
