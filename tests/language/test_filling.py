"""Filling blanks: greedy answers, rounds, copies, and texts that depend on nothing but their row."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_t5 import SENTENCES, passages
from transformers import GenerationConfig
from transformers.modeling_outputs import BaseModelOutput

from tailwright.language import filling
from tailwright.language.filling import Filler, Question, filled_texts, rewritten
from tailwright.language.greedy import GreedyRules, greedy_answers
from tailwright.language.masking import MaskedText
from tailwright.language.passages import Passages
from tailwright.language.settings import FillingSettings, PromptSettings
from tailwright.language.soft_prompt import PromptedT5, padded_tokens, prompted
from tailwright.language.t5 import Infiller, load_t5

RULES = GreedyRules(repetition_penalty=2.5, no_repeat=3, most_tokens=40)
SMALL = FillingSettings(max_new_tokens=16, shard_rows=4, batch_tokens=120, blanks=3)


@pytest.fixture(scope="module")
def infiller(tiny_t5: Path) -> Infiller:
    return load_t5(tiny_t5)


@pytest.fixture(scope="module")
def network(infiller: Infiller) -> PromptedT5:
    made = prompted(infiller, SENTENCES, PromptSettings(start="normal"), seed=0)
    made.eval()
    return made


def column(texts: Sequence[str]) -> pa.LargeStringArray:
    return pa.array(list(texts), pa.large_string())


def questions(infiller: Infiller) -> list[list[int]]:
    segments = [["the", "fox", "dog"], ["a"], ["one two three four five six", "", "seven", "eight"]]
    segments += [[sentence, "x"] for sentence in SENTENCES]
    return infiller.sources([""] * len(segments), segments)


def by_transformers(network: PromptedT5, infiller: Infiller, source: list[int], **rules: float) -> list[int]:
    """What `generate` writes for one source, without a cache."""
    tokens, mask = padded_tokens([source], infiller.pad, torch.device("cpu"))
    with torch.no_grad():
        hidden, mask = network.encode(tokens, mask)
        found = network.t5.generate(
            encoder_outputs=BaseModelOutput(last_hidden_state=hidden),
            attention_mask=mask,
            generation_config=GenerationConfig(
                max_new_tokens=RULES.most_tokens,
                do_sample=False,
                use_cache=False,
                decoder_start_token_id=infiller.start,
                pad_token_id=infiller.pad,
                eos_token_id=infiller.end,
                **rules,
            ),
        )
    return found[0, 1:].tolist()


@pytest.mark.parametrize("prompt", ["on", "off"])
@pytest.mark.parametrize(
    "rules",
    [
        RULES,
        GreedyRules(1, 2, 40),
        pytest.param(GreedyRules(most_tokens=40), marks=pytest.mark.slow),
        pytest.param(GreedyRules(1.3, 1, 40), marks=pytest.mark.slow),
    ],
)
def test_greedy_answers_are_those_of_transformers_one_at_a_time(network, infiller, prompt, rules):
    network = network if prompt == "on" else PromptedT5(infiller.model, 0)
    sources = questions(infiller)
    many = [1000] * len(sources)  # nothing ends an answer but its end
    found = greedy_answers(network, infiller, sources, many, rules)
    asked = {"repetition_penalty": float(rules.repetition_penalty), "no_repeat_ngram_size": rules.no_repeat}
    expected = [by_transformers(network, infiller, source, **asked) for source in sources]
    assert found == [
        answer[: 1 + answer.index(infiller.pad)] if infiller.pad in answer else answer for answer in expected
    ]


def test_an_answer_stops_where_the_rest_would_be_dropped(network, infiller):
    sources = questions(infiller)
    whole = greedy_answers(network, infiller, sources, [1000] * len(sources), RULES)
    for blanks in (0, 1, 3):
        stopped = greedy_answers(network, infiller, sources, [blanks] * len(sources), RULES)
        for short, long in zip(stopped, whole, strict=True):
            assert long[: len(short)] == short
            assert infiller.parsed(short, blanks) == infiller.parsed(long, blanks)
            assert sum(token in infiller.sentinels for token in short) <= blanks + 1


def test_forbidden_tokens_are_never_written(network, infiller):
    sources = questions(infiller)
    blanks = [1000] * len(sources)
    first = greedy_answers(network, infiller, sources, blanks, RULES)
    used = {token for answer in first for token in answer}
    strict = dataclasses.replace(infiller, forbidden=tuple(used))
    again = greedy_answers(network, strict, sources, blanks, RULES)
    assert not used & {token for answer in again for token in answer}


@given(
    st.lists(st.text(st.sampled_from("ab cé,.日-' "), max_size=60), min_size=1, max_size=4),
    st.floats(0.05, 1),
    st.integers(1, 12),
)
def test_an_oracle_that_knows_the_words_reproduces_the_text(texts, share, blanks):
    masked = drafts_of(texts, share, blanks)
    answers = iter([[text.values[b] for b in chosen] for text, chosen in in_rounds(masked)])

    def oracle(asked: Sequence[Question]) -> list[list[str]]:
        assert all(len(question.segments) - 1 <= blanks for question in asked)
        return [next(answers) for _ in asked]

    made = rewritten(of(texts), oracle, copies=2, share=share, blanks=blanks, seed=0)
    assert made == [[" ".join(text.split())] * 2 for text in texts]
    assert next(answers, None) is None


def of(texts: Sequence[str], rows: Sequence[int] | None = None) -> Passages:
    numbers = np.arange(len(texts)) if rows is None else np.array(rows)
    return Passages(column(texts), column(["a label :"] * len(texts)), numbers)


def drafts_of(texts: Sequence[str], share: float, blanks: int) -> list[filling._Draft]:
    return [
        filling._Draft(of(texts), place, copy, share=share, blanks=blanks, seed=0)
        for place in range(len(texts))
        for copy in range(2)
    ]


def in_rounds(drafts: list[filling._Draft]) -> list[tuple[MaskedText, list[int]]]:
    """Which blanks of which text are asked for, in the order of the questions."""
    rounds = max((len(draft.rounds) for draft in drafts), default=0)
    return [
        (draft.text, draft.rounds[number])
        for number in range(rounds)
        for draft in drafts
        if number < len(draft.rounds)
    ]


def test_blanks_are_filled_some_at_a_time_and_later_ones_read_the_earlier():
    text = " ".join(f"w{number}" for number in range(100))
    asked: list[Question] = []

    def answer(questions: Sequence[Question]) -> list[list[str]]:
        asked.extend(questions)
        return [["new"] * (len(question.segments) - 1) for question in questions]

    ((made,),) = rewritten(of([text]), answer, copies=1, share=0.5, blanks=10, seed=3)
    hidden = sum(end - start for start, end in drafts_of([text], 0.5, 10)[0].text.blanks)
    assert hidden == 50
    assert [len(question.segments) - 1 for question in asked][:-1] == [10] * (len(asked) - 1)
    assert [" ".join(question.segments).count("new") for question in asked] == list(
        range(0, 10 * len(asked), 10)
    )
    assert {question.line for question in asked} == {"a label :"}
    kept = [word for word in made.split() if word != "new"]
    assert kept == [word for word in text.split() if word in set(kept)]
    assert len(kept) == 50


def test_a_row_draws_the_same_blanks_whatever_stands_beside_it():
    def answer(questions: Sequence[Question]) -> list[list[str]]:
        return [["_"] * (len(question.segments) - 1) for question in questions]

    chosen = {"copies": 3, "share": 0.3, "blanks": 2, "seed": 0}
    whole = rewritten(of(SENTENCES), answer, **chosen)
    for row, sentence in enumerate(SENTENCES):
        assert rewritten(of([sentence], [row]), answer, **chosen) == [whole[row]]
        assert len(set(whole[row])) > 1  # each copy has its own
    assert rewritten(of(SENTENCES), answer, **{**chosen, "copies": 1}) == [copies[:1] for copies in whole]
    assert rewritten(of(SENTENCES), answer, **{**chosen, "seed": 1}) != whole


@pytest.mark.parametrize("prompt", ["on", "off"])
def test_texts_are_those_of_one_row_at_a_time(network, infiller, prompt):
    network = network if prompt == "on" else PromptedT5(infiller.model, 0)
    many, chosen = passages(15), {"copies": 2, "share": 0.3, "blanks": 3, "seed": 0}
    filler = Filler(network, infiller, SMALL)
    together = rewritten(many, filler.answers, **chosen)
    alone = [rewritten(many.take(np.array([row])), filler.answers, **chosen)[0] for row in range(15)]
    assert together == alone
    sources = many.texts.to_pylist()
    assert sum(text != source for texts, source in zip(together, sources, strict=True) for text in texts) > 25


def test_texts_come_in_the_order_of_the_rows_and_shards_are_kept(network, infiller, tmp_path):
    many = passages(15)
    chosen = {"copies": 2, "share": 0.3, "seed": 0, "key": "tiny"}
    filler = Filler(network, infiller, SMALL)
    made = filled_texts(filler, many, **chosen)
    assert made.to_pylist() == rewritten(many, filler.answers, copies=2, share=0.3, blanks=3, seed=0)
    paths = sorted(tmp_path.rglob("filled-*/*.json"))
    assert len(paths) == 4
    paths[1].unlink()
    paths[2].write_bytes(paths[2].read_bytes()[:-5])
    times = {path: path.stat().st_mtime_ns for path in (paths[0], paths[3])}
    assert filled_texts(filler, many, **chosen).equals(made)
    assert {path: path.stat().st_mtime_ns for path in times} == times
    order = np.array([3, 1, 14, 0, 7])
    assert filled_texts(filler, many.take(order), **chosen).to_pylist() == [
        made[int(place)].as_py() for place in order
    ]


def test_no_passages_and_texts_without_words_are_fine(network, infiller):
    filler = Filler(network, infiller, SMALL)
    assert filled_texts(filler, passages(0), copies=2, share=0.5, seed=0, key="x").to_pylist() == []
    odd = filled_texts(filler, of(["", " ", "word"]), copies=2, share=0.9, seed=0, key="x")
    assert odd.to_pylist() == [["", ""], ["", ""], ["word", "word"]]
