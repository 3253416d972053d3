"""Transformer encoders of text (`configuration.TYPES`), from a hub id, a folder or a package.

A text is its tokens with the special ones around them; an empty text is the special ones alone. The states of
a batch of texts are one of these, with width d:

| kind | shape | states |
|---|---|---|
| `tokens` | (rows, tokens, d) | the last hidden states, for attention over tokens |
| `first` | (rows, d) | the last hidden state of the first token, which is [CLS] or `<s>` in most encoders |
| `first-of-five` | (rows, 5 d) | the first token's hidden states in the last five layers, last one first |

LightXML reads the third. There is no pooler: it is removed. Weights are float32.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import torch
from torch import nn

from tailwright.data.text.huggingface import FILE, HuggingFaceTokenizer
from tailwright.data.text.sequences import TokenBatch
from tailwright.encoders.configuration import check_configuration, check_parameters
from tailwright.encoders.dropout import current_stream, quick_masks, torch_draws_from
from tailwright.encoders.encoded import Encoded
from tailwright.encoders.mixing import Mixing, mixed_at
from tailwright.encoders.token_batches import batch_tensors
from tailwright.errors import InputError, quoted
from tailwright.pretrained import weights_folder
from tailwright.pretrained.quiet import quiet_libraries
from tailwright.store import DamagedFolderError, FolderReader, FolderWriter
from tailwright.store.shared import content_key

Kind = Literal["tokens", "first", "first-of-five"]

LAYERS_OF = {"first": 1, "first-of-five": 5}
UNLIMITED = 1 << 20  # tokens of an encoder whose positions have no end
# What a configuration says beside the architecture: code to be run, where and by what it was written, and how
# much of a text a layer reads at a time, of which every text would have to be a multiple.
_NOT_KEPT = {
    "chunk_size_feed_forward",
    "auto_map",
    "attn_implementation",
    "_attn_implementation",
    "experts_implementation",
    "_name_or_path",
    "transformers_version",
}


class TransformerEncoder(nn.Module):
    """A transformer, its tokenizer, and which states it gives.

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
        super().__init__()
        if kind not in get_args(Kind):
            raise ValueError(f"kind must be one of {', '.join(get_args(Kind))}, got {kind!r}")
        if max_tokens < 1:
            raise ValueError(f"max_tokens must be >= 1, got {max_tokens}")
        model.pooler = None
        self.model, self.tokenizer, self.kind = model, tokenizer, kind
        self.checkpointing = checkpointing
        self.eval()
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

    specials: ClassVar[int] = 2  # one in front of a text, one behind it

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

    @property
    def mix_points(self) -> tuple[str, ...]:
        """Where states can be mixed; a layer that is computed again for its gradient is no such place."""
        return ("output",) if self.checkpointing else (*self._points(), "output")

    def _points(self) -> dict[str, nn.Module]:
        """The modules whose outputs can be mixed, by the name of the mix point."""
        embeddings = getattr(self.model, "embeddings", None)
        points = {} if embeddings is None else {"embeddings": embeddings}
        return points | {f"layer-{place}": layer for place, layer in enumerate(self._layers(), 1)}

    def _layers(self) -> nn.ModuleList:
        """The layers, from first to last."""
        depth = int(self.model.config.num_hidden_layers)
        lists = (module for module in self.model.modules() if isinstance(module, nn.ModuleList))
        return next(layers for layers in lists if len(layers) == depth)

    def identity(self) -> str:
        """A digest of the architecture and of the weights as they are now."""
        weights = [(name, part.detach().cpu().numpy()) for name, part in self.model.named_parameters()]
        flat = [part for pair in weights for part in pair]
        return content_key(json.dumps(self._configuration(), sort_keys=True), *flat)

    def forward(self, batch: TokenBatch, mixing: Mixing | None = None) -> Encoded:
        """What `kind` says, of a batch; in training mode with dropout, drawn from the batch's stream."""
        ids, mask = batch_tensors(batch, self.device)
        if not self.training:
            return self._encoded(ids, mask, mixing)
        with torch_draws_from(current_stream(), self.device):
            return self._encoded(ids, mask, mixing)

    @torch.no_grad()
    def read_a_text(self) -> None:
        """Read a short text: an encoder that cannot, raises what is wrong with it."""
        tokens = self.tokenizer.rows(["a text"], self.max_tokens)
        self(tokens.batch(np.zeros(1, dtype=np.int64)))

    def _computing_again(self) -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
        """The contexts of a layer: in `forward`, and when it is computed again for its gradient."""
        return nullcontext(), quick_masks(self.device)

    def _encoded(self, ids: torch.Tensor, mask: torch.Tensor, mixing: Mixing | None) -> Encoded:
        with _MixedLayers(self._layers(), self._points(), mask, mixing) as layers:
            last: torch.Tensor = self.model(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        if self.kind == "tokens":
            return Encoded(*mixed_at("output", mixing, last, layers.mask))
        states = [*layers.inputs, last] if self.kind == "first-of-five" else [last]
        return Encoded(*mixed_at("output", mixing, first_of_last(states, LAYERS_OF[self.kind])))

    def save(self, folder: FolderWriter) -> None:
        """Writes configuration and tokenizer; the weights are written with those of the network."""
        folder.json("encoder.json", {"kind": self.kind, "max_tokens": self.max_tokens})
        folder.json("config.json", self._configuration())
        self.tokenizer.save(folder.sub("tokenizer"))

    @staticmethod
    def load(folder: FolderReader) -> TransformerEncoder:
        """An encoder of the shape that `save` wrote, whose weights are still to be loaded."""
        from transformers import AutoConfig, AutoModel

        chosen, content = folder.json("encoder.json"), folder.json("config.json")
        with quiet_libraries(), torch.random.fork_rng(devices=()):
            try:
                checked = check_configuration(content)
                known = {name: value for name, value in checked.items() if name not in _NOT_KEPT}
                config = AutoConfig.for_model(known.pop("model_type"), **known)
                options = {"dtype": torch.float32, "trust_remote_code": False}
                with torch.device("meta"):  # shapes without memory
                    shapes: Any = AutoModel.from_config(config, **options)  # type: ignore[no-untyped-call]
                check_parameters(sum(one.numel() for one in shapes.parameters()), folder.tensor_bytes())
                model = AutoModel.from_config(config, **options)  # type: ignore[no-untyped-call]
                tokenizer = HuggingFaceTokenizer.load(folder.sub("tokenizer"))
                encoder = TransformerEncoder(
                    model, tokenizer, chosen["kind"], max_tokens=chosen["max_tokens"]
                )
                encoder.read_a_text()
            except Exception as error:  # of transformers a dozen kinds
                reason = str(error).strip().partition("\n")[0] or type(error).__name__
                raise DamagedFolderError(
                    f"no encoder ({reason})", expected="a saved encoder", path=folder.path
                ) from error
        return encoder

    def _configuration(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.model.config.to_json_string(use_diff=False))
        return {name: value for name, value in content.items() if name not in _NOT_KEPT}


class _MixedLayers:
    """Within the block the layers' inputs are kept, and the states at the mixing's point are mixed.

    Layers behind that point attend to the tokens of the mixed rows.
    """

    def __init__(
        self,
        layers: nn.ModuleList,
        points: Mapping[str, nn.Module],
        mask: torch.Tensor,
        mixing: Mixing | None,
    ) -> None:
        self.mask, self.inputs = mask, list[torch.Tensor]()
        self._layers, self._first_mask, self._mixing = layers, mask, mixing
        self._point = None if mixing is None else points.get(mixing.point)

    def __enter__(self) -> _MixedLayers:
        self._hooks = [
            layer.register_forward_pre_hook(self._enter, with_kwargs=True) for layer in self._layers
        ]
        if self._point is not None:
            self._hooks.append(self._point.register_forward_hook(self._mix))
        return self

    def __exit__(self, *problem: object) -> None:
        for hook in self._hooks:
            hook.remove()

    def _enter(
        self, layer: nn.Module, args: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        self.inputs.append(args[0] if args else named["hidden_states"])
        if self.mask is self._first_mask:
            return None
        if "attention_mask" in named:
            return args, {**named, "attention_mask": self._for_layer(named["attention_mask"])}
        return (args[0], self._for_layer(args[1]), *args[2:]), named

    def _mix(self, layer: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        assert self._mixing is not None
        states = output[0] if isinstance(output, tuple) else output
        mixed, mask = mixed_at(self._mixing.point, self._mixing, states, self.mask)
        assert mask is not None
        self.mask = mask
        return (mixed, *output[1:]) if isinstance(output, tuple) else mixed

    def _for_layer(self, before: torch.Tensor | None) -> torch.Tensor | None:
        """The mask in the form that the layer was to get: None where no row is padded, bool, or added."""
        if before is None:
            return None
        mask = self.mask[:, None, None].expand_as(before)
        if before.dtype == torch.bool:
            return mask
        return torch.zeros_like(before).masked_fill(~mask, torch.finfo(before.dtype).min)


def first_of_last(states: Sequence[torch.Tensor], layers: int) -> torch.Tensor:
    """(rows, layers x d): the first token's vectors in the last `layers` of the hidden states, last first."""
    return torch.cat([states[-number][:, 0] for number in range(1, layers + 1)], dim=1)


def _loaded(folder: Path) -> Any:
    from transformers import AutoModel

    try:
        check_configuration(json.loads((folder / "config.json").read_bytes()))
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
