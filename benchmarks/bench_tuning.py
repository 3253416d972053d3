"""How quickly a generator is tuned: full and LoRA, batch sizes, padding, what a checkpoint costs.

    .venv/bin/python benchmarks/bench_tuning.py [--generator smollm2] [--repeats 3] [--threads 1]

Pairs are neighbouring texts of a dataset, as only their lengths matter. A rate counts the tokens of the
sequences, without padding.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common
import numpy as np
import torch

import tailwright as tw
from tailwright.encoders.token_batches import bucketed_order, chunks
from tailwright.language.adapting import with_lora
from tailwright.language.causal import load_causal
from tailwright.language.pairs import Sequences, TextPairs, padded, sequences_of
from tailwright.language.settings import TuningSettings
from tailwright.language.tuning import token_loss
from tailwright.pretrained import weights_folder
from tailwright.store import writing
from tailwright.streams import stream
from tailwright.training.module_network import ModuleOptimisers
from tailwright.training.phases import Plan

ROWS = 2000


def text_pairs(dataset: str) -> TextPairs:
    """Neighbours of 5 to 200 words, as pairs."""
    texts = tw.read(common.data_folder() / dataset).train.texts
    words = np.array([len(text.split()) for text in texts.slice(0, 20 * ROWS).to_pylist()])
    places = np.flatnonzero((words >= 5) & (words <= 200))[: ROWS + 1]
    kept = texts.take(places)
    return TextPairs(kept.slice(0, len(kept) - 1), kept.slice(1))


def padding(data: Sequences, order: np.ndarray, batch: int) -> float:
    """The share of padding in all batches."""
    lengths = [data.lengths[order[i : i + batch]] for i in range(0, len(order), batch)]
    return 1 - sum(rows.sum() for rows in lengths) / sum(len(rows) * rows.max() for rows in lengths)


def all_scores_loss(model: Any, tokens: torch.Tensor, predicted: torch.Tensor) -> torch.Tensor:
    """The same loss the plain way, with the scores of every position."""
    scores = model(input_ids=tokens, use_cache=False).logits[:, :-1]
    counts = predicted[:, 1:]
    return torch.nn.functional.cross_entropy(scores[counts], tokens[:, 1:][counts], reduction="sum")


def step(
    model: Any,
    data: Sequences,
    rows: np.ndarray,
    optimisers: ModuleOptimisers,
    most: int,
    loss: Callable[..., torch.Tensor],
) -> None:
    """One step on these rows, as tuning does it."""
    model.train()
    batches = [padded(data, rows[places], whole=False) for places in chunks(data.lengths[rows], most)]
    count = sum(int(predicted[:, 1:].sum()) for _, predicted in batches)
    for tokens, predicted in batches:
        (loss(model, tokens, predicted) / count).backward()
    optimisers.step(1.0)


def trainable(model: Any) -> tuple[dict[str, torch.Tensor], ModuleOptimisers]:
    weights = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    plan = Plan(1, 16, dict.fromkeys(weights, 1e-6), weight_decay=0.01, clip=1.0)
    return weights, ModuleOptimisers(model, plan)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--generator", default="smollm2")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dataset", default="tibkat-keywords-titles")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    settings = TuningSettings()
    folder = weights_folder(options.generator)
    full, base = (load_causal(folder, separator=None, lower_case=True) for _ in range(2))
    lora = with_lora(base, TuningSettings(separator=None), seed=0)
    data = sequences_of(full, text_pairs(options.dataset), longest=settings.max_tokens)
    parts, optimisers = trainable(full.model)
    small_parts, small = trainable(lora)

    def rows_of(batch: int) -> np.ndarray:
        # A batch of middle length: the rows around the median.
        order = np.argsort(data.lengths, kind="stable")
        return order[len(order) // 2 - batch // 2 :][:batch]

    shapes = {8: settings.step_tokens, 16: settings.step_tokens, 32: settings.step_tokens}
    runs: dict[str, Callable[[], object]] = {
        f"full, batch {batch}": lambda batch=batch, most=most: step(
            full.model, data, rows_of(batch), optimisers, most, token_loss
        )
        for batch, most in shapes.items()
    }
    most = settings.step_tokens
    runs["full, batch 16, all scores"] = lambda: step(
        full.model, data, rows_of(16), optimisers, most, all_scores_loss
    )
    runs["lora, batch 16"] = lambda: step(lora, data, rows_of(16), small, most, token_loss)
    for run in runs.values():
        run()
    seconds = common.interleaved(runs, options.repeats)
    tokens = {
        name: int(data.lengths[rows_of(int(name.split("batch ")[1].split(",")[0]))].sum()) for name in runs
    }

    gradients = []
    for _ in range(options.repeats):
        for part in parts.values():
            part.grad = torch.full_like(part, 1e-3)
        started = time.perf_counter()
        optimisers.step(1.0)
        gradients.append(time.perf_counter() - started)

    def checkpoint(kept: dict[str, torch.Tensor], state: ModuleOptimisers) -> dict[str, float]:
        with tempfile.TemporaryDirectory(dir=common.ROOT) as place:
            started = time.perf_counter()
            with writing(Path(place) / "checkpoint", kind="checkpoint") as written:
                written.tensors("weights", {name: part.detach().numpy() for name, part in kept.items()})
                written.tensors("optimisers", dict(state.state()))
            taken = time.perf_counter() - started
            size = sum(path.stat().st_size for path in Path(place).rglob("*") if path.is_file())
        return {"seconds": round(taken, 2), "mb": round(size / 1e6, 1)}

    random = stream(0, "bench").permutation(len(data))
    common.emit(
        "tuning",
        {
            "generator": options.generator,
            "dataset": options.dataset,
            "threads": options.threads,
            "tokens_a_sequence": {
                "mean": round(float(data.lengths.mean()), 1),
                "p90": float(np.quantile(data.lengths, 0.9)),
            },
            "seconds_a_step": {name: round(taken, 3) for name, taken in seconds.items()},
            "tokens_a_second": {name: round(tokens[name] / taken, 1) for name, taken in seconds.items()},
            "all_scores_over_target_scores": round(
                seconds["full, batch 16, all scores"] / seconds["full, batch 16"], 2
            ),
            "full_over_lora": round(seconds["full, batch 16"] / seconds["lora, batch 16"], 2),
            "optimiser_seconds_a_step": round(statistics.median(gradients), 3),
            "padding": {
                "shuffled": round(padding(data, random, 16), 3),
                "bucketed": round(padding(data, bucketed_order(data.lengths, 16, 0, "generator", 0), 16), 3),
            },
            "checkpoint": {"full": checkpoint(parts, optimisers), "lora": checkpoint(small_parts, small)},
            "peak_rss_mb": round(common.peak_rss_bytes() / 2**20),
        },
    )


if __name__ == "__main__":
    main()
