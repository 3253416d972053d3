"""What training a network on tokens adds to the memory of the process."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from tailwright.encoders.row_table import RowTable
from tailwright.heads.dense_scores import NUMBERS_A_BLOCK
from tailwright.training.memory import MemoryNeed
from tailwright.training.parts import Parts

if TYPE_CHECKING:
    from tailwright.encoders.transformer import TransformerEncoder
    from tailwright.models.shared.learning_settings import LearningSettings

FLOAT = 4  # bytes


def training_need(
    parts: Parts,
    trained: Collection[str],
    settings: LearningSettings,
    *,
    batch: float,
    validates: bool,
) -> MemoryNeed:
    """The need of training those parts; `batch` is what a step holds besides, in bytes.

    The weights are there already when this is asked.
    """
    sizes = {name: _numbers(parts[name]) * FLOAT for name in trained}
    dense = sum(size for name, size in sizes.items() if not isinstance(parts[name], RowTable))
    every = sum(sizes.values())
    return MemoryNeed(
        {
            "gradients": dense,
            "the moments of Adam": 2 * every,
            "averaged weights": 0 if settings.average_from is None else every,
            "the best weights so far": every if validates else 0,
            "a batch": batch,
        }
    )


def _numbers(part: object) -> int:
    return int(part.weight.size) if isinstance(part, RowTable) else int(part.numel())  # type: ignore[attr-defined]


def transformer_bytes(encoder: TransformerEncoder, rows: int, longest: int) -> float:
    """What a step keeps of rows of so many tokens: of every layer, or of a few where they are computed again.

    A layer has about 32 numbers a token and unit of width alive, and 3.5 numbers a head and pair of tokens,
    as attention with dropout does not come in tiles (peaks of minilm on a CPU, 64 to 512 tokens a row). Where
    layers are computed again, what is freed between them is not all found again: the peak has three.
    """
    config = encoder.model.config
    inside = rows * longest * encoder.hidden
    pairs = rows * longest * longest * int(config.num_attention_heads)
    a_layer = FLOAT * (32 * inside + 3.5 * pairs)
    layers = int(config.num_hidden_layers)
    if encoder.model.is_gradient_checkpointing:
        return min(3, layers) * a_layer + layers * FLOAT * inside
    return layers * a_layer


def reading_bytes(encoder: TransformerEncoder, tokens: int) -> float:
    """What it takes to read so many tokens at once without learning: one layer, no longer than it is used."""
    return 16.0 * tokens * encoder.hidden * FLOAT


def scoring_bytes(rows: int, labels: int) -> float:
    """What the loss of rows takes: scores, slopes and what is between them, of a block of labels."""
    return 6.0 * min(rows * labels, NUMBERS_A_BLOCK) * FLOAT
