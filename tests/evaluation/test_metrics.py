"""metrics_at_k: golden values, equality with the literal twin, invariances, edge rules, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from literal_metrics import literal_metrics
from metric_cases import Case, cases
from scipy import sparse

from tailwright.evaluation import TopK, f1_by_label, metrics_at_k
from tailwright.labels import Propensity

GOLD = sparse.csr_array(np.array([[1, 0, 0, 1, 0], [0, 1, 0, 0, 0], [1, 1, 1, 0, 1]], dtype=np.float32))
RANKED = np.array([[0, 1, 3], [2, 1, 0], [4, 0, 3]])
WEIGHTS = Propensity().inverse(np.array([50, 10, 5, 1, 0]), rows=100)


@pytest.mark.parametrize(
    ("key", "share"),
    [
        ("P@1", 0.666667),
        ("nDCG@1", 0.666667),
        ("PSP@1", 0.576433),
        ("PSnDCG@1", 0.576433),
        ("PSnDCG-xclib@1", 0.576433),
        ("P@3", 0.555556),
        ("nDCG@3", 0.772004),
        ("PSP@3", 0.802741),
        ("PSnDCG@3", 0.720744),
        ("PSnDCG-xclib@3", 0.707487),
        # By hand: labels 0..4 are found in (2 of 2, 1 of 2, 0 of 1, 1 of 1, 1 of 1) and are ranked by
        # (3, 2, 1, 2, 1) rows, so their F1 are 4/5, 2/4, 0, 2/3, 1.
        ("R@3", (1 + 1 + 2 / 4) / 3),
        ("F1-macro@3", (4 / 5 + 2 / 4 + 0 + 2 / 3 + 1) / 5),
        ("Coverage@3", 4 / 5),
        ("R@1", (1 / 2 + 0 + 1 / 4) / 3),
        # Ranked first: 0, 2, 4. Labels 1 and 3 are in the truth only.
        ("F1-macro@1", (2 / 3 + 0 + 0 + 0 + 1) / 5),
        ("Coverage@1", 2 / 5),
    ],
)
def test_the_toy_table_has_its_golden_values(key: str, share: float) -> None:
    assert metrics_at_k(RANKED, GOLD, WEIGHTS, ks=(1, 3))[key] == pytest.approx(100 * share, abs=1e-4)


def test_keys_are_every_metric_at_every_k_and_ps_needs_propensities() -> None:
    names = ("P", "nDCG", "PSP", "PSnDCG", "PSnDCG-xclib", "R", "F1-macro", "Coverage")
    found = metrics_at_k(RANKED, GOLD, WEIGHTS, ks=(3, 1))
    assert list(found) == [f"{name}@{k}" for name in names for k in (1, 3)]
    without = metrics_at_k(RANKED, GOLD, None, ks=(3, 1))
    assert without == {key: value for key, value in found.items() if not key.startswith("PS")}


@given(cases())
def test_every_metric_equals_its_literal_twin(case: Case) -> None:
    found = metrics_at_k(case.top_ids, case.truth_csr, np.array(case.weights), case.ks, case.excluded_csr)
    assert found == pytest.approx(
        literal_metrics(case.rankings, case.truth, case.weights, case.ks, case.excluded), abs=1e-9
    )


def test_a_large_random_evaluation_equals_its_literal_twin() -> None:
    """Several blocks of rows, and rows with many labels."""
    random = np.random.default_rng(0)
    truth = (random.random((2500, 40)) < 0.2) * 1.0
    top_ids = np.argsort(random.random(truth.shape), axis=1)[:, :12]
    excluded = (random.random(truth.shape) < 0.05) * 1.0
    weights = 1 + 10 * random.random(40)
    pairs = {(int(row), int(label)) for row, label in zip(*excluded.nonzero(), strict=True)}
    assert metrics_at_k(
        top_ids, sparse.csr_array(truth), weights, (1, 5, 8), sparse.csr_array(excluded)
    ) == pytest.approx(
        literal_metrics(top_ids.tolist(), truth.tolist(), weights.tolist(), (1, 5, 8), pairs), abs=1e-9
    )


@given(cases())
def test_row_order_extra_padding_and_unused_labels_change_nothing(case: Case) -> None:
    ids, truth, excluded = case.top_ids, case.truth_csr, case.excluded_csr
    rows, labels = truth.shape
    expected = metrics_at_k(ids, truth, np.array(case.weights), case.ks, excluded)
    shuffled = np.random.default_rng(len(case.ks)).permutation(rows)
    wider = np.hstack([ids, np.full((rows, 3), -1)])
    more = [
        sparse.csr_array((m.data, m.indices, m.indptr), shape=(rows, labels + 4)) for m in (truth, excluded)
    ]
    changed = metrics_at_k(
        wider[shuffled],
        more[0][shuffled],
        np.array([*case.weights, 1.0, 2, 3, 4]),
        case.ks,
        more[1][shuffled],
    )
    assert changed == pytest.approx(expected, abs=1e-9)


@given(cases(soft=False))
def test_perfect_rankings_reach_100_and_the_ceiling_of_precision(case: Case) -> None:
    gains = np.array(case.truth) * np.array(case.weights)
    ranked = np.where(-np.sort(-gains, axis=1) > 0, np.argsort(-gains, axis=1, kind="stable"), -1)
    truths = (gains > 0).sum(axis=1)
    if not truths.all():
        return
    found = metrics_at_k(ranked, case.truth_csr, np.array(case.weights), case.ks)
    for k in case.ks:
        for name in ("nDCG", "PSP", "PSnDCG", "PSnDCG-xclib"):
            assert found[f"{name}@{k}"] == pytest.approx(100)
        assert found[f"P@{k}"] == pytest.approx(100 * np.minimum(truths, k).mean() / k)
        if k >= truths.max():
            for name in ("R", "F1-macro", "Coverage"):
                assert found[f"{name}@{k}"] == pytest.approx(100)


def test_fewer_than_k_predictions_keep_the_divisor_k() -> None:
    found = metrics_at_k(np.array([[0]]), sparse.csr_array(np.array([[1, 1]])), np.ones(2), ks=(5,))
    assert found["P@5"] == 20
    assert found["R@5"] == 50


def test_a_row_without_truth_counts_as_zero_and_stays_in_the_mean() -> None:
    truth = sparse.csr_array(np.array([[1, 0], [0, 0]]))
    found = metrics_at_k(np.array([[0, 1], [0, 1]]), truth, np.ones(2), ks=(1,))
    assert (found["P@1"], found["nDCG@1"], found["R@1"], found["PSP@1"]) == (50, 50, 50, 100)


def test_no_truth_at_all_is_zero_and_not_nan() -> None:
    found = metrics_at_k(np.array([[0]]), sparse.csr_array((1, 2)), np.ones(2), ks=(1,))
    assert set(found.values()) == {0.0}


def test_a_stored_zero_in_the_truth_is_no_label() -> None:
    stored = sparse.csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert metrics_at_k(np.array([[0]]), stored, np.ones(2), ks=(1,)) == metrics_at_k(
        np.array([[0]]), sparse.csr_array(np.array([[0, 1]])), np.ones(2), ks=(1,)
    )


def test_excluded_pairs_leave_before_the_cut_so_the_next_label_moves_up() -> None:
    truth = sparse.csr_array(np.array([[0, 1, 0]]))
    own = sparse.csr_array(np.array([[1, 0, 0]]))
    assert metrics_at_k(np.array([[0, 1]]), truth, None, ks=(1,))["P@1"] == 0
    assert metrics_at_k(np.array([[0, 1]]), truth, None, ks=(1,), excluded=own)["P@1"] == 100


def test_an_excluded_pair_leaves_the_truth_too() -> None:
    truth = sparse.csr_array(np.array([[1, 1]]))
    own = sparse.csr_array(np.array([[1, 0]]))
    assert metrics_at_k(np.array([[1]]), truth, np.ones(2), ks=(2,), excluded=own)["R@2"] == 100


def test_a_stored_zero_in_excluded_excludes_nothing() -> None:
    truth = sparse.csr_array(np.array([[1, 1]]))
    nothing = sparse.csr_array((np.array([0.0]), np.array([0]), np.array([0, 1])), shape=(1, 2))
    assert metrics_at_k(np.array([[0]]), truth, None, (1,), nothing)["P@1"] == 100


def test_a_ranking_may_come_as_topk_or_read_only_and_inputs_stay_as_they_are() -> None:
    expected = metrics_at_k(RANKED, GOLD, WEIGHTS)
    assert metrics_at_k(TopK(RANKED, np.zeros(RANKED.shape)), GOLD, WEIGHTS) == expected
    ids, truth, weights = RANKED.astype(np.int32), GOLD.copy(), WEIGHTS.copy()
    excluded = sparse.csr_array(np.eye(3, 5, dtype=np.float32))
    for array in (ids, weights, truth.data, truth.indices, truth.indptr, excluded.data, excluded.indices):
        array.flags.writeable = False
    assert metrics_at_k(ids, truth, weights) == expected
    metrics_at_k(ids, truth, weights, excluded=excluded)
    assert (truth != GOLD).nnz == 0


def test_a_huge_k_costs_no_memory() -> None:
    assert metrics_at_k(RANKED, GOLD, None, ks=(10**12,))["R@1000000000000"] == pytest.approx(250 / 3)


def test_macro_f1_is_the_mean_of_the_labels_that_occur() -> None:
    truth = sparse.csr_array(np.array([[1, 0, 0, 0], [1, 0, 0, 0]]))
    by_label = f1_by_label(np.array([[0], [1]]), truth, ks=(1,))
    assert by_label[:, 0] == pytest.approx([200 / 3, 0, np.nan, np.nan], nan_ok=True)
    assert metrics_at_k(np.array([[0], [1]]), truth, None, (1,))["F1-macro@1"] == pytest.approx(100 / 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"top_ids": np.array([[0, 1, 0]] * 3)}, "row 0 of top_ids ranks label 0 twice"),
        ({"top_ids": RANKED[:2]}, "top_ids has 2 rows, truth has 3"),
        ({"top_ids": np.array([[5], [0], [0]])}, r"label 5, expected -1 \(padding\) or 0..4"),
        ({"top_ids": np.array([[-2], [0], [0]])}, "label -2"),
        ({"top_ids": RANKED.astype(float)}, r"must be integers \(rows, width\), got float64"),
        ({"top_ids": np.array([0, 1, 2])}, "must be integers"),
        ({"truth": GOLD * 2}, r"truth must be in \[0, 1\], got 2.0"),
        ({"truth": GOLD * np.nan}, r"truth must be in \[0, 1\], got nan"),
        ({"truth": GOLD.toarray()}, "truth must be a sparse matrix"),
        ({"truth": sparse.csr_array((0, 5)), "top_ids": RANKED[:0]}, "truth has no rows"),
        ({"inverse_propensity": WEIGHTS[:4]}, r"shape \(4,\), expected \(5,\)"),
        ({"inverse_propensity": WEIGHTS * np.inf}, "finite and > 0, got inf"),
        ({"inverse_propensity": WEIGHTS * 0}, "finite and > 0, got 0.0"),
        ({"ks": ()}, "ks is empty"),
        ({"ks": (1, 0)}, "ks must be integers >= 1, got 0"),
        ({"ks": (1.5,)}, "ks must be integers >= 1, got 1.5"),
        ({"excluded": sparse.csr_array((3, 4))}, r"excluded has shape \(3, 4\), expected \(3, 5\)"),
    ],
)
def test_what_cannot_be_evaluated_is_refused_in_one_line(change: dict, message: str) -> None:
    arguments = {"top_ids": RANKED, "truth": GOLD, "inverse_propensity": WEIGHTS, "ks": (1, 3)} | change
    with pytest.raises(ValueError, match=message):
        metrics_at_k(**arguments)


def test_a_label_ranked_twice_below_the_largest_k_is_refused_too() -> None:
    with pytest.raises(ValueError, match="row 1 of top_ids ranks label 2 twice"):
        metrics_at_k(np.array([[0, 1, 2], [1, 2, 2], [0, 1, 2]]), GOLD, None, ks=(1,))


def test_truth_that_stores_a_pair_twice_is_refused() -> None:
    twice = sparse.csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
    with pytest.raises(ValueError, match="truth stores the same label twice in a row"):
        metrics_at_k(np.array([[0]]), twice, None)
