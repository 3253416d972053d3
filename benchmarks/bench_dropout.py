"""A training step of a transformer with our dropout masks, against the same step with torch's own.

    .venv/bin/python benchmarks/bench_dropout.py [--rows 32] [--max-tokens 128] [--repeats 7] [--threads 2]

Rows of tibkat-gnd-en, the encoder being minilm; forward and backward, in turn.
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from unittest import mock

import common
import numpy as np
import torch
from text_rows import DATASET, some_rows

from tailwright.encoders import dropout
from tailwright.encoders.dropout import drawing_from
from tailwright.encoders.transformer import TransformerEncoder
from tailwright.streams import stream


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    encoder = TransformerEncoder.pretrained("minilm", "first", max_tokens=options.max_tokens).train()
    texts = some_rows(options.rows).train.texts
    batch = encoder.tokenizer.rows(texts, encoder.max_tokens).batch(np.arange(options.rows))

    def ours() -> None:
        with drawing_from(stream(0, "batch")):
            encoder(batch).states.square().sum().backward()

    def torchs() -> None:
        with mock.patch.object(dropout, "quick_masks", return_value=nullcontext()):
            ours()

    seconds = common.interleaved({"ours": ours, "torch": torchs}, options.repeats)
    result = {
        "dataset": DATASET,
        "rows": options.rows,
        "tokens_a_row": round(float(batch.lengths.mean()), 1),
        "threads": options.threads,
        "seconds_a_step": {name: round(value, 3) for name, value in seconds.items()},
        "share_of_the_time": round(seconds["ours"] / seconds["torch"], 3),
    }
    common.emit("dropout", result)


if __name__ == "__main__":
    main()
