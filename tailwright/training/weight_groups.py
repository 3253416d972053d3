"""Which parts weight decay pulls on: not biases and norms, whose size says nothing of complexity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class WeightDecay:
    """A decay that spares some parts, chosen by name and by shape.

    | setting | meaning |
    |---|---|
    | `rate` | of the parts that decay |
    | `spared` | parts with one of these in their name, whatever the case, do not decay |
    | `spares_vectors` | nor do parts with a single axis or none: biases, scales, norms of any name |

    >>> decay = WeightDecay(0.01)
    >>> decay.of("layer.0.dense.weight", (4, 4)), decay.of("layer.0.LayerNorm.weight", (4,))
    (0.01, 0.0)
    """

    rate: float
    spared: tuple[str, ...] = ("bias", "norm")
    spares_vectors: bool = True

    def __post_init__(self) -> None:
        if self.rate < 0:
            raise ValueError(f"rate must be >= 0, got {self.rate}")
        if any(not word for word in self.spared):
            raise ValueError(f"spared must hold parts of names, got {self.spared}")

    def of(self, name: str, shape: Sequence[int]) -> float:
        """The decay of a part."""
        named = any(word.lower() in name.lower() for word in self.spared)
        return 0.0 if named or (self.spares_vectors and len(shape) < 2) else self.rate


def decay_of(decay: float | WeightDecay, name: str, shape: Sequence[int]) -> float:
    """The decay of a part, of which a number makes no difference between parts."""
    return decay.of(name, shape) if isinstance(decay, WeightDecay) else decay
