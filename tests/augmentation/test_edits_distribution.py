"""Each operation makes the texts of TextAttack's algorithm, each as often: chi-square on a few words."""

from __future__ import annotations

import random
from collections import Counter

import literal_eda
import numpy as np
import pytest
from scipy import stats

from tailwright.augmentation.shared.edits import EditSettings, edited_texts
from tailwright.data.dataset import arrow_strings
from tailwright.data.synonyms import synonym_arrays
from tailwright.data.text.stop_words import ENGLISH
from tailwright.streams import stream_key

SYNONYMS = {
    "car": ("auto", "machine", "motor_car"),
    "red": ("crimson", "ruby", "M-1"),
    "dog": ("hound",),
    "very": ("really",),
    "hound": ("dog",),
}
TEXT = "The very red dog, in a car"
DRAWS = 6000


def ours(operation: str, share: float) -> Counter[str]:
    made, sources = edited_texts(
        arrow_strings([TEXT] * DRAWS),
        np.arange(DRAWS),
        (operation,),
        EditSettings(share=share),
        key=stream_key(0, "distribution"),
        synonyms=synonym_arrays(SYNONYMS, "textattack"),
    )
    return Counter({TEXT: DRAWS - len(sources), **Counter(made.to_pylist())})


def theirs(operation: str, share: float) -> Counter[str]:
    random.seed(0)

    def synonyms_of(word: str) -> set[str]:
        return set(SYNONYMS.get(word, ()))

    return Counter(
        literal_eda.augmented(TEXT, operation, synonyms_of, set(ENGLISH), share) for _ in range(DRAWS)
    )


def p_value(one: Counter[str], other: Counter[str]) -> float:
    """Of both being drawn alike; texts that are met fewer than ten times count as one."""
    common = [text for text in {*one, *other} if one[text] + other[text] >= 10]
    table = [[counts[text] for text in common] for counts in (one, other)]
    table = [[*row, DRAWS - sum(row)] for row in table]
    filled = [column for column in zip(*table, strict=True) if sum(column)]
    return float(stats.chi2_contingency(np.array(filled).T).pvalue)


@pytest.mark.parametrize("share", [0.1, 0.3])
@pytest.mark.parametrize("operation", literal_eda.OPERATIONS)
def test_texts_are_made_as_often_as_by_the_literal_algorithm(operation, share):
    one, other = ours(operation, share), theirs(operation, share)
    assert len(one) > 3
    assert p_value(one, other) > 1e-3


def test_the_comparison_can_fail():
    assert p_value(ours("swap", 0.1), theirs("delete", 0.1)) < 1e-6
    assert p_value(ours("synonyms", 0.3), theirs("synonyms", 0.1)) < 1e-6
    skewed = theirs("delete", 0.1)
    text, count = skewed.most_common(1)[0]
    skewed[text] -= count // 4
    skewed[TEXT.replace("The ", "")] += count // 4
    assert p_value(ours("delete", 0.1), skewed) < 1e-3
