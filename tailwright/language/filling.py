"""`filled_texts`: a T5 rewrites texts by filling blanks, in shards that survive a kill.

Each copy of a text has its own blanks, drawn from the stream of its row. They are filled some at a time, in
random order: of all blanks only those are open, the others hold the text's words, or what was filled in
before. As decoding is greedy, copies differ by their blanks alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from tailwright.code_version import code_version
from tailwright.encoders.token_batches import chunks
from tailwright.language.greedy import GreedyRules, greedy_answers
from tailwright.language.masking import MaskedText, Words, drawn_blanks
from tailwright.language.passages import Passages
from tailwright.language.settings import FillingSettings
from tailwright.language.shards import in_shards
from tailwright.language.soft_prompt import PromptedT5
from tailwright.language.t5 import Infiller
from tailwright.language.work import Texts, work_folder
from tailwright.progress import Advance
from tailwright.store.shared import content_key
from tailwright.streams import stream

METHOD = "filled text"


@dataclass(frozen=True)
class Question:
    """A text with open blanks: the line of its labels, and the segments around the blanks."""

    line: str
    segments: Sequence[str]


Answer = Callable[[Sequence[Question]], Sequence[Sequence[str]]]
"""Values for the blanks of each question"""


class Filler:
    """A T5, perhaps with a prompt, and how it is asked."""

    def __init__(self, network: PromptedT5, infiller: Infiller, settings: FillingSettings) -> None:
        self.network, self.infiller, self.settings = network, infiller, settings
        self.rules = GreedyRules(settings.repetition_penalty, settings.no_repeat, settings.max_new_tokens)
        network.eval()

    def __reduce__(self) -> tuple[Any, ...]:
        prompt = self.network.prompt.detach().numpy()
        return _received, (self.infiller, self.network.length, prompt, self.settings)

    def answers(self, questions: Sequence[Question]) -> list[list[str]]:
        """Values for the blanks of each question; questions of similar length are asked together."""
        tokens = self.infiller.sources(
            [question.line for question in questions], [question.segments for question in questions]
        )
        lengths = np.array([len(of_question) for of_question in tokens], np.int64)
        values: list[list[str]] = [[] for _ in questions]
        for places in chunks(lengths, self.settings.batch_tokens):
            blanks = [len(questions[place].segments) - 1 for place in places]
            sources = [tokens[place] for place in places]
            written = greedy_answers(self.network, self.infiller, sources, blanks, self.rules)
            for place, answer, count in zip(places.tolist(), written, blanks, strict=True):
                values[place] = self.infiller.parsed(answer, count)
        return values


def _received(infiller: Infiller, length: int, prompt: np.ndarray, settings: FillingSettings) -> Filler:
    """A filler as another process sent it; its network and its infiller have the T5 in common."""
    network = PromptedT5(infiller.model, length)
    network.prompt = torch.nn.Parameter(torch.from_numpy(prompt.copy()), requires_grad=False)
    return Filler(network, infiller, settings)


def filled_texts(
    filler: Filler, passages: Passages, *, copies: int, share: float, seed: int, key: str
) -> pa.LargeListArray:
    """`copies` texts for each passage, in their order. `key` identifies the network."""
    settings = filler.settings
    # Sorted by length, so that what is asked together takes little padding.
    order = np.lexsort((passages.rows, pc.utf8_length(passages.texts).to_numpy()))
    starts = range(0, len(order), settings.shard_rows)
    shards = [order[start : start + settings.shard_rows] for start in starts]
    digest = content_key(key, passages.key(), copies, share, repr(settings), seed, code_version([__name__]))
    author = _Filling(filler, passages, copies, share, seed)
    texts = in_shards(work_folder("filled", digest), shards, author, "filling blanks")
    return texts.take(pa.array(np.argsort(order)))


@dataclass(frozen=True, eq=False)
class _Filling:
    """An author of passages whose blanks are filled."""

    filler: Filler
    passages: Passages
    copies: int
    share: float
    seed: int

    @property
    def device(self) -> torch.device:
        return self.filler.infiller.model.device

    def texts(self, places: np.ndarray, advance: Advance) -> list[Texts]:
        texts = rewritten(
            self.passages.take(places),
            self.filler.answers,
            copies=self.copies,
            share=self.share,
            blanks=self.filler.settings.blanks,
            seed=self.seed,
        )
        advance(len(places))
        return [[(text, 0.0) for text in of_passage] for of_passage in texts]  # they have no score


def rewritten(
    passages: Passages, answer: Answer, *, copies: int, share: float, blanks: int, seed: int
) -> list[list[str]]:
    """`copies` of each passage with a share of the words filled in anew, so many blanks at a time."""
    drafts = [
        _Draft(passages, place, copy, share=share, blanks=blanks, seed=seed)
        for place in range(len(passages))
        for copy in range(copies)
    ]
    for number in range(max((len(draft.rounds) for draft in drafts), default=0)):
        open_ones = [draft for draft in drafts if number < len(draft.rounds)]
        questions = [Question(d.line, d.text.segments(d.rounds[number])) for d in open_ones]
        for draft, values in zip(open_ones, answer(questions), strict=True):
            draft.text.put(draft.rounds[number], values)
    texts = [str(draft.text) for draft in drafts]
    return [texts[start : start + copies] for start in range(0, len(texts), copies)]


class _Draft:
    """One copy of a passage, and in which rounds its blanks are filled."""

    def __init__(
        self, passages: Passages, place: int, copy: int, *, share: float, blanks: int, seed: int
    ) -> None:
        self.line: str = passages.labels[place].as_py()
        words = Words.of(passages.texts[place].as_py())
        random = stream(seed, f"{METHOD}/{copy}", int(passages.rows[place]))
        self.text = MaskedText(words, drawn_blanks(len(words), share, random))
        order = random.permutation(len(self.text.blanks)).tolist()
        self.rounds = [sorted(order[start : start + blanks]) for start in range(0, len(order), blanks)]
