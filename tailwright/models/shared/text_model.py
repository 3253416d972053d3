"""`TextModel`: what classifiers that read tokens have in common as models: learn, answer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import arrow_strings
from tailwright.models import Model
from tailwright.models.shared.validation import valid_quality
from tailwright.progress import progress
from tailwright.training.workplace import Workplace

if TYPE_CHECKING:
    import pyarrow as pa

    from tailwright.data.text.sequences import TokenRows
    from tailwright.evaluation.ranking import TopK
    from tailwright.models.shared.learning_settings import LearningSettings
    from tailwright.models.shared.text_network import TextNetwork
    from tailwright.training.memory import MemoryNeed
    from tailwright.training.phases import Phase


Network = TypeVar("Network", bound="TextNetwork")


class TextModel(Model, Generic[Network]):
    """A model whose settings are `LearningSettings` and that answers by a `TextNetwork`."""

    settings: LearningSettings
    network: Network

    @abstractmethod
    def new_network(self, corpus: Corpus, *, seed: int, work: Workplace) -> Network:
        """An untrained network, and all that `tokens` needs."""

    @abstractmethod
    def tokens(self, texts: pa.LargeStringArray) -> TokenRows:
        """Texts as the network reads them."""

    @abstractmethod
    def memory_need(self, network: Network, tokens: TokenRows, corpus: Corpus) -> MemoryNeed:
        """What training the network on these tokens will add to the process."""

    @abstractmethod
    def phases(
        self, network: Network, tokens: TokenRows, corpus: Corpus, *, seed: int, work: Workplace
    ) -> Sequence[Phase]:
        """How the network is trained on the training rows, whose tokens these are."""

    def learn(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        from tailwright.training.devices import device_of
        from tailwright.training.loop import run_phases
        from tailwright.training.threads import torch_threads

        with torch_threads():
            network = self.new_network(corpus, seed=seed, work=work)
            with work.phase("tokens"):
                tokens = self.tokens(corpus.train.texts)
            need = self.memory_need(network, tokens, corpus)
            work.log("memory", expected_peak_mb=round(need.peak_mb(), 1))
            need.require("a smaller batch or micro_batch (--set micro_batch=4) needs less")
            network.to(device_of(self.device))
            phases = self.phases(network, tokens, corpus, seed=seed, work=work)
            run_phases(network.parts(), phases, seed=seed, work=work)
        self.network = network

    def answering(
        self, network: Network, texts: pa.LargeStringArray, work: Workplace
    ) -> Callable[[int], TopK]:
        """What the network in training says of texts, which are read once: the k best labels of each."""
        tokens = self.tokens(texts)
        return lambda k: network.answer(tokens, k)

    def validation(self, network: Network, corpus: Corpus, work: Workplace) -> Callable[[], float] | None:
        """What says how good the network is on the validation rows; None without such rows."""
        if corpus.valid is None or not len(corpus.valid):
            return None
        answer, metric = self.answering(network, corpus.valid.texts, work), self.settings.metric
        return lambda: valid_quality(answer, corpus, metric)

    def watching(self, network: Network, work: Workplace) -> Callable[[], Mapping[str, float]]:
        """What says how the network fares on the rows that are watched."""
        from tailwright.training.watch import Watch

        return Watch(self.watch, lambda texts: self.answering(network, texts, work))

    def predict(self, texts: pa.LargeStringArray | Sequence[str], k: int) -> TopK:
        from tailwright.training.threads import torch_threads

        rows = arrow_strings(texts)
        with torch_threads(), progress(self.card.name, len(rows)) as advance:
            return self.network.answer(self.tokens(rows), k, advance)

    def text_vectors(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray | None:
        from tailwright.training.threads import torch_threads

        with torch_threads():
            tokens = self.tokens(arrow_strings(texts))
            vectors = self.network.vectors(tokens)
        if vectors is None:
            return None
        # Tokens that an empty text has too, special or unknown ones, say nothing of a text.
        silent = np.isin(tokens.ids, self.tokens(arrow_strings([""])).ids)
        vectors[np.logical_and.reduceat(silent, tokens.offsets[:-1])] = 0
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
