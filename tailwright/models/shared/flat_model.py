"""`FlatModel`: an encoder with an output over all labels, as a model; one phase trains all of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tailwright.data.corpus import Corpus
from tailwright.models.shared.text_model import TextModel
from tailwright.training.workplace import Workplace

if TYPE_CHECKING:
    import pyarrow as pa

    from tailwright.data.text.sequences import TokenRows
    from tailwright.encoders.reading import RowReader
    from tailwright.evaluation.ranking import TopK
    from tailwright.models.shared.text_network import FlatNetwork
    from tailwright.models.shared.text_output import Output
    from tailwright.training.memory import MemoryNeed
    from tailwright.training.phases import Phase


class FlatModel(TextModel["FlatNetwork"]):
    """A model that answers by a `FlatNetwork`."""

    @abstractmethod
    def output(self, labels: int, width: int, seed: int) -> Output:
        """The untrained output on an encoder that gives vectors of that width."""

    @abstractmethod
    def reader(self, network: FlatNetwork, tokens: TokenRows, work: Workplace) -> RowReader:
        """What reads rows of these tokens while the network learns."""

    @abstractmethod
    def rates(self, network: FlatNetwork) -> dict[str, float]:
        """The learning rate of each part that is trained."""

    @abstractmethod
    def batch_bytes(self, rows: int, tokens: TokenRows, labels: int) -> float:
        """What a step on so many of these rows holds."""

    def memory_need(self, network: FlatNetwork, tokens: TokenRows, corpus: Corpus) -> MemoryNeed:
        from tailwright.models.shared.text_memory import training_need
        from tailwright.models.shared.validation import has_valid

        chosen = self.settings
        rows = min(chosen.micro_batch or chosen.batch, len(tokens))
        return training_need(
            network.parts(),
            self.rates(network),
            chosen,
            batch=self.batch_bytes(rows, tokens, len(corpus.labels)),
            validates=has_valid(corpus),
        )

    def phases(
        self, network: FlatNetwork, tokens: TokenRows, corpus: Corpus, *, seed: int, work: Workplace
    ) -> Sequence[Phase]:
        return [self.phase(self.card.name, network, tokens, corpus, work)]

    def phase(
        self, name: str, network: FlatNetwork, tokens: TokenRows, corpus: Corpus, work: Workplace
    ) -> Phase:
        """The training of the parts that have `rates`."""
        from tailwright.models.shared.text_network import FlatPhase

        return FlatPhase(
            name,
            self.reader(network, tokens, work),
            network.output,
            corpus.train,
            self.settings.plan(self.rates(network)),
            device=network.encoder.device,
            validate=self.validation(network, corpus, work),
            watch=self.watching(network, work),
        )

    def answering(
        self, network: FlatNetwork, texts: pa.LargeStringArray, work: Workplace
    ) -> Callable[[int], TopK]:
        from tailwright.models.shared.text_network import answered

        reader = self.reader(network, self.tokens(texts), work)
        return lambda k: answered(reader.lengths, lambda rows: network.output.top_k(reader(rows), k), k)
