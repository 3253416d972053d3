"""What training a network on tokens adds to the memory of the process."""

from __future__ import annotations

from collections.abc import Mapping

from torch import nn

from tailwright.encoders.row_table import RowTable
from tailwright.encoders.transformer import TransformerEncoder
from tailwright.heads.dense import NUMBERS_A_BLOCK
from tailwright.training.memory import MemoryNeed
from tailwright.training.module_network import parameter_names
from tailwright.training.named_arrays import rates_by_name
from tailwright.training.settings import TrainingSettings

FLOAT = 4  # bytes


def training_need(
    network: nn.Module,
    rates: Mapping[str, float | None],
    settings: TrainingSettings,
    *,
    batch: float,
    validates: bool,
) -> MemoryNeed:
    """The need of training the parameters that have rates; `batch` is what a step holds besides, in bytes.

    The weights are there already when this is asked.
    """
    trained = rates_by_name(parameter_names(network), rates)
    tables = {id(module.weight) for module in network.modules() if isinstance(module, RowTable)}
    parameters = [parameter for name, parameter in network.named_parameters() if name in trained]
    every = FLOAT * sum(parameter.numel() for parameter in parameters)
    dense = FLOAT * sum(parameter.numel() for parameter in parameters if id(parameter) not in tables)
    return MemoryNeed(
        {
            "gradients": dense,
            "the moments of Adam": 2 * every,
            "averaged weights": 0 if settings.average_from is None else every,
            "the best weights so far": every if validates else 0,
            "a batch": batch,
        }
    )


def transformer_bytes(encoder: TransformerEncoder, rows: int, longest: int) -> float:
    """What a step keeps of rows of so many tokens: all layers, or a few where layers are computed again.

    A layer has about 32 numbers a token and unit of width alive, and 3.5 numbers a head and pair of tokens,
    as attention with dropout does not come in tiles (peaks of minilm on a CPU, 64 to 512 tokens a row). Where
    layers are computed again, memory freed between them is not all reused: the peak has three.
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
    """What it takes to read so many tokens at once without learning: one layer at a time."""
    return 16.0 * tokens * encoder.hidden * FLOAT


def scoring_bytes(rows: int, labels: int) -> float:
    """What the loss of rows takes: logits, gradients and what is between them, of a block of labels."""
    return 6.0 * min(rows * labels, NUMBERS_A_BLOCK) * FLOAT
