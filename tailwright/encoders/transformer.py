"""Transformer encoders: any that transformers knows, from a hub id, a folder or a package.

A text is its tokens with the special ones around them; an empty text is the special ones alone. What the
encoder gives of a batch of them is one of these, with width d:

| kind | gives | is |
|---|---|---|
| `tokens` | (rows, tokens, d) | the last hidden states, for attention over tokens |
| `first` | (rows, d) | the last hidden state of the first token, which is [CLS] or `<s>` in most encoders |
| `first-of-five` | (rows, 5 d) | the first token's hidden states in the last five layers, last one first |

The third is what LightXML reads. There is no pooler: it is taken out. Weights are float32.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch
from torch import nn

from tailwright.data.text.huggingface import FILE, HuggingFaceTokenizer
from tailwright.data.text.sequences import TokenBatch
from tailwright.encoders.dropout import quick_masks, torch_draws_from
from tailwright.encoders.token_batches import batch_tensors
from tailwright.errors import InputError, quoted
from tailwright.pretrained import weights_folder
from tailwright.pretrained.quiet import quiet_libraries
from tailwright.store.shared import content_key

if TYPE_CHECKING:
    from tailwright.store import FolderReader, FolderWriter

Kind = Literal["tokens", "first", "first-of-five"]

LAYERS_OF = {"first": 1, "first-of-five": 5}
UNLIMITED = 1 << 20  # tokens of an encoder whose positions have no end
# What a configuration says beside the architecture: code to be run, and where and by what it was written.
_NOT_KEPT = {
    "auto_map",
    "attn_implementation",
    "_attn_implementation",
    "experts_implementation",
    "_name_or_path",
    "transformers_version",
}


class TransformerEncoder:
    """A transformer, its tokenizer, and what it gives.

    | argument | meaning |
    |---|---|
    | `max_tokens` | longest text with its special tokens; at most as many as the encoder has positions |
    | `checkpointing` | in training, keep a layer's input alone and compute the layer again: less memory |
    """

    def __init__(
        self,
        model: Any,
        tokenizer: HuggingFaceTokenizer,
        kind: Kind,
        *,
        max_tokens: int = 512,
        checkpointing: bool = False,
    ) -> None:
        if kind not in get_args(Kind):
            raise ValueError(f"kind must be one of {', '.join(get_args(Kind))}, got {kind!r}")
        if max_tokens < 1:
            raise ValueError(f"max_tokens must be >= 1, got {max_tokens}")
        model.pooler = None
        self.model, self.tokenizer, self.kind = model.eval(), tokenizer, kind
        self.max_tokens = min(max_tokens, _positions(model))
        states = int(model.config.num_hidden_layers) + 1
        if LAYERS_OF.get(kind, 1) > states:
            raise InputError(f"an encoder of {states - 1} layers", expected="at least 4 for first-of-five")
        known = int(model.get_input_embeddings().num_embeddings)
        if tokenizer.size > known:
            raise InputError(
                f"a tokenizer of {tokenizer.size} tokens", expected=f"at most the encoder's {known}"
            )
        if checkpointing:
            model.config.use_cache = False  # transformers says aloud that it must be so
            again = {"use_reentrant": False, "context_fn": self._computing_again}
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=again)

    @staticmethod
    def pretrained(
        name: str, kind: Kind, *, max_tokens: int = 512, checkpointing: bool = False
    ) -> TransformerEncoder:
        """The encoder that `weights_folder(name)` holds, on the CPU."""
        folder = weights_folder(name)
        with quiet_libraries():
            model = _loaded(folder)
            tokenizer = _tokenizer(folder)
        return TransformerEncoder(model, tokenizer, kind, max_tokens=max_tokens, checkpointing=checkpointing)

    @property
    def hidden(self) -> int:
        """d, the width of a hidden state."""
        return int(self.model.config.hidden_size)

    @property
    def by_token(self) -> bool:
        return self.kind == "tokens"

    @property
    def width(self) -> int:
        """The size of the last axis of what is given."""
        return self.hidden * LAYERS_OF.get(self.kind, 1)

    @property
    def device(self) -> torch.device:
        return next(iter(self.model.parameters())).device

    def to(self, device: torch.device) -> TransformerEncoder:
        """Moves the weights; the parts stay the same tensors."""
        self.model.to(device)
        return self

    def parts(self, prefix: str) -> Mapping[str, torch.Tensor]:
        """The weights by name. Those that a phase does not train are frozen while it runs."""
        return {f"{prefix}.{name}": part for name, part in self.model.named_parameters()}

    def identity(self) -> str:
        """A digest of the architecture and of the weights as they are now."""
        weights = [(name, part.detach().cpu().numpy()) for name, part in self.model.named_parameters()]
        flat = [part for pair in weights for part in pair]
        return content_key(json.dumps(self._configuration(), sort_keys=True), *flat)

    def __call__(self, batch: TokenBatch, random: np.random.Generator | None = None) -> torch.Tensor:
        """What `kind` says, of a batch; with `random`, the batch's stream, as in training with dropout.

        With all parts frozen no gradient is kept; then leave `random` out, for features that do not change.
        """
        ids, mask = batch_tensors(batch, self.device)
        if random is None:
            self.model.eval()
            return self._features(ids, mask)
        self.model.train()
        with torch_draws_from(random, self.device):
            return self._features(ids, mask)

    def _computing_again(self) -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
        """The contexts of a layer: in `__call__`, and when it is computed again for gradients."""
        return nullcontext(), quick_masks(self.device)

    def _features(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        several = self.kind == "first-of-five"
        found = self.model(input_ids=ids, attention_mask=mask.long(), output_hidden_states=several)
        if several:
            return first_of_last(found.hidden_states, LAYERS_OF[self.kind])
        states: torch.Tensor = found.last_hidden_state
        return states if self.kind == "tokens" else states[:, 0]

    def save(self, folder: FolderWriter) -> None:
        """Writes configuration, weights and tokenizer, so that nothing pretrained is needed any more."""
        folder.json("encoder.json", {"kind": self.kind, "max_tokens": self.max_tokens})
        folder.json("config.json", self._configuration())
        weights = {name: part.detach().cpu().numpy() for name, part in self.model.named_parameters()}
        folder.tensors("encoder", weights)
        self.tokenizer.save(folder.sub("tokenizer"))

    @staticmethod
    def load(folder: FolderReader) -> TransformerEncoder:
        """What `save` wrote, checked."""
        from transformers import AutoConfig, AutoModel

        from tailwright.store import DamagedFolderError

        chosen, content = folder.json("encoder.json"), folder.json("config.json")
        with quiet_libraries(), torch.random.fork_rng(devices=()):
            try:
                known = {name: value for name, value in content.items() if name not in _NOT_KEPT}
                config = AutoConfig.for_model(known.pop("model_type"), **known)
                options = {"dtype": torch.float32, "trust_remote_code": False}
                model = AutoModel.from_config(config, **options)  # type: ignore[no-untyped-call]
                tokenizer = HuggingFaceTokenizer.load(folder.sub("tokenizer"))
                encoder = TransformerEncoder(
                    model, tokenizer, chosen["kind"], max_tokens=chosen["max_tokens"]
                )
            except Exception as error:  # of transformers a dozen kinds
                reason = str(error).strip().partition("\n")[0] or type(error).__name__
                raise DamagedFolderError(
                    f"no encoder ({reason})", expected="a saved encoder", path=folder.path
                ) from error
        parts = dict(model.named_parameters())
        saved = folder.tensors("encoder", shapes={name: tuple(part.shape) for name, part in parts.items()})
        for name, array in saved.items():
            if array.dtype != np.float32 or not bool(np.isfinite(array).all()):
                path = folder.path / "encoder.safetensors"
                raise DamagedFolderError(f"{name} of {array.dtype}", expected="finite float32", path=path)
            parts[name].detach().copy_(torch.from_numpy(array))
        return encoder

    def _configuration(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.model.config.to_json_string(use_diff=False))
        return {name: value for name, value in content.items() if name not in _NOT_KEPT}


def first_of_last(states: Sequence[torch.Tensor], layers: int) -> torch.Tensor:
    """(rows, layers x d): the first token's vectors in the last `layers` of the hidden states, last first."""
    return torch.cat([states[-number][:, 0] for number in range(1, layers + 1)], dim=1)


def _loaded(folder: Path) -> Any:
    from transformers import AutoModel

    try:
        loaded: Any = AutoModel.from_pretrained(
            folder,
            trust_remote_code=False,
            use_safetensors=True,
            local_files_only=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
    except Exception as error:  # transformers and safetensors raise a dozen kinds, some bare
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise InputError(
            f"cannot be loaded ({reason})", expected="a transformer encoder", path=folder
        ) from error
    model, loading = loaded
    for what in ("missing_keys", "mismatched_keys"):
        lacking = sorted(str(key) for key in loading[what] if not str(key).startswith("pooler"))
        if lacking:
            found = f"weights lack {len(lacking)} tensors of the encoder, such as {quoted(lacking[0])}"
            raise InputError(found, expected="a transformer encoder", path=folder)
    if model.config.is_encoder_decoder:
        raise InputError("an encoder with a decoder", expected="a transformer encoder", path=folder)
    return model


def _tokenizer(folder: Path) -> HuggingFaceTokenizer:
    """The tokenizer.json, or what transformers makes of the older files of a tokenizer."""
    if (folder / FILE).is_file():
        return HuggingFaceTokenizer.from_folder(folder)
    from transformers import AutoTokenizer

    try:
        made: Any = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        tokenizer, padding = made.backend_tokenizer, made.pad_token
    except Exception as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise InputError(f"no tokenizer ({reason})", expected=f"a {FILE}", path=folder) from error
    return HuggingFaceTokenizer(tokenizer, padding, source=str(folder))


def _positions(model: Any) -> int:
    """The longest text that the encoder takes, with its special tokens."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            # RoBERTa and its kin number positions from behind the padding's.
            before = 0 if module.padding_idx is None else module.padding_idx + 1
            return int(module.num_embeddings) - before
    found = getattr(model.config, "max_position_embeddings", None)
    return found if isinstance(found, int) and found > 0 else UNLIMITED
