"""The kernels that edit texts: byte for byte what their plain twins make of the same draws."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest
from edits_twin import SYNONYMS, Draws, edited, edited_original
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import texts as any_texts

from tailwright.augmentation.shared.edits import OPERATIONS, EditSettings, edited_texts
from tailwright.data.dataset import arrow_strings, text_buffers
from tailwright.data.synonyms import synonym_arrays
from tailwright.data.text.stop_words import ENGLISH, PLAIN
from tailwright.data.text.words import character_class, character_classes, spaced_words, word_spans
from tailwright.kernels.draws import coins
from tailwright.kernels.spans import find_spans
from tailwright.streams import stream, stream_key

table = cache(partial(synonym_arrays, SYNONYMS))  # of a variant; compiled kernels read it, so not on import
pieces = st.sampled_from(
    [
        *("car", "Car", "CAR", "cArs", "dog", "Dog", "big", "I", "i", "auto", "lone_wolf", "loner"),
        *(
            "don't",
            "don\u2019t",
            "Don't",
            "the",
            "The",
            "zero-waste",
            "été",
            "É",
            "日本語",
            "हिन्दी",
            "a",
            "xyzzy",
        ),
        *(
            " ",
            "  ",
            ", ",
            ". ",
            "\n",
            "\t",
            " (",
            ") ",
            "-",
            "'",
            "\u2019",
            "/",
            "\u00a0",
            "🎉",
            "👩\u200d🔬",
            "1️⃣",
        ),
    ]
)
texts = st.lists(pieces, max_size=25).map("".join) | st.lists(pieces, max_size=25).map(" ".join) | any_texts
some_operations = st.permutations(list(OPERATIONS)).flatmap(
    lambda order: st.integers(1, 4).map(lambda count: tuple(order[:count]))
)
stop_rules = st.sampled_from(["as-written", "any-case", "none"])


def run(rows: list[str], operations, settings: EditSettings, workers: int = 1) -> list[list[str]]:
    column, sources = edited_texts(
        arrow_strings(rows),
        np.arange(len(rows)) + 7,
        operations,
        settings,
        key=stream_key(5, "eda"),
        synonyms=table(settings.variant),
        workers=workers,
    )
    column.validate(full=True)
    made: list[list[str]] = [[] for _ in rows]
    for text, source in zip(column.to_pylist(), sources, strict=True):
        made[source].append(text)
    return made


@given(st.lists(texts, max_size=6), some_operations, st.floats(0.01, 1), st.integers(1, 9), stop_rules)
@example(["a b c d e car car"], ("delete",), 1.0, 3, "none")
@example(["(car dog) big, big."], ("delete",), 0.9, 9, "none")
def test_texts_are_those_of_the_twin(rows, operations, share, outputs, stop_rule):
    settings = EditSettings(share=share, outputs=outputs, stop_words=stop_rule)
    stops = set() if stop_rule == "none" else set(ENGLISH)
    expected = [
        edited(text, Draws(5, "eda", i + 7), operations, share, outputs, stops, stop_rule == "any-case")
        for i, text in enumerate(rows)
    ]
    assert run(rows, operations, settings) == expected


@given(st.lists(texts, max_size=6), some_operations, st.floats(0.01, 1), st.integers(1, 9), stop_rules)
def test_texts_of_the_original_variant_are_those_of_the_twin(rows, operations, share, outputs, stop_rule):
    settings = EditSettings(share=share, outputs=outputs, stop_words=stop_rule, variant="original")
    stops = set() if stop_rule == "none" else set(PLAIN)
    expected = [
        edited_original(text, Draws(5, "eda", i + 7), operations, share, outputs, stops)
        for i, text in enumerate(rows)
    ]
    assert run(rows, operations, settings) == expected


@given(texts)
def test_words_lie_where_the_definition_says(text):
    offsets, values = text_buffers(arrow_strings([text]))
    starts, ends = np.empty(len(values) + 1, np.int64), np.empty(len(values) + 1, np.int64)
    count = find_spans(values, offsets[0], offsets[1], *character_classes(), starts, ends)
    found = [values[a:b].tobytes().decode() for a, b in zip(starts[:count], ends[:count], strict=True)]
    assert found == [text[a:b] for a, b in word_spans(text)]


@given(st.lists(texts, max_size=5))
def test_spaced_words_are_those_of_split(rows):
    assert spaced_words(arrow_strings(rows)).tolist() == [len(text.split()) for text in rows]


def test_every_character_has_its_class():
    in_bytes, points = character_classes()
    for character in "aZ0é日\u0301'’- \n_🎉½":
        assert points[ord(character)] == character_class(character)
    assert in_bytes[:128].tolist() == points[:128].tolist()


@pytest.mark.parametrize("variant", ["textattack", "original"])
def test_workers_make_no_difference(variant):
    rows = [f"the big car {i} and the dog don't go {i}" * 9 for i in range(1000)]
    settings = EditSettings(outputs=3, variant=variant)
    one, three = (run(rows, tuple(OPERATIONS), settings, workers=workers) for workers in (1, 3))
    assert one == three
    assert sum(map(len, one)) > 2500


def test_coins_are_the_first_draws_of_the_rows():
    rows = np.array([3, 0, 2**40])
    expected = [Draws(1, "x", int(row)).chance(0.5) for row in rows]
    assert coins(stream_key(1, "x"), rows, 0.5).tolist() == expected
    assert stream_key(1, "x").tolist() == stream(1, "x").bit_generator.state["state"]["key"].tolist()
