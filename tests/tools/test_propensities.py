"""PSP under two conventions, from outcomes of a known quality."""

from __future__ import annotations

import numpy as np
import pytest
from ranked_outcomes import exam, outcome

from tailwright.evaluation import metrics_at_k
from tailwright.labels import Propensity
from tools.propensities import header, inverse_propensities, lines_of, measured

EXAM = exam()


def test_the_usual_convention_is_that_of_the_study():
    found = outcome(EXAM, 0.5)
    assert measured(found, EXAM)["usual"]["PSP@5"] == pytest.approx(found.metrics["PSP@5"])


def test_that_of_xda_counts_test_rows_too():
    found = outcome(EXAM, 0.5)
    both = found.counts + np.asarray(EXAM.test.targets.sum(axis=0)).astype(int)
    inverse = Propensity(0.6, 2.6).inverse(both, found.n_train + len(EXAM.test))
    np.testing.assert_allclose(inverse_propensities(found, EXAM)["xda"], inverse)
    wanted = metrics_at_k(found.top, EXAM.test.targets, inverse)["PSP@3"]
    assert measured(found, EXAM)["xda"]["PSP@3"] == pytest.approx(wanted)


def test_a_line_has_means_over_seeds_and_gains():
    outcomes = [outcome(EXAM, 0.3, seed=seed) for seed in (0, 1)]
    outcomes.append(outcome(EXAM, 0.8, augmentation="gandalf"))
    plain, better = lines_of(outcomes, lambda cell: EXAM, ["PSP@5"])
    assert plain[:4] == ["toy", "100 %", "twin", "none"]
    assert plain[5] == plain[7] == ""
    mean = np.mean([measured(one, EXAM)["usual"]["PSP@5"] for one in outcomes[:2]])
    assert plain[4] == f"{mean:.2f}"
    assert float(better[5]) == pytest.approx(float(better[4]) - float(plain[4]), abs=0.011)
    assert len(header(["PSP@5"])) == len(better)
