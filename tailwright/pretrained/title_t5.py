"""`title-t5`: the T5 in the package traceforge-title-model, from int8 ONNX to float32 safetensors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from tailwright.errors import InputError
from tailwright.pretrained.onnx_weights import OnnxWeights, read_onnx
from tailwright.store import FolderWriter

# The shape of flan-t5-small. Its output layer has weights of its own: `tie_word_embeddings` says that, and
# also that outputs are not scaled before it.
CONFIG: dict[str, Any] = {
    "architectures": ["T5ForConditionalGeneration"],
    "model_type": "t5",
    "d_model": 512,
    "d_kv": 64,
    "d_ff": 1024,
    "num_layers": 8,
    "num_decoder_layers": 8,
    "num_heads": 6,
    "feed_forward_proj": "gated-gelu",
    "vocab_size": 32128,
    "decoder_start_token_id": 0,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "is_encoder_decoder": True,
    "tie_word_embeddings": False,
}
SPECIAL = {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
# "/m/decoder/block.0/layer.1/EncDecAttention/k/MatMul_quant" is a product with a constant matrix.
_PRODUCT = re.compile(r"/(?:enc|m)/(.+)/MatMul_quant")


def title_t5_to_folder(path: Path, folder: FolderWriter) -> None:
    """Write the model beside `path`, the file of its encoder, with its configuration and tokenizer."""
    encoder, decoder = read_onnx(path), read_onnx(path.with_name("decoder.onnx"))
    weights = {
        **{f"encoder.{name}": array for name, array in _stack(encoder, "enc.").items()},
        **_stack(decoder, "m."),
        "shared.weight": decoder.dequantised("m.shared.weight"),
    }
    expected = _shapes()
    found = {name: array.shape for name, array in weights.items()}
    if found != expected:
        odd = sorted(set(found.items()) ^ set(expected.items()))[0][0]
        raise InputError(f"{odd} is missing or of another shape", expected="a T5", path=path.parent)
    tokenizer = json.loads(path.with_name("tokenizer.json").read_bytes())
    tokenizer["truncation"] = tokenizer["padding"] = None  # texts of any length are read whole
    folder.json("config.json", CONFIG)
    folder.json("tokenizer.json", tokenizer)
    folder.json("tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **SPECIAL})
    folder.tensors("model", weights)


def _stack(onnx: OnnxWeights, prefix: str) -> dict[str, np.ndarray]:
    """The weights of the encoder or the decoder under the names that transformers has for them."""
    weights = {}
    for name in onnx.constants:
        full = name.removesuffix("_quantized")
        if full.startswith(prefix) and full.endswith(("norm.weight", "relative_attention_bias.weight")):
            weights[full.removeprefix(prefix)] = onnx.dequantised(full)
    for operation, reads in onnx.reads.items():
        product = _PRODUCT.fullmatch(operation)
        if product:
            matrix = onnx.dequantised(reads[1].removesuffix("_quantized"))  # (in, out)
            weights[product[1].replace("/", ".") + ".weight"] = np.ascontiguousarray(matrix.T)
    return weights


def _shapes() -> dict[str, tuple[int, ...]]:
    """The shape of every weight of a T5 of this configuration, without any numbers."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    with torch.device("meta"):
        model = T5ForConditionalGeneration(T5Config(**CONFIG))
    shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    return {name: shape for name, shape in shapes.items() if not name.endswith("embed_tokens.weight")}
