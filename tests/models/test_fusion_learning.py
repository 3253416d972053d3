"""The combination of a fusion: what it learns from, and that its probabilities are calibrated."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import plain_losses
import pytest
import torch
from scipy import optimize

from tailwright.data.dataset import Dataset, Origin, arrow_strings
from tailwright.data.pairs import pairs_from_lists
from tailwright.evaluation.logistic import RIDGE, logistic_curve
from tailwright.evaluation.ranking import top_k_of_scores
from tailwright.models.fusion.combination import (
    CandidateFeatures,
    Combination,
    candidates_of,
    plain_combination,
    width_of,
)
from tailwright.models.fusion.learning import combination_loss, learnt_combination, unseen_log_odds
from tailwright.streams import stream

ROWS, LABELS = 80, 12


def case() -> tuple[CandidateFeatures, list[list[int]]]:
    """Two parts of which the first is the better one, and the right labels: one or two of each text."""
    draw = stream(0, "test/fusion")
    right = [sorted({int(i) for i in draw.integers(0, LABELS, 2)}) for _ in range(ROWS)]
    truth = pairs_from_lists(right, LABELS).toarray()
    found = [top_k_of_scores(strength * truth + draw.normal(size=truth.shape), 6) for strength in (2.0, 0.5)]
    return candidates_of(found, [True, True], np.bincount(np.concatenate(right), minlength=LABELS)), right


CANDIDATES, RIGHT = case()


def held_out(targets=None, weights=None, **pairs) -> Dataset:
    """The rows of the case; `targets` are lists of {label: value}, `pairs` lists of labels."""
    targets = [dict.fromkeys(labels, 1.0) for labels in RIGHT] if targets is None else targets
    return Dataset(
        arrow_strings([""] * ROWS),
        pairs_from_lists([list(row) for row in targets], LABELS, [list(row.values()) for row in targets]),
        weights,
        **{name: pairs_from_lists(lists, LABELS) for name, lists in pairs.items()},
    )


def combined(rows: Dataset, seed: int = 0, emphasis: np.ndarray | None = None) -> Combination:
    emphasis = np.ones(LABELS) if emphasis is None else emphasis
    return learnt_combination(CANDIDATES, rows, hidden=8, emphasis=emphasis, seed=seed)


def same(a: Combination, b: Combination, tolerance: float = 0.0) -> bool:
    return all(
        np.allclose(getattr(a, f.name), getattr(b, f.name), rtol=tolerance, atol=tolerance)
        for f in fields(Combination)
    )


def probabilities(combination: Combination) -> np.ndarray:
    return 1 / (1 + np.exp(-combination.log_odds(CANDIDATES.features).astype(np.float64)))


def with_targets(row: int, values: dict[int, float]) -> list[dict[int, float]]:
    """The right labels, but for one row."""
    return [values if i == row else dict.fromkeys(labels, 1.0) for i, labels in enumerate(RIGHT)]


def named_of(row: int) -> list[int]:
    return CANDIDATES.labels[CANDIDATES.rows == row].tolist()


@pytest.fixture(scope="module")
def usual() -> Combination:
    return combined(held_out())


def test_the_seed_decides(usual):
    assert same(combined(held_out()), usual)
    assert not same(combined(held_out(), seed=1), usual)


def test_right_labels_get_higher_probabilities_than_by_the_mean_of_the_parts(usual):
    def first_right(combination: Combination) -> int:
        of_texts = [
            np.where(CANDIDATES.rows == row, probabilities(combination), -1).argmax() for row in range(ROWS)
        ]
        return sum(CANDIDATES.labels[best] in RIGHT[row] for row, best in enumerate(of_texts))

    assert first_right(usual) > first_right(plain_combination(2, 8))


def test_a_row_is_judged_by_a_combination_that_has_not_learnt_from_it():
    def judged(rows: Dataset) -> np.ndarray:
        return unseen_log_odds(CANDIDATES, rows, hidden=8, emphasis=np.ones(LABELS), seed=0)

    before, after = judged(held_out()), judged(held_out(with_targets(3, {})))
    own = CANDIDATES.rows == 3
    assert np.array_equal(before[own], after[own])
    changed = np.unique(CANDIDATES.rows[before != after])
    assert len(changed) == ROWS // 2  # those of the other half, for which it has learnt something else
    assert np.isfinite(before).all()


def test_the_candidates_of_some_texts_are_numbered_anew():
    some = CANDIDATES.of_texts(np.array([2, 5]))
    assert (some.texts, set(some.rows.tolist())) == (2, {0, 1})
    assert some.labels[some.rows == 1].tolist() == named_of(5)
    assert np.array_equal(some.features[some.rows == 0], CANDIDATES.features[CANDIDATES.rows == 2])


def test_rows_without_weight_say_nothing(usual):
    weights = np.ones(ROWS, np.float32)
    weights[:20] = 0
    wrong = [
        {label: 1.0 for label in range(LABELS) if label not in labels}
        if row < 20
        else dict.fromkeys(labels, 1.0)
        for row, labels in enumerate(RIGHT)
    ]
    # Sums of the same numbers and of zeros between them may be rounded otherwise.
    assert same(combined(held_out(wrong, weights)), combined(held_out(None, weights)), 1e-3)
    assert not same(combined(held_out(wrong)), usual, 1e-2)
    assert not same(combined(held_out(None, weights)), usual, 1e-2)


def test_a_row_of_weight_2_counts_for_more_than_one_of_weight_1(usual):
    weights = np.ones(ROWS, np.float32)
    weights[7] = 2
    assert not same(combined(held_out(None, weights)), usual)


def test_equal_label_weights_are_weights_of_made_rows(usual):
    made = np.arange(ROWS) % 2 == 1
    origin = Origin(np.arange(ROWS), made.astype(np.int16), ("", "copy"))
    rows = replace(held_out(), origin=origin)
    halved = combined(replace(rows, label_weights=np.full(LABELS, 0.5)))
    assert same(halved, combined(replace(rows, weights=np.where(made, 0.5, 1))))
    assert not same(halved, usual)


@pytest.mark.parametrize("column", ["ignored", "excluded"])
def test_a_pair_without_loss_is_the_same_whatever_its_target(usual, column):
    row = next(row for row in range(ROWS) if set(RIGHT[row]) & set(named_of(row)))
    label = next(label for label in RIGHT[row] if label in named_of(row))
    others = dict.fromkeys([one for one in RIGHT[row] if one != label], 1.0)
    silent = {column: [[label] if i == row else [] for i in range(ROWS)]}
    targets = [with_targets(row, {**others, **more}) for more in ({}, {label: 0.2}, {label: 1.0})]
    without, soft, hard = (combined(held_out(some, **silent)) for some in targets)
    assert same(without, soft)
    assert same(soft, hard)
    # Neither right nor wrong is another thing than either.
    assert not same(without, usual)
    assert not same(without, combined(held_out(targets[0])))


def test_soft_targets_are_rounded_neither_in_the_network_nor_in_the_curve():
    """The softer the targets of some labels, the lower their probabilities; and the network differs."""
    soft = [
        label < 6 and label in RIGHT[row]
        for row, label in zip(CANDIDATES.rows, CANDIDATES.labels, strict=True)
    ]
    softened = [
        combined(held_out([{label: value if label < 6 else 1.0 for label in labels} for labels in RIGHT]))
        for value in (0.3, 0.5, 1.0)
    ]
    means = [probabilities(combination)[soft].mean() for combination in softened]
    assert means[0] < means[1] < means[2]
    for one, other in pairwise(softened):
        assert not np.allclose(one.direct, other.direct, rtol=1e-3)


def test_emphasis_changes_ranks_and_leaves_probabilities_calibrated(usual):
    emphasis = np.where(np.arange(LABELS) < 3, 20.0, 0.05)
    stressed = combined(held_out(), emphasis=emphasis)
    assert not np.allclose(stressed.direct, usual.direct, rtol=1e-2)
    assert probabilities(stressed).mean() == pytest.approx(probabilities(usual).mean(), abs=1e-3)


def test_probabilities_are_calibrated_on_the_rows_that_count():
    weights = stream(1, "test/fusion").choice(np.array([0, 0.5, 2], np.float32), ROWS)
    ignored = [[named_of(row)[0]] if row % 3 == 0 and named_of(row) else [] for row in range(ROWS)]
    rows = held_out(
        [dict.fromkeys(labels, 0.4 if row % 2 else 1.0) for row, labels in enumerate(RIGHT)],
        weights,
        ignored=ignored,
    )
    counted = weights[CANDIDATES.rows] * (rows.ignored.toarray() == 0)[CANDIDATES.rows, CANDIDATES.labels]
    targets = rows.targets.toarray()[CANDIDATES.rows, CANDIDATES.labels]
    expected = np.average(targets, weights=counted)
    assert np.average(probabilities(combined(rows)), weights=counted) == pytest.approx(expected, abs=1e-4)


def test_rows_without_a_right_candidate_give_finite_numbers_and_low_probabilities():
    nothing = combined(held_out([{} for _ in range(ROWS)]))
    assert all(np.isfinite(getattr(nothing, field.name)).all() for field in fields(Combination))
    assert probabilities(nothing).max() < 0.05


def test_held_out_rows_of_which_no_part_names_anything_are_combined_plainly():
    none = CandidateFeatures(
        ROWS, np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros((0, width_of(2)), np.float32)
    )
    found = learnt_combination(none, held_out(), hidden=8, emphasis=np.ones(LABELS), seed=0)
    assert same(found, plain_combination(2, 8))


def test_plain_is_the_mean_of_the_shares():
    for parts in (1, 2, 3):
        features = stream(parts, "test/fusion").normal(size=(5, width_of(parts))).astype(np.float32)
        shares = features[:, [1 + 4 * part for part in range(parts)]]
        np.testing.assert_allclose(
            plain_combination(parts, 8).log_odds(features), shares.mean(axis=1), rtol=1e-5
        )


@pytest.mark.parametrize("seed", range(6))
def test_the_curve_is_what_a_general_minimiser_finds(seed):
    draw = stream(seed, "test/curve")
    known = draw.normal(size=300)
    targets = np.where(draw.random(300) < 1 / (1 + np.exp(-2 * known)), draw.random(300), 0)
    scores = known * [0.1, 1, 10, 1, 3, 30][seed] + [0, 0, 0, 20, -5, 0][seed]
    weights = draw.choice(np.array([0, 0.5, 1, 3]), 300)

    def loss(curve: np.ndarray) -> float:
        log_odds = curve[0] * scores + curve[1]
        fit = np.logaddexp(0, log_odds) - targets * log_odds
        return float(weights @ fit + RIDGE * curve @ curve)

    best = optimize.minimize(loss, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10})
    found = logistic_curve(scores, targets, weights).astype(np.float64)
    assert best.x[0] > 0
    np.testing.assert_allclose(found, best.x, rtol=2e-3, atol=2e-3)


def test_a_curve_never_turns_the_ranking_round():
    scores = np.linspace(-3, 3, 50)
    factor, _ = logistic_curve(scores, (scores < 0).astype(np.float64), np.ones(50))
    assert factor > 0


def test_the_gradients_of_the_network_are_those_of_torch():
    draw = stream(3, "test/fusion")
    x = draw.normal(size=(7, 9)).astype(np.float32)
    pairs = np.array([[0, 1, 2], [3, 4, -1], [5, 6, -1]])
    right = np.array([[1.0, 0, 0.4], [0, 1, 0], [1, 1, 0]])
    targets = plain_losses.batch_targets(right, pairs < 0, np.array([1.0, 2.0, 0.5]))
    shapes = {"direct": (9,), "inner": (4, 9), "offset": (4,), "outer": (4,)}
    weights = {name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    v, inner, offset, outer = (
        torch.tensor(w, dtype=torch.float64, requires_grad=True) for w in weights.values()
    )
    features = torch.from_numpy(x.astype(np.float64)[pairs])
    scores = features @ v + torch.relu(features @ inner.T + offset) @ outer
    expected = plain_losses.decoupled_softmax(scores, targets)
    expected.backward()
    value, gradients = combination_loss(weights, x, pairs, targets)
    assert value == pytest.approx(expected.item(), rel=1e-5)
    for name, leaf in zip(shapes, (v, inner, offset, outer), strict=True):
        np.testing.assert_allclose(gradients[name], leaf.grad.numpy(), rtol=1e-4, atol=1e-5)
