"""`TokenModel`: what classifiers over tokens share as models: learning, predicting, saving."""

from __future__ import annotations

import tempfile
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tailwright.augmentation import HiddenAugmenter
from tailwright.code_version import code_version
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import arrow_strings
from tailwright.data.text.sequences import TokenRows
from tailwright.encoders.mixing import ContextVectors
from tailwright.encoders.reading import RowReader
from tailwright.errors import InputError
from tailwright.evaluation.ranking import TopK
from tailwright.models import Model
from tailwright.models.shared.dense_heads import whole_head
from tailwright.models.shared.memory import training_need
from tailwright.models.shared.texts import Stage, Texts
from tailwright.models.shared.token_network import ranked
from tailwright.models.shared.token_phase import TokenPhase
from tailwright.models.shared.validation import validator
from tailwright.progress import progress
from tailwright.store import FolderReader, FolderWriter
from tailwright.store.shared import content_key, shared_folder
from tailwright.training.devices import device_of
from tailwright.training.hidden_door import HiddenDoor, Stretch, stretches
from tailwright.training.loop import run_phases
from tailwright.training.memory import MemoryNeed
from tailwright.training.module_network import ModuleNetwork
from tailwright.training.phases import Phase, Plan
from tailwright.training.settings import TrainingSettings
from tailwright.training.threads import torch_threads
from tailwright.training.watch import Watch
from tailwright.training.weights import load_weights, save_weights
from tailwright.training.workplace import Workplace


class TokenModel(Model):
    """A model whose network reads tokens; `settings.training` says how it is trained.

    Most are a `TokenNetwork`, trained in the stages that its `texts` have.
    """

    settings: Any
    texts: Texts
    network: Any  # a TokenNetwork, or one that ranks as it does
    _features: Path  # where the features of a frozen encoder are kept while this learns

    @abstractmethod
    def build(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        """Set `texts` and the untrained `network`."""

    @abstractmethod
    def rebuild(self, folder: FolderReader, labels: int) -> None:
        """The same as they were saved in a folder, but for the weights of the network."""

    @abstractmethod
    def batch_bytes(self, rows: int, tokens: TokenRows) -> float:
        """What a step on so many of these rows holds."""

    def learn(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        with torch_threads(), ExitStack() as stack:
            # Kept for all trainings that share their work, or with the checkpoints, or until this has learnt.
            place = shared_folder() or work.reads
            self._features = place or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            self.build(corpus, seed=seed, work=work)
            self.network.eval()
            with work.phase("tokens"):
                tokens = self.texts.tokens(corpus.train.texts)
            need = self.memory_need(tokens, corpus)
            need.announce(work, "a smaller batch or micro_batch (--set micro_batch=4) needs less")
            self.network.to(device_of(self.device))
            run_phases(
                ModuleNetwork(self.network),
                self.phases(tokens, corpus, seed=seed, work=work),
                seed=seed,
                work=work,
            )
            self.network.head = whole_head(self.network.head, work.reads)

    def memory_need(self, tokens: TokenRows, corpus: Corpus) -> MemoryNeed:
        """What training the network on these tokens will add to the process."""
        training: TrainingSettings = self.settings.training
        rows = min(training.micro_batch or training.batch, len(tokens))
        validates = corpus.valid is not None and len(corpus.valid) > 0
        batch = self.batch_bytes(rows, tokens)
        rates = self.stages(corpus)[-1].rates
        return training_need(self.network, rates, training, batch=batch, validates=validates)

    def stages(self, corpus: Corpus) -> list[Stage]:
        """What of the network learns from the training rows, and when."""
        return self.texts.stages(self.settings)

    def phases(self, tokens: TokenRows, corpus: Corpus, *, seed: int, work: Workplace) -> Sequence[Phase]:
        """How the network is trained on the training rows, whose tokens these are."""
        phases = []
        stages = self.stages(corpus)
        for stage in stages:
            frozen = stage.frozen_encoder
            reader = self.reader(tokens, work, frozen=frozen)
            ranking = partial(self.ranking, work=work, frozen=frozen)
            points = (*reader.mix_points, *self.network.mix_points)
            plan = Plan.of(stage.training, stage.rates)
            cuts, last = [Stretch(0, plan.epochs, ())], stage is stages[-1]
            if last:  # what goes before prepares the head
                cuts = self.stretches(corpus, points, stage.training, seed=seed, work=work)
            phases += [
                TokenPhase(
                    f"{self.card.name}{stage.name}{stretch.name}",
                    self.network,
                    reader,
                    corpus.train,
                    plan.between(stretch.begin, stretch.end),
                    door=HiddenDoor(stretch.mixes),
                    begin=stretch.begin,
                    parts=stage.passes,
                    key=self.key_of(stage.name, stretch, corpus, seed, ends=last and stretch is cuts[-1]),
                    validate=validator(ranking, corpus, self.settings.training.metric),
                    watch=self.watching(work, frozen=frozen),
                )
                for stretch in cuts
            ]
        return phases

    def reader(self, tokens: TokenRows, work: Workplace, *, frozen: bool = False) -> RowReader:
        """What reads rows of these tokens while the network learns."""
        return self.texts.reader(self.network.encoder, tokens, work, frozen=frozen)

    def stretches(
        self,
        corpus: Corpus,
        points: tuple[str, ...],
        training: TrainingSettings,
        *,
        seed: int,
        work: Workplace,
    ) -> list[Stretch]:
        """The epochs of a training of a network with these mix points, cut where mixes begin."""
        mixes, epochs, restart = [], training.epochs, training.restart
        if restart is not None and restart >= epochs:
            raise InputError(
                f"restart is {restart}", expected=f"fewer than the {epochs} epochs of the training"
            )
        for mix in self.mixes:
            if isinstance(mix, HiddenAugmenter):
                start = mix.start(epochs, restart)
                if start >= epochs:
                    raise InputError(
                        f"{mix.card.name} begins after {start} epochs",
                        expected=f"fewer than the {epochs} of the training (start_epoch, epochs)",
                    )
                with work.phase(mix.card.name):
                    mixes.append((start, mix.prepare(corpus, points=mix.among(points), seed=seed)))
        return stretches(mixes, epochs, restart)

    def key_of(
        self, stage: str, stretch: Stretch, corpus: Corpus, seed: int, *, ends: bool
    ) -> Callable[[], str] | None:
        """Digests what the weights before the first mix depend on; trainings with other mixes begin there.

        `stage` names what learns in the stretch. None once there are mixes, or where the stretch `ends` the
        training.
        """
        if stretch.mixes or ends:
            return None
        version = ["tailwright.training.loop", type(self).__module__]
        return lambda: content_key(
            code_version(version), repr(self.settings), stage, stretch.end, seed, corpus.digest()
        )

    def ranking(
        self, texts: pa.LargeStringArray, work: Workplace, *, frozen: bool = False
    ) -> Callable[[int], TopK]:
        """The k best labels of texts, which are read once, by the network as it is whenever it is asked."""
        reader, head = self.reader(self.texts.tokens(texts), work, frozen=frozen), self.network.head
        return lambda k: ranked(reader.lengths, lambda rows: head.top_k(reader(rows), k), k)

    def watching(self, work: Workplace, *, frozen: bool = False) -> Callable[[], Mapping[str, float]]:
        """What says how the network does on the rows that are watched."""
        return Watch(self.watch, lambda texts: self.ranking(texts, work, frozen=frozen))

    def predict(self, texts: pa.LargeStringArray | Sequence[str], k: int) -> TopK:
        rows = arrow_strings(texts)
        if self.texts.has_lasting_features and shared_folder() is not None:
            # Trainings of a study rank the same rows: the encoder reads them once for all.
            with torch_threads():
                return self.ranking(rows, Workplace(), frozen=True)(k)
        with torch_threads(), progress(self.card.name, len(rows)) as advance:
            tokens = self.texts.tokens(rows)
            top_k = self.network.top_k
            return ranked(tokens.lengths, lambda places: top_k(tokens.batch(places), k), k, advance)

    def knows(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray:
        return self._knows(self.texts.tokens(arrow_strings(texts)))

    def _knows(self, tokens: TokenRows) -> np.ndarray:
        """(texts,) bool: whether a text has a token that says anything of it."""
        # Tokens that an empty text has too, special or unknown ones, say nothing of a text.
        silent = np.isin(tokens.ids, self.texts.tokens(arrow_strings([""])).ids)
        return np.asarray(~np.logical_and.reduceat(silent, tokens.offsets[:-1]))

    def text_vectors(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray | None:
        with torch_threads():
            tokens = self.texts.tokens(arrow_strings(texts))
            vectors = self.network.vectors(tokens)
        if vectors is None:
            return None
        vectors[~self._knows(tokens)] = 0
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: np.ndarray = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
        return unit

    def contexts(self, texts: pa.LargeStringArray) -> ContextVectors | None:
        """The context vectors of texts; None without label attention."""
        if "pairs" not in self.network.mix_points:
            return None
        vectors: ContextVectors = self.network.head.contexts(
            self.network.encoder(self.texts.tokens(texts).padded())
        )
        return vectors

    def save(self, folder: FolderWriter) -> None:
        self.texts.save(folder)
        save_weights(folder, "network", self.network)

    def load(self, folder: FolderReader, labels: int) -> None:
        self.rebuild(folder, labels)
        load_weights(folder, "network", self.network)
        self.network.eval()
