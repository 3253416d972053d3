"""A T5 for filling blanks, as a user names it, and what it learns on the corpus: its weights, or a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import torch

from tailwright.code_version import code_version
from tailwright.language.adapting import SCRATCH
from tailwright.language.corruption import Corruption, CorruptionPhase
from tailwright.language.learning import learn_once
from tailwright.language.passages import Passages
from tailwright.language.settings import (
    CorruptionSettings,
    PretrainingSettings,
    PromptSettings,
    ScratchT5Settings,
)
from tailwright.language.soft_prompt import PromptedT5, prompted
from tailwright.language.t5 import Infiller, load_t5, scratch_t5
from tailwright.language.work import work_folder
from tailwright.pretrained import identity_of, weights_folder
from tailwright.store.shared import content_key
from tailwright.training.phases import Plan
from tailwright.training.schedules import Schedule

TITLE_T5 = "title-t5"


def base_infiller(
    name: str, texts: Sequence[str], settings: ScratchT5Settings, device: torch.device, seed: int
) -> Infiller:
    """The T5 called `name`: `scratch`, over a vocabulary of the texts, or a name for `weights_folder`."""
    infiller = scratch_t5(texts, settings, seed) if name == SCRATCH else load_t5(weights_folder(name))
    infiller.model.to(device)  # type: ignore[arg-type]
    return infiller


def base_key(name: str, texts: Sequence[str], settings: ScratchT5Settings) -> str:
    """A digest of what `base_infiller` gives, for the same seed."""
    if name == SCRATCH:
        return content_key(SCRATCH, repr(settings), pa.array(texts, pa.large_string()))
    return identity_of(weights_folder(name))


def pretrains(name: str, settings: PretrainingSettings) -> bool:
    """Whether all weights of the T5 called `name` learn."""
    return settings.pretrain == "on" or (settings.pretrain == "auto" and name in (SCRATCH, TITLE_T5))


def pretraining_plan(settings: PretrainingSettings) -> Plan:
    """How all weights of a T5 are trained."""
    return Plan(
        epochs=settings.epochs,
        batch=settings.batch,
        rates={"t5": settings.rate},
        schedule=Schedule("linear", warmup=settings.warmup),
        clip=1.0,
    )


def prompt_plan(settings: PromptSettings) -> Plan:
    """How the prompt of a frozen T5 is trained."""
    return Plan(
        epochs=settings.epochs,
        batch=settings.batch,
        rates={"prompt": settings.rate},
        weight_decay=settings.weight_decay,
        optimiser="adafactor",
    )


class PromptTuning:
    """What a T5 learns from passages: what is finished is loaded, what was begun goes on."""

    def __init__(
        self,
        infiller: Infiller,
        passages: Passages,
        settings: CorruptionSettings,
        *,
        share: float,
        seed: int,
        key: str,
    ) -> None:
        """`key` identifies the infiller."""
        self.infiller, self.passages, self.settings, self.seed = infiller, passages, settings, seed
        self.data = Corruption(infiller, passages, share, settings.max_tokens, seed)
        # When checkpoints are taken makes no difference to what is learnt.
        timeless = repr(replace(settings, checkpoint_seconds=0))
        self.key = content_key(key, passages.key(), timeless, share, seed, code_version([__name__]))

    def pretrained(self, settings: PretrainingSettings) -> PromptedT5:
        """The T5 with weights that have learnt to fill the passages' blanks, and without a prompt."""
        network = PromptedT5(self.infiller.model, 0)
        return self._learnt(network, "t5", pretraining_plan(settings), repr(settings))

    def prompt(self, settings: PromptSettings) -> PromptedT5:
        """The T5 as it is, with a prompt that has learnt to fill the passages' blanks."""
        network = prompted(self.infiller, self.passages.texts.to_pylist(), settings, self.seed)
        return self._learnt(network, "prompt", prompt_plan(settings), repr(settings))

    def _learnt(self, network: PromptedT5, part: str, plan: Plan, settings: str) -> PromptedT5:
        network.to(self.infiller.model.device)
        learn_once(
            work_folder(part, content_key(self.key, part, settings)),
            network,
            {name: weight for name, weight in network.named_parameters() if name.startswith(part)},
            lambda work: CorruptionPhase(f"{part} fills blanks", network, self.data, plan),
            seed=self.seed,
            checkpoint_seconds=self.settings.checkpoint_seconds,
        )
        network.requires_grad_(False)
        network.eval()
        return network
