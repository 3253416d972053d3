"""How well a T5 fills blanks of held-out texts: as it is, pretrained on the corpus, and with a prompt.

    .venv/bin/python benchmarks/bench_t5.py [--generator title-t5 scratch] [--texts 300] [--learnt N]
        [--prompt-epochs N] [--pretrain auto|on|off] [--pretraining-epochs N] [--threads N] [--corpus NAME]
        [--max-tokens N] [--without-labels]

The last `--texts` of the corpus are held out and rewritten once, as `xda` rewrites; it learns from others.

| figure | is |
|---|---|
| `restored` | share of the blanks whose words come back exactly |
| `likeness` | mean cosine of the embeddings of a blank's own words and of those filled in |
| `empty` | share of the blanks that stay empty |
| `looping` | share of the answers that repeat a word three times in a row, or run into the longest answer |
| `similarity` | mean cosine of the texts' embeddings and their sources' |
| `drift` | share of a source's first labels that a text loses, by `linear` trained on the other rows |

Embeddings are those of `minilm`; without it these two are null.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import common
import numpy as np
import pyarrow as pa
import torch
from transformers import AutoModel, AutoTokenizer

import tailwright as tw
from tailwright.augmentation import ScorerSettings, TrainedClassifier
from tailwright.augmentation.shared.agreement import agreement, summed_bce
from tailwright.augmentation.shared.infilling import Infilling
from tailwright.augmentation.shared.sources import rows_made_of
from tailwright.augmentation.xda import XdaSettings
from tailwright.data.dataset import Dataset
from tailwright.errors import InputError
from tailwright.language.filling import Filler, Question, rewritten
from tailwright.language.masking import MaskedText, Words, drawn_blanks
from tailwright.pretrained import weights_folder
from tailwright.runs.scoring import scorer_for
from tailwright.streams import stream

SHARE = 0.15


class Watched:
    """Answers, and what they were like."""

    def __init__(self, filler: Filler) -> None:
        self.filler = filler
        self.values: list[list[str]] = []

    def answers(self, questions: Sequence[Question]) -> list[list[str]]:
        found = self.filler.answers(questions)
        self.values += found
        return found

    def looping(self) -> float:
        return float(np.mean([any(_loops(value) for value in values) for values in self.values]))

    def empty(self) -> float:
        return float(np.mean([not value for values in self.values for value in values]))


def _loops(value: str) -> bool:
    words = value.split()
    return len(words) > 20 or any(a == b == c for a, b, c in zip(words, words[1:], words[2:], strict=False))


def blanks_and_answers(work: Infilling, filler: Filler) -> tuple[list[str], list[str]]:
    """The words of all blanks, all of a text open at once, and what is filled in."""
    drafts = []
    for text, row in zip(work.to_fill.texts.to_pylist(), work.to_fill.rows.tolist(), strict=True):
        words = Words.of(text)
        blanks = drawn_blanks(len(words), SHARE, stream(1, "bench-t5", row))
        drafts.append(MaskedText(words, blanks[: filler.settings.blanks]))
    lines = work.to_fill.labels.to_pylist()
    questions = [
        Question(line, draft.segments(range(len(draft.blanks))))
        for line, draft in zip(lines, drafts, strict=True)
    ]
    true = [value for draft in drafts for value in draft.values]
    return true, [value for values in filler.answers(questions) for value in values]


def drift(work: Infilling, texts: Sequence[str], classifier: TrainedClassifier) -> float:
    """One minus the mean consistency of the texts with their sources."""
    held_out = work.corpus.train.take(work.sources)
    places = np.arange(len(held_out))
    made = rows_made_of(held_out, places, pa.array(texts, pa.large_string()), "xda")
    both = Dataset.concat([held_out, made])
    _, consistency = agreement(both, places + len(held_out), places, classifier, summed_bce)
    return round(1 - float(consistency.mean()), 4)


def similarity(sources: Sequence[str], texts: Sequence[str]) -> float | None:
    """The mean cosine of each text and its source; None without `minilm`."""
    try:
        folder = weights_folder("minilm")
    except InputError:
        return None
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    cosines = []
    with torch.inference_mode():
        for start in range(0, len(texts), 32):
            both = [*sources[start : start + 32], *texts[start : start + 32]]
            batch = tokenizer(both, padding=True, truncation=True, max_length=256, return_tensors="pt")
            mask = batch["attention_mask"][:, :, None]
            states = model(**batch).last_hidden_state  # (texts, tokens, width)
            vectors = (states * mask).sum(1) / mask.sum(1)
            cosines.append(torch.nn.functional.cosine_similarity(*vectors.chunk(2)))
    return round(float(torch.cat(cosines).mean()), 4)


def measured(work: Infilling, classifier: TrainedClassifier) -> dict[str, Any]:
    start = time.perf_counter()
    network, _ = work.network()
    learning = time.perf_counter() - start
    filler = Filler(network, work.infiller, work.settings.filling)
    watched = Watched(filler)
    start = time.perf_counter()
    made = rewritten(
        work.to_fill, watched.answers, copies=1, share=SHARE, blanks=work.settings.filling.blanks, seed=0
    )
    seconds = time.perf_counter() - start
    texts, sources = [text for (text,) in made], work.to_fill.texts.to_pylist()
    true, filled = blanks_and_answers(work, filler)
    same = [a.lower() == b.lower() for a, b in zip(true, filled, strict=True)]
    return {
        "learning_seconds": round(learning, 1),
        "texts_a_second": round(len(texts) / seconds, 2),
        "restored": round(float(np.mean(same)), 4),
        "likeness": similarity(true, filled),
        "empty": round(watched.empty(), 4),
        "looping": round(watched.looping(), 4),
        "similarity": similarity(sources, texts),
        "drift": drift(work, texts, classifier),
        "examples": [{"source": a, "text": b} for a, b in list(zip(sources, texts, strict=True))[:3]],
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--generator", nargs="+", default=["title-t5", "scratch"])
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--learnt", type=int, default=2000)
    parser.add_argument("--prompt-epochs", type=int, default=5)
    parser.add_argument("--pretrain", choices=("auto", "on", "off"), default="auto")
    parser.add_argument("--pretraining-epochs", type=int, default=5)
    parser.add_argument("--max-tokens", type=int, default=128, help="of a text that is learnt from")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--corpus", default="cve-libraries")
    parser.add_argument("--without-labels", action="store_true", help="no names of labels before a text")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    corpus = tw.read(common.data_folder() / arguments.corpus)
    rows = len(corpus.train)
    held_out = np.arange(rows - arguments.texts, rows)
    learnt = np.sort(stream(0, "bench-t5").permutation(rows - arguments.texts)[: arguments.learnt])
    others = corpus.with_train(corpus.train.take(np.arange(rows - arguments.texts)))
    classifier = scorer_for(ScorerSettings(), others)
    result: dict[str, Any] = {}
    for generator in arguments.generator:
        for prompt in (False, True):
            settings = XdaSettings(generator=generator, prompt=prompt, mask_share=SHARE)
            settings = replace(
                settings,
                labels_in_prompt=not arguments.without_labels,
                learning=replace(settings.learning, max_tokens=arguments.max_tokens),
                tuning=replace(settings.tuning, epochs=arguments.prompt_epochs),
                pretraining=replace(
                    settings.pretraining, pretrain=arguments.pretrain, epochs=arguments.pretraining_epochs
                ),
            )
            name = f"{generator}, prompt {'on' if prompt else 'off'}"
            result[name] = measured(Infilling(corpus, learnt, learnt, held_out, settings, seed=0), classifier)
    common.emit(
        "t5",
        {
            "corpus": arguments.corpus,
            "texts": arguments.texts,
            "learnt": len(learnt),
            "max_tokens": arguments.max_tokens,
            "pretrain": arguments.pretrain,
            "threads": torch.get_num_threads(),
            **result,
        },
    )


if __name__ == "__main__":
    main()
