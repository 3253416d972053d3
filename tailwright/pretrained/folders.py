"""`weights_folder`: the local folder with configuration, safetensors weights and tokenizer of a name.

Nothing in it is ever run: weights are safetensors, pickled checkpoints are refused, and code in a hub
repository is not even downloaded.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from tailwright.errors import InputError, quoted
from tailwright.pretrained.packages import PACKAGES, package_folder
from tailwright.pretrained.quiet import quiet_downloads

# The data files of a repository that belong to the weights; subfolders hold other formats.
_WANTED = (".json", ".safetensors", ".txt", ".model")
_UNWANTED = ("*/*", "consolidated*.safetensors")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "spiece.model", "vocab.json", "vocab.txt")
_PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack")


def weights_folder(name: str) -> Path:
    """The local folder of the weights called `name`: the first of these that exists.

    1. a folder of that path,
    2. a known package (`PACKAGES`, such as `minilm`), converted once if necessary,
    3. a hub id such as `gpt2`, downloaded by huggingface_hub into its own cache.
    """
    if Path(name).is_dir():
        folder = Path(name)
    elif name in PACKAGES:
        folder = package_folder(PACKAGES[name])
    elif _HUB_ID.fullmatch(name) and not Path(name).exists():
        folder = _downloaded(name)
    else:
        ours = ", ".join(PACKAGES)
        raise InputError(f"no folder {quoted(name)}", expected=f"a folder of weights, a hub id, or {ours}")
    _check(folder)
    return folder


def identity_of(folder: Path) -> str:
    """A digest of the contents of the weights, the configuration and the tokenizer in the folder."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(path for path in folder.iterdir() if path.is_file() and path.suffix in _WANTED):
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            while chunk := file.read(1 << 22):
                digest.update(chunk)
    return digest.hexdigest()


def _check(folder: Path) -> None:
    if not (folder / "config.json").is_file():
        raise InputError("no config.json", expected="a folder of pretrained weights", path=folder)
    if next(folder.glob("*.safetensors"), None) is None:
        pickled = next((path for path in sorted(folder.iterdir()) if path.suffix in _PICKLED), None)
        problem = "no safetensors weights" if pickled is None else f"only {pickled.name}, which is not read"
        raise InputError(problem, expected="weights as safetensors", path=folder)
    # Without any of these, transformers makes up a tokenizer that knows no words.
    if not any((folder / name).is_file() for name in _TOKENIZERS):
        raise InputError("no tokenizer.json", expected="a folder of pretrained weights", path=folder)


def _downloaded(name: str) -> Path:
    """The newest files of the hub repository, or those in the hub's own cache if it cannot be reached."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    ours = ", ".join(PACKAGES)
    patterns = [f"*{suffix}" for suffix in _WANTED]
    try:
        with quiet_downloads():
            return Path(snapshot_download(name, allow_patterns=patterns, ignore_patterns=list(_UNWANTED)))
    except GatedRepoError as error:
        raise InputError(f"{name} on the hub asks for an agreement", expected="an open repository") from error
    except RepositoryNotFoundError as error:
        raise InputError(
            f"no repository {name} on the hub", expected=f"a hub id, a folder, or {ours}"
        ) from error
    except (OSError, ValueError) as error:  # no network, offline mode, a hub that does not answer
        raise InputError(
            f"{name} is neither a folder nor in the hub's cache, and the hub cannot be reached",
            expected=f"a folder, access to the hub, or one of the packages {ours}",
        ) from error
