"""How quickly blanks are filled: many rows at a time, against one row at a time without a cache.

    .venv/bin/python benchmarks/bench_filling.py [--generator title-t5] [--rows N] [--one-at-a-time N]
        [--learnt N] [--pretraining-epochs N] [--prompt-epochs N] [--threads N] [--corpus NAME]

The first is what `xda` does. The second is `generate` of transformers for one question of one row after the
other, under the same rules and with the same prompt, as the code of XDA's authors does it; of these fewer
rows are timed. Both fill the same blanks; `same_texts` is the share of rows that both rewrite alike.
The T5 and its prompt learn from `--learnt` other texts first: as it is, a title-t5 answers with a title.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import common
import numpy as np
import torch
from transformers import GenerationConfig
from transformers.modeling_outputs import BaseModelOutput

import tailwright as tw
from tailwright.augmentation.shared.infilling import Infilling
from tailwright.augmentation.xda import XdaSettings
from tailwright.language.filling import Filler, Question, rewritten
from tailwright.language.passages import Passages
from tailwright.language.soft_prompt import padded_tokens
from tailwright.streams import stream

SHARE = 0.15


class OneAtATime:
    """Answers of `generate`: a question after the other, and all tokens computed anew for each next one."""

    def __init__(self, filler: Filler) -> None:
        self.filler = filler
        rules, infiller = filler.settings, filler.infiller
        self.config = GenerationConfig(
            max_new_tokens=rules.max_new_tokens,
            do_sample=False,
            use_cache=False,
            repetition_penalty=rules.repetition_penalty,
            no_repeat_ngram_size=rules.no_repeat,
            bad_words_ids=[[token] for token in infiller.forbidden] or None,
            decoder_start_token_id=infiller.start,
            pad_token_id=infiller.pad,
            eos_token_id=infiller.end,
        )

    @torch.inference_mode()
    def answers(self, questions: Sequence[Question]) -> list[list[str]]:
        infiller, network = self.filler.infiller, self.filler.network
        found = []
        for question in questions:
            source = infiller.sources([question.line], [question.segments])
            hidden, mask = network.encode(*padded_tokens(source, infiller.pad, torch.device("cpu")))
            written = network.t5.generate(
                encoder_outputs=BaseModelOutput(last_hidden_state=hidden),
                attention_mask=mask,
                generation_config=self.config,
            )
            found.append(infiller.parsed(written[0, 1:].tolist(), len(question.segments) - 1))
        return found


def timed(passages: Passages, answers: Any, blanks: int) -> tuple[list[str], float]:
    start = time.perf_counter()
    texts = rewritten(passages, answers, copies=1, share=SHARE, blanks=blanks, seed=0)
    return [text for (text,) in texts], len(passages) / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--generator", default="title-t5")
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--one-at-a-time", type=int, default=8)
    parser.add_argument("--learnt", type=int, default=400)
    parser.add_argument("--pretraining-epochs", type=int, default=2)
    parser.add_argument("--prompt-epochs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--corpus", default="cve-libraries")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    corpus = tw.read(common.data_folder() / arguments.corpus)
    places = stream(0, "bench-filling").permutation(len(corpus.train))
    rows, learnt = np.split(places[: arguments.rows + arguments.learnt], [arguments.rows])
    settings = XdaSettings(generator=arguments.generator, mask_share=SHARE)
    settings = replace(
        settings,
        pretraining=replace(settings.pretraining, epochs=arguments.pretraining_epochs),
        tuning=replace(settings.tuning, epochs=arguments.prompt_epochs),
    )
    work = Infilling(corpus, np.sort(learnt), np.sort(learnt), np.sort(rows), settings, seed=0)
    network, _ = work.network()
    passages, blanks = work.to_fill, settings.filling.blanks
    filler = Filler(network, work.infiller, settings.filling)
    few = passages.take(np.linspace(0, len(passages) - 1, arguments.one_at_a_time).astype(np.int64))
    slow_texts, slow = timed(few, OneAtATime(filler).answers, blanks)
    texts, quick = timed(passages, filler.answers, blanks)
    rewritten_as = dict(zip(passages.rows.tolist(), texts, strict=True))
    same = [rewritten_as[row] == text for row, text in zip(few.rows.tolist(), slow_texts, strict=True)]
    common.emit(
        "filling",
        {
            "generator": arguments.generator,
            "corpus": arguments.corpus,
            "threads": torch.get_num_threads(),
            "rows": {"batched": len(passages), "one at a time": len(few)},
            "rows_a_second": {"batched": round(quick, 3), "one at a time": round(slow, 4)},
            "ratio": round(quick / slow, 1),
            "same_texts": round(sum(same) / len(same), 3),
        },
    )


if __name__ == "__main__":
    main()
