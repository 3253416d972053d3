"""`TokenModel`: what classifiers over tokens share as models: learning, predicting, saving."""

from __future__ import annotations

import tempfile
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tailwright.augmentation import HiddenAugmenter
from tailwright.data.corpus import Corpus
from tailwright.data.dataset import arrow_strings
from tailwright.data.text.sequences import TokenRows
from tailwright.encoders.reading import RowReader
from tailwright.encoders.settings import TransformerSettings
from tailwright.encoders.transformer import Kind, TransformerEncoder
from tailwright.evaluation.ranking import TopK
from tailwright.models import Model
from tailwright.models.shared.memory import reading_bytes, scoring_bytes, training_need, transformer_bytes
from tailwright.models.shared.texts import Texts, TransformerTexts
from tailwright.models.shared.token_network import TOKENS_A_PASS, ranked
from tailwright.models.shared.token_phase import TokenPhase
from tailwright.models.shared.validation import validator
from tailwright.progress import progress
from tailwright.store import FolderReader, FolderWriter
from tailwright.store.shared import shared_folder
from tailwright.training.devices import device_of
from tailwright.training.hidden_door import HiddenDoor
from tailwright.training.loop import run_phases
from tailwright.training.memory import MemoryNeed
from tailwright.training.phases import Phase, Plan
from tailwright.training.settings import TrainingSettings
from tailwright.training.threads import torch_threads
from tailwright.training.watch import Watch
from tailwright.training.weights import load_weights, save_weights
from tailwright.training.workplace import Workplace


class TokenModel(Model):
    """A model whose network reads tokens; `settings.training` says how it is trained.

    Most are a `TokenNetwork`, trained in one phase. A model on a pretrained transformer
    (`settings.transformer`) has two if `head_epochs` asks for it: the head learns alone from features that
    are computed once, then both learn; a random head would spoil the encoder (Kumar et al. 2022, linear
    probing, then fine-tuning).
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

    def rates(self) -> dict[str, float | None]:
        """The learning rate of each module that is trained."""
        chosen = self.settings
        if hasattr(chosen, "transformer"):
            tuned = chosen.transformer
            return {"head": tuned.head_rate, "encoder": None if tuned.frozen else tuned.rate}
        words = chosen.rate if chosen.words.learn_words else None
        return {"encoder": chosen.rate, "encoder.words": words, "head": chosen.rate}

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
            work.log("memory", expected_peak_mb=round(need.peak_mb(), 1))
            need.require("a smaller batch or micro_batch (--set micro_batch=4) needs less")
            self.network.to(device_of(self.device))
            run_phases(self.network, self.phases(tokens, corpus, seed=seed, work=work), seed=seed, work=work)

    def memory_need(self, tokens: TokenRows, corpus: Corpus) -> MemoryNeed:
        """What training the network on these tokens will add to the process."""
        training: TrainingSettings = self.settings.training
        rows = min(training.micro_batch or training.batch, len(tokens))
        validates = corpus.valid is not None and len(corpus.valid) > 0
        batch = self.batch_bytes(rows, tokens)
        return training_need(self.network, self.rates(), training, batch=batch, validates=validates)

    def phases(self, tokens: TokenRows, corpus: Corpus, *, seed: int, work: Workplace) -> Sequence[Phase]:
        """How the network is trained on the training rows, whose tokens these are."""
        training, name = self.settings.training, self.card.name
        tuned: TransformerSettings | None = getattr(self.settings, "transformer", None)

        def phase(
            name: str, rates: Mapping[str, float | None], training: TrainingSettings, *, frozen: bool
        ) -> Phase:
            reader = self.reader(tokens, work, frozen=frozen)
            return TokenPhase(
                name,
                self.network,
                reader,
                corpus.train,
                Plan.of(training, rates),
                door=self.hidden_door(corpus, (*reader.mix_points, *self.network.mix_points), seed, work),
                validate=self.validation(corpus, work, frozen=frozen),
                watch=self.watching(work, frozen=frozen),
            )

        phases = []
        if tuned is not None and tuned.head_epochs:
            of_head = replace(training, epochs=tuned.head_epochs)
            phases.append(phase(f"{name}/head", {"head": tuned.head_epochs_rate}, of_head, frozen=True))
        frozen = tuned is not None and tuned.frozen
        return [*phases, phase(name, self.rates(), training, frozen=frozen)]

    def reader(self, tokens: TokenRows, work: Workplace, *, frozen: bool = False) -> RowReader:
        """What reads rows of these tokens while the network learns."""
        return self.texts.reader(self.network.encoder, tokens, work, frozen=frozen)

    def hidden_door(self, corpus: Corpus, points: tuple[str, ...], seed: int, work: Workplace) -> HiddenDoor:
        """The hidden-door mixes of this training, each prepared for these mix points."""
        mixes = []
        for mix in self.mixes:
            if isinstance(mix, HiddenAugmenter):
                with work.phase(mix.card.name):
                    mixes.append(mix.prepare(corpus, points=mix.among(points), seed=seed))
        return HiddenDoor(mixes)

    def ranking(
        self, texts: pa.LargeStringArray, work: Workplace, *, frozen: bool = False
    ) -> Callable[[int], TopK]:
        """The k best labels of texts, which are read once, by the network as it is whenever it is asked."""
        reader, head = self.reader(self.texts.tokens(texts), work, frozen=frozen), self.network.head
        return lambda k: ranked(reader.lengths, lambda rows: head.top_k(reader(rows), k), k)

    def validation(
        self, corpus: Corpus, work: Workplace, *, frozen: bool = False
    ) -> Callable[[], float] | None:
        """What says how good the network is on the validation rows; None without such rows."""
        metric = self.settings.training.metric
        return validator(lambda texts: self.ranking(texts, work, frozen=frozen), corpus, metric)

    def watching(self, work: Workplace, *, frozen: bool = False) -> Callable[[], Mapping[str, float]]:
        """What says how the network does on the rows that are watched."""
        return Watch(self.watch, lambda texts: self.ranking(texts, work, frozen=frozen))

    def predict(self, texts: pa.LargeStringArray | Sequence[str], k: int) -> TopK:
        rows = arrow_strings(texts)
        with torch_threads(), progress(self.card.name, len(rows)) as advance:
            tokens = self.texts.tokens(rows)
            top_k = self.network.top_k
            return ranked(tokens.lengths, lambda places: top_k(tokens.batch(places), k), k, advance)

    def text_vectors(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray | None:
        with torch_threads():
            tokens = self.texts.tokens(arrow_strings(texts))
            vectors = self.network.vectors(tokens)
        if vectors is None:
            return None
        # Tokens that an empty text has too, special or unknown ones, say nothing of a text.
        silent = np.isin(tokens.ids, self.texts.tokens(arrow_strings([""])).ids)
        vectors[np.logical_and.reduceat(silent, tokens.offsets[:-1])] = 0
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: np.ndarray = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
        return unit

    def save(self, folder: FolderWriter) -> None:
        self.texts.save(folder)
        save_weights(folder, "network", self.network)

    def load(self, folder: FolderReader, labels: int) -> None:
        self.rebuild(folder, labels)
        load_weights(folder, "network", self.network)
        self.network.eval()

    def new_encoder(self, kind: Kind, work: Workplace) -> TransformerEncoder:
        """The pretrained encoder that the settings name, and `texts` that are read by it."""
        chosen = self.settings.transformer
        with work.phase("encoder"):
            encoder = TransformerEncoder.pretrained(
                chosen.encoder, kind, max_tokens=chosen.max_tokens, checkpointing=chosen.checkpointing
            )
        self.texts = TransformerTexts(encoder, chosen, self._features)
        return encoder

    def saved_encoder(self, folder: FolderReader) -> TransformerEncoder:
        """The encoder of a saved model, and `texts` that are read by it."""
        encoder = TransformerEncoder.load(folder.sub("encoder"))
        self.texts = TransformerTexts(encoder, self.settings.transformer)
        return encoder

    def transformer_batch_bytes(self, rows: int, tokens: TokenRows, labels: int) -> float:
        """What a step of a network on a transformer holds."""
        encoder, batch = self.network.encoder, scoring_bytes(rows, labels)
        if not self.settings.transformer.frozen:
            batch += transformer_bytes(encoder, rows, int(tokens.lengths.max(initial=0)))
        return max(batch, reading_bytes(encoder, min(TOKENS_A_PASS, len(tokens.ids))))
