"""GGUF files, which hold a language model in 4-bit numbers, as folders that transformers can load."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import tempfile
from pathlib import Path

from tailwright.errors import MissingExtraError
from tailwright.pretrained.quiet import quiet_libraries
from tailwright.store import FolderWriter

# Written by the tokenizer, but not needed: templates for chats and the like.
_NOT_NEEDED = ("chat_template.jinja", "special_tokens_map.json")


def gguf_to_folder(path: Path, folder: FolderWriter) -> None:
    """Write the model in the file as float32 safetensors, with its configuration and tokenizer.

    The 4-bit numbers are converted once, which takes half a minute; tied weights are written once.
    """
    for needed in ("accelerate", "gguf"):  # transformers would ask for them in several lines
        if importlib.util.find_spec(needed) is None:
            raise MissingExtraError(needed, "lm")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    # The progress bar over the tensors is tqdm's own, which transformers does not switch off.
    with quiet_libraries(), contextlib.redirect_stderr(io.StringIO()):
        loaded = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
        config = loaded.config
        if hasattr(config, "quantization_config"):
            del config.quantization_config
        config.dtype = torch.float32
        model = type(loaded)(config)
        model.load_state_dict(loaded.state_dict())
        model.tie_weights()
        folder.json("config.json", json.loads(config.to_json_string(use_diff=False)))
        folder.json("generation_config.json", json.loads(model.generation_config.to_json_string()))
        folder.tensors(
            "model", {name: weights.detach().numpy() for name, weights in model.named_parameters()}
        )
        with tempfile.TemporaryDirectory() as temporary:
            tokenizer.save_pretrained(temporary)
            for written in sorted(Path(temporary).iterdir()):
                if written.name not in _NOT_NEEDED:
                    folder.json(written.name, json.loads(written.read_bytes()))
