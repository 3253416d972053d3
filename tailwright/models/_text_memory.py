"""What training a network on tokens adds to the memory of the process."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from tailwright.encoders.row_table import RowTable
from tailwright.training.memory import MemoryNeed
from tailwright.training.parts import Parts

if TYPE_CHECKING:
    from tailwright.encoders.transformer import TransformerEncoder
    from tailwright.models._learning_settings import LearningSettings

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


def transformer_bytes(encoder: TransformerEncoder, tokens: int) -> float:
    """What a step keeps of that many tokens: of every layer, or of one where layers are computed again.

    About 64 numbers a token and unit of width are alive in a layer, attention being computed in tiles.
    """
    layers = int(encoder.model.config.num_hidden_layers)
    a_layer = 64 * tokens * encoder.hidden * FLOAT
    if encoder.model.is_gradient_checkpointing:
        return a_layer + layers * tokens * encoder.hidden * FLOAT
    return layers * a_layer
