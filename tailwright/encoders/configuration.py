"""The configuration of an encoder, checked before anything is built of it.

A configuration is data, but transformers does what it says: some types of model fetch a backbone by its name
from the hub, and any type can be asked for a million layers. So only encoders of text by these names are
built, their sizes have an end, and where the weights are at hand, they must be as many as the configuration
asks for.
"""

from __future__ import annotations

from typing import Any

from tailwright.errors import quoted

# Text models of transformers that read ids of tokens and build all of themselves from their configuration.
TYPES = frozenset(
    """
    albert bert big_bird bloom camembert canine convbert data2vec-text deberta deberta-v2 distilbert electra
    ernie esm eurobert falcon flaubert fnet funnel gemma gemma2 gemma3_text gpt2 gpt_neo gpt_neox ibert
    layoutlm llama longformer luke mega megatron-bert mistral mobilebert modernbert mpnet mra nezha
    nystromformer olmo opt phi phi3 qdqbert qwen2 qwen3 rembert roberta roberta-prelayernorm roc_bert
    roformer smollm3 splinter squeezebert stablelm t5 umt5 xlm xlm-roberta xlm-roberta-xl xlnet xmod yoso
    """.split()  # noqa: SIM905 (easier to read than quotes)
)
MOST_LAYERS = 256
MOST = 1 << 24  # of any other whole number: tokens, positions, widths
MOST_PARAMETERS = 1 << 34
_LEAST_BYTES = 2  # of a parameter on the disk, in half precision
_LAYERS = ("layers", "n_layer", "layer_groups", "blocks")


def check_configuration(content: Any) -> dict[str, Any]:
    """The configuration itself; a ValueError says what is wrong with it.

    >>> check_configuration({"model_type": "detr", "backbone": "resnet50"})
    Traceback (most recent call last):
    ValueError: the model type 'detr' is no encoder of text that is built here
    >>> check_configuration({"model_type": "bert", "num_hidden_layers": 1_000_000})
    Traceback (most recent call last):
    ValueError: num_hidden_layers is 1000000, more than 256
    """
    if not isinstance(content, dict):
        raise ValueError(f"{quoted(content)} is no configuration")  # noqa: TRY004 (data, not an argument)
    kind = content.get("model_type")
    if not isinstance(kind, str) or kind not in TYPES:
        raise ValueError(f"the model type {quoted(kind)} is no encoder of text that is built here")
    for name, value in content.items():
        if ("backbone" in name or name == "quantization_config") and value:
            raise ValueError(f"{name} asks for parts that the configuration does not hold")
        _check_sizes(name, value)
    return content


def check_parameters(parameters: int, weight_bytes: int) -> None:
    """A ValueError if a model has more parameters than fit into `weight_bytes`; 0: no weights are there."""
    most = weight_bytes // _LEAST_BYTES if weight_bytes else MOST_PARAMETERS
    if parameters > most:
        asked = f"the configuration asks for {parameters:,} parameters"
        raise ValueError(f"{asked}, the weights have {most:,} at most")


def _check_sizes(name: str, value: Any) -> None:
    """Refuse whole numbers without bounds, in lists and objects too."""
    if isinstance(value, dict):
        for inner, one in value.items():
            _check_sizes(str(inner), one)
    elif isinstance(value, list):
        for one in value:
            _check_sizes(name, one)
    elif isinstance(value, int) and not isinstance(value, bool):
        most = MOST_LAYERS if any(word in name for word in _LAYERS) else MOST
        if value > most:
            raise ValueError(f"{name} is {value}, more than {most}")
