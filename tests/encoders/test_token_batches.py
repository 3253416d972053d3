"""Batches of rows of similar length: orders, groups, padding."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from tailwright.data.text.sequences import TokenRows
from tailwright.encoders.token_batches import batch_tensors, bucketed_order, chunks, put_back
from tailwright.streams import stream


@given(st.lists(st.integers(1, 300), max_size=200), st.integers(1, 16), st.integers(0, 3))
def test_a_bucketed_order_is_a_permutation(lengths, batch, epoch):
    order = bucketed_order(np.array(lengths, dtype=np.int64), batch, 0, "phase", epoch)
    assert sorted(order.tolist()) == list(range(len(lengths)))


def cut(order: np.ndarray, batch: int = 16) -> list[np.ndarray]:
    return [order[i : i + batch] for i in range(0, len(order), batch)]


def padding_share(lengths: np.ndarray, batches: list[np.ndarray]) -> float:
    """The share of all padded batches that is padding."""
    held = sum(len(rows) * int(lengths[rows].max()) for rows in batches)
    return 1 - sum(int(lengths[rows].sum()) for rows in batches) / held


def test_buckets_cut_the_padding_and_differ_between_epochs():
    random = stream(0, "lengths")
    lengths = np.maximum(random.lognormal(3.5, 0.6, 2003).astype(np.int64), 5)
    first, second = (bucketed_order(lengths, 16, 0, "phase", epoch) for epoch in (0, 1))
    assert padding_share(lengths, cut(random.permutation(len(lengths)))) > 0.4
    assert padding_share(lengths, cut(first)) < 0.15
    batches = [
        {frozenset(order[i : i + 16].tolist()) for i in range(0, 2000, 16)} for order in (first, second)
    ]
    assert len(batches[0] & batches[1]) < 10
    # Long and short batches take turns: an epoch does not go from short texts to long ones.
    means = [lengths[first[i : i + 16]].mean() for i in range(0, 2000, 16)]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.3


@given(
    st.lists(st.integers(1, 100), min_size=1, max_size=40), st.integers(1, 300), st.none() | st.integers(1, 5)
)
def test_chunks_are_all_rows_within_bounds(lengths, most, most_rows):
    found = chunks(np.array(lengths), most, most_rows)
    assert sorted(np.concatenate(found).tolist()) == list(range(len(lengths)))
    for places in found:
        longest = max(lengths[place] for place in places)
        assert len(places) == 1 or len(places) * longest <= most
        assert most_rows is None or len(places) <= most_rows


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.integers(1, 90))
def test_results_of_chunks_are_put_back_in_the_order_of_the_rows(lengths, most):
    rows = np.array(lengths)
    groups = chunks(rows, most)
    found = put_back(groups, [np.stack([rows[group], group], axis=1) for group in groups])
    assert found.tolist() == [[length, place] for place, length in enumerate(lengths)]


def test_the_order_of_an_epoch_is_keyed_by_seed_phase_and_epoch():
    lengths = np.arange(1, 200)
    orders = {
        tuple(bucketed_order(lengths, 8, seed, phase, epoch))
        for seed in (0, 1)
        for phase in ("a", "b")
        for epoch in (0, 1)
    }
    assert len(orders) == 8
    np.testing.assert_array_equal(
        bucketed_order(lengths, 8, 1, "a", 1), bucketed_order(lengths, 8, 1, "a", 1)
    )


@given(st.lists(st.lists(st.integers(1, 99), min_size=1, max_size=9), min_size=1, max_size=9), st.data())
def test_a_batch_is_its_rows_padded_to_the_longest(texts, data):
    offsets = np.cumsum([0, *map(len, texts)])
    rows = TokenRows(np.array([token for text in texts for token in text], np.int32), offsets, padding=0)
    chosen = data.draw(st.lists(st.integers(0, len(texts) - 1), min_size=1, max_size=5))
    ids, mask = batch_tensors(rows.batch(np.array(chosen)), torch.device("cpu"))
    longest = max(len(texts[place]) for place in chosen)
    assert ids.tolist() == [texts[place] + [0] * (longest - len(texts[place])) for place in chosen]
    assert (mask == (ids > 0)).all()
