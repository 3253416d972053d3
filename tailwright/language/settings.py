"""What can be set of language models that write texts: how they are tuned, and how they are asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailwright.settings import Settings, setting

# Tokens that a target may have beyond `max_growth` times its source, so that a source of one word can grow.
GROWTH_TOKENS = 16
PRETRAINING_SEED = 0  # of every run: a pretrained T5 does not depend on the run's seed


@dataclass(frozen=True)
class TuningSettings(Settings):
    """How a generator is tuned on pairs of texts.

    The rate is the GDA paper's, the rest is usual for such models. A line end tells a pretrained model that
    another text of the same kind begins: after one epoch on 140 pairs of titles (tibkat-keywords-titles,
    smollm2, one seed) the loss on 60 others was 3.55 with it, 3.64 with ` => ` and 3.84 with a new token,
    whose meaning it has to learn first.
    """

    epochs: int = setting(3, "passes over the pairs", least=1, most=1_000_000)
    rate: float = setting(1e-4, "learning rate", above=0, most=1000)
    batch: int = setting(16, "pairs in a step", least=1)
    loss: Literal["target", "sequence"] = setting(
        "target", "target: the loss of the target and its end alone; sequence: of all tokens"
    )
    mode: Literal["full", "lora"] = setting(
        "full",
        "full: all weights learn; lora: small matrices beside frozen weights, for less memory and disk",
    )
    lora_rank: int = setting(16, "rank of the matrices of LoRA", least=1, most=65_536)
    lora_alpha: int = setting(32, "the product of these matrices is scaled by this over the rank", above=0)
    lora_dropout: float = setting(
        0.05, "share of what LoRA's matrices read that is dropped", least=0, below=1
    )
    held_out: float = setting(0.05, "share of the pairs held out for validation and BLEU", least=0, below=1)
    patience: int = setting(
        1, "epochs without a lower held-out loss before tuning stops; the best weights are kept", least=1
    )
    warmup: float = setting(
        0.05, "share of the steps in which the rate rises; then it falls to 0", least=0, below=1
    )
    weight_decay: float = setting(0.01, "weight decay of AdamW", least=0, most=1000)
    clip: float = setting(1.0, "largest norm of the gradient", above=0)
    max_tokens: int = setting(
        1024, "longest sequence; when a longer one is cut, each side may keep half of it", least=16
    )
    step_tokens: int = setting(
        1024, "tokens in memory at once; a larger batch is split and gives the same gradient", least=1
    )
    lower_case: bool = setting(True, "texts are lower-cased, as in the GDA paper")
    separator: str | None = setting(
        "\n", "text between source and target, by default a line end; none: a new token"
    )
    scratch_width: int = setting(256, "width of the generator scratch", least=1, most=65_536)
    scratch_layers: int = setting(4, "layers of the generator scratch", least=1, most=256)
    scratch_vocabulary: int = setting(
        4000, "tokens in the vocabulary of the generator scratch", least=300, most=8000
    )
    scratch_rate: float = setting(1e-3, "learning rate of the generator scratch", above=0, most=1000)
    checkpoint_seconds: float = setting(
        300.0, "seconds between checkpoints, the most work that a kill can lose", least=0
    )
    device: Literal["auto", "cpu", "cuda"] = setting("auto", "where the model is tuned and asked")

    def check(self) -> None:
        if self.separator == "":
            raise ValueError("separator must be text or none, got ''")


@dataclass(frozen=True)
class DecodingSettings(Settings):
    """How a generator is asked for texts, and which of them are good enough.

    `max_growth` guards against beams that repeat themselves until `max_new_tokens`, which take longer than
    all good texts of their batch. Of 4,133 pairs of titles with the same keywords (tibkat-keywords-titles),
    1.6 % have a target more than 4 times as long as its source.
    """

    strategy: Literal["beam", "sampling"] = setting(
        "beam", "beam: the likeliest texts, as in the GDA paper; sampling: texts drawn from the model"
    )
    beams: int = setting(10, "beam: texts followed at a time, and candidates of a source", least=1, most=1000)
    samples: int = setting(4, "sampling: candidates of a source", least=1, most=10_000)
    top_p: float = setting(
        0.9, "sampling: only the likeliest tokens with this much probability are drawn", above=0, most=1
    )
    temperature: float = setting(
        1.0, "sampling: below 1 likely tokens become likelier, above 1 less likely", above=0, most=1_000_000
    )
    length_penalty: float = setting(
        1.0, "a score is the log-probability / tokens ** this: the higher, the longer the texts"
    )
    max_new_tokens: int = setting(256, "tokens of the longest target", least=1)
    max_growth: float | None = setting(
        4.0, "longest target, in times the tokens of its source, plus 16 tokens; none: no such limit", above=0
    )
    max_similarity: float | None = setting(
        None,
        "texts whose words match their source's in a higher ratio are rejected; none: off",
        least=0,
        most=1,
    )
    batch_tokens: int = setting(
        16_384, "tokens of all texts written at a time, prompts included: it bounds the memory", least=1
    )
    shard_rows: int = setting(32, "sources in a shard, the most work that a kill can lose", least=1)

    @property
    def candidates(self) -> int:
        """How many texts a source gets to choose from."""
        return self.beams if self.strategy == "beam" else self.samples

    def new_tokens(self, source_tokens: int, positions: int) -> int:
        """The longest target of a source, its end token included; at most half of a model's positions."""
        most = min(self.max_new_tokens, max(positions // 2, 1))
        if self.max_growth is None:
            return most
        return min(most, int(self.max_growth * source_tokens) + GROWTH_TOKENS)


@dataclass(frozen=True)
class ScratchT5Settings(Settings):
    """The shape of a new small T5."""

    width: int = setting(256, "width of the model", least=1, most=65_536)
    layers: int = setting(3, "layers of the encoder, and of the decoder", least=1, most=256)
    vocabulary: int = setting(4000, "tokens in its vocabulary", least=400, most=32_000)
    dropout: float = setting(0.1, "dropout while it learns", least=0, below=1)


@dataclass(frozen=True)
class PretrainingSettings(Settings):
    """How all weights of a T5 learn to fill blanks of the corpus's own texts, before its prompt does."""

    pretrain: Literal["auto", "on", "off"] = setting(
        "auto",
        "whether they do; off: they stay as they are, as in the paper; auto: of scratch and title-t5, "
        "which fill no blanks as they are",
    )
    epochs: int = setting(5, "passes over the texts; masks are drawn anew in each", least=1, most=1_000_000)
    rate: float = setting(7e-4, "learning rate", above=0, most=1000)
    warmup: float = setting(
        0.05, "share of the steps in which the rate rises; then it falls to 0", least=0, below=1
    )
    batch: int = setting(8, "texts in a step", least=1)


@dataclass(frozen=True)
class PromptSettings(Settings):
    """A deep soft prompt before every layer of a frozen T5's encoder, and how it is learnt.

    Length, rate, decay, batch and lengths are those of XDA's authors, who start from the prompt of another
    paper; without it, `start=states` begins where the layers' own hidden states are.
    """

    length: int = setting(5, "positions of the prompt in each layer", least=1, most=65_536)
    start: Literal["states", "normal"] = setting(
        "states",
        "first values: states: tokens of the vocabulary, and in deeper layers mean hidden states of texts; "
        "normal: N(0, 1)",
    )
    start_texts: int = setting(200, "texts whose hidden states are averaged for start=states", least=1)
    epochs: int = setting(30, "passes over the texts; masks are drawn anew in each", least=1, most=1_000_000)
    rate: float = setting(0.3, "learning rate of Adafactor, the same in every step", above=0, most=1000)
    weight_decay: float = setting(1e-5, "weight decay of the prompt", least=0, most=1000)
    batch: int = setting(8, "texts in a step", least=1)


@dataclass(frozen=True)
class CorruptionSettings(Settings):
    """How the texts are masked that a T5, or its prompt, learns from."""

    read_characters: int = setting(1000, "first characters of a text that is learnt from", least=1)
    max_tokens: int = setting(128, "longest source, and longest target; what is longer is cut", least=8)
    max_texts: int | None = setting(
        None, "most texts to learn from, drawn by the seed; none: no limit", least=1
    )
    checkpoint_seconds: float = setting(
        300.0, "seconds between checkpoints, the most work that a kill can lose", least=0
    )
    device: Literal["auto", "cpu", "cuda"] = setting("auto", "where the model learns and is asked")


@dataclass(frozen=True)
class FillingSettings(Settings):
    """How the blanks of a text are filled: greedily, some at a time, each time reading what was filled.

    The penalty, the rule against repetition and the ten blanks are XDA's. Its longest answer is 512 tokens,
    which a model only reaches when it repeats itself: ten blanks of a word or two take about 40.
    """

    characters: int = setting(
        500, "first characters of a text that are rewritten; the rest is left out", least=1
    )
    blanks: int = setting(10, "blanks that are filled at a time", least=1, most=99)
    repetition_penalty: float = setting(
        2.5,
        "logits of tokens that an answer already has are divided by this; 1: off",
        least=1,
        most=1_000_000,
    )
    no_repeat: int = setting(3, "no run of so many tokens comes twice in an answer; 0: off", least=0)
    max_new_tokens: int = setting(128, "tokens of the longest answer", least=1)
    batch_tokens: int = setting(
        8192, "tokens that are read at a time, padding included: it bounds the memory", least=1
    )
    shard_rows: int = setting(64, "sources in a shard, the most work that a kill can lose", least=1)
