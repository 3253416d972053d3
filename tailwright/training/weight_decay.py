"""Which parameters decay, by their names and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailwright.settings import Settings, setting


@dataclass(frozen=True)
class WeightDecay(Settings):
    """A decay that spares biases and norms, whose size says nothing of complexity: by name and by shape.

    >>> decay = WeightDecay(0.01)
    >>> decay.of("layer.0.dense.weight", (4, 4)), decay.of("layer.0.LayerNorm.weight", (4,))
    (0.01, 0.0)
    """

    rate: float = setting(0.0, "of the parameters that decay", least=0, most=1000)
    spared: tuple[str, ...] = setting(("bias", "norm"), "words in the names of parameters that do not decay")
    spares_vectors: bool = setting(True, "whether parameters of one axis or none do not decay either")

    def check(self) -> None:
        if any(not word for word in self.spared):
            raise ValueError(f"spared must hold words of names, got {self.spared}")

    def of(self, name: str, shape: Sequence[int]) -> float:
        """The decay of a parameter."""
        named = any(word.lower() in name.lower() for word in self.spared)
        return 0.0 if named or (self.spares_vectors and len(shape) < 2) else self.rate


def decay_of(decay: float | WeightDecay, name: str, shape: Sequence[int]) -> float:
    """The decay of a parameter; a number is the same for all."""
    return decay.of(name, shape) if isinstance(decay, WeightDecay) else decay
