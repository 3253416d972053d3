"""A T5 as an infiller: what it reads and writes, loaded or new."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from tiny_t5 import SENTENCES, passages

from tailwright.errors import InputError
from tailwright.language.corruption import Corruption
from tailwright.language.passages import Passages, label_lines
from tailwright.language.settings import ScratchT5Settings
from tailwright.language.t5 import Infiller, load_t5, scratch_t5


@pytest.fixture
def infiller(tiny_t5: Path) -> Infiller:
    return load_t5(tiny_t5)


def names(infiller: Infiller, tokens: list[int]) -> str:
    return infiller.tokenizer.decode(tokens)


def test_a_source_has_a_sentinel_for_each_blank_and_an_end(infiller):
    (source,) = infiller.sources(["a label :"], [["the", "fox", ""]])
    assert names(infiller, source) == " a label : the<extra_id_0> fox<extra_id_1></s>"
    (target,) = infiller.targets([["quick brown", "!"]])
    assert names(infiller, target) == "<extra_id_0> quick brown<extra_id_1> !</s>"


def test_the_name_of_a_sentinel_in_a_text_is_plain_text(infiller):
    (source,) = infiller.sources([""], [["<extra_id_7> </s> <pad>"]])
    assert not {*infiller.sentinels, infiller.pad} & set(source)
    assert source.count(infiller.end) == 1


@pytest.mark.parametrize(
    ("written", "blanks", "expected"),
    [
        ("<0> a b <1> c </s>", 2, ["a b", "c"]),
        ("<0> a <1> b <2> c </s>", 2, ["a", "b"]),
        ("<0> a </s> b", 3, ["a", "b", ""]),
        ("no sentinel", 1, [""]),
        ("x <5> a <3> b", 2, ["a", "b"]),
        ("", 2, ["", ""]),
        ("<0> a", 0, []),
    ],
)
def test_an_answer_is_split_at_sentinels_and_ends(infiller, written, blanks, expected):
    tokens: list[int] = []
    for part in written.split():
        if part.startswith("<"):
            tokens.append(infiller.end if part == "</s>" else infiller.sentinels[int(part[1:-1])])
        else:
            tokens += infiller.all_tokens([part])[0]
    assert infiller.parsed(tokens, blanks) == expected


def test_masks_are_drawn_anew_in_each_epoch_and_by_the_row(infiller):
    data = Corruption(infiller, passages(), 0.3, 128, 0)
    first, second = data.pairs([0, 1, 5], 0), data.pairs([0, 1, 5], 1)
    assert data.pairs([5], 0) == first[2:]
    assert first != second
    assert first[0] != first[2]  # the same text in another row
    assert data.pairs([0, 1, 5], 0) == first


def test_labels_are_never_masked(infiller):
    line = "dog and town :"
    data = Corruption(
        infiller,
        Passages(pa.array(["one"], pa.large_string()), pa.array([line], pa.large_string()), np.zeros(1, int)),
        1.0,
        128,
        0,
    )
    ((source, target),) = data.pairs([0], 0)
    assert names(infiller, source) == " dog and town :<extra_id_0></s>"
    assert names(infiller, target) == "<extra_id_0> one</s>"


def test_blanks_that_were_cut_from_a_source_are_not_asked_for(infiller):
    for longest in range(8, 60):
        data = Corruption(infiller, passages(5), 0.4, longest, 0)
        for source, target in data.pairs(range(5), 0):
            assert len(source) <= longest
            assert len(target) <= longest
            asked = [token for token in source if token in infiller.sentinels]
            answered = [token for token in target if token in infiller.sentinels]
            assert answered == asked[: len(answered)]
            if len(target) < longest:
                assert answered == asked
                assert target[-1] == infiller.end


def test_the_rarest_labels_come_first_and_as_many_as_fit(infiller):
    targets = sparse.csr_array(
        np.array([[1, 0.5, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1], [1, 0, 1, 1]], np.float32)
    )
    most = 64
    long = " ".join(["extraordinarily"] * most)
    counts = np.array([5, 1, 5, 2])
    lines = label_lines(["fox_dog", "the  town", "", long], counts, targets, infiller.all_tokens, most)
    assert lines == ["the town and fox dog :", "", "", "fox dog :"]
    many = sparse.csr_array(np.ones((1, 100), np.float32))
    (line,) = label_lines(["dog town"] * 100, np.ones(100, int), many, infiller.all_tokens, most)
    assert most - 6 < len(infiller.all_tokens([line])[0]) <= most


def test_a_model_without_sentinels_is_refused(tiny_gpt2):
    with pytest.raises(InputError, match="expected a T5"):
        load_t5(tiny_gpt2)


def test_a_new_t5_can_read_and_write_any_text_and_follows_the_seed():
    settings = ScratchT5Settings(width=16, layers=1, vocabulary=450)
    one, again, other = (scratch_t5(SENTENCES, settings, seed) for seed in (0, 0, 1))
    weights = [made.model.shared.weight for made in (one, again, other)]
    assert bool((weights[0] == weights[1]).all())
    assert not bool((weights[0] == weights[2]).all())
    assert len(one.tokenizer) <= 450
    for text in ("Ωmega x", "日本 🙂 ñandú", "dog"):
        (target,) = one.targets([[text]])
        assert one.parsed(target, 1) == [text]
