"""`Network`: what the loop trains, whatever computes with it.

| network | is |
|---|---|
| `ArrayNetwork` | NumPy arrays; a phase gives gradients along with its loss |
| `ModuleNetwork` | a torch module; a phase gives a loss that torch differentiates |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping

import numpy as np

from tailwright.heads.shards import LabelShard
from tailwright.training.named_arrays import Arrays, rates_by_name
from tailwright.training.optimisers import Optimisers
from tailwright.training.phases import Plan
from tailwright.training.team import Team


class Network(ABC):
    """Weights by name, and the optimisers that step them."""

    @abstractmethod
    def parameters(self) -> Collection[str]:
        """The names of the weights that a plan may train."""

    @abstractmethod
    def statistics(self) -> Collection[str]:
        """The names of what forward passes change, such as the statistics of batches."""

    @abstractmethod
    def weights(self, names: Collection[str] | None = None) -> Arrays:
        """All weights, or those of these names; on the CPU the arrays share their memory."""

    @abstractmethod
    def put(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Set the weights of these names."""

    @abstractmethod
    def optimisers(self, plan: Plan) -> Optimisers:
        """What steps the parameters that a plan trains; the others are frozen from now on."""

    @abstractmethod
    def begin(self, team: Team) -> None:
        """Get ready to be trained by a team, whose leader's weights are everybody's."""

    def shards(self) -> Mapping[str, LabelShard]:
        """The parameters of which this process has a part alone, by name."""
        return {}

    def trained(self, plan: Plan) -> dict[str, float]:
        """The learning rate of each parameter that a plan trains."""
        return rates_by_name(self.parameters(), plan.rates)
