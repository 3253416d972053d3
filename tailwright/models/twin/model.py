"""The model `twin`; its page is `tailwright.models.twin`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext

import numpy as np
import pyarrow as pa

from tailwright.data.corpus import Corpus, LabelSpace
from tailwright.data.dataset import arrow_strings
from tailwright.encoders.bags import Bags
from tailwright.encoders.joined_bags import BagJoiner
from tailwright.encoders.subwords import (
    MIN_TEXTS,
    SubwordSettings,
    SubwordTfIdf,
    expected_size,
    shared_subwords,
)
from tailwright.errors import InputError
from tailwright.evaluation.ranking import TopK
from tailwright.models import LaterRows, Model, models
from tailwright.models.shared.reasons import Reasons
from tailwright.models.shared.text_blocks import text_blocks
from tailwright.models.shared.validation import validator
from tailwright.models.twin import CARD, TwinSettings
from tailwright.models.twin.explaining import column_shares, reasons
from tailwright.models.twin.network import TwinNetwork, TwinVectors, known_network, new_network
from tailwright.models.twin.phases import TwinPhase, later_settings, memory_need
from tailwright.store import FolderReader, FolderWriter
from tailwright.training.loop import run_phases
from tailwright.training.memory import MemoryNeed, give_back
from tailwright.training.threads import blas_threads
from tailwright.training.watch import Answer, Watch
from tailwright.training.workplace import Workplace

# Products of fewer rows than this stay in one thread anyway; to ask for that takes a tenth of a millisecond.
FEWEST_ROWS = 8
LESS_MEMORY = "a smaller width (--set width=128) or a higher --set min_count needs less"


@models.register
class Twin(Model):
    """Scores every label by the cosine of its vector and the text's, times the scale."""

    card = CARD
    Settings = TwinSettings

    features: SubwordTfIdf
    vectors: TwinVectors

    def forecast(self, corpus: Corpus) -> MemoryNeed:
        texts = pa.concat_arrays([corpus.train.texts, corpus.labels.texts])
        columns, bag_bytes = expected_size(texts, self._pieces)
        need = memory_need(columns, corpus, bag_bytes, self.settings)
        return MemoryNeed({**need.items, "texts as words": bag_bytes})

    def learn(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        if not corpus.labels.has_text.any():
            raise InputError("no label has a text", expected="label texts, or a model such as linear")
        settings, train = self.settings, corpus.train
        with work.phase("features"):
            texts = pa.concat_arrays([train.texts, corpus.labels.texts])
            self.features, matrix = shared_subwords(texts, self._pieces)
            del texts
            give_back()
        both = Bags.of(matrix)
        rows, label_bags = both.slice(0, len(train)), both.slice(len(train), len(both))
        self._check_memory(corpus, both.nbytes, work)
        with blas_threads():
            network = new_network(rows, label_bags, self.features.columns, train, settings, seed)
            self._train(network, rows, corpus, settings, seed, work)

    def learn_more(self, before: Model, later: LaterRows, *, seed: int, work: Workplace) -> None:
        """Goes on from the vectors of `before`, on the new rows alone."""
        assert isinstance(before, Twin)
        corpus, settings = later.new(), self.settings
        with work.phase("features"):
            new_labels = corpus.labels.behind(len(before.vectors.labels))
            texts = pa.concat_arrays([corpus.train.texts, new_labels.texts])
            self.features, places = before.features.with_new_words(texts, settings.min_count, MIN_TEXTS)
            rows, label_bags = self._bags(corpus.train.texts), self._bags(corpus.labels.texts)
        self._check_memory(corpus, rows.nbytes + label_bags.nbytes, work)
        with blas_threads():
            vectors = before.vectors.with_words(places, self.features.columns)
            network = known_network(vectors, rows, label_bags, corpus.train, seed)
            self._train(network, rows, corpus, later_settings(settings), seed, work)

    @property
    def _pieces(self) -> SubwordSettings:
        settings = self.settings
        return SubwordSettings(settings.pieces, settings.piece_weight, settings.min_count)

    def _check_memory(self, corpus: Corpus, bag_bytes: int, work: Workplace) -> None:
        need = memory_need(self.features.columns, corpus, bag_bytes, self.settings)
        need.announce(work, LESS_MEMORY)

    def _train(
        self,
        network: TwinNetwork,
        rows: Bags,
        corpus: Corpus,
        settings: TwinSettings,
        seed: int,
        work: Workplace,
    ) -> None:
        """Train a network on the training rows, whose bags are `rows`, and take its vectors."""

        def answering(texts: pa.LargeStringArray) -> Answer:
            """What the network says of texts, as it is whenever it is asked."""
            bags = self._bags(texts)
            return lambda k: network.vectors().nearest(bags, k)

        phase = TwinPhase(
            network,
            BagJoiner.of(self.features, rows, network.label_bags),
            corpus.train,
            settings,
            mixes=self.batch_mixes(corpus, seed=seed, work=work),
            validate=validator(answering, corpus, settings.metric),
            watch=Watch(self.watch, answering),
        )
        run_phases(network, [phase], seed=seed, work=work)
        self.vectors = network.vectors().clustered(seed)

    def predict(self, texts: pa.LargeStringArray | Sequence[str], k: int) -> TopK:
        tops = [TopK(np.empty((0, k), np.int32), np.empty((0, k), np.float32))]
        return TopK.concat([*tops, *(self.vectors.nearest(bags, k) for bags in self._read(texts))])

    @property
    def looks_at_named(self) -> bool:
        return self.vectors.clusters is not None

    def predict_with_named(
        self, texts: pa.LargeStringArray | Sequence[str], k: int, named: np.ndarray
    ) -> TopK:
        tops, done = [TopK(np.empty((0, k), np.int32), np.empty((0, k), np.float32))], 0
        for bags in self._read(texts):
            tops.append(self.vectors.nearest_with_named(bags, k, named[done : done + len(bags)]))
            done += len(bags)
        return TopK.concat(tops)

    def knows(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray:
        return self.features.knows(texts)

    def text_vectors(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray:
        none = np.empty((0, self.settings.width), np.float32)
        return np.concatenate([none, *(self.vectors.of_texts(bags) for bags in self._read(texts))])

    def with_more_labels(self, labels: LabelSpace) -> Twin:
        grown = Twin(self.settings)
        grown.features, places = self.features.with_new_words(labels.texts)
        with blas_threads():
            vectors = self.vectors.with_words(places, grown.features.columns)
            grown.vectors = vectors.with_labels(grown._bags(labels.texts))
        return grown

    def explain(self, text: str, labels: Sequence[int]) -> list[Reasons]:
        """Words and their pieces by what they add to the score."""
        bag = self._bags(arrow_strings([text]))
        shares = column_shares(self.vectors, bag, np.asarray(labels, dtype=np.int64))  # (columns, labels)
        return [reasons(text, self.features, bag, of_label, self.vectors.scale) for of_label in shares.T]

    def _read(self, texts: pa.LargeStringArray | Sequence[str]) -> Iterator[Bags]:
        """Blocks of texts as bags of words."""
        rows = arrow_strings(texts)
        with blas_threads() if len(rows) >= FEWEST_ROWS else nullcontext():
            yield from map(self._bags, text_blocks(rows, "twin"))

    def _bags(self, texts: pa.LargeStringArray) -> Bags:
        return Bags(*self.features.rows(texts))

    def save(self, folder: FolderWriter) -> None:
        self.features.save(folder.sub("features"))
        self.vectors.save(folder)

    def load(self, folder: FolderReader, labels: int) -> None:
        self.features = SubwordTfIdf.load(folder.sub("features"))
        self.vectors = TwinVectors.load(folder, self.features.columns, labels, self.settings.width)
