"""`EncoderModel`: a flat network on a pretrained transformer, as a model: its training, its folder.

With `frozen` the encoder's features are computed once into a file (`tailwright.encoders.frozen_features`),
which all epochs and validations then read. With `head_epochs` the head learns from such features first, then
both: a random head would pull the encoder away from what it knows (Kumar et al. 2022, linear probing, then
fine-tuning).
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from tailwright.data.corpus import Corpus
from tailwright.models.shared.flat_model import FlatModel
from tailwright.store import FolderReader, FolderWriter
from tailwright.store.shared import shared_folder
from tailwright.training.workplace import Workplace

if TYPE_CHECKING:
    import pyarrow as pa

    from tailwright.data.text.sequences import TokenRows
    from tailwright.encoders.reading import RowReader
    from tailwright.encoders.transformer import Kind, TransformerEncoder
    from tailwright.models.shared.encoder_settings import EncoderSettings
    from tailwright.models.shared.text_network import FlatNetwork
    from tailwright.training.phases import Phase


class EncoderModel(FlatModel):
    """A model whose settings are `EncoderSettings`; `kind` says what its output reads of the encoder."""

    kind: ClassVar[Kind]
    settings: EncoderSettings
    encoder: TransformerEncoder
    _features: Path  # where features are kept while this learns

    def new_network(self, corpus: Corpus, *, seed: int, work: Workplace) -> FlatNetwork:
        from tailwright.encoders.transformer import TransformerEncoder
        from tailwright.models.shared.text_network import FlatNetwork

        chosen = self.settings
        with work.phase("encoder"):
            self.encoder = TransformerEncoder.pretrained(
                chosen.encoder, self.kind, max_tokens=chosen.max_tokens, checkpointing=chosen.checkpointing
            )
        return FlatNetwork(self.encoder, self.output(len(corpus.labels), self.encoder.width, seed))

    def learn(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        with ExitStack() as stack:
            # Kept for all trainings that share their work, or with the checkpoints, or until this has learnt.
            place = shared_folder() or work.reads
            self._features = place or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            super().learn(corpus, seed=seed, work=work)

    def phases(
        self, network: FlatNetwork, tokens: TokenRows, corpus: Corpus, *, seed: int, work: Workplace
    ) -> Sequence[Phase]:
        both = super().phases(network, tokens, corpus, seed=seed, work=work)
        if not self.settings.head_epochs:
            return both
        first = copy.copy(self)  # this model, but frozen
        first.settings = self.settings.of_head()
        return [first.phase(f"{self.card.name}/head", network, tokens, corpus, work), *both]

    def tokens(self, texts: pa.LargeStringArray) -> TokenRows:
        from tailwright.encoders.shared_tokens import shared_tokens

        return shared_tokens(self.encoder.tokenizer, texts, self.encoder.max_tokens)

    def rates(self, network: FlatNetwork) -> dict[str, float]:
        chosen = self.settings
        rates = dict.fromkeys(network.output.parts("head"), chosen.head_rate)
        if not chosen.frozen:
            rates |= dict.fromkeys(self.encoder.parts("encoder"), chosen.rate)
        return rates

    def batch_bytes(self, rows: int, tokens: TokenRows, labels: int) -> float:
        from tailwright.models.shared.text_memory import reading_bytes, scoring_bytes, transformer_bytes
        from tailwright.models.shared.text_network import TOKENS_A_PASS

        chosen = self.settings
        longest = int(tokens.lengths.max(initial=0))
        batch = scoring_bytes(rows, labels)
        if not chosen.frozen:
            batch += transformer_bytes(self.encoder, rows, longest)
        return max(batch, reading_bytes(self.encoder, min(TOKENS_A_PASS, len(tokens.ids))))

    def reader(self, network: FlatNetwork, tokens: TokenRows, work: Workplace) -> RowReader:
        from tailwright.encoders.frozen_features import frozen_features
        from tailwright.encoders.reading import FeatureReader, TokenReader

        if not self.settings.frozen:
            return TokenReader(self.encoder, tokens)
        with work.phase("features", rows=len(tokens)):
            features = frozen_features(self.encoder, tokens, self._features, precision=self.settings.features)
        return FeatureReader(features, self.encoder.device)

    def save(self, folder: FolderWriter) -> None:
        from tailwright.models.shared.network_files import save_parts

        self.encoder.save(folder.sub("encoder"))
        save_parts(folder, "head", self.network.output.parts("head"))

    def load(self, folder: FolderReader, labels: int) -> None:
        from tailwright.encoders.transformer import TransformerEncoder
        from tailwright.models.shared.network_files import load_parts
        from tailwright.models.shared.text_network import FlatNetwork

        self.encoder = TransformerEncoder.load(folder.sub("encoder"))
        output = self.output(labels, self.encoder.width, 0)
        load_parts(folder, "head", output.parts("head"))
        self.network = FlatNetwork(self.encoder, output)
